"""The merge: what a bank tells now, against what it told before.

Bookings have no identity of their own at most banks. Ours must survive that a window is fetched again, that two equal purchases
are really two, that texts are rewritten, that a booking moves to another day, and that a pending booking becomes a booked one.
So stored and fetched bookings are paired, from the surest likeness to the weakest, and each is paired once:

1. equal in everything, counting occurrences: twins pair with twins;
2. the same day and amount, and the same letters of text and counterparty: written in another way;
3. the same day, amount and counterparty: the text was rewritten;
4. the same amount and text a few days off: the booking was moved;
5. the same day and amount, then the same amount around that day if the counterparty can be the same: moved and rewritten;
6. pending there, booked here, the same amount around that day: the bank has booked it.

What remains of the fetched is new. What remains of the stored stays if it was booked (no absence deletes history), and goes if
it was pending. Pure functions: no database here.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta

import polars as pl

from analytics.frames import BOOKINGS, STORED, checked

CONTENT = BOOKINGS.names()
SAME_DAY = ("booked_on", "amount_cents", "currency", "pending")
SAME_TEXT = ("amount_cents", "currency", "pending", "purpose", "counterparty_name", "counterparty_iban")
MOVED = timedelta(days=7)
BOOKED_AFTER = timedelta(days=14)
BOOKED_BEFORE = timedelta(days=3)


@dataclass(frozen=True)
class BookingChanges:
    """What makes the stored bookings those of the bank."""

    added: pl.DataFrame
    """Frame `BOOKINGS`: new ones, in the bank's order."""
    changed: pl.DataFrame
    """Frame `STORED`: known ones with their new content."""
    gone: tuple[str, ...]
    """Ids of pending ones that the bank does not know any more."""

    def __bool__(self) -> bool:
        return bool(self.added.height or self.changed.height or self.gone)


def reconcile(stored: pl.DataFrame, fetched: pl.DataFrame) -> BookingChanges:
    """The changes after a fetch. `stored` must hold all bookings of the bank from the first day of the fetch on."""
    known = checked(stored, STORED).with_row_index("known")
    told = checked(fetched, BOOKINGS).with_row_index("told")
    if told.is_empty():
        return BookingChanges(fetched.select(CONTENT), stored.clear(), ())
    unchanged = _pairs(known, told, CONTENT)
    known_left, told_left = (_with_letters(frame) for frame in _without(known, told, unchanged))
    changed = unchanged.clear()
    for likeness in (_respelt, _rewritten, _moved, _same_day, _other_text, _booked):
        found = likeness(known_left, told_left)
        changed = changed.vstack(found)
        known_left, told_left = _without(known_left, told_left, found)
    return BookingChanges(
        added=told_left.select(CONTENT),
        changed=changed.join(known.select("known", "id"), on="known").join(told, on="told").select(STORED.names()),
        gone=tuple(known_left.filter(pl.col("pending"))["id"]),
    )


def fold(said: Iterable[tuple[date, pl.DataFrame]]) -> pl.DataFrame:
    """What a bank has said of a product over time, in the end: each time all bookings (frame `BOOKINGS`) from a day on."""
    known, count = STORED.to_frame(), 0
    for first, told in said:
        covered = (pl.col("booked_on") >= first) | pl.col("pending")
        changes = reconcile(known.filter(covered), told)
        new = changes.added.with_columns(id=pl.int_range(count, count + pl.len()).cast(pl.String)).select(STORED.names())
        kept = known.filter(~pl.col("id").is_in(changes.gone)).update(changes.changed, on="id", include_nulls=True)
        known, count = pl.concat([kept, new]), count + new.height
    return known.select(CONTENT)


def missing(stored: pl.DataFrame, pushed: pl.DataFrame) -> pl.DataFrame:
    """What of a pushed batch is not stored yet: equal bookings count as often as they occur, so that a repeat adds nothing."""
    known, told = checked(stored, STORED).with_row_index("known"), checked(pushed, BOOKINGS).with_row_index("told")
    return _without(known, told, _pairs(known, told, CONTENT))[1].select(CONTENT)


