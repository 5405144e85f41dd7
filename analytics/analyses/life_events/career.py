"""Events of working life: employment, wages, unemployment, retirement, self-employment, studies, parental leave."""

import polars as pl

from analytics.analyses.life_events.evidence import EventEvidence
from analytics.analyses.life_events.guards import MIN_ACTIVITY_BOOKINGS, MIN_HISTORY_DAYS, bookings_before, events
from analytics.analyses.life_events.succession import (
    change_events,
    runs_without_predecessor,
    runs_without_successor,
    successions,
    with_first_ever,
)
from analytics.analyses.life_events.words import WAGE_KINDS
from analytics.frames import NO_LIFE_EVENTS

MIN_MAIN_WAGE_CENTS = 80_000
"""A lower wage beside another one is a side job, which is not a life event by itself."""
MAX_CHANGE_DAYS, END_DAYS = 75, 62
MIN_CHANGE_SHARE, MIN_CHANGE_CENTS = 0.03, 5_000
MIN_MONTH_DAYS, MONTH_DAYS = 28, 30.4
"""Wages of shorter periods are compared with those of a month by this many days."""
TRAINING_PAY, HALF_MONTH = "TRAINING_PAY", "MONTH_HALF"
MIN_CHANGE_SWINGS = 1.5
"""A new level differs by at least this many times what wages usually differ from one month to the next."""
MIN_UNEVEN_SHARE = 0.005
"""Wages that usually differ by at least this share from one month to the next are paid by the hour."""
MIN_BONUS_FACTOR = 1.25
"""A wage that exceeds the one before by this factor, and does not last, has a bonus in it."""
MIN_OUTSIDE_SHARE = 0.5
"""A new level lies outside the range of the wages before by at least this share of the range."""
MAX_WAGES_BEFORE, MIN_WAGES_BEFORE = 6, 3
MATERNITY_BENEFIT, PARENTAL_BENEFIT = "MATERNITY_BENEFIT", "PARENTAL_BENEFIT"
MAX_MATERNITY_DAYS = 62
MAX_LEAVE_DAYS = 150
"""A wage that stays out up to this long before maternity or parental benefit rests: a birth is no end of a job."""
MAX_WAGE_END_DAYS = 75
"""A pension that begins within this time of the end of a wage replaces it, even if a partner has a pension already."""
MIN_TRAINING_PAYS, MIN_FIRST_WAGES, MIN_SMALL_WAGES = 3, 2, 3
MAX_AFTER_TRAINING_DAYS = 200
"""A first job follows an apprenticeship within this time."""
MAX_WAGE_DAYS_AFTER_PENSION = 120
MIN_INVOICES, MAX_INVOICES_DAYS = 3, 120
BUSINESS_COSTS = (
    "VAT_PAID",
    "LEGAL_TAX_ADVICE",
    "GOODS_MATERIALS",
    "EXTERNAL_SERVICES",
    "PERSONNEL",
    "ADVERTISING",
    "RENT_PREMISES",
    "TRADE_TAX",
)
"""Freelancer tags of costs that a private person does not have."""
MIN_SMALL_WAGE_CENTS = 20_000
"""Of at least this much, a job is one for somebody who has no other."""


def career(evidence: EventEvidence, runs: pl.DataFrame, bookings: pl.DataFrame, beginnings: pl.DataFrame) -> list[pl.DataFrame]:
    """The events of this group. `bookings` are all bookings, for the costs of a business; `beginnings` the days on which users
    begin to stand on their own feet.
    """
    return [
        *_employment(evidence, runs, beginnings),
        *_wage_changes(evidence, runs),
        _retirement(runs),
        _self_employment(evidence, bookings),
    ]


def monthly_wage() -> pl.Expr:
    """The usual wage of a run in a month, in cents, also where it is paid in parts."""
    parts = pl.when(pl.col("length") < MIN_MONTH_DAYS).then(MONTH_DAYS / pl.col("length")).otherwise(1.0)
    return (pl.col("median").abs() * parts).round().cast(pl.Int64)


def _is_main_wage() -> pl.Expr:
    return (monthly_wage() >= MIN_MAIN_WAGE_CENTS) | (pl.col("kind") == "TRAINING_PAY")


