"""Programs of tenants beside their customers: managing users, the redirect form, tagging without storing, health."""

import secrets
import uuid
from collections.abc import Callable
from urllib.parse import quote

from tests.soak.calling import Actor, Line

RECORDS = 20


class Manager(Actor):
    """An admin client that makes users and ends them."""

    def __init__(self, line: Line, seed: int) -> None:
        super().__init__(f"manager-{seed}", line, seed, pause=1.5)
        self.users: dict[str, str] = {}
        """Names with references; without one the answer was lost."""
        self.ended: set[str] = set()

    def steps(self) -> dict[Callable[[], object], int]:
        return {self.make_user: 4, self.end_user: 1, self.inspect_users: 2, self.look_at_clients: 1}

    def make_user(self) -> None:
        lost = next((name for name, reference in self.users.items() if not reference), None)
        name = lost or self.notes.keep("user name", f"kunde-{secrets.token_hex(8)}")
        self.users.setdefault(name, "")
        body = {"username": name, "password": self.notes.keep("password", secrets.token_hex(12))}
        answer = self.line.ask("make user", "POST", self.tenant.path("users"), (201, 409) if lost else (201,), json=body)
        if self.notes.wrote("user", acknowledged=answer is not None) and answer is not None:
            self.users[name] = answer.headers["location"] if answer.status_code == 201 else "taken"

    def end_user(self) -> None:
        name = next((name for name, place in self.users.items() if place.startswith("http") and name not in self.ended), None)
        if name is not None:
            answer = self.line.ask("end user", "PUT", f"{self.users[name]}/deactivate", (200, 404))
            if self.notes.wrote("end of user", acknowledged=answer is not None):
                self.ended.add(name)
            else:
                self.users[name] = "ending"

    def inspect_users(self) -> bool:
        found = self.line.read("users", self.tenant.path("users"), params={"includeInactive": "true"})
        active = self.line.read("users", self.tenant.path("users"))
        if found is None or active is None:
            return False
        names = [user["username"] for user in found]
        sure = {name for name, place in self.users.items() if place}
        self.notes.hold("users as made", len(names) == len(set(names)) and sure <= set(names), f"{len(names)} of {len(sure)}")
        back = self.ended & {user["username"] for user in active}
        self.notes.hold("ended users stay away", not back, f"{len(back)} are back")
        return True

    def look_at_clients(self) -> None:
        self.line.ask("clients", "GET", self.tenant.path("clients"))
        self.line.ask("events", "GET", self.tenant.path("clients", "app", "webhook", "events"), (200, 404))


class Redirecting(Actor):
    """A program of a redirect tenant: it begins ways through the form, opens the first page, and ends them."""

    def __init__(self, line: Line, username: str, password: str, seed: int) -> None:
        super().__init__(f"redirecting-{seed}", line, seed, pause=1.0)
        self.username, self.password = username, password

    def steps(self) -> dict[Callable[[], object], int]:
        return {self.begin: 4, self.end: 1}

    def begin(self) -> None:
        answer = self.line.ask("begin form", "POST", "/customer/v2/bankzugaenge", (451,), json={f"r-{uuid.uuid4().hex}": {}})
        if answer is None:
            return
        address = answer.headers["location"]
        self.notes.keep("session", address.split("session=")[1].split("&")[0])
        state = self.notes.keep("callback", secrets.token_hex(12))
        page = f"{address}&callbackUrl={quote(f'https://app.example/back?state={state}', safe='')}"
        self.line.ask("form", "GET", page, (200, 303))

    def end(self) -> None:
        self.line.ask("end forms", "DELETE", "/customer/v2/regprotect/sessions")


class Stateless(Actor):
    """A client that has bookings tagged and analysed without storing them, and looks after the service."""

    def __init__(self, line: Line, seed: int) -> None:
        super().__init__(f"stateless-{seed}", line, seed, pause=0.6)

    def steps(self) -> dict[Callable[[], object], int]:
        return {self.tag: 3, self.analyse: 1, self.look_at_health: 3, self.encrypt: 1}

    def _records(self) -> list[dict[str, object]]:
        place = {"user": "u", "provider": "b", "tenant": "t", "product": self.notes.iban()}
        return [
            {
                **place,
                "id": str(number),
                "betrag": -self.chance.randint(100, 9_999) / 100,
                "buchungsdatum": f"2026-{self.chance.randint(1, 10):02d}-15 00:00:00",
                "verwendungszweck": self.notes.purpose(),
                "gegenkontoInhaber": self.notes.name(),
            }
            for number in range(RECORDS)
        ]

    def tag(self) -> None:
        self.line.ask("tag records", "POST", "/ai/v1/transactions/tags", json=self._records())

    def analyse(self) -> None:
        self.line.ask("analyse records", "POST", "/ai/v1/analyses", json={"transactions": self._records()})

    def look_at_health(self) -> None:
        for path in ("/health", "/metrics"):
            self.line.ask("health", "GET", path)

    def encrypt(self) -> None:
        headers = {"Content-Type": "application/octet-stream+base64"}
        self.line.ask("encrypt", "PUT", "/encrypt", content=b"Z2VoZWlt", headers=headers)
