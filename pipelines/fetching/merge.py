"""The merge of fetched bookings with stored ones.

At most banks bookings have no id. Ours must stay the same when a window is fetched again, when two purchases are equal, when
texts are rewritten, when a booking moves to another day, and when a pending booking is booked. So stored and fetched bookings
are paired by ever weaker criteria, and each is paired once:

1. equal in everything, with as many pairs as there are equal bookings;
2. the same day, amount, and letters of text and counterparty: only the spelling differs;
3. the same day, amount and counterparty: the text was rewritten;
4. the same amount and text a few days apart: the booking was moved;
5. the same day and amount, then the same amount around that day if the counterparty can be the same: moved and rewritten;
6. pending in the ledger, booked at the bank, the same amount around that day: the bank has booked it.

Fetched bookings without a pair are new. Stored ones without a pair stay if they were booked (absence deletes no history), and go
if they were pending. Pure functions, without a database.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta

import polars as pl

from analytics.frames import BOOKINGS, STORED_BOOKINGS, checked

CONTENT = BOOKINGS.names()
SAME_DAY = ("booked_on", "amount_cents", "currency", "pending")
SAME_TEXT = ("amount_cents", "currency", "pending", "purpose", "counterparty_name", "counterparty_iban")
MOVE_WINDOW = timedelta(days=7)
BOOKED_AFTER_WINDOW = timedelta(days=14)
BOOKED_BEFORE_WINDOW = timedelta(days=3)


@dataclass(frozen=True)
class BookingChanges:
    """The changes that turn the stored bookings into those of the bank."""

    added: pl.DataFrame
    """Frame `BOOKINGS`: new bookings, in the bank's order."""
    changed: pl.DataFrame
    """Frame `STORED_BOOKINGS`: stored bookings with their new content."""
    gone: tuple[str, ...]
    """Ids of pending bookings that the bank no longer has."""

    def __bool__(self) -> bool:
        return bool(self.added.height or self.changed.height or self.gone)


def reconcile(stored_bookings: pl.DataFrame, fetched_bookings: pl.DataFrame) -> BookingChanges:
    """The changes after a fetch. `stored_bookings` must hold all of the bank's bookings from the first day of the fetch on."""
    stored_rows = checked(stored_bookings, STORED_BOOKINGS).with_row_index("stored_row")
    fetched_rows = checked(fetched_bookings, BOOKINGS).with_row_index("fetched_row")
    if fetched_rows.is_empty():
        return BookingChanges(fetched_bookings.select(CONTENT), stored_bookings.clear(), ())
    unchanged = pairs_by(stored_rows, fetched_rows, CONTENT)
    unpaired_stored, unpaired_fetched = without(stored_rows, fetched_rows, unchanged)
    if unpaired_stored.is_empty() or unpaired_fetched.is_empty():  # nothing is left to be paired
        pending_ids = tuple(unpaired_stored.filter(pl.col("pending"))["id"])
        return BookingChanges(unpaired_fetched.select(CONTENT), stored_bookings.clear(), pending_ids)
    unpaired_stored, unpaired_fetched = with_letters(unpaired_stored), with_letters(unpaired_fetched)
    changed = unchanged.clear()
    for likeness in (_respelt, _rewritten, _moved, _same_day, _other_text, _booked):
        pairs = likeness(unpaired_stored, unpaired_fetched)
        changed = changed.vstack(pairs)
        unpaired_stored, unpaired_fetched = without(unpaired_stored, unpaired_fetched, pairs)
    changed_ids = changed.join(stored_rows.select("stored_row", "id"), on="stored_row")
    return BookingChanges(
        added=unpaired_fetched.select(CONTENT),
        changed=changed_ids.join(fetched_rows, on="fetched_row").select(STORED_BOOKINGS.names()),
        gone=tuple(unpaired_stored.filter(pl.col("pending"))["id"]),
    )


def appended(fetched_bookings: pl.DataFrame, unchanged: int) -> BookingChanges:
    """The changes after a fetch that brings all stored bookings again, in the same order and unchanged, before any new ones: what
    `reconcile` gives for them. `unchanged` is their number.
    """
    fetched_rows = checked(fetched_bookings, BOOKINGS)
    return BookingChanges(fetched_rows.select(CONTENT)[unchanged:], STORED_BOOKINGS.to_frame(), ())


def fold_answers(answers: Iterable[tuple[date, pl.DataFrame]]) -> pl.DataFrame:
    """The bookings of a product after several fetches, each with its first day and all `BOOKINGS` from that day on."""
    bookings, count = STORED_BOOKINGS.to_frame(), 0
    for first, answer in answers:
        covered = (pl.col("booked_on") >= first) | pl.col("pending")
        changes = reconcile(bookings.filter(covered), answer)
        new = changes.added.with_columns(id=pl.int_range(count, count + pl.len()).cast(pl.String)).select(STORED_BOOKINGS.names())
        remaining = bookings.filter(~pl.col("id").is_in(changes.gone)).update(changes.changed, on="id", include_nulls=True)
        bookings, count = pl.concat([remaining, new]), count + new.height
    return bookings.select(CONTENT)


