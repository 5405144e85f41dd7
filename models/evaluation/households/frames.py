"""The frames of households: bookings and products as the taggers read them, and the truth about them."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import polars as pl

from analytics.frames import AS_OF, PRODUCTS, TRANSACTIONS, checked
from models.evaluation.households.documents import DIMENSIONS, FLAGS, KINDS, LANDLORD, Document, check

Row = dict[str, Any]
REFERENCES = {"EREF": "end_to_end", "MREF": "mandate", "CRED": "creditor_id"}
REMITTANCE = "SVWZ+"
TRUE_CATEGORIES = pl.Schema({"user": pl.String, "id": pl.String, "truth": pl.String})
TRUE_CONTRACTS = pl.Schema(
    {
        "user": pl.String,
        "true_contract": pl.String,
        "label": pl.String,
        "true_category": pl.String,
        "true_period": pl.String,
        "true_status": pl.String,
        "true_next": pl.Date,
        "true_amount_next": pl.Int64,
    }
)
TRUE_CONTRACT_BOOKINGS = pl.Schema({"user": pl.String, "true_contract": pl.String, "id": pl.String, "true_regular": pl.Boolean})
TRUE_EVENTS = pl.Schema({"user": pl.String, "item": pl.String, "date": pl.Date})
TRUE_STAGES = pl.Schema({"user": pl.String, "dimension": pl.String, "truth": pl.String})
"""The dimension `landlord` has the stages `true` and `false`."""
TRUE_FLAGS = pl.Schema({"user": pl.String, "flag": pl.String, "truth": pl.Boolean})
TRUE_AMOUNTS = pl.Schema({"user": pl.String, "income": pl.Int64, "expenses": pl.Int64})


@dataclass(frozen=True)
class BlindHouseholds:
    """The bookings, products and as-of dates of households, and the truth about them. Each household is a user."""

    transactions: pl.DataFrame
    products: pl.DataFrame
    as_of: pl.DataFrame
    categories: pl.DataFrame
    contracts: pl.DataFrame
    contract_bookings: pl.DataFrame
    events: pl.DataFrame
    stages: pl.DataFrame
    flags: pl.DataFrame
    amounts: pl.DataFrame


def households(documents: Iterable[Document]) -> BlindHouseholds:
    """The frames of documents, after a check. The user is the name of the household, with a number if several have it."""
    documents_by_user = _by_user(documents)
    check(documents_by_user)

    def frame(rows: Callable[[str, Document], Iterator[Row]], schema: pl.Schema) -> pl.DataFrame:
        every_row = [row for user, document in documents_by_user.items() for row in rows(user, document)]
        return checked(pl.DataFrame(every_row, schema=schema, orient="row"), schema)

    return BlindHouseholds(
        frame(_transactions, TRANSACTIONS),
        frame(_products, PRODUCTS),
        frame(_as_of, AS_OF),
        frame(_categories, TRUE_CATEGORIES),
        frame(_contracts, TRUE_CONTRACTS),
        frame(_contract_bookings, TRUE_CONTRACT_BOOKINGS),
        frame(_events, TRUE_EVENTS),
        frame(_stages, TRUE_STAGES),
        frame(_flags, TRUE_FLAGS),
        frame(_amounts, TRUE_AMOUNTS),
    )


def _by_user(documents: Iterable[Document]) -> dict[str, Document]:
    turns: Counter[str] = Counter()
    documents_by_user = {}
    for document in documents:
        name = str(document["household"])
        turns[name] += 1
        documents_by_user[name if turns[name] == 1 else f"{name}-{turns[name]}"] = document
    return documents_by_user


def _transactions(user: str, document: Document) -> Iterator[Row]:
    for booking in document["bookings"]:
        booked_on = date.fromisoformat(booking["date"])
        yield {
            "id": _id(user, booking["id"]),
            "user": user,
            "product": _id(user, booking["account"]),
            "booked_on": booked_on,
            "value_on": booked_on,
            "amount_cents": _cents(booking["amount"]),
            "currency": "EUR",
            "purpose": _purpose(booking),
            "booking_text": booking.get("booking_text") or None,
            "gv_code": booking.get("gv_code") or None,
            "primanota": None,
            "counterparty_name": booking.get("name") or None,
            "counterparty_iban": booking.get("iban") or None,
            "counterparty_bic": None,
            "ultimate_name": booking.get("ultimate") or None,
            "pending": False,
        }


def _purpose(booking: Mapping[str, str]) -> str | None:
    """The purpose in the form of the house: references that are fields of their own stand before it, unless it has them."""
    remittance = booking.get("purpose") or ""
    references = [
        f"{tag}+{booking[name]}" for tag, name in REFERENCES.items() if booking.get(name) and f"{tag}+" not in remittance
    ]
    has_tags = any(f"{tag}+" in remittance for tag in (*REFERENCES, "SVWZ"))
    text = remittance if has_tags or not (references and remittance) else f"{REMITTANCE}{remittance}"
    return "\n".join((*references, *([text] if text else []))) or None


def _products(user: str, document: Document) -> Iterator[Row]:
    for account in document["accounts"]:
        yield {
            "user": user,
            "product": _id(user, account["id"]),
            "category": KINDS[account["kind"]].value,
            "iban": account.get("iban") or None,
            "owner_name": document.get("holder") or None,
            "balance_cents": _cents(account.get("balance")),
        }


def _as_of(user: str, document: Document) -> Iterator[Row]:
    yield {"user": user, "as_of": date.fromisoformat(document["as_of"])}


def _categories(user: str, document: Document) -> Iterator[Row]:
    return ({"user": user, "id": _id(user, row["id"]), "truth": row["category"]} for row in document["bookings"])


def _contracts(user: str, document: Document) -> Iterator[Row]:
    for number, contract in enumerate(document["contracts"]):
        yield {
            "user": user,
            "true_contract": _id(user, str(number)),
            "label": contract.get("label", ""),
            "true_category": contract["category"],
            "true_period": contract["period"],
            "true_status": contract["status"],
            "true_next": _day(contract.get("next_date")),
            "true_amount_next": _cents(contract.get("next_amount")),
        }


def _contract_bookings(user: str, document: Document) -> Iterator[Row]:
    for number, contract in enumerate(document["contracts"]):
        for name, regular in (("bookings", True), ("irregular_bookings", False)):
            for booking in dict.fromkeys(contract.get(name, ())):
                yield {
                    "user": user,
                    "true_contract": _id(user, str(number)),
                    "id": _id(user, booking),
                    "true_regular": regular,
                }


def _events(user: str, document: Document) -> Iterator[Row]:
    return ({"user": user, "item": event["item"], "date": _day(event["date"])} for event in document["events"])


def _stages(user: str, document: Document) -> Iterator[Row]:
    stages = document["stages"]
    for dimension in DIMENSIONS:
        yield {"user": user, "dimension": dimension, "truth": stages[dimension]}
    yield {"user": user, "dimension": LANDLORD, "truth": str(bool(stages.get(LANDLORD))).lower()}


def _flags(user: str, document: Document) -> Iterator[Row]:
    return ({"user": user, "flag": FLAGS[name], "truth": document["affordability"][name]} for name in FLAGS)


def _amounts(user: str, document: Document) -> Iterator[Row]:
    yield {"user": user, **{name: _cents(document[f"monthly_{name}"]) for name in ("income", "expenses")}}


def _id(user: str, name: str) -> str:
    return f"{user}/{name}"


def _day(text: str | None) -> date | None:
    return date.fromisoformat(text) if text else None


def _cents(euros: str | None) -> int | None:
    return int((Decimal(str(euros)) * 100).to_integral_value()) if euros not in (None, "") else None
