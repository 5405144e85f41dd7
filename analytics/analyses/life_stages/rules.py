"""The rules of life stages for work, parenthood and housing: the signs of each item, in the order in which they are tried."""

import polars as pl

from analytics.analyses.life_events.evidence import EventEvidence
from analytics.analyses.life_events.family import children, own_benefit_receivers
from analytics.analyses.life_events.guards import YEAR_DAYS
from analytics.analyses.life_events.words import folded_text
from analytics.analyses.life_stages.signs import (
    HALF_YEAR_BACK,
    SIGN_COLUMNS,
    YEARLY_DAYS,
    active_contracts,
    current_revenue,
    current_wages,
    recent_bookings,
    recent_kinds,
)
from analytics.frames import LIFE_SIGNS, NO_LIFE_SIGNS, divided

MIN_PENSION_SHARE = 0.5
MIN_EMPLOYED_CENTS = 80_000
TRAINEE_RANGE_CENTS = (50_000, 180_000)
"""Lowest and highest monthly pay of bookings whose words name training."""
MAX_SEMESTER_DAYS = 244
MAX_MONTHLY_DAYS = 62
BENEFIT_DELAY_DAYS = 60
"""Benefits for a child begin about this long after its birth."""
CHILD_AGES_YEARS = (
    ("PARENTHOOD_INFANT", 0, 3),
    ("PARENTHOOD_PRESCHOOL", 3, 6),
    ("PARENTHOOD_SCHOOL", 6, 18),
    ("PARENTHOOD_ADULTCHILD", 18, 26),
)
MAX_CARE_DAYS = 93
"""More than a quarter, since contributions rest in summer."""
MIN_NURSERY_PAYMENTS = 4
"""At least this many payments for care are those of a nursery; fewer can be a babysitter's."""
SCHOOL_WORDS = "schul|klasse|gymnasium|mensa|studienfahrt"
StageRules = list[tuple[str, pl.DataFrame, float]]
"""Items in the order in which they are tried, the signs of each, and its confidence."""


def work(evidence: EventEvidence) -> StageRules:
    """The rules for how a user earns: pensions and benefits are tried before wages."""
    wages = current_wages(evidence)
    low, high = TRAINEE_RANGE_CENTS
    training = wages.filter(pl.col("kind") == "TRAINING_PAY", pl.col("cents").is_between(low, high))
    aid = active_contracts(evidence, "Berufsausbildungsbeihilfe", "TRAINING_AID")
    student = [
        active_contracts(evidence, "BAföG oder Stipendium", "STUDENT_AID", "SCHOLARSHIP"),
        recent_kinds(evidence, "Semesterbeitrag", MAX_SEMESTER_DAYS, "SEMESTER_FEE"),
    ]
    return [
        ("LABOURMARKET_RETIRED", _pensioners(evidence, wages), 0.95),
        ("LABOURMARKET_PARENTALLEAVE", active_contracts(evidence, "Elterngeld", "PARENTAL_BENEFIT"), 0.95),
        ("LABOURMARKET_UNEMPLOYED", active_contracts(evidence, "Arbeitslosengeld oder Bürgergeld", "UNEMPLOYMENT_BENEFIT"), 0.95),
        ("LABOURMARKET_SELFEMPLOYED", current_revenue(evidence), 0.9),
        ("LABOURMARKET_TRAINEE", pl.concat([training.select(SIGN_COLUMNS), aid]), 0.9),
        ("LABOURMARKET_EMPLOYED", wages.filter(pl.col("cents") >= MIN_EMPLOYED_CENTS), 0.95),
        ("LABOURMARKET_STUDENT", pl.concat(student), 0.9),
        ("LABOURMARKET_MARGINAL", wages, 0.8),
    ]


def _pensioners(evidence: EventEvidence, wages: pl.DataFrame) -> pl.DataFrame:
    """The pensions of users for whom they are at least half of the income."""
    pensions = active_contracts(evidence, "Rente oder Pension", "PENSION", "SURVIVOR_PENSION")
    if pensions.is_empty():
        return pensions
    benefits = active_contracts(evidence, "", "UNEMPLOYMENT_BENEFIT", "PARENTAL_BENEFIT", "RENTAL")
    others = (
        pl.concat([benefits, wages.unique(["user", "since", "cents"]).select(SIGN_COLUMNS)])
        .group_by("user")
        .agg(others=pl.col("cents").sum())
    )
    pension_sums = pensions.group_by("user").agg(own=pl.col("cents").sum()).join(others, on="user", how="left")
    enough = pl.col("own") >= MIN_PENSION_SHARE * (pl.col("own") + pl.col("others").fill_null(0))
    return pensions.join(pension_sums.filter(enough), on="user", how="semi", maintain_order="left")


