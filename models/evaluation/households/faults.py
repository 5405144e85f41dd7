"""What is wrong with the results of households, in words for people who work on the faults: bookings, values and reasons."""

from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from models.evaluation.households.frames import BlindHouseholds
from models.evaluation.households.outcomes import (
    AnalysedHouseholds,
    amount_outcomes,
    category_outcomes,
    compared_contracts,
    contract_outcomes,
    contract_shares,
    event_outcomes,
    flag_outcomes,
    stage_outcomes,
)

MAX_TEXTS, MAX_SUMS = 4, 8
MIN_ERROR = 0.001
"""Smaller relative errors of income and expenses are not explained."""
MIN_CENTS = 100
"""Smaller sums a month do not explain an error."""
UNCOUNTED = r"^(?:TRANSFER_|SAVINGS_|BANKFINANCE_(?:INVESTMENT|CREDITINCOME|ATMDEPOSIT|CASHDEPOSIT)$)"
"""Categories that are neither income nor expenses."""


class Fault(NamedTuple):
    """Something that is wrong: the household, its subject, and the words for it."""

    household: str
    subject: str
    text: str


def faults(truth: BlindHouseholds, analysed: AnalysedHouseholds) -> list[Fault]:
    """All faults, by household and subject."""
    subjects = (_missed_contracts, _false_contracts, _contract_details, _events, _stages, _flags, _amounts)
    every_fault = [fault for subject in subjects for fault in subject(truth, analysed)]
    return sorted(every_fault, key=lambda fault: fault.household)


def _missed_contracts(truth: BlindHouseholds, analysed: AnalysedHouseholds) -> Iterator[Fault]:
    """True contracts that were not recognised, with the contracts that have some of their bookings instead."""
    contracts = analysed.frames["contracts"].select("category", "period", contract="id")
    shares = contract_shares(truth, analysed).join(contracts, on="contract").sort("covered", "contract", descending=True)
    missed = contract_outcomes(truth, analysed).filter(~pl.col("recognised")).select("true_contract")
    for row in missed.join(truth.contracts, on="true_contract", maintain_order="left").iter_rows(named=True):
        is_own = pl.col("true_contract") == row["true_contract"]
        parts = [
            f"{part['category']} {part['period']} has {part['covered']} of {part['true_regular']}, {part['strangers']} strangers"
            for part in shares.filter(is_own).iter_rows(named=True)
        ]
        head = f"{row['label']}, {row['true_category']} {row['true_period']} {row['true_status']}"
        bookings = truth.contract_bookings.filter(is_own, "true_regular")
        yield Fault(row["user"], "contract missed", _lines(head, parts, _texts(analysed, bookings["id"])))


def _false_contracts(truth: BlindHouseholds, analysed: AnalysedHouseholds) -> Iterator[Fault]:
    """Recognised contracts that are none, with the true contracts that have some of their bookings."""
    labels = truth.contracts.select("true_contract", "label")
    shares = contract_shares(truth, analysed).join(labels, on="true_contract").sort("shared", "label", descending=True)
    false_rows = contract_outcomes(truth, analysed).filter(~pl.col("there")).select("contract")
    contracts = analysed.frames["contracts"].rename({"id": "contract"})
    for row in false_rows.join(contracts, on="contract", maintain_order="left").iter_rows(named=True):
        is_own = pl.col("contract") == row["contract"]
        parts = [
            f"{part['label']} has {part['shared']} of {part['size']}" for part in shares.filter(is_own).iter_rows(named=True)
        ]
        head = f"{row['counterparty_name']}, {row['category']} {row['period']} {row['status']}: {row['reason']}"
        bookings = analysed.frames["contract_bookings"].filter(is_own)
        yield Fault(row["user"], "contract false", _lines(head, parts, _texts(analysed, bookings["id"])))


def _contract_details(truth: BlindHouseholds, analysed: AnalysedHouseholds) -> Iterator[Fault]:
    """Recognised contracts whose category, period, status, next date or next amount is wrong."""
    details = {
        "category": ("category", "true_category"),
        "period": ("period", "true_period"),
        "status": ("status", "true_status"),
        "next": ("date_next", "true_next"),
        "amount": ("amount_next", "true_amount_next"),
    }
    for row in compared_contracts(truth, analysed).iter_rows(named=True):
        for part, (name, true_name) in details.items():
            if row[f"{part}_right"] is False:
                latest = f"latest {row['date_latest']} {row['amount_latest']}, {row['period']}, {row['regular_count']} bookings"
                text = f"{row['label']}: {row[name]} instead of {row[true_name]} ({row['true_category']}, {latest})"
                yield Fault(row["user"], f"contract {part}", text)


def _events(truth: BlindHouseholds, analysed: AnalysedHouseholds) -> Iterator[Fault]:
    outcomes = event_outcomes(truth, analysed).filter(pl.col("there") != pl.col("recognised"))
    for row in outcomes.iter_rows(named=True):
        subject = "event missed" if row["there"] else "event false"
        yield Fault(row["user"], subject, " ".join(filter(None, (row["item"], str(row["date"]), row["reason"]))))


def _stages(truth: BlindHouseholds, analysed: AnalysedHouseholds) -> Iterator[Fault]:
    for row in stage_outcomes(truth, analysed).filter(_is_wrong()).iter_rows(named=True):
        text = f"{row['dimension']}: {row['prediction']} instead of {row['truth']}"
        yield Fault(row["user"], "stage", f"{text} ({row['reason']})" if row["reason"] else text)


