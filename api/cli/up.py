"""Runs a whole installation on one machine: prepares the database, then starts, watches and stops all processes."""

import shlex
import sys
import time
from contextlib import ExitStack, closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.progress import Progress

from api.cli import dagster, processes
from api.cli.demo import seed_demo
from api.cli.installation import Installation, check_keys, console
from api.dagster_proxy import credentials, runs
from api.dagster_proxy.sites import READY
from pipelines import demo_tenants as demo_flow
from warehouse.lake.lake import Lake
from warehouse.postgres import embedded, migrate
from warehouse.postgres.database import Database
from warehouse.postgres.embedded import Addresses
from warehouse.secrets.vault import Vault, create_ring
from warehouse.settings import Settings

STOP_SECONDS = 30
MAX_BANK_DATA_SECONDS = 60
FINTS_DEMO_URL = "KONTOR_FINTS_DEMO_URL"
FINTS_HOST, FINTS_PATH = "127.0.0.1", "/fints"


def run(settings: Settings, addresses: Addresses, *, with_dagster: bool, with_demo: bool) -> None:
    """Runs all processes until Ctrl-C or SIGTERM. One that ends later is started again; one that cannot start ends everything."""
    processes.interrupt_on_signals()
    for name, host, port in (("API", settings.host, settings.port), ("Dagster", settings.dagster_host, settings.dagster_port)):
        if name == "API" or with_dagster:
            processes.require_free(name, host, port)
    with console.status("Preparing the database …"):
        create_ring(settings.keys_path)
        migrate.upgrade(addresses.migration, addresses.service_role)
        check_keys(addresses.service, Vault(settings))
    children: list[processes.Child] = []
    opened = ExitStack()
    try:
        environment = dagster.environment(settings, addresses)
        compiling = processes.start("compiling", [sys.executable, "-m", "pipelines.warm_up"], environment, settings.home / "logs")
        children.append(compiling)
        with console.status("Compiling the taggers (once after an update) …"):
            processes.finish(compiling)
        children.remove(compiling)
        programs = {"api": ["api"], "worker": ["pipelines.worker"], **(_fints_bank(settings, environment) if with_demo else {})}
        for name, module in programs.items():
            children.append(processes.start(name, [sys.executable, "-m", *module], environment, settings.home / "logs"))
        demo = _seed(settings, addresses) if with_demo else None  # while the API is loading
        with console.status("Starting the API …"):
            processes.wait_for(f"http://{settings.host}:{settings.port}/ready", children)
        if demo is not None:
            _await_bank_data(addresses, children)
        _greet(settings, demo)
        if with_dagster:
            environment["KONTOR_FIRST_SLOT"] = dagster.first_slot(settings)
            sockets = opened.enter_context(dagster.sockets())
            server = _start_ui(settings, addresses, environment, sockets, children)
            if demo is not None:
                _materialise(settings, environment, children)
                _train(server)
            children.append(dagster.daemon_start(environment, sockets, settings.home / "logs"))
        console.print(f"Logs        {settings.home / 'logs'}\nCtrl-C stops everything.", highlight=False)
        processes.supervise(children, _say, lambda: embedded.revive(settings))
    except KeyboardInterrupt:
        pass
    finally:
        processes.stop_all(children, STOP_SECONDS)  # before anything is printed: the reader of our output may already be gone
        opened.close()
        console.print("Stopped.")


def _fints_bank(settings: Settings, environment: dict[str, str]) -> dict[str, list[str]]:
    """The simulated FinTS bank on a free port, which all processes learn by their environment; none if another is set there."""
    if FINTS_DEMO_URL in environment:
        return {}
    port = processes.free_port()
    environment[FINTS_DEMO_URL] = f"http://{FINTS_HOST}:{port}{FINTS_PATH}"
    folder = settings.home / "demo-bank" / "fints"
    return {"fints-bank": ["pipelines.banks.fints_bank", "--folder", str(folder), "--port", str(port)]}


def _say(event: str) -> None:
    """Prints an event. Where the output goes to a full disk, nothing ends for that."""
    with suppress(OSError):
        console.print(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}Z  {event}", highlight=False, soft_wrap=True)


def _seed(settings: Settings, addresses: Addresses) -> dict[str, Any]:
    database = Database(addresses.service, pool=2)
    try:
        with console.status("Creating the demo tenants …"):
            return seed_demo(Installation(settings, database, Vault(settings)))
    finally:
        database.close()