def _with_letters(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with the letters and digits of each text, and of each counterparty, in lower case."""
    text = pl.concat_str("purpose", "counterparty_name", separator=" ", ignore_nulls=True)
    plain = [
        expression.str.to_lowercase().str.replace_all(r"[^\p{L}\p{N}]", "") for expression in (text, pl.col("counterparty_name"))
    ]
    return frame.with_columns(letters=plain[0], partner=plain[1])


def _pairs(known: pl.DataFrame, told: pl.DataFrame, likeness: Iterable[str]) -> pl.DataFrame:
    """The n-th stored with the n-th fetched of each group of like ones, in the order of their letters: like texts meet."""
    keys = list(likeness)
    nth = pl.int_range(pl.len()).over(keys).alias("nth")
    order = [name for name in ("letters",) if name in known.columns]
    left, right = (frame.sort(*order, row).select(row, *keys, nth) for frame, row in ((known, "known"), (told, "told")))
    return left.join(right, on=[*keys, "nth"], nulls_equal=True).select("known", "told")


def _without(known: pl.DataFrame, told: pl.DataFrame, pairs: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    return known.join(pairs, on="known", how="anti"), told.join(pairs, on="told", how="anti")


def _respelt(known: pl.DataFrame, told: pl.DataFrame) -> pl.DataFrame:
    return _pairs(known, told, (*SAME_DAY, "letters"))


def _rewritten(known: pl.DataFrame, told: pl.DataFrame) -> pl.DataFrame:
    return _pairs(known, told, (*SAME_DAY, "counterparty_iban"))


def _moved(known: pl.DataFrame, told: pl.DataFrame) -> pl.DataFrame:
    return _nearest(known, told, SAME_TEXT, -MOVED, MOVED)


def _same_day(known: pl.DataFrame, told: pl.DataFrame) -> pl.DataFrame:
    return _pairs(known, told, SAME_DAY)


def _other_text(known: pl.DataFrame, told: pl.DataFrame) -> pl.DataFrame:
    return _nearest(known, told, ("amount_cents", "currency", "pending", "partner"), -2 * MOVED, 2 * MOVED)


def _booked(known: pl.DataFrame, told: pl.DataFrame) -> pl.DataFrame:
    pending, booked = known.filter(pl.col("pending")), told.filter(~pl.col("pending"))
    return _nearest(pending, booked, ("amount_cents", "currency"), -BOOKED_BEFORE, BOOKED_AFTER)


def _nearest(
    known: pl.DataFrame, told: pl.DataFrame, likeness: tuple[str, ...], earliest: timedelta, latest: timedelta
) -> pl.DataFrame:
    """Pairs of like ones whose days are near, the earliest with the earliest."""
    waiting = _by_likeness(told, "told", likeness)
    pairs = [
        pair
        for key, rows in _by_likeness(known, "known", likeness).items()
        for pair in _in_order(rows, waiting.get(key, []), earliest, latest)
    ]
    return pl.DataFrame(pairs, schema={"known": pl.UInt32, "told": pl.UInt32}, orient="row")


def _by_likeness(frame: pl.DataFrame, row: str, likeness: tuple[str, ...]) -> dict[tuple[object, ...], list[tuple[date, int]]]:
    groups = defaultdict(list)
    for index, day, *key in frame.sort("booked_on", row).select(row, "booked_on", *likeness).iter_rows():
        groups[tuple(key)].append((day, index))
    return groups


def _in_order(
    known: list[tuple[date, int]], told: list[tuple[date, int]], earliest: timedelta, latest: timedelta
) -> Iterator[tuple[int, int]]:
    """Walks two sorted lists once and pairs what lies near enough."""
    left = right = 0
    while left < len(known) and right < len(told):
        distance = told[right][0] - known[left][0]
        if distance < earliest:
            right += 1
        elif distance > latest:
            left += 1
        else:
            yield known[left][1], told[right][1]
            left, right = left + 1, right + 1
