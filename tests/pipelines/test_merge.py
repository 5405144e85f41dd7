"""The merge: whatever a bank does to its texts, days and order, what is stored is what the bank has."""

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import Any
from uuid import uuid4

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analytics.frames import BOOKINGS, STORED_BOOKINGS
from pipelines.fetching.merge import appended, missing_bookings, reconcile
from tests.support.examples import examples

TODAY = date(2026, 11, 15)
DEFAULTS = {"currency": "EUR", "pending": False}


def bookings(text: str) -> pl.DataFrame:
    """A frame from a small table: day of November, cents, purpose, and `p` for pending ones."""
    rows = [line.split() for line in text.strip().splitlines()]
    return frame(
        {"booked_on": date(2026, 11, int(day)), "amount_cents": int(cents), "purpose": purpose, "pending": "p" in rest}
        for day, cents, purpose, *rest in rows
    )


def frame(rows: Any) -> pl.DataFrame:
    return pl.DataFrame([{name: {**DEFAULTS, **row}.get(name) for name in BOOKINGS} for row in rows], schema=BOOKINGS)


def stored(told: pl.DataFrame) -> pl.DataFrame:
    ids = pl.Series("id", [str(uuid4()) for _ in range(told.height)], dtype=pl.String)
    return told.with_columns(ids).select(STORED_BOOKINGS.names())


def applied(before: pl.DataFrame, told: pl.DataFrame) -> pl.DataFrame:
    """What is stored after a fetch."""
    changes = reconcile(before, told)
    kept = before.filter(~pl.col("id").is_in([*changes.changed["id"], *changes.gone]))
    return pl.concat([kept, changes.changed, stored(changes.added)])


def content(what: pl.DataFrame) -> Counter[Any]:
    return Counter(what.select(BOOKINGS.names()).iter_rows())


CASES = {
    "nothing new": ("1 -100 rewe\n1 -200 aldi", "1 -100 rewe\n1 -200 aldi", (0, 0, 0)),
    "another order": ("1 -100 rewe\n1 -200 aldi", "1 -200 aldi\n1 -100 rewe", (0, 0, 0)),
    "a new one": ("1 -100 rewe", "1 -100 rewe\n2 -100 rewe", (1, 0, 0)),
    "a twin on the same day": ("1 -100 rewe", "1 -100 rewe\n1 -100 rewe", (1, 0, 0)),
    "twins stay twins": ("1 -100 rewe\n1 -100 rewe", "1 -100 rewe\n1 -100 rewe", (0, 0, 0)),
    "a text rewritten": ("1 -100 rewe", "1 -100 REWE-MARKT", (0, 1, 0)),
    "one text of twins rewritten": ("1 -100 rewe\n1 -100 rewe", "1 -100 rewe\n1 -100 REWE-MARKT", (0, 1, 0)),
    "moved to another day": ("1 -100 rewe", "3 -100 rewe", (0, 1, 0)),
    "moved while another took its day": ("1 -100 rewe", "3 -100 rewe\n1 -100 aldi", (1, 1, 0)),
    "moved and rewritten neighbours": ("1 -100 rewe\n3 -100 aldi", "3 -100 rewe\n3 -100 ALDI-SUED", (0, 2, 0)),
    "too far to be the same": ("1 -100 rewe", "20 -100 rewe", (1, 0, 0)),
    "pending is booked": ("10 -100 rewe p", "12 -100 REWE-MARKT", (0, 1, 0)),
    "pending stays": ("10 -100 rewe p", "10 -100 rewe p", (0, 0, 0)),
    "pending and a like one booked": ("10 -100 rewe p", "10 -100 rewe p\n9 -100 rewe", (1, 0, 0)),
    "pending is gone": ("10 -100 rewe p\n9 -50 aldi", "9 -50 aldi", (0, 0, 1)),
    "absence deletes no history": ("1 -100 rewe\n2 -50 aldi", "2 -50 aldi", (0, 0, 0)),
    "an empty answer changes nothing": ("1 -100 rewe p\n2 -50 aldi", "", (0, 0, 0)),
}


@pytest.mark.parametrize("name", CASES)
def test_what_changes(name: str) -> None:
    before, told, expected = CASES[name]
    changes = reconcile(stored(bookings(before)), bookings(told))
    assert (changes.added.height, changes.changed.height, len(changes.gone)) == expected


@pytest.mark.parametrize("name", ["a text rewritten", "moved to another day", "pending is booked"])
def test_a_changed_booking_keeps_its_id(name: str) -> None:
    before, told, _ = CASES[name]
    known = stored(bookings(before))
    after = applied(known, bookings(told))
    assert after["id"].to_list() == known["id"].to_list()
    assert content(after) == content(bookings(told))


def test_two_rewritten_bookings_of_a_day_do_not_change_places() -> None:
    known = stored(bookings("1 -100 REWE\n1 -100 ALDI"))
    after = applied(known, bookings("1 -100 aldi-sued\n1 -100 rewe-markt"))
    names = dict(zip(known["id"], known["purpose"], strict=True))
    assert {names[key]: purpose for key, purpose in after.select("id", "purpose").iter_rows()} == {
        "REWE": "rewe-markt",
        "ALDI": "aldi-sued",
    }


