"""Households as documents: reading and writing files, and the check of a document. Their frames are in `frames`."""

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from analytics.products import ProductCategory
from analytics.trees import tree

Document = Mapping[str, Any]
KINDS = {
    "GIROKONTO": ProductCategory.CHECKING,
    "TAGESGELD": ProductCategory.CALL_MONEY,
    "SPARKONTO": ProductCategory.SAVINGS,
    "KREDITKARTE": ProductCategory.CREDIT_CARD,
    "DEPOT": ProductCategory.DEPOT,
    "DARLEHEN": ProductCategory.LOAN,
    "BAUSPAREN": ProductCategory.HOME_SAVINGS,
}
DIMENSIONS = ("LABOURMARKET", "PARENTHOOD", "HOUSING", "SAVINGS")
LANDLORD = "landlord"
"""Stands beside the dimensions of stages: whether the household lets."""
FLAGS = {
    "existingLoans": "existing_loans",
    "mortgagePayments": "mortgage_payments",
    "rentalPayments": "rental_payments",
    "returnDebits": "return_debits",
    "reminderCharges": "reminder_charges",
    "seizurePayments": "seizure_payments",
    "debtCollectionPayments": "debt_collection_payments",
    "gambling": "gambling",
}
"""The flags of affordability in documents, and as the analysis names them."""
STATUSES = frozenset(("ACTIVE", "INACTIVE"))


def read_documents(path: Path) -> list[Document]:
    """The households of a file, or of all JSON files below a folder, in the order of their names."""
    files = sorted(file for file in path.rglob("*.json*") if file.is_file()) if path.is_dir() else [path]
    documents = [document for file in files for document in _documents_of(file)]
    if not documents:
        raise ValueError(f"{path} has no households")
    return documents


def write_documents(documents: Sequence[Document], file: Path) -> None:
    """Writes all households into one file; equal households give equal bytes."""
    text = json.dumps(list(documents), ensure_ascii=False, separators=(",", ":"))
    file.write_bytes(gzip.compress(text.encode(), mtime=0))


def check(documents_by_user: Mapping[str, Document]) -> None:
    """Raises an error with all mistakes in the documents: a mistake of their writer must not count as one of the analyses."""
    mistakes = [f"{user}: {mistake}" for user, document in documents_by_user.items() for mistake in _mistakes(document)]
    if mistakes:
        raise ValueError("; ".join(mistakes))


def _documents_of(file: Path) -> list[Document]:
    """The households of one file: a list of them, or one alone."""
    content = file.read_bytes()
    try:
        value = json.loads(gzip.decompress(content) if file.suffix == ".gz" else content)
    except ValueError as error:
        raise ValueError(f"{file.name} is no JSON: {error}") from error
    documents = value if isinstance(value, list) else [value]
    if not all(isinstance(document, dict) and "bookings" in document for document in documents):
        raise ValueError(f"{file.name} is no household")
    return documents


def _mistakes(document: Document) -> Iterator[str]:
    as_of, ids = document["as_of"], [booking["id"] for booking in document["bookings"]]
    date.fromisoformat(as_of)
    contracts, accounts = document["contracts"], {account["id"] for account in document["accounts"]}
    contract_ids = (id_ for contract in contracts for id_ in (*contract["bookings"], *contract.get("irregular_bookings", ())))
    yield from _strange("kind", (account["kind"] for account in document["accounts"]), KINDS)
    yield from _strange("account", (booking["account"] for booking in document["bookings"]), accounts)
    yield from _strange("booking of a contract", contract_ids, ids)
    yield from _strange("status", (contract["status"] for contract in contracts), STATUSES)
    yield from _strange("category", (part["category"] for part in (*document["bookings"], *contracts)), _items("CATEGORIES"))
    yield from _strange("period", (contract["period"] for contract in contracts), _items("PERIODS"))
    yield from _strange("event", (event["item"] for event in document["events"]), _items("LIFE_EVENTS"))
    yield from _strange("stage", (document["stages"].get(name) for name in DIMENSIONS), _items("LIFE_STAGES"))
    yield from _strange("flag", set(FLAGS) - set(document["affordability"]), ())
    if len(set(ids)) < len(ids):
        yield "ids of bookings occur twice"
    if any(booking["date"] > as_of for booking in document["bookings"]):
        yield "bookings after the as-of date"


def _strange(kind: str, values: Any, allowed: Any) -> Iterator[str]:
    """A mistake for each value that is not allowed."""
    return (f"{kind} {value}" for value in sorted(set(map(str, values)) - set(allowed)))


def _items(name: str) -> frozenset[str]:
    return frozenset(item.system_name for item in tree(name).items if item.assignable)
