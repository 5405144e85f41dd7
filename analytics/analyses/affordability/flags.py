"""What a lender asks: loans, rent, and what warns of payment difficulties. Every answer names the bookings that it rests on.

Each function gives rows of evidence: `who`, `flag`, `id`, `booked_on`. Rules only, no model, and no sensitive data.
"""

import numpy as np
import polars as pl

from analytics.analyses.affordability import words
from analytics.analyses.affordability.window import AffordabilityWindow
from analytics.analyses.keys import user_key
from analytics.analyses.loans import CREDITS, MORTGAGES, PURCHASE
from analytics.analyses.snapshot import Snapshot
from analytics.bank_text.channels import Channel
from analytics.calendar import calendar
from analytics.knowledge import partners
from analytics.products import ProductCategory

FLAGS = {
    "existing_loans": ("Kreditrate", "Kreditraten"),
    "mortgage_payments": ("Rate einer Baufinanzierung", "Raten einer Baufinanzierung"),
    "rental_payments": ("Mietzahlung", "Mietzahlungen"),
    "return_debits": ("Rücklastschrift oder Gebühr dafür", "Rücklastschriften oder Gebühren dafür"),
    "reminder_charges": ("Mahngebühr", "Mahngebühren"),
    "seizure_payments": ("Zahlung wegen Pfändung oder Vollstreckung", "Zahlungen wegen Pfändung oder Vollstreckung"),
    "debt_collection_payments": ("Zahlung an ein Inkassounternehmen", "Zahlungen an Inkassounternehmen"),
    "overdraft": ("Überziehungszins", "Überziehungszinsen"),
}
"""Flags, and what their evidence is called."""
EVIDENCE = ("who", "flag", "id", "booked_on")
RENT = "HOUSING_RENT"
RENT_DAYS = 62
LEAST_INSTALMENTS = 3
RETURN_BUSINESS_DAYS = 5
"""Later than this it is not the bank that gives a debit back."""
REVERSAL = "TRANSFER_REVERSAL"
OUTSIDE_COLLECTION = r"^(?:INSURANCE|INCOME|SAVINGS|TRANSFER|TAXES|HOUSING_RENT)"


def evidence(seen: Snapshot, view: AffordabilityWindow, told: pl.DataFrame, lent: pl.DataFrame) -> pl.DataFrame:
    """All evidence of all flags, each booking once for a flag, by day."""
    found = [
        _by_contract(seen, view, lent),
        _own_loans(seen, view),
        _late_rents(view),
        _returned(seen, view),
        _flagged(told, "return_debits", words.says(words.RETURN_FEE)),
        _flagged(told, "reminder_charges", _reminder()),
        _flagged(told, "seizure_payments", words.says(words.SEIZURE, words.NO_SEIZURE)),
        _collections(view, told),
        _flagged(told, "overdraft", words.says(words.OVERDRAFT)),
    ]
    return pl.concat(found).unique(("who", "flag", "id")).sort("who", "flag", "booked_on", "id")


def _flagged(rows: pl.DataFrame, flag: str, condition: pl.Expr | None = None) -> pl.DataFrame:
    chosen = rows if condition is None or rows.is_empty() else rows.filter(condition)
    return chosen.select("who", pl.lit(flag).alias("flag"), "id", "booked_on")


def _reminder() -> pl.Expr:
    return (pl.col("gv_code") == words.REMINDER_CODE).fill_null(value=False) | words.says(words.REMINDER)


