"""What we write, we read: exports of any bookings come back the same."""

import csv
import io
from datetime import UTC, date, datetime

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lxml import etree

from analytics.frames import BOOKINGS
from pipelines.statements.reading import read
from pipelines.statements.statement import tidy
from pipelines.statements.writing import ExportAccount, camt_file, csv_file
from tests.pipelines.statements.rendering import OWN_BIC, OWN_IBAN, german_iban, histories, numbers
from tests.support.examples import examples

NOW = datetime(2026, 11, 16, 11, 30, tzinfo=UTC)
TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc", "Cn", "Zl", "Zp")), max_size=300)
PURPOSES = TEXTS | st.lists(
    st.sampled_from(
        ("EREF+E-1", "KREF+K 2", "MREF+M3", "CRED+DE98ZZZ09999999999", "PURP+SALA", "SVWZ+Miete <März> & mehr", "ABWA+X")
    )
    | TEXTS,
    max_size=6,
).map("\n".join)
WORDS = (
    "=1+1",
    "-5",
    "@a",
    "+49 221",
    "'quoted'",
    '"a";b',
    "a\nb",
    "]]>",
    "<x>",
    "&amp;",
    "NOTPROVIDED",
    "SVWZ+",
    "EREF+NOTPROVIDED",
)


@st.composite
def booking_frames(draw: st.DrawFn, most: int = 6) -> pl.DataFrame:
    """Bookings as they are stored: tidy, in order, with any text."""
    text = st.none() | TEXTS | st.sampled_from(WORDS)
    rows = [
        {
            "booked_on": draw(st.dates(date(2000, 1, 1), date(2030, 1, 1))),
            "value_on": draw(st.none() | st.dates(date(2000, 1, 1), date(2030, 1, 1))),
            "amount_cents": draw(st.integers(-(10**12), 10**12)),
            "currency": draw(st.sampled_from(("EUR", "USD"))),
            "purpose": draw(st.none() | PURPOSES | st.sampled_from(WORDS)),
            "booking_text": draw(text),
            "gv_code": (code := draw(st.none() | numbers(3))),
            "primanota": None if code is None else draw(st.none() | numbers(4)),
            "counterparty_name": draw(text),
            "counterparty_iban": draw(st.none() | numbers(18).map(german_iban)),
            "counterparty_bic": draw(st.none() | st.just(OWN_BIC)),
            "ultimate_name": draw(text),
            "pending": draw(st.booleans()),
        }
        for _ in range(draw(st.integers(0, most)))
    ]
    frame = tidy(pl.DataFrame(rows, schema=BOOKINGS).sort("booked_on", maintain_order=True))
    blanks = pl.col(pl.String).str.replace_all(r"[ \u{a0}]{100,}", " ")  # a chunk of nothing but blanks is no text
    return tidy(frame.with_columns(blanks))


def account(bookings: pl.DataFrame, **about: object) -> ExportAccount:
    return ExportAccount("giro", "Girokonto", bookings, OWN_IBAN, currency="EUR", **about)  # type: ignore[arg-type]


@given(booking_frames())
@settings(max_examples=examples(100))
def test_camt_comes_back_the_same(bookings: pl.DataFrame) -> None:
    (statement,) = read(camt_file([account(bookings, owner_name="Erika & Max", bic=OWN_BIC)], NOW))
    assert statement.bookings.to_dicts() == bookings.to_dicts()
    assert (statement.account.iban, statement.account.owner_name, statement.account.bic) == (OWN_IBAN, "Erika & Max", OWN_BIC)


@given(booking_frames())
@settings(max_examples=examples(100))
def test_csv_comes_back_the_same(bookings: pl.DataFrame) -> None:
    statements = read(csv_file([account(bookings)]))
    found = pl.concat([statement.bookings for statement in statements])
    assert found.to_dicts() == bookings.to_dicts()


@given(st.lists(booking_frames(3), min_size=2, max_size=3))
@settings(max_examples=examples(20))
def test_several_accounts_in_one_file(frames: list[pl.DataFrame]) -> None:
    accounts = [ExportAccount(f"konto-{number}", "Konto", frame, currency="EUR") for number, frame in enumerate(frames)]
    statements = read(camt_file(accounts, NOW))
    assert [statement.account.number for statement in statements] == [account.key for account in accounts]
    assert [statement.bookings.height for statement in statements] == [frame.height for frame in frames]
    filled = [account for account in accounts if account.bookings.height]
    tables = read(csv_file(accounts)) if filled else ()
    assert [statement.account.number for statement in tables] == [account.key for account in filled]


@given(histories())
@settings(max_examples=examples(20))
@example([])
def test_references_stand_in_their_own_elements(history: list[object]) -> None:
    """So that other programs find them."""
    from tests.pipelines.statements.rendering import frame_of

    bookings = frame_of(history) if history else BOOKINGS.to_frame()  # type: ignore[arg-type]
    content = camt_file([account(bookings)], NOW)
    references = [element.text for element in etree.fromstring(content).iter("{*}EndToEndId")]
    assert references == [line.eref for line in history if line.eref]  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "'=1", "\t=1"])
def test_no_cell_is_a_formula(text: str) -> None:
    bookings = pl.DataFrame(
        [
            dict.fromkeys(BOOKINGS)
            | {"booked_on": date(2026, 1, 1), "amount_cents": -1, "currency": "EUR", "purpose": text, "pending": False}
        ],
        schema=BOOKINGS,
    )
    rows = list(csv.reader(io.StringIO(csv_file([account(bookings)]).decode("utf-8-sig")), delimiter=";"))
    assert rows[1][10] == f"'{text}"


def test_a_balance_is_told_where_it_is_known() -> None:
    bookings = BOOKINGS.to_frame()
    (statement,) = read(camt_file([account(bookings, balance_cents=-1234, balance_on=date(2026, 11, 1))], NOW))
    assert statement.closing is not None
    assert (statement.closing.cents, statement.closing.day) == (-1234, date(2026, 11, 1))
    assert read(camt_file([account(bookings)], NOW))[0].closing is None
