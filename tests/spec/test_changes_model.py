"""Copies of a customer's data under random histories: whatever happens, and wherever clients stop and resume, they agree.

The histories are those of the flows themselves (fetches with what a bank may answer, pushes, corrections, deletions), played
without the worker; the clients are those of the documentation, over HTTP.
"""

import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from analytics.frames import BOOKINGS
from analytics.products import ProductCategory
from pipelines.banks.base import FetchedBookings, FetchedPosition, FetchedProduct, Header, Holdings
from pipelines.context import Context
from pipelines.fetching import push, store
from pipelines.fetching.store import BankAnswer, FetchJob
from pipelines.results import corrections
from tests.support.copies import Copy
from tests.support.examples import examples
from tests.support.stack import DEMO, Customer, Stack, TenantUnderTest, wait_until
from warehouse.errors import Busy, FromBank, NotFound
from warehouse.runtime import patience
from warehouse.settings import Settings
from warehouse.stores import accesses, ledger, products, rules

FIRST_DAY, NOW = date(2026, 10, 1), datetime(2026, 11, 15, 12, tzinfo=UTC)
KEYS, LIMITS = ("eins", "zwei"), (1, 2, 3, 7, 100)
CLIENTS = 3
ROW = st.tuples(
    st.integers(0, 3), st.sampled_from((-1250, -990, 2000)), st.sampled_from(("Rechnung", "Beitrag", "Miete")), st.booleans()
)
FETCH = st.tuples(
    st.just("fetch"),
    st.sampled_from(KEYS),
    st.dictionaries(st.sampled_from(("a", "b")), st.lists(ROW, max_size=5), min_size=1),
    st.integers(0, 2),
)
STEP = st.one_of(
    FETCH,
    FETCH,
    st.tuples(st.just("push"), st.sampled_from(KEYS), st.lists(ROW, min_size=1, max_size=3)),
    st.tuples(st.just("unpush"), st.sampled_from(KEYS), st.integers(0, 9)),
    st.tuples(st.just("unpush_batch"), st.sampled_from(KEYS)),
    st.tuples(st.just("choose"), st.integers(0, 30), st.booleans(), st.booleans()),
    st.tuples(st.just("retract"), st.integers(0, 30)),
    st.tuples(st.just("rule")),
    st.tuples(st.just("leave"), st.sampled_from(KEYS)),
    st.tuples(st.just("expire"), st.sampled_from(KEYS)),
    st.tuples(st.just("read"), st.integers(0, CLIENTS - 1), st.sampled_from(LIMITS), st.booleans()),
    st.tuples(st.just("read"), st.integers(0, CLIENTS - 1), st.sampled_from(LIMITS), st.booleans()),
)


class History:
    """What happens to one customer, by the flows of the house."""

    def __init__(self, context: Context, customer: Customer) -> None:
        self.context, self.customer = context, customer
        self.tenant, self.user = customer.tenant.tenant_id, customer.user_id

    def play(self, step: Sequence[Any]) -> None:
        """One step; those that find nothing to work on do nothing."""
        with suppress(NotFound, FromBank):
            getattr(self, step[0])(*step[1:])

    def acting(self) -> Any:
        return self.context.database.acting_for(self.tenant, self.user)

    def fetch(self, key: str, rows: dict[str, list[Any]], positions: int) -> None:
        """What the bank says now; another choice of products than before is one of the customer."""
        accounts = tuple(
            FetchedProduct(name, ProductCategory.CHECKING, "Konto", "Wer", balance_cents=len(rows[name])) for name in rows
        )
        depot = FetchedProduct("depot", ProductCategory.DEPOT, "Depot", "Wer")
        answer = BankAnswer(
            Header((*accounts, depot)),
            [FetchedBookings(name, FIRST_DAY, frame(content)) for name, content in rows.items()],
            [Holdings("depot", tuple(FetchedPosition(name=f"ETF {at}", quantity=Decimal(1)) for at in range(positions)))],
        )
        wait_until(lambda: self._store(key, [*rows, "depot"], answer), 60)

    def _store(self, key: str, products: list[str], answer: BankAnswer) -> bool:
        """Whether a fetch was stored. The worker of the service takes it for one whose job was lost, and may end it before us."""
        with self.acting() as owner:
            stored_accesses = {access.key: access for access in accesses.visible(owner)}
            access = stored_accesses.get(key) or accesses.add(owner, key, UUID(DEMO), b"login", sync=True)
            access.fetch_id, access.selected = uuid.uuid4(), products
            job = FetchJob(self.tenant, self.user, access.id, access.fetch_id)
        is_current = store.publish_header(self.context, job, answer.header, NOW)
        return is_current and store.publish_fetch(self.context, job, answer, NOW)

    def push(self, key: str, rows: list[Any]) -> None:
        with self.acting() as owner:
            batch = frame([(day, cents, text, False) for day, cents, text, _ in rows]).to_dicts()
            push.push(owner, key, "a", {"batch": batch}, NOW.date())

    def unpush(self, key: str, which: int) -> None:
        with self.acting() as owner:
            product = products.find(owner, accesses.find(owner, key), "a")
            ids = [row["id"] for row in ledger.whole(owner).filter(product=str(product.id)).to_dicts()]
            if ids:
                push.remove(owner, key, "a", UUID(ids[which % len(ids)]))

    def unpush_batch(self, key: str) -> None:
        with self.acting() as owner:
            push.remove_batch(owner, key, "a", "batch")

    def choose(self, which: int, change_existing: bool, create_rule: bool) -> None:
        with self.acting() as owner:
            ids = ledger.whole(owner)["id"].to_list()
            if ids:
                booking = UUID(ids[which % len(ids)])
                corrections.choose(owner, booking, "OTHER_INCOME", change_existing=change_existing, create_rule=create_rule)

    def retract(self, which: int) -> None:
        with self.acting() as owner:
            ids = ledger.whole(owner)["id"].to_list()
            if ids:
                corrections.retract(owner, UUID(ids[which % len(ids)]))

    def rule(self) -> None:
        with self.acting() as owner:
            rules.put(owner, "OTHER_INCOME", iban="", name="Schulz", name_key=uuid.uuid4().hex)

    def leave(self, key: str) -> None:
        with self.acting() as owner:
            accesses.remove(owner, [accesses.find(owner, key, lock=True)])

    def expire(self, key: str) -> None:
        """The time of an access is over; it is deleted later, when another takes its name, or not at all."""
        with self.acting() as owner:
            accesses.find(owner, key).expires_at = NOW - timedelta(days=365)

    def results_state(self) -> Any:
        """The facts that tags and analyses are computed from."""
        expired = "(SELECT count(*) FROM accesses a WHERE a.user_id = u.id AND a.expires_at <= now())"
        return self.customer.tenant.stack.sql(
            f"SELECT u.revision + t.revision + {expired}, u.refreshed_on "
            "FROM users u JOIN tenants t ON t.id = u.tenant_id WHERE u.id = :user",
            user=self.user,
        )


