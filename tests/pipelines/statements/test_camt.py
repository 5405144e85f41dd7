"""CAMT.052 and CAMT.053: what is written is read, in both versions, and what banks do with batches, returns and pages."""

import ast
import inspect
from datetime import date
from xml.sax.saxutils import escape

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from pipelines.statements import camt as reader
from pipelines.statements.reading import read
from pipelines.statements.statement import DayBalance, Difference, Reason, Statement, StatementFault, Subject
from tests.pipelines.statements.rendering import OWN_BIC, OWN_IBAN, Line, camt, camt_balance, element, frame_of, histories
from tests.support.examples import examples

SPACE = "urn:iso:std:iso:20022:tech:xsd:camt.053.001"


def document(*entries: str, version: str = "08", more: str = "", balances: str = "") -> bytes:
    """A statement with these entries."""
    account = f"<Acct><Id><IBAN>{OWN_IBAN}</IBAN></Id><Ccy>EUR</Ccy></Acct>"
    body = f"<BkToCstmrStmt><GrpHdr/><Stmt>{more}{account}{balances}{''.join(entries)}</Stmt></BkToCstmrStmt>"
    return f'<Document xmlns="{SPACE}.{version}">{body}</Document>'.encode()


def entry(euros: str, *details: str, sign: str = "DBIT", more: str = "", currency: str = "EUR", state: str = "BOOK") -> str:
    """An entry of one day; its details are elements `TxDtls`."""
    group = element("NtryDtls", "".join(element("TxDtls", detail) for detail in details))
    head = f'<Amt Ccy="{currency}">{euros}</Amt><CdtDbtInd>{sign}</CdtDbtInd><Sts><Cd>{state}</Cd></Sts>'
    return f"<Ntry>{head}<BookgDt><Dt>2026-03-02</Dt></BookgDt>{more}{group}</Ntry>"


def only(content: bytes) -> Statement:
    (statement,) = read(content)
    return statement


def column(content: bytes, name: str) -> list[object]:
    return only(content).bookings[name].to_list()


class TestWhatIsWrittenIsRead:
    @given(histories(), st.sampled_from(("02", "08")), st.sampled_from(("052", "053")), st.integers(-(10**8), 10**8))
    @settings(max_examples=examples(60), deadline=None)
    def test_every_field(self, history: list[Line], version: str, kind: str, opening: int) -> None:
        statement = only(camt(history, version, kind, opening))
        assert statement.format == f"CAMT.{kind}.001.{version}"
        assert_frame_equal(statement.bookings, frame_of(history))
        assert statement.opening == DayBalance(opening, history[0].booked_on)
        assert statement.closing == DayBalance(opening + sum(line.cents for line in history), history[-1].booked_on)
        assert statement.differences == ()

    def test_the_account(self) -> None:
        history = [Line(date(2026, 1, 5), date(2026, 1, 5), 100, "", OWN_IBAN, "", "", "", "", "", "", "166", "9")]
        account = only(camt(history)).account
        assert (account.iban, account.bic, account.currency, account.owner_name) == (OWN_IBAN, OWN_BIC, "EUR", "Erika Muster")

    def test_several_statements_of_a_file(self) -> None:
        one = camt([Line(date(2026, 1, 5), date(2026, 1, 5), 100, "A", OWN_IBAN, "", "", "", "", "", "", "166", "9")]).decode()
        first, _, rest = one.partition("<Stmt>")
        statement, _, last = rest.partition("</Stmt>")
        two = f"{first}<Stmt>{statement}</Stmt><Stmt>{statement.replace(OWN_IBAN, 'DE89370400440532013000', 1)}</Stmt>{last}"
        assert [part.account.iban for part in read(two.encode())] == [OWN_IBAN, "DE89370400440532013000"]


class TestBalances:
    def test_a_difference_is_told(self) -> None:
        balances = camt_balance("OPBD", 10_000, date(2026, 3, 1)) + camt_balance("CLBD", 9_000, date(2026, 3, 2))
        assert only(document(entry("12.00"), balances=balances)).differences == (Difference(Subject.BALANCE, 9_000, 8_800),)
        assert only(document(entry("10.00"), balances=balances)).differences == ()

    def test_a_previous_closing_opens_and_pending_lines_do_not_count(self) -> None:
        balances = camt_balance("PRCD", -500, date(2026, 3, 1)) + camt_balance("CLBD", -1500, date(2026, 3, 2))
        statement = only(document(entry("10.00"), entry("3.00", state="PDNG"), balances=balances))
        assert statement.opening == DayBalance(-500, date(2026, 3, 1))
        assert statement.differences == ()
        assert statement.bookings["pending"].to_list() == [False, True]

    def test_a_wrong_number_of_entries_is_told(self) -> None:
        summary = "<TxsSummry><TtlNtries><NbOfNtries>3</NbOfNtries></TtlNtries></TxsSummry>"
        assert only(document(entry("1.00"), more=summary)).differences == (Difference(Subject.LINES, 3, 1),)


