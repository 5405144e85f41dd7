"""All documents of users, stated once: what each is called, what it is if there is nothing to tell, and how it is written.

The same functions write them for hundreds of users at once and for one; what is written of a user does not depend on the others.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

import polars as pl

from analytics.analyses.suite import Frames
from pipelines.results.documents import affordability, cashflow, contracts, disposable_money, life
from pipelines.results.documents.cashflow import CashflowView
from pipelines.results.documents.tags import TagWriter

Told = Mapping[str, bytes]
"""Documents by their names."""
Write = Callable[[TagWriter, Frames, pl.DataFrame], pl.DataFrame]
"""Of a writer, the frames and the as-of dates of some users: `user` and a column for each document, for users who have any."""
USERS_AT_ONCE = 16
"""Of so many users the documents are held at once: some forty megabytes, nearly all of it cashflow, and on the way twice that."""
NO_LIST, NO_OBJECT = b"[]", b"{}"


class DocumentGroup(NamedTuple):
    """Documents that are written together: their names, the frames that are read, what stands for nothing, and how."""

    names: tuple[str, ...]
    reads: tuple[str, ...]
    nothing: bytes
    write: Write


def _cashflow(chosen: CashflowView) -> DocumentGroup:
    write = partial(cashflow.cashflow, chosen=chosen)
    return DocumentGroup((cashflow.DOCUMENT,), ("cashflow", "cashflow_predictions"), NO_LIST, write)


KINDS = (
    DocumentGroup(
        (contracts.ALL, contracts.INSURANCE, contracts.EXTENDED),
        ("contracts", "contract_bookings", "loans"),
        NO_LIST,
        contracts.contracts,
    ),
    _cashflow(CashflowView()),
    DocumentGroup((disposable_money.DOCUMENT,), ("disposable_money",), NO_OBJECT, disposable_money.disposable_money),
    DocumentGroup((life.EVENTS,), ("life_events",), NO_LIST, life.life_events),
    DocumentGroup((life.STAGES,), ("life_stages",), NO_LIST, life.life_stages),
    DocumentGroup((life.TRIGGERS,), ("sales_triggers",), NO_LIST, life.sales_triggers),
    DocumentGroup((affordability.DOCUMENT,), ("affordability", "affordability_amounts"), NO_OBJECT, affordability.affordability),
)
NAMES = tuple(name for kind in KINDS for name in kind.names)


def documents(
    writer: TagWriter, frames: Frames, as_of: pl.DataFrame, names: tuple[str, ...] = NAMES
) -> Iterator[tuple[str, dict[str, bytes]]]:
    """For every user of the frame `AS_OF`, by their ids, the documents of these names; cashflow in its usual view."""
    wanted = [kind for kind in KINDS if not set(names).isdisjoint(kind.names)]
    for told in zip(*(_told(kind, writer, frames, as_of) for kind in wanted), strict=True):
        yield told[0][0], {name: body for _, bodies in told for name, body in bodies.items() if name in names}


def cashflow_document(writer: TagWriter, frames: Frames, as_of: pl.DataFrame, view: CashflowView) -> Iterator[tuple[str, bytes]]:
    """For every user of the frame `AS_OF`, by their ids, the cashflow in this view."""
    for user, bodies in _told(_cashflow(view), writer, frames, as_of):
        yield user, bodies[cashflow.DOCUMENT]


def nothing(name: str) -> bytes:
    """The document of this name of a user of whom there is nothing to tell."""
    return next(kind.nothing for kind in KINDS if name in kind.names)


def _told(kind: DocumentGroup, writer: TagWriter, frames: Frames, as_of: pl.DataFrame) -> Iterator[tuple[str, Told]]:
    for some, part in _pieces({name: frames[name] for name in kind.reads}, as_of, USERS_AT_ONCE):
        written = some.select("user").join(kind.write(writer, part, some), on="user", how="left", maintain_order="left")
        bodies = written.select("user", pl.col(kind.names).cast(pl.Binary).fill_null(pl.lit(kind.nothing)))
        for user, *of_user in bodies.iter_rows(buffer_size=1):
            yield user, dict(zip(kind.names, of_user, strict=True))


def _pieces(frames: Frames, as_of: pl.DataFrame, at_once: int) -> Iterator[tuple[pl.DataFrame, Frames]]:
    """The as-of dates of so many users after the other, by their ids, each with the frames of these users.

    Frames are cut and not copied; they may hold others, who stand between them.
    """
    ordered = {name: frame if frame["user"].is_sorted() else frame.sort("user") for name, frame in frames.items()}
    for some in as_of.sort("user").iter_slices(at_once):
        yield some, {name: _between(frame, some["user"][0], some["user"][-1]) for name, frame in ordered.items()}


def _between(frame: pl.DataFrame, first: str, last: str) -> pl.DataFrame:
    users = frame["user"]
    begin, end = users.search_sorted(first, "left"), users.search_sorted(last, "right")
    return frame.slice(begin, end - begin)
