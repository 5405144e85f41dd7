"""Tags of bookings as the interface shows them: JSON from the rows of a frame, one slice of a list at a time."""

from collections.abc import Sequence

import orjson
import polars as pl

from analytics import trees
from analytics.frames import TAG_KINDS
from pipelines.results.documents.json_text import rate
from pipelines.results.documents.tags import TagWriter, tag_details

TREES = dict(zip(TAG_KINDS, ("CATEGORIES", "INSURANCE_TYPES", "BUSINESS_PARTNERS", "FREELANCER_CATEGORIES"), strict=True))
NAME_COLUMNS = ("counterparty_name", "purpose", "booking_text")
DEFAULT_NAME = "Buchung"
MAX_NAME_CHARACTERS = 140


def tag_texts(writer: TagWriter, bookings: pl.DataFrame, taggers: Sequence[str], version: str) -> pl.Series:
    """The JSON list of the tags of each booking from these taggers, of this version."""
    name = pl.coalesce(
        *(pl.when(pl.col(column).str.strip_chars() != "").then(column) for column in NAME_COLUMNS), pl.lit(DEFAULT_NAME)
    ).str.head(MAX_NAME_CHARACTERS)
    tags = pl.DataFrame(
        [writer.on_bookings(TREES[tagger], bookings, tagger, name, tag_details(tagger, version)) for tagger in taggers]
    )
    return tags.select(pl.concat_str(pl.lit("["), pl.concat_str(pl.all(), separator=","), pl.lit("]")).alias("tags")).to_series()


def classification_texts() -> pl.Expr:
    """The JSON of the category of each booking in the older form."""
    items = trees.tree("CATEGORIES").items
    fixed = {
        item.system_name: orjson.dumps(
            {
                "category": item.system_name,
                **({"parentCategory": item.parent} if item.parent else {}),
                "displayName": item.display_name,
            }
        ).decode()[:-1]
        for item in items
    }
    return pl.concat_str(
        pl.col("category").replace_strict(fixed, return_dtype=pl.String),
        pl.lit(',"confidenceLevel":'),
        rate("category_confidence"),
        pl.lit("}"),
    )
