"""The table of all documents of users: the name of each, its empty form, and its writer.

The same functions write them for hundreds of users and for one; the document of a user does not depend on other users.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

import polars as pl

from analytics.analyses.suite import Frames
from pipelines.results.documents import affordability, cashflow, contracts, credit_risk, disposable_money, life
from pipelines.results.documents.cashflow import CashflowView
from pipelines.results.documents.tags import TagWriter

Documents = Mapping[str, bytes]
"""Documents by their names."""
Write = Callable[[TagWriter, Frames, pl.DataFrame], pl.DataFrame]
"""Makes `user` and a column for each document, for users who have any, from the frames and as-of dates of users."""
BATCH_USERS = 16
"""The documents of a batch take forty megabytes, nearly all of it cashflow, and twice that while they are written."""
EMPTY_LIST, EMPTY_OBJECT = b"[]", b"{}"


class DocumentGroup(NamedTuple):
    """Documents that are written together: their names, the frames they read, their empty form, and their writer."""

    names: tuple[str, ...]
    reads: tuple[str, ...]
    empty: bytes
    write: Write


def _cashflow(view: CashflowView) -> DocumentGroup:
    write = partial(cashflow.cashflow, view=view)
    return DocumentGroup((cashflow.DOCUMENT,), ("cashflow", "cashflow_predictions"), EMPTY_LIST, write)


GROUPS = (
    DocumentGroup(
        (contracts.ALL, contracts.INSURANCE, contracts.EXTENDED),
        ("contracts", "contract_bookings", "loans"),
        EMPTY_LIST,
        contracts.contracts,
    ),
    _cashflow(CashflowView()),
    DocumentGroup((disposable_money.DOCUMENT,), ("disposable_money",), EMPTY_OBJECT, disposable_money.disposable_money),
    DocumentGroup((life.EVENTS,), ("life_events",), EMPTY_LIST, life.life_events),
    DocumentGroup((life.STAGES,), ("life_stages",), EMPTY_LIST, life.life_stages),
    DocumentGroup((life.TRIGGERS,), ("sales_triggers",), EMPTY_LIST, life.sales_triggers),
    DocumentGroup(
        (affordability.DOCUMENT,), ("affordability", "affordability_amounts"), EMPTY_OBJECT, affordability.affordability
    ),
    DocumentGroup((credit_risk.DOCUMENT,), ("credit_risk", "credit_risk_signals"), EMPTY_OBJECT, credit_risk.credit_risk),
)
NAMES = tuple(name for group in GROUPS for name in group.names)


def documents(
    writer: TagWriter, frames: Frames, as_of: pl.DataFrame, names: tuple[str, ...] = NAMES
) -> Iterator[tuple[str, dict[str, bytes]]]:
    """The documents of these names for every user of the frame `AS_OF`, by id; cashflow in its default view."""
    groups = [group for group in GROUPS if not set(names).isdisjoint(group.names)]
    for parts in zip(*(_write(group, writer, frames, as_of) for group in groups), strict=True):
        yield parts[0][0], {name: body for _, bodies in parts for name, body in bodies.items() if name in names}


def cashflow_document(writer: TagWriter, frames: Frames, as_of: pl.DataFrame, view: CashflowView) -> Iterator[tuple[str, bytes]]:
    """The cashflow in this view for every user of the frame `AS_OF`, by id."""
    for user, bodies in _write(_cashflow(view), writer, frames, as_of):
        yield user, bodies[cashflow.DOCUMENT]


def names_with(name: str) -> tuple[str, ...]:
    """The names of the documents that are written together with the one of this name, and its own."""
    return next(group.names for group in GROUPS if name in group.names)


def nothing(name: str) -> bytes:
    """The document of this name for a user without results."""
    return next(group.empty for group in GROUPS if name in group.names)


def _write(group: DocumentGroup, writer: TagWriter, frames: Frames, as_of: pl.DataFrame) -> Iterator[tuple[str, Documents]]:
    for batch, batch_frames in _batches({name: frames[name] for name in group.reads}, as_of):
        texts = group.write(writer, batch_frames, batch).select("user", pl.col(group.names).cast(pl.Binary))
        row_of = {user: row for row, user in enumerate(texts["user"])}
        for user in batch["user"]:
            bodies = texts.row(row_of[user])[1:] if user in row_of else (None,) * len(group.names)
            yield user, {name: group.empty if body is None else body for name, body in zip(group.names, bodies, strict=True)}


def _batches(frames: Frames, as_of: pl.DataFrame) -> Iterator[tuple[pl.DataFrame, Frames]]:
    """The as-of dates of batches of users, by id, each with the frames of these users.

    The frames are slices, not copies; they may contain further users with ids in between.
    """
    sorted_frames = {name: frame if frame["user"].is_sorted() else frame.sort("user") for name, frame in frames.items()}
    for batch in as_of.sort("user").iter_slices(BATCH_USERS):
        yield batch, {name: _between(frame, batch["user"][0], batch["user"][-1]) for name, frame in sorted_frames.items()}


def _between(frame: pl.DataFrame, first: str, last: str) -> pl.DataFrame:
    users = frame["user"]
    if frame.is_empty() or (first <= users[0] and users[-1] <= last):
        return frame
    begin, end = users.search_sorted(first, "left"), users.search_sorted(last, "right")
    return frame.slice(begin, end - begin)
