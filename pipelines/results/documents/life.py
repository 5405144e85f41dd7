"""Life events, life stages and sales triggers of users as JSON: what was found, when, how sure, why, and by which bookings."""

import polars as pl

from analytics.analyses.suite import Frames
from pipelines.results.documents.json_text import amount, day, json_list, json_object, quoted, rate
from pipelines.results.documents.tags import TagWriter

EVENTS, STAGES, TRIGGERS = "life-events", "life-stages", "sales-triggers"
"""The documents."""


def life_events(writer: TagWriter, frames: Frames, _: pl.DataFrame) -> pl.DataFrame:
    """`user` and their events, by day."""
    found = frames["life_events"].sort("user", "event_date", "item")
    dated = {"eventDate": day("event_date")}
    apart = pl.format("{}.{}", "item", "event_date")
    return _listed(writer, "LIFE_EVENTS", EVENTS, found, dated, {"amount": amount("amount")}, apart)


def life_stages(writer: TagWriter, frames: Frames, _: pl.DataFrame) -> pl.DataFrame:
    """`user` and their stages, by dimension."""
    found = frames["life_stages"].sort("user", "dimension", "item")
    return _listed(writer, "LIFE_STAGES", STAGES, found, {"dateSince": day("since")}, {}, pl.col("item"))


def sales_triggers(writer: TagWriter, frames: Frames, _: pl.DataFrame) -> pl.DataFrame:
    """`user` and their triggers, by item. The day has two names, since clients know it by either."""
    found = frames["sales_triggers"].sort("user", "item", "trigger_date")
    dated = {"triggerDate": day("trigger_date"), "eventDate": day("trigger_date")}
    return _listed(writer, "SALES_TRIGGERS", TRIGGERS, found, dated, {"amount": amount("amount")}, pl.col("item"))


def _listed(
    writer: TagWriter,
    tree: str,
    document: str,
    found: pl.DataFrame,
    dated: dict[str, pl.Expr],
    about: dict[str, pl.Expr],
    apart: pl.Expr,
) -> pl.DataFrame:
    why = {"confidenceLevel": rate("confidence"), "reason": quoted("reason"), "transactionIds": quoted("bookings")}
    rows = found.select("user", "item", apart=apart, details=json_object(dated | about | why))
    texts = rows.select("user", text=writer.on_users(tree, rows))
    return texts.group_by("user", maintain_order=True).agg(json_list(pl.col("text")).alias(document))
