"""The running service that tests call: real PostgreSQL, real workers, real HTTP on loopback."""

import base64
import json
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import text

from tests.support import forge
from tests.support.databases import migrated_database
from tests.support.forge import Fork
from warehouse.postgres import embedded
from warehouse.postgres.database import Database
from warehouse.postgres.embedded import Addresses
from warehouse.secrets import certificates, hashing
from warehouse.secrets.vault import Vault, create_ring
from warehouse.settings import Settings
from warehouse.stores import api_keys, clients, tokens, users
from warehouse.stores.provisioning import create_tenant
from warehouse.stores.tokens import TokenTerms

MAX_PAUSE_SECONDS = 0.3
Process = Fork | subprocess.Popen[bytes]
Starting = Callable[[str, dict[str, str], Path], Process]
NAME_LENGTH = 6  # shorter names are parts of other words
PASSWORD = "ein langer Satz mit Umläuten"
TOKEN_SECONDS = 3600


@dataclass
class TenantUnderTest:
    """A tenant with its credentials, and tokens on demand."""

    stack: "Stack"
    name: str
    tenant_id: uuid.UUID
    secrets: dict[str, str]
    users: dict[str, uuid.UUID] = field(default_factory=dict)

    def basic(self, client: str) -> tuple[str, str]:
        return f"{self.name}/{client}", self.secrets[client]

    def token_answer(
        self, client: str = "admin", username: str | None = None, scope: str | None = None, password: str = PASSWORD
    ) -> httpx.Response:
        form = {"grant_type": "client_credentials"}
        if username is not None:
            form = {"grant_type": "password", "username": username, "password": password}
        if scope is not None:
            form["scope"] = scope
        answer = self.stack.http.post("/auth/oauth2/token", data=form, auth=self.basic(client))
        self.stack.private |= {password, answer.json().get("access_token", password)}
        return answer

    def bearer(self, client: str = "admin", username: str | None = None, scope: str | None = None) -> dict[str, str]:
        answer = self.token_answer(client, username, scope)
        assert answer.status_code == 200, answer.text
        return {"Authorization": f"Bearer {answer.json()['access_token']}"}

    def path(self, *segments: str) -> str:
        return "/".join(["/auth/mgmt/v1/tenants", self.name, *segments])

    def add_user(self, username: str | None = None) -> str:
        """The name of a new user, made without HTTP."""
        name = username or f"user-{uuid.uuid4().hex[:8]}"
        with self.stack.database.acting_for(self.tenant_id) as owner:
            self.users[name] = users.create(owner, name, _hashed(PASSWORD)).id
        self.stack.private.add(str(self.users[name]))
        if len(name) >= NAME_LENGTH:
            self.stack.private.add(name)
        return name

    def add_client(self, name: str, scopes: tuple[str, ...], secret: str | None = None) -> None:
        with self.stack.database.acting_for(self.tenant_id) as owner:
            _, self.secrets[name] = clients.create(owner, name, scopes, secret=secret)

    def encrypted(self, **values: str) -> dict[str, str]:
        """Credentials as they travel."""
        with self.stack.database.acting_for(self.tenant_id) as owner:
            pem = certificates.current(owner).pem
        return {name: base64.b64encode(certificates.encrypt(pem, value.encode())).decode() for name, value in values.items()}

    def customer(self) -> "Customer":
        """A fresh user with a token of everything that customers may do, without the slow check of a password."""
        name = self.add_user()
        with self.stack.database.acting_for(self.tenant_id) as owner:
            token = tokens.issue_to_user(owner, clients.find(owner, "app"), self.users[name], None, TokenTerms(TOKEN_SECONDS))
        self.stack.private.add(token.access_token)
        return Customer(self, name, {"Authorization": f"Bearer {token.access_token}"})

    def add_api_key(self, username: str) -> tuple[uuid.UUID, str]:
        with self.stack.database.acting_for(self.tenant_id) as owner:
            user = users.find(owner, self.users[username])
            key, plain = api_keys.create(owner, clients.find(owner, "app"), user)
        self.stack.private.add(plain)
        return key.id, plain


DEMO = "00000000-0000-0000-0000-000000000000"
CUSTOMER = "/customer/v2"


