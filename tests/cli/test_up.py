"""`kontor up` as its user meets it: everything starts, the printed requests work, Ctrl-C stops it all, and it starts again."""

import json
import os
import re
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import psutil
import psycopg
import pytest
from sqlalchemy import make_url
from websockets.sync.client import connect

from models import registry
from pipelines import erase
from tests.support.kontor_up import running
from tests.support.stack import Stack, wait_until
from warehouse.lake.lake import Lake
from warehouse.settings import Settings

BUCKETS = 8
"""Fewer than usual: Dagster records each partition of each asset one by one."""
PROCESSES = (
    "api",
    "worker",
    "fints-bank",
    "compiling",
    "dagster-code",
    "dagster-webserver",
    "dagster-proxy",
    "dagster-daemon",
    "materialising",
)
ASSETS = """query {
  assetNodes {
    assetKey { path } staleStatus freshnessStatusInfo { freshnessStatus }
    assetMaterializations(limit: 1) { timestamp } partitionStats { numPartitions numMaterialized numFailed }
    assetChecksOrError { ... on AssetChecks { checks { name executionForLatestMaterialization { status } } } }
  }
}"""
LOCATIONS = """query {
  workspaceOrError { ... on Workspace { locationEntries {
    loadStatus versionKey locationOrLoadError { ... on RepositoryLocation { name serverId } }
  } } }
}"""
RUNS = "query { runsOrError { ... on Runs { results { jobName status } } } }"
ENDED = {"SUCCESS", "FAILURE", "CANCELED"}


def test_everything_runs_and_stops_and_runs_again(homes: Path) -> None:
    home = homes / "up"
    with running(home, KONTOR_WORKERS="1", KONTOR_WARM_UP="false", KONTOR_BUCKETS=str(BUCKETS)) as (output, api, dagster):
        demo = json.loads((home / "demo.json").read_text())
        assert demo["base_url"] == f"http://127.0.0.1:{api}"
        assert stat.S_IMODE((home / "demo.json").stat().st_mode) == 0o600
        requests = [line.strip() for line in output.read_text().splitlines() if line.startswith("  curl ")]
        assert len(requests) == 3
        token, customer, users = (
            subprocess.run(["bash", "-c", line], capture_output=True, text=True).stdout for line in requests
        )
        assert json.loads(token)["additionalData"] == {"username": "erika"}
        assert [user["username"] for user in json.loads(users)] == ["erika", "max", "neu"]
        accesses = json.loads(customer)["bankzugaenge"]
        assert accesses["demo"]["status"] == "VOLLSTAENDIG"
        assert len(accesses["demo"]["bankprodukte"]) == 4
        logs = {path.name for path in (home / "logs").iterdir()}
        assert logs == {f"{name}.log" for name in PROCESSES}
        only_the_api_the_login_and_the_fints_bank_listen(home, api, dagster)
        with logged_in(output, dagster) as ui:
            everything_is_materialised(ui)
            all_lines_are_json(home)
            assert registry.active_version(home / "models") == "", "the trial model is not in use"
            hears_of_events(ui)
            the_code_comes_back(home, ui, output)
        access = accesses["demo"]
        address = f"http://127.0.0.1:{api}/customer/v2/bankzugaenge/demo/{access['bankprodukte'][0]['id']}/kontoumsaetze"
        bearer = {"Authorization": f"Bearer {json.loads(token)['access_token']}"}
        answer = httpx.get(address, params={"tag": "true"}, headers=bearer, timeout=60)
        assert answer.headers["X-Analysis-Source"] == "precomputed"
    with running(home, "--no-dagster", KONTOR_WORKERS="1", KONTOR_WARM_UP="false", KONTOR_BUCKETS=str(BUCKETS)) as (
        output,
        api,
        _,
    ):
        again = json.loads((home / "demo.json").read_text())
        assert again["tenants"] == demo["tenants"]
        admin = demo["tenants"][0]["clients"]["admin"]
        basic = (admin["username"], admin["secret"])
        answer = httpx.post(f"http://127.0.0.1:{api}/auth/oauth2/token", data={"grant_type": "client_credentials"}, auth=basic)
        assert answer.status_code == 200
        what_dies_comes_back(home, api, output)
    unknown = erase.unknown_entries(Lake(str(home / "lake")), Settings(home=home))
    assert unknown == [], "an erasure knows every file and folder of the data directory"


def what_dies_comes_back(home: Path, api: int, output: Path) -> None:
    """Kills worker, API and database, one after the other: each is started again, which is told, and requests are answered."""
    for module in ("pipelines.worker", "api"):
        kill_and_await(home, module, output)
    server = int((home / "postgres" / "postmaster.pid").read_text().split()[0])
    psutil.Process(server).kill()
    wait_until(lambda: "PostgreSQL had ended" in output.read_text(), 60, output.read_text)
    wait_until(lambda: is_answered(f"http://127.0.0.1:{api}/ready"), 60, output.read_text)
    assert output.read_text().count("starts again") == 2


