"""The analysis of credit risk: puts together values, points, reasons, evidence, class, stress and instalment."""

from functools import cache
from typing import NamedTuple

import numpy as np
import polars as pl

from analytics.analyses.affordability import Affordability
from analytics.analyses.credit_risk.scorecard import CLASSES, VALUE, Assessment, Scorecard, Signal, scorecard
from analytics.analyses.credit_risk.signals import NO_IDS, signal_values
from analytics.analyses.credit_risk.stress import with_instalment, with_stress
from analytics.analyses.snapshot import Snapshot
from analytics.frames import CREDIT_RISK, CREDIT_RISK_SIGNALS, checked, collected

MAX_EVIDENCE = 20
"""The most bookings that a signal names; the latest ones."""
FULL_MONTHS = 12


class CreditRisk(NamedTuple):
    """The frames `CREDIT_RISK`, by user, and `CREDIT_RISK_SIGNALS`, by user and signal."""

    credit_risk: pl.DataFrame
    signals: pl.DataFrame


def credit_risk(
    snapshot: Snapshot, affordability: Affordability, loans: pl.DataFrame, month_sums: pl.DataFrame, card: Scorecard | None = None
) -> CreditRisk:
    """The credit risk of all users with an affordability; the others have no row.

    `loans` is the frame `LOANS`; `month_sums` are the incomes by user, month and category.
    """
    card = card or scorecard()
    values, evidence = signal_values(snapshot, affordability, loans, month_sums)
    scored_values = with_stress(with_instalment(values), card)
    assessment = card.assess(values)
    complete = scored_values.with_columns(
        pl.Series("score", assessment.scores, pl.Int64),
        pl.Series("risk_class", [CLASSES[place] for place in assessment.classes], pl.String),
        _class_reasons(card, assessment),
        missing=_missing(),
    )
    users = checked(complete.select(CREDIT_RISK.names()), CREDIT_RISK)
    return CreditRisk(users, _signals(card, values, assessment, evidence))


def _class_reasons(card: Scorecard, assessment: Assessment) -> pl.Series:
    """Why a class is worse than that of the score: the names of the signals that allow no better one; else null."""
    limits = {
        signal.display_name: signal.best_classes(numbers)
        for signal, numbers in zip(card.signals, assessment.numbers, strict=True)
    }
    reasons = [
        None
        if place == own
        else f"nach Punkten {CLASSES[own]}, höchstens {CLASSES[place]} wegen: "
        + ", ".join(name for name, allowed in limits.items() if allowed[row] == place)
        for row, (own, place) in enumerate(zip(assessment.class_of_score, assessment.classes, strict=True))
    ]
    return pl.Series("class_reason", reasons, pl.String)


@cache
def _missing() -> pl.Expr:
    """What is not known, as German sentences."""
    few_months = pl.when(pl.col("months") < FULL_MONTHS).then(
        pl.format(f"nur {{}} von {FULL_MONTHS} vollen Monaten sind zu sehen", "months")
    )
    sentences = [
        few_months,
        pl.when(pl.col("days_below_zero").is_null()).then(pl.lit("kein Kontostand eines Girokontos: Tage im Minus unbekannt")),
        pl.when(pl.col("savings_buffer").is_null()).then(pl.lit("kein Kontostand: Rücklagen unbekannt")),
        _counted("other_accounts", "eigenes Konto ist nicht verbunden", "eigene Konten sind nicht verbunden"),
        _counted("unconnected_cards", "Kreditkarte ist nicht verbunden", "Kreditkarten sind nicht verbunden"),
        _counted(
            "loans_without_amount",
            "Kredit ohne bekannte Restschuld: für ihn gilt kein Zinsstress",
            "Kredite ohne bekannte Restschuld: für sie gilt kein Zinsstress",
        ),
    ]
    return pl.concat_list(sentences).list.drop_nulls()


