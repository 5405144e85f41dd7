"""Labelled lines of statements that stand alone: each is tagged as if its user had no other booking."""

import polars as pl

from analytics.frames import CHOICES, PRODUCTS, RULES
from analytics.tagging import tag
from analytics.tagging.tag import Tagger
from models.training.labelled_files import booking_rows

NO_CORRECTIONS = (CHOICES.to_frame(), RULES.to_frame())


def tag_single_lines(lines: pl.DataFrame, tagger: Tagger) -> pl.DataFrame:
    """The tags (`TAGGED`) of lines with `booking_text`, `gv_code`, `name`, `ultimate`, `purpose` and `amount`, in their order."""
    return tag.tag_bookings(booking_rows(lines), PRODUCTS.to_frame(), *NO_CORRECTIONS, tagger)


def right_lines(lines: pl.DataFrame, tagger: Tagger) -> int:
    """How many lines with a `category` the tagger tags with it."""
    return 0 if lines.is_empty() else int((tag_single_lines(lines, tagger)["category"] == lines["category"]).sum())
