"""Payments at a FinTS bank over HTTP, with a served bank and a worker: from the order to its end."""

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.banks import catalogue
from pipelines.banks.fints_bank.bank import read_journal
from pipelines.banks.fints_bank.paying import executed_orders
from pipelines.banks.fints_bank.server import FintsServer
from tests.spec.dialogues import BACK, IP, TRANSFER, Status, codes, href, moved, rels
from tests.support.stack import Stack, running_stack, wait_until

PIN, TAN = "12345", "123456"
MATCH, CLOSE_MATCH = "DE89370400440532013000", "DE63370400440532013080"
WAIT_SECONDS = 90
ENDED = ("BA1111", "BA1104", "BA1119")


@pytest.fixture(scope="module")
def stack(bank: FintsServer, homes: Path) -> Iterator[Stack]:
    with running_stack(homes / "fints-payments", KONTOR_FINTS_DEMO_URL=bank.url, KONTOR_WORKERS="1") as running:
        with running.database.operating() as owner:
            catalogue.add_simulated_bank(owner)
        yield running


class Account:
    """A connected account at the FinTS bank, of a user id of its own."""

    def __init__(self, stack: Stack, bank: FintsServer, kind: str) -> None:
        self.bank, self.customer = bank, stack.tenant().customer()
        self.user_id = f"{kind}_{uuid.uuid4().hex[:6]}"
        credentials = self.customer.tenant.encrypted(userid=self.user_id, pin=PIN)
        entry = {"providerId": str(catalogue.SIMULATED_BANK.id), "credentials": credentials}
        assert self.customer.call("POST", "/bankzugaenge", json={"bank": entry}).status_code == 201
        self.customer.wait_idle("bank", WAIT_SECONDS)
        answer = self.customer.call("POST", "/bankzugaenge/bank/consent", params={"callbackUrl": BACK}, headers=IP)
        assert answer.status_code == 201, answer.text
        status = self.wait_for(self.customer.read(answer.headers["Location"]), "BA3090", "BA1110")
        while codes(status) == ["BA1110"]:  # old bookings need a TAN of their own
            status = moved(self.customer, status, "submit_text_tan", tan=TAN)
        assert codes(status) == ["BA3090"]
        self.customer.wait_complete("bank", WAIT_SECONDS)
        products = self.customer.access("bank")["bankprodukte"]
        self.products = products
        self.product = next(product["id"] for product in products if "initiate_bulk_transfer" in rels(product))

    def wait_for(self, status: Status, *wanted: str) -> Status:
        """The status with one of these codes, however long the bank takes."""

        def is_there() -> bool:
            return codes(self.customer.read(href(status, "self")))[0] in wanted

        wait_until(is_there, WAIT_SECONDS, lambda: self.customer.read(href(status, "self")))
        reached: Status = self.customer.read(href(status, "self"))
        return reached

    def begin(self, *ibans: str, payment_id: str | None = None, **changes: Any) -> Status:
        details = [{**TRANSFER, "recipient": "Anna Muster", "iban": iban} for iban in ibans]
        way = "single-transfer" if len(details) == 1 else "bulk-transfer"
        body = {"instant": False, **({"transferDetails": details[0]} if len(details) == 1 else {"transfers": details}), **changes}
        path = f"/bankzugaenge/bank/{self.product}/payment/{way}"
        query = {"callbackUrl": BACK, **({"paymentId": payment_id} if payment_id else {})}
        answer = self.customer.call("POST", path, json=body, params=query, headers=IP)
        assert answer.status_code == 200, answer.text
        status: Status = answer.json()
        return status

    def executed(self) -> list[dict[str, Any]]:
        return executed_orders(self.bank.bank.folder, self.user_id)

    def orders_sent(self) -> int:
        """How many messages with an order the bank has got that it did not hold because of the payee."""
        lines = [line for line in read_journal(self.bank.bank.folder) if line["user_id"] == self.user_id]
        return sum("HKCCS" in line["orders"] and "3945" not in line["codes"] for line in lines)


