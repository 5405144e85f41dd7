"""MT940 and MT942: what is written is read, and the habits of banks: wrapped lines, old encodings, reversals and odd days."""

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from pipelines.statements.reading import read
from pipelines.statements.statement import DayBalance, Difference, Reason, Statement, StatementFault, Subject
from tests.pipelines.statements.rendering import Line, fitting, frame_of, histories, mt940
from tests.support.examples import examples


def message(*fields: str, account: str = "37050198/1802057", opening: str = "C260301EUR100,00", end: str = "-") -> bytes:
    """A message with these fields between its opening balance and its end."""
    return "\r\n".join((":20:1", f":25:{account}", ":28C:1/1", f":60F:{opening}", *fields, end, "")).encode("latin-1")


def only(content: bytes) -> Statement:
    (statement,) = read(content)
    return statement


def first(content: bytes) -> dict[str, object]:
    """The first booking of a file."""
    return only(content).bookings.row(0, named=True)


ONE = (":61:2603020302D10,00NTRFNONREF", ":62F:C260302EUR90,00")


class TestWhatIsWrittenIsRead:
    @given(histories().map(lambda history: [fitting(line) for line in history]), st.integers(0, 10**8), st.integers(1, 9))
    @settings(max_examples=examples(60), deadline=None)
    def test_every_field_over_all_pages(self, history: list[Line], opening: int, page_lines: int) -> None:
        for encoding in ("utf-8", "latin-1"):
            statement = only(mt940(history, opening, page_lines=page_lines).encode(encoding))
            assert_frame_equal(statement.bookings, frame_of(history, ultimate_name=None))
            assert statement.opening == DayBalance(opening, history[0].booked_on)
            assert statement.closing == DayBalance(opening + sum(line.cents for line in history), history[-1].booked_on)
            assert statement.differences == ()

    @pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "cp437", "cp1252"])
    def test_umlauts_of_every_encoding(self, encoding: str) -> None:
        text = message(ONE[0], ":86:166?00GUTSCHRIFT?20Mähdrescher für Öl?32Jürgen Groß", ONE[1]).decode("latin-1")
        booking = first(text.encode(encoding))
        assert (booking["purpose"], booking["counterparty_name"]) == ("Mähdrescher für Öl", "Jürgen Groß")

    def test_a_statement_for_each_day_of_either_order_has_its_own_bookings(self) -> None:
        """All texts of a file are tidied at once, and each statement gets its own lines back, also one without any."""

        def of_day(day: int, *amounts: int) -> bytes:
            lines = [f":61:2603{day:02}03{day:02}D{amount},00NTRFNONREF\r\n:86:105?20  Nr. {day}-{amount}" for amount in amounts]
            return message(*lines, f":62F:C2603{day:02}EUR{100 - sum(amounts)},00")

        statements = read(of_day(3, 1, 2) + of_day(2) + of_day(1, 7) + of_day(4, 5, 6, 7))
        assert [statement.bookings["purpose"].to_list() for statement in statements] == [
            ["Nr. 3-1", "Nr. 3-2"],
            [],
            ["Nr. 1-7"],
            ["Nr. 4-5", "Nr. 4-6", "Nr. 4-7"],
        ]
        assert all(statement.differences == () for statement in statements)


class TestAccounts:
    @pytest.mark.parametrize(
        ("text", "iban", "number", "bank"),
        [
            ("37050198/1802057", None, "1802057", "37050198"),
            ("37050198/1802057EUR", None, "1802057", "37050198"),
            ("DE02370501980001802057", "DE02370501980001802057", None, None),
            ("COLSDE33XXX/DE02370501980001802057EUR", "DE02370501980001802057", None, "COLSDE33XXX"),
            ("/DE02370501980001802057", "DE02370501980001802057", None, None),
        ],
    )
    def test_however_it_is_written(self, text: str, iban: str | None, number: str | None, bank: str | None) -> None:
        account = only(message(*ONE, account=text)).account
        assert (account.iban, account.number, account.bic or account.blz) == (iban, number, bank)
        assert account.currency == "EUR"

    def test_a_text_is_no_account(self) -> None:
        with pytest.raises(StatementFault) as fault:
            read(message(*ONE, account="166?00GUTSCHRIFT?20" + "Miete " * 10))
        assert (fault.value.reason, fault.value.line) == (Reason.FIELD_MISSING, 2)