def the_code_comes_back(home: Path, ui: httpx.Client, output: Path) -> None:
    """Kills the server of our code, after which Dagster's webserver finds the next one by itself."""
    before = server_id(ui)
    assert before
    kill_and_await(home, "dagster", output)
    wait_until(lambda: server_id(ui) not in (before, None), 90, output.read_text, pause=0.5)


def server_id(ui: httpx.Client) -> str | None:
    """The server from which Dagster's webserver has loaded our code; None while it has not."""
    (entry,) = ask(ui, LOCATIONS)["workspaceOrError"]["locationEntries"]
    return (entry["locationOrLoadError"] or {}).get("serverId")


def kill_and_await(home: Path, module: str, output: Path) -> None:
    """Kills the process of a module, and returns when another one runs."""
    victim = process_of(home, module)
    assert victim is not None
    victim.kill()
    wait_until(lambda: process_of(home, module) not in (None, victim), 60, output.read_text)


def process_of(home: Path, module: str) -> psutil.Process | None:
    """The process of this installation that runs a module."""
    for process in psutil.process_iter(["cmdline"]):
        with suppress(psutil.Error):
            arguments = [argument for argument in process.info["cmdline"] or [] if argument != "pipelines.dagster_process"]
            if arguments[1:3] == ["-m", module] and process.environ().get("KONTOR_HOME") == str(home):
                return process
    return None


def is_answered(address: str) -> bool:
    try:
        return httpx.get(address, verify=False).status_code == 200
    except httpx.TransportError:
        return False


@pytest.mark.thorough
def test_a_server_of_the_operators_own_is_used(stack: Stack, homes: Path) -> None:
    at = make_url(stack.where.service)
    admin = at.set(username="postgres", database="postgres").render_as_string(hide_password=False)
    owner, service = (
        at.set(username=role, database="own").render_as_string(hide_password=False) for role in ("kontor_owner", "kontor")
    )
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute("CREATE DATABASE own OWNER kontor_owner")
    home = homes / "own"
    told = {"KONTOR_DATABASE_URL": service, "KONTOR_MIGRATION_URL": owner, "KONTOR_WORKERS": "1"}
    with running(home, "--no-dagster", **told) as (_, api, _):
        assert httpx.get(f"http://127.0.0.1:{api}/ready").status_code == 200
        with psycopg.connect(owner, options="-c kontor.operator=on") as connection:
            assert connection.execute("SELECT name FROM tenants ORDER BY name").fetchall() == [("demo",), ("demo-redirect",)]
        assert not (home / "postgres").exists()


