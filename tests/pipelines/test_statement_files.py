"""Files as they are taken before anything is stored: real ones pass, and what no bank says of an account does not."""

from dataclasses import replace
from datetime import date, timedelta

import pytest

from pipelines.fetching.statement_files import check_statement, read_statement_file
from pipelines.statements.reading import read
from pipelines.statements.statement import DayBalance, Reason, Statement, StatementFault
from tests.pipelines.statements.rendering import camt
from tests.pipelines.statements.samples import SAMPLES, Sample
from tests.pipelines.statements.test_hostile import CAMT, HISTORY, MT940

TODAY = date(2026, 11, 18)
(STATEMENT,) = read(CAMT)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.format)
def test_every_format_is_taken(sample: Sample) -> None:
    file = read_statement_file("umsaetze.csv", sample.content, TODAY)
    assert sum(account.lines.height for account in file.accounts) == len(sample.rows)


@pytest.mark.parametrize("content", [CAMT, MT940, camt(HISTORY, "02", "052")])
def test_statements_of_the_standards_are_taken(content: bytes) -> None:
    (account,) = read_statement_file("auszug", content, TODAY).accounts
    assert account.lines.height == len(HISTORY)


@pytest.mark.parametrize(
    "statement",
    [
        replace(STATEMENT, account=replace(STATEMENT.account, **facts))
        for facts in (
            {"iban": "DE"},
            {"iban": "<script>"},
            {"iban": None, "number": "7" * 71},
            {"iban": None, "number": "1\n2"},
            {"bic": "<b>"},
            {"blz": "1" * 36},
            {"currency": "QQQ"},
            {"owner_name": "x" * 301},
            {"owner_name": "<html>"},
        )
    ]
    + [
        replace(STATEMENT, closing=DayBalance(1, date(1, 1, 1))),
        replace(STATEMENT, opening=DayBalance(1, date(9999, 12, 31))),
        replace(STATEMENT, last_day=TODAY + timedelta(days=401)),
        replace(STATEMENT, first_day=date(1969, 12, 31)),
    ],
)
def test_what_no_bank_says_of_an_account_is_refused(statement: Statement) -> None:
    check_statement(STATEMENT, TODAY)
    with pytest.raises(StatementFault) as fault:
        check_statement(statement, TODAY)
    assert fault.value.reason is Reason.IMPLAUSIBLE_ACCOUNT