def _employment(evidence: EventEvidence, runs: pl.DataFrame, beginnings: pl.DataFrame) -> list[pl.DataFrame]:
    wages = runs.filter(pl.col("kind").is_in(WAGE_KINDS))
    if wages.is_empty():
        return []
    new, ended_runs, first_jobs = wages.filter("new", _is_main_wage()), wages.filter("over"), _first_jobs(evidence)
    new = pl.concat([new, _small_jobs(wages)])
    if new.is_empty() and ended_runs.is_empty() and first_jobs.is_empty():
        return []
    new = new.join(first_jobs, left_on=["user", "first"], right_on=["user", "day"], how="anti", maintain_order="left")
    trained_users = first_jobs.select("user", kind=pl.lit(TRAINING_PAY))
    ended_runs = ended_runs.join(trained_users, on=["user", "kind"], how="anti", maintain_order="left")
    pairs = successions(new, ended_runs, MAX_CHANGE_DAYS)
    new_runs = with_first_ever(evidence, runs_without_predecessor(evidence, new, pairs, wages), beginnings, *WAGE_KINDS)
    ended_wages = runs_without_successor(evidence, ended_runs.filter(_is_main_wage()), pairs, END_DAYS, *WAGE_KINDS)
    ended_wages = _without_leave(evidence, ended_wages)
    later_wages = new_runs.filter(~pl.col("first_ever"), ~pl.col("waiting"))
    return [
        change_events(pairs, "EMPLOYMENT_CHANGE", "Neuer Arbeitgeber: Gehalt von {} endet, von {} beginnt"),
        events(
            first_jobs,
            "EMPLOYMENT_FIRST",
            pl.col("day"),
            "Erstes Gehalt nach der Ausbildung",
            pl.col("ids"),
            pl.lit(0.9),
            known_since=pl.col("confirmed"),
        ),
        events(
            new_runs.filter("first_ever"),
            "EMPLOYMENT_FIRST",
            pl.col("first"),
            "Erstes Gehalt",
            pl.col("opening"),
            known_since=pl.col("recognised"),
        ),
        events(
            later_wages,
            "EMPLOYMENT_START",
            pl.col("first"),
            "Neues Gehalt",
            pl.col("opening"),
            known_since=pl.col("settled_since"),
        ),
        events(
            ended_wages,
            "EMPLOYMENT_END",
            pl.col("last") + pl.duration(days=pl.col("length")),
            "Gehalt bleibt aus",
            pl.col("closing"),
            known_since=pl.col("ended_since"),
        ),
    ]


def _small_jobs(wages: pl.DataFrame) -> pl.DataFrame:
    """The new wages below the main wage of users who have no other one at that time: their job is a small one."""
    is_small = ~_is_main_wage() & (pl.col("median") >= MIN_SMALL_WAGE_CENTS) & (pl.col("count") >= MIN_SMALL_WAGES)
    small_jobs = wages.filter("new", is_small)
    if small_jobs.is_empty():
        return small_jobs
    others = wages.select("user", other="contract", other_first="first", other_last="last")
    near = pl.duration(days=MAX_CHANGE_DAYS)
    is_beside = (pl.col("other_first") <= pl.col("first") + near) & (pl.col("other_last") >= pl.col("first") - near)
    beside = small_jobs.join(others, on="user").filter(is_beside, pl.col("other") != pl.col("contract"))
    return small_jobs.join(beside, on="contract", how="anti", maintain_order="left")


def _without_leave(evidence: EventEvidence, ended_wages: pl.DataFrame) -> pl.DataFrame:
    """The ended wages without those that maternity or parental benefit follows."""
    benefits = evidence.rows.filter(pl.col("kind").is_in([MATERNITY_BENEFIT, PARENTAL_BENEFIT])).select("user", paid="booked_on")
    if benefits.is_empty():
        return ended_wages
    is_near = (pl.col("paid") - pl.col("last")).dt.total_days().is_between(-MAX_MATERNITY_DAYS, MAX_LEAVE_DAYS)
    resting_wages = ended_wages.join(benefits, on="user").filter(is_near)
    return ended_wages.join(resting_wages, on="contract", how="anti", maintain_order="left")


