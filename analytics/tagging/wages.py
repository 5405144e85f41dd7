"""Wages among a user's credits: how a credit is described, and how regular and how large it is among the others.

Pensions and the state's payments are rules on lines and come first; what they have decided is not looked at again. Every credit
collects points; from `ENOUGH` points on it is a wage.
"""

import polars as pl

from analytics.bank_text.channels import Channel
from analytics.tagging.layers import OVERLAY, Rows, bookings

SALARY = "INCOME_SALARY"
ENOUGH = 4
POINTS = {
    "told_by_bank": 3,
    "says_pay": 2,
    "monthly": 2,
    "is_company": 1,
    "substantial": 1,
    "among_largest": 1,
    "is_person": -2,
    "says_no_pay": -3,
    "other_payer": -4,
}
LEAST_CENTS = 45_000
PAY_CODES = ("SALA", "PAYR", "BONU")
ROWS = ("row", "id", "user", "booked_on", "amount_cents", "counterparty_key", "channel")
FACTS = ("says_pay", "says_pay_extra", "says_no_pay", "is_company", "is_person")
OTHER_PAYERS = ("insurer", "broker", "authority_benefit", "krankenkasse")
LARGEST = 2
LEAST_MONTHS = 3
SHORTEST, LONGEST = 24, 38
"""Days from one monthly payment to the next."""
LEAST_TIMING = 0.7
CONFIDENCE = {4: 0.86, 5: 0.92, 6: 0.95, 7: 0.97}
MOST_CONFIDENT, BESIDE_WAGE = 0.985, 0.85
UNDECIDED = ("", SALARY)
NO_INCOME = ("BANKFINANCE_CREDITINCOME", "BANKFINANCE_ATMDEPOSIT", "BANKFINANCE_CASHDEPOSIT")


def income(rows: Rows) -> pl.DataFrame:
    """The overlay of wages.

    Rows have `row`, `id`, `user`, `booked_on`, `amount_cents`, `counterparty_key`, `channel`, `pending`, `category` (so far: own
    transfers are not looked at) and, where known, `purpose_code`, `rule_category`, the flags of partners, and the columns of
    `analytics.tagging.line_facts`.
    """
    told = dict.fromkeys((*FACTS, *(f"flag_{flag}" for flag in OTHER_PAYERS)), False)
    of = bookings(rows).filled(rule_category="", purpose_code="", **told)
    booked = of.where((pl.col("amount_cents") > 0) & ~pl.col("pending"))
    incoming = of.of(booked, *ROWS, "category", "rule_category", "purpose_code", *told).filter(~_no_income())
    ranked = _ranked(incoming.with_columns(_described()))
    scored = _scored(ranked.join(_timing(ranked), on=["user", "counterparty_key"], how="left"))
    wages = scored.filter(pl.col("score") >= ENOUGH, pl.col("rule_category").is_in(UNDECIDED))
    payers = wages.filter(pl.col("counterparty_key").is_not_null()).select("user", "counterparty_key").unique()
    extra = scored.filter(
        pl.col("score") < ENOUGH, pl.col("rule_category").is_in(UNDECIDED), "says_pay_extra", ~pl.col("says_no_pay")
    ).join(payers, on=["user", "counterparty_key"], how="semi")
    return pl.concat(
        [
            _overlay(wages, _confidence(), _reason()),
            _overlay(extra, pl.lit(BESIDE_WAGE), pl.lit("Sonderzahlung des Arbeitgebers")),
        ]
    )


def _no_income() -> pl.Expr:
    return pl.col("category").str.starts_with("TRANSFER_") | pl.col("category").is_in(NO_INCOME)


def _described() -> list[pl.Expr]:
    by_channel = (pl.col("channel") == Channel.SALARY) | pl.col("purpose_code").str.to_uppercase().is_in(PAY_CODES)
    return [
        by_channel.alias("told_by_bank"),
        (pl.col("amount_cents") >= LEAST_CENTS).alias("substantial"),
        pl.any_horizontal([f"flag_{flag}" for flag in OTHER_PAYERS]).alias("other_payer"),
    ]


def _ranked(incoming: pl.DataFrame) -> pl.DataFrame:
    """The credits with whether each is one of the two largest of its month; equal ones are told apart by their ids."""
    by_size = incoming.with_columns(month=pl.col("booked_on").dt.month_start()).sort(
        "user", "month", -pl.col("amount_cents"), "id"
    )
    earlier = pl.all_horizontal(pl.col(name) == pl.col(name).shift(LARGEST) for name in ("user", "month"))
    return by_size.with_columns(among_largest=~earlier.fill_null(value=False))


def _timing(incoming: pl.DataFrame) -> pl.DataFrame:
    """For each payer whether it pays monthly: of its largest credits of each month, how many follow a month after the last."""
    payer = ["user", "counterparty_key"]
    ordered = incoming.filter(pl.col("counterparty_key").is_not_null()).sort(
        *payer, "month", -pl.col("amount_cents"), "booked_on", "id"
    )
    largest = ordered.unique([*payer, "month"], keep="first", maintain_order=True).select(*payer, "booked_on")
    follows = pl.all_horizontal(pl.col(name) == pl.col(name).shift() for name in payer)
    gap = pl.when(follows).then(pl.col("booked_on").diff().dt.total_days())
    counted = (
        largest.with_columns(good=gap.is_between(SHORTEST, LONGEST)).group_by(payer).agg(pl.col("good").sum(), months=pl.len())
    )
    regular = (pl.col("months") >= LEAST_MONTHS) & (pl.col("good") >= LEAST_TIMING * (pl.col("months") - 1))
    return counted.select(*payer, monthly=regular)


def _scored(incoming: pl.DataFrame) -> pl.DataFrame:
    told = incoming.with_columns(monthly=pl.col("monthly").fill_null(value=False))
    return told.with_columns(score=pl.sum_horizontal([pl.col(name).cast(pl.Int32) * points for name, points in POINTS.items()]))


def _confidence() -> pl.Expr:
    return pl.col("score").replace_strict(CONFIDENCE, default=MOST_CONFIDENT, return_dtype=pl.Float64)


def _reason() -> pl.Expr:
    pieces = {
        "told_by_bank": "Buchungsart Lohn oder Gehalt",
        "says_pay": "Lohn im Text",
        "monthly": "jeden Monat",
        "is_company": "von einem Arbeitgeber",
        "among_largest": "unter den größten Eingängen",
    }
    said = [pl.when(name).then(pl.lit(piece)) for name, piece in pieces.items()]
    return pl.concat_str(said, separator=", ", ignore_nulls=True)


def _overlay(rows: pl.DataFrame, confidence: pl.Expr, reason: pl.Expr) -> pl.DataFrame:
    return rows.select(
        "row",
        "id",
        category=pl.lit(SALARY),
        confidence=confidence,
        reason=reason,
        effective_category=pl.lit(SALARY),
        refund_of=pl.lit(None, pl.String),
        pair_of=pl.lit(None, pl.String),
    ).cast(OVERLAY)