def _await_bank_data(addresses: Addresses, children: list[processes.Child]) -> None:
    """Waits until the demo's users have bank data, so that the printed requests return some."""
    deadline = time.monotonic() + MAX_BANK_DATA_SECONDS
    with closing(Database(addresses.service, pool=1)) as database, Progress(console=console, transient=True) as bar:
        total = pending = demo_flow.count_pending(database)
        task = bar.add_task("Fetching the bank data of the demo …", total=total)
        while pending and time.monotonic() < deadline:
            processes.require_alive(children)
            time.sleep(0.2)
            pending = demo_flow.count_pending(database)
            bar.update(task, completed=total - pending)


def _materialise(settings: Settings, environment: dict[str, str], children: list[processes.Child]) -> None:
    """Fills an empty lake with the demo's customers; later the schedule and the sensor do that."""
    from warehouse.lake.tables import TRANSACTION_TAGS  # loads numba

    if Lake(settings.lake_path).buckets(TRANSACTION_TAGS):
        return
    command = [sys.executable, "-W", "ignore", "-m", "pipelines.materialise"]
    materialising = processes.start("materialising", command, environment, settings.home / "logs")
    children.append(materialising)
    with console.status("Materialising all partitions …"):
        processes.finish(materialising)
    children.remove(materialising)


def _train(server: runs.DagsterServer) -> None:
    """Trains and evaluates a small model if there never was one, so that the lineage is complete. The active model stays."""
    if not runs.is_materialized(server, "categoriser_evaluation"):
        run = runs.launch(server, demo_flow.TRIAL)
        console.print(f"Training    a trial model, in the background: {run}", soft_wrap=True, highlight=False)


def _start_ui(
    settings: Settings, addresses: Addresses, environment: dict[str, str], sockets: Path, children: list[processes.Child]
) -> runs.DagsterServer:
    """Starts Dagster's processes but the daemon, with the login in front of them, and prints how to log in."""
    if settings.database_url is not None and settings.dagster_database_url is None:
        embedded.ensure_database(addresses.dagster, beside=addresses.migration)
    starts = dagster.ui_starts(settings, environment, sockets, settings.home / "logs")
    server = runs.server_of(settings)
    with console.status("Starting Dagster …"):
        for name, start in starts.items():
            children.append(start())
            if name == dagster.CODE:
                processes.wait_for_file(sockets / dagster.CODE_SOCKET, children)  # what is launched below needs it
        processes.wait_for(f"{server.address}{READY}", children)
    new_password = credentials.create_password(settings.home)
    how = f"password {new_password}" if new_password else "with its password; 'kontor dagster password' sets a new one"
    console.print(f"Dagster UI  {server.address}\n  log in    {how}", markup=False, highlight=False, soft_wrap=True)
    return server


def _greet(settings: Settings, demo: dict[str, Any] | None) -> None:
    """Prints the addresses and credentials, and requests to copy."""
    root = settings.base_url
    lines = [f"API         {root}", *([f"API docs    {root}/docs"] if settings.docs else [])]
    if demo is not None:
        lines.insert(0, f"Demo        {root}/demo")
        lines += [f"Credentials {settings.home / 'demo.json'}", ""]
        for tenant in demo["tenants"]:
            lines.append(f"Tenant {tenant['name']} ({'regulated' if tenant['regulated'] else 'redirect'})")
            lines += [f"  client {client['username']}  secret {client['secret']}" for client in tenant["clients"].values()]
            lines += [f"  user {user['username']}  password {user['password']}" for user in tenant["users"]]
            lines.append(f"  API key {tenant['apiKey']}")
    console.rule("Kontor is ready", align="left")
    console.print("\n".join(lines), markup=False, soft_wrap=True, highlight=False)
    if demo is not None:
        console.print(
            "Try it:",
            *(f"  {request}" for request in requests(root, demo["tenants"][0])),
            sep="\n",
            markup=False,
            soft_wrap=True,
            highlight=False,
        )


def requests(root: str, tenant: dict[str, Any]) -> list[str]:
    """Three curl commands: for a user's token, the user's accounts, and the tenant's users."""
    user = tenant["users"][0]
    user_token = (
        f"curl -s -u {_login(tenant['clients']['app'])} -d grant_type=password -d username={user['username']} "
        f"--data-urlencode password={shlex.quote(user['password'])} {root}/auth/oauth2/token"
    )
    token = f"curl -s -u {_login(tenant['clients']['admin'])} -d grant_type=client_credentials {root}/auth/oauth2/token"
    return [
        user_token,
        f"curl -s {_bearer(user_token)} {root}/customer/v2",
        f"curl -s {_bearer(token)} {root}/auth/mgmt/v1/tenants/{tenant['name']}/users",
    ]


def _bearer(token: str) -> str:
    return f'-H "Authorization: Bearer $({token} | sed \'s/.*"access_token":"\\([^"]*\\)".*/\\1/\')"'


def _login(client: dict[str, str]) -> str:
    return shlex.quote(f"{client['username']}:{client['secret']}")