def test_a_port_in_use_is_named(homes: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        told = {"KONTOR_HOME": str(homes / "port"), "KONTOR_PORT": str(taken.getsockname()[1])}
        command = [str(Path(sys.executable).with_name("kontor")), "up", "--no-dagster"]
        failed = subprocess.run(command, env={**os.environ, **told}, capture_output=True, text=True, timeout=120)
    assert failed.returncode == 1
    assert "KONTOR_PORT" in failed.stderr


def all_lines_are_json(home: Path) -> None:
    """Dagster's programs and its runs log as ours do."""
    for name in ("dagster-code", "dagster-webserver", "dagster-proxy", "dagster-daemon"):
        path = home / "logs" / f"{name}.log"
        strangers = [line for line in path.read_text().splitlines() if not line.startswith('{"level":')]
        assert strangers == [], name
    code_lines = [json.loads(line) for line in (home / "logs" / "dagster-code.log").read_text().splitlines()]
    assert {"PIPELINE_START", "PIPELINE_SUCCESS"} <= {line.get("type") for line in code_lines}, "of processes that were spawned"


@contextmanager
def logged_in(output: Path, dagster: int) -> Iterator[httpx.Client]:
    """A browser in the Dagster UI, with the password that was printed. Without it, Dagster does nothing."""
    origin = f"http://127.0.0.1:{dagster}"
    (password,) = re.findall(rf"^Dagster UI  {origin}\n  log in    password (\S+)$", output.read_text(), re.M)
    with httpx.Client(base_url=origin, headers={"Origin": origin}, timeout=60, trust_env=False) as client:
        for path in ("/", "/server_info", "/graphql"):
            assert client.get(path).status_code in (401, 405)
        assert client.post("/graphql", json={"query": RUNS}).status_code == 401
        assert client.post("/kontor/login", data={"password": password}).headers["Location"] == "/"
        page = client.get("/", headers={"Accept": "text/html"})
        assert "initialization-data" in page.text
        assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
        assert client.get("/graphql", params={"query": RUNS}).status_code == 405
        yield client


def only_the_api_the_login_and_the_fints_bank_listen(home: Path, api: int, dagster: int) -> None:
    """Dagster's webserver has no port that a browser or another user could reach: it listens in a private folder."""
    (webserver,) = (process for process in psutil.process_iter(["cmdline"]) if is_webserver(process, home))
    (folder,) = {Path(word).parent for word in webserver.cmdline() if "kontor-dagster-" in word}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    family = webserver.parent().children(recursive=True)
    listening = {
        connection.laddr.port
        for process in family
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }
    bank = process_of(home, "pipelines.banks.fints_bank")
    assert bank is not None
    bank_port = int(bank.cmdline()[-1])
    assert listening == {api, dagster, bank_port}
    assert httpx.get(f"http://127.0.0.1:{bank_port}/ready").status_code == 200
    assert stat.S_IMODE((home / "dagster-token").stat().st_mode) == 0o600


def is_webserver(process: psutil.Process, home: Path) -> bool:
    try:
        return "pipelines.webserver" in (process.info["cmdline"] or []) and process.environ().get("KONTOR_HOME") == str(home)
    except psutil.Error:
        return False


def hears_of_events(ui: httpx.Client) -> None:
    """The UI's subscriptions reach Dagster."""
    headers = {"Origin": ui.headers["Origin"], "Cookie": "; ".join(f"{name}={value}" for name, value in ui.cookies.items())}
    protocols: Any = ["graphql-ws"]
    address = f"ws://127.0.0.1:{ui.base_url.port}/graphql"
    with connect(address, subprotocols=protocols, additional_headers=headers, proxy=None) as connection:
        connection.send(json.dumps({"type": "connection_init", "payload": {}}))
        assert json.loads(connection.recv(30)) == {"type": "connection_ack"}


def everything_is_materialised(ui: httpx.Client) -> None:
    """The lineage is complete and green once the runs of the start have ended: every asset, every bucket, the current slot of the
    pulls, every check, and nothing is stale or overdue. Only what somebody must ask for is missing: the evaluation of the
    analyses, calibrations of credit risk, searches for parameters, and models of tenants.
    """
    wait_until(lambda: {run["status"] for run in runs(ui)} <= ENDED, 600, lambda: runs(ui), pause=1)
    assert {run["status"] for run in runs(ui)} == {"SUCCESS"}, runs(ui)
    wait_until(lambda: overdue(ui) == [], 60, lambda: overdue(ui), pause=1)  # the daemon looks every half minute
    nodes = {node["assetKey"]["path"][0]: node for node in ask(ui, ASSETS)["assetNodes"]}
    for name in (
        *("analyses_evaluation", "credit_risk_calibration", "credit_risk_probability"),
        *("categoriser_search", "tenant_categoriser_candidate", "tenant_categoriser"),
    ):
        assert not nodes.pop(name)["assetMaterializations"]
    nodes.pop("bank_health")  # written once an hour
    assert len(nodes) == 18
    for name, node in nodes.items():
        assert node["assetMaterializations"], name
        checks = node["assetChecksOrError"].get("checks", [])
        passed = {check["name"]: (check["executionForLatestMaterialization"] or {}).get("status") for check in checks}
        assert set(passed.values()) <= {"SUCCEEDED"}, (name, passed)
        assert node["staleStatus"] in ("FRESH", None), name
    for name in ("transactions", "transaction_tags", "contracts", "cashflow", "affordability", "served_results"):
        assert nodes[name]["partitionStats"] == {"numPartitions": BUCKETS, "numMaterialized": BUCKETS, "numFailed": 0}
    for name in ("landing", "ledger"):
        stats = nodes[name]["partitionStats"]
        assert stats["numPartitions"] == stats["numMaterialized"] >= BUCKETS


def runs(ui: httpx.Client) -> list[dict[str, str]]:
    found: list[dict[str, str]] = ask(ui, RUNS)["runsOrError"]["results"]
    return found


def overdue(ui: httpx.Client) -> list[str]:
    """The assets with a time of their own that are not known to be fresh."""
    return [
        node["assetKey"]["path"][0]
        for node in ask(ui, ASSETS)["assetNodes"]
        if (node["freshnessStatusInfo"] or {}).get("freshnessStatus", "HEALTHY") != "HEALTHY"
    ]


def ask(ui: httpx.Client, query: str, **variables: object) -> dict[str, Any]:
    found: dict[str, Any] = ui.post("/graphql", json={"query": query, "variables": variables}).json()["data"]
    return found
