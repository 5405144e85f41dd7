"""Running everything on one machine: prepares the house, starts its processes, watches them, and stops them all together."""

import contextlib
import ctypes
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.markup import escape
from sqlalchemy import make_url

from api.cli.demo import seed_demo
from api.cli.desk import Desk, console
from warehouse import embedded, migrate
from warehouse.database import Database
from warehouse.embedded import Addresses
from warehouse.errors import KontorError
from warehouse.settings import Settings
from warehouse.vault import Vault, create_ring

ROOT = Path(__file__).resolve().parents[2]
STOP_SECONDS = 30
PARENT_DIED = 1  # PR_SET_PDEATHSIG of Linux


@dataclass
class Child:
    """A process of the house. It has a group of its own, so that the order of stopping is ours and nothing of it stays."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def stop(self, deadline: float) -> None:
        """Asks the process to end, and ends its group if it does not."""
        self._signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(max(0.1, deadline - time.monotonic()))
        self._signal(signal.SIGKILL)
        self.process.wait()

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)


def run(settings: Settings, where: Addresses, *, with_dagster: bool, with_demo: bool) -> None:
    """Runs the house until Ctrl-C or SIGTERM, or until one of its processes ends."""
    for name, host, port in (("API", settings.host, settings.port), ("Dagster", settings.dagster_host, settings.dagster_port)):
        if name == "API" or with_dagster:
            _require_free(name, host, port)
    with console.status("Preparing the database …"):
        create_ring(settings.keys_path)
        migrate.upgrade(where.migration, make_url(where.service).username)
    demo = _seed(settings, where) if with_demo else None
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    children: list[Child] = []
    try:
        environment = _environment(settings, where)
        children.append(_start("api", [sys.executable, "-m", "api"], environment, settings))
        with console.status("Starting the API …"):
            _wait_for(f"http://{settings.host}:{settings.port}/ready", children)
        _greet(settings, demo)
        if with_dagster:
            children += _start_dagster(settings, where, environment)
            address = f"http://{settings.dagster_host}:{settings.dagster_port}"
            with console.status("Starting Dagster …"):
                _wait_for(f"{address}/server_info", children)
            console.print(f"Dagster UI  {address}", highlight=False)
        console.print(f"Logs        {settings.home / 'logs'}\nCtrl-C stops everything.", highlight=False)
        _watch(children)
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with console.status("Stopping …"):
            deadline = time.monotonic() + STOP_SECONDS
            for child in children:
                child.stop(deadline)
        console.print("Stopped.")


def _interrupt(_number: int, _frame: Any) -> None:
    raise KeyboardInterrupt


def _require_free(name: str, host: str, port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            setting = "KONTOR_PORT" if name == "API" else "KONTOR_DAGSTER_PORT"
            raise KontorError(f"{host}:{port} for {name} is in use: stop the program there, or set {setting}") from error


def _seed(settings: Settings, where: Addresses) -> dict[str, Any]:
    database = Database(where.service, pool=2)
    try:
        with console.status("Making the demo tenants …"):
            return seed_demo(Desk(settings, database, Vault(settings)))
    finally:
        database.close()


def _environment(settings: Settings, where: Addresses) -> dict[str, str]:
    """What all processes of the house are told."""
    dagster = settings.home / "dagster"
    logs = dagster / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    return {
        **os.environ,
        "KONTOR_HOME": str(settings.home),
        "KONTOR_DATABASE_URL": where.service,
        "KONTOR_DAGSTER_DATABASE_URL": make_url(where.dagster).set(drivername="postgresql+psycopg2").render_as_string(False),
        "KONTOR_DAGSTER_DIR": str(dagster),
        "KONTOR_DAGSTER_LOGS": str(logs),
        "DAGSTER_HOME": str(ROOT),
        "PYTHONUNBUFFERED": "1",
    }


def _start_dagster(settings: Settings, where: Addresses, environment: dict[str, str]) -> list[Child]:
    if not (ROOT / "dagster.yaml").exists():
        raise KontorError("dagster.yaml is missing: run from a checkout, or with --no-dagster")
    if settings.database_url is not None and settings.dagster_database_url is None:
        embedded.ensure_database(where.dagster, beside=where.migration)
    module = ["-m", "pipelines.definitions"]
    address = ["-h", settings.dagster_host, "-p", str(settings.dagster_port)]
    return [
        _start("dagster-webserver", [sys.executable, "-m", "dagster_webserver", *module, *address], environment, settings),
        _start("dagster-daemon", [sys.executable, "-m", "dagster._daemon", "run", *module], environment, settings),
    ]


def _start(name: str, command: list[str], environment: dict[str, str], settings: Settings) -> Child:
    log = settings.home / "logs" / f"{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        process = subprocess.Popen(  # noqa: S603 (our own programs)
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            preexec_fn=_end_with_parent(),
        )
    return Child(name, process, log)


def _end_with_parent() -> Callable[[], None] | None:
    """On Linux: lets a process get SIGTERM when this one dies without having stopped it."""
    if sys.platform != "linux":
        return None
    library = ctypes.CDLL(None)
    return lambda: library.prctl(PARENT_DIED, signal.SIGTERM)


def _wait_for(address: str, children: list[Child], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        _require_alive(children)
        try:
            with urllib.request.urlopen(address, timeout=2):  # noqa: S310 (our own address)
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise KontorError(f"{address} did not answer within {seconds:.0f} s; see the logs")


def _watch(children: list[Child]) -> None:
    while True:
        _require_alive(children)
        time.sleep(0.5)


def _require_alive(children: list[Child]) -> None:
    for child in children:
        if child.process.poll() is not None:
            tail = "\n".join(child.log.read_text(errors="replace").splitlines()[-15:])
            raise KontorError(f"{child.name} ended with {child.process.returncode}; {child.log} ends with:\n{escape(tail)}")


def _greet(settings: Settings, demo: dict[str, Any] | None) -> None:
    """Says where things are, and prints requests that work as they are."""
    root = settings.base_url
    lines = [f"API         {root}", *([f"API docs    {root}/docs"] if settings.docs else [])]
    if demo is not None:
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
    """Three requests to copy: a user's token, the tenant's users, and an encrypted value."""
    user = tenant["users"][0]
    token = f"curl -s -u {_login(tenant['clients']['admin'])} -d grant_type=client_credentials {root}/auth/oauth2/token"
    bearer = f'-H "Authorization: Bearer $({token} | sed \'s/.*"access_token":"\\([^"]*\\)".*/\\1/\')"'
    return [
        f"curl -s -u {_login(tenant['clients']['app'])} -d grant_type=password -d username={user['username']} "
        f"--data-urlencode password={shlex.quote(user['password'])} {root}/auth/oauth2/token",
        f"curl -s {bearer} {root}/auth/mgmt/v1/tenants/{tenant['name']}/users",
        f"curl -s -X PUT {bearer} -H 'Content-Type: application/octet-stream+base64' -d $(printf geheim | base64) {root}/encrypt",
    ]


def _login(client: dict[str, str]) -> str:
    return shlex.quote(f"{client['username']}:{client['secret']}")