class Client:
    """A client with its copy, which checks every page against what it has."""

    def __init__(self, history: History) -> None:
        self.history, self.copy = history, Copy(history.customer)
        self.since: set[str] | None = None
        self.analysed: Any = None

    def read(self, limit: int) -> bool:
        """Reads a page; returns whether there is more."""
        page = self.copy.read(limit)
        if self.since is not None:
            for kind, name in (("accesses", "uid"), ("products", "uid"), ("bookings", "id")):
                assert not self.since & {item[name] for item in page[kind]["added"]}
                assert self.since >= {item[name] for item in page[kind]["changed"]}
        if not page["hasMore"]:
            self.since = {key for kind in Copy.KINDS for key in self.copy.content[kind]}
            if page["analyses"]:
                self.analysed = self.history.results_state()
            assert self.analysed == self.history.results_state()
        return bool(page["hasMore"])

    def catch_up(self, limit: int) -> None:
        while self.read(limit):
            pass


@pytest.fixture(scope="module")
def context(stack: Stack) -> Iterator[Context]:
    opened = Context.of(Settings(home=stack.home, database_url=stack.where.service))
    yield opened
    opened.database.close()


def frame(rows: Sequence[Any]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "booked_on": FIRST_DAY + timedelta(days=day),
                "amount_cents": cents,
                "currency": "EUR",
                "purpose": text,
                "counterparty_name": text[0],
                "pending": pending,
            }
            for day, cents, text, pending in sorted(rows)
        ],
        schema=BOOKINGS,
    )


@settings(
    max_examples=examples(25),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
)
@given(steps=st.lists(STEP, min_size=4, max_size=24))
def test_every_client_reaches_the_same_state(r1: TenantUnderTest, context: Context, steps: list[tuple[Any, ...]]) -> None:
    history = History(context, r1.customer())
    clients = [Client(history) for _ in range(CLIENTS)]
    for step in steps:
        if step[0] != "read":
            history.play(step)
        elif step[3]:
            clients[step[1]].catch_up(step[2])
        else:
            clients[step[1]].read(step[2])
    truth = clients[0].copy.truth()
    for client, limit in zip([*clients, Client(history)], (1, 3, 100, 2), strict=True):
        client.catch_up(limit)
        assert client.copy.data() == truth


def test_nothing_is_missed_while_others_write(r1: TenantUnderTest, context: Context) -> None:
    """Two writers change what one client follows all the time; no serial appears behind one that was read."""
    customer = r1.customer()
    history = History(context, customer)
    for key in KEYS:
        history.fetch(key, {"a": [(0, -990, "Miete", False)]}, 1)
    client = Client(history)
    failures: list[Exception] = []

    def write(key: str, seed: int) -> None:
        try:
            for number in range(25):
                rows = [(day, -1000 - number * (day + seed), "Miete", day % 2 == 0) for day in range(4)]
                play(history, ("fetch", key, {"a": rows}, number % 3))
                play(history, ("push", key, [(0, -seed - number, "Rechnung", False)]))
                if number % 5 == seed:
                    play(history, ("unpush_batch", key))
        except Exception as error:
            failures.append(error)

    writers = [threading.Thread(target=write, args=(key, seed)) for seed, key in enumerate(KEYS, 1)]
    for writer in writers:
        writer.start()
    pages = 0
    while any(writer.is_alive() for writer in writers):
        client.copy.read(1 + pages % 5)
        pages += 1
    assert failures == []
    assert pages > 10
    client.copy.follow(3)
    assert client.copy.data() == client.copy.truth()


def play(history: History, step: tuple[Any, ...]) -> None:
    patience.retry(lambda: history.play(step), Busy, (0.01,) * 50)