def _by_contract(seen: Snapshot, view: AffordabilityWindow, lent: pl.DataFrame) -> pl.DataFrame:
    """The regular payments of active contracts: rent, mortgages, and loans that are not paid back.

    Instalments of a purchase are a loan from three on.
    """
    flags = dict.fromkeys(CREDITS, "existing_loans") | dict.fromkeys(MORTGAGES, "mortgage_payments") | {RENT: "rental_payments"}
    few = pl.max_horizontal("term_months", "installments_paid") < LEAST_INSTALMENTS
    none = lent.filter(((pl.col("kind") == PURCHASE) & few) | (pl.col("remaining_amount") == 0).fill_null(value=False))
    active = seen.contracts.filter(pl.col("status") == "ACTIVE", pl.col("category").is_in(list(flags)))
    counted = active.join(none.select("user", id="contract"), on=["user", "id"], how="anti")
    marked = counted.select(key=user_key("id"), flag=pl.col("category").replace_strict(flags, return_dtype=pl.String))
    paid = seen.payments.filter("regular").with_columns(key=user_key("contract")).join(marked, on="key", how="inner")
    return paid.join(view.users.select("user", "who"), on="user", how="inner").select(EVIDENCE)


def _own_loans(seen: Snapshot, view: AffordabilityWindow) -> pl.DataFrame:
    """What is paid for a loan account of one's own: as a transfer it belongs to no contract."""
    own = seen.products.filter(pl.col("category") == ProductCategory.LOAN)
    repaid = view.rows.filter(pl.col("amount_cents") < 0, pl.col("effective_category") == "TRANSFER_LOAN")
    return _flagged(repaid.join(own, on="user", how="semi"), "existing_loans")


def _late_rents(view: AffordabilityWindow) -> pl.DataFrame:
    """Rents of the last two months, with or without a contract."""
    rents = view.rows.filter(pl.col("amount_cents") < 0, pl.col("effective_category") == RENT)
    days = (view.users["as_of"].gather(rents["who"]) - rents["booked_on"]).dt.total_days()
    return _flagged(rents.filter(days <= RENT_DAYS), "rental_payments")


def _returned(seen: Snapshot, view: AffordabilityWindow) -> pl.DataFrame:
    """Debits that came back within days because they were not covered, and not because somebody objected."""
    back = view.rows.filter(pl.col("amount_cents") > 0, pl.col("effective_category") == REVERSAL)
    if back.is_empty():
        return _flagged(back, "return_debits")
    debits = seen.bookings.lazy().filter(pl.col("amount_cents") < 0, pl.col("effective_category") == REVERSAL)
    origin = debits.select(key=user_key("id"), debited_on="booked_on", way="channel").collect()
    paired = back.with_columns(key=user_key("pair_of")).join(origin, on="key", how="left", maintain_order="left")
    heard = paired.with_columns(said=words.said(seen, paired["row"]), days=_business_days(paired))
    debit = (pl.col("channel") == Channel.DD_RETURN) | (pl.col("way") == Channel.DIRECTDEBIT).fill_null(value=False)
    soon = (pl.col("days") <= RETURN_BUSINESS_DAYS).fill_null(value=True)
    return _flagged(heard, "return_debits", (debit | words.says(words.RETURN)) & soon & ~words.says(words.OBJECTION))


def _business_days(rows: pl.DataFrame) -> pl.Series:
    """From `debited_on` to `booked_on`; null where a day is missing."""
    numbers = [rows[name].to_physical().cast(pl.Int64).fill_null(0).to_numpy() for name in ("debited_on", "booked_on")]
    since, until = (np.searchsorted(calendar().business, days) for days in numbers)
    return pl.select(pl.when(rows["debited_on"].is_not_null()).then(pl.Series(until - since))).to_series()


def _collections(view: AffordabilityWindow, told: pl.DataFrame) -> pl.DataFrame:
    known = partners().frame.filter("inkasso")["partner"].implode()
    outside = pl.col("effective_category").str.contains(OUTSIDE_COLLECTION) | pl.col("effective_category").is_in(words.SENSITIVE)
    paid = view.rows.filter(pl.col("amount_cents") < 0, pl.col("partner").is_in(known)).filter(~outside)
    said = told.filter(words.says(words.COLLECTION, words.NO_COLLECTION), ~outside)
    return pl.concat([_flagged(paid, "debt_collection_payments"), _flagged(said, "debt_collection_payments")])
