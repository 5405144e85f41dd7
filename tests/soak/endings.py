"""After the load: waits until everything has come to an end, and looks whether all that was written is there, once."""

import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import httpx
from sqlalchemy import text
from standardwebhooks.webhooks import Webhook

from api.dagster_proxy import runs
from pipelines.results import live
from tests.soak.customers import Customer
from tests.soak.house import House
from tests.soak.notes import Notes
from tests.soak.payers import Payer
from tests.soak.tenants import Manager
from tests.support.receiver import Receiver
from warehouse.stores import clients, results, tenants

QUIET_SECONDS = 120
DELIVERIES_PASS = "webhooks pass receivers that hang"
DELIVERIES = 5
DELIVERY_SECONDS = 2.0
CREATED = "SELECT serial, created_at FROM webhook_events WHERE client_id = :client AND serial > :serial ORDER BY serial"
DAGSTER_SECONDS = 240
UNDER_WAY = {
    "fetches": "SELECT count(*) FROM accesses WHERE fetch_id IS NOT NULL",
    "moves": "SELECT count(*) FROM dialogues WHERE phase IN ('ASKED', 'CALLING')",
    "unknown payments": "SELECT count(*) FROM dialogues WHERE phase = 'UNKNOWN' AND look_at < now() + interval '30 seconds'",
    "webhook events": "SELECT count(*) FROM webhook_events WHERE state = 'PENDING'",
}
HALF = {
    "users without a role": "SELECT count(*) FROM users u WHERE NOT EXISTS (SELECT 1 FROM role_users r WHERE r.user_id = u.id)",
    "payments that are doubled": (
        "SELECT count(*) FROM (SELECT 1 FROM dialogues WHERE kind <> 'CONSENT' AND payment_id IS NOT NULL "
        "GROUP BY user_id, payment_id, kind HAVING count(*) > 1) d"
    ),
}
RUNS = """query Runs {
  runsOrError(limit: 500) { ... on Runs { results { runId jobName status startTime updateTime tags { key value } } } }
}"""
ENDED = {"SUCCESS", "FAILURE", "CANCELED"}


def wait_quiet(house: House, notes: Notes) -> None:
    """Returns when nothing is under way any more; says what is, if that takes too long."""
    for what, query in UNDER_WAY.items():
        quiet = _within(QUIET_SECONDS, lambda query=query: _count(house, query) == 0)  # type: ignore[misc]
        notes.hold("everything comes to an end", quiet, f"{what}: {_count(house, query)} after {QUIET_SECONDS} s")


def inspect(
    house: House, notes: Notes, customers: Sequence[Customer], payers: Sequence[Payer], managers: Sequence[Manager]
) -> None:
    """Everybody looks at what they have written."""
    for customer in customers:
        customer.attempt(customer.settle)
    wait_quiet(house, notes)
    for customer in customers:
        customer.attempt(customer.inspect_all)
    for payer in payers:
        payer.attempt(lambda payer=payer: payer.inspect_all(house))  # type: ignore[misc]
    for manager in managers:
        manager.attempt(manager.inspect_users)
    for what, query in HALF.items():
        notes.hold("nothing is half or doubled", _count(house, query) == 0, f"{what}: {_count(house, query)}")


def inspect_deliveries(house: House, notes: Notes, customers: Sequence[Customer], receiver: Receiver) -> None:
    """While receivers of another tenant hang, each event of this one arrives within seconds of its making."""
    with house.database.operating() as owner:
        tenant = tenants.find(owner, customers[0].tenant.name)
        client = clients.find(owner.for_tenant(tenant.id), "app").id
    for _ in range(DELIVERIES):
        last_serial = max((json.loads(call.body)["serial"] for call in receiver.calls), default=0)
        if not any(customer.fetch_new_booking() for customer in customers):
            continue
        _within(DELIVERY_SECONDS * 5, lambda serial=last_serial: _arrivals(receiver, serial))  # type: ignore[misc]
        arrivals = _arrivals(receiver, last_serial)
        with house.database.operating() as owner:
            rows = owner.session.connection().execute(text(CREATED), {"client": client, "serial": last_serial}).all()
        for serial, created_at in rows:
            seconds = (arrivals[serial] - created_at).total_seconds() if serial in arrivals else None
            in_time = seconds is not None and seconds <= DELIVERY_SECONDS
            notes.hold(DELIVERIES_PASS, in_time, "never" if seconds is None else f"after {seconds:.1f} s")


