"""The Helm chart: programs and settings that exist, pods that may do little, secrets by reference alone, and no way to more than
needed.
"""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from api.app import ROUTERS
from api.cli.dagster import STOP_SECONDS
from api.dagster_proxy.sites import LOOPBACK_NAMES, READY
from api.http.workers import SPARE_SECONDS
from tests.house.test_deploy import require_command
from tests.support.charts import documents, render
from warehouse.settings import Settings

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy" / "helm"
SIZES = {path.stem: path for path in sorted((CHART / "sizes").glob("*.yaml"))}
EVERYTHING: dict[str, Any] = {
    "ingress": {"enabled": True, "className": "nginx", "annotations": {"example.de/a": "b"}},
    "dagsterWebserver": {"origin": "https://dagster.example.de"},
    "secrets": {"more": [{"name": "kontor-lake"}]},
    "image": {"pullSecrets": [{"name": "registry"}], "tag": "1.2.3"},
    "data": {"storageClass": "nfs"},
    "dask": {"enabled": True},
    "networkPolicy": {"moreEgress": [{"to": [{"ipBlock": {"cidr": "203.0.113.0/24"}}], "ports": [{"port": 443}]}]},
}
VARIANTS: dict[str, tuple[tuple[Path, ...], dict[str, Any]]] = {
    "as it is": ((), {}),
    "with everything": ((), EVERYTHING),
    "with little": ((), {"networkPolicy": {"enabled": False}, "data": {"existingClaim": "mine"}}),
    "with Dask alone": ((), {"networkPolicy": {"enabled": False}, "dask": {"enabled": True}}),
    **{name: ((path,), {}) for name, path in SIZES.items()},
}
PROGRAMS = {
    "api": ["serve"],
    "worker": ["worker"],
    "dagster-webserver": ["dagster", "webserver"],
    "dagster-daemon": ["dagster", "daemon"],
    "migration": ["migrate"],
}
DASK = {"dask-scheduler": ["dask", "scheduler", "--host", "0.0.0.0"], "dask-worker": ["dask", "worker", "--workers"]}
"""What a Dask cluster runs beside them; the number of processes is a value of the chart."""
WITH_DASK = {"with everything", "with Dask alone", "1m"}
OWN_SETTINGS = {f"KONTOR_{name.upper()}" for name in Settings.model_fields}


def objects(variant: str = "with everything") -> list[dict[str, Any]]:
    files, values = VARIANTS[variant]
    return documents(render(CHART, "kontor", *files, **values))


def of_kind(kind: str, variant: str = "with everything") -> dict[str, dict[str, Any]]:
    return {item["metadata"]["name"].removeprefix("kontor-"): item for item in objects(variant) if item["kind"] == kind}


def pods(variant: str = "with everything") -> dict[str, dict[str, Any]]:
    """The templates of all pods, by program."""
    owners = of_kind("Deployment", variant) | of_kind("Job", variant)
    return {name: owner["spec"]["template"] for name, owner in owners.items()}


def programs(variant: str = "with everything") -> dict[str, list[str]]:
    """The commands of all pods, by their names."""
    return PROGRAMS | (DASK if variant in WITH_DASK else {})


def container(pod: dict[str, Any]) -> dict[str, Any]:
    (only,) = pod["spec"]["containers"]
    return dict(only)