class TestPages:
    def test_pages_of_one_statement_are_joined(self) -> None:
        pages = []
        for number, (start, end) in enumerate(((1000, 900), (900, 700)), 1):
            page = f"<StmtPgntn><PgNb>{number}</PgNb><LastPgInd>{'true' if number == 2 else 'false'}</LastPgInd></StmtPgntn>"
            balances = camt_balance("OPBD", start, date(2026, 3, 1)) + camt_balance("CLBD", end, date(2026, 3, 2))
            content = document(entry(f"{number}.00"), more=page, balances=balances).decode()
            pages.append(content.partition("<GrpHdr/>")[2].partition("</BkToCstmrStmt>")[0])
        whole = f'<Document xmlns="{SPACE}.08"><BkToCstmrStmt>{"".join(pages)}</BkToCstmrStmt></Document>'
        statement = only(whole.encode())
        assert statement.bookings["amount_cents"].to_list() == [-100, -200]
        assert (statement.opening, statement.closing) == (DayBalance(1000, date(2026, 3, 1)), DayBalance(700, date(2026, 3, 2)))
        assert statement.differences == ()


class TestBatches:
    def part(self, euros: str, name: str) -> str:
        return (
            f'<Refs><EndToEndId>{name}</EndToEndId></Refs><AmtDtls><TxAmt><Amt Ccy="EUR">{euros}</Amt></TxAmt></AmtDtls>'
            f"<RltdPties><Cdtr><Pty><Nm>{name}</Nm></Pty></Cdtr></RltdPties>"
        )

    def test_parts_that_add_up_are_lines(self) -> None:
        content = document(entry("30.00", self.part("10.00", "Anna"), self.part("20.00", "Bert")))
        assert column(content, "amount_cents") == [-1000, -2000]
        assert column(content, "counterparty_name") == ["Anna", "Bert"]
        assert column(content, "purpose") == ["EREF+Anna", "EREF+Bert"]

    def test_others_stay_one_line_and_are_told(self) -> None:
        content = document(entry("31.00", self.part("10.00", "Anna"), self.part("20.00", "Bert")))
        assert column(content, "amount_cents") == [-3100]
        assert column(content, "counterparty_name") == [None]
        assert only(content).differences == (Difference(Subject.BATCH, -3100, -3000),)

    def test_a_part_may_go_the_other_way(self) -> None:
        parts = (
            '<Amt Ccy="EUR">50.00</Amt><CdtDbtInd>DBIT</CdtDbtInd>',
            '<Amt Ccy="EUR">20.00</Amt><CdtDbtInd>CRDT</CdtDbtInd>',
        )
        assert column(document(entry("30.00", *parts)), "amount_cents") == [-5000, 2000]


class TestReturns:
    DETAILS = (
        "<Refs><EndToEndId>R-1</EndToEndId><MndtId>M-1</MndtId></Refs>"
        '<AmtDtls><InstdAmt><Amt Ccy="EUR">50.00</Amt></InstdAmt></AmtDtls><Chrgs><Rcrd><Amt Ccy="EUR">3.00</Amt></Rcrd></Chrgs>'
        "<RltdPties><Dbtr><Pty><Nm>Kunde Kurz</Nm></Pty></Dbtr><DbtrAcct><Id><IBAN>DE89370400440532013000</IBAN></Id></DbtrAcct>"
        "<Cdtr><Pty><Nm>Erika Muster</Nm></Pty></Cdtr></RltdPties>"
        "<RmtInf><Ustrd>Beitrag Januar</Ustrd></RmtInf>"
        "<RtrInf><Rsn><Cd>AC04</Cd></Rsn><AddtlInf>Konto aufgelöst</AddtlInf></RtrInf>"
    )

    def test_a_returned_debit_counts_as_booked_with_its_charges(self) -> None:
        content = document(entry("53.00", self.DETAILS))
        assert column(content, "amount_cents") == [-5300]
        (purpose,) = column(content, "purpose")
        assert str(purpose).split("\n") == [
            "EREF+R-1",
            "MREF+M-1",
            "OAMT+50,00",
            "COAM+3,00",
            "SVWZ+Beitrag Januar RETURN AC04 Konto aufgelöst",
        ]

    def test_the_counterparty_is_still_who_should_have_paid(self) -> None:
        content = document(entry("53.00", self.DETAILS))
        assert column(content, "counterparty_name") == ["Kunde Kurz"]
        assert column(content, "counterparty_iban") == ["DE89370400440532013000"]

    def test_a_reversed_debit_names_its_creditor(self) -> None:
        parties = "<RltdPties><Dbtr><Nm>Erika Muster</Nm></Dbtr><Cdtr><Nm>Strom AG</Nm></Cdtr></RltdPties>"
        content = document(entry("53.00", parties, sign="CRDT", more="<RvslInd>true</RvslInd>"))
        assert column(content, "counterparty_name") == ["Strom AG"]
        assert column(content, "amount_cents") == [5300]


