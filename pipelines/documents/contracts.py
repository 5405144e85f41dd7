"""The contracts of users as JSON."""

from collections.abc import Iterator
from typing import Any

import orjson
import polars as pl

from analytics import trees
from analytics.seen import Seen
from pipelines.documents.tags import USER, TagWriter, tag_tree_item

UNRELATED, HOME_SAVINGS = "UNRELATED_OTHER", "SAVINGS_LIFEBUILDING"
ALL, INSURANCE, EXTENDED = "contracts", "contracts-insurance", "contracts-insurance-extended"
"""The documents of contracts: all, those with an insurance, and those with home savings as well."""


def contract_documents(writer: TagWriter, seen: Seen) -> Iterator[tuple[str, dict[str, bytes]]]:
    """Each user that has contracts, with the three documents."""
    for (user,), of_user in _told(seen).group_by("user", maintain_order=True):
        rows = [(row["insurance"], row["category"], _written(writer, str(user), row)) for row in of_user.iter_rows(named=True)]
        insured = [body for insurance, _, body in rows if insurance != UNRELATED]
        extended = [body for insurance, category, body in rows if insurance != UNRELATED or category == HOME_SAVINGS]
        every = [body for _, _, body in rows]
        yield str(user), {name: listed(bodies) for name, bodies in ((ALL, every), (INSURANCE, insured), (EXTENDED, extended))}


def listed(bodies: list[bytes]) -> bytes:
    """The JSON of a list."""
    return b"[%b]" % b",".join(bodies)


def euros(cents: float | None) -> float | None:
    """An amount as the interface shows it."""
    return None if cents is None else round(cents / 100, 2)


def _told(seen: Seen) -> pl.DataFrame:
    """The contracts with their bookings: ids, and what was paid on which day."""
    parts = {"": pl.lit(value=True), "_regular": pl.col("regular"), "_other": ~pl.col("regular")}
    ids = {f"ids{name}": pl.col("id").filter(which) for name, which in parts.items()}
    days = {f"days{name}": pl.col("booked_on").filter(which) for name, which in parts.items()}
    paid = {f"paid{name}": pl.col("amount_cents").filter(which) for name, which in parts.items()}
    bookings = seen.payments.group_by("contract", maintain_order=True).agg(**ids, **days, **paid)
    return seen.contracts.join(bookings, left_on="id", right_on="contract", how="left", maintain_order="left")


def _written(writer: TagWriter, user: str, row: dict[str, Any]) -> bytes:
    body = writer.write("CATEGORIES", row["category"], row["id"], writer.entity(user, _name(row), user, USER), _details(row))
    items = {
        "tagTreeItemBusinessPartner": _item("BUSINESS_PARTNERS", row["partner"]),
        "tagTreeItemCategory": _item("CATEGORIES", row["category"]),
        "tagTreeItemInsuranceType": _item("INSURANCE_TYPES", row["insurance"]),
        "tagTreeItemPeriod": _item("PERIODS", row["period"]),
    }
    return b"%b,%b" % (body[:-1], orjson.dumps(items)[1:])


def _name(row: dict[str, Any]) -> str:
    partner = trees.tree("BUSINESS_PARTNERS").item(row["partner"])
    return row["counterparty_name"] or partner.display_name


def _item(tree: str, name: str) -> dict[str, Any]:
    found = trees.tree(tree)
    return tag_tree_item(found, found.item(name), with_categories=True)


def _details(row: dict[str, Any]) -> dict[str, Any]:
    """Everything about a contract, in the names of the interface."""
    details: dict[str, Any] = {
        "amountFirst": euros(row["amount_first"]),
        "amountLatest": euros(row["amount_latest"]),
        "amountMaximum": euros(row["amount_maximum"]),
        "amountMean": euros(row["amount_mean"]),
        "amountMedian": euros(row["amount_median"]),
        "amountMinimum": euros(row["amount_minimum"]),
        "amountNext": euros(row["amount_next"]),
        "amountTotal": euros(row["amount_total_regular"] + row["amount_total_non_regular"]),
        "amountTotalNonRegular": euros(row["amount_total_non_regular"]),
        "amountTotalRegular": euros(row["amount_total_regular"]),
        "contractNumbers": row["contract_numbers"],
        "customerNumbers": row["customer_numbers"],
        "costDevelopment": _by_day(row["days"], row["paid"]),
        "costDevelopmentNonRegular": _by_day(row["days_other"], row["paid_other"]),
        "costDevelopmentRegular": _by_day(row["days_regular"], row["paid_regular"]),
        "counterpartyBic": row["counterparty_bic"],
        "counterpartyIban": row["counterparty_iban"],
        "counterpartyName": row["counterparty_name"],
        "counterpartyNameUltimate": row["ultimate_name"],
        "dateFirst": row["date_first"],
        "dateLatest": row["date_latest"],
        "dateNext": row["date_next"],
        "dateStart": row["date_start"],
        "daysAge": row["days_age"],
        "growthRate": round(row["growth_rate"], 4),
        "standardDeviation": euros(row["standard_deviation"]),
        "status": row["status"],
        "overdue": row["overdue"],
        "transactionIds": row["ids"],
        "transactionIdsNonRegular": row["ids_other"],
        "transactionIdsRegular": row["ids_regular"],
        "confidenceLevel": round(row["confidence"], 4),
        "reason": row["reason"],
        "priceChanges": [
            {"date": change["date"], "amountBefore": euros(change["before"]), "amountAfter": euros(change["after"])}
            for change in row["price_changes"]
        ],
    }
    if row["period_confidence"] is not None:
        details["periodConfidenceLevel"] = round(row["period_confidence"], 4)
    return details


def _by_day(days: list[Any], cents: list[int]) -> dict[str, float | None]:
    """What was paid on each day."""
    sums: dict[str, int] = {}
    for day, amount in zip(days, cents, strict=True):
        sums[day.isoformat()] = sums.get(day.isoformat(), 0) + amount
    return {day: euros(amount) for day, amount in sums.items()}