def variables(pod: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {variable["name"]: variable for variable in container(pod)["env"]}


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_program_runs_with_settings_that_exist(variant: str) -> None:
    commands = {name: container(pod)["args"] for name, pod in pods(variant).items()}
    if "dask-worker" in commands:
        assert int(commands["dask-worker"].pop()) >= 1
    assert commands == programs(variant)
    for pod in pods(variant).values():
        require_command(container(pod)["args"])
        assert set(variables(pod)) <= OWN_SETTINGS
        assert len(variables(pod)) == len(container(pod)["env"]), "no variable twice"
        Settings.model_validate(
            {
                name.removeprefix("KONTOR_").lower(): variable["value"]
                for name, variable in variables(pod).items()
                if "value" in variable
            }
        )


@pytest.mark.parametrize("variant", VARIANTS)
def test_pods_may_do_little(variant: str) -> None:
    for pod in pods(variant).values():
        spec, own = pod["spec"], container(pod)
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["runAsUser"] == spec["securityContext"]["fsGroup"] == 10001, "the user of the image"
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert (spec["automountServiceAccountToken"], spec["enableServiceLinks"]) == (False, False)
        assert own["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert {mount["mountPath"] for mount in own["volumeMounts"]} == {"/var/lib/kontor", "/tmp"}
        assert {mount["name"] for mount in own["volumeMounts"]} == {volume["name"] for volume in spec["volumes"]}
        assert own["resources"]["requests"].keys() == {"cpu", "memory"}
        assert "memory" in own["resources"]["limits"]


def test_secrets_come_by_reference_and_only_to_those_who_need_them() -> None:
    assert "Secret" not in {item["kind"] for item in objects()}
    references = {
        (name, variable["name"]): tuple(variable["valueFrom"]["secretKeyRef"].values())
        for name, pod in pods().items()
        for variable in container(pod)["env"]
        if "valueFrom" in variable
    }
    names = {program: {name for owner, name in references if owner == program} for program in programs()}
    service = {"KONTOR_DATABASE_URL", "KONTOR_VAULT_KEYS"}
    dagster = service | {"KONTOR_DAGSTER_DATABASE_URL"}
    assert names == {
        "api": service,
        "worker": service,
        "dagster-webserver": dagster,
        "dagster-daemon": dagster,
        "migration": {"KONTOR_DATABASE_URL", "KONTOR_MIGRATION_URL"},
        "dask-scheduler": {"KONTOR_DATABASE_URL"},
        "dask-worker": {"KONTOR_DATABASE_URL"},
    }
    secrets = yaml.safe_load((CHART / "values.yaml").read_text())["secrets"]
    known_keys = {
        (group["name"], key)
        for group in secrets.values()
        if isinstance(group, dict)
        for name, key in group.items()
        if name != "name"
    }
    assert set(references.values()) == known_keys, "every reference is in values.yaml, and every entry there is used"
    told = {name for name, pod in pods().items() if container(pod).get("envFrom") == [{"secretRef": {"name": "kontor-lake"}}]}
    assert told == set(programs()) - {"migration"}


def test_the_api_is_probed_where_it_tells_how_it_is() -> None:
    api = container(pods()["api"])
    paths = {name: probe["httpGet"]["path"] for name, probe in api.items() if name.endswith("Probe")}
    assert paths == {"startupProbe": "/health", "livenessProbe": "/health", "readinessProbe": "/ready"}
    assert api["readinessProbe"]["timeoutSeconds"] > 5, "/ready answers within five seconds"
    assert {route.path for router in ROUTERS for route in router.routes if hasattr(route, "path")} >= set(paths.values())
    dagster = container(pods()["dagster-webserver"])
    for name in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert dagster[name]["httpGet"]["path"] == READY
        assert dagster[name]["httpGet"]["httpHeaders"][0]["value"] in LOOPBACK_NAMES, "other names are refused"


def test_kubernetes_waits_longer_than_a_stop_takes() -> None:
    seconds = {name: pod["spec"].get("terminationGracePeriodSeconds", 0) for name, pod in pods().items()}
    (pause_seconds,) = re.findall(r"'sleep', '(\d+)'", str(container(pods()["api"])["lifecycle"]))
    assert seconds["api"] > Settings(_env_file=None).stop_seconds + SPARE_SECONDS + int(pause_seconds)
    assert min(seconds["dagster-webserver"], seconds["dagster-daemon"]) > STOP_SECONDS
    assert seconds["worker"] > 15


def test_updates_and_drains_leave_somebody_who_works() -> None:
    deployments, budgets = of_kind("Deployment", "as it is"), of_kind("PodDisruptionBudget", "as it is")
    assert deployments["api"]["spec"]["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    for name in ("api", "worker"):
        assert deployments[name]["spec"]["replicas"] >= 2
        assert budgets[name]["spec"]["maxUnavailable"] == 1
        assert budgets[name]["spec"]["selector"] == deployments[name]["spec"]["selector"]
    for name in ("dagster-daemon", "dagster-webserver"):
        assert deployments[name]["spec"]["replicas"] == 1
        assert deployments[name]["spec"]["strategy"] == {"type": "Recreate"}, "never two at a time"


def test_only_the_runs_of_dagster_and_workers_reach_the_scheduler_of_a_dask_cluster() -> None:
    policies = of_kind("NetworkPolicy")

    def peers(name: str, direction: str) -> set[str]:
        return {
            peer["podSelector"]["matchLabels"]["app.kubernetes.io/component"]
            for rule in policies[name]["spec"][direction]
            for peer in rule["from" if direction == "ingress" else "to"]
        }

    assert peers("dask-scheduler", "ingress") == {"dagster-daemon", "dask-worker"}
    assert peers("dask-worker", "ingress") == {"dask-scheduler", "dask-worker"}
    assert peers("dagster-daemon", "egress") == {"dask-scheduler"}
    told = {name: variables(pod).get("KONTOR_DASK_SCHEDULER", {}).get("value") for name, pod in pods().items()}
    address = "tls://kontor-dask-scheduler:8786"
    assert {name for name, value in told.items() if value} == {"dagster-daemon", "dask-worker"}
    assert told["dagster-daemon"] == told["dask-worker"] == address
    assert variables(pods()["dagster-daemon"])["KONTOR_ENGINE"]["value"] == "dask"
    (port,) = of_kind("Service")["dask-scheduler"]["spec"]["ports"]
    assert address.endswith(f":{port['port']}")


def test_tables_are_migrated_before_any_program_starts() -> None:
    job = of_kind("Job")["migration"]
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    volumes = job["spec"]["template"]["spec"]["volumes"]
    assert all("emptyDir" in volume for volume in volumes), "a claim of this chart does not exist yet"


@pytest.mark.parametrize("variant", VARIANTS)
def test_selectors_find_their_pods_and_ports_exist(variant: str) -> None:
    labels = {name: pod["metadata"]["labels"] for name, pod in pods(variant).items()}
    for name, deployment in of_kind("Deployment", variant).items():
        assert deployment["spec"]["selector"]["matchLabels"].items() <= labels[name].items()
    for name, service in of_kind("Service", variant).items():
        hits = [pod for pod, own in labels.items() if service["spec"]["selector"].items() <= own.items()]
        assert hits == [name]
        ports = {port["name"] for port in container(pods(variant)[name])["ports"]}
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports
    for name, policy in of_kind("NetworkPolicy", variant).items():
        hits = [pod for pod, own in labels.items() if policy["spec"]["podSelector"]["matchLabels"].items() <= own.items()]
        assert sorted(hits) == (sorted(programs(variant)) if name == "default" else [name])
    identities = [(item["kind"], item["metadata"]["name"]) for item in objects(variant)]
    assert len(identities) == len(set(identities))


def test_only_workers_reach_the_internet_and_nothing_private_there() -> None:
    policies = of_kind("NetworkPolicy", "as it is")
    assert set(policies) == {"default", "api", "worker"}, "without an origin nobody calls the Dagster UI"
    assert policies["default"]["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert "ingress" not in policies["default"]["spec"]
    ports = [port["port"] for rule in policies["default"]["spec"]["egress"] for port in rule["ports"]]
    assert sorted(ports) == [53, 53, 5432]
    assert [name for name, policy in policies.items() if "0.0.0.0/0" in str(policy)] == ["worker"]
    (rule,) = policies["worker"]["spec"]["egress"]
    exceptions = rule["to"][0]["ipBlock"]["except"]
    assert {"10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"} <= set(exceptions)


def test_the_ingress_leads_to_everything_for_tenants_and_to_nothing_for_operators() -> None:
    (ingress,) = of_kind("Ingress").values()
    (rule,) = ingress["spec"]["rules"]
    paths = [entry["path"] for entry in rule["http"]["paths"]]
    routes = {route.path for router in ROUTERS for route in router.routes if hasattr(route, "path")}
    closed = {route for route in routes if not any(route == path or route.startswith(f"{path}/") for path in paths)}
    tops = {"/" + route.split("/")[1] for route in closed}
    assert {"/ready", "/metrics", "/health"} <= tops
    assert tops <= NOT_FOR_TENANTS


NOT_FOR_TENANTS = {"/", "/ready", "/metrics", "/health", "/demo", "/docs", "/handbook"}


def cores(deployment: dict[str, Any]) -> int:
    requests = container(deployment["spec"]["template"])["resources"]["requests"]
    return int(requests["cpu"]) * int(deployment["spec"]["replicas"])


def test_sizes_are_those_of_the_scaling_page() -> None:
    """docs/scaling.md: API and workers with 4 cores each, Dagster and its engine with 8 cores and 32 GB for 100,000 users; for a
    million four machines of 16 cores for API and workers, and eight for Dask.
    """
    page = (ROOT / "docs" / "scaling.md").read_text()
    assert "| 100,000 |" in page
    assert "| 1 million |" in page
    deployments, large = of_kind("Deployment", "100k"), of_kind("Deployment", "1m")
    assert [cores(deployments[name]) for name in ("api", "worker", "dagster-daemon")] == [4, 4, 8]
    assert 48 <= cores(large["api"]) + cores(large["worker"]) <= 4 * 16
    assert 7 * 16 <= cores(large["dask-worker"]) <= 8 * 16
    assert container(deployments["dagster-daemon"]["spec"]["template"])["resources"]["limits"]["memory"] == "32Gi"


def test_the_chart_has_the_version_of_the_package() -> None:
    about = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert f'version = "{about["appVersion"]}"' in (ROOT / "pyproject.toml").read_text()


@pytest.mark.parametrize("variant", VARIANTS)
def test_kubernetes_schemas_find_no_fault(variant: str) -> None:
    """With the schemas of the Kubernetes API, where the package that has them is installed."""
    kubernetes_validate = pytest.importorskip("kubernetes_validate")
    for item in objects(variant):
        kubernetes_validate.validate(item, "1.31", strict=True)


@pytest.mark.skipif(shutil.which("helm") is None, reason="no helm on this machine")
@pytest.mark.parametrize("variant", VARIANTS)
def test_helm_itself_renders_the_same(variant: str, tmp_path: Path) -> None:
    files, values = VARIANTS[variant]
    path = tmp_path / "values.yaml"
    path.write_text(yaml.safe_dump(values))
    arguments = [argument for file in (*files, path) for argument in ("--values", str(file))]
    subprocess.run(["helm", "lint", "--strict", str(CHART), *arguments], check=True, capture_output=True)
    run = subprocess.run(["helm", "template", "kontor", str(CHART), *arguments], check=True, capture_output=True, text=True)

    def order(item: dict[str, Any]) -> tuple[str, str]:
        return item["kind"], item["metadata"]["name"]

    rendered = [document for document in yaml.safe_load_all(run.stdout) if document]
    assert sorted(rendered, key=order) == sorted(objects(variant), key=order)
