"""Events of working life: employment, wages, unemployment, retirement, self-employment, studies, parental leave."""

import polars as pl

from analytics.analyses.life_events.evidence import EventEvidence, until
from analytics.analyses.life_events.guards import ALIVE, NEW_DAYS, alive_before, events
from analytics.analyses.life_events.succession import alone, changed, first_ever, followed, left
from analytics.analyses.life_events.words import WAGES
from analytics.frames import LIFE_EVENTS

MAIN_WAGE = 80_000
"""From this wage on it is an employment; below it a side job, which by itself is no event of a life."""
CHANGE_DAYS, END_DAYS = 75, 62
LEAST_CHANGE, LEAST_CHANGE_CENTS = 0.03, 5_000
WAGES_BEFORE, LEAST_WAGES_BEFORE = 6, 3
RETIRING_DAYS = 120
INVOICES, INVOICES_DAYS = 3, 120
BUSINESS = (
    "VAT_PAID",
    "LEGAL_TAX_ADVICE",
    "GOODS_MATERIALS",
    "EXTERNAL_SERVICES",
    "PERSONNEL",
    "ADVERTISING",
    "RENT_PREMISES",
    "TRADE_TAX",
)
"""Costs that a private person does not have."""
STUDYING = ("SEMESTER_FEE", "STUDENT_AID")
SEMESTER_DAYS, STUDIES_OVER_DAYS = 183, 244
SEMESTER_NEW_DAYS = 274


def career(base: EventEvidence, runs: pl.DataFrame, bookings: pl.DataFrame) -> list[pl.DataFrame]:
    """The events of this group. `bookings` are all, to look up the costs of a business."""
    return [
        *_employment(base, runs),
        *_wages(base),
        _retirement(runs),
        _self_employment(base, bookings),
        *_studies(base, runs),
    ]


def _main() -> pl.Expr:
    return (pl.col("median") >= MAIN_WAGE) | (pl.col("kind") == "TRAINING_PAY")


def _employment(base: EventEvidence, runs: pl.DataFrame) -> list[pl.DataFrame]:
    wages = runs.filter(pl.col("kind").is_in(WAGES))
    if wages.is_empty():
        return []
    new, over = wages.filter("new", _main()), wages.filter("over")
    if new.is_empty() and over.is_empty():
        return []
    pairs = followed(new, over, CHANGE_DAYS)
    single = first_ever(base, alone(new, pairs, wages), *WAGES)
    gone = left(base, over.filter(_main()), pairs, END_DAYS, *WAGES)
    again = single.filter(~pl.col("first_ever"), ~pl.col("waiting"))
    return [
        changed(pairs, "EMPLOYMENT_CHANGE", "Neuer Arbeitgeber"),
        events(single.filter("first_ever"), "EMPLOYMENT_FIRST", pl.col("first"), "Erstes Gehalt", pl.col("opening")),
        events(again, "EMPLOYMENT_START", pl.col("first"), "Neues Gehalt", pl.col("opening")),
        events(
            gone,
            "EMPLOYMENT_END",
            pl.col("last") + pl.duration(days=pl.col("length")),
            "Gehalt bleibt aus",
            pl.col("closing"),
        ),
    ]


def _wages(base: EventEvidence) -> list[pl.DataFrame]:
    """Wages that change for good: this one and the next lie above or below the level of those before."""
    main = base.runs.filter(pl.col("kind").is_in(WAGES), _main()).select("contract")
    if main.is_empty():
        return []
    paid = base.paid.join(main, on="contract", how="semi", maintain_order="left")
    middle = pl.col("cents").rolling_median(WAGES_BEFORE, min_samples=LEAST_WAGES_BEFORE).shift(1).over("contract")
    wages = paid.with_columns(
        after=pl.col("cents").shift(-1).over("contract"), next=pl.col("id").shift(-1).over("contract"), middle=middle
    ).drop_nulls(["after", "middle"])
    names = base.runs.select("contract", "name")
    wages = wages.join(names, on="contract").with_columns(
        rise=pl.min_horizontal("cents", "after") - pl.col("middle"), fall=pl.col("middle") - pl.max_horizontal("cents", "after")
    )
    return [
        _shift(wages, "rise", "SALARY_INCREASE", "Gehalt steigt"),
        _shift(wages, "fall", "SALARY_DECREASE", "Gehalt sinkt"),
    ]


def _shift(wages: pl.DataFrame, way: str, item: str, what: str) -> pl.DataFrame:
    shifted = wages.with_columns(shifted=(pl.col(way) >= LEAST_CHANGE_CENTS) & (pl.col(way) >= LEAST_CHANGE * pl.col("middle")))
    found = shifted.filter("shifted", ~pl.col("shifted").shift(1).over("contract").fill_null(False))
    return events(found, item, pl.col("day"), what, pl.concat_list("id", "next"), pl.lit(0.9), pl.col(way).round().cast(pl.Int64))


