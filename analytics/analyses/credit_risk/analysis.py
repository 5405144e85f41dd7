"""The analysis of credit risk: puts together values, points, reasons, evidence, class, stress and instalment."""

from typing import NamedTuple

import numpy as np
import polars as pl

from analytics.analyses.affordability import Affordability
from analytics.analyses.credit_risk.scorecard import CLASSES, VALUE, Scorecard, Signal, column, scorecard
from analytics.analyses.credit_risk.signals import NO_IDS, signal_values
from analytics.analyses.credit_risk.stress import with_instalment, with_stress
from analytics.analyses.snapshot import Snapshot
from analytics.frames import CREDIT_RISK, CREDIT_RISK_SIGNALS, checked

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
    by_score, places = card.class_of_scores(card.scores(values)), card.classes(values)
    complete = scored_values.with_columns(
        pl.Series("score", card.scores(values), pl.Int64),
        pl.Series("risk_class", [CLASSES[place] for place in places], pl.String),
        _class_reasons(card, values, by_score, places),
        missing=_missing(),
    )
    users = checked(complete.select(CREDIT_RISK.names()), CREDIT_RISK)
    return CreditRisk(users, _signals(card, values, evidence))


def _class_reasons(card: Scorecard, values: pl.DataFrame, by_score: np.ndarray, places: np.ndarray) -> pl.Series:
    """Why a class is worse than that of the score: the names of the signals that allow no better one; else null."""
    limits = {signal.display_name: signal.best_classes(column(values, signal.name)) for signal in card.signals}
    reasons = [
        None
        if place == own
        else f"nach Punkten {CLASSES[own]}, höchstens {CLASSES[place]} wegen: "
        + ", ".join(name for name, allowed in limits.items() if allowed[row] == place)
        for row, (own, place) in enumerate(zip(by_score, places, strict=True))
    ]
    return pl.Series("class_reason", reasons, pl.String)


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


def _signals(card: Scorecard, values: pl.DataFrame, evidence: pl.DataFrame) -> pl.DataFrame:
    parts = [_signal(signal, values).with_columns(order=pl.lit(order)) for order, signal in enumerate(card.signals)]
    if not parts:
        return CREDIT_RISK_SIGNALS.to_frame()
    rows = pl.concat(parts).join(evidence, on=["user", "signal"], how="left", maintain_order="left").sort("user", "order")
    ids = pl.col("ids").fill_null(NO_IDS)
    with_bookings = rows.with_columns(booking_count=ids.list.len().cast(pl.Int64), bookings=ids.list.tail(MAX_EVIDENCE))
    return checked(with_bookings.select(CREDIT_RISK_SIGNALS.names()), CREDIT_RISK_SIGNALS)


def _signal(signal: Signal, values: pl.DataFrame) -> pl.DataFrame:
    """The rows of one signal: `user`, `signal`, `value`, `points`, `max_points`, `reason`."""
    numbers = column(values, signal.name)
    reasons = pl.Series([range_.reason for range_ in signal.all_ranges], dtype=pl.String)
    rows = values.select(
        "user",
        signal=pl.lit(signal.name),
        value=pl.col(signal.name).cast(pl.Float64),
        points=pl.Series(signal.points(numbers), dtype=pl.Int64),
        max_points=pl.lit(signal.max_points, pl.Int64),
        template=reasons.gather(signal.places(numbers)),
    )
    text = _written(signal.unit)
    return rows.with_columns(reason=pl.col("template").str.replace(VALUE, text.fill_null(""), literal=True)).drop("template")


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
