"""The truth about how users save: the share of their income that they put aside, as the rule reads, over what is true of them."""

import polars as pl

from models.simulator.truth.plain_users import TrueLife, month_of

MOST_MONTHS, LEAST_MONTHS = 6, 3
OWN = ("TRANSFER_SAVINGS", "TRANSFER_SECURITIES")


def saving_truth(known: list[TrueLife]) -> pl.DataFrame:
    """`user` and `item`: the stage of saving of these users on the as-of date."""
    rows = [(life.user, f"SAVINGS_{_stage(life)}") for life in known]
    return pl.DataFrame(rows, schema={"user": pl.String, "item": pl.String}, orient="row")


def _stage(life: TrueLife) -> str:
    months = life.full_months[-MOST_MONTHS:]
    income = sum(life.incomes.get(month, 0) for month in months)
    if len(months) < LEAST_MONTHS or income <= 0:
        return "UNKNOWN"
    aside = -sum(
        booking.cents
        for booking in life.bookings
        if month_of(booking.day) in months and not booking.stored and (_saved(booking.category) or booking.category in OWN)
    )
    rate = aside / income
    by_contract = any(contract.active and _saved(contract.category) for contract in life.contracts)
    if rate < 0.01:
        return "DISSAVING" if rate < -0.05 else "NONE"
    if not by_contract:
        return "OCCASIONAL"
    return "INTENSIVE" if rate >= 0.15 else "REGULAR"


def _saved(category: str) -> bool:
    return category.startswith("SAVINGS_") or category == "BANKFINANCE_INVESTMENT"
