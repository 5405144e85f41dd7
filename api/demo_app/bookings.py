"""Values of the demo's timeline of bookings, and the categories that a visitor can choose. No markup."""

import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from api.demo_app.formats import cents
from api.schemas.transactions import WIRE_NAMES

LOGO_COLOURS = 8
UNKNOWN_PARTNER = "UNKNOWN"
INCOME_GROUPS = ("INCOME", "OTHER", "TRANSFER", "BANKFINANCE", "TAXES")
"""The main categories of money that comes in."""
EXPENSE_ONLY = "INCOME"
NAMELESS = "Buchung"
PURPOSE_OF_FIELDS = re.compile(r"SVWZ\+(.*?)(?=(?:EREF|KREF|MREF|CRED|DEBT|ABWA|ABWE|IBAN|BIC)\+|$)")
REFERENCES = re.compile(r" ?(?:(?:EREF|MREF|CRED|ABWE): ?|(?:Mandat|Referenz):(?=\S)).*$")
PENDING = "VORGEMERKT "


@dataclass(frozen=True)
class BookingView:
    """A booking: whom the money went to or came from, and how its category was found."""

    id: str
    day: str
    name: str
    monogram: str
    colour: int
    purpose: str
    amount: int
    currency: str
    pending: bool
    category: str
    category_name: str
    confidence: float
    reason: str
    source: str


@dataclass(frozen=True)
class CategoryGroup:
    """A main category with the categories below it, each with its system name and its name."""

    name: str
    items: tuple[tuple[str, str], ...]


def bookings(categorised: Iterable[dict[str, Any]], partnered: Iterable[dict[str, Any]]) -> list[BookingView]:
    """The bookings of a list with categories, the newest first; names of known partners come from a list with partners."""
    partners = {item["id"]: item["tags"][0]["tagTreeItem"] for item in partnered if item.get("tags")}
    return [_view(item, partners.get(item["id"])) for item in categorised if item.get("tags")]


def by_day(views: Iterable[BookingView]) -> list[tuple[str, list[BookingView]]]:
    """The bookings of each day."""
    return [(day, list(group)) for day, group in groupby(views, key=lambda view: view.day)]


def category_groups(items: Iterable[dict[str, Any]], amount_cents: int) -> list[CategoryGroup]:
    """The categories for money of this sign, by main category, from the items of the category tree."""
    all_items = list(items)
    names = {item["systemName"]: item["displayName"] for item in all_items}
    children: dict[str, list[tuple[str, str]]] = {}
    for item in all_items:
        parent = item.get("systemNameParent")
        if parent:
            children.setdefault(parent, []).append((item["systemName"], item["displayName"]))
    children["TAXES"] = [("TAXES", names.get("TAXES", "Steuern"))]
    allowed = INCOME_GROUPS if amount_cents > 0 else [name for name in children if name != EXPENSE_ONLY]
    return [CategoryGroup(names[name], tuple(children[name])) for name in allowed if name in children and name in names]


def booking_field(item: dict[str, Any], name: str) -> Any:
    """The value of a field of a booking by our name for it; None if the booking has none."""
    return item.get(WIRE_NAMES[name])


def _view(item: dict[str, Any], partner: dict[str, Any] | None) -> BookingView:
    tag = item["tags"][0]
    has_partner = partner is not None and partner["systemName"] != UNKNOWN_PARTNER
    purpose = " ".join((booking_field(item, "purpose") or "").split())
    name = (partner or {}).get("displayName") if has_partner else (booking_field(item, "counterparty_name") or "").strip()
    name = name or purpose[:40] or (booking_field(item, "booking_text") or NAMELESS).capitalize()
    return BookingView(
        id=item["id"],
        day=booking_field(item, "booked_on")[:10],
        name=name,
        monogram=monogram(name),
        colour=logo_colour(name),
        purpose=plain_purpose(purpose),
        amount=cents(booking_field(item, "amount")),
        currency=booking_field(item, "currency"),
        pending=bool(booking_field(item, "pending")),
        category=tag["tagTreeItem"]["systemName"],
        category_name=tag["tagTreeItem"]["displayName"],
        confidence=float(tag["details"]["confidenceLevel"]),
        reason=tag["details"]["reason"],
        source=tag["details"]["source"],
    )


def plain_purpose(purpose: str) -> str:
    """What a person wrote or reads of a purpose, without the bank's references; all of it if nothing is left."""
    match = PURPOSE_OF_FIELDS.search(purpose)
    words = match[1] if match else REFERENCES.sub("", purpose).removeprefix(PENDING)
    return words.strip() or purpose


def monogram(name: str) -> str:
    """One or two letters that stand for a name: the first of its first two words."""
    words = [word for word in "".join(sign if sign.isalnum() else " " for sign in name).split() if not word.isdigit()]
    return "".join(word[0] for word in words[:2]).upper() or "€"


def logo_colour(name: str) -> int:
    """The number of the colour of a name, always the same."""
    return zlib.crc32(name.casefold().encode()) % LOGO_COLOURS
