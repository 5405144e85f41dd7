"""The true life events, on the date on which the bookings show them."""

import numpy as np
import polars as pl

from models.simulator.base.calendar import Days
from models.simulator.base.lists import parties, wordings
from models.simulator.base.schemas import EVENTS
from models.simulator.contracts.holdings import WEEKLY_PERIODS
from models.simulator.contracts.templates import templates
from models.simulator.people.people import FAR, MAX_CHILDREN, SECOND
from models.simulator.people.scene import Scene

NEW_DAYS, NEW_PERIODS = 45, 1.5
"""A contract is new if its first booking is at least this many days and periods after the start of the history."""
COOLDOWN_DAYS = 180
COOLDOWNS = {"SALARY_INCREASE": 60, "SALARY_DECREASE": 60}
MIN_HISTORY_DAYS = 365
MONTH_DAYS = 30.4
ONE_PERIOD_LATER = ("UNEMPLOYMENT_END", "PARENTALLEAVE_END")
TIMELINE_EVENTS = ("TENANCY", "CHILD_FIRST", "CHILDBENEFIT_END", "STUDIES_START", "VEHICLE_START", "VEHICLE_END")
"""Events of templates that are taken from the timeline instead of a single contract."""
WAGE_TEMPLATES = ("salary", "partner_salary", "service_pay", "training_pay")
"""Wages of a household: a change of any of them is an event."""
MIN_RAISE_RATIO, MIN_RAISE_CENTS, MIN_RAISE_SWINGS = 0.03, 5_000, 1.5
MIN_UNEVEN_RATIO, MIN_OUTSIDE_RATIO = 0.005, 0.5


