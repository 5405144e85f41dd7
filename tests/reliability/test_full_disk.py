"""A disk without room ends nothing: `kontor up` on a small disk that is filled to its last byte under load, and emptied again."""

import json
import re
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil
import psycopg
import pytest

from tests.support.kontor_up import running
from tests.support.small_disk import MEBIBYTE, MountRefused, SmallDisk, small_disk
from tests.support.stack import wait_until

DISK_MEBIBYTES = 400
FULL_SECONDS = 90
RECOVERY_SECONDS = 90
BATCH_BOOKINGS = 20
REFUSED_PAUSE_SECONDS = 0.2
"""Less than the service asks for, so that some come while it recovers."""
PLACES = "home, lake, postgres"
SETTINGS = {
    "KONTOR_DISK_RESERVE_BYTES": str(8 * MEBIBYTE),
    "KONTOR_REQUEST_TIMEOUT_SECONDS": "20",
    "KONTOR_WORKERS": "1",
    "KONTOR_WARM_UP": "false",
}
IP = {"Customer-IP-Address": "84.112.10.7"}
IBAN = "DE02120300000000202051"


@pytest.fixture
def disk(homes: Path) -> Iterator[SmallDisk]:
    try:
        with small_disk(homes / "small-disk", DISK_MEBIBYTES) as mounted:
            yield mounted
    except MountRefused as refused:
        pytest.skip(f"no small disk can be mounted here: {refused}")


@dataclass
class Writer(threading.Thread):
    """Writes through the interface until it is over, and keeps what was acknowledged."""

    base_url: str
    demo: dict[str, Any]
    over: threading.Event = field(default_factory=threading.Event)
    answers: list[httpx.Response] = field(default_factory=list)
    broken_lines: list[str] = field(default_factory=list)
    users: list[str] = field(default_factory=list)
    purposes: list[str] = field(default_factory=list)
    payments: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(daemon=True)
        self.tenant = self.demo["tenants"][0]
        self.http = httpx.Client(base_url=self.base_url, timeout=120, trust_env=False)
        self.admin = self.token("admin", grant_type="client_credentials")
        user = self.tenant["users"][0]
        login = {"username": user["username"], "password": user["password"]}
        self.customer = self.token("app", grant_type="password", **login)
        access = self.http.get("/customer/v2/bankzugaenge/demo", headers=self.customer).json()
        self.product = f"/customer/v2/bankzugaenge/demo/{access['bankprodukte'][0]['id']}"

    def __hash__(self) -> int:
        return id(self)

    def token(self, client: str, **form: str) -> dict[str, str]:
        login = self.tenant["clients"][client]
        answer = self.http.post("/auth/oauth2/token", data=form, auth=(login["username"], login["secret"]))
        assert answer.status_code == 200, answer.text
        return {"Authorization": f"Bearer {answer.json()['access_token']}"}

    def run(self) -> None:
        steps: tuple[Callable[[], object], ...] = (self.make_user, self.push, self.pay, self.refresh, self.push, self.read)
        while not self.over.is_set():
            for step in steps:
                step()

    def ask(self, method: str, path: str, headers: dict[str, str], **given: Any) -> bool:
        """Whether the request was acknowledged."""
        try:
            answer = self.http.request(method, path, headers=headers, **given)
        except httpx.TransportError as error:
            self.broken_lines.append(f"{method} {path}: {type(error).__name__}")
            return False
        self.answers.append(answer)
        if answer.status_code >= 500:
            self.over.wait(REFUSED_PAUSE_SECONDS)
        return answer.is_success

    def make_user(self) -> None:
        name = f"neu-{uuid.uuid4().hex}"
        body = {"username": name, "password": uuid.uuid4().hex}
        if self.ask("POST", f"/auth/mgmt/v1/tenants/{self.tenant['name']}/users", self.admin, json=body):
            self.users.append(name)

    def push(self) -> None:
        purpose = f"Zweck {uuid.uuid4().hex}"
        booking = {
            "betrag": -1.5,
            "buchungsdatum": "2026-10-15 00:00:00",
            "verwendungszweck": purpose,
            "gegenkontoInhaber": "Werk",
            "identifier": {"batchId": purpose},
        }
        if self.ask("POST", f"{self.product}/kontoumsaetze", self.customer, json=[booking] * BATCH_BOOKINGS):
            self.purposes.append(purpose)

    def pay(self) -> None:
        name = str(uuid.uuid4())
        order = {"recipient": "Werk", "purpose": name[:8], "iban": IBAN, "bic": None, "currency": "EUR", "amount": 1.25}
        query = {"callbackUrl": "https://tenant.example/back", "paymentId": name}
        place, body = f"{self.product}/payment/single-transfer", {"instant": False, "transferDetails": order}
        if self.ask("POST", place, {**self.customer, **IP}, json=body, params=query):
            self.payments.append(name)

    def refresh(self) -> None:
        headers = {**self.customer, **IP}
        self.ask("POST", "/customer/v2/bankzugaenge", headers, json={"demo": {}}, params={"refresh": "true"})

    def read(self) -> None:
        self.ask("GET", "/customer/v2/bankzugaenge", self.customer)


