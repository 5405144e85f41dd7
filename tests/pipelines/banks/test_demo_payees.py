"""Verification of payee at the demo bank: owners of its own accounts are compared, other accounts answer by their last digits."""

from dataclasses import replace
from pathlib import Path

import pytest
from schwifty import IBAN

from models.simulator.scripted.personas import load
from pipelines.banks.base import FetchedProduct, FetchRequest, Payee, PayeeMatch
from pipelines.banks.demo import DemoBank
from pipelines.banks.demo.households import Households, Member
from tests.pipelines.banks.cases import DEMO, demo, header_of


@pytest.fixture
def bank(tmp_path: Path) -> DemoBank:
    return DemoBank(tmp_path)


def asked(user_id: str) -> FetchRequest:
    return DEMO.request(demo(user_id))


def account_of(bank: DemoBank, user_id: str) -> FetchedProduct:
    return header_of(bank.fetch(asked(user_id))).products[0]


@pytest.mark.parametrize(
    ("user_id", "name", "match"),
    [
        ("demo1", "Erika Muster", PayeeMatch.MATCH),
        ("demo1", "MUSTER, Erika", PayeeMatch.MATCH),
        ("demo1", "Frau Prof. Dr. Erika Muster", PayeeMatch.MATCH),
        ("demo1", "Érika Muster", PayeeMatch.MATCH),
        ("demo1", "Erika Mustre", PayeeMatch.CLOSE_MATCH),
        ("demo1", "Muster Erik", PayeeMatch.CLOSE_MATCH),
        ("demo1", "Hans Meier", PayeeMatch.NO_MATCH),
        ("demo1", "", PayeeMatch.NO_MATCH),
        ("demo7", "Martin Seidel", PayeeMatch.MATCH),
        ("test_transfer_lost", "Toni Test", PayeeMatch.MATCH),
    ],
)
def test_the_owner_of_an_account_of_the_bank_is_compared(bank: DemoBank, user_id: str, name: str, match: PayeeMatch) -> None:
    asking = user_id if user_id.startswith("test") else "demo8"
    owned = account_of(bank, user_id)
    payee = bank.verify_payee(asked(asking), name, owned.iban or "")
    assert payee == Payee(match, owned.owner_name if match is PayeeMatch.CLOSE_MATCH else None)


def test_umlauts_are_the_same_written_out(tmp_path: Path) -> None:
    employee = load("employee")
    account = replace(employee.accounts[0], owner="Jörg Größmüller")
    bank = DemoBank(tmp_path, Households((Member(replace(employee, accounts=(account,))),)))
    for name in ("Joerg Groessmueller", "JÖRG GRÖSSMÜLLER", "Gro\u0308ßmüller Jörg"):
        assert bank.verify_payee(asked("demo1"), name, account.iban or "").match == PayeeMatch.MATCH


@pytest.mark.parametrize(
    ("digits", "match"),
    [
        ("00", PayeeMatch.MATCH),
        ("79", PayeeMatch.MATCH),
        ("80", PayeeMatch.CLOSE_MATCH),
        ("89", PayeeMatch.CLOSE_MATCH),
        ("90", PayeeMatch.NO_MATCH),
        ("94", PayeeMatch.NO_MATCH),
        ("95", PayeeMatch.NOT_POSSIBLE),
        ("99", PayeeMatch.NOT_POSSIBLE),
    ],
)
def test_other_accounts_are_told_apart_by_their_last_digits(bank: DemoBank, digits: str, match: PayeeMatch) -> None:
    iban = str(IBAN.generate("DE", bank_code="37040044", account_code=f"05320130{digits}"))
    payee = bank.verify_payee(asked("demo1"), "Max Mustermann", iban)
    assert payee == Payee(match, "Max M. Mustermann" if match is PayeeMatch.CLOSE_MATCH else None)
    if payee.name:
        assert bank.verify_payee(asked("demo1"), payee.name, iban) == Payee(PayeeMatch.MATCH)


@pytest.mark.parametrize("iban", ["TR330006100519786457841326", "DE00", "DE89370400440532013001", "", "nonsense"])
def test_accounts_outside_sepa_cannot_be_verified(bank: DemoBank, iban: str) -> None:
    assert bank.verify_payee(asked("demo1"), "Max Mustermann", iban) == Payee(PayeeMatch.NOT_POSSIBLE)