def event_truth(scene: Scene, contracts: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """`user`, `item`, `date`; the same item is not repeated within its cooldown."""
    runs = _runs(scene, contracts, rows)
    events = pl.concat(
        [
            _of_templates(runs),
            _of_work(scene, runs),
            _of_homes(scene, runs, rows),
            _of_children(scene, rows),
            _of_cars(scene, runs),
            _of_money(scene, rows),
        ]
    ).filter(pl.col("day") < scene.grid.end_day)
    frame = _without_repeats(events).select(
        user=(pl.col("who") + int(scene.group.number[0])).cast(pl.UInt32),
        item="item",
        date=pl.col("day").cast(pl.Int32).cast(pl.Date),
    )
    return frame.select(EVENTS.names()).cast(dict(EVENTS.items())).sort("user", "date", "item")


def _without_repeats(events: pl.DataFrame) -> pl.DataFrame:
    """The events without those that follow one of the same kind within `COOLDOWN_DAYS` or its `COOLDOWNS`."""
    distinct_events, last = [], (-1, "", 0)
    for who, item, day in events.select("who", "item", "day").sort("who", "item", "day").iter_rows():
        if (who, item) != last[:2] or day - last[2] >= COOLDOWNS.get(item, COOLDOWN_DAYS):
            last = (who, item, day)
            distinct_events.append(last)
    return pl.DataFrame(distinct_events, schema=events.select("who", "item", "day").schema, orient="row")


def _runs(scene: Scene, contracts: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """First and last regular booking of each contract, whether it is new, and whether it ended."""
    regular = rows.filter(pl.col("regular").fill_null(False)).sort("day")
    span = regular.group_by("contract", maintain_order=True).agg(
        first=pl.col("day").first(), last=pl.col("day").last(), account=pl.col("account").last()
    )
    names = pl.DataFrame(
        {
            "template": np.arange(len(templates())),
            "name": [t.name for t in templates()],
            "opens": [t.event_start for t in templates()],
            "closes": [t.event_end for t in templates()],
        }
    )
    facts = contracts.select("contract", "who", "template", "period", "begin", "end")
    runs = span.join(facts, on="contract", how="left", maintain_order="left").join(
        names, on="template", how="left", maintain_order="left"
    )
    days = (
        pl.when(pl.col("period") < WEEKLY_PERIODS)
        .then(pl.col("period") * MONTH_DAYS)
        .otherwise((pl.col("period") - WEEKLY_PERIODS) * 7)
    )
    started = pl.Series(scene.group.start)[runs["who"].cast(pl.UInt32)]
    return runs.with_columns(length=days, started=started, turn=pl.col("contract") % 8).with_columns(
        new=pl.col("first") >= pl.col("started") + pl.max_horizontal(pl.lit(float(NEW_DAYS)), pl.col("length") * NEW_PERIODS),
        over=pl.col("end") < scene.grid.end_day,
    )


def _events(frame: pl.DataFrame, item: str | pl.Expr, day: str | pl.Expr = "first") -> pl.DataFrame:
    item_column = pl.lit(item) if isinstance(item, str) else item
    when = pl.col(day) if isinstance(day, str) else day
    return frame.select(who=pl.col("who").cast(pl.Int64), item=item_column, day=when.cast(pl.Int64))


def _of_templates(runs: pl.DataFrame) -> pl.DataFrame:
    """Contracts whose start or end is an event. After a change of provider neither is."""
    opened = runs.filter(pl.col("opens") != "", ~pl.col("opens").is_in(TIMELINE_EVENTS), pl.col("new"), pl.col("turn") % 2 == 0)
    successors = runs.filter(pl.col("turn") % 2 == 1).select("who", "template", followed=pl.lit(True)).unique()
    closed = runs.filter(pl.col("closes") != "", ~pl.col("closes").is_in(TIMELINE_EVENTS), pl.col("over"))
    closed = closed.join(successors, on=["who", "template"], how="left").filter(pl.col("followed").is_null())
    last = pl.when(pl.col("closes").is_in(ONE_PERIOD_LATER)).then(pl.col("last") + pl.col("length")).otherwise("last")
    return pl.concat([_events(opened, pl.col("opens")), _events(closed, pl.col("closes"), last)])


def _of_names(runs: pl.DataFrame, *names: str) -> pl.DataFrame:
    return runs.filter(pl.col("name").is_in(names))


def _happened(days: Days) -> pl.DataFrame:
    who = np.flatnonzero(days < FAR)
    return pl.DataFrame({"who": who.astype(np.int32), "at": days[who].astype(np.int64)})


def _of_work(scene: Scene, runs: pl.DataFrame) -> pl.DataFrame:
    salary = _of_names(runs, "salary").filter(pl.col("new"))
    second = salary.filter(pl.col("turn") >= 2)
    graduates = _happened(scene.lives.days["graduation"])
    paid_before = _of_names(runs, "minijob", "training_pay").select("who", worked=pl.lit(True)).unique()
    fresh = second.join(graduates, on="who").join(paid_before, on="who", how="left")
    long_enough = pl.col("first") >= pl.col("started") + MIN_HISTORY_DAYS
    first = (
        pl.when(pl.col("worked").fill_null(False))
        .then(pl.lit("EMPLOYMENT_CHANGE"))
        .when(long_enough)
        .then(pl.lit("EMPLOYMENT_FIRST"))
        .otherwise(pl.lit("EMPLOYMENT_START"))
    )
    small_jobs = _of_names(runs, "minijob").filter("new", pl.col("turn") == 0)
    small_jobs = small_jobs.join(_happened(scene.lives.days["studies"]), on="who", how="left")
    is_first = long_enough | (pl.col("at") <= pl.col("first")).fill_null(False)
    changed = second.join(_happened(scene.lives.days["job_change"]), on="who")
    trained = second.join(_happened(scene.lives.days["trained"]), on="who")
    hired = second.join(_happened(scene.lives.days["job_loss"]), on="who")
    leavers = pl.concat([_happened(scene.lives.days[name]) for name in ("job_loss", "retirement", "own_business")])
    left = _of_names(runs, "salary", "service_pay").filter(pl.col("over"), pl.col("turn") < 2).join(leavers, on="who")
    fees = _of_names(runs, "semester_fee")
    ended = fees.filter(pl.col("over")).join(graduates, on="who")
    began = _of_names(runs, "semester_fee", "bafoeg").filter(pl.col("new")).join(_happened(scene.lives.days["studies"]), on="who")
    began = began.group_by("who").agg(pl.col("first").min())
    return pl.concat(
        [
            _events(fresh, first),
            _events(small_jobs, pl.when(is_first).then(pl.lit("EMPLOYMENT_FIRST")).otherwise(pl.lit("EMPLOYMENT_START"))),
            _events(changed, "EMPLOYMENT_CHANGE"),
            _events(trained, "EMPLOYMENT_FIRST"),
            _events(hired, "EMPLOYMENT_START"),
            _events(left, "EMPLOYMENT_END", pl.col("last") + pl.col("length")),
            _events(ended, "STUDIES_END", pl.col("last") + 183),
            _events(began, "STUDIES_START"),
        ]
    )


def _of_homes(scene: Scene, runs: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    rent = _of_names(runs, "rent", "room")
    new = rent.filter(pl.col("turn") >= 2, pl.col("new"))
    first = new.join(_happened(scene.lives.days["first_home"]), on="who").with_columns(
        item=pl.when(pl.col("first") >= pl.col("started") + MIN_HISTORY_DAYS)
        .then(pl.lit("TENANCY_FIRST"))
        .otherwise(pl.lit("TENANCY_START"))
    )
    moved = new.join(_happened(scene.lives.days["move"]), on="who")
    bought = _happened(scene.lives.days["purchase"])
    left = rent.filter(pl.col("over")).join(bought, on="who")
    notary = rows.filter(pl.col("wording").is_in(_wordings_of("notary", "transfer_tax"))).join(bought, on="who")
    owned = notary.group_by("who").agg(first=pl.col("day").min())
    return pl.concat(
        [
            _events(first, pl.col("item")),
            _events(moved, "TENANCY_CHANGE"),
            _events(left, "TENANCY_END", pl.col("last") + pl.col("length") - 1),
            _events(owned, "HOMEOWNERSHIP_START"),
        ]
    )


def _wordings_of(*kinds: str) -> list[int]:
    return wordings().filter(pl.col("kind").is_in(kinds))["number"].to_list()


def _of_children(scene: Scene, rows: pl.DataFrame) -> pl.DataFrame:
    """By the payments of child benefit: the first one, and those where the number of children changes."""
    template = next(t.index for t in templates() if t.name == "child_benefit")
    benefits = rows.filter(((pl.col("contract") % 2048) // 8 == template), pl.col("regular").fill_null(False)).sort("who", "day")
    who, day = benefits["who"].to_numpy(), benefits["day"].to_numpy()
    count = np.sum([scene.lives.inside(f"benefit_child{child}", who, day) for child in range(MAX_CHILDREN)], axis=0)
    benefits = benefits.select("who", "day").with_columns(count=pl.Series(count))
    benefits = benefits.with_columns(
        before=pl.col("count").shift(1).over("who"),
        earlier=pl.col("day").shift(1).over("who"),
        started=pl.Series(scene.group.start[who]),
    )
    first = benefits.filter(pl.col("before").is_null(), pl.col("day") >= pl.col("started") + NEW_DAYS)
    more = benefits.filter(pl.col("count") > pl.col("before"))
    less = benefits.filter(pl.col("count") < pl.col("before"))
    ends = benefits.group_by("who").agg(last=pl.col("day").max()).filter(pl.col("last") < scene.grid.end_day - 62)
    return pl.concat(
        [
            _events(first, "CHILD_FIRST", "day"),
            _events(more, "CHILD_NEXT", "day"),
            _events(less, "CHILDBENEFIT_END", "earlier"),
            _events(ends, "CHILDBENEFIT_END", "last"),
        ]
    )


def _of_cars(scene: Scene, runs: pl.DataFrame) -> pl.DataFrame:
    car_contracts = _of_names(runs, "car", "vehicle_tax", "car_leasing")
    arrived = pl.concat([_happened(scene.lives.days["car_new"]), _happened(scene.lives.days["car_first"])])
    new_cars = (
        car_contracts.filter(pl.col("turn") >= 2, pl.col("new"))
        .join(arrived, on="who")
        .group_by("who")
        .agg(pl.col("first").min())
    )
    sold_cars = (
        car_contracts.filter(pl.col("over"))
        .join(_happened(scene.lives.days["car_sold"]), on="who")
        .group_by("who")
        .agg((pl.col("last") + pl.when(pl.col("name") != "vehicle_tax").then("length").otherwise(0)).max().alias("last"))
    )
    return pl.concat([_events(new_cars, "VEHICLE_START"), _events(sold_cars, "VEHICLE_END", "last")])


def _of_money(scene: Scene, rows: pl.DataFrame) -> pl.DataFrame:
    invoices = rows.filter(pl.col("wording").is_in(_wordings_of("client_invoice"))).join(
        _happened(scene.lives.days["own_business"]), on="who"
    )
    started = invoices.group_by("who").agg(first=pl.col("day").min())
    switched = rows.filter(pl.col("category") == "INCOME_SALARY", pl.col("account") == SECOND).join(
        _happened(scene.lives.days["account_switch"]), on="who"
    )
    switched = switched.filter(pl.col("day") >= pl.col("at")).group_by("who").agg(first=pl.col("day").min())
    married = _happened(scene.lives.days["marriage"]).rename({"at": "first"})
    return pl.concat(
        [
            _events(started, "SELFEMPLOYMENT_START"),
            _events(switched, "ACCOUNT_SWITCH"),
            _events(married, "MARRIAGE"),
            _raises(rows),
            _difficulties(scene, rows),
        ]
    )


def _raises(rows: pl.DataFrame) -> pl.DataFrame:
    """Wages that change for good: the next one is at the new level, too, and the one after it if wages differ by the hours. A new
    level lies outside the range of the six wages before; for a raise a single bonus among them does not count.
    """
    paying = [t.index for t in templates() if t.name in WAGE_TEMPLATES]
    template = (pl.col("contract") % 2048) // 8
    wages = rows.filter(template.is_in(paying), pl.col("regular").fill_null(False)).sort("contract", "day")
    cents = pl.col("cents")
    before = {
        "middle": cents.rolling_median(6, min_samples=3),
        "swing": cents.diff().abs().rolling_median(6, min_samples=2).fill_null(0.0),
        "low": cents.rolling_min(6, min_samples=3),
        "second_low": cents.rolling_quantile(0.2, "higher", 6, min_samples=3),
        "high": cents.rolling_quantile(0.8, "lower", 6, min_samples=3),
    }
    wages = wages.with_columns(
        after=cents.shift(-1).over("contract"),
        later=cents.shift(-2).over("contract"),
        **{name: value.shift(1).over("contract") for name, value in before.items()},
    )
    is_uneven = pl.col("swing") >= MIN_UNEVEN_RATIO * pl.col("middle")
    last = pl.when(is_uneven).then("later").otherwise("after")
    wages = wages.with_columns(last=last).drop_nulls(["last", "middle"])
    lowest, highest = pl.min_horizontal("cents", "after", "last"), pl.max_horizontal("cents", "after", "last")
    is_above = lowest > pl.col("high") + MIN_OUTSIDE_RATIO * (pl.col("high") - pl.col("second_low"))
    is_below = highest < pl.col("low") - MIN_OUTSIDE_RATIO * (pl.col("high") - pl.col("low"))
    least = pl.max_horizontal(pl.lit(MIN_RAISE_CENTS), MIN_RAISE_RATIO * pl.col("middle"), MIN_RAISE_SWINGS * pl.col("swing"))
    up = wages.filter(is_above, lowest - pl.col("middle") >= least)
    down = wages.filter(is_below, pl.col("middle") - highest >= least)
    return pl.concat([_events(up, "SALARY_INCREASE", "day"), _events(down, "SALARY_DECREASE", "day")])


def _difficulties(scene: Scene, rows: pl.DataFrame) -> pl.DataFrame:
    """Returned debits, collections and attachments after half a year without any."""
    collectors = parties().filter(pl.col("pool") == "inkasso")["brand"].unique().drop_nulls().to_list()
    collectors = [name for name in collectors if name]
    trouble = (
        (pl.col("kind") == "DD_RETURN")
        | pl.col("wording").is_in(_wordings_of("seizure", "collection"))
        | ((pl.col("category") == "OTHER_SPENDING") & pl.col("brand").is_in(collectors))
    )
    bad = rows.filter(trouble).select("who", "day").unique().sort("who", "day")
    bad = bad.with_columns(gap=pl.col("day").diff().over("who"), started=pl.Series(scene.group.start[bad["who"].to_numpy()]))
    clean = pl.col("gap").fill_null(pl.col("day") - pl.col("started")) >= COOLDOWN_DAYS
    return _events(bad.filter(clean), "PAYMENTDIFFICULTY_START", "day")
