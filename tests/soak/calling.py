"""How the load calls the service: as programs of tenants do, one connection each, with every answer written down."""

import base64
import random
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.soak.notes import Notes
from warehouse.secrets import certificates

DEMO = "00000000-0000-0000-0000-000000000000"
IP = {"Customer-IP-Address": "84.112.10.7"}
BUSY = frozenset({429, 503, 504})
"""The caller is asked to come again; whether anything was done is not said."""
ANSWER_SECONDS = 90
PAUSE_SECONDS = 0.15


class Unexpected(Exception):
    """An answer that the interface does not promise; it is written down already."""


@dataclass(frozen=True)
class Tenant:
    """What a tenant knows of itself."""

    name: str
    secrets: Mapping[str, str]
    pem: str

    def encrypted(self, value: str) -> str:
        return base64.b64encode(certificates.encrypt(self.pem, value.encode())).decode()

    def entry(self, userid: str, pin: str) -> dict[str, Any]:
        """A login at the demo bank, as it travels."""
        return {"providerId": DEMO, "credentials": {"userid": self.encrypted(userid), "pin": self.encrypted(pin)}}

    def path(self, *segments: str) -> str:
        return "/".join(["/auth/mgmt/v1/tenants", self.name, *segments])


@dataclass
class Line:
    """A connection of a program, with the token that it uses."""

    base_url: str
    tenant: Tenant
    notes: Notes
    bearer: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.http = httpx.Client(base_url=self.base_url, timeout=ANSWER_SECONDS, trust_env=False)

    def ask(
        self, operation: str, method: str, path: str, expected: tuple[int, ...] = (200,), **given: Any
    ) -> httpx.Response | None:
        """The answer; None if it was lost or the service was busy. Any other than expected is a failure."""
        given["headers"] = {**self.bearer, **given.get("headers", {})}
        began = time.monotonic()
        try:
            answer = self.http.request(method, path, **given)
        except httpx.TransportError as error:
            self.notes.lost(operation, type(error).__name__)
            return None
        self.notes.answered(operation, answer.status_code, time.monotonic() - began)
        if answer.status_code in BUSY:
            self.notes.lost(operation, str(answer.status_code))
            return None
        if answer.status_code not in expected:
            place = f"{operation}: {answer.status_code} {answer.headers.get('x-correlation-id')} {answer.text}"
            self.notes.fail("answers as documented", place)
            raise Unexpected(place)
        self._remember_addresses(answer)
        return answer

    def read(self, operation: str, path: str, **given: Any) -> Any:
        """The body of what must be there, or None if the answer was lost."""
        answer = self.ask(operation, "GET", path, **given)
        return None if answer is None else answer.json()

    def log_in(self, client: str, username: str | None = None, password: str | None = None) -> bool:
        """Gets a token, for a client or for one of its users; answers whether there is one."""
        form = {"grant_type": "client_credentials"}
        if username is not None and password is not None:
            form = {"grant_type": "password", "username": username, "password": password}
        login = (f"{self.tenant.name}/{client}", self.tenant.secrets[client])
        answer = self.ask("token", "POST", "/auth/oauth2/token", data=form, auth=login)
        if answer is None:
            return False
        token = self.notes.keep("token", answer.json()["access_token"])
        self.bearer = {"Authorization": f"Bearer {token}"}
        return self.notes.wrote("token", acknowledged=True)

    def _remember_addresses(self, answer: httpx.Response) -> None:
        found = [answer.headers[name] for name in ("location", "link") if name in answer.headers]
        if answer.headers.get("content-type", "").startswith("application/json"):
            body = answer.json()
            parts = body if isinstance(body, list) else [body]
            found += [item["href"] for part in parts[:20] if isinstance(part, dict) for item in part.get("relations", [])]
        with self.notes.lock:
            self.notes.addresses.update(found)


class Actor(threading.Thread):
    """Somebody who does one thing after the other, by chance, until told to stop."""

    def __init__(self, name: str, line: Line, seed: int, pause: float = PAUSE_SECONDS) -> None:
        super().__init__(name=name, daemon=True)
        self.line, self.notes, self.tenant = line, line.notes, line.tenant
        self.chance = random.Random(seed)
        self.over = threading.Event()
        self.pause = pause

    def steps(self) -> dict[Callable[[], object], int]:
        """What there is to do, and how often compared with the rest."""
        raise NotImplementedError

    def run(self) -> None:
        choices = self.steps()
        while not self.over.wait(self.pause * self.chance.uniform(0.5, 1.5)):
            self.attempt(self.chance.choices(list(choices), list(choices.values()))[0])

    def attempt(self, step: Callable[[], object]) -> None:
        try:
            step()
        except Unexpected:
            pass
        except Exception:  # one mistake of the load must not end the soak
            self.notes.fail("the load itself", f"{self.name}: {traceback.format_exc()[-260:]}")

    def until(self, condition: Callable[[], Any], seconds: float = 100, pause: float = 0.3) -> Any:
        """What a condition gives as soon as it gives something; None if the time is over."""
        deadline = time.monotonic() + seconds
        while not (found := condition()) and time.monotonic() < deadline:
            time.sleep(pause)
        return found