def missing_bookings(stored_bookings: pl.DataFrame, pushed_bookings: pl.DataFrame) -> pl.DataFrame:
    """The pushed bookings that are not stored yet. Equal ones count as often as they occur: a repeated batch adds nothing."""
    stored_rows = checked(stored_bookings, STORED_BOOKINGS).with_row_index("stored_row")
    pushed_rows = checked(pushed_bookings, BOOKINGS).with_row_index("fetched_row")
    return without(stored_rows, pushed_rows, pairs_by(stored_rows, pushed_rows, CONTENT))[1].select(CONTENT)


def with_letters(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with the lower-case letters and digits of each text (`letters`) and of each counterparty (`partner`)."""
    text = pl.concat_str("purpose", "counterparty_name", separator=" ", ignore_nulls=True)
    plain = [
        expression.str.to_lowercase().str.replace_all(r"[^\p{L}\p{N}]", "") for expression in (text, pl.col("counterparty_name"))
    ]
    return frame.with_columns(letters=plain[0], partner=plain[1])


def pairs_by(stored_rows: pl.DataFrame, fetched_rows: pl.DataFrame, likeness: Iterable[str]) -> pl.DataFrame:
    """Pairs the n-th stored with the n-th fetched booking of each group, sorted by letters, so that similar texts meet."""
    keys = list(likeness)
    nth = pl.int_range(pl.len()).over(keys).alias("nth")
    order = [name for name in ("letters",) if name in stored_rows.columns]
    left, right = (
        frame.sort(*order, row).select(row, *keys, nth)
        for frame, row in ((stored_rows, "stored_row"), (fetched_rows, "fetched_row"))
    )
    return left.join(right, on=[*keys, "nth"], nulls_equal=True).select("stored_row", "fetched_row")


def without(stored_rows: pl.DataFrame, fetched_rows: pl.DataFrame, pairs: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    return stored_rows.join(pairs, on="stored_row", how="anti"), fetched_rows.join(pairs, on="fetched_row", how="anti")


def _respelt(stored_rows: pl.DataFrame, fetched_rows: pl.DataFrame) -> pl.DataFrame:
    return pairs_by(stored_rows, fetched_rows, (*SAME_DAY, "letters"))


def _rewritten(stored_rows: pl.DataFrame, fetched_rows: pl.DataFrame) -> pl.DataFrame:
    return pairs_by(stored_rows, fetched_rows, (*SAME_DAY, "counterparty_iban"))


def _moved(stored_rows: pl.DataFrame, fetched_rows: pl.DataFrame) -> pl.DataFrame:
    return nearest_pairs(stored_rows, fetched_rows, SAME_TEXT, -MOVE_WINDOW, MOVE_WINDOW)


def _same_day(stored_rows: pl.DataFrame, fetched_rows: pl.DataFrame) -> pl.DataFrame:
    return pairs_by(stored_rows, fetched_rows, SAME_DAY)


def _other_text(stored_rows: pl.DataFrame, fetched_rows: pl.DataFrame) -> pl.DataFrame:
    return nearest_pairs(
        stored_rows, fetched_rows, ("amount_cents", "currency", "pending", "partner"), -2 * MOVE_WINDOW, 2 * MOVE_WINDOW
    )


def _booked(stored_rows: pl.DataFrame, fetched_rows: pl.DataFrame) -> pl.DataFrame:
    pending, booked = stored_rows.filter(pl.col("pending")), fetched_rows.filter(~pl.col("pending"))
    return nearest_pairs(pending, booked, ("amount_cents", "currency"), -BOOKED_BEFORE_WINDOW, BOOKED_AFTER_WINDOW)


def nearest_pairs(
    stored_rows: pl.DataFrame, fetched_rows: pl.DataFrame, likeness: tuple[str, ...], earliest: timedelta, latest: timedelta
) -> pl.DataFrame:
    """Pairs bookings of the same group whose days are near, the earliest with the earliest."""
    waiting = _by_likeness(fetched_rows, "fetched_row", likeness)
    pairs = [
        pair
        for key, rows in _by_likeness(stored_rows, "stored_row", likeness).items()
        for pair in _in_order(rows, waiting.get(key, []), earliest, latest)
    ]
    return pl.DataFrame(pairs, schema={"stored_row": pl.UInt32, "fetched_row": pl.UInt32}, orient="row")


def _by_likeness(frame: pl.DataFrame, row: str, likeness: tuple[str, ...]) -> dict[tuple[object, ...], list[tuple[date, int]]]:
    groups = defaultdict(list)
    for index, day, *key in frame.sort("booked_on", row).select(row, "booked_on", *likeness).iter_rows():
        groups[tuple(key)].append((day, index))
    return groups


def _in_order(
    stored_rows: list[tuple[date, int]], fetched_rows: list[tuple[date, int]], earliest: timedelta, latest: timedelta
) -> Iterator[tuple[int, int]]:
    """Walks two sorted lists once and pairs entries that are near enough."""
    left = right = 0
    while left < len(stored_rows) and right < len(fetched_rows):
        distance = fetched_rows[right][0] - stored_rows[left][0]
        if distance < earliest:
            right += 1
        elif distance > latest:
            left += 1
        else:
            yield stored_rows[left][1], fetched_rows[right][1]
            left, right = left + 1, right + 1
