"""Flags for lenders: loans, rent, and signs of payment difficulties, each with the bookings that are its evidence.

Each function gives rows of evidence: `user_index`, `flag`, `id`, `booked_on`. Rules only, no model, and no sensitive data.
"""

import numpy as np
import polars as pl

from analytics.analyses.affordability import words
from analytics.analyses.affordability.window import AffordabilityWindow
from analytics.analyses.keys import user_key
from analytics.analyses.loan_purposes import CREDITS, MORTGAGES, PURCHASE
from analytics.analyses.snapshot import Snapshot
from analytics.bank_text.channels import Channel
from analytics.calendar import calendar
from analytics.knowledge import partners

FLAGS = {
    "existing_loans": ("Kreditrate", "Kreditraten"),
    "mortgage_payments": ("Rate einer Baufinanzierung", "Raten einer Baufinanzierung"),
    "rental_payments": ("Mietzahlung", "Mietzahlungen"),
    "return_debits": ("Rücklastschrift oder Gebühr dafür", "Rücklastschriften oder Gebühren dafür"),
    "reminder_charges": ("Mahngebühr", "Mahngebühren"),
    "seizure_payments": ("Zahlung wegen Pfändung oder Vollstreckung", "Zahlungen wegen Pfändung oder Vollstreckung"),
    "debt_collection_payments": ("Zahlung an ein Inkassounternehmen", "Zahlungen an Inkassounternehmen"),
    "overdraft": ("Abrechnung von Überziehungszinsen", "Abrechnungen von Überziehungszinsen"),
}
"""Each flag, and the German name of one and of several bookings of its evidence."""
EVIDENCE_COLUMNS = ("user_index", "flag", "id", "booked_on")
RENT_CATEGORY = "HOUSING_RENT"
MAX_RENT_DAYS = 62
MIN_INSTALMENTS = 3
MAX_RETURN_BUSINESS_DAYS = 5
"""A debit that comes back later was not returned by the bank."""
REVERSAL_CATEGORY = "TRANSFER_REVERSAL"
NO_COLLECTION_CATEGORIES = r"^(?:INSURANCE|INCOME|SAVINGS|TRANSFER|TAXES|HOUSING_RENT)"


def flag_evidence(snapshot: Snapshot, window: AffordabilityWindow, debits: pl.DataFrame, loans: pl.DataFrame) -> pl.DataFrame:
    """The evidence of all flags, each booking at most once per flag, by user, flag and day."""
    evidence_parts = [
        _by_contract(snapshot, window, loans),
        _own_loans(snapshot, window),
        _recent_rents(window),
        _returned_debits(snapshot, window),
        *_by_words(debits),
        _collections(window, debits),
    ]
    return pl.concat(evidence_parts).unique(("user_index", "flag", "id")).sort("user_index", "flag", "booked_on", "id")


def _by_words(debits: pl.DataFrame) -> list[pl.DataFrame]:
    """The debits whose words say what they are, of each flag that has any."""
    if debits.is_empty():
        return []
    masks = debits.select(
        return_debits=words.text_contains(words.RETURN_FEE),
        reminder_charges=_reminder(),
        seizure_payments=words.text_contains(words.SEIZURE, words.NO_SEIZURE),
        overdraft=words.text_contains(words.OVERDRAFT),
    )
    return [_rows_of_flag(debits.filter(mask), mask.name) for mask in masks if mask.any()]


def _rows_of_flag(rows: pl.DataFrame, flag: str, condition: pl.Expr | None = None) -> pl.DataFrame:
    matching_rows = rows if condition is None or rows.is_empty() else rows.filter(condition)
    return matching_rows.select("user_index", pl.lit(flag).alias("flag"), "id", "booked_on")


def _reminder() -> pl.Expr:
    return (pl.col("gv_code") == words.REMINDER_CODE).fill_null(value=False) | words.text_contains(words.REMINDER)