def _first_jobs(evidence: EventEvidence) -> pl.DataFrame:
    """The first wages after an apprenticeship, at the same employer or another: `user`, `day`, `confirmed`, `ids`, `name`,
    `latest`.
    """
    columns = pl.Schema(
        {
            "user": pl.String(),
            "day": pl.Date(),
            "confirmed": pl.Date(),
            "ids": pl.List(pl.String),
            "name": pl.String(),
            "latest": pl.Int64(),
        }
    )
    if TRAINING_PAY not in evidence.booked_kinds:
        return columns.to_frame()
    is_wage = (pl.col("kind") == "SALARY") & (pl.col("amount_cents") >= MIN_MAIN_WAGE_CENTS)
    is_training = pl.col("kind") == TRAINING_PAY
    wages = evidence.rows.filter(is_wage | is_training)
    users = wages.group_by("user", maintain_order=True).agg(
        trainings=is_training.sum(),
        trained_until=pl.col("booked_on").filter(is_training).last(),
        days=pl.col("booked_on").filter(is_wage).head(MIN_FIRST_WAGES),
        ids=pl.col("id").filter(is_wage).head(MIN_FIRST_WAGES),
        name=pl.col("counterparty_name").filter(is_wage).first().fill_null(""),
        latest=pl.col("amount_cents").filter(is_wage).first(),
    )
    with_two_wages = users.filter(pl.col("trainings") >= MIN_TRAINING_PAYS, pl.col("days").list.len() == MIN_FIRST_WAGES)
    first_wages = with_two_wages.with_columns(day=pl.col("days").list.first(), confirmed=pl.col("days").list.last())
    gap = (pl.col("day") - pl.col("trained_until")).dt.total_days()
    return first_wages.filter(gap.is_between(1, MAX_AFTER_TRAINING_DAYS)).select(columns.names())


def _wage_changes(evidence: EventEvidence, runs: pl.DataFrame) -> list[pl.DataFrame]:
    """Lasting changes of wages: a wage and the next one lie outside the range of those before, by more than wages differ from
    month to month, so that the hours of a month are not taken for a new level. Wages by the hour need a third month.

    Wages of one employer are compared across a pause: whoever returns from parental leave to fewer hours earns less.
    """
    main_runs = runs.filter(pl.col("kind").is_in(WAGE_KINDS), _is_main_wage()).sort("user", "kind", "payee", "first", "contract")
    if main_runs.is_empty():
        return []
    chains = main_runs.select("contract", "name", "period", chain=(~pl.col("resumed")).cum_sum())
    payments = _whole_wages(evidence.payments.join(chains, on="contract")).sort("chain", "day", "id")
    wages = _without_maternity(evidence, payments).with_columns(
        after=pl.col("cents").shift(-1).over("chain"),
        later=pl.col("cents").shift(-2).over("chain"),
        next=pl.col("id").shift(-1).over("chain"),
        next_day=pl.col("day").shift(-1).over("chain"),
        later_day=pl.col("day").shift(-2).over("chain"),
        middle=_of_wages_before(pl.col("cents").rolling_median(MAX_WAGES_BEFORE, min_samples=MIN_WAGES_BEFORE)),
        swing=_of_wages_before(pl.col("cents").diff().abs().rolling_median(MAX_WAGES_BEFORE, min_samples=2)).fill_null(0.0),
        least=_of_wages_before(pl.col("cents").rolling_min(MAX_WAGES_BEFORE, min_samples=MIN_WAGES_BEFORE)),
        # A bonus is no level, so the second highest wage counts; it is the highest of four fifths of them.
        most=_of_wages_before(pl.col("cents").rolling_quantile(0.8, "lower", MAX_WAGES_BEFORE, min_samples=MIN_WAGES_BEFORE)),
        second_least=_of_wages_before(
            pl.col("cents").rolling_quantile(0.2, "higher", MAX_WAGES_BEFORE, min_samples=MIN_WAGES_BEFORE)
        ),
    )
    is_uneven = pl.col("swing") >= MIN_UNEVEN_SHARE * pl.col("middle")
    wages = wages.with_columns(
        last=pl.when(is_uneven).then("later").otherwise("after"),
        confirmed=pl.when(is_uneven).then("later_day").otherwise("next_day"),
    ).drop_nulls(["last", "middle"])
    # Holiday pay in the month after does not hide that the wage has fallen.
    is_bonus = ~is_uneven & (pl.col("after") > MIN_BONUS_FACTOR * pl.col("cents")) & pl.col("later").is_not_null()
    wages = wages.with_columns(
        level_after=pl.when(is_bonus).then("later").otherwise("after"),
        last=pl.when(is_bonus).then("later").otherwise("last"),
        confirmed=pl.when(is_bonus).then("later_day").otherwise("confirmed"),
    )
    lowest, highest = pl.min_horizontal("cents", "level_after", "last"), pl.max_horizontal("cents", "level_after", "last")
    is_above = lowest > pl.col("most") + MIN_OUTSIDE_SHARE * (pl.col("most") - pl.col("second_least"))
    is_below = highest < pl.col("least") - MIN_OUTSIDE_SHARE * (pl.col("most") - pl.col("least"))
    wages = wages.with_columns(
        rise=pl.when(is_above).then(lowest - pl.col("middle")), fall=pl.when(is_below).then(pl.col("middle") - highest)
    )
    first_jobs = _first_jobs(evidence).select("user", hired="day")
    after_hire = (pl.col("day") - pl.col("hired")).dt.total_days()
    is_first_job = after_hire.is_between(0, MAX_AFTER_TRAINING_DAYS).fill_null(False)  # it is no raise
    wages = wages.join(first_jobs, on="user", how="left", maintain_order="left").filter(~is_first_job)
    return [
        _shifts(wages, "rise", "SALARY_INCREASE", "Gehalt steigt"),
        _shifts(wages, "fall", "SALARY_DECREASE", "Gehalt sinkt"),
    ]


