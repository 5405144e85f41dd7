"""Sales triggers: occasions to talk with a user, each by an exact rule. A trigger vanishes when its rule no longer holds.

Thresholds are inclusive and compared in whole cents. Sensitive bookings are never evidence.
"""

from functools import cache

import polars as pl

from analytics import trees
from analytics.analyses.life_events.evidence import OTHER_INCOME, EventEvidence, gather_evidence
from analytics.analyses.life_events.months import large_incomes, last_months, monthly_incomes, sum_months
from analytics.analyses.life_events.words import WAGE_KINDS
from analytics.analyses.snapshot import Snapshot
from analytics.frames import NO_SALES_TRIGGERS, SALES_TRIGGERS, checked, collected, divided

INCOME_MONTHS, HIGH_INCOME_CENTS = 3, 320_000
MIN_HISTORY_MONTHS, MIN_ACTIVE_CONTRACTS = 12, 3
INSURANCE_LOOKBACK = "-13mo"
LIABILITY = ("LIABILITY_PRIVATE", "OTHER_BUNDLE", "LIABILITY_OTHER", "OTHER_OTHER")
"""Private liability, and policies that may include it."""
DISABILITY = ("INCAPACITY_OCCUPATIONAL", "INCAPACITY_SERVICE", "INCAPACITY_EARNING", "INCAPACITY_BASICABILITY")
HEALTH = ("HEALTH_PRIVATE",)
WORKING_STAGES = ("LABOURMARKET_EMPLOYED", "LABOURMARKET_TRAINEE", "LABOURMARKET_SELFEMPLOYED")
NOT_PRIVATELY_INSURED_STAGES = ("LABOURMARKET_RETIRED", "LABOURMARKET_STUDENT", "LABOURMARKET_UNEMPLOYED")
SALARY_INCREASE = "FINANCIAL_SALARYINCREASE"
EVENT_TRIGGERS = pl.DataFrame(
    [
        ("TENANCY_FIRST", "LIFEEVENT_FIRSTAPARTMENT", 90),
        ("TENANCY_START", "LIFEEVENT_NEWAPARTMENT", 90),
        ("TENANCY_CHANGE", "LIFEEVENT_NEWAPARTMENT", 90),
        ("EMPLOYMENT_FIRST", "LIFEEVENT_FIRSTEMPLOYMENT", 90),
        ("EMPLOYMENT_START", "LIFEEVENT_NEWEMPLOYMENT", 90),
        ("EMPLOYMENT_CHANGE", "LIFEEVENT_NEWEMPLOYMENT", 90),
        ("CHILD_FIRST", "LIFEEVENT_FIRSTCHILD", 180),
        ("SALARY_INCREASE", SALARY_INCREASE, 90),
    ],
    ["item", "trigger", "days"],
    orient="row",
)
"""Each event, the trigger that it sets off, and for how many days."""
SAVING_MONTHS, MIN_POSITIVE_MONTHS, MIN_SURPLUS_CENTS, SURPLUS_DIVISOR = 6, 5, 10_000, 20
"""The surplus of six months, at least five of them positive, must average 100 euros and be a twentieth of income."""
DIFFICULTY_KINDS = ("RETURNED_DEBIT", "COLLECTION", "SEIZURE")
LARGE_INCOME_DAYS = 60


