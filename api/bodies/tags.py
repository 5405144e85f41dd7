"""Tags of bookings as the interface shows them: rows of a frame become JSON, a piece of a list at a time."""

from collections.abc import Iterator, Sequence

import orjson
import polars as pl

from analytics import trees
from analytics.frames import TAG_KINDS, TAG_PARTS
from pipelines.results.documents.tags import TagWriter, tag_details

TREES = dict(zip(TAG_KINDS, ("CATEGORIES", "INSURANCE_TYPES", "BUSINESS_PARTNERS", "FREELANCER_CATEGORIES"), strict=True))
NAMES = ("counterparty_name", "purpose", "booking_text")
NAMELESS = "Buchung"
NAME_LENGTH = 140


def tag_bodies(writer: TagWriter, bookings: pl.DataFrame, taggers: Sequence[str], version: str) -> list[list[orjson.Fragment]]:
    """For each booking its tags of these taggers. Links to other bookings stand with the category, which they explain."""
    ids = bookings["id"].to_list()
    entities = [writer.entity(*about) for about in _entities(bookings).iter_rows()]
    written: list[list[orjson.Fragment]] = [[] for _ in ids]
    for tagger in taggers:
        tree, rows = TREES[tagger], bookings.select(_columns(tagger)).iter_rows()
        for of_row, entity_id, entity, (item, confidence, source, reason, *links) in zip(
            written, ids, entities, rows, strict=True
        ):
            details = tag_details(confidence, source, reason, version, *links)
            of_row.append(orjson.Fragment(writer.write(tree, item, entity_id, entity, details)))
    return written


def classification_bodies(bookings: pl.DataFrame) -> Iterator[dict[str, object]]:
    """For each booking its category in the older form."""
    items = trees.tree("CATEGORIES")
    for system_name, confidence in bookings.select("category", "category_confidence").iter_rows():
        item = items.item(system_name)
        parent = {"parentCategory": item.parent} if item.parent else {}
        yield {"category": system_name, **parent, "displayName": item.display_name, "confidenceLevel": round(confidence, 4)}


def _columns(tagger: str) -> list[str]:
    links = ["refund_of", "pair_of"] if tagger == "category" else []
    return [tagger, *(f"{tagger}_{part}" for part in TAG_PARTS[1:]), *links]


def _entities(bookings: pl.DataFrame) -> pl.DataFrame:
    """What carries the tags: id, a name that people recognise, and the user."""
    name = pl.coalesce(*(pl.when(pl.col(name).str.strip_chars() != "").then(pl.col(name)) for name in NAMES), pl.lit(NAMELESS))
    return bookings.select("id", name.str.head(NAME_LENGTH).alias("name"), "user")