def _by_contract(snapshot: Snapshot, window: AffordabilityWindow, loans: pl.DataFrame) -> pl.DataFrame:
    """The regular payments of active contracts: rent, mortgages, and loans that are not repaid.

    A purchase in instalments counts as a loan if it has at least `MIN_INSTALMENTS`.
    """
    flags = (
        dict.fromkeys(CREDITS, "existing_loans")
        | dict.fromkeys(MORTGAGES, "mortgage_payments")
        | {RENT_CATEGORY: "rental_payments"}
    )
    has_few_instalments = pl.max_horizontal("term_months", "installments_paid") < MIN_INSTALMENTS
    ignored_loans = loans.filter(
        ((pl.col("kind") == PURCHASE) & has_few_instalments) | (pl.col("remaining_amount") == 0).fill_null(value=False)
    )
    active = snapshot.contracts.filter(pl.col("status") == "ACTIVE", pl.col("category").is_in(list(flags)))
    flag_contracts = active.join(ignored_loans.select("user", id="contract"), on=["user", "id"], how="anti")
    flags_by_contract = flag_contracts.select(
        key=user_key("id"), flag=pl.col("category").replace_strict(flags, return_dtype=pl.String)
    )
    payments = (
        snapshot.payments.filter("regular").with_columns(key=user_key("contract")).join(flags_by_contract, on="key", how="inner")
    )
    return payments.join(window.users.select("user", "user_index"), on="user", how="inner").select(EVIDENCE_COLUMNS)


def _own_loans(snapshot: Snapshot, window: AffordabilityWindow) -> pl.DataFrame:
    """Payments to the user's own loan accounts, with or without a contract."""
    payment_keys = snapshot.own_contracts.loan_payments.select(user_key("id")).to_series()
    repayments = window.rows.filter(user_key("id").is_in(payment_keys.implode()))
    is_mortgage = pl.col("effective_category").is_in(MORTGAGES)
    return pl.concat(
        [
            _rows_of_flag(repayments, "mortgage_payments", is_mortgage),
            _rows_of_flag(repayments, "existing_loans", ~is_mortgage),
        ]
    )


def _recent_rents(window: AffordabilityWindow) -> pl.DataFrame:
    """Rents of the last two months, with or without a contract."""
    rents = window.rows.filter(pl.col("amount_cents") < 0, pl.col("effective_category") == RENT_CATEGORY)
    days = (window.users["as_of"].gather(rents["user_index"]) - rents["booked_on"]).dt.total_days()
    return _rows_of_flag(rents.filter(days <= MAX_RENT_DAYS), "rental_payments")


def _returned_debits(snapshot: Snapshot, window: AffordabilityWindow) -> pl.DataFrame:
    """Debits that came back within days because they were not covered, not because the user objected."""
    returns = window.rows.filter(pl.col("amount_cents") > 0, pl.col("effective_category") == REVERSAL_CATEGORY)
    if returns.is_empty():
        return _rows_of_flag(returns, "return_debits")
    debits = snapshot.bookings.lazy().filter(pl.col("amount_cents") < 0, pl.col("effective_category") == REVERSAL_CATEGORY)
    origin = debits.select(key=user_key("id"), debited_on="booked_on", way="channel").collect()
    paired_returns = returns.with_columns(key=user_key("pair_of")).join(origin, on="key", how="left", maintain_order="left")
    with_texts = paired_returns.with_columns(
        text=words.booking_texts(snapshot, paired_returns["row"]), days=_business_days(paired_returns)
    )
    is_debit = (pl.col("channel") == Channel.DD_RETURN) | (pl.col("way") == Channel.DIRECTDEBIT).fill_null(value=False)
    is_soon = (pl.col("days") <= MAX_RETURN_BUSINESS_DAYS).fill_null(value=True)
    return _rows_of_flag(
        with_texts,
        "return_debits",
        (is_debit | words.text_contains(words.RETURN)) & is_soon & ~words.text_contains(words.OBJECTION),
    )


def _business_days(rows: pl.DataFrame) -> pl.Series:
    """The number of business days from `debited_on` to `booked_on`; null where a day is missing."""
    numbers = [rows[name].to_physical().cast(pl.Int64).fill_null(0).to_numpy() for name in ("debited_on", "booked_on")]
    since, until = (np.searchsorted(calendar().business, days) for days in numbers)
    return pl.select(pl.when(rows["debited_on"].is_not_null()).then(pl.Series(until - since))).to_series()


def _collections(window: AffordabilityWindow, debits: pl.DataFrame) -> pl.DataFrame:
    collectors = partners().frame.filter("inkasso")["partner"].implode()
    is_outside = pl.col("effective_category").str.contains(NO_COLLECTION_CATEGORIES) | pl.col("effective_category").is_in(
        words.SENSITIVE_CATEGORIES
    )
    partner_payments = window.rows.filter(pl.col("amount_cents") < 0, pl.col("partner").is_in(collectors)).filter(~is_outside)
    worded_payments = debits.filter(words.text_contains(words.COLLECTION, words.NO_COLLECTION), ~is_outside)
    return pl.concat(
        [_rows_of_flag(partner_payments, "debt_collection_payments"), _rows_of_flag(worded_payments, "debt_collection_payments")]
    )