def _counted(name: str, one: str, several: str) -> pl.Expr:
    words = pl.when(pl.col(name) == 1).then(pl.lit(one)).otherwise(pl.lit(several))
    return pl.when(pl.col(name) > 0).then(pl.format("{} {}", pl.col(name), words))


def _signals(card: Scorecard, values: pl.DataFrame, assessment: Assessment, evidence: pl.DataFrame) -> pl.DataFrame:
    signals_of_unit: dict[str, list[int]] = {}
    for order, signal in enumerate(card.signals):
        signals_of_unit.setdefault(signal.unit, []).append(order)
    if not signals_of_unit:
        return CREDIT_RISK_SIGNALS.to_frame()
    parts = [_rows_of_unit(unit, orders, card, values, assessment) for unit, orders in signals_of_unit.items()]
    rows = pl.concat(parts).join(evidence.lazy(), on=["user", "signal"], how="left", maintain_order="left")
    ids = pl.col("ids").fill_null(NO_IDS)
    with_bookings = rows.sort("user", "order").with_columns(
        booking_count=ids.list.len().cast(pl.Int64), bookings=ids.list.tail(MAX_EVIDENCE)
    )
    return checked(collected(with_bookings.select(CREDIT_RISK_SIGNALS.names())), CREDIT_RISK_SIGNALS)


def _rows_of_unit(unit: str, orders: list[int], card: Scorecard, values: pl.DataFrame, assessment: Assessment) -> pl.LazyFrame:
    """The rows of the signals with this unit: `user`, `signal`, `order`, `value`, `points`, `max_points`, `reason`."""
    signals, height = [card.signals[order] for order in orders], values.height
    numbers = [assessment.numbers[order] for order in orders]
    templates = [_reasons(signal)[signal.places(column)] for signal, column in zip(signals, numbers, strict=True)]
    points = [signal.points(column) for signal, column in zip(signals, numbers, strict=True)]
    rows = pl.DataFrame(
        {
            "user": pl.concat([values.get_column("user")] * len(signals)),
            "signal": pl.Series([signal.name for signal in signals], dtype=pl.String)[np.repeat(np.arange(len(signals)), height)],
            "order": np.repeat(np.array(orders, np.int64), height),
            "value": pl.concat([values.get_column(signal.name).cast(pl.Float64).rename("value") for signal in signals]),
            "points": np.concatenate(points),
            "max_points": np.repeat(np.array([signal.max_points for signal in signals], np.int64), height),
            "template": pl.concat(templates),
        }
    )
    reason = pl.col("template").str.replace(VALUE, _written(unit).fill_null(""), literal=True)
    return rows.lazy().with_columns(reason=reason)


def _reasons(signal: Signal) -> pl.Series:
    """The reasons of a signal's ranges, with a place for the value."""
    return pl.Series("template", [range_.reason for range_ in signal.all_ranges], pl.String)


@cache
def _written(unit: str) -> pl.Expr:
    """The value in German: `2.500 €`, `34,6 %`, `1 Monat`, `3`."""
    value = pl.col("value")
    if unit == "euros":
        euros = value.round().cast(pl.Int64)
        thousands = pl.format("{}.{}", euros // 1000, (euros % 1000).cast(pl.String).str.zfill(3))
        return pl.format("{} €", pl.when(euros >= 1000).then(thousands).otherwise(euros.cast(pl.String)))
    if unit == "percent":
        return pl.format("{} %", _decimal(value * 100))
    if unit == "months":
        return pl.format("{} {}", _decimal(value), pl.when(value == 1).then(pl.lit("Monat")).otherwise(pl.lit("Monate")))
    return value.cast(pl.Int64).cast(pl.String)


def _decimal(value: pl.Expr) -> pl.Expr:
    """A number with at most one decimal, after a comma."""
    tenths = (value * 10).round().cast(pl.Int64)
    whole = (tenths // 10).cast(pl.String)
    return pl.when(tenths % 10 == 0).then(whole).otherwise(pl.format("{},{}", whole, tenths % 10))
