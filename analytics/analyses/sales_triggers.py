"""Sales triggers: occasions to talk with a user, each by an exact rule. They vanish when it no longer holds.

Thresholds are inclusive and compared in whole cents. Nothing sensitive is evidence.
"""

from functools import cache

import polars as pl

from analytics import trees
from analytics.analyses.life_events.evidence import EventEvidence, gather_evidence
from analytics.analyses.life_events.months import incomes, large_incomes, last_months, sums
from analytics.analyses.life_events.words import WAGES
from analytics.analyses.snapshot import Snapshot
from analytics.frames import SALES_TRIGGERS, checked

INCOME_MONTHS, HIGH_INCOME = 3, 320_000
COVERED_MONTHS, COVERED_CONTRACTS = 12, 3
HELD = "-13mo"
LIABILITY = ("LIABILITY_PRIVATE", "OTHER_BUNDLE", "LIABILITY_OTHER", "OTHER_OTHER")
"""Private liability, and policies that may contain it."""
DISABILITY = ("INCAPACITY_OCCUPATIONAL", "INCAPACITY_SERVICE", "INCAPACITY_EARNING", "INCAPACITY_BASICABILITY")
HEALTH = ("HEALTH_PRIVATE",)
AT_WORK = ("LABOURMARKET_EMPLOYED", "LABOURMARKET_TRAINEE", "LABOURMARKET_SELFEMPLOYED")
NOT_PRIVATE = ("LABOURMARKET_RETIRED", "LABOURMARKET_STUDENT", "LABOURMARKET_UNEMPLOYED")
SALARY = "FINANCIAL_SALARYINCREASE"
OF_EVENTS = pl.DataFrame(
    [
        ("TENANCY_FIRST", "LIFEEVENT_FIRSTAPARTMENT", 90),
        ("TENANCY_START", "LIFEEVENT_NEWAPARTMENT", 90),
        ("TENANCY_CHANGE", "LIFEEVENT_NEWAPARTMENT", 90),
        ("EMPLOYMENT_FIRST", "LIFEEVENT_FIRSTEMPLOYMENT", 90),
        ("EMPLOYMENT_START", "LIFEEVENT_NEWEMPLOYMENT", 90),
        ("EMPLOYMENT_CHANGE", "LIFEEVENT_NEWEMPLOYMENT", 90),
        ("CHILD_FIRST", "LIFEEVENT_FIRSTCHILD", 180),
        ("SALARY_INCREASE", SALARY, 90),
    ],
    ["item", "trigger", "days"],
    orient="row",
)
"""Event, the trigger that it sets off, and for how many days."""
SAVING_MONTHS, SAVING_POSITIVE, LEAST_SURPLUS, SURPLUS_SHARE = 6, 5, 10_000, 20
"""The surplus must be the twentieth part of income."""
DIFFICULTIES = ("RETURNED_DEBIT", "COLLECTION", "SEIZURE")
LARGE_DAYS = 60