@dataclass
class Customer:
    """A user with a token, and what a tenant does for it."""

    tenant: TenantUnderTest
    username: str
    bearer: dict[str, str]

    @property
    def user_id(self) -> uuid.UUID:
        return self.tenant.users[self.username]

    def call(self, method: str, path: str, headers: dict[str, str] | None = None, **given: Any) -> httpx.Response:
        address = path if path.startswith("http") else CUSTOMER + path
        return self.tenant.stack.http.request(method, address, headers={**self.bearer, **(headers or {})}, **given)

    def get(self, path: str = "", **given: Any) -> httpx.Response:
        return self.call("GET", path, **given)

    def read(self, path: str = "", **given: Any) -> Any:
        """The body of what must be there."""
        answer = self.get(path, **given)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def entry(self, userid: str, pin: str | None = None, **more: Any) -> dict[str, Any]:
        """An access to add: the demo bank with encrypted credentials."""
        pin = pin if pin is not None else "demo" if userid.startswith("demo") else userid
        return {"providerId": DEMO, "credentials": self.tenant.encrypted(userid=userid, pin=pin), **more}

    def add(
        self,
        userid: str,
        pin: str | None = None,
        *,
        key: str | None = None,
        refresh: bool = False,
        ip: str | None = None,
        **more: Any,
    ) -> tuple[str, httpx.Response]:
        """The id of an access, and the answer to its POST."""
        key = key or f"a-{uuid.uuid4().hex[:12]}"
        query = {"refresh": "true"} if refresh else {}
        headers = {"Customer-IP-Address": ip} if ip else {}
        body = {key: self.entry(userid, pin, **more)}
        return key, self.call("POST", "/bankzugaenge", json=body, params=query, headers=headers)

    def connected(self, userid: str = "demo1", **given: Any) -> str:
        """The id of an access whose fetch is complete."""
        key, answer = self.add(userid, **given)
        assert answer.status_code == 201, answer.text
        self.wait_complete(key)
        products = self.access(key)["bankprodukte"]
        self.tenant.stack.private |= {product[name] for product in products for name in ("id", "inhaber")}
        return key

    def refresh(self, key: str, ip: str | None = "84.112.10.7", **body: Any) -> httpx.Response:
        """Fetches an access again, with the customer waiting."""
        headers = {"Customer-IP-Address": ip} if ip else {}
        answer = self.call("POST", "/bankzugaenge", json={key: body}, params={"refresh": "true"}, headers=headers)
        if answer.status_code == 201:
            self.wait_idle(key)
        return answer

    def access(self, key: str) -> dict[str, Any]:
        found: dict[str, Any] = self.read(f"/bankzugaenge/{key}")
        return found

    def codes(self, key: str) -> list[str]:
        return [message["code"] for message in self.access(key)["messages"]]

    def issues(self, key: str) -> list[str]:
        return [message["code"] for message in self.read(f"/bankzugaenge/{key}/issues")["messages"]]

    def wait_complete(self, key: str, seconds: float = 90) -> None:
        """Returns when an access is complete. Asks PostgreSQL until its fetch has ended: a request costs ten times as much."""
        self.wait_idle(key, seconds, lambda: str(self.access(key)))
        wait_until(lambda: self.access(key)["status"] == "VOLLSTAENDIG", seconds, lambda: str(self.access(key)))

    def wait_idle(self, key: str, seconds: float = 30, why: Callable[[], str] = lambda: "") -> None:
        """Returns when no fetch of the access is running."""
        find = "SELECT 1 FROM accesses WHERE user_id = :user AND key = :key AND fetch_id IS NOT NULL"
        wait_until(lambda: not self.tenant.stack.sql(find, user=self.user_id, key=key), seconds, why)

    def bookings(self, key: str, product: str, **query: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.read(f"/bankzugaenge/{key}/{product}/kontoumsaetze", params=query)
        return found


@dataclass
class Stack:
    """The service and what tests may look into."""

    base_url: str
    home: Path
    where: Addresses
    database: Database
    vault: Vault
    http: httpx.Client
    log: Path
    process: Process
    worker: Process
    told: dict[str, str]
    private: set[str] = field(default_factory=set)
    """What must never stand in a log: names, passwords, secrets, tokens."""

    def tenant(self, name: str | None = None, *, regulated: bool = True) -> TenantUnderTest:
        """A fresh tenant."""
        name = name or f"t-{uuid.uuid4().hex[:8]}"
        with self.database.operating() as owner:
            new = create_tenant(owner, self.vault, name, datetime.now(UTC), regulated=regulated)
        self.private |= set(new.secrets.values())
        return TenantUnderTest(self, name, new.tenant.id, dict(new.secrets))

    def sql(self, statement: str, **values: Any) -> list[Any]:
        """Rows of a statement that the operator runs."""
        with self.database.operating() as owner:
            result = owner.session.connection().execute(text(statement), values)
            return list(result) if result.returns_rows else []

    @property
    def worker_log(self) -> Path:
        return self.home / "worker.log"

    def log_lines(self) -> list[dict[str, Any]]:
        """What the API and the worker have logged."""
        return [json.loads(line) for log in (self.log, self.worker_log) for line in log.read_text().splitlines()]


@contextmanager
def running_stack(home: Path, starting: Starting | None = None, /, **environment: str) -> Iterator[Stack]:
    """A service of two workers on a free port, with its own database, stopped at the end. Its processes are forks, or started as
    they are told.
    """
    settings = Settings(home=home, port=free_port())
    try:
        with migrated_database(settings) as where:
            create_ring(settings.keys_path)
            with serving(settings, where, environment, starting or start) as stack:
                yield stack
    finally:
        if (home / "postgres" / "postmaster.pid").exists():
            embedded.pg_ctl(home / "postgres", "stop", "-m", "fast")  # a test has restarted it, which makes it nobody's


@contextmanager
def serving(settings: Settings, where: Addresses, environment: dict[str, str], starting: Starting) -> Iterator[Stack]:
    """The API on a database that is ready."""
    told = {"KONTOR_HOME": str(settings.home), "KONTOR_PORT": str(settings.port), "KONTOR_DATABASE_URL": where.service}
    told |= {"KONTOR_WARM_UP": "false", "KONTOR_RESULTS_AT_ONCE": "false"} | environment  # few tests ask for any result
    log, worker_log = settings.home / "api.log", settings.home / "worker.log"
    process, worker = starting("api", told, log), starting("pipelines.worker", told, worker_log)
    database = Database(where.service, pool=5)
    try:
        with httpx.Client(base_url=settings.base_url, timeout=60) as http:
            wait_until(lambda: is_ready(http), 180, lambda: log.read_text())
            stack = Stack(settings.base_url, settings.home, where, database, Vault(settings), http, log, process, worker, told)
            yield stack
            process, worker = stack.process, stack.worker
    finally:
        for running, output in ((process, log), (worker, worker_log)):
            running.send_signal(signal.SIGTERM)
            assert running.wait(40) == 0, output.read_text()[-3000:]
        database.close()


def start(module: str, told: dict[str, str], log: Path) -> Process:
    """A process of the house that adds to a log: a fork of one that has loaded it, where the system can follow forks."""
    if sys.platform != "linux":
        return start_python(module, told, log)
    return forge.start(module, {**os.environ, **told}, log)


def start_python(module: str, told: dict[str, str], log: Path) -> Process:
    """The same, started as its supervisor does."""
    with log.open("ab") as output:
        return subprocess.Popen(
            [sys.executable, "-m", module], env={**os.environ, **told}, stdout=output, stderr=subprocess.STDOUT
        )


def wait_until(condition: Any, seconds: float, why: Any = lambda: "", pause: float = 0.02) -> None:
    """Returns when a condition holds; fails if it does not within a time. The longer it takes, the less often it is asked."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, why()
        time.sleep(pause)
        pause = max(pause, min(pause * 1.25, MAX_PAUSE_SECONDS))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_ready(http: httpx.Client) -> bool:
    """Whether the service answers; asked with one client, since making one takes longer than the question."""
    try:
        return http.get("/ready").status_code == 200
    except httpx.TransportError:
        return False


_HASHES: dict[str, str] = {}


def _hashed(password: str) -> str:
    """The hash of a test password, computed once: argon2 is slow on purpose."""
    if password not in _HASHES:
        _HASHES[password] = hashing.hash_password(password)
    return _HASHES[password]
