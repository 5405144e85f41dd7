"""Those who disturb others: readers that take a byte a second, a receiver of webhooks that never answers, and an operator who
disables tenants, clients and API keys in the middle of their work.
"""

import secrets
import select
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import urlsplit
from uuid import UUID

import httpx
import psutil
from sqlalchemy import text

from pipelines import deactivation
from tests.soak.calling import IP, Actor, Line
from tests.soak.house import READER_SECONDS, House
from warehouse.postgres.database import DATABASE_ERRORS, Owner
from warehouse.stores import api_keys, clients, tenants, users

ACCESSES = "/customer/v2/bankzugaenge"
LONG_LIST = "test_many_50000"
READERS = 8
LEAST_READ_SECONDS = 5
CUT_SECONDS = 3 * READER_SECONDS + 15
"""A reader is looked at every READER_SECONDS; beside kills and on a busy machine, it may take two looks and some seconds."""
SLOW_READERS_END = "slow readers are cut off"
DISABLED_STAYS_OUT = "what is disabled stays out"
ENABLING_REVIVES_NOTHING = "enabling revives no token"
MAX_HELD_CONNECTIONS = 200
FETCHES = "SELECT count(*) FROM accesses WHERE tenant_id = :tenant AND fetch_id IS NOT NULL"
FETCHES_OF_CLIENT = FETCHES + " AND fetch_client_id = :id"
FETCHES_OF_KEY = FETCHES + " AND fetch_api_key_id = :id"


