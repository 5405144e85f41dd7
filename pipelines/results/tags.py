"""Tags of one user's bookings: all inputs are read in one transaction, then pure functions compute."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from pathlib import Path

import polars as pl
import structlog

from analytics.bank_text import canonical
from analytics.frames import CHOICES, PRODUCTS, RULES, TAGGED, TRANSACTIONS, checked
from analytics.tagging import corrections, tag
from analytics.tagging.line_cache import LineCache
from analytics.tagging.tag import Tagger
from models import registry
from models.categoriser.storage import CategoryModel
from models.registry import ModelChoice
from warehouse.lake.packing import pack_frame, unpack_frame
from warehouse.postgres.database import Owner
from warehouse.settings import Settings
from warehouse.stores import choices, ledger, products, results, revisions, rules

NAME = "transaction_tags"
log = structlog.get_logger("tags")
SERVED = [name for name in TAGGED if name not in ("user", "product")]


def tagger() -> Tagger:
    """The tagger with the model that is in use now, or with the one that stands in for it."""
    return _tagger(model_choice().model)


def model_choice() -> ModelChoice:
    """The model that is in use now. One that cannot be read is replaced by the last good one, so that answers go on."""
    folder = _folder(os.environ.get("KONTOR_HOME"))
    version = registry.active_version(folder)
    return _choice(folder, version, registry.stamp(folder, version))


@lru_cache(maxsize=2)
def _folder(_home: str | None) -> Path:
    """The folder of the models. Cached, because reading the settings takes milliseconds and this runs for every request and
    bucket.
    """
    return Settings().home / "models"


@lru_cache(maxsize=2)
def _choice(folder: Path, _version: str, _stamp: tuple[int, int] | None) -> ModelChoice:
    """The model in use. Cached until another version is put into use, or the file of this one is damaged or repaired."""
    choice = registry.choose(folder)
    if choice.problem is not None:
        log.error("model_unreadable", requested=choice.requested, used=choice.model.version, problem=choice.problem)
    return choice


@lru_cache(maxsize=2)
def _tagger(model: CategoryModel) -> Tagger:
    return Tagger(model, line_cache=LineCache(Settings().cached_lines))


def prepare() -> None:
    """Tags a few bookings, so that everything that is compiled or loaded on first use is ready."""
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
    tag_unstored(pl.DataFrame(bookings, schema=TRANSACTIONS), PRODUCTS.to_frame())
    corrections.counterparties(pl.DataFrame(bookings, schema=TRANSACTIONS))


@dataclass(frozen=True)
class TaggedBookings:
    """All bookings of a user with their tags: the columns of `LEDGER` and `TAGGED`."""

    bookings: pl.DataFrame
    revision: int
    precomputed: bool


def state(owner: Owner) -> str:
    """A name for the state that a user's tags are computed from: revision, model and knowledge."""
    return f"{revisions.user_state(owner).revision}-{tagger().version}"


def tagged_bookings(owner: Owner) -> TaggedBookings:
    """All bookings of a user with their tags, read in the owner's transaction.

    Stored tags are used if they are of the current revision and version; else the same functions compute them now.
    """
    bookings, revision, current_tagger = ledger.whole(owner), revisions.user_state(owner).revision, tagger()
    stored_result = results.find(owner, NAME, revision, current_tagger.version)
    if stored_result is not None and (tags := decode(stored_result))["id"].equals(
        bookings["id"]
    ):  # they differ if an access has just expired
        return TaggedBookings(bookings.hstack(tags.drop("id")), revision, precomputed=True)
    new_tags = tag.tag_bookings(
        bookings, products.whole(owner), choices.whole(owner), with_name_keys(rules.whole(owner)), current_tagger
    )
    return TaggedBookings(bookings.hstack(new_tags.select(SERVED).drop("id")), revision, precomputed=False)


def tag_items(owner: Owner, kinds: Sequence[str]) -> TaggedBookings:
    """All bookings of a user with their items of these kinds only (`id` and a column for each kind), stored or computed as by
    `tagged_bookings`.
    """
    columns, revision = ["id", *kinds], revisions.user_state(owner).revision
    stored_result = results.find(owner, NAME, revision, tagger().version)
    if stored_result is not None:
        return TaggedBookings(unpack_frame(stored_result, columns), revision, precomputed=True)
    return replace(tagged := tagged_bookings(owner), bookings=tagged.bookings.select(columns))


def encode(tags: pl.DataFrame) -> bytes:
    """The tags of a user's bookings (frame `TAGGED`), in their order, as they are stored."""
    return pack_frame(tags.select(SERVED))


def decode(content: bytes) -> pl.DataFrame:
    """The tags that `encode` wrote."""
    return unpack_frame(content)


def tag_unstored(transactions: pl.DataFrame, user_products: pl.DataFrame) -> pl.DataFrame:
    """The tags (frame `TAGGED`) of bookings that are not stored, without corrections."""
    frames = checked(transactions, TRANSACTIONS), checked(user_products, PRODUCTS)
    return tag.tag_bookings(*frames, CHOICES.to_frame(), RULES.to_frame(), tagger())


def with_name_keys(rows: pl.DataFrame) -> pl.DataFrame:
    """Rules (frame `rules.WHOLE`) with the name keys of today's code, which may differ from those at the time of the rule."""
    keyed_rows = rows.with_columns(canonical.name_key(rows["name"]).alias("name_key"))
    return checked(keyed_rows.select(RULES.names()), RULES)
