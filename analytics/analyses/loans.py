"""Loans: what was borrowed, at what rate, for how long, and how much is left, estimated from instalments.

The best that the bookings tell counts: interest and principal apart (b), a numbered instalment (a), the pay-out by the same
lender (c), and otherwise only what is paid (d). Amounts are cents above zero. Rates are nominal ones of a year (0.07 is 7 %).
What was borrowed and what is left are capital without interest still to come; where only the number of instalments is known,
they are worked out at the usual rate of such loans, and no rate is told.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics import trees
from analytics.analyses import loan_purposes
from analytics.analyses.loan_purposes import CREDITS, MORTGAGES, PURCHASE
from analytics.analyses.snapshot import Snapshot
from analytics.frames import LOANS, checked

__all__ = ["CREDITS", "LOANS", "MORTGAGES", "PURCHASE", "loans"]

USUAL = {"purchase": 0.0, "credit": 0.07, "mortgage": 0.035}
"""Rates that lenders usually ask."""
HIGHEST = 0.18
TERMS = np.arange(12, 121, 12)
"""Months for which loans are usually given."""
STEPS = 40
MOST_MONTHS = 1200
"""What would take longer than a century is no estimate."""
CONFIDENCE = {"b": 0.9, "ac": 0.9, "a": 0.6, "c": 0.5, "d": 0.2}
REASONS = {
    "b": "Zins- und Tilgungsanteile in den Buchungen",
    "ac": "Nummern der Raten und Auszahlung des Kredits",
    "a": "Nummern der Raten; Beträge mit üblichem Zins geschätzt",
    "c": "Auszahlung des Kredits; Laufzeit mit üblichem Zins geschätzt",
    "d": "nur die gezahlten Raten sind bekannt",
}
RETURNED = "vorzeitig abgelöst"
Floats = NDArray[np.float64]


def loans(seen: Snapshot) -> pl.DataFrame:
    """The frame `LOANS`."""
    if not loan_purposes.owing(seen):
        return LOANS.to_frame()
    facts = _with_periods(loan_purposes.facts(seen))
    solved = _solved(facts)
    return checked(_described(facts.drop("number").hstack(solved)).sort("user", "contract"), LOANS)


def _with_periods(facts: pl.DataFrame) -> pl.DataFrame:
    lengths = trees.periods_frame().select(period="system_name", months=12 / pl.col("per_year"))
    return facts.join(lengths, on="period", how="left", maintain_order="left")


def _solved(facts: pl.DataFrame) -> pl.DataFrame:
    """By which method (`method`), `rate` of a period, `principal` in cents and `number` of instalments, as far as known."""
    count = facts.height
    payment, months = (facts[name].cast(pl.Float64).to_numpy() for name in ("installment", "months"))
    said, lent, split = (facts[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in ("number", "lent", "split_rate"))
    usual = facts["kind"].replace_strict(USUAL, return_dtype=pl.Float64).to_numpy() * months / 12
    exact = rates(payment, lent, said, HIGHEST * months / 12)
    guess, term = _most_usual(payment, lent, months, usual, facts["paid"].cast(pl.Float64).to_numpy())
    ways = [split <= HIGHEST * months / 12, np.isfinite(exact), np.isfinite(said), np.isfinite(guess)]
    none = np.full(count, np.nan)
    borrowed = np.where(np.isfinite(lent), lent, facts["opening"].cast(pl.Float64).fill_null(np.nan).to_numpy())
    return pl.DataFrame(
        {
            "method": pl.Series(np.select(ways, ["b", "ac", "a", "c"], "d"), dtype=pl.String),
            "rate": np.select(ways, [split, exact, usual, guess], none),
            "principal": np.select(ways, [borrowed, lent, principal(payment, usual, said), lent], none),
            "number": np.select(ways, [none, said, said, term], none),
        }
    ).with_columns(pl.col("rate", "principal", "number").fill_nan(None))


def rates(payment: Floats, lent: Floats, number: Floats, highest: Floats) -> Floats:
    """The rates of a period at which so many payments pay back what was lent, by halving; not a number where there is none."""
    low, high = np.zeros_like(payment), np.array(highest, np.float64)
    possible = (payment * number >= lent) & (principal(payment, high, number) <= lent)
    for _ in range(STEPS):
        middle = (low + high) / 2
        less = principal(payment, middle, number) < lent
        low, high = np.where(less, low, middle), np.where(less, middle, high)
    return np.where(possible, (low + high) / 2, np.nan)


def principal(payment: Floats, rate: Floats, number: Floats) -> Floats:
    """What so many payments pay back at this rate of a period."""
    safe = np.where(rate > 0, rate, 1.0)
    return np.where(rate > 0, payment * (1 - (1 + safe) ** -number) / safe, payment * number)


def _most_usual(payment: Floats, lent: Floats, months: Floats, usual: Floats, paid: Floats) -> tuple[Floats, Floats]:
    """Of the usual terms the one whose rate is nearest to the usual rate: this rate, and the number of instalments."""
    number = TERMS[None, :] / months[:, None]
    wide = [np.broadcast_to(column[:, None], number.shape).ravel() for column in (payment, lent, HIGHEST * months / 12)]
    found = rates(wide[0], wide[1], number.ravel(), wide[2]).reshape(number.shape)
    found = np.where(number >= paid[:, None], found, np.nan)
    away = np.where(np.isfinite(found), np.abs(found - usual[:, None]), np.inf)
    best = away.argmin(1)
    at = np.arange(payment.size)
    return found[at, best], np.where(np.isfinite(found[at, best]), number[at, best], np.nan)


def _owed(solved: pl.DataFrame) -> pl.DataFrame:
    """With what is `left` of a loan, how many instalments are `to_come`, and whether it is `over`."""
    rate, payment, paid, lent = pl.col("rate"), pl.col("installment"), pl.col("paid"), pl.col("principal")
    split, grown = pl.col("method") == "b", (1 + rate) ** paid
    owed = pl.when(rate > 0).then(lent * grown - payment * (grown - 1) / rate).otherwise(lent - payment * paid)
    left, to_come = pl.col("left"), pl.col("to_come")
    by_rate = (-(1 - left * rate / payment).log() / (1 + rate).log()).ceil()
    known = solved.with_columns(left=pl.when(split).then("balance").otherwise(owed).clip(0))
    known = known.with_columns(to_come=pl.when(split).then(by_rate).otherwise(pl.col("number") - paid))
    sensible = to_come.is_finite() & (to_come * pl.col("months") <= MOST_MONTHS)
    known = known.with_columns(to_come=pl.when(sensible).then(to_come))
    return known.with_columns(over=pl.col("repaid_on").is_not_null() | (pl.col("to_come") <= 0).fill_null(value=False))


def _described(solved: pl.DataFrame) -> pl.DataFrame:
    """What is told about each loan."""
    known = _owed(solved)
    over, active, repaid = pl.col("over"), pl.col("status") == "ACTIVE", pl.col("repaid_on").is_not_null()
    split = (pl.col("method") == "b") & pl.col("principal").is_not_null()
    whole = pl.when(split).then(pl.col("paid") + pl.col("to_come")).otherwise("number")
    months = (pl.col("to_come") * pl.col("months")).round().cast(pl.Int64)
    ends = pl.col("date_latest").dt.offset_by(pl.format("{}mo", months.clip(0).fill_null(0)))
    return known.select(
        "contract",
        "user",
        "kind",
        "installment",
        installments_paid="paid",
        amount_total=pl.col("principal").round().cast(pl.Int64),
        interest_rate=pl.when(pl.col("method").is_in(["b", "ac", "c"])).then(pl.col("rate") * 12 / pl.col("months")),
        term_months=(whole * pl.col("months")).round().cast(pl.Int64),
        remaining_amount=pl.when(over).then(0).when(active).then(pl.col("left").round().cast(pl.Int64)),
        date_end=pl.when(repaid).then("repaid_on").when(pl.col("to_come").is_not_null() & (active | over)).then(ends),
        confidence=pl.col("method").replace_strict(CONFIDENCE, return_dtype=pl.Float64),
        reason=pl.concat_str(
            pl.col("method").replace_strict(REASONS, return_dtype=pl.String),
            pl.when(repaid).then(pl.lit(RETURNED)),
            separator="; ",
            ignore_nulls=True,
        ),
        payout=pl.when(pl.col("method") != "d").then("payout"),
    )
