"""Life events, life stages and sales triggers of users as JSON, each with its day, confidence, reason and bookings."""

from typing import Annotated

import polars as pl
from pydantic import Field

from analytics.analyses.suite import Frames
from pipelines.results.documents.fields import Column, Confidence, Day, DocumentPart, Euros, Text, Texts, field_texts
from pipelines.results.documents.json_text import json_list, json_object
from pipelines.results.documents.tags import EVIDENCE, SOME_DAY, SOME_IDS, TagWriter

EVENTS, STAGES, TRIGGERS = "life-events", "life-stages", "sales-triggers"
"""The documents."""


class Finding(DocumentPart):
    """How sure something is that was found, and why."""

    confidence_level: Confidence = Field(examples=[0.95], description="From 0 to 1")
    reason: Text = Field(examples=["Miete endet (Wohnbau eG) am 31.10.2026"], description="In the language of the response")
    transaction_ids: Annotated[Texts, Column("bookings")] = Field(examples=SOME_IDS, description=EVIDENCE)


class LifeEventDetails(Finding):
    """When something changed in a user's life."""

    event_date: Day = Field(examples=[SOME_DAY])
    known_since: Day = Field(examples=[SOME_DAY], description="Since when the bookings show it: often weeks after the event")
    amount: Euros | None = Field(None, examples=[750], description="Where it is about one")


class LifeStageDetails(Finding):
    """Since when a user lives so."""

    date_since: Annotated[Day, Column("since")] = Field(examples=[SOME_DAY])


class SalesTriggerDetails(Finding):
    """Since when there is an occasion."""

    trigger_date: Day = Field(examples=[SOME_DAY], description="Since when the bookings show it; the trigger lives from this day")
    event_date: Day = Field(examples=[SOME_DAY], description="When it happened")
    amount: Euros | None = Field(None, examples=[3200], description="Where it is about one")


def life_events(writer: TagWriter, frames: Frames, _: pl.DataFrame) -> pl.DataFrame:
    """`user` and their life events, by day."""
    events = frames["life_events"].sort("user", "event_date", "item")
    return _document(writer, EVENTS, "LIFE_EVENTS", LifeEventDetails, events, pl.format("{}.{}", "item", "event_date"))


def life_stages(writer: TagWriter, frames: Frames, _: pl.DataFrame) -> pl.DataFrame:
    """`user` and their life stages, by dimension."""
    stages = frames["life_stages"].sort("user", "dimension", "item")
    return _document(writer, STAGES, "LIFE_STAGES", LifeStageDetails, stages, pl.col("item"))


def sales_triggers(writer: TagWriter, frames: Frames, _: pl.DataFrame) -> pl.DataFrame:
    """`user` and their sales triggers, by item."""
    triggers = frames["sales_triggers"].sort("user", "item", "trigger_date")
    return _document(writer, TRIGGERS, "SALES_TRIGGERS", SalesTriggerDetails, triggers, pl.col("item"))


def _document(
    writer: TagWriter, document: str, tree: str, model: type[Finding], findings: pl.DataFrame, suffix: pl.Expr
) -> pl.DataFrame:
    own = (name for name in model.model_fields if name not in Finding.model_fields)
    details = json_object(field_texts(model, (*own, *Finding.model_fields)))
    rows = findings.select("user", "item", suffix=suffix, details=details)
    texts = rows.select("user", text=writer.on_users(tree, rows))
    return texts.group_by("user", maintain_order=True).agg(json_list(pl.col("text")).alias(document))
