"""Tags of bookings as the interface shows them: JSON from the rows of a frame, one slice of a list at a time."""

from collections.abc import Iterator, Sequence

import orjson
import polars as pl

from analytics import trees
from analytics.frames import TAG_KINDS, TAG_PARTS
from pipelines.results.documents.tags import TagWriter, tag_details

TREES = dict(zip(TAG_KINDS, ("CATEGORIES", "INSURANCE_TYPES", "BUSINESS_PARTNERS", "FREELANCER_CATEGORIES"), strict=True))
NAME_COLUMNS = ("counterparty_name", "purpose", "booking_text")
DEFAULT_NAME = "Buchung"
MAX_NAME_CHARACTERS = 140


def tag_bodies(writer: TagWriter, bookings: pl.DataFrame, taggers: Sequence[str], version: str) -> list[list[orjson.Fragment]]:
    """The tags of each booking from these taggers. Links to other bookings belong to the category, which they explain."""
    ids = bookings["id"].to_list()
    entities = [writer.entity(*fields) for fields in _entities(bookings).iter_rows()]
    tags_by_booking: list[list[orjson.Fragment]] = [[] for _ in ids]
    for tagger in taggers:
        tree, rows = TREES[tagger], bookings.select(_columns(tagger)).iter_rows()
        for booking_tags, entity_id, entity, (item, confidence, source, reason, *links) in zip(
            tags_by_booking, ids, entities, rows, strict=True
        ):
            details = tag_details(confidence, source, reason, version, *links)
            booking_tags.append(orjson.Fragment(writer.write(tree, item, entity_id, entity, details)))
    return tags_by_booking


def classification_bodies(bookings: pl.DataFrame) -> Iterator[dict[str, object]]:
    """The category of each booking in the older form."""
    items = trees.tree("CATEGORIES")
    for system_name, confidence in bookings.select("category", "category_confidence").iter_rows():
        item = items.item(system_name)
        parent = {"parentCategory": item.parent} if item.parent else {}
        yield {"category": system_name, **parent, "displayName": item.display_name, "confidenceLevel": round(confidence, 4)}


def _columns(tagger: str) -> list[str]:
    links = ["refund_of", "pair_of", "category_guess"] if tagger == "category" else []
    return [tagger, *(f"{tagger}_{part}" for part in TAG_PARTS[1:]), *links]


def _entities(bookings: pl.DataFrame) -> pl.DataFrame:
    """The entities that carry the tags: id, a name that people recognise, and the user."""
    name = pl.coalesce(
        *(pl.when(pl.col(name).str.strip_chars() != "").then(pl.col(name)) for name in NAME_COLUMNS), pl.lit(DEFAULT_NAME)
    )
    return bookings.select("id", name.str.head(MAX_NAME_CHARACTERS).alias("name"), "user")