def sales_triggers(
    seen: Snapshot,
    events: pl.DataFrame,
    stages: pl.DataFrame,
    base: EventEvidence | None = None,
    summed: pl.DataFrame | None = None,
    large: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """The triggers of all users (frame `SALES_TRIGGERS`), given their events and stages.

    What is worked out already, the ground, the sums by month and large incomes, can be handed in.
    """
    known = gather_evidence(seen) if base is None else base
    monthly = sums(seen) if summed is None else summed
    found = [
        *_missing(seen, known, stages, monthly),
        _after(known, events),
        _savings(known, monthly),
        _large(known, large_incomes(known, monthly) if large is None else large),
    ]
    return checked(pl.concat(found).sort("user", "item"), SALES_TRIGGERS)


def monthly_income(base: EventEvidence, summed: pl.DataFrame) -> pl.DataFrame:
    """`user` and `total`: the income of the last three full months together, of users who have them."""
    return incomes(last_months(base, INCOME_MONTHS, INCOME_MONTHS), summed).group_by("user").agg(total=pl.col("income").sum())


def _missing(seen: Snapshot, base: EventEvidence, stages: pl.DataFrame, summed: pl.DataFrame) -> list[pl.DataFrame]:
    covered = _covered(seen, base)
    held = _held(seen)
    work = stages.filter(pl.col("dimension") == "LABOURMARKET").select("user", work="item")
    working = covered.join(work.filter(pl.col("work").is_in(AT_WORK)), on="user", how="semi")
    able = base.histories.join(work.filter(pl.col("work").is_in(NOT_PRIVATE)), on="user", how="anti")
    high = monthly_income(base, summed).filter(pl.col("total") >= INCOME_MONTHS * HIGH_INCOME)
    rich = able.join(high, on="user").with_columns(amount=(pl.col("total") / INCOME_MONTHS).round().cast(pl.Int64))
    if not rich.is_empty():
        rich = rich.join(_income_ids(base, INCOME_MONTHS), on="user", how="left", maintain_order="left")
    return [
        _lacking(held, covered, "MISSINGINSURANCE_PRIVATELIABILITY", "Keine Privathaftpflicht zu sehen", LIABILITY),
        _lacking(
            held, working, "MISSINGINSURANCE_OCCUPATIONALDISABILITY", "Keine Absicherung der Arbeitskraft zu sehen", DISABILITY
        ),
        _lacking(
            held, rich, "MISSINGINSURANCE_PRIVATEHEALTH", "Einkommen ab 3.200 Euro, keine private Krankenversicherung", HEALTH
        ),
    ]


def _covered(seen: Snapshot, base: EventEvidence) -> pl.DataFrame:
    """Users whose accounts show enough of their lives: a year of history, wages or pension, three active contracts."""
    long = base.histories.filter(pl.col("start") <= pl.col("as_of").dt.offset_by(f"-{COVERED_MONTHS}mo"))
    active = (
        seen.contracts.filter(pl.col("status") == "ACTIVE")
        .group_by("user")
        .agg(contracts=pl.len(), paid=pl.col("category").is_in(["INCOME_SALARY", "INCOME_PENSION"]).any())
    )
    found = long.join(active.filter("paid", pl.col("contracts") >= COVERED_CONTRACTS), on="user", how="semi")
    if found.is_empty():
        return found.with_columns(bookings=pl.lit(None, pl.List(pl.String)))
    wages = base.runs.filter("active", pl.col("kind").is_in([*WAGES, "PENSION", "SURVIVOR_PENSION"])).sort(
        "user", "last", "contract"
    )
    closing = wages.group_by("user", maintain_order=True).agg(bookings=pl.last("closing"))
    return found.join(closing, on="user", how="left")


def _held(seen: Snapshot) -> pl.DataFrame:
    """`user` and `insurance` of these kinds: active contracts, and whatever was paid within thirteen months."""
    types = [*LIABILITY, *DISABILITY, *HEALTH]
    contracts = seen.contracts.filter(pl.col("status") == "ACTIVE", pl.col("insurance").is_in(types))
    insured = seen.bookings.select("user", "insurance", "booked_on", "as_of").filter(pl.col("insurance").is_in(types))
    paid = insured.filter(pl.col("booked_on") >= pl.col("as_of").dt.offset_by(HELD))
    return pl.concat([frame.select("user", "insurance") for frame in (contracts, paid)])


def _lacking(held: pl.DataFrame, users: pl.DataFrame, item: str, reason: str, types: tuple[str, ...]) -> pl.DataFrame:
    """A trigger for each of the users who holds none of these insurances."""
    if users.is_empty():
        return SALES_TRIGGERS.to_frame()
    lacking = users.join(held.filter(pl.col("insurance").is_in(types)), on="user", how="anti", maintain_order="left")
    amount = pl.col("amount") if "amount" in users.columns else pl.lit(None)
    return _triggers(lacking, item, pl.col("as_of"), amount, pl.lit(0.8), pl.lit(reason), pl.col("bookings"))


def _income_ids(base: EventEvidence, count: int) -> pl.DataFrame:
    """`user` and `bookings`: the incomes of the last full months."""
    months = last_months(base, count, count)
    of = base.income.with_columns(month=pl.col("day").dt.month_start()).join(months, on=["user", "month"], how="semi")
    return of.sort("user", "day", "id").group_by("user", maintain_order=True).agg(bookings="id")


def _after(base: EventEvidence, events: pl.DataFrame) -> pl.DataFrame:
    """For each trigger the latest of the events that set it off, if it is so young."""
    if events.is_empty():
        return SALES_TRIGGERS.to_frame()
    dated = events.join(OF_EVENTS, on="item").join(base.histories, on="user")
    young = dated.filter((pl.col("as_of") - pl.col("event_date")).dt.total_days().is_between(0, pl.col("days")))
    last = young.sort("user", "event_date", "item").unique(["user", "trigger"], keep="last", maintain_order=True)
    amount = pl.when(pl.col("trigger") == SALARY).then("amount")
    return _triggers(
        last, pl.col("trigger"), pl.col("event_date"), amount, pl.col("confidence"), pl.col("reason"), pl.col("bookings")
    )


def _savings(base: EventEvidence, summed: pl.DataFrame) -> pl.DataFrame:
    """What was left before saving over six full months, nearly always something, and nobody who has difficulties to pay."""
    earned = pl.col("category").str.starts_with("INCOME_") | (pl.col("category") == "OTHER_INCOME")
    net = (
        summed.filter(earned | pl.col("category").is_in(_spent()))
        .group_by("user", "month")
        .agg(net=pl.col("cents").sum(), income=pl.col("cents").filter(earned).sum())
    )
    months = last_months(base, SAVING_MONTHS, SAVING_MONTHS).join(net, on=["user", "month"], how="left")
    total = months.group_by("user").agg(
        pl.col("net", "income").sum(), positive=(pl.col("net") > 0).sum(), since=pl.col("month").min()
    )
    enough = (pl.col("net") >= SAVING_MONTHS * LEAST_SURPLUS) & (pl.col("net") * SURPLUS_SHARE >= pl.col("income"))
    found = total.filter(enough, pl.col("positive") >= SAVING_POSITIVE).join(_in_difficulties(base), on="user", how="anti")
    if found.is_empty():
        return SALES_TRIGGERS.to_frame()
    mean = (pl.col("net") / SAVING_MONTHS).round().cast(pl.Int64)
    reason = pl.lit("Im Mittel von sechs Monaten bleibt Geld übrig")
    dated = found.join(base.histories, on="user").join(_income_ids(base, SAVING_MONTHS), on="user", how="left")
    return _triggers(dated, "FINANCIAL_SAVINGSPOTENTIAL", pl.col("as_of"), mean, pl.lit(0.85), reason, pl.col("bookings"))


@cache
def _spent() -> pl.Series:
    """The categories of needs and luxuries."""
    return trees.categories_frame().filter(pl.col("need").is_in(["N", "L"]))["system_name"].implode()


def _in_difficulties(base: EventEvidence) -> pl.DataFrame:
    if base.booked_kinds.isdisjoint(DIFFICULTIES):
        return base.histories.select("user").clear()
    bad = base.rows.filter(pl.col("kind").is_in(DIFFICULTIES)).join(base.histories, on="user")
    return bad.filter(pl.col("booked_on") > pl.col("as_of").dt.offset_by(f"-{SAVING_MONTHS}mo")).select("user").unique()


def _large(base: EventEvidence, large: pl.DataFrame) -> pl.DataFrame:
    """The latest income of at least twice the average month, if it is so young."""
    if large.is_empty():
        return SALES_TRIGGERS.to_frame()
    dated = large.join(base.histories, on="user")
    young = dated.filter((pl.col("as_of") - pl.col("day")).dt.total_days().is_between(0, LARGE_DAYS))
    last = young.sort("user", "day", "cents", "payer").unique("user", keep="last", maintain_order=True)
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
) -> pl.DataFrame:
    return frame.select(
        "user",
        item=pl.lit(item) if isinstance(item, str) else item,
        trigger_date=day,
        amount=amount,
        confidence=confidence,
        reason=reason,
        bookings=bookings.fill_null([]),
    ).cast(SALES_TRIGGERS)
