"""The merge of statement files with stored bookings.

A file covers any period, in a format that tells more or less than another one, and files may arrive in any order. So a line of a
file is only paired with a stored booking of the same day and amount, by ever weaker likeness of the texts, and of each pair the
content that tells more stays: the result does not depend on the order of the files. Lines without a pair are new, and no booked
line is ever removed.

Pending lines are those of the newest file: it replaces those of the files before it, and older files bring none. Pure functions,
without a database.
"""

from collections.abc import Iterable
from datetime import date, timedelta

import polars as pl

from analytics.frames import BOOKINGS, STORED_BOOKINGS, checked
from pipelines.fetching.merge import (
    BOOKED_AFTER_WINDOW,
    BOOKED_BEFORE_WINDOW,
    CONTENT,
    SAME_DAY,
    BookingChanges,
    nearest_pairs,
    pairs_by,
    with_letters,
    without,
)

TEXTS = [name for name, kind in BOOKINGS.items() if kind == pl.String]
SAME_AMOUNT = ("amount_cents", "currency")
LIKENESSES = (("letters",), ("remittance", "partner"), ("remittance",), ("counterparty_iban",), ("partner",), ())
"""What two views of a booking have in common beside its day and amount, the surest first."""
PENDING_WINDOW = timedelta(days=14)
REMITTANCE = r"(?s)^.*SVWZ\+(.*)$"
StatementLines = tuple[date, pl.DataFrame]
"""The last day of a statement, and its lines (frame `BOOKINGS`)."""


def reconcile_statement(
    stored_bookings: pl.DataFrame, lines: pl.DataFrame, *, until: date, stored_until: date | None
) -> BookingChanges:
    """The changes by a statement whose last day is `until`; `stored_until` is the last day of the newest one before.

    `stored_bookings` must hold all bookings of the days of the lines, and all pending ones.
    """
    is_older = stored_until is not None and until < stored_until
    is_newest = stored_until is None or until > stored_until
    booked = pl.lit(True) if not is_older else ~pl.col("pending")
    stored_rows = checked(stored_bookings, STORED_BOOKINGS).with_row_index("stored_row").filter(booked)
    line_rows = checked(lines, BOOKINGS).with_row_index("fetched_row").filter(booked)
    left_stored, left_lines = without(stored_rows, line_rows, pairs_by(stored_rows, line_rows, CONTENT))
    left_stored, left_lines = _with_texts(left_stored), _with_texts(left_lines)
    pairs = [_no_pairs()]
    for likeness in LIKENESSES:
        pairs.append(pairs_by(left_stored, left_lines, (*SAME_DAY, *likeness)))
        left_stored, left_lines = without(left_stored, left_lines, pairs[-1])
    for stored_pending, line_pending in ((True, True), (True, False)):
        pairs.append(_near(left_stored, left_lines, stored_pending, line_pending))
        left_stored, left_lines = without(left_stored, left_lines, pairs[-1])
    if not is_newest:  # a line that another file of the same day has as booked
        left_lines = without(left_stored, left_lines, _near(left_stored, left_lines, False, True))[1]
    return BookingChanges(
        added=left_lines.select(CONTENT),
        changed=_better(pl.concat(pairs), stored_rows, line_rows),
        gone=tuple(left_stored.filter("pending")["id"]) if is_newest else (),
    )


def fold_statements(statements: Iterable[StatementLines]) -> StatementLines | None:
    """The lines of all statements of one account as one statement; None if there are none."""
    newest: date | None = None
    bookings = STORED_BOOKINGS.to_frame()
    for until, lines in statements:
        changes = reconcile_statement(bookings, lines, until=until, stored_until=newest)
        ids = pl.int_range(pl.len()).cast(pl.String)
        remaining = bookings.filter(~pl.col("id").is_in(changes.gone)).update(changes.changed, on="id", include_nulls=True)
        bookings = pl.concat([remaining.select(CONTENT), changes.added]).with_columns(id=ids).select(STORED_BOOKINGS.names())
        newest = until if newest is None else max(newest, until)
    return None if newest is None else (newest, bookings.select(CONTENT).sort("booked_on", "pending", maintain_order=True))


def _with_texts(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with the letters of its texts, and with those that the payer wrote (`remittance`), without references."""
    purpose = pl.col("purpose").fill_null("")
    remittance = pl.coalesce(purpose.str.extract(REMITTANCE), purpose)
    plain = remittance.str.to_lowercase().str.replace_all(r"[^\p{L}\p{N}]", "")
    return with_letters(frame).with_columns(remittance=plain)


def _near(stored_rows: pl.DataFrame, line_rows: pl.DataFrame, stored_pending: bool, line_pending: bool) -> pl.DataFrame:
    """Pairs of one amount around one day: a payment that is pending still, that is booked now, or that was booked meanwhile."""
    stored_side = stored_rows.filter(pl.col("pending") == stored_pending)
    line_side = line_rows.filter(pl.col("pending") == line_pending)
    if stored_pending and line_pending:
        return nearest_pairs(stored_side, line_side, SAME_AMOUNT, -PENDING_WINDOW, PENDING_WINDOW)
    before, after = -BOOKED_BEFORE_WINDOW, BOOKED_AFTER_WINDOW
    earliest, latest = (before, after) if stored_pending else (-after, -before)
    return nearest_pairs(stored_side, line_side, SAME_AMOUNT, earliest, latest)


def _better(pairs: pl.DataFrame, stored_rows: pl.DataFrame, line_rows: pl.DataFrame) -> pl.DataFrame:
    """The stored bookings (frame `STORED_BOOKINGS`) for which the line tells more, with the content of the line.

    Lines tell more if more columns are filled, then if the texts are longer; the texts themselves decide between equals.
    """
    both = pairs.join(stored_rows, on="stored_row").join(line_rows, on="fetched_row", suffix="_of_line")
    is_longer = pl.lit(False)
    for of_stored, of_line in reversed(list(zip(_weights(""), _weights("_of_line"), strict=True))):
        is_longer = (of_line > of_stored) | ((of_line == of_stored) & is_longer)
    is_settled = pl.col("pending") & ~pl.col("pending_of_line")
    is_still_pending = pl.col("pending") & pl.col("pending_of_line")
    better = both.filter(is_settled | is_still_pending | (is_longer & ~pl.col("pending_of_line")))
    return better.select("id", *(pl.col(f"{name}_of_line").alias(name) for name in CONTENT)).select(STORED_BOOKINGS.names())


def _weights(suffix: str) -> tuple[pl.Expr, pl.Expr, pl.Expr]:
    """How much a booking tells: its filled columns, its characters, and its content as a text."""
    columns = [pl.col(f"{name}{suffix}") for name in CONTENT]
    texts = [pl.col(f"{name}{suffix}").fill_null("") for name in TEXTS]
    content = pl.concat_str([column.cast(pl.String).fill_null("") for column in columns], separator="\x1f")
    filled = pl.sum_horizontal(column.is_not_null().cast(pl.Int32) for column in columns)
    return filled, pl.sum_horizontal(text.str.len_chars() for text in texts), content


def _no_pairs() -> pl.DataFrame:
    return pl.DataFrame(schema={"stored_row": pl.UInt32, "fetched_row": pl.UInt32})