class TestLines:
    @pytest.mark.parametrize(
        ("mark", "cents"), [("C", 1000), ("D", -1000), ("RC", -1000), ("RD", 1000), ("CR", 1000), ("DR", -1000)]
    )
    def test_a_reversal_has_the_other_sign(self, mark: str, cents: int) -> None:
        assert first(message(f":61:2603020302{mark}10,00NTRFNONREF", ONE[1]))["amount_cents"] == cents

    @pytest.mark.parametrize(
        ("days", "booked_on", "value_on"),
        [
            ("2601021231", date(2025, 12, 31), date(2026, 1, 2)),
            ("2512300102", date(2026, 1, 2), date(2025, 12, 30)),
            ("2603020302", date(2026, 3, 2), date(2026, 3, 2)),
            ("260302", date(2026, 3, 2), date(2026, 3, 2)),
            ("2602300302", date(2026, 3, 2), date(2026, 2, 28)),
            ("2402290229", date(2024, 2, 29), date(2024, 2, 29)),
        ],
    )
    def test_the_year_of_the_booking_day_is_the_nearest(self, days: str, booked_on: date, value_on: date) -> None:
        booking = first(message(f":61:{days}D10,00NTRFNONREF", ONE[1]))
        assert (booking["booked_on"], booking["value_on"]) == (booked_on, value_on)

    @pytest.mark.parametrize(
        "line", ["2613020302D10,00NTRF", "2603320302D10,00NTRF", "260302X10,00NTRF", "260302D10.00NTRF", "", "D10,00"]
    )
    def test_an_unreadable_line_is_refused_with_its_number(self, line: str) -> None:
        with pytest.raises(StatementFault) as fault:
            read(message(f":61:{line}", ONE[1]))
        assert fault.value.line == 5

    @pytest.mark.parametrize(
        ("amount", "cents"), [("500", 50_000), ("500,", 50_000), (",5", 50), ("0000000000000000007,00", 700), ("1,5", 150)]
    )
    def test_amounts_without_a_comma_and_with_many_zeros(self, amount: str, cents: int) -> None:
        assert first(message(f":61:2603020302C{amount}NTRFNONREF", ONE[1]))["amount_cents"] == cents

    def test_a_code_may_be_filled_with_blanks(self) -> None:
        assert first(message(":61:2603020302D10,00S   X", ONE[1]))["amount_cents"] == -1000

    def test_an_amount_finer_than_cents_is_refused(self) -> None:
        with pytest.raises(StatementFault) as fault:
            read(message(":61:260302D10,005NTRFNONREF", ONE[1]))
        assert fault.value.reason is Reason.AMOUNT