def _flags(truth: BlindHouseholds, analysed: AnalysedHouseholds) -> Iterator[Fault]:
    """Wrong flags; those that should not be set with their bookings."""
    ids = {row["user"]: row for row in analysed.frames["affordability"].iter_rows(named=True)}
    for row in flag_outcomes(truth, analysed).filter(_is_wrong()).iter_rows(named=True):
        text = f"{row['flag']}: {row['prediction']} instead of {row['truth']}"
        evidence = pl.Series(ids[row["user"]][f"{row['flag']}_ids"] if row["prediction"] else [], dtype=pl.String)
        yield Fault(row["user"], "flag", _lines(text, [], _texts(analysed, evidence)))


def _amounts(truth: BlindHouseholds, analysed: AnalysedHouseholds) -> Iterator[Fault]:
    """Wrong monthly income and expenses, with the differences by category and the bookings in other categories than true."""
    rows = _window_bookings(truth, analysed)
    for row in amount_outcomes(truth, analysed).iter_rows(named=True):
        own_rows = rows.filter(pl.col("user") == row["user"])
        for name in ("income", "expenses"):
            if row[f"{name}_error"] > MIN_ERROR:
                text = (
                    f"{_euros(row[f'predicted_{name}'])} instead of {_euros(row[name])}, {100 * row[f'{name}_error']:.2f} % off"
                )
                parts = _category_sums(own_rows, analysed, row["user"], name)
                yield Fault(row["user"], name, _lines(text, parts, _confusions(own_rows, analysed, name)))


def _window_bookings(truth: BlindHouseholds, analysed: AnalysedHouseholds) -> pl.DataFrame:
    """The bookings in the months that affordability counts: `user`, `id`, `truth`, `effective_category`, `cents` a month."""
    windows = analysed.frames["affordability"].select("user", "window_first", "window_last", "months")
    bookings = category_outcomes(truth, analysed).join(windows, on="user")
    in_window = bookings.filter(pl.col("booked_on").is_between("window_first", "window_last"))
    return in_window.with_columns(cents=pl.col("amount_cents") / pl.col("months"))


def _category_sums(rows: pl.DataFrame, analysed: AnalysedHouseholds, user: str, name: str) -> list[str]:
    """The categories whose monthly sums differ most. The truth is summed by the categories of bookings, refunds on their own."""
    sign, is_part = (1, _is_income("truth")) if name == "income" else (-1, _is_expense("truth"))
    true_sums = rows.filter(is_part).group_by(category="truth").agg(true_cents=sign * pl.sum("cents"))
    is_income = pl.col("part") == "income"
    amounts = analysed.frames["affordability_amounts"].filter(
        pl.col("user") == user, is_income if name == "income" else ~is_income
    )
    sums = amounts.group_by("category").agg(cents=pl.sum("cents")).join(true_sums, on="category", how="full", coalesce=True)
    off = (pl.col("cents") - pl.col("true_cents")).abs()
    differing = sums.fill_null(0).filter(off >= MIN_CENTS).sort(off, "category", descending=[True, False])
    return [
        f"{category}: {_euros(cents)} instead of {_euros(true_cents)}"
        for category, cents, true_cents in differing.head(MAX_SUMS).select("category", "cents", "true_cents").iter_rows()
    ]


def _confusions(rows: pl.DataFrame, analysed: AnalysedHouseholds, name: str) -> list[str]:
    """The largest monthly sums with another category than the true one, if either is a part of the amount, with an example."""
    is_part = _is_income if name == "income" else _is_expense
    confused = rows.filter(pl.col("truth") != pl.col("effective_category"), is_part("truth") | is_part("effective_category"))
    largest_first = confused.sort(pl.col("cents").abs(), "id", descending=[True, False])
    groups = largest_first.group_by("truth", "effective_category", maintain_order=True).agg(
        count=pl.len(), cents=pl.sum("cents"), id=pl.first("id")
    )
    largest = groups.filter(pl.col("cents").abs() >= MIN_CENTS).sort(pl.col("cents").abs(), "id", descending=[True, False])
    return [
        f"{row['effective_category']} instead of {row['truth']}: {_euros(row['cents'])} a month in {row['count']}, e.g. {text}"
        for row in largest.head(MAX_SUMS).iter_rows(named=True)
        for text in _texts(analysed, pl.Series([row["id"]]))
    ]


def _is_income(name: str) -> pl.Expr:
    return pl.col(name).str.contains("^(?:INCOME_|OTHER_INCOME$)")


def _is_expense(name: str) -> pl.Expr:
    return ~_is_income(name) & ~pl.col(name).str.contains(UNCOUNTED)


def _is_wrong() -> pl.Expr:
    return pl.col("truth").ne_missing(pl.col("prediction"))


def _texts(analysed: AnalysedHouseholds, ids: pl.Series) -> list[str]:
    """The first and last bookings of these as lines: day, amount, texts and category."""
    bookings = analysed.tagged_bookings.filter(pl.col("id").is_in(ids.implode())).sort("booked_on", "id")
    text = pl.concat_str("booking_text", "counterparty_name", "purpose", separator=" | ", ignore_nulls=True)
    rows = bookings.select("booked_on", "amount_cents", text.str.replace_all(r"\s+", " ").alias("text"), "category").rows()
    edge = MAX_TEXTS // 2
    shown_rows = rows if len(rows) <= MAX_TEXTS else [*rows[:edge], *rows[-edge:]]
    lines = [f"{day} {_euros(cents)} {words} [{category}]" for day, cents, words, category in shown_rows]
    return lines if len(rows) <= MAX_TEXTS else [*lines[:edge], f"… {len(rows) - 2 * edge} more", *lines[edge:]]


def _lines(head: str, *parts: list[str]) -> str:
    return "\n".join((head, *(f"  {line}" for part in parts for line in part)))


def _euros(cents: float | None) -> str:
    return "nothing" if cents is None else f"{cents / 100:.2f}"
