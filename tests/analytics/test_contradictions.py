"""No two statements about a user contradict each other: every pair of statements that exclude each other is looked for."""

from collections.abc import Callable
from functools import cache

import polars as pl
import pytest

from analytics.analyses.suite import Frames, analyse
from analytics.frames import CHOICES, RULES
from analytics.tagging import tag
from analytics.tagging.tag import Tagger
from models import registry
from tests.analytics.one_answer import simulated
from tests.support import worlds

Statement = Callable[[Frames], pl.DataFrame]


def stage(*items: str) -> Statement:
    return lambda frames: frames["life_stages"].filter(pl.col("item").is_in(items))


def trigger(*items: str) -> Statement:
    return lambda frames: frames["sales_triggers"].filter(pl.col("item").is_in(items))


def literacy(words: str) -> Statement:
    return lambda frames: frames["affordability"].filter(pl.col("financial_literacy_reason").str.contains(words, literal=True))


def flag(name: str, *, is_raised: bool = True) -> Statement:
    return lambda frames: frames["affordability"].filter(pl.col(name) == is_raised)


def active(*categories: str) -> Statement:
    return lambda frames: frames["contracts"].filter(pl.col("category").is_in(categories), pl.col("status") == "ACTIVE")


def latest_event(item: str, *others: str) -> Statement:
    """Users whose latest event of these items is the first one."""

    def users(frames: Frames) -> pl.DataFrame:
        events = frames["life_events"].filter(pl.col("item").is_in([item, *others])).sort("event_date", "item")
        return events.unique("user", keep="last", maintain_order=True).filter(item=item)

    return users


def recent_event(*items: str) -> Statement:
    return lambda frames: frames["life_events"].filter(pl.col("item").is_in(items))


PAIRS: dict[str, tuple[Statement, Statement]] = {
    "saves regularly, and not": (literacy("spart regelmäßig"), stage("SAVINGS_NONE", "SAVINGS_OCCASIONAL", "SAVINGS_DISSAVING")),
    "has liability cover, and lacks it": (literacy("Haftpflicht"), trigger("MISSINGINSURANCE_PRIVATELIABILITY")),
    "pays rent, and lives with the family": (active("HOUSING_RENT"), stage("HOUSING_WITHFAMILY", "HOUSING_OWNER")),
    "pays a mortgage, and is no financed owner": (
        active("HOUSING_FINANCING"),
        stage("HOUSING_TENANT", "HOUSING_WITHFAMILY", "HOUSING_OWNER", "HOUSING_UNKNOWN"),
    ),
    "is a financed owner, and pays no mortgage": (stage("HOUSING_OWNER_FINANCED"), flag("mortgage_payments", is_raised=False)),
    "rent has ended for good, and is paid": (
        latest_event("TENANCY_END", "TENANCY_START", "TENANCY_CHANGE", "TENANCY_FIRST"),
        stage("HOUSING_TENANT"),
    ),
    "has a child, and none": (
        recent_event("CHILD_FIRST", "CHILD_NEXT", "PARENTALLEAVE_START"),
        stage("PARENTHOOD_NONE_OBSERVED"),
    ),
    "pays for care, and has no child": (active("FAMILY_CHILDCARE"), stage("PARENTHOOD_NONE_OBSERVED")),
    "is on parental leave, and has no child": (stage("LABOURMARKET_PARENTALLEAVE"), stage("PARENTHOOD_NONE_OBSERVED")),
    "has a first and a new home": (trigger("LIFEEVENT_FIRSTAPARTMENT"), trigger("LIFEEVENT_NEWAPARTMENT")),
    "has a first and a new job": (trigger("LIFEEVENT_FIRSTEMPLOYMENT"), trigger("LIFEEVENT_NEWEMPLOYMENT")),
    "spends more than the income, and has a surplus": (
        literacy("Ausgaben über den Einnahmen"),
        literacy("Überschuss von mindestens"),
    ),
    "is retired, and should insure the ability to work": (
        stage("LABOURMARKET_RETIRED"),
        trigger("MISSINGINSURANCE_OCCUPATIONALDISABILITY", "MISSINGINSURANCE_PRIVATEHEALTH"),
    ),
}


@cache
def few_users() -> Frames:
    return worlds.world()[2]


@cache
def many_users() -> Frames:
    bookings, products, as_of = simulated(400, 31, 36)
    tags = tag.tag_bookings(bookings, products, CHOICES.to_frame(), RULES.to_frame(), Tagger(registry.shipped()))
    return analyse(bookings.hstack(tags.drop("id", "user", "product")), products, as_of)


def contradicted(frames: Frames, name: str) -> list[str]:
    one, other = (statement(frames) for statement in PAIRS[name])
    return sorted(set(one["user"]) & set(other["user"]))


@pytest.mark.parametrize("name", PAIRS)
def test_nobody_is_told_two_things_that_exclude_each_other(name: str) -> None:
    assert contradicted(few_users(), name) == []


@pytest.mark.thorough
@pytest.mark.parametrize("name", PAIRS)
def test_nobody_of_many_is_told_two_things_that_exclude_each_other(name: str) -> None:
    assert contradicted(many_users(), name) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [("SALARY_INCREASE", "SALARY_DECREASE"), ("EMPLOYMENT_FIRST", "EMPLOYMENT_CHANGE"), ("TENANCY_FIRST", "TENANCY_CHANGE")],
)
def test_events_that_exclude_each_other_never_share_a_day(first: str, second: str) -> None:
    events = few_users()["life_events"]
    both = events.filter(item=first).join(events.filter(item=second), on=["user", "event_date"])
    assert both.is_empty()