class TestTexts:
    def test_all_subfields(self) -> None:
        text = (
            ":86:105?00SEPA-BASIS-LASTSCHRIFT?109316?20EREF+987654123497?21MREF+10023?22CRED+DE54ZZZ09999999999"
            "?23SVWZ+Versicherungsbeitrag 2?24026?30WELADED1MST?31DE87240501501234567890?32XYZ Versicherungs AG?34991"
            "?60 zweiter Teil"
        )
        rows = [text[start : start + 65] for start in range(0, len(text), 65)]
        booking = first(message(ONE[0], *rows, ONE[1]))
        assert booking["booking_text"] == "SEPA-BASIS-LASTSCHRIFT"
        assert (booking["gv_code"], booking["primanota"]) == ("105", "9316")
        assert str(booking["purpose"]).split("\n") == [
            "EREF+987654123497",
            "MREF+10023",
            "CRED+DE54ZZZ09999999999",
            "SVWZ+Versicherungsbeitrag 2026 zweiter Teil",
        ]
        assert booking["counterparty_name"] == "XYZ Versicherungs AG"
        assert (booking["counterparty_iban"], booking["counterparty_bic"]) == ("DE87240501501234567890", "WELADED1MST")

    def test_a_full_line_goes_on_without_a_blank_and_a_short_one_with_it(self) -> None:
        text = f":86:166?20{'Rechnungsnummer 12345678901'}?212 vom?22Mai"
        assert first(message(ONE[0], text, ONE[1]))["purpose"] == "Rechnungsnummer 123456789012 vom Mai"

    def test_a_question_mark_in_a_text_is_no_subfield(self) -> None:
        booking = first(message(ONE[0], ":86:166?20Wirklich?21 oder was?20 Euro?32Anna", ONE[1]))
        assert (booking["purpose"], booking["counterparty_name"]) == ("Wirklich oder was?20 Euro", "Anna")

    def test_subfields_of_single_banks_are_no_part_of_the_name(self) -> None:
        text = ":86: 166?20Wer zahlt?70 Euro?3010020030?31234567?32Anna?33 Muster?38DE87240501501234567890?70Bert?71 Muster"
        booking = first(message(ONE[0], text, ONE[1]))
        assert (booking["purpose"], booking["counterparty_name"]) == ("Wer zahlt?70 Euro", "Anna Muster")
        assert booking["counterparty_iban"] == "DE87240501501234567890"

    def test_notes_of_the_bank_may_stand_before_the_text(self) -> None:
        assert first(message(ONE[0], ":NS:01Musterweg 1", "02Ort", ":86:166?20Miete", ONE[1]))["purpose"] == "Miete"

    def test_the_separator_may_be_another_one(self) -> None:
        booking = first(message(ONE[0], ":86:166<00GUTSCHRIFT<20Miete<32Anna", ONE[1]))
        assert (booking["booking_text"], booking["purpose"], booking["counterparty_name"]) == ("GUTSCHRIFT", "Miete", "Anna")

    def test_the_ultimate_counterparty_stands_in_the_purpose(self) -> None:
        booking = first(message(ONE[0], ":86:166?20SVWZ+Miete?21ABWA+Bert Beispiel?32Anna", ONE[1]))
        assert booking["ultimate_name"] == "Bert Beispiel"

    def test_an_unstructured_text_is_the_purpose(self) -> None:
        booking = first(message(":61:2603020302D10,00N051NONREF", ":86:Miete März", "Anna Muster", ONE[1]))
        assert (booking["purpose"], booking["gv_code"], booking["counterparty_name"]) == ("Miete März Anna Muster", "051", None)

    def test_a_text_about_the_statement_belongs_to_no_line(self) -> None:
        assert first(message(*ONE, ":86:Wir wünschen ein gutes Jahr"))["purpose"] is None

    def test_a_hyphen_alone_in_a_wrapped_text_ends_nothing(self) -> None:
        assert first(message(ONE[0], ":86:166?20Miete", "-", ONE[1]))["purpose"] == "Miete-"


class TestMessages:
    def test_a_difference_is_told(self) -> None:
        assert only(message(ONE[0], ":62F:C260302EUR80,00")).differences == (Difference(Subject.BALANCE, 8000, 9000),)

    def test_without_a_closing_balance_the_end_must_be_there(self) -> None:
        assert only(message(ONE[0])).closing is None
        with pytest.raises(StatementFault) as fault:
            read(message(ONE[0], end=""))
        assert fault.value.reason is Reason.TRUNCATED

    def test_several_accounts_of_a_file(self) -> None:
        content = message(*ONE) + message(*ONE, account="37050198/999")
        assert [statement.account.number for statement in read(content)] == ["1802057", "999"]

    def test_swift_envelopes_and_old_line_breaks(self) -> None:
        plain = message(*ONE)
        envelope = b"{1:F01COLSDE33XXXX0000000000}{2:O9401200}{4:\r\n" + plain.replace(b"\r\n-\r\n", b"\r\n-}")
        for content in (envelope, plain.replace(b"\r\n", b"@@"), plain.replace(b"\r\n", b"\n"), b"\xef\xbb\xbf" + plain):
            assert only(content).bookings["amount_cents"].to_list() == [-1000]

    def test_advance_notices_are_pending(self) -> None:
        notice = "\r\n".join(
            (":20:1", ":25:37050198/1802057", ":28C:0", ":34F:EURD0,", ":13:2603020900", ONE[0], ":90D:1EUR10,", "-")
        )
        statement = only(notice.encode())
        assert statement.format == "MT942"
        assert statement.bookings["pending"].to_list() == [True]
