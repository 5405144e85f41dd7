"""Tagging the bookings of one user: everything that it rests on is read at one moment, then pure functions work on it."""

import os
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path

import polars as pl

from analytics.bank_text import canonical
from analytics.frames import CHOICES, PRODUCTS, RULES, TAGGED, TRANSACTIONS, checked
from analytics.tagging import corrections, tag
from analytics.tagging.tag import Tagger
from models import registry
from warehouse.lake.packing import pack_frame, unpack_frame
from warehouse.postgres.database import Owner
from warehouse.settings import Settings
from warehouse.stores import choices, ledger, products, results, revisions, rules

NAME = "transaction_tags"
SERVED = [name for name in TAGGED if name not in ("user", "product")]


def brain() -> Tagger:
    """What tagging knows, with the model that is in use now."""
    folder = _folder(os.environ.get("KONTOR_HOME"))
    return _brain(folder, registry.active_version(folder))


@lru_cache(maxsize=2)
def _folder(_home: str | None) -> Path:
    """Where models lie. Reading the settings takes milliseconds, and this is asked at every request and for every bucket."""
    return Settings().home / "models"


@lru_cache(maxsize=2)
def _brain(folder: Path, version: str) -> Tagger:
    return Tagger(registry.find(folder, version) if version else registry.shipped())


def prepare() -> None:
    """Makes ready what tagging needs, by tagging a few bookings: what is compiled or loaded at its first use is so now."""
    about = {"id": "0", "user": "0", "product": "0", "booked_on": date(2026, 1, 1), "amount_cents": -100, "currency": "EUR"}
    lines = [
        ("REWE Markt", "SVWZ+Einkauf", -100),
        ("Versicherung AG", "Beitrag Hausrat", -5000),
        ("Erika Nah", "Danke", 1000),
    ]
    bookings = [
        {**about, "id": str(number), "counterparty_name": name, "purpose": purpose, "amount_cents": cents, "pending": False}
        for number, (name, purpose, cents) in enumerate(lines)
    ]
    tagged_alone(pl.DataFrame(bookings, schema=TRANSACTIONS), PRODUCTS.to_frame())
    corrections.counterparties(pl.DataFrame(bookings, schema=TRANSACTIONS))


@dataclass(frozen=True)
class TaggedBookings:
    """All bookings of a user with their tags: the columns of `LEDGER` and `TAGGED`."""

    bookings: pl.DataFrame
    revision: int
    precomputed: bool


def state(owner: Owner) -> str:
    """The name of what a user's tags are made from: data and wishes, and the knowledge they are read with."""
    return f"{revisions.user_state(owner).revision}-{brain().version}"


def tagged(owner: Owner) -> TaggedBookings:
    """All bookings of a user with their tags; the owner's transaction sees one moment.

    The tags are those that lie ready, if they are of this moment, else they are made now; by the same functions, so that nobody
    can tell which.
    """
    bookings, revision, knows = ledger.whole(owner), revisions.user_state(owner).revision, brain()
    ready = results.find(owner, NAME, revision, knows.version)
    if ready is not None and (tags := decoded(ready))["id"].equals(bookings["id"]):  # not so if an access has just expired
        return TaggedBookings(bookings.hstack(tags.drop("id")), revision, precomputed=True)
    made = tag.tag(bookings, products.whole(owner), choices.whole(owner), compared(rules.whole(owner)), knows)
    return TaggedBookings(bookings.hstack(made.select(SERVED).drop("id")), revision, precomputed=False)


def encoded(tags: pl.DataFrame) -> bytes:
    """The tags of a user's bookings (frame `TAGGED`), in their order, as they lie ready."""
    return pack_frame(tags.select(SERVED))


def decoded(content: bytes) -> pl.DataFrame:
    """The same again."""
    return unpack_frame(content)


def tagged_alone(transactions: pl.DataFrame, owned: pl.DataFrame) -> pl.DataFrame:
    """The tags (frame `TAGGED`) of bookings that nobody has stored: no wish is known, only what they say themselves."""
    given = checked(transactions, TRANSACTIONS), checked(owned, PRODUCTS)
    return tag.tag(*given, CHOICES.to_frame(), RULES.to_frame(), brain())


def compared(found: pl.DataFrame) -> pl.DataFrame:
    """Rules (frame `rules.WHOLE`) with names as they are read today, however they were when a rule was made."""
    keyed = found.with_columns(canonical.name_key(found["name"]).alias("name_key"))
    return checked(keyed.select(RULES.names()), RULES)