def _retirement(runs: pl.DataFrame) -> pl.DataFrame:
    """The first own pension, unless wages go on beside it."""
    pensions = runs.filter(pl.col("kind") == "PENSION")
    if pensions.is_empty():
        return LIFE_EVENTS.to_frame()
    pensions = pensions.sort("user", "first", "contract")
    first = pensions.unique("user", keep="first", maintain_order=True).filter("new")
    if first.is_empty():
        return LIFE_EVENTS.to_frame()
    working = runs.filter(pl.col("kind").is_in(WAGES), pl.col("median") >= MAIN_WAGE).select("user", wage_until="last")
    latest = working.group_by("user").agg(pl.col("wage_until").max())
    joined = first.join(latest, on="user", how="left", maintain_order="left")
    beyond = (pl.col("wage_until") - pl.col("first")).dt.total_days()
    return events(
        joined.filter((beyond <= RETIRING_DAYS).fill_null(True)),
        "RETIREMENT_START",
        pl.col("first"),
        "Rente oder Pension beginnt",
        pl.col("opening"),
    )


def _self_employment(base: EventEvidence, bookings: pl.DataFrame) -> pl.DataFrame:
    """The first time that several customers pay invoices within four months, with costs that only a business has."""
    if "REVENUE" not in base.booked_kinds:
        return LIFE_EVENTS.to_frame()
    paid = base.rows.filter(pl.col("kind") == "REVENUE").select(
        "id", "user", "booked_on", "counterparty_key", latest="amount_cents"
    )
    ids, payers = (
        pl.concat_list([pl.col(name).shift(-at).over("user") for at in range(INVOICES)]) for name in ("id", "counterparty_key")
    )
    last = pl.col("booked_on").shift(1 - INVOICES).over("user")
    windows = paid.with_columns(ids=ids, payers=payers, last=last, place=pl.int_range(pl.len()).over("user"))
    within = (pl.col("last") - pl.col("booked_on")).dt.total_days() <= INVOICES_DAYS
    many = windows.filter(within, pl.col("payers").list.n_unique() >= 2).unique("user", keep="first", maintain_order=True)
    begun = many.filter(pl.col("place") < INVOICES).join(base.histories, on="user", maintain_order="left")
    begun = begun.filter((pl.col("booked_on") - pl.col("start")).dt.total_days() >= NEW_DAYS)
    begun = begun.filter(alive_before(base, begun, pl.col("booked_on")) >= ALIVE)
    if begun.is_empty():  # nearly always: then all bookings need not be searched
        return LIFE_EVENTS.to_frame()
    costs = bookings.join(begun, on="user", how="semi").filter(pl.col("freelancer").is_in(BUSINESS), pl.col("amount_cents") < 0)
    costs = costs.select("user", cost="id", spent="booked_on").sort("user", "spent", "cost")
    near = begun.join(costs, on="user", maintain_order="left_right").filter(
        (pl.col("spent") - pl.col("booked_on")).dt.total_days().is_between(-INVOICES_DAYS, INVOICES_DAYS)
    )
    first = near.unique("user", keep="first", maintain_order=True).with_columns(name=pl.lit(""))
    return events(
        first,
        "SELFEMPLOYMENT_START",
        pl.col("booked_on"),
        "Erste bezahlte Rechnung mehrerer Kunden",
        pl.concat_list("ids", "cost"),
        pl.lit(0.85),
    )


def _studies(base: EventEvidence, runs: pl.DataFrame) -> list[pl.DataFrame]:
    """Semester fees are single bookings: a year shows only two of them."""
    if base.booked_kinds.isdisjoint(STUDYING):
        return []
    studying = base.rows.filter(pl.col("kind").is_in(STUDYING))
    fees = base.rows.filter(pl.col("kind") == "SEMESTER_FEE", pl.col("amount_cents") < 0)
    ends = (
        pl.first("booked_on").alias("first"),
        pl.last("booked_on").alias("last"),
        pl.first("id"),
        pl.last("id").alias("last_id"),
    )
    fees = fees.group_by("user", maintain_order=True).agg(*ends, latest=pl.col("amount_cents").last(), name=pl.lit("").first())
    fees = fees.join(base.histories, on="user", maintain_order="left")
    late = (pl.col("first") - pl.col("start")).dt.total_days() >= SEMESTER_NEW_DAYS
    begun = fees.filter(late).with_columns(opening=pl.concat_list("id"), count=pl.lit(3), length=pl.lit(1))
    aid = runs.filter("new", pl.col("kind") == "STUDENT_AID")
    earlier = studying.group_by("user").agg(since=pl.col("booked_on").min())
    columns = ["user", "first", "opening", "latest", "name", "count", "length"]
    both = pl.concat([part.select(columns) for part in (begun, aid)], how="vertical_relaxed").join(earlier, on="user")
    both = both.filter((pl.col("first") - pl.col("since")).dt.total_days() <= 1)
    silent = runs.filter("active", pl.col("kind") == "STUDENT_AID").select("user")
    over = fees.filter((pl.col("as_of") - pl.col("last")).dt.total_days() >= STUDIES_OVER_DAYS).join(
        silent, on="user", how="anti"
    )
    total, before = until(base, over, pl.col("as_of"), pl.col("last"))
    over = over.filter(total - before >= ALIVE)
    ending = pl.col("last") + pl.duration(days=SEMESTER_DAYS)
    return [
        events(both, "STUDIES_START", pl.col("first"), "BAföG oder Semesterbeitrag beginnt", pl.col("opening")),
        events(over, "STUDIES_END", ending, "Kein Semesterbeitrag mehr", pl.concat_list("last_id"), pl.lit(0.85)),
    ]