def parenthood(evidence: EventEvidence, events: pl.DataFrame) -> StageRules:
    """The rules for the youngest child: signs of small children are tried first, purchases only after signs of school."""
    births = _births(evidence, events)
    nursery, school = (
        recent_bookings(evidence, _care_payments(evidence, kind), "Kinderbetreuung", MAX_CARE_DAYS)
        for kind in ("CHILDCARE", "SCHOOL_CARE")
    )
    benefit = recent_kinds(evidence, "Kindergeld", MAX_MONTHLY_DAYS, "CHILD_BENEFIT", "MAINTENANCE_ADVANCE", "CHILD_SUPPLEMENT")
    if not benefit.is_empty():
        benefit = benefit.join(own_benefit_receivers(evidence), on="user", how="anti", maintain_order="left")
    support = recent_kinds(evidence, "Kindesunterhalt", MAX_MONTHLY_DAYS, "CHILD_MAINTENANCE")
    ages = [
        (item, births if births.is_empty() else births.filter(pl.col("age").is_between(low, high, closed="left")), 0.9)
        for item, low, high in CHILD_AGES_YEARS
    ]
    return [
        ages[0],
        ("PARENTHOOD_PRESCHOOL", pl.concat([nursery, ages[1][1].select(SIGN_COLUMNS)]), 0.85),
        ("PARENTHOOD_SCHOOL", pl.concat([_ended_care(evidence), _only_pupils(evidence, school)]), 0.8),
        ("PARENTHOOD_PRESCHOOL", _without_former_nursery(evidence, _child_spending(evidence, ("CHILD_NECESSITIES",), 3)), 0.75),
        ("PARENTHOOD_SCHOOL", pl.concat([school, benefit, support, _child_spending(evidence, ("FOR_CHILDREN",), 6)]), 0.75),
        ages[3],
        ("PARENTHOOD_ADULTCHILD", _grown_up(evidence, events), 0.7),
        ("PARENTHOOD_NONE_OBSERVED", _long_histories(evidence), 0.8),
    ]


def _care_payments(evidence: EventEvidence, kind: str) -> pl.DataFrame:
    """The payments for care of this kind by users who paid for care more than once in the last half year."""
    if kind not in evidence.booked_kinds:
        return evidence.rows.clear()
    payments = evidence.rows.filter(pl.col("kind").is_in(["CHILDCARE", "SCHOOL_CARE"])).join(evidence.histories, on="user")
    regular_payers = payments.filter(pl.col("booked_on") > pl.col("as_of").dt.offset_by(HALF_YEAR_BACK)).filter(
        pl.len().over("user") > 1
    )
    return evidence.rows.filter(pl.col("kind") == kind).join(regular_payers, on="user", how="semi", maintain_order="left")


def _ended_care(evidence: EventEvidence) -> pl.DataFrame:
    """A sign for users whose child has left the nursery: even where that is free, its meals are paid for."""
    if "CHILDCARE" not in evidence.booked_kinds:
        return NO_LIFE_SIGNS
    payments = _nursery_payments(evidence)
    ended_care = recent_bookings(evidence, payments, "Kinderbetreuung beendet", YEARLY_DAYS)
    return ended_care.join(recent_bookings(evidence, payments, "", MAX_CARE_DAYS), on="user", how="anti", maintain_order="left")


def _without_former_nursery(evidence: EventEvidence, signs: pl.DataFrame) -> pl.DataFrame:
    """The signs of users who have not paid a nursery before: whose child has left one is no preschool child any more."""
    return signs.join(_nursery_payments(evidence), on="user", how="anti", maintain_order="left")


def _nursery_payments(evidence: EventEvidence) -> pl.DataFrame:
    return evidence.rows.filter(pl.col("kind") == "CHILDCARE").filter(pl.len().over("user") >= MIN_NURSERY_PAYMENTS)


def _only_pupils(evidence: EventEvidence, care: pl.DataFrame) -> pl.DataFrame:
    """A sign for users with child benefit for one child who pay for its school."""
    school_spending = evidence.rows.filter(pl.col("effective_category") == "FAMILY_OTHER").filter(
        folded_text().str.contains(SCHOOL_WORDS)
    )
    if not school_spending.is_empty():
        school_spending = school_spending.filter(pl.len().over("user") > 1)
    signs = pl.concat([care, recent_bookings(evidence, school_spending, "Ausgaben für die Schule", YEAR_DAYS)])
    if signs.is_empty():
        return signs
    last = children(evidence).unique("user", keep="last", maintain_order=True)
    return signs.join(last.filter(pl.col("children") == 1), on="user", how="semi", maintain_order="left")


def _grown_up(evidence: EventEvidence, events: pl.DataFrame) -> pl.DataFrame:
    """A sign for users whose child benefit ended less than seven years ago: it ends at 18, so the child is not older than 25."""
    ended_benefits = events.filter(pl.col("item") == "CHILDBENEFIT_END")
    if ended_benefits.is_empty():
        return NO_LIFE_SIGNS
    ended_benefits = ended_benefits.join(evidence.histories, on="user", maintain_order="left")
    return ended_benefits.filter(pl.col("event_date") > pl.col("as_of").dt.offset_by("-7y")).select(
        "user", since="event_date", cents=pl.lit(0, pl.Int64), bookings="bookings", description=pl.lit("Ende des Kindergelds")
    )