def test_a_close_match_is_confirmed_and_paid_once(stack: Stack, bank: FintsServer) -> None:
    account, payment_id = Account(stack, bank, "test_mt940"), str(uuid.uuid4())
    customer = account.customer
    assert {product["transferSupport"] for product in account.products} == {True, False}
    status = account.begin(CLOSE_MATCH, payment_id=payment_id)
    assert (codes(status), rels(status)) == (["BA3030"], ["self", "confirm_payee"])
    assert status["payees"] == [
        {"recipient": "Anna Muster", "iban": CLOSE_MATCH, "result": "CLOSE_MATCH", "name": "Anna M. Muster"}
    ]
    assert account.executed() == []
    status = moved(customer, status, "confirm_payee", payeeConfirmed=True)
    assert (codes(status), rels(status)) == (["BA1110"], ["self", "submit_text_tan"])
    assert account.executed() == []
    status = moved(customer, status, "submit_text_tan", tan=TAN)
    assert (codes(status), rels(status)) == (["BA1111"], ["self"])
    again = account.begin(CLOSE_MATCH, payment_id=payment_id)
    assert codes(again) == ["BA1111"], "the same order is told how it stands"
    (order,) = account.executed()
    assert (order["kind"], order["message_id"]) == ("HKCCS", uuid.UUID(payment_id).hex)
    assert [(each["iban"], each["amount_cents"]) for each in order["transfers"]] == [(CLOSE_MATCH, 1250)]
    assert account.orders_sent() == 1
    everything = "\n".join(json.dumps(line) for line in stack.log_lines())
    assert not any(secret in everything for secret in (TAN, CLOSE_MATCH, "Anna", account.user_id))


def test_who_cancels_at_the_payee_has_paid_nothing(stack: Stack, bank: FintsServer) -> None:
    account = Account(stack, bank, "test_payee_report")
    status = moved(account.customer, account.begin(CLOSE_MATCH), "confirm_payee", payeeConfirmed=False)
    assert codes(status) == ["BA1104"]
    assert account.executed() == []
    assert account.orders_sent() == 0


def test_an_order_in_the_app_is_polled_by_the_worker(stack: Stack, bank: FintsServer) -> None:
    account = Account(stack, bank, "test_app")
    status = account.begin(MATCH)
    assert codes(status) == ["BA2002"]
    assert codes(account.wait_for(status, *ENDED)) == ["BA1111"]
    assert len(account.executed()) == account.orders_sent() == 1


def test_a_check_of_payees_that_takes_time_and_a_bulk_transfer(stack: Stack, bank: FintsServer) -> None:
    account = Account(stack, bank, "test_payee_polling")
    status = account.wait_for(account.begin(MATCH, CLOSE_MATCH), "BA3030")
    assert [payee["result"] for payee in status["payees"]] == ["MATCH", "CLOSE_MATCH"]
    status = moved(account.customer, status, "confirm_payee", payeeConfirmed=True)
    assert codes(moved(account.customer, status, "submit_text_tan", tan=TAN)) == ["BA1111"]
    assert [order["kind"] for order in account.executed()] == ["HKCCM"]


def test_a_lost_answer_is_unknown_until_the_bank_is_asked(stack: Stack, bank: FintsServer) -> None:
    account = Account(stack, bank, "test_transfer_unknown")
    status = account.begin(MATCH)
    status = moved(account.customer, status, "submit_text_tan", tan=TAN)
    assert codes(status) == ["BA1119"]
    assert codes(account.wait_for(status, "BA1111", "BA1104")) == ["BA1111"], "the bank's protocol names the order"
    assert len(account.executed()) == account.orders_sent() == 1


def test_what_the_bank_does_not_offer_is_refused(stack: Stack, bank: FintsServer) -> None:
    account = Account(stack, bank, "test_mt940")
    status = account.begin(MATCH, MATCH, instant=True)
    assert codes(status) == ["BA1104"]
    assert "Sammelüberweisungen" in status["messages"][0]["details"]
    assert codes(moved(account.customer, account.begin(MATCH), "submit_text_tan", tan="000000")) == ["BA1103"]
    assert account.executed() == []
