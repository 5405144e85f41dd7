"""The pass that finds wages among a user's credits, by their texts, their regularity and their size among the others.

Every credit collects points; from `MIN_WAGE_POINTS` points on it is a wage. Pensions and payments of the state are decided
before by rules on lines, and are not changed here.
"""

import polars as pl

from analytics.bank_text.channels import Channel
from analytics.tagging.layers import OVERLAY, BookingRows, layered_bookings

SALARY = "INCOME_SALARY"
MIN_WAGE_POINTS = 4
POINTS = {
    "paid_as_wage": 3,
    "says_pay": 2,
    "monthly": 2,
    "is_company": 1,
    "substantial": 1,
    "among_largest": 1,
    "is_person": -2,
    "says_no_pay": -3,
    "other_payer": -4,
}
MIN_SUBSTANTIAL_CENTS = 45_000
PAY_CODES = ("SALA", "PAYR", "BONU")
ROW_COLUMNS = ("row", "id", "user", "booked_on", "amount_cents", "counterparty_key", "channel")
WAGE_FACTS = ("says_pay", "says_pay_extra", "says_no_pay", "is_company", "is_person")
OTHER_PAYER_FLAGS = ("insurer", "broker", "authority_benefit", "krankenkasse")
LARGEST_PER_MONTH = 2
MIN_MONTHS = 3
MIN_MONTHLY_GAP_DAYS, MAX_MONTHLY_GAP_DAYS = 24, 38
"""Days from one monthly payment to the next."""
MIN_MONTHLY_RATIO = 0.7
CONFIDENCE_OF_POINTS = {4: 0.86, 5: 0.92, 6: 0.95, 7: 0.97}
MAX_CONFIDENCE, EXTRA_PAY_CONFIDENCE = 0.985, 0.85
UNDECIDED_CATEGORIES = ("", SALARY)
NO_INCOME_CATEGORIES = ("BANKFINANCE_CREDITINCOME", "BANKFINANCE_ATMDEPOSIT", "BANKFINANCE_CASHDEPOSIT")


def wages(rows: BookingRows) -> pl.DataFrame:
    """The overlay of wages.

    Rows have `row`, `id`, `user`, `booked_on`, `amount_cents`, `counterparty_key`, `channel`, `pending`, `category` (after the
    pass of own transfers, which are left out) and, where known, `purpose_code`, `rule_category`, the flags of partners, and the
    facts of `line_facts`.
    """
    defaults = dict.fromkeys((*WAGE_FACTS, *(f"flag_{flag}" for flag in OTHER_PAYER_FLAGS)), False)
    bookings = layered_bookings(rows).with_line_defaults(rule_category="", purpose_code="", **defaults)
    credit_rows = bookings.rows_where((pl.col("amount_cents") > 0) & ~pl.col("pending"))
    columns = (*ROW_COLUMNS, "category", "rule_category", "purpose_code", *defaults)
    incoming = bookings.select(credit_rows, *columns).filter(~_is_no_income())
    ranked_credits = _rank_in_month(incoming.with_columns(_evidence()))
    scored_credits = _score(ranked_credits.join(_monthly_payers(ranked_credits), on=["user", "counterparty_key"], how="left"))
    undecided_credits = scored_credits.filter(pl.col("rule_category").is_in(UNDECIDED_CATEGORIES))
    regular_pay = undecided_credits.filter(pl.col("score") >= MIN_WAGE_POINTS)
    payers = regular_pay.filter(pl.col("counterparty_key").is_not_null()).select("user", "counterparty_key").unique()
    extra_pay = undecided_credits.filter(pl.col("score") < MIN_WAGE_POINTS, "says_pay_extra", ~pl.col("says_no_pay")).join(
        payers, on=["user", "counterparty_key"], how="semi"
    )
    return pl.concat(
        [
            _overlay(regular_pay, _confidence(), _reason()),
            _overlay(extra_pay, pl.lit(EXTRA_PAY_CONFIDENCE), pl.lit("Sonderzahlung des Arbeitgebers")),
        ]
    )


def _is_no_income() -> pl.Expr:
    return pl.col("category").str.starts_with("TRANSFER_") | pl.col("category").is_in(NO_INCOME_CATEGORIES)


def _evidence() -> list[pl.Expr]:
    by_bank = (pl.col("channel") == Channel.SALARY) | pl.col("purpose_code").str.to_uppercase().is_in(PAY_CODES)
    return [
        by_bank.alias("paid_as_wage"),
        (pl.col("amount_cents") >= MIN_SUBSTANTIAL_CENTS).alias("substantial"),
        pl.any_horizontal([f"flag_{flag}" for flag in OTHER_PAYER_FLAGS]).alias("other_payer"),
    ]


def _rank_in_month(incoming: pl.DataFrame) -> pl.DataFrame:
    """The credits with `month` and `among_largest`: the `LARGEST_PER_MONTH` of each month; the ids decide between equal ones."""
    by_size = incoming.with_columns(month=pl.col("booked_on").dt.month_start()).sort(
        "user", "month", -pl.col("amount_cents"), "id"
    )
    earlier = pl.all_horizontal(pl.col(name) == pl.col(name).shift(LARGEST_PER_MONTH) for name in ("user", "month"))
    return by_size.with_columns(among_largest=~earlier.fill_null(value=False))


def _monthly_payers(incoming: pl.DataFrame) -> pl.DataFrame:
    """For each payer whether it pays monthly: enough of its largest credits of each month follow a month after the last."""
    payer = ["user", "counterparty_key"]
    ordered_credits = incoming.filter(pl.col("counterparty_key").is_not_null()).sort(
        *payer, "month", -pl.col("amount_cents"), "booked_on", "id"
    )
    largest = ordered_credits.unique([*payer, "month"], keep="first", maintain_order=True).select(*payer, "booked_on")
    follows = pl.all_horizontal(pl.col(name) == pl.col(name).shift() for name in payer)
    gap = pl.when(follows).then(pl.col("booked_on").diff().dt.total_days())
    payers = (
        largest.with_columns(good=gap.is_between(MIN_MONTHLY_GAP_DAYS, MAX_MONTHLY_GAP_DAYS))
        .group_by(payer)
        .agg(pl.col("good").sum(), months=pl.len())
    )
    regular = (pl.col("months") >= MIN_MONTHS) & (pl.col("good") >= MIN_MONTHLY_RATIO * (pl.col("months") - 1))
    return payers.select(*payer, monthly=regular)


def _score(incoming: pl.DataFrame) -> pl.DataFrame:
    scores = [pl.col(name).fill_null(value=False).cast(pl.Int32) * points for name, points in POINTS.items()]
    return incoming.with_columns(score=pl.sum_horizontal(scores))


def _confidence() -> pl.Expr:
    return pl.col("score").replace_strict(CONFIDENCE_OF_POINTS, default=MAX_CONFIDENCE, return_dtype=pl.Float64)


def _reason() -> pl.Expr:
    pieces = {
        "paid_as_wage": "Buchungsart Lohn oder Gehalt",
        "says_pay": "Lohn im Text",
        "monthly": "jeden Monat",
        "is_company": "von einem Arbeitgeber",
        "among_largest": "unter den größten Eingängen",
    }
    parts = [pl.when(name).then(pl.lit(piece)) for name, piece in pieces.items()]
    return pl.concat_str(parts, separator=", ", ignore_nulls=True)


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