class TestMoney:
    def test_a_payment_in_a_foreign_currency_has_its_booked_amount(self) -> None:
        details = '<AmtDtls><InstdAmt><Amt Ccy="USD">20.50</Amt></InstdAmt></AmtDtls>'
        content = document(entry("18.90", details))
        assert (column(content, "amount_cents"), column(content, "currency")) == ([-1890], ["EUR"])
        assert column(content, "purpose") == ["OAMT+USD 20,50"]

    @pytest.mark.parametrize(("text", "cents"), [("500", 50_000), ("1.5", 150), ("0.01", 1), ("12.50000", 1250), ("7.", 700)])
    def test_amounts_are_exact_hundredths(self, text: str, cents: int) -> None:
        assert column(document(entry(text, sign="CRDT", currency="JPY")), "amount_cents") == [cents]

    @pytest.mark.parametrize("text", ["1.234", "-1.00", "+1.00", "1,00", "1e3", "NaN", "", "٣.٠٠", "9" * 16, "1.00 EUR"])
    def test_what_is_no_amount_of_hundredths_is_refused(self, text: str) -> None:
        with pytest.raises(StatementFault) as fault:
            read(document(entry(text)))
        assert fault.value.reason is Reason.AMOUNT
        assert fault.value.line == 1

    @pytest.mark.parametrize(("text", "cents"), [("94.010000000021", 9401), ("93.999999999998", 9400)])
    def test_errors_of_binary_fractions_are_no_part_of_an_amount(self, text: str, cents: int) -> None:
        assert column(document(entry(text, sign="CRDT")), "amount_cents") == [cents]
        with pytest.raises(StatementFault):
            read(document(entry("94.0100021")))

    def test_an_amount_without_a_currency_has_that_of_its_account(self) -> None:
        parts = ["<Amt>20.00</Amt>", "<Amt>10.00</Amt>"]
        content = document(entry("30.00", *parts)).replace(b' Ccy="EUR"', b"")
        assert (column(content, "currency"), column(content, "amount_cents")) == (["EUR", "EUR"], [-2000, -1000])
        original = "<AmtDtls><InstdAmt><Amt>30.00</Amt></InstdAmt></AmtDtls>"
        assert column(document(entry("30.00", original)), "purpose") == [None]
        with pytest.raises(StatementFault) as fault:
            read(content.replace(b"<Ccy>EUR</Ccy>", b""))
        assert fault.value.reason is Reason.CURRENCY

    def test_a_line_without_direction_is_refused(self) -> None:
        with pytest.raises(StatementFault) as fault:
            read(document(entry("1.00").replace("<CdtDbtInd>DBIT</CdtDbtInd>", "")))
        assert fault.value.reason is Reason.FIELD_MISSING


class TestTexts:
    def test_long_remittances_are_joined_as_they_were_cut(self) -> None:
        text = "x" * 139 + "y" + "zz"
        details = f"<RmtInf><Ustrd>{text[:140]}</Ustrd><Ustrd>{text[140:]}</Ustrd><Ustrd>and more</Ustrd></RmtInf>"
        assert column(document(entry("1.00", details)), "purpose") == [f"{text} and more"]

    def test_structured_references_are_part_of_the_purpose(self) -> None:
        details = "<RmtInf><Strd><CdtrRefInf><Ref>RF18539007547034</Ref></CdtrRefInf></Strd></RmtInf>"
        assert column(document(entry("1.00", details)), "purpose") == ["RF18539007547034"]

    def test_tags_that_the_bank_wrote_itself_are_not_repeated(self) -> None:
        text = "EREF+1 SVWZ+Miete"
        details = f"<Refs><EndToEndId>1</EndToEndId></Refs><RmtInf><Ustrd>{escape(text)}</Ustrd></RmtInf>"
        assert column(document(entry("1.00", details)), "purpose") == [text]

    def test_information_is_no_booking_and_the_newest_may_stand_first(self) -> None:
        later = entry("2.00").replace("2026-03-02", "2026-03-05")
        content = document(later, entry("1.00"), entry("9.00", state="INFO"))
        assert column(content, "amount_cents") == [-100, -200]

    def test_a_time_counts_as_the_day_that_the_bank_wrote(self) -> None:
        moment = "<BookgDt><DtTm>2026-03-31T23:30:00+02:00</DtTm></BookgDt>"
        content = document(entry("1.00").replace("<BookgDt><Dt>2026-03-02</Dt></BookgDt>", moment))
        assert only(content).bookings.select(pl.col("booked_on")).item() == date(2026, 3, 31)


def test_every_element_that_is_looked_up_is_listed() -> None:
    lookups = {"_find", "_text", "_children"}
    calls = [node for node in ast.walk(ast.parse(inspect.getsource(reader))) if isinstance(node, ast.Call)]
    named = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id in lookups]
    names = {argument.value for call in named for argument in call.args if isinstance(argument, ast.Constant)}
    assert len(names) > 50
    assert names <= reader.LOOKED_UP
