"""What `deploy/` offers: units and images whose commands and settings exist, that may do little, and that hold no secret."""

import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from typer.core import TyperGroup
from typer.main import get_command

from api.cli import app
from api.cli.dagster import HOME, STOP_SECONDS
from api.dagster_proxy.sites import READY
from api.http.workers import SPARE_SECONDS
from warehouse.settings import Settings

DEPLOY = Path(__file__).parents[2] / "deploy"
UNITS = DEPLOY / "systemd"
SERVICES = sorted(UNITS.glob("*.service"))
COMMON = UNITS / "kontor-.service.d" / "common.conf"
FILES = sorted(path for path in DEPLOY.rglob("*") if path.is_file())
NOT_SETTINGS = {"KONTOR_DAGSTER_DIR", "KONTOR_DAGSTER_LOGS"}
HARDENED = {
    "User": "kontor",
    "NoNewPrivileges": "yes",
    "ProtectSystem": "strict",
    "ReadWritePaths": "/var/lib/kontor",
    "ProtectHome": "yes",
    "PrivateTmp": "yes",
    "PrivateDevices": "yes",
    "CapabilityBoundingSet": "",
    "UMask": "0077",
    "Restart": "on-failure",
}
BUILD_TOOLS = ("pip install", "apt-get", "gcc", "build-essential", "hatchling")


def entries(path: Path) -> list[tuple[str, str, str]]:
    """The lines of a unit: section, name, value. A name may come more than once."""
    section, found = "", []
    for line in filter(None, path.read_text().splitlines()):
        if line.startswith("["):
            section = line.strip("[]")
        elif not line.startswith("#"):
            name, equals, value = line.partition("=")
            assert equals, f"{path.name}: {line}"
            found.append((section, name, value))
    return found


def values(path: Path, name: str) -> list[str]:
    return [value for _, found, value in entries(path) if found == name]


def commands(path: Path) -> list[list[str]]:
    """What a unit runs."""
    return [shlex.split(value) for _, name, value in entries(path) if name.startswith("Exec")]


def require_command(arguments: list[str]) -> None:
    """Fails unless the command line has this command, with these options."""
    command = get_command(app)
    while isinstance(command, TyperGroup):
        name, *arguments = arguments
        assert name in command.commands, name
        command = command.commands[name]
    known = {option for parameter in command.params for option in parameter.opts}
    assert {argument for argument in arguments if argument.startswith("--")} <= known


@pytest.mark.parametrize("path", SERVICES, ids=lambda path: path.name)
def test_a_unit_runs_commands_that_exist(path: Path) -> None:
    for program, *arguments in commands(path):
        if program == "/opt/kontor/bin/kontor":
            require_command(arguments)
        else:
            assert [program, *arguments] in (
                ["/opt/kontor/bin/python", "-m", "pipelines.warm_up"],
                ["/bin/kill", "-HUP", "$MAINPID"],
            )


def test_all_services_may_do_little_and_write_to_the_data_directory_alone() -> None:
    common = {name: value for _, name, value in entries(COMMON)}
    assert HARDENED.items() <= common.items()
    assert all(path.name.startswith("kontor-") for path in SERVICES), "else the common part does not hold for them"
    loosened = [
        (path.name, name) for path in SERVICES for _, name, _ in entries(path) if name in common and name != "EnvironmentFile"
    ]
    assert loosened == []


def test_only_the_migration_knows_the_owner_of_the_tables() -> None:
    told = {path.name for path in SERVICES if "/etc/kontor/migration.env" in values(path, "EnvironmentFile")}
    assert told == {"kontor-migrate.service"}


def test_commands_that_create_tables_get_the_address_of_their_owner(tmp_path: Path) -> None:
    """The command line of an installation, with its folder, its user and its program replaced."""
    for name in ("kontor", "service", "migration"):
        (tmp_path / f"{name}.env").write_text(f"KONTOR_{name.upper()}_SEEN=1\n")
    script = (DEPLOY / "kontor").read_text().replace("/etc/kontor", str(tmp_path)).replace("cd /var/lib/kontor", "cd /")
    script = re.sub(r"^exec .*", "env", script, flags=re.M)
    for command in ("migrate", "restore", "backup", "status"):
        run = subprocess.run(["/bin/sh", "-c", script, "kontor", command], capture_output=True, text=True, check=True)
        assert "KONTOR_SERVICE_SEEN=1" in run.stdout
        assert ("KONTOR_MIGRATION_SEEN=1" in run.stdout) == (command in ("migrate", "restore")), command


def test_systemd_waits_longer_than_a_stop_takes() -> None:
    longest_stop_seconds = Settings(_env_file=None).stop_seconds + SPARE_SECONDS
    assert [int(value) > longest_stop_seconds for value in values(UNITS / "kontor-api@.service", "TimeoutStopSec")] == [True]
    for path in SERVICES:
        assert values(path, "TimeoutStopSec") or values(path, "Type") == ["oneshot"], path.name