def test_a_full_disk_ends_nothing_and_loses_nothing(disk: SmallDisk) -> None:
    home = disk.folder / "home"
    with running(home, "--no-dagster", **SETTINGS) as (output, api, _):
        base_url = f"http://127.0.0.1:{api}"
        demo = json.loads((home / "demo.json").read_text())
        ids = process_ids(home)
        it_is_told_before_it_happens(disk, base_url)
        writers = [Writer(base_url, demo) for _ in range(3)]
        for writer in writers:
            writer.start()
        wait_until(lambda: all(writer.users and writer.purposes for writer in writers), 60)
        assert fill_until_the_database_has_ended(disk, home, base_url) == {f"no room on the disk of: {PLACES}"}
        disk.empty()
        wait_until(lambda: readiness(base_url)[0] == 200, RECOVERY_SECONDS, output.read_text)
        counts = [len(writer.users) for writer in writers]
        wait_until(lambda: all(len(writer.users) > count for writer, count in zip(writers, counts, strict=True)), 60)
        for writer in writers:
            writer.over.set()
            writer.join(120)
        for writer in writers:
            answers_were_honest(writer, home)
            everything_acknowledged_is_there(writer)
        assert process_ids(home) == ids, "neither the API nor the worker had to be started again"
        assert "PostgreSQL had ended and was started again." in output.read_text()
        assert "Failed" not in output.read_text(), "attempts to start it are not printed one by one"


def it_is_told_before_it_happens(disk: SmallDisk, base_url: str) -> None:
    """A disk that is nearly full is a warning of a service that is ready, and a number in its metrics."""
    disk.fill(leave_bytes=30 * MEBIBYTE)
    status, body = readiness(base_url)
    assert (status, body["checks"]["disk"]) == (200, "degraded")
    assert re.search(r"postgres: 9[1-4] % of the disk are used", body["reasons"]["disk"])
    shares = [line for line in httpx.get(f"{base_url}/metrics").text.splitlines() if line.startswith("kontor_disk_used_share{")]
    assert len(shares) == 3
    assert all(0.9 < float(line.split()[-1]) < 0.95 for line in shares), shares


def fill_until_the_database_has_ended(disk: SmallDisk, home: Path, base_url: str) -> set[str]:
    """Leaves no byte until PostgreSQL has given up; what `/ready` said of the disk meanwhile."""
    reasons = set()
    deadline = time.monotonic() + FULL_SECONDS
    while (home / "postgres" / "postmaster.pid").exists():
        assert time.monotonic() < deadline, (home / "postgres" / "log").read_text()[-3000:]
        disk.fill()
        use_up_log(home)
        status, body = readiness(base_url)
        assert status == 503
        reasons.add(body["reasons"]["disk"])
    return reasons


def answers_were_honest(writer: Writer, home: Path) -> None:
    """Every request was answered: with success, or with a refusal in our shape that says when to come again."""
    assert writer.broken_lines == []
    statuses = Counter(answer.status_code for answer in writer.answers)
    errors = [line for line in (home / "logs" / "api.log").read_text().splitlines() if '"level":"error"' in line]
    assert set(statuses) <= {200, 201, 409, 503, 504}, (statuses, errors[-5:])
    for refusal in (answer for answer in writer.answers if answer.status_code >= 500):
        assert refusal.json()["messages"][0]["code"] == f"BA{refusal.status_code}"
        assert refusal.status_code == 504 or refusal.headers["retry-after"] == "5"


def everything_acknowledged_is_there(writer: Writer) -> None:
    stored_users = writer.http.get(f"/auth/mgmt/v1/tenants/{writer.tenant['name']}/users", headers=writer.admin).json()
    assert set(writer.users) <= {user["username"] for user in stored_users}
    bookings = writer.http.get(f"{writer.product}/kontoumsaetze", headers=writer.customer).json()
    counts = Counter(booking["verwendungszweck"] for booking in bookings)
    assert {purpose: counts[purpose] for purpose in writer.purposes} == dict.fromkeys(writer.purposes, BATCH_BOOKINGS)
    for payment in writer.payments:
        assert writer.http.get(f"/customer/v2/payments/{payment}", headers=writer.customer).status_code == 200


def process_ids(home: Path) -> set[int]:
    """The API and the worker of an installation."""
    ids = set()
    for process in psutil.process_iter(["cmdline"]):
        with suppress(psutil.Error):
            is_ours = (process.info["cmdline"] or [])[1:3] in (["-m", "api"], ["-m", "pipelines.worker"])
            if is_ours and process.environ().get("KONTOR_HOME") == str(home):
                ids.add(process.pid)
    return ids


def use_up_log(home: Path) -> None:
    """Makes PostgreSQL need a new segment of its log, as a busy hour would."""
    with suppress(psycopg.Error), psycopg.connect(host=str(home / "postgres"), user="postgres", connect_timeout=5) as connection:
        connection.execute("SELECT pg_switch_wal()")


def readiness(base_url: str) -> tuple[int, Any]:
    answer = httpx.get(f"{base_url}/ready", timeout=60, verify=False)
    return answer.status_code, answer.json()