def _whole_wages(payments: pl.DataFrame) -> pl.DataFrame:
    """The payments, with one for each month in which a wage was paid in two parts."""
    parts = payments.filter(pl.col("period") == HALF_MONTH)
    if parts.is_empty():
        return payments
    month = pl.col("day").dt.month_start().alias("month")
    sums = parts.sort("day", "id").group_by("chain", "contract", month, maintain_order=True)
    one = pl.all().exclude("chain", "contract", "cents").first()
    both = sums.agg(one, pl.sum("cents"), parts=pl.len()).filter(pl.col("parts") == 2)
    return pl.concat([payments.filter(pl.col("period") != HALF_MONTH), both.select(payments.columns)])


def _of_wages_before(value: pl.Expr) -> pl.Expr:
    return value.shift(1).over("chain")


def _without_maternity(evidence: EventEvidence, wages: pl.DataFrame) -> pl.DataFrame:
    """The wages without those around maternity benefit: then the employer pays only the rest of the usual wage."""
    benefits = evidence.rows.filter(pl.col("kind") == MATERNITY_BENEFIT).select("user", paid="booked_on")
    if benefits.is_empty():
        return wages
    is_near = (pl.col("day") - pl.col("paid")).dt.total_days().abs() <= MAX_MATERNITY_DAYS
    in_protection = wages.join(benefits, on="user").filter(is_near).select("user", "id")
    return wages.join(in_protection, on=["user", "id"], how="anti", maintain_order="left")


def _shifts(wages: pl.DataFrame, direction: str, item: str, description: str) -> pl.DataFrame:
    shifted_wages = wages.with_columns(
        shifted=(pl.col(direction) >= MIN_CHANGE_CENTS)
        & (pl.col(direction) >= MIN_CHANGE_SHARE * pl.col("middle"))
        & (pl.col(direction) >= MIN_CHANGE_SWINGS * pl.col("swing"))
    ).with_columns(pl.col("shifted").fill_null(False))
    changes = shifted_wages.filter("shifted", ~pl.col("shifted").shift(1).over("chain").fill_null(False))
    return events(
        changes,
        item,
        pl.col("day"),
        description,
        pl.concat_list("id", "next"),
        pl.lit(0.9),
        pl.col(direction).round().cast(pl.Int64),
        known_since=pl.col("confirmed"),
    )


