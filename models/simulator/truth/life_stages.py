"""The truth about life stages: on the labour market, as a parent, at home and in saving."""

from collections import Counter

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.simulator.base.calendar import Days
from models.simulator.base.schemas import STAGES
from models.simulator.people.people import FAR, MAX_CHILDREN, YEAR_DAYS, Flags
from models.simulator.people.scene import Scene
from models.simulator.truth.plain_users import TrueLife, month_of

MAX_MONTHS, MIN_MONTHS = 6, 3
"""Saving is judged over the last full months, at most and at least this many."""
OWN_SAVING_TRANSFERS = ("TRANSFER_SAVINGS", "TRANSFER_SECURITIES")
MIN_PLANNED_SAVINGS, MAX_PLAN_DAYS = 6, 45
"""A standing order has moved the same amount this often, the last time at most this long ago."""


def stage_truth(scene: Scene) -> pl.DataFrame:
    """`user`, `dimension`, `item`, `since`, `until`: labour market, parenthood and housing over the simulated time."""
    spans = [*_work_stages(scene), *_family_stages(scene), *_home_stages(scene)]
    frame = pl.concat([_monthly(scene, dimension, item, where) for dimension, item, where in _first_that_holds(scene, spans)])
    frame = frame.sort("user", "dimension", "month")
    changed = (pl.col("item") != pl.col("item").shift(1).over("user", "dimension")).fill_null(True)
    runs = frame.filter(changed).with_columns(until=pl.col("day").shift(-1).over("user", "dimension"))
    return runs.select(
        "user", "dimension", "item", since=pl.col("day").cast(pl.Date), until=(pl.col("until") - 1).cast(pl.Int32).cast(pl.Date)
    ).cast(dict(STAGES.items()))


Stage = tuple[str, str, Days, Days]


def _work_stages(scene: Scene) -> list[Stage]:
    """The first that holds wins."""
    spans = scene.lives.spans
    order = (
        ("RETIRED", "retired"),
        ("PARENTALLEAVE", "leave"),
        ("UNEMPLOYED", "jobcenter"),
        ("SELFEMPLOYED", "freelance"),
        ("TRAINEE", "training"),
        ("EMPLOYED", "job1"),
        ("EMPLOYED", "job2"),
        ("EMPLOYED", "service"),
        ("STUDENT", "student"),
    )
    stages = [("LABOURMARKET", item, *spans[span]) for item, span in order]
    lost, hired = scene.lives.days["job_loss"], spans["job2"][0]
    between = np.where(scene.lives.days["job_change"] < FAR, scene.lives.days["job_change"], FAR).astype(np.int32)
    stages.insert(2, ("LABOURMARKET", "UNEMPLOYED", lost, np.maximum(spans["benefit"][1], lost)))
    return [
        *stages,
        ("LABOURMARKET", "EMPLOYED", between, hired),
        ("LABOURMARKET", "STUDENT", scene.lives.days["graduation"], hired),
    ]


def _family_stages(scene: Scene) -> list[Stage]:
    births = np.where(scene.lives.births < FAR, scene.lives.births, -FAR).astype(np.int64)
    stages: list[Stage] = []
    for item, low, high in (("INFANT", 0, 3), ("PRESCHOOL", 3, 6), ("SCHOOL", 6, 18), ("ADULTCHILD", 18, 25)):
        for child in range(MAX_CHILDREN - 1, -1, -1):
            start = births[:, child] + int(low * YEAR_DAYS)
            stages.append(
                ("PARENTHOOD", item, start.astype(np.int32), (births[:, child] + int(high * YEAR_DAYS)).astype(np.int32))
            )
    return stages


def _home_stages(scene: Scene) -> list[Stage]:
    spans = scene.lives.spans
    order = (("OWNER_FINANCED", "mortgage"), ("TENANT", "tenant"), ("OWNER", "owner"), ("WITHFAMILY", "with_family"))
    return [("HOUSING", item, *spans[span]) for item, span in order]


def _first_that_holds(scene: Scene, stages: list[Stage]) -> list[tuple[str, str, NDArray[np.bool_]]]:
    """For each stage the months in which it is the first that holds."""
    middle = (scene.grid.month_starts[: scene.grid.months] + 14)[None, :]
    months_taken: dict[str, Flags] = {}
    out: list[tuple[str, str, NDArray[np.bool_]]] = []
    for dimension, item, start, end in stages:
        holds = (start[:, None] <= middle) & (middle < end[:, None])
        before = months_taken.setdefault(dimension, np.zeros_like(holds))
        out.append((dimension, item, holds & ~before))
        months_taken[dimension] = before | holds
    rest = {"LABOURMARKET": "UNKNOWN", "PARENTHOOD": "NONE_OBSERVED", "HOUSING": "UNKNOWN"}
    return [*out, *((dimension, rest[dimension], ~months_taken[dimension]) for dimension in months_taken)]


def _monthly(scene: Scene, dimension: str, item: str, where: NDArray[np.bool_]) -> pl.DataFrame:
    who, month = np.nonzero(where & (scene.grid.month_starts[None, : scene.grid.months] >= scene.group.start[:, None]))
    return pl.DataFrame(
        {
            "user": scene.group.number[who].astype(np.uint32),
            "dimension": pl.Series([dimension]).new_from_index(0, who.size),
            "item": pl.Series([f"{dimension}_{item}"]).new_from_index(0, who.size),
            "month": month,
            "day": scene.grid.month_starts[month].astype(np.int32),
        }
    )


def saving_truth(lives: list[TrueLife]) -> pl.DataFrame:
    """`user` and `item`: the stage of saving of each user on the as-of date, by the share of income that is put aside."""
    rows = [(life.user, f"SAVINGS_{_saving_stage(life)}") for life in lives]
    return pl.DataFrame(rows, schema={"user": pl.String, "item": pl.String}, orient="row")


def _saving_stage(life: TrueLife) -> str:
    months = life.full_months[-MAX_MONTHS:]
    income = sum(life.incomes.get(month, 0) for month in months)
    if len(months) < MIN_MONTHS or income <= 0:
        return "UNKNOWN"
    saved_cents = [
        -booking.cents
        for booking in life.bookings
        if month_of(booking.day) in months
        and not booking.on_savings_product
        and (_is_saving(booking.category) or booking.category in OWN_SAVING_TRANSFERS)
    ]
    rate, gross_rate = sum(saved_cents) / income, sum(cents for cents in saved_cents if cents > 0) / income
    if rate < -0.05:
        return "DISSAVING"
    if gross_rate < 0.01 or not _saves_regularly(life):
        return "NONE" if rate < 0.01 else "OCCASIONAL"
    return "INTENSIVE" if rate >= 0.15 else "REGULAR"


def _saves_regularly(life: TrueLife) -> bool:
    """Whether a contract puts money aside, or a standing order to own savings: one that keeps its amount month by month."""
    if any(contract.active and _is_saving(contract.category) for contract in life.contracts):
        return True
    transfers = [
        (booking.category, booking.cents, booking.day)
        for booking in life.bookings
        if booking.category in OWN_SAVING_TRANSFERS and booking.cents < 0 and not booking.on_savings_product
    ]
    counts = Counter((category, cents) for category, cents, _ in transfers)
    return any(
        counts[category, cents] >= MIN_PLANNED_SAVINGS and (life.as_of - day).days <= MAX_PLAN_DAYS
        for category, cents, day in transfers
    )


def _is_saving(category: str) -> bool:
    return category.startswith("SAVINGS_") or category == "BANKFINANCE_INVESTMENT"