def sales_triggers(
    snapshot: Snapshot,
    events: pl.DataFrame,
    stages: pl.DataFrame,
    evidence: EventEvidence | None = None,
    month_sums: pl.DataFrame | None = None,
    large_income_rows: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """The triggers of all users (frame `SALES_TRIGGERS`), given their events and stages.

    Evidence, month sums and large incomes are computed if they are not passed.
    """
    evidence = gather_evidence(snapshot) if evidence is None else evidence
    month_sums = sum_months(snapshot) if month_sums is None else month_sums
    triggers = [
        *_missing_insurances(snapshot, evidence, stages, month_sums),
        _event_triggers(evidence, events),
        _savings_potential(evidence, month_sums),
        _large_income(evidence, large_incomes(evidence, month_sums) if large_income_rows is None else large_income_rows),
    ]
    return checked(pl.concat(triggers).sort("user", "item"), SALES_TRIGGERS)


def monthly_income(evidence: EventEvidence, month_sums: pl.DataFrame) -> pl.DataFrame:
    """`user` and `total`: the sum of the income of the last three full months in cents, for users who have them."""
    return (
        monthly_incomes(last_months(evidence, INCOME_MONTHS, INCOME_MONTHS), month_sums)
        .group_by("user")
        .agg(total=pl.col("income").sum())
    )


def _missing_insurances(
    snapshot: Snapshot, evidence: EventEvidence, stages: pl.DataFrame, month_sums: pl.DataFrame
) -> list[pl.DataFrame]:
    full_picture = _users_with_full_picture(snapshot, evidence)
    insurances = _insurances(snapshot)
    work = stages.filter(pl.col("dimension") == "LABOURMARKET").select("user", work="item")
    working = full_picture.join(work.filter(pl.col("work").is_in(WORKING_STAGES)), on="user", how="semi")
    privately_insurable = evidence.histories.join(
        work.filter(pl.col("work").is_in(NOT_PRIVATELY_INSURED_STAGES)), on="user", how="anti"
    )
    high = monthly_income(evidence, month_sums).filter(pl.col("total") >= INCOME_MONTHS * HIGH_INCOME_CENTS)
    high_earners = privately_insurable.join(high, on="user").with_columns(
        amount=divided(pl.col("total"), INCOME_MONTHS).round().cast(pl.Int64)
    )
    if not high_earners.is_empty():
        high_earners = high_earners.join(_income_ids(evidence, INCOME_MONTHS), on="user", how="left", maintain_order="left")
    return [
        _users_without(
            insurances, full_picture, "MISSINGINSURANCE_PRIVATELIABILITY", "Keine Privathaftpflicht zu sehen", LIABILITY
        ),
        _users_without(
            insurances,
            working,
            "MISSINGINSURANCE_OCCUPATIONALDISABILITY",
            "Keine Absicherung der Arbeitskraft zu sehen",
            DISABILITY,
        ),
        _users_without(
            insurances,
            high_earners,
            "MISSINGINSURANCE_PRIVATEHEALTH",
            "Einkommen ab 3.200 Euro, keine private Krankenversicherung",
            HEALTH,
        ),
    ]


def _users_with_full_picture(snapshot: Snapshot, evidence: EventEvidence) -> pl.DataFrame:
    """Users whose accounts show enough of their life: a year of history, wages or a pension, three active contracts."""
    long = evidence.histories.filter(pl.col("start") <= pl.col("as_of").dt.offset_by(f"-{MIN_HISTORY_MONTHS}mo"))
    active = (
        snapshot.contracts.filter(pl.col("status") == "ACTIVE")
        .group_by("user")
        .agg(contracts=pl.len(), paid=pl.col("category").is_in(["INCOME_SALARY", "INCOME_PENSION"]).any())
    )
    users = long.join(active.filter("paid", pl.col("contracts") >= MIN_ACTIVE_CONTRACTS), on="user", how="semi")
    if users.is_empty():
        return users.with_columns(bookings=pl.lit(None, pl.List(pl.String)))
    wages = evidence.runs.filter("active", pl.col("kind").is_in([*WAGE_KINDS, "PENSION", "SURVIVOR_PENSION"])).sort(
        "user", "last", "contract"
    )
    closing = wages.group_by("user", maintain_order=True).agg(bookings=pl.last("closing"))
    return users.join(closing, on="user", how="left")


def _insurances(snapshot: Snapshot) -> pl.DataFrame:
    """`user` and `insurance` of the types that triggers look for: active contracts, and payments within thirteen months."""
    types = [*LIABILITY, *DISABILITY, *HEALTH]
    contracts = snapshot.contracts.filter(pl.col("status") == "ACTIVE", pl.col("insurance").is_in(types))
    insurance_bookings = snapshot.bookings.select("user", "insurance", "booked_on", "as_of").filter(
        pl.col("insurance").is_in(types)
    )
    paid_insurances = insurance_bookings.filter(pl.col("booked_on") >= pl.col("as_of").dt.offset_by(INSURANCE_LOOKBACK))
    return pl.concat([frame.select("user", "insurance") for frame in (contracts, paid_insurances)])


def _users_without(insurances: pl.DataFrame, users: pl.DataFrame, item: str, reason: str, types: tuple[str, ...]) -> pl.DataFrame:
    """A trigger for each of the users without an insurance of these types."""
    if users.is_empty():
        return NO_SALES_TRIGGERS
    users_without = users.join(insurances.filter(pl.col("insurance").is_in(types)), on="user", how="anti", maintain_order="left")
    amount = pl.col("amount") if "amount" in users.columns else pl.lit(None)
    return _triggers(users_without, item, pl.col("as_of"), amount, pl.lit(0.8), pl.lit(reason), pl.col("bookings"))


def _income_ids(evidence: EventEvidence, count: int) -> pl.DataFrame:
    """`user` and `bookings`: the ids of the incomes of the last `count` full months."""
    months = last_months(evidence, count, count)
    steady_income = evidence.income.filter(pl.col("category") != OTHER_INCOME)
    incomes_in_months = steady_income.with_columns(month=pl.col("day").dt.month_start()).join(
        months, on=["user", "month"], how="semi"
    )
    return incomes_in_months.sort("user", "day", "id").group_by("user", maintain_order=True).agg(bookings="id")


def _event_triggers(evidence: EventEvidence, events: pl.DataFrame) -> pl.DataFrame:
    """For each trigger the latest of the events that set it off, if it has not been known for too long.

    A trigger lives from the day on which its event was known: a move shows only when the old rent has stayed out for weeks.
    """
    if events.is_empty():
        return NO_SALES_TRIGGERS
    dated_events = events.join(EVENT_TRIGGERS, on="item").join(evidence.histories, on="user")
    recent_events = dated_events.filter((pl.col("as_of") - pl.col("known_since")).dt.total_days().is_between(0, pl.col("days")))
    last = recent_events.sort("user", "event_date", "item").unique(["user", "trigger"], keep="last", maintain_order=True)
    amount = pl.when(pl.col("trigger") == SALARY_INCREASE).then("amount")
    return _triggers(
        last,
        pl.col("trigger"),
        pl.col("known_since"),
        amount,
        pl.col("confidence"),
        pl.col("reason"),
        pl.col("bookings"),
        pl.col("event_date"),
    )


def _savings_potential(evidence: EventEvidence, month_sums: pl.DataFrame) -> pl.DataFrame:
    """Users with a surplus before saving in nearly all of six full months, and no payment difficulties."""
    is_income = pl.col("category").str.starts_with("INCOME_") | (pl.col("category") == "OTHER_INCOME")
    net = (
        month_sums.filter(is_income | pl.col("category").is_in(_spending_categories()))
        .group_by("user", "month")
        .agg(net=pl.col("cents").sum(), income=pl.col("cents").filter(is_income).sum())
    )
    months = last_months(evidence, SAVING_MONTHS, SAVING_MONTHS).join(net, on=["user", "month"], how="left")
    total = months.group_by("user").agg(
        pl.col("net", "income").sum(), positive=(pl.col("net") > 0).sum(), since=pl.col("month").min()
    )
    is_enough = (pl.col("net") >= SAVING_MONTHS * MIN_SURPLUS_CENTS) & (pl.col("net") * SURPLUS_DIVISOR >= pl.col("income"))
    savers = total.filter(is_enough, pl.col("positive") >= MIN_POSITIVE_MONTHS).join(
        _users_in_difficulties(evidence), on="user", how="anti"
    )
    if savers.is_empty():
        return NO_SALES_TRIGGERS
    mean = divided(pl.col("net"), SAVING_MONTHS).round().cast(pl.Int64)
    reason = pl.lit("Im Mittel von sechs Monaten bleibt Geld übrig")
    dated_savers = savers.join(evidence.histories, on="user").join(_income_ids(evidence, SAVING_MONTHS), on="user", how="left")
    return _triggers(dated_savers, "FINANCIAL_SAVINGSPOTENTIAL", pl.col("as_of"), mean, pl.lit(0.85), reason, pl.col("bookings"))


@cache
def _spending_categories() -> pl.Series:
    """The categories of needs and luxuries."""
    return trees.categories_frame().filter(pl.col("need").is_in(["N", "L"]))["system_name"].implode()


def _users_in_difficulties(evidence: EventEvidence) -> pl.DataFrame:
    if evidence.booked_kinds.isdisjoint(DIFFICULTY_KINDS):
        return evidence.histories.select("user").clear()
    difficulties = evidence.rows.filter(pl.col("kind").is_in(DIFFICULTY_KINDS)).join(evidence.histories, on="user")
    return difficulties.filter(pl.col("booked_on") > pl.col("as_of").dt.offset_by(f"-{SAVING_MONTHS}mo")).select("user").unique()


def _large_income(evidence: EventEvidence, large_income_rows: pl.DataFrame) -> pl.DataFrame:
    """The latest large income, if it is at most `LARGE_INCOME_DAYS` old."""
    if large_income_rows.is_empty():
        return NO_SALES_TRIGGERS
    dated_incomes = large_income_rows.join(evidence.histories, on="user")
    recent_incomes = dated_incomes.filter((pl.col("as_of") - pl.col("day")).dt.total_days().is_between(0, LARGE_INCOME_DAYS))
    last = recent_incomes.sort("user", "day", "cents", "payer").unique("user", keep="last", maintain_order=True)
    times = (pl.col("cents") / pl.col("average")).round(1).cast(pl.String).str.replace(".", ",", literal=True)
    reason = pl.format("Einnahme vom {} ist {}-mal so hoch wie ein mittlerer Monat", pl.col("day").dt.strftime("%d.%m.%Y"), times)
    return _triggers(last, "FINANCIAL_LARGEINCOME", pl.col("day"), pl.col("cents"), pl.lit(0.9), reason, pl.col("ids"))


def _triggers(
    frame: pl.DataFrame,
    item: str | pl.Expr,
    day: pl.Expr,
    amount: pl.Expr,
    confidence: pl.Expr,
    reason: pl.Expr,
    bookings: pl.Expr,
    event_date: pl.Expr | None = None,
) -> pl.DataFrame:
    """The rows as triggers, known since `day`; what happened did so on the same day unless `event_date` says otherwise."""
    trigger_rows = frame.lazy().select(
        "user",
        item=pl.lit(item) if isinstance(item, str) else item,
        trigger_date=day,
        event_date=day if event_date is None else event_date,
        amount=amount,
        confidence=confidence,
        reason=reason,
        bookings=bookings.fill_null([]),
    )
    return collected(trigger_rows.cast(SALES_TRIGGERS))
