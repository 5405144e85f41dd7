"""Tags of bookings as the interface shows them: JSON from the rows of a frame, one slice of a list at a time."""

from collections.abc import Sequence

import orjson
import polars as pl

from analytics import trees
from analytics.english import items as english_items
from analytics.english.sentences import english
from analytics.frames import TAG_KINDS
from api.schemas.languages import Language
from pipelines.results.documents.json_text import rate
from pipelines.results.documents.tags import tag_details, tag_writer

TREES = dict(zip(TAG_KINDS, ("CATEGORIES", "INSURANCE_TYPES", "BUSINESS_PARTNERS", "FREELANCER_CATEGORIES"), strict=True))
NAME_COLUMNS = ("counterparty_name", "purpose", "booking_text")
DEFAULT_NAME = "Buchung"
MAX_NAME_CHARACTERS = 140


def tag_texts(base_url: str, bookings: pl.DataFrame, taggers: Sequence[str], version: str, language: Language) -> pl.Series:
    """The JSON list of the tags of each booking from these taggers, of this version."""
    default_name = DEFAULT_NAME
    if language == "en":
        default_name = english(DEFAULT_NAME)
        bookings = bookings.with_columns(_in_english(bookings[f"{tagger}_reason"]) for tagger in taggers)
    name = pl.coalesce(
        *(pl.when(pl.col(column).str.strip_chars() != "").then(column) for column in NAME_COLUMNS), pl.lit(default_name)
    ).str.head(MAX_NAME_CHARACTERS)
    writer = tag_writer(base_url, in_english=language == "en")
    tags = pl.DataFrame(
        [writer.on_bookings(TREES[tagger], bookings, tagger, name, tag_details(tagger, version)) for tagger in taggers]
    )
    return tags.select(pl.concat_str(pl.lit("["), pl.concat_str(pl.all(), separator=","), pl.lit("]")).alias("tags")).to_series()


def classification_texts(language: Language) -> pl.Expr:
    """The JSON of the category of each booking in the older form."""
    tree = english_items.tree("CATEGORIES") if language == "en" else trees.tree("CATEGORIES")
    fixed = {
        item.system_name: orjson.dumps(
            {
                "category": item.system_name,
                **({"parentCategory": item.parent} if item.parent else {}),
                "displayName": item.display_name,
            }
        ).decode()[:-1]
        for item in tree.items
    }
    return pl.concat_str(
        pl.col("category").replace_strict(fixed, return_dtype=pl.String),
        pl.lit(',"confidenceLevel":'),
        rate("category_confidence"),
        pl.lit("}"),
    )


def _in_english(reasons: pl.Series) -> pl.Series:
    """The reasons in English, each different one translated once."""
    return reasons.replace_strict({reason: english(reason) for reason in reasons.drop_nulls().unique()}, return_dtype=pl.String)
