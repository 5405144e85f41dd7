"""Loans: the amount borrowed, the rate, the term, and the remaining amount, estimated from instalments.

The best evidence decides the method: the account of the loan with its debt and interest (e) or its debt alone (f), interest and
principal shown apart (b), numbered instalments (a), a pay-out by the same lender (c), both (ac), otherwise only the instalments
paid (d). Amounts are positive cents, rates nominal per year
(0.07 is 7 %). The amounts borrowed and remaining are capital without future interest; where only the number of instalments is
known, they are computed at the usual rate of such loans, and no rate is given.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics import trees
from analytics.analyses import loan_purposes
from analytics.analyses.snapshot import Snapshot
from analytics.frames import LOANS, checked

USUAL_RATES = {"purchase": 0.0, "credit": 0.07, "mortgage": 0.035}
"""Usual rates per year, by kind of loan."""
MAX_RATE = 0.18
USUAL_TERMS_MONTHS = np.arange(12, 121, 12)
"""The usual terms of loans."""
BISECTION_STEPS = 40
MAX_TERM_MONTHS = 1200
"""A century; an estimate beyond it is dropped."""
CONFIDENCE = {"e": 0.95, "f": 0.8, "b": 0.9, "ac": 0.9, "a": 0.6, "c": 0.5, "d": 0.2}
BALANCE_METHODS = ("e", "f", "b")
"""Methods that know what is left to pay."""
RATE_METHODS = ("e", "b", "ac", "c")
"""Methods that know or solve the rate; with the others a usual one is assumed, or none."""
REASONS = {
    "e": "Stand und Zinsen des verbundenen Kreditkontos",
    "f": "Stand des verbundenen Kreditkontos; sein Zins ist nicht bekannt",
    "b": "Zins- und Tilgungsanteile in den Buchungen",
    "ac": "Nummern der Raten und Auszahlung des Kredits",
    "a": "Nummern der Raten; Beträge mit üblichem Zins geschätzt",
    "c": "Auszahlung des Kredits; Laufzeit mit üblichem Zins geschätzt",
    "d": "nur die gezahlten Raten sind bekannt",
}
REPAID_EARLY = "vorzeitig abgelöst"
Floats = NDArray[np.float64]


def loans(snapshot: Snapshot) -> pl.DataFrame:
    """The loans (frame `LOANS`) of all users."""
    if not loan_purposes.has_loans(snapshot):
        return LOANS.to_frame()
    facts = _with_periods(loan_purposes.loan_facts(snapshot))
    solutions = _solve(facts)
    return checked(_describe(facts.drop("number").hstack(solutions)).sort("user", "contract"), LOANS)


def _with_periods(facts: pl.DataFrame) -> pl.DataFrame:
    lengths = trees.periods_frame().select(period="system_name", months=12 / pl.col("per_year"))
    return facts.join(lengths, on="period", how="left", maintain_order="left")


def _solve(facts: pl.DataFrame) -> pl.DataFrame:
    """By loan: `method`, `rate` per period, `principal` in cents and `number` of instalments, null where unknown."""
    count = facts.height
    payment, months = (facts[name].cast(pl.Float64).to_numpy() for name in ("installment", "months"))
    number, lent, split = (facts[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in ("number", "lent", "split_rate"))
    usual = facts["kind"].replace_strict(USUAL_RATES, return_dtype=pl.Float64).to_numpy() * months / 12
    exact = rates(payment, lent, number, MAX_RATE * months / 12)
    likely_rate, term = _most_usual(payment, lent, months, usual, facts["paid"].cast(pl.Float64).to_numpy())
    owed, account_rate, account_lent = (
        facts[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in ("owed_cents", "monthly_rate", "lent_cents")
    )
    methods = [
        np.isfinite(owed) & np.isfinite(account_rate),
        np.isfinite(owed),
        split <= MAX_RATE * months / 12,
        np.isfinite(exact),
        np.isfinite(number),
        np.isfinite(likely_rate),
    ]
    unknown = np.full(count, np.nan)
    borrowed_cents = np.where(np.isfinite(lent), lent, facts["opening"].cast(pl.Float64).fill_null(np.nan).to_numpy())
    return pl.DataFrame(
        {
            "method": pl.Series(np.select(methods, ["e", "f", "b", "ac", "a", "c"], "d"), dtype=pl.String),
            "rate": np.select(methods, [account_rate * months, unknown, split, exact, usual, likely_rate], unknown),
            "principal": np.select(
                methods,
                [account_lent, account_lent, borrowed_cents, lent, principal(payment, usual, number), lent],
                unknown,
            ),
            "number": np.select(methods, [unknown, unknown, unknown, number, number, term], unknown),
        }
    ).with_columns(pl.col("rate", "principal", "number").fill_nan(None))


def rates(payment: Floats, lent: Floats, number: Floats, highest: Floats) -> Floats:
    """The rates per period at which `number` payments repay the amount lent, by bisection; NaN where there is none."""
    low, high = np.zeros_like(payment), np.array(highest, np.float64)
    possible = (payment * number >= lent) & (principal(payment, high, number) <= lent)
    for _ in range(BISECTION_STEPS):
        middle = (low + high) / 2
        less = principal(payment, middle, number) < lent
        low, high = np.where(less, low, middle), np.where(less, middle, high)
    return np.where(possible, (low + high) / 2, np.nan)


def principal(payment: Floats, rate: Floats, number: Floats) -> Floats:
    """The amount that `number` payments repay at this rate per period."""
    safe = np.where(rate > 0, rate, 1.0)
    return np.where(rate > 0, payment * (1 - (1 + safe) ** -number) / safe, payment * number)


def _most_usual(payment: Floats, lent: Floats, months: Floats, usual: Floats, instalments_paid: Floats) -> tuple[Floats, Floats]:
    """Of the usual terms the one whose rate is nearest to the usual rate: that rate per period, and its number of instalments."""
    number = USUAL_TERMS_MONTHS[None, :] / months[:, None]
    flat_columns = [np.broadcast_to(column[:, None], number.shape).ravel() for column in (payment, lent, MAX_RATE * months / 12)]
    candidate_rates = rates(flat_columns[0], flat_columns[1], number.ravel(), flat_columns[2]).reshape(number.shape)
    candidate_rates = np.where(number >= instalments_paid[:, None], candidate_rates, np.nan)
    rate_distance = np.where(np.isfinite(candidate_rates), np.abs(candidate_rates - usual[:, None]), np.inf)
    best = rate_distance.argmin(1)
    rows = np.arange(payment.size)
    return candidate_rates[rows, best], np.where(np.isfinite(candidate_rates[rows, best]), number[rows, best], np.nan)


def _with_remaining(loans: pl.DataFrame) -> pl.DataFrame:
    """With the cents `left` of each loan, the number of instalments `to_come`, and whether it is `over`."""
    rate, payment, instalments_paid, lent = pl.col("rate"), pl.col("installment"), pl.col("paid"), pl.col("principal")
    split, grown = pl.col("method").is_in(BALANCE_METHODS), (1 + rate) ** instalments_paid
    balance = pl.when(rate > 0).then(lent * grown - payment * (grown - 1) / rate).otherwise(lent - payment * instalments_paid)
    left, to_come = pl.col("left"), pl.col("to_come")
    by_rate = (
        pl.when(rate > 0).then(-(1 - left * rate / payment).log() / (1 + rate).log()).when(rate == 0).then(left / payment).ceil()
    )
    known_balance = pl.when(pl.col("method") == "b").then("balance").otherwise(pl.col("owed_cents").cast(pl.Float64))
    loans = loans.with_columns(left=pl.when(split).then(known_balance).otherwise(balance).clip(0))
    loans = loans.with_columns(to_come=pl.when(split).then(by_rate).otherwise(pl.col("number") - instalments_paid))
    sensible = to_come.is_finite() & (to_come * pl.col("months") <= MAX_TERM_MONTHS)
    loans = loans.with_columns(to_come=pl.when(sensible).then(to_come))
    return loans.with_columns(over=pl.col("repaid_on").is_not_null() | (pl.col("to_come") <= 0).fill_null(value=False))


def _describe(loans: pl.DataFrame) -> pl.DataFrame:
    """The columns of the frame `LOANS`."""
    loans = _with_remaining(loans)
    over, active, repaid = pl.col("over"), pl.col("status") == "ACTIVE", pl.col("repaid_on").is_not_null()
    split = pl.col("method").is_in(BALANCE_METHODS) & pl.col("principal").is_not_null()
    total_number = pl.when(split).then(pl.col("paid") + pl.col("to_come")).otherwise("number")
    months = (pl.col("to_come") * pl.col("months")).round().cast(pl.Int64)
    ends = pl.col("date_latest").dt.offset_by(pl.format("{}mo", months.clip(0).fill_null(0)))
    return loans.select(
        "contract",
        "user",
        "kind",
        "installment",
        installments_paid="paid",
        amount_total=pl.col("principal").round().cast(pl.Int64),
        interest_rate=pl.when(pl.col("method").is_in(RATE_METHODS)).then(pl.col("rate") * 12 / pl.col("months")),
        term_months=(total_number * pl.col("months")).round().cast(pl.Int64),
        remaining_amount=pl.when(over).then(0).when(active).then(pl.col("left").round().cast(pl.Int64)),
        date_end=pl.when(repaid).then("repaid_on").when(pl.col("to_come").is_not_null() & (active | over)).then(ends),
        confidence=pl.col("method").replace_strict(CONFIDENCE, return_dtype=pl.Float64),
        reason=pl.concat_str(
            pl.col("method").replace_strict(REASONS, return_dtype=pl.String),
            pl.when(repaid).then(pl.lit(REPAID_EARLY)),
            separator="; ",
            ignore_nulls=True,
        ),
        payout=pl.when(pl.col("method") != "d").then("payout"),
    )