def _retirement(runs: pl.DataFrame) -> pl.DataFrame:
    """The first pension of a user, unless wages continue beside it, and a pension that begins when a wage ends."""
    pensions = runs.filter(pl.col("kind") == "PENSION").sort("user", "first", "contract")
    first_pensions = pensions.unique("user", keep="first", maintain_order=True)
    new = pensions.filter("new").with_columns(is_first=pl.col("contract").is_in(first_pensions["contract"].implode()))
    if new.is_empty():
        return NO_LIFE_EVENTS
    wages = runs.filter(pl.col("kind").is_in(WAGE_KINDS), _is_main_wage()).select(
        "user", is_paid="active", wage_until="last", wage_ended_since="ended_since"
    )
    with_wages = new.join(wages, on="user", how="left", maintain_order="left")
    days_after = (pl.col("wage_until") - pl.col("first")).dt.total_days()
    replaces_wage = days_after.is_between(-MAX_WAGE_END_DAYS, MAX_WAGE_END_DAYS) & ~pl.col("is_paid")
    pensions_beside_wages = with_wages.group_by(new.columns, maintain_order=True).agg(
        replaces_wage=replaces_wage.any(),
        works_on=(days_after > MAX_WAGE_DAYS_AFTER_PENSION).any(),
        replaced_since=pl.col("wage_ended_since").filter(replaces_wage).min(),
    )
    is_first = pl.col("is_first") & ~pl.col("works_on")
    known_since = pl.when(is_first).then("recognised").otherwise(pl.max_horizontal("recognised", "replaced_since"))
    return events(
        pensions_beside_wages.filter(is_first | pl.col("replaces_wage")),
        "RETIREMENT_START",
        pl.col("first"),
        "Rente oder Pension beginnt",
        pl.col("opening"),
        known_since=known_since,
    )


def _self_employment(evidence: EventEvidence, bookings: pl.DataFrame) -> pl.DataFrame:
    """The first time that several customers pay invoices within four months, beside costs that only a business has."""
    if "REVENUE" not in evidence.booked_kinds:
        return NO_LIFE_EVENTS
    invoices = evidence.rows.filter(pl.col("kind") == "REVENUE").select(
        "id", "user", "booked_on", "counterparty_key", latest="amount_cents"
    )
    ids, payers = (
        pl.concat_list([pl.col(name).shift(-offset).over("user") for offset in range(MIN_INVOICES)])
        for name in ("id", "counterparty_key")
    )
    last = pl.col("booked_on").shift(1 - MIN_INVOICES).over("user")
    windows = invoices.with_columns(ids=ids, payers=payers, last=last, position=pl.int_range(pl.len()).over("user"))
    is_within = (pl.col("last") - pl.col("booked_on")).dt.total_days() <= MAX_INVOICES_DAYS
    with_several_payers = windows.filter(is_within, pl.col("payers").list.n_unique() >= 2).unique(
        "user", keep="first", maintain_order=True
    )
    first_invoices = with_several_payers.filter(pl.col("position") < MIN_INVOICES).join(
        evidence.histories, on="user", maintain_order="left"
    )
    first_invoices = first_invoices.filter((pl.col("booked_on") - pl.col("start")).dt.total_days() >= MIN_HISTORY_DAYS)
    first_invoices = first_invoices.filter(
        bookings_before(evidence, first_invoices, pl.col("booked_on")) >= MIN_ACTIVITY_BOOKINGS
    )
    if first_invoices.is_empty():  # nearly always: then the search through all bookings is saved
        return NO_LIFE_EVENTS
    costs = bookings.join(first_invoices, on="user", how="semi").filter(
        pl.col("freelancer").is_in(BUSINESS_COSTS), pl.col("amount_cents") < 0
    )
    costs = costs.select("user", cost="id", spent="booked_on").sort("user", "spent", "cost")
    with_costs = first_invoices.join(costs, on="user", maintain_order="left_right").filter(
        (pl.col("spent") - pl.col("booked_on")).dt.total_days().is_between(-MAX_INVOICES_DAYS, MAX_INVOICES_DAYS)
    )
    first = with_costs.unique("user", keep="first", maintain_order=True).with_columns(name=pl.lit(""))
    return events(
        first,
        "SELFEMPLOYMENT_START",
        pl.col("booked_on"),
        "Erste bezahlte Rechnung mehrerer Kunden",
        pl.concat_list("ids", "cost"),
        pl.lit(0.85),
        known_since=pl.max_horizontal("last", "spent"),
    )
