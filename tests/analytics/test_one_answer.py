"""One user, one answer: whoever is computed beside a user, in whatever order and with however many threads."""

import json
import os
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from analytics.analyses.life_events.evidence import gather_evidence
from analytics.analyses.life_events.guards import space_events
from analytics.analyses.snapshot import snapshot
from analytics.analyses.suite import analyse
from analytics.frames import AS_OF, LIFE_EVENTS, PRODUCTS
from tests.analytics import one_answer
from tests.analytics.households import TAGGED_BOOKINGS, book, monthly, salary

AS_OF_DAY = date(2026, 6, 16)
MANY_USERS, MANY_MONTHS, SEED = 1_050, 14, 29
THREADS = ("1", "2")


def dates(*users: str) -> pl.DataFrame:
    return pl.DataFrame({"user": users, "as_of": [AS_OF_DAY] * len(users)}, schema=AS_OF)


def test_few_users_get_the_same_bytes_in_every_way() -> None:
    world = one_answer.simulated(10, SEED, 18)
    ways = one_answer.all_ways(world, world[2]["user"].sort().head(4), SEED)
    expected = ways["together"]
    for way, digests in [*ways.items(), ("again", one_answer.together(world))]:
        assert digests == {user: expected[user] for user in digests}, way


@pytest.mark.thorough
def test_a_thousand_users_get_the_same_bytes_in_every_way_with_one_thread_and_with_two(tmp_path: Path) -> None:
    """Twice with each number of threads, in companies with both, and every user once alone."""
    one_answer.store(one_answer.simulated(MANY_USERS, SEED, MANY_MONTHS), tmp_path)
    digests: list[one_answer.Digests] = []
    alone: set[str] = set()
    for part, threads in enumerate(THREADS):
        program = [sys.executable, "-m", "tests.analytics.one_answer", str(tmp_path), str(part), str(len(THREADS)), str(SEED)]
        environment = {**os.environ, "POLARS_MAX_THREADS": threads}
        result = subprocess.run(program, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        ways = json.loads(result.stdout)
        digests += ways.values()
        alone |= set(ways["alone, shuffled"])
    assert len(alone) >= 1_000
    assert alone == set(digests[0])
    for other in digests[1:]:
        assert {user for user, digest in other.items() if digest != digests[0][user]} == set()


def charge(user: str, reference: str, **columns: Any) -> pl.DataFrame:
    """Monthly charges whose lines differ in their reference only, so that they share a key."""
    purpose = f"Abschlag EREF+{reference}"
    return book(monthly(6), -4_000, "HOUSING_ANCILLARYCOSTS", user, purpose=purpose, key=17, **columns)


def test_the_kind_of_a_booking_is_read_in_its_own_text() -> None:
    whole = pl.concat([charge("anna", "WEG 4711"), charge("ben", "4711 0815")])
    kinds = gather_evidence(snapshot(whole, PRODUCTS.to_frame(), dates("anna", "ben"))).rows
    assert set(kinds["user"]) == {"anna"}


def test_of_two_equal_events_that_with_more_evidence_stays() -> None:
    event = {"user": "anna", "item": "VEHICLE_START", "event_date": AS_OF_DAY, "known_since": AS_OF_DAY, "confidence": 0.9}
    rows = [
        {**event, "reason": "Neues Fahrzeug", "bookings": ids, "amount": 100} for ids in (["a"], ["a", "b"], ["a", "c"], ["a"])
    ]
    for turn in range(len(rows)):
        events = space_events(pl.DataFrame(rows[turn:] + rows[:turn], schema=LIFE_EVENTS))
        assert events["bookings"].to_list() == [["a", "b"]]


def policies(user: str) -> pl.DataFrame:
    """Two premiums of one insurer on the same days, and a refund of one of them."""
    days = monthly(8)
    insured = {"partner": "ALLIANZ", "insurance": "LIABILITY_PRIVATE", "channel": "DIRECTDEBIT", "counterparty_key": "allianz"}
    parts = [
        book(days, cents, "INSURANCE_LIABILITY", user, **insured).with_columns(id=pl.format("{}-{}", "id", pl.lit(cents)))
        for cents in (-1_000, -9_000, -30_000)
    ]
    refund = book([date(2026, 5, 20)], 700, "INSURANCE_LIABILITY", user, **insured).with_columns(id=pl.lit(f"{user}-refund"))
    return pl.concat([*parts, refund, salary(user)])


def test_a_refund_goes_to_the_same_contract_in_any_company() -> None:
    users = [f"user {number:02}" for number in range(12)]
    whole = pl.concat([policies(user) for user in users]).select(TAGGED_BOOKINGS.names())
    together = analyse(whole, PRODUCTS.to_frame(), dates(*users))["contract_bookings"]
    for user in users[::4]:
        alone = analyse(whole.filter(user=user), PRODUCTS.to_frame(), dates(user))["contract_bookings"]
        assert_frame_equal(alone, together.filter(user=user))


def test_equal_bookings_of_a_doubled_account_are_told_apart_by_their_ids() -> None:
    days = [AS_OF_DAY - timedelta(days=7 * week) for week in range(12)]
    kept = book(days, -500, "LIVING_GROCERIES", "anna", product="a")
    more = book([*days, days[0]], -500, "LIVING_GROCERIES", "anna", product="b", counterparty_key="b")
    products = pl.DataFrame(
        [{"user": "anna", "product": name, "category": "CHECKING", "iban": "DE02120300000000202051"} for name in "ab"],
        schema=PRODUCTS,
    )
    whole = pl.concat([kept, more])
    orders = [snapshot(rows, products, dates("anna")).bookings["id"].sort() for rows in (whole, whole.reverse())]
    assert orders[0].equals(orders[1])