def _child_spending(evidence: EventEvidence, kinds: tuple[str, ...], months: int) -> pl.DataFrame:
    """A sign for users who spent on children in at least `months` months of the last year, and still do. Toys alone do not count:
    they are also bought for other people's children.
    """
    if evidence.booked_kinds.isdisjoint(kinds):
        return NO_LIFE_SIGNS
    purchases = evidence.rows.filter(pl.col("kind").is_in(kinds), pl.col("amount_cents") < 0).join(
        evidence.histories, on="user", maintain_order="left"
    )
    recent_purchases = purchases.filter(pl.col("booked_on") > pl.col("as_of").dt.offset_by("-1y"))
    spending = recent_purchases.group_by("user", maintain_order=True).agg(
        pl.last("as_of"),
        since=pl.first("booked_on"),
        last=pl.last("booked_on"),
        cents=-pl.col("amount_cents").sum(),
        bookings=pl.col("id").tail(months),
        description=pl.lit("Ausgaben für Kinder").first(),
        months=pl.col("booked_on").dt.month_start().n_unique(),
        own=(pl.col("effective_category") != "FAMILY_TOYS").any(),
    )
    is_recent = (pl.col("as_of") - pl.col("last")).dt.total_days() <= MAX_CARE_DAYS
    return spending.filter(pl.col("months") >= months, "own", is_recent).select(SIGN_COLUMNS)


def _long_histories(evidence: EventEvidence) -> pl.DataFrame:
    """A sign without bookings for users with at least a year of history."""
    long_histories = evidence.histories.filter((pl.col("as_of") - pl.col("start")).dt.total_days() >= YEAR_DAYS)
    no_bookings = pl.lit([], pl.List(pl.String))
    return long_histories.select(
        "user", since="start", cents=pl.lit(0, pl.Int64), bookings=no_bookings, description=pl.lit("Kein Hinweis auf Kinder")
    )


def _births(evidence: EventEvidence, events: pl.DataFrame) -> pl.DataFrame:
    """A sign for each birth shown by benefits, with the `age` of the child in years on the as-of date."""
    births = events.filter(pl.col("item").is_in(["CHILD_FIRST", "CHILD_NEXT", "PARENTALLEAVE_START"]))
    birth_events = births.select("user", "bookings", day="event_date")
    on_leave = evidence.runs.filter("active", pl.col("kind") == "PARENTAL_BENEFIT").select(
        "user", bookings="closing", day="first"
    )
    births_and_leaves = pl.concat([birth_events, on_leave])
    if births_and_leaves.is_empty():
        return pl.Schema({**LIFE_SIGNS, "age": pl.Float64()}).to_frame()
    births_and_leaves = births_and_leaves.join(evidence.histories, on="user")
    since = pl.col("day").dt.offset_by(f"-{BENEFIT_DELAY_DAYS}d")
    age = divided((pl.col("as_of") - since).dt.total_days(), 365.25)
    return births_and_leaves.select(
        "user", since=since, cents=pl.lit(0, pl.Int64), bookings="bookings", description=pl.lit("Geburt eines Kindes"), age=age
    )


def housing(evidence: EventEvidence, work_decisions: pl.DataFrame) -> StageRules:
    """The rules for how a user lives. Students and trainees who pay for no home live with the family."""
    building = evidence.rows.filter(pl.col("insurance") == "HOME_BUILDING")
    owner = [
        recent_kinds(evidence, "Hausgeld oder Grundsteuer", YEARLY_DAYS, "OWNERS_CHARGE", "PROPERTY_TAX"),
        recent_bookings(evidence, building, "Gebäudeversicherung", YEARLY_DAYS),
    ]
    in_education = work_decisions.filter(pl.col("item").is_in(["LABOURMARKET_STUDENT", "LABOURMARKET_TRAINEE"]))
    at_home = in_education.select(
        "user", "since", "bookings", cents=pl.lit(0, pl.Int64), description=pl.lit("Keine eigenen Wohnkosten")
    ).select(SIGN_COLUMNS)
    return [
        ("HOUSING_OWNER_FINANCED", active_contracts(evidence, "Immobiliendarlehen", "MORTGAGE"), 0.95),
        (
            "HOUSING_TENANT",
            pl.concat([active_contracts(evidence, "Miete", "RENT"), recent_kinds(evidence, "Miete", MAX_MONTHLY_DAYS, "RENT")]),
            0.95,
        ),
        ("HOUSING_OWNER", pl.concat(owner), 0.85),
        ("HOUSING_WITHFAMILY", pl.concat([recent_kinds(evidence, "Kostgeld", MAX_MONTHLY_DAYS, "BOARD"), at_home]), 0.75),
    ]
