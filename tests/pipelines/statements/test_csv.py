"""CSV exports: every format by its header line, with the encodings, separators, preambles and days of its bank."""

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from pipelines.statements.csv_formats import FORMATS
from pipelines.statements.reading import read
from pipelines.statements.statement import Difference, Reason, StatementFault, Subject
from tests.pipelines.statements.rendering import OWN_IBAN, Line, frame_of, histories
from tests.pipelines.statements.samples import SAMPLES, Sample
from tests.support.examples import examples

VOLKSBANK = next(sample for sample in SAMPLES if sample.format == "Volksbank")
NAMES = [f"{sample.format} {place}" for place, sample in enumerate(SAMPLES)]


def cents(text: str) -> int:
    """The amount that a file of the Volksbank has where its first amount is replaced by this text."""
    (statement,) = read(VOLKSBANK.content.replace(b"-850,00", text.encode()))
    return int(statement.bookings["amount_cents"][-1])


@pytest.mark.parametrize("sample", SAMPLES, ids=NAMES)
def test_every_line_of_every_format(sample: Sample) -> None:
    (statement,) = read(sample.content)
    assert statement.format == sample.format
    columns = ("booked_on", "amount_cents", "counterparty_name", "counterparty_iban", "purpose")
    assert statement.bookings.select(columns).rows() == list(sample.rows)
    assert statement.bookings["pending"].to_list() == list(sample.pending or [False] * len(sample.rows))


@pytest.mark.parametrize("sample", SAMPLES, ids=NAMES)
def test_account_and_balances_of_every_format(sample: Sample) -> None:
    (statement,) = read(sample.content)
    assert statement.account.iban == sample.iban
    assert (statement.opening and statement.opening.cents) == sample.opening
    assert (statement.closing and statement.closing.cents) == sample.closing
    assert statement.differences == ()
    assert (statement.first_day, statement.last_day) == (sample.rows[0][0], sample.rows[-1][0])


def test_every_format_has_a_sample() -> None:
    assert {known.name for known in FORMATS} == {sample.format for sample in SAMPLES}


@pytest.mark.parametrize("sample", SAMPLES, ids=NAMES)
def test_a_cut_line_is_refused(sample: Sample) -> None:
    """Cut behind the first character of the last line of bookings: a file that ends there is not whole."""
    text = sample.text.rstrip("\n")
    last = text.rstrip().rpartition("\n")[0]
    with pytest.raises(StatementFault):
        read(f"{last}\n0".encode(sample.encoding))


def test_each_account_of_a_file_is_a_statement() -> None:
    content = VOLKSBANK.content.replace(OWN_IBAN.encode(), b"DE91100000000123456789", 1)
    assert [statement.account.iban for statement in read(content)] == ["DE91100000000123456789", OWN_IBAN]


def test_balances_after_each_line_are_checked() -> None:
    (statement,) = read(VOLKSBANK.content.replace(b"-850,00", b"-840,00"))
    assert statement.differences == (Difference(Subject.BALANCE, 115000, 116000),)


@pytest.mark.parametrize(
    ("text", "amount"), [("1.000", 100_000), ("-3,9", -390), ("+7", 700), ("1.234.567,89", 123_456_789), ("−5,00", -500)]
)
def test_amounts_as_german_banks_write_them(text: str, amount: int) -> None:
    assert cents(text) == amount


@pytest.mark.parametrize("text", ["1.00", "1,234", "12.34,00", "1 2 3 x", "", "--5,00", "9" * 16, "٣,٠٠", "1e3"])
def test_what_is_no_amount_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(StatementFault) as fault:
        cents(text)
    assert (fault.value.reason, fault.value.line) == (Reason.AMOUNT, 2)


@pytest.mark.parametrize("text", ["32.01.2026", "01.13.2026", "2026-03-03", "", "03.03.", "29.02.2026"])
def test_what_is_no_day_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(StatementFault) as fault:
        read(VOLKSBANK.content.replace(b"02.03.2026", text.encode()))
    assert (fault.value.reason, fault.value.line) == (Reason.DAY, 3)


def test_more_cells_than_columns_are_refused_with_their_line() -> None:
    with pytest.raises(StatementFault) as fault:
        read(VOLKSBANK.content.replace(b"Miete EREF", b"Miete; EREF"))
    assert (fault.value.reason, fault.value.line) == (Reason.COLUMNS, 2)


def test_a_text_in_quotes_may_hold_separators_and_lines() -> None:
    (statement,) = read(
        VOLKSBANK.content.replace(b"Abschluss per", b'"Abschluss; ""per""').replace(b"28.02.2026;-6", b'28.02.2026";-6')
    )
    assert statement.bookings["purpose"][0] == 'Abschluss; "per" 28.02.2026'


@given(histories(), st.sampled_from(("utf-8-sig", "utf-8", "cp1252", "utf-16")), st.booleans())
@settings(max_examples=examples(30), deadline=None)
def test_what_is_written_is_read(history: list[Line], encoding: str, newest_first: bool) -> None:
    """As a file of the Volksbank, whose lines have nearly every field."""
    days = [date(2026, 1, 1 + place) for place in range(len(history))]
    dated = [Line(**{**vars(line), "booked_on": day, "value_on": day}) for line, day in zip(history, days, strict=True)]
    rows = [
        f"Giro;{OWN_IBAN};X;VR;{line.booked_on:%d.%m.%Y};{line.value_on:%d.%m.%Y};{line.name};{line.iban};{line.bic};{line.booking_text};"
        f"{line.text};{line.cents / 100:.2f};EUR;;;;;".replace(
            f"{line.cents / 100:.2f}", f"{line.cents / 100:.2f}".replace(".", ",")
        )
        for line in dated
    ]
    header = VOLKSBANK.text.removeprefix("\ufeff").splitlines()[0]
    content = "\r\n".join([header, *(reversed(rows) if newest_first else rows), ""]).encode(encoding)
    (statement,) = read(content)
    plain = [Line(**{**vars(line), "eref": "", "mref": "", "cred": ""}) for line in dated]
    assert_frame_equal(statement.bookings, frame_of(plain, gv_code=None, primanota=None, ultimate_name=None))