def test_a_booking_of_somebody_else_takes_no_ones_place() -> None:
    known = stored(frame([{"booked_on": TODAY, "amount_cents": -999, "counterparty_name": "Netflix"}]))
    told = frame([{"booked_on": TODAY - timedelta(days=5), "amount_cents": -999, "counterparty_name": "Spotify"}])
    assert reconcile(known, told).added.height == 1
    assert applied(known, told).height == 2


def test_new_bookings_keep_the_banks_order() -> None:
    changes = reconcile(stored(bookings("1 -1 a")), bookings("1 -1 a\n3 -3 c\n2 -2 b\n4 -4 d"))
    assert changes.added["purpose"].to_list() == ["c", "b", "d"]


def test_ten_thousand_unchanged_bookings_change_nothing() -> None:
    rows = frame(
        {"booked_on": TODAY - timedelta(days=n // 20), "amount_cents": -n % 300, "purpose": f"text {n % 40}"}
        for n in range(10_000)
    )
    assert not reconcile(stored(rows), rows)


def test_a_batch_pushed_again_is_missing_nothing() -> None:
    batch = bookings("1 -100 rewe\n1 -100 rewe\n2 -50 aldi")
    assert missing_bookings(stored(batch), batch).is_empty()
    assert missing_bookings(stored(batch), pl.concat([batch, batch[:1]])).height == 1
    assert missing_bookings(stored(batch[:1]), batch).height == 2


@dataclass(frozen=True)
class Booking:
    day: date
    cents: int
    purpose: str
    pending: bool = False

    def row(self) -> dict[str, Any]:
        return {"booked_on": self.day, "amount_cents": self.cents, "purpose": self.purpose, "pending": self.pending}


@dataclass
class Bank:
    """A bank whose history grows and is tampered with. Only what is young is changed, once between two fetches."""

    history: list[Booking] = field(default_factory=list)
    touched: set[int] = field(default_factory=set)

    def book(self, age: int, cents: int, purpose: str, pending: bool) -> None:
        self.history.append(Booking(TODAY - timedelta(days=age % 6 if pending else age), cents, purpose, pending))
        self.touched.add(len(self.history) - 1)

    def tamper(self, index: int, change: str, days: int, purpose: str) -> None:
        young = [n for n, booking in enumerate(self.history) if n not in self.touched and booking.day > TODAY - timedelta(days=8)]
        if not young:
            return
        n = young[index % len(young)]
        self.touched.add(n)
        booking = self.history[n]
        if change == "text":
            self.history[n] = replace(booking, purpose=purpose)
        elif change == "day":
            self.history[n] = replace(booking, day=min(TODAY, booking.day + timedelta(days=days)))
        elif booking.pending:
            self.history[n] = replace(booking, pending=False, purpose=purpose, day=min(TODAY, booking.day + timedelta(days=1)))

    def told(self, since: date, shuffle: Any) -> pl.DataFrame:
        self.touched.clear()
        shown = [booking for booking in self.history if booking.day >= since]
        return frame(booking.row() for booking in shuffle(shown))


PURPOSES = st.sampled_from(["rewe", "aldi", "miete", "netto"])
AMOUNTS = st.sampled_from([-100, -100, -250, 3000])
EVENTS = st.one_of(
    st.tuples(st.just("book"), st.integers(0, 40), AMOUNTS, PURPOSES, st.booleans()),
    st.tuples(st.just("tamper"), st.integers(0, 20), st.sampled_from(["text", "day", "settle"]), st.integers(-3, 3), PURPOSES),
)
ROUNDS = st.lists(st.tuples(st.lists(EVENTS, max_size=8), st.integers(20, 45)), min_size=1, max_size=6)


@settings(max_examples=examples(50), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rounds=ROUNDS, data=st.data())
def test_what_the_bank_has_is_what_is_stored(rounds: Any, data: st.DataObject) -> None:
    """Multiset in = multiset out, over any history and any windows."""
    bank, ledger = Bank(), stored(frame([]))
    for events, days in rounds:
        for kind, *values in events:
            getattr(bank, kind)(*values)
        since = TODAY - timedelta(days=days)
        told = bank.told(since, lambda shown: data.draw(st.permutations(shown)) if len(shown) < 9 else shown[::-1])
        inside = (pl.col("booked_on") >= since) | pl.col("pending")
        before = ledger.filter(inside)
        ledger = pl.concat([ledger.filter(~inside), applied(before, told)])
        unchanged = content(before) & content(told)
        kept = Counter(ledger.filter(pl.col("id").is_in(before["id"].to_list())).select(BOOKINGS.names()).iter_rows())
        assert not unchanged - kept, "a booking that did not change lost its id"
    full = bank.told(TODAY - timedelta(days=100), list)
    assert content(applied(ledger, full)) == content(full)
    assert ledger["id"].is_unique().all()


@given(texts=st.lists(st.sampled_from(("1 -100 rewe", "1 -200 aldi", "2 -100 rewe p")), max_size=8), count=st.integers(0, 8))
def test_bookings_that_only_grow_need_no_pairing(texts: list[str], count: int) -> None:
    told = bookings("\n".join(texts))
    before = stored(told.head(count))
    short, whole = appended(told, before.height), reconcile(before, told)
    assert short.added.equals(whole.added)
    assert (short.changed.height, short.gone) == (whole.changed.height, whole.gone) == (0, ())
