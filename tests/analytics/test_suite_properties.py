"""The suite of analyses over simulated users and over any bookings at all: what must hold whatever they are."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from functools import cache
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from analytics import trees
from analytics.analyses import suite
from analytics.analyses.cashflow import roll_up
from analytics.analyses.snapshot import snapshot
from analytics.analyses.suite import FRAMES, Frames, SuiteCache, analyse, analyse_on_demand
from analytics.frames import AS_OF, CHOICES, PRODUCTS, RULES
from analytics.tagging import tag
from analytics.tagging.tag import Tagger
from models import registry
from models.simulator import simulate
from tests.analytics.households import book, household, monthly, rent, salary
from tests.analytics.identities import BOOKED, CHECKS, Looked, quarters_and_years_are_their_months
from tests.support import worlds
from tests.support.examples import examples

TODAY = date(2026, 6, 30)
EARLIER = [date(2024, 2, 29), date(2025, 3, 17), date(2025, 12, 31), date(2026, 5, 31)]
NOTHING = PRODUCTS.to_frame()


def look(tagged: pl.DataFrame, as_of: date = TODAY, products: pl.DataFrame = NOTHING, *more: str) -> Looked:
    """What the suite says of the users of these bookings, and of more."""
    users = sorted({*tagged["user"], *more})
    days = pl.DataFrame({"user": users, "as_of": [as_of] * len(users)}, schema=AS_OF)
    return Looked(tagged, products, days, analyse(tagged, products, days))


def same(one: Frames, other: Frames) -> None:
    for name, frame in one.items():
        assert_frame_equal(frame, other[name])


@cache
def crowd() -> Looked:
    """The users of two simulated worlds."""
    corpus, tagged, _ = worlds.world()
    other = simulate(3, 41)
    other_bookings = _renamed(other.transactions.filter(~other.truth["future"]))
    products = _renamed(other.products)
    tags = tag.tag_bookings(other_bookings, products, CHOICES.to_frame(), RULES.to_frame(), Tagger(registry.shipped()))
    both = pl.concat(
        [tagged.select(BOOKED.names()), other_bookings.hstack(tags.drop("id", "user", "product")).select(BOOKED.names())]
    )
    return look(both, corpus.as_of, pl.concat([corpus.products, products]))


def _renamed(frame: pl.DataFrame) -> pl.DataFrame:
    names = [name for name in ("user", "product", "id") if name in frame.columns]
    return frame.with_columns(pl.format("other-{}", name).alias(name) for name in names)


@cache
def at(day: date) -> Looked:
    return look(crowd().tagged, day, crowd().products)


@pytest.mark.parametrize("holds", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("day", [TODAY, date(2025, 3, 17)])
def test_whatever_is_said_of_simulated_users_adds_up(holds: Callable[[Looked], None], day: date) -> None:
    holds(at(day))


@pytest.mark.parametrize(
    ("day", "items"),
    [
        (date(2025, 3, 17), ["2025_Q1"]),
        (date(2025, 5, 12), ["2025_Q2"]),
        (date(2025, 11, 12), ["2025_Q4", "2025_Y"]),
        (date(2025, 12, 31), ["2025_Q4", "2025_Y"]),
    ],
)
def test_quarters_and_years_are_their_months(day: date, items: list[str]) -> None:
    quarters_and_years_are_their_months(at(day), *items)


def test_the_order_of_rows_changes_nothing() -> None:
    mixed = [frame.sample(fraction=1, shuffle=True, seed=7) for frame in (crowd().tagged, crowd().products, crowd().as_of)]
    same(analyse(*mixed), crowd().frames)


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.thorough)])
def test_users_can_be_analysed_apart_each_on_an_own_day(step: int) -> None:
    days = crowd().as_of.sort("user").with_columns(as_of=pl.col("as_of") - pl.duration(days=23 * pl.int_range(pl.len())))
    whole = (crowd().tagged, crowd().products, days)
    together, users = analyse(*whole), days["user"][::step]
    alone = [analyse(*(frame.filter(user=user) for frame in whole)) for user in users]
    same(
        {name: pl.concat([frames[name] for frames in alone]) for name in FRAMES},
        {name: frame.filter(pl.col("user").is_in(users.implode())) for name, frame in together.items()},
    )


def test_in_whatever_order_frames_are_asked_for_they_are_the_same() -> None:
    on_demand = analyse_on_demand(crowd().tagged, crowd().products, crowd().as_of)
    with ThreadPoolExecutor(3) as threads:
        frames = dict(zip(FRAMES, threads.map(on_demand.__getitem__, reversed(FRAMES)), strict=True))
    same({name: frames[other] for name, other in zip(reversed(FRAMES), FRAMES, strict=True)}, crowd().frames)


def test_a_frame_that_is_asked_for_computes_what_it_rests_on_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []

    def computed(step: str) -> Callable[..., pl.DataFrame]:
        def note(*_: object) -> pl.DataFrame:
            steps.append(step)
            return pl.DataFrame()

        return note

    for step in ("gather_evidence", "sum_months", "affordability", "credit_risk", "life_events"):
        monkeypatch.setattr(suite, step, computed(step))
    on_demand = analyse_on_demand(crowd().tagged, crowd().products, crowd().as_of)
    assert on_demand["disposable_money"].equals(crowd().frames["disposable_money"])
    assert on_demand["contracts"].equals(crowd().frames["contracts"])
    assert steps == []


def test_unrelated_users_change_nothing() -> None:
    others = pl.concat([household(f"v-{seed}", seed) for seed in range(5)]).select(BOOKED.names())
    whole = look(pl.concat([others, crowd().tagged]), TODAY, crowd().products, "nobody")
    users = crowd().as_of["user"].implode()
    same({name: frame.filter(pl.col("user").is_in(users)) for name, frame in whole.frames.items()}, crowd().frames)


@pytest.mark.parametrize("day", EARLIER)
def test_what_came_later_is_not_seen_on_an_earlier_day(day: date) -> None:
    past = crowd().tagged.filter(pl.col("booked_on") <= day)
    users = pl.col("user").is_in(past["user"].unique().implode())
    same(look(past, day, crowd().products).frames, {name: frame.filter(users) for name, frame in at(day).frames.items()})


@pytest.mark.parametrize("day", EARLIER)
def test_a_month_more_never_changes_closed_months(day: date) -> None:
    later = day + timedelta(days=31)
    closed = pl.col("item") < f"{day:%Y}_M{day:%m}"
    before, after = (
        result.frames["cashflow"].filter(pl.col("kind") == "M").filter(closed | (pl.col("item").str.slice(0, 4) < f"{day:%Y}"))
        for result in (at(day), look(crowd().tagged, later, crowd().products))
    )
    assert not before.is_empty()
    assert_frame_equal(before, after)


CATEGORIES = trees.categories_frame().filter(pl.col("kind") == trees.ITEM)["system_name"].to_list()
INSURANCES = [None, "VEHICLE_CAR", "LIABILITY_PRIVATE", "LIFE_ENDOWMENT"]
bookings = st.lists(
    st.fixed_dictionaries(
        {
            "user": st.sampled_from(["anna", "ben", "cem"]),
            "booked_on": st.dates(date(2025, 1, 1), date(2026, 8, 31)),
            "amount_cents": st.one_of(st.integers(-90_000, 300_000), st.sampled_from([0, -1, 1, -80_000, 250_000])),
            "category": st.sampled_from(CATEGORIES),
            "insurance": st.sampled_from(INSURANCES),
            "partner": st.sampled_from(["UNKNOWN", "REWE", "NETFLIX", "ALLIANZ"]),
            "counterparty_key": st.sampled_from(["", "a", "b"]),
            "channel": st.sampled_from(["CARD", "DIRECTDEBIT", "STANDINGORDER", "TRANSFER", "SALARY", "DD_RETURN", "CASH"]),
            "currency": st.sampled_from(["EUR", "EUR", "EUR", "CHF"]),
            "pending": st.sampled_from([False, False, False, True]),
            "purpose": st.sampled_from(["", "Miete", "Gehalt", "Rate 3/12", "Kindergeld", "Rechnung 01.01.2026-31.12.2026"]),
            "repeats": st.sampled_from([1, 1, 1, 2, 3, 14]),
        }
    ),
    max_size=24,
)


def drawn(lines: list[dict[str, Any]]) -> pl.DataFrame:
    """Tagged bookings of these lines, each as often as it says, a month apart."""
    rows = [
        {
            **line,
            "id": f"{line['user']}-{number:03}-{turn:02}",
            "product": "giro",
            "booked_on": line["booked_on"] - timedelta(days=30 * turn),
            "effective_category": line["category"],
            "insurance": line["insurance"] or "UNRELATED_OTHER",
            "freelancer": "PRIVATE",
        }
        for number, line in enumerate(lines)
        for turn in range(line["repeats"])
    ]
    return pl.DataFrame(rows, schema=BOOKED)


@settings(max_examples=examples(6), derandomize=True)
@given(bookings)
def test_whatever_is_said_of_any_bookings_adds_up(lines: list[dict[str, Any]]) -> None:
    result = look(drawn(lines), TODAY, NOTHING, "nobody")
    for holds in CHECKS:
        holds(result)
    numbers = result.tagged.filter(pl.col("booked_on") <= TODAY)
    same(look(numbers.reverse(), TODAY, NOTHING, *result.as_of["user"]).frames, result.frames)


EDGES = {
    "nothing": BOOKED.to_frame(),
    "one": book([date(2026, 6, 1)], -500, "LIVING_GROCERIES"),
    "zeros": pl.concat([book(monthly(14), 0, category) for category in ("HOUSING_RENT", "INCOME_SALARY", "LIVING_GROCERIES")]),
    "francs": household("anna", 3).with_columns(currency=pl.lit("CHF")),
    "pending": household("anna", 3).with_columns(pending=pl.lit(value=True)),
    "future": household("anna", 3).with_columns(pl.col("booked_on").dt.offset_by("5y")),
}


@pytest.mark.parametrize("edge", EDGES)
def test_at_the_edges_all_adds_up(edge: str) -> None:
    result = look(EDGES[edge].select(BOOKED.names()), TODAY, NOTHING, "anna")
    for holds in CHECKS:
        holds(result)


def test_contracts_of_all_days_that_are_taken_from_anybody_are_dated() -> None:
    old, late = (household("anna", 3).with_columns(pl.col("booked_on").dt.offset_by(by)) for by in ("-54y", "173y"))
    for bookings, day in ((old, date(1972, 6, 30)), (old, TODAY), (late, date(2199, 6, 30))):
        result = look(bookings.select(BOOKED.names()), day)
        for holds in CHECKS:
            holds(result)
        following = result.frames["contracts"].filter(status="ACTIVE")["date_next"]
        assert following.is_between(day, day + timedelta(days=40)).all()
        assert following.is_empty() == (day == TODAY)


@pytest.mark.parametrize("edge", ["nothing", "pending", "future"])
def test_nothing_is_said_of_users_without_bookings(edge: str) -> None:
    result = look(EDGES[edge].select(BOOKED.names()), TODAY, NOTHING, "anna")
    assert all(frame.is_empty() for frame in result.frames.values())


def test_bookings_in_francs_count_as_those_in_euros_do() -> None:
    euros, francs = (look(frame.select(BOOKED.names())) for frame in (household("anna", 3), EDGES["francs"]))
    same(francs.frames, euros.frames)


def test_of_a_single_booking_only_the_sums_are_told() -> None:
    result = look(EDGES["one"].select(BOOKED.names()))
    assert result.frames["contracts"].is_empty()
    assert roll_up(result.frames["cashflow"], result.as_of).filter(tag="NET", item="TOTAL_TOTAL")["cents"].to_list() == [-500]


def test_a_user_may_have_fifty_thousand_bookings() -> None:
    count = 50_000
    numbers = pl.DataFrame({"n": range(count)})
    many = numbers.select(
        user=pl.lit("anna"),
        product=pl.lit("giro"),
        id=pl.format("many-{}", "n"),
        booked_on=pl.lit(date(2024, 1, 1)) + pl.duration(days=pl.col("n") % 900),
        amount_cents=-(pl.col("n") * 37 % 9_001).cast(pl.Int64),
        currency=pl.lit("EUR"),
        pending=pl.lit(value=False),
        category=pl.lit("LIVING_GROCERIES"),
        effective_category=pl.lit("LIVING_GROCERIES"),
        insurance=pl.lit("UNRELATED_OTHER"),
        partner=pl.lit("UNKNOWN"),
        channel=pl.lit("CARD"),
        counterparty_key=pl.format("shop {}", pl.col("n") % 400),
        purpose=pl.lit(""),
        booking_text=pl.lit(""),
    )
    whole = pl.concat([many, salary("anna"), rent("anna")], how="diagonal").select(BOOKED.names()).cast(BOOKED)
    result = look(whole)
    for holds in CHECKS:
        holds(result)
    assert sorted(result.frames["contracts"]["category"]) == ["HOUSING_RENT", "INCOME_SALARY"]


@pytest.mark.parametrize("name", FRAMES)
def test_two_users_may_have_equal_ids(name: str) -> None:
    together, alone = numbered_caches()
    assert_frame_equal(FRAMES[name].make(together), pl.concat([FRAMES[name].make(each) for each in alone]))


@cache
def numbered_caches() -> tuple[SuiteCache, list[SuiteCache]]:
    """The crowd with bookings that each user counts anew, seen together and apart."""
    number = pl.format("b{}", pl.int_range(pl.len()).over("user").cast(pl.String).str.zfill(5))
    short = crowd().tagged.with_columns(short=number)
    numbers = short.select("user", "id", "short")
    for link in ("refund_of", "pair_of"):
        linked = short.select("user", id=link).join(numbers, on=["user", "id"], how="left", maintain_order="left")["short"]
        short = short.with_columns(linked.alias(link))
    everything = (short.with_columns(id="short").select(BOOKED.names()), crowd().products, crowd().as_of)
    users = crowd().as_of["user"].sort().head(4)
    whole = [frame.filter(pl.col("user").is_in(users.implode())) for frame in everything]
    return SuiteCache(snapshot(*whole)), [SuiteCache(snapshot(*(frame.filter(user=user) for frame in whole))) for user in users]