def _arrivals(receiver: Receiver, after_serial: int) -> dict[int, datetime]:
    """When each later event arrived first."""
    times: dict[int, datetime] = {}
    for call in list(receiver.calls):
        times.setdefault(json.loads(call.body)["serial"], call.at)
    return {serial: at for serial, at in times.items() if serial > after_serial}


def inspect_webhooks(house: House, notes: Notes, manager: Manager, receiver: Receiver, secret: str) -> None:
    """Every event has one number, numbers have no gaps, and what came twice came under the same name."""
    told: dict[str, set[int]] = {}
    for call in receiver.calls:
        name, at = call.headers["webhook-id"], datetime.fromtimestamp(int(call.headers["webhook-timestamp"]), UTC)
        signature = Webhook(secret).sign(name, at, call.body.decode())
        notes.hold("webhooks are signed", signature in call.headers["webhook-signature"].split(), name)
        told.setdefault(name, set()).add(json.loads(call.body)["serial"])
    serials = Counter(serial for found in told.values() for serial in found)
    notes.hold("a webhook's number is one event's", all(times == 1 for times in serials.values()), str(serials.most_common(2)))
    events = _events(manager)
    numbers = [event["serial"] for event in events]
    notes.hold("webhooks have no gaps", numbers == list(range(1, len(numbers) + 1)), f"{len(numbers)} events, {numbers[-3:]}")
    missing = [event["serial"] for event in events if event["state"] == "DELIVERED" and event["serial"] not in serials]
    notes.hold("delivered webhooks have arrived", not missing, f"{len(missing)} have not")
    notes.written["webhook event"] += len(events)
    notes.written["webhook call"] += len(receiver.calls)


def _events(manager: Manager) -> list[dict[str, Any]]:
    place = manager.tenant.path("clients", "app", "webhook", "events")
    found: list[dict[str, Any]] = []
    while page := manager.line.read("events", place, params={"from": str(len(found) + 1), "limit": "1000"}):
        found += page
    return found


def inspect_dagster(house: House, notes: Notes) -> None:
    """Runs that were killed have ended and were tried again, and in the end the results of all users are those of their data."""

    def fresh() -> bool:
        with house.database.surveying() as operator:
            stale = results.users_with_stale_result(operator, live.NAMES[0], live.version(house.settings.base_url))
        return not stale and all(run["status"] in ENDED for run in _runs(house))

    quiet = _within(DAGSTER_SECONDS, fresh)
    last_runs = _runs(house)
    statuses = Counter(run["status"] for run in last_runs)
    under_way = [_age(run) for run in last_runs if run["status"] not in ENDED]
    notes.hold("Dagster comes to an end with fresh results", quiet, f"{dict(statuses)} {', '.join(under_way)}".strip())
    notes.written["Dagster run"] += statuses["SUCCESS"]
    notes.unsure["Dagster run"] += statuses["FAILURE"]


def _age(run: dict[str, Any]) -> str:
    """A run that has not ended: its status, and how many seconds ago it began and told something last."""
    seconds = [f"{time.time() - run[name]:.0f} s" if run.get(name) else "never" for name in ("startTime", "updateTime")]
    return f"{run.get('runId', '')[:8]} {run['status']}: began {seconds[0]}, told something {seconds[1]} ago"


def _runs(house: House) -> list[dict[str, Any]]:
    try:
        return list(runs.ask(house.dagster, RUNS)["runsOrError"]["results"])
    except (httpx.HTTPError, KeyError):
        return [{"status": "UNKNOWN"}]


def _count(house: House, query: str) -> int:
    with house.database.operating() as owner:
        return int(owner.session.connection().execute(text(query)).scalar_one())


def _within(seconds: float, condition: Callable[[], object]) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.5)
    return True
