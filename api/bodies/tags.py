"""Tags of bookings as the interface shows them: JSON from the rows of a frame, one slice of a list at a time."""

from collections.abc import Iterator, Sequence

import orjson
import polars as pl

from analytics import trees
from analytics.english import items as english_items
from analytics.english.sentences import english
from analytics.frames import TAG_KINDS, TAG_PARTS
from api.schemas.languages import Language
from pipelines.results.documents.tags import tag_details, tag_writer

TREES = dict(zip(TAG_KINDS, ("CATEGORIES", "INSURANCE_TYPES", "BUSINESS_PARTNERS", "FREELANCER_CATEGORIES"), strict=True))
NAME_COLUMNS = ("counterparty_name", "purpose", "booking_text")
DEFAULT_NAME = "Buchung"
MAX_NAME_CHARACTERS = 140


def tag_bodies(
    base_url: str, bookings: pl.DataFrame, taggers: Sequence[str], version: str, language: Language
) -> list[list[orjson.Fragment]]:
    """The tags of each booking from these taggers. Links to other bookings belong to the category, which they explain."""
    in_english = language == "en"
    writer, ids = tag_writer(base_url, in_english=in_english), bookings["id"].to_list()
    entities = [writer.entity(*fields) for fields in _entities(bookings, language).iter_rows()]
    tags_by_booking: list[list[orjson.Fragment]] = [[] for _ in ids]
    for tagger in taggers:
        tree, rows = TREES[tagger], bookings.select(_columns(tagger)).iter_rows()
        for booking_tags, entity_id, entity, (item, confidence, source, reason, *links) in zip(
            tags_by_booking, ids, entities, rows, strict=True
        ):
            details = tag_details(confidence, source, english(reason) if in_english else reason, version, *links)
            booking_tags.append(orjson.Fragment(writer.write(tree, item, entity_id, entity, details)))
    return tags_by_booking


def classification_bodies(bookings: pl.DataFrame, language: Language) -> Iterator[dict[str, object]]:
    """The category of each booking in the older form."""
    items = english_items.tree("CATEGORIES") if language == "en" else trees.tree("CATEGORIES")
    for system_name, confidence in bookings.select("category", "category_confidence").iter_rows():
        item = items.item(system_name)
        parent = {"parentCategory": item.parent} if item.parent else {}
        yield {"category": system_name, **parent, "displayName": item.display_name, "confidenceLevel": round(confidence, 4)}


def _columns(tagger: str) -> list[str]:
    links = ["refund_of", "pair_of", "category_guess"] if tagger == "category" else []
    return [tagger, *(f"{tagger}_{part}" for part in TAG_PARTS[1:]), *links]


def _entities(bookings: pl.DataFrame, language: Language) -> pl.DataFrame:
    """The entities that carry the tags: id, a name that people recognise, and the user."""
    default_name = english(DEFAULT_NAME) if language == "en" else DEFAULT_NAME
    name = pl.coalesce(
        *(pl.when(pl.col(name).str.strip_chars() != "").then(pl.col(name)) for name in NAME_COLUMNS), pl.lit(default_name)
    )
    return bookings.select("id", name.str.head(MAX_NAME_CHARACTERS).alias("name"), "user")