def test_the_target_wants_units_that_exist() -> None:
    wanted = [name for value in values(UNITS / "kontor.target", "Wants") for name in value.split()]
    of_choice = {path.name for path in SERVICES if path.name.startswith("kontor-dask-")}
    assert len(of_choice) == 2
    assert {re.sub(r"@.*\.", "@.", name) for name in wanted} == {path.name for path in SERVICES} - of_choice - {
        "kontor-migrate.service"
    }


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd on this machine")
def test_systemd_finds_no_fault(tmp_path: Path) -> None:
    """Kontor and the folder that it is run in are not on this machine: their places are taken by others."""
    copy = shutil.copytree(UNITS, tmp_path / "units")
    for path in copy.glob("*.service"):
        path.write_text(path.read_text().replace("/opt/kontor/bin/", "/usr/bin/env "))
    run = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *sorted(map(str, copy.glob("kontor*.*[!d]")))],
        env={"SYSTEMD_UNIT_PATH": f"{copy}:", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert (run.returncode, [line for line in run.stderr.splitlines() if "kontor" in line]) == (0, []), run.stderr


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_settings_exist_and_no_file_holds_a_secret(path: Path) -> None:
    text = path.read_text()
    settings = {f"KONTOR_{name.upper()}" for name in Settings.model_fields} | NOT_SETTINGS
    assert set(re.findall(r"\bKONTOR_[A-Z_]+\b", text)) <= settings
    assert re.findall(r"://[^/\s:]+:(?!\$\{)[^@\s]*@", text) == [], "an address with a password"
    assert (
        re.findall(r"(?i)(?:password|secret|_keys)\w*['\"]?\s*[:=][ \t]*['\"]?(?![\s'\"$…:])\w+", text.replace(":'", "$")) == []
    )


def stages() -> list[str]:
    return re.split(r"^FROM ", (DEPLOY / "Containerfile").read_text(), flags=re.M)[1:]


def test_the_image_is_built_from_the_lock_and_has_no_build_tools() -> None:
    build, last = stages()
    assert "--require-hashes -r requirements-dask.lock" in build
    assert "uninstall --yes hatchling editables setuptools pip" in build
    assert [tool for tool in BUILD_TOOLS if tool in last] == []
    assert "pip uninstall --yes" in last


def test_the_image_runs_as_nobody_in_particular_and_says_how_it_is() -> None:
    last = stages()[-1]
    assert re.findall(r"^USER (\d+)$", last, re.M) == ["10001"]
    assert "/health" in last.split("HEALTHCHECK")[1]
    assert re.findall(r'^ENTRYPOINT (.*)\nCMD \["(\w+)"\]$', last, re.M) == [('["kontor"]', "serve")]
    copied = re.findall(r"^COPY (\w+) \1$", stages()[0], re.M)
    assert set(copied) == {"analytics", "models", "warehouse", "pipelines", "api"}


def test_containers_are_read_only_and_run_commands_that_exist() -> None:
    services, dask = (yaml.safe_load((DEPLOY / name).read_text())["services"] for name in ("compose.yaml", "compose.dask.yaml"))
    daemon = dask.pop("dagster-daemon")
    assert daemon == {"environment": {"KONTOR_ENGINE": "dask", "KONTOR_DASK_SCHEDULER": "tls://dask-scheduler:8786"}}
    assert dask["dask-worker"]["environment"]["KONTOR_DASK_SCHEDULER"] == daemon["environment"]["KONTOR_DASK_SCHEDULER"]
    assert [name for name, service in dask.items() if "ports" in service] == [], "Dask is called from its own network alone"
    services |= dask
    ours = {name: service for name, service in services.items() if service["image"] == "kontor"}
    assert set(services) - set(ours) == {"postgres"}
    for service in ours.values():
        require_command(service.get("command", ["serve"]))
        assert (service["read_only"], service["tmpfs"], service["cap_drop"]) == (True, ["/tmp"], ["ALL"])
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))


def test_dagster_is_reached_through_its_login_alone() -> None:
    """No service runs Dagster's own webserver: `kontor dagster webserver` puts the login in front of it."""
    assert [path.name for path in FILES if re.search(r"dagster[_-]webserver +-|dagster dev|path-prefix", path.read_text())] == []
    assert commands(UNITS / "kontor-dagster-webserver.service") == [["/opt/kontor/bin/kontor", "dagster", "webserver"]]
    service = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["dagster-webserver"]
    assert (service["command"], service["ports"]) == (["dagster", "webserver"], ["127.0.0.1:3000:3000"])
    assert READY in service["healthcheck"]["test"][-1]
    (stop_seconds,) = map(int, values(UNITS / "kontor-dagster-webserver.service", "TimeoutStopSec"))
    assert stop_seconds > STOP_SECONDS


def test_dagsters_settings_are_part_of_the_package() -> None:
    assert wheel()["force-include"] == {"dagster.yaml": "pipelines/dagster.yaml"}
    assert {"storage", "run_monitoring", "run_retries"} <= set(yaml.safe_load((HOME / "dagster.yaml").read_text()))


def wheel() -> dict[str, Any]:
    project = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())
    found: dict[str, Any] = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    return found
