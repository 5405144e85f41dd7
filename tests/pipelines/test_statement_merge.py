"""Statement files of one account, in any order, formats and overlaps: what is stored is the history."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analytics.frames import BOOKINGS
from pipelines.fetching.statement_merge import fold_statements
from pipelines.statements.reading import read
from tests.pipelines.statements.rendering import Line, camt, fitting, histories, mt940, sparkasse_csv
from tests.pipelines.test_merge import bookings
from tests.support.examples import examples

TEXTS = ("booked_on", "amount_cents", "purpose", "counterparty_name", "counterparty_iban")
VIEWS: dict[str, Callable[[list[Line]], bytes]] = {
    "CAMT.053": lambda lines: camt(lines, "08"),
    "CAMT.052": lambda lines: camt(lines, "02", "052"),
    "MT940": lambda lines: mt940(lines).encode(),
    "CSV": sparkasse_csv,
    "FinTS": lambda lines: f"\r\n{mt940(lines, page_lines=4)}".encode("iso-8859-1"),
}
"""One history as banks export it, and as FinTS delivers it: CAMT.052 in version 02, or pages of MT940 in ISO 8859-1."""


@st.composite
def days_of_lines(draw: st.DrawFn) -> list[Line]:
    """A history of few days, payees and amounts, so that bookings look alike."""
    drawn = draw(histories(10))
    first = drawn[0].booked_on
    days = [first + timedelta(days=draw(st.integers(0, 4))) for _ in drawn]
    cents = [draw(st.sampled_from((-350, -350, 120_000, line.cents))) for line in drawn]
    alike = [draw(st.sampled_from((line, drawn[0]))) for line in drawn]
    lines = [
        replace(fitting(line), booked_on=day, value_on=day, cents=amount, ultimate="")
        for line, day, amount in zip(alike, days, cents, strict=True)
    ]
    return sorted(lines, key=lambda line: line.booked_on)


@st.composite
def uploads(draw: st.DrawFn) -> tuple[list[Line], list[tuple[str, list[Line]]]]:
    """A history, and files of whole days that cover all of it, overlap at will and come in any order."""
    history = draw(days_of_lines())
    days = sorted({line.booked_on for line in history})
    periods = [(day, day) for day in days]
    for _ in range(draw(st.integers(0, 4))):
        first, last = sorted(draw(st.tuples(st.sampled_from(days), st.sampled_from(days))))
        periods.append((first, last))
    files = [
        (draw(st.sampled_from(sorted(VIEWS))), [line for line in history if first <= line.booked_on <= last])
        for first, last in periods
    ]
    return history, draw(st.permutations(files))


def lines_of(view: str, lines: list[Line]) -> tuple[date, pl.DataFrame]:
    """The lines of a file as they are read."""
    (statement,) = read(VIEWS[view](lines))
    return statement.bookings["booked_on"].max(), statement.bookings  # type: ignore[return-value]


def folded(files: list[tuple[str, list[Line]]]) -> pl.DataFrame:
    merged = fold_statements(lines_of(*file) for file in files)
    assert merged is not None
    return merged[1]


def content(frame: pl.DataFrame, columns: Any = TEXTS) -> Counter[Any]:
    return Counter(frame.select(columns).iter_rows())


@given(uploads())
@settings(max_examples=examples(60))
def test_any_order_and_overlap_gives_the_history(drawn: tuple[list[Line], list[tuple[str, list[Line]]]]) -> None:
    history, files = drawn
    expected = Counter((line.booked_on, line.cents, line.purpose, line.name or None, line.iban) for line in history)
    assert content(folded(files)) == expected


@given(uploads(), st.randoms())
@settings(max_examples=examples(30))
def test_the_order_of_the_files_changes_nothing(drawn: tuple[list[Line], list[tuple[str, list[Line]]]], chance: Any) -> None:
    _, files = drawn
    shuffled = list(files)
    chance.shuffle(shuffled)
    names = BOOKINGS.names()
    assert content(folded(files), names) == content(folded(shuffled), names)


@given(uploads())
@settings(max_examples=examples(20))
def test_the_view_that_tells_most_stays(drawn: tuple[list[Line], list[tuple[str, list[Line]]]]) -> None:
    """CAMT has everything; a CSV that comes later takes nothing away."""
    history, files = drawn
    merged = folded([*files, ("CAMT.053", history), *files])
    assert content(merged, BOOKINGS.names()) == content(lines_of("CAMT.053", history)[1], BOOKINGS.names())


def test_twins_of_a_day_are_counted_not_lost() -> None:
    twins = bookings("3 -350 coffee\n3 -350 coffee")
    one = bookings("3 -350 coffee")
    day = date(2026, 11, 3)
    for frames in ((one, twins), (twins, one), (twins, twins)):
        merged = fold_statements((day, frame) for frame in frames)
        assert merged is not None
        assert merged[1].height == 2


def test_the_same_purchase_a_week_later_is_another_one() -> None:
    """In a fetch of a bank a booking may move; in a file it stays on its day."""
    merged = fold_statements([(date(2026, 11, 3), bookings("3 -350 coffee")), (date(2026, 11, 5), bookings("5 -350 coffee"))])
    assert merged is not None
    assert merged[1].height == 2


OLDER, NEWER = (date(2026, 11, 3), "1 -100 rewe\n3 -900 hotel p"), (date(2026, 11, 6), "1 -100 rewe\n5 -900 hotel-muenchen")
NOON, EVENING = (date(2026, 11, 3), "3 -900 hotel p"), (date(2026, 11, 3), "3 -900 hotel-muenchen")


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ((OLDER,), {("rewe", False), ("hotel", True)}),
        ((OLDER, NEWER), {("rewe", False), ("hotel-muenchen", False)}),
        ((NEWER, OLDER), {("rewe", False), ("hotel-muenchen", False)}),
        ((NOON, EVENING), {("hotel-muenchen", False)}),
        ((EVENING, NOON), {("hotel-muenchen", False)}),
        ((OLDER, (date(2026, 11, 6), "1 -100 rewe")), {("rewe", False)}),
        ((OLDER, (date(2026, 11, 6), "1 -100 rewe\n6 -900 hotel p")), {("rewe", False), ("hotel", True)}),
        (((date(2026, 11, 2), "1 -100 rewe"), OLDER), {("rewe", False), ("hotel", True)}),
        ((OLDER, (date(2026, 11, 2), "1 -100 rewe")), {("rewe", False), ("hotel", True)}),
    ],
)
def test_pending_lines_are_those_of_the_newest_file(files: Any, expected: set[tuple[str, bool]]) -> None:
    merged = fold_statements((day, bookings(text)) for day, text in files)
    assert merged is not None
    assert set(merged[1].select("purpose", "pending").iter_rows()) == expected
    assert merged[1].height == len(expected)


def test_nothing_gives_nothing() -> None:
    assert fold_statements([]) is None