class SlowReaders(Actor):
    """Callers who ask for long lists and read one byte a second."""

    def __init__(self, line: Line, seed: int) -> None:
        super().__init__(f"slow-readers-{seed}", line, seed, pause=2.0)
        self.key, self.userid, self.path = f"s-{secrets.token_hex(8)}", LONG_LIST, ""

    def steps(self) -> dict[Callable[[], object], int]:
        return {self.read_slowly: 1}

    def read_slowly(self) -> None:
        """Several readers at once, until the service has had enough of each."""
        if not self._connected():
            return
        readers = [threading.Thread(target=self._read, daemon=True) for _ in range(READERS)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
            self.line.ask("beside slow readers", "GET", "/customer/v2")

    def _connected(self) -> bool:
        """Whether there is a list that fills all buffers."""
        if not self.path:
            body = {self.key: self.tenant.entry(self.userid, self.userid)}
            if self.line.ask("add access", "POST", ACCESSES, (201,), json=body, headers=IP) is None:
                return False
            access = self.line.read("access", f"{ACCESSES}/{self.key}")
            if access and access["bankprodukte"] and access["status"] == "VOLLSTAENDIG":
                self.notes.keep("own IBAN", access["bankprodukte"][0]["id"])
                self.path = f"{ACCESSES}/{self.key}/{access['bankprodukte'][0]['id']}/kontoumsaetze"
        return bool(self.path)

    def _read(self) -> None:
        """Reads until the connection is cut, which must happen in time; one that ends with its API worker says nothing."""
        place = urlsplit(self.line.base_url)
        head = f"GET {self.path} HTTP/1.1\r\nHost: {place.netloc}\r\nAuthorization: {self.line.bearer['Authorization']}\r\n\r\n"
        with suppress(OSError), socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.settimeout(90)
            connection.connect((place.hostname, place.port))
            connection.sendall(head.encode())
            if not connection.recv(12).endswith(b" 200"):
                return
            began_at = time.monotonic()
            while time.monotonic() < began_at + CUT_SECONDS and not _is_cut(connection) and connection.recv(1):
                time.sleep(1)
            lasted = time.monotonic() - began_at
            if lasted >= LEAST_READ_SECONDS:
                is_late = lasted >= CUT_SECONDS and _is_served(connection)
                self.notes.hold(SLOW_READERS_END, not is_late, f"one is still served after {lasted:.0f} s")


def _is_cut(connection: socket.socket) -> bool:
    """Whether the other side has ended the connection; what it sent before can still be read, a byte a second."""
    watched = select.poll()
    watched.register(connection, select.POLLRDHUP)
    return bool(watched.poll(0))


def _is_served(connection: socket.socket) -> bool:
    """Whether a process holds the other side. The end of one that was killed waits behind what nobody has read yet."""
    own, other = connection.getsockname()[1], connection.getpeername()[1]
    lines = psutil.net_connections("tcp")
    return any(line.pid and line.raddr and (line.laddr.port, line.raddr.port) == (other, own) for line in lines)


class HangingReceiver(threading.Thread):
    """An address that takes connections and never answers, until it is released."""

    def __init__(self) -> None:
        super().__init__(name="hanging-receiver", daemon=True)
        self.over = threading.Event()
        self.server = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.server.settimeout(0.5)
        self.calls = 0

    @property
    def port(self) -> int:
        return int(self.server.getsockname()[1])

    def run(self) -> None:
        held: list[socket.socket] = []
        while not self.over.is_set():
            with suppress(TimeoutError):
                held.append(self.server.accept()[0])
                self.calls += 1
            for connection in held[:-MAX_HELD_CONNECTIONS]:
                connection.close()
            del held[:-MAX_HELD_CONNECTIONS]
        for connection in held:
            connection.close()
        self.server.close()


class Operator(Actor):
    """Disables its tenant, its client or its API key while they work, and enables them again."""

    def __init__(self, house: House, line: Line, username: str, password: str, seed: int) -> None:
        super().__init__(f"operator-{seed}", line, seed, pause=4.0)
        self.house, self.username, self.password = house, username, password
        self.key = f"o-{secrets.token_hex(8)}"
        self.is_connected = False
        with house.database.operating() as operator:
            self.tenant_id = tenants.find(operator, line.tenant.name).id
        with house.database.acting_for(self.tenant_id) as owner:
            client, user = clients.find(owner, "app"), next(user for user in users.visible(owner) if user.username == username)
            key, plain = api_keys.create(owner, client, user)
            self.client_id, self.key_id = client.id, key.id
        self.api_key = self.notes.keep("API key", plain)

    def steps(self) -> dict[Callable[[], object], int]:
        return {self.switch_tenant: 1, self.switch_client: 1, self.switch_key: 1}

    def switch_tenant(self) -> None:
        self._switch(deactivation.disable_tenant, tenants.enable, FETCHES, self.tenant_id)

    def switch_client(self) -> None:
        def disable(owner: Owner) -> None:
            deactivation.disable_client(owner, "app")

        self._switch(disable, lambda owner: clients.enable(owner, "app"), FETCHES_OF_CLIENT, self.client_id)

    def switch_key(self) -> None:
        def disable(owner: Owner) -> None:
            deactivation.disable_api_key(owner, self.key_id)

        self._switch(disable, lambda owner: api_keys.enable(owner, self.key_id), FETCHES_OF_KEY, self.key_id, only_key=True)

    def _switch(
        self,
        disable: Callable[[Owner], None],
        enable: Callable[[Owner], None],
        fetches: str,
        subject: UUID,
        *,
        only_key: bool = False,
    ) -> None:
        """Disables something whose fetch is under way; from then on nothing of it is let in, and no fetch of it goes on."""
        bearer = self._key_token() if only_key else self._user_token()
        if bearer is None:
            return
        fetching = threading.Thread(target=self._fetch, args=(bearer,), daemon=True)
        fetching.start()
        time.sleep(self.chance.uniform(0, 0.5))
        self._until_done(disable)
        fetching.join()
        self.notes.hold(DISABLED_STAYS_OUT, self._refuses(bearer), "a token was let in")
        self.notes.hold(DISABLED_STAYS_OUT, self._counted(fetches, subject) == 0, "a fetch went on")
        again = self._key_token((401,)) if only_key else self._user_token((401,))
        self.notes.hold(DISABLED_STAYS_OUT, again is None, "a token was issued")
        self._until_done(enable)
        self.notes.hold(ENABLING_REVIVES_NOTHING, self._refuses(bearer), "an old token works again")

    def _fetch(self, bearer: dict[str, str]) -> None:
        """A request that begins a fetch; whatever becomes of it is fine, since its caller may be disabled at any moment."""
        body = {} if self.is_connected else self.tenant.entry("demo1", "demo")
        with suppress(httpx.TransportError), httpx.Client(base_url=self.line.base_url, timeout=90, trust_env=False) as http:
            answer = http.post(ACCESSES, json={self.key: body}, params={"refresh": "true"}, headers={**bearer, **IP})
            self.is_connected |= answer.status_code == 201
            if answer.status_code >= 500 and answer.status_code not in (503, 504):
                self.notes.fail("answers as documented", f"fetch of a disabled caller: {answer.status_code}")

    def _refuses(self, bearer: dict[str, str]) -> bool:
        """Whether a token is refused; asked until there is an answer."""
        ask = lambda: self.line.ask("disabled token", "GET", "/customer/v2", (200, 401, 403), headers=bearer)  # noqa: E731
        answer = self.until(ask)
        return answer is None or answer.status_code in (401, 403)

    def _user_token(self, expected: tuple[int, ...] = (200,)) -> dict[str, str] | None:
        form = {"grant_type": "password", "username": self.username, "password": self.password}
        login = (f"{self.tenant.name}/app", self.tenant.secrets["app"])
        return self._token(self.line.ask("token", "POST", "/auth/oauth2/token", expected, data=form, auth=login))

    def _key_token(self, expected: tuple[int, ...] = (200,)) -> dict[str, str] | None:
        answer = self.line.ask("token of a key", "POST", "/one/bc-token", expected, headers={"X-API-KEY": self.api_key})
        return self._token(answer)

    def _token(self, answer: httpx.Response | None) -> dict[str, str] | None:
        if answer is None or answer.status_code != 200:
            return None
        body = answer.json()
        return {"Authorization": f"Bearer {self.notes.keep('token', body['access_token'])}"}

    def _until_done(self, work: Callable[[Owner], None]) -> None:
        """Does it, again and again while the database is away: it can be repeated."""

        def done() -> bool:
            try:
                with self.house.database.acting_for(self.tenant_id) as owner:
                    work(owner)
            except DATABASE_ERRORS:
                return False
            return True

        self.until(done)

    def _counted(self, query: str, subject: UUID) -> int:
        def count() -> tuple[int] | None:
            try:
                with self.house.database.operating() as owner:
                    values = {"tenant": self.tenant_id, "id": subject}
                    return (int(owner.session.connection().execute(text(query), values).scalar_one()),)
            except DATABASE_ERRORS:
                return None

        found: tuple[int] | None = self.until(count)
        return found[0] if found else 0
