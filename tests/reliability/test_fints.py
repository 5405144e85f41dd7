"""A FinTS bank over HTTP: from the catalogue through consent and old bookings to the refresh, with a served bank and a worker."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.banks import catalogue
from pipelines.banks.fints_bank.server import FintsServer
from tests.spec.browsing import Browser, appended, connecting
from tests.spec.dialogues import BACK, IP, codes, href, moved, rels
from tests.support.stack import Customer, Stack, running_stack, wait_until

PIN, TAN = "12345", "123456"


@pytest.fixture(scope="module")
def stack(bank: FintsServer, homes: Path) -> Iterator[Stack]:
    with running_stack(homes / "fints", KONTOR_FINTS_DEMO_URL=bank.url, KONTOR_WORKERS="1") as running:
        with running.database.operating() as owner:
            catalogue.add_simulated_bank(owner)
        yield running


@pytest.fixture
def customer(stack: Stack) -> Customer:
    return stack.tenant().customer()


def entry(customer: Customer, user_id: str, pin: str = PIN) -> dict[str, Any]:
    credentials = customer.tenant.encrypted(userid=user_id, pin=pin)
    return {"providerId": str(catalogue.SIMULATED_BANK.id), "credentials": credentials}


def added(customer: Customer, user_id: str, pin: str = PIN) -> str:
    answer = customer.call("POST", "/bankzugaenge", json={"bank": entry(customer, user_id, pin)})
    assert answer.status_code == 201, answer.text
    customer.wait_idle("bank", 60)
    return "bank"


def begun(customer: Customer, access: str) -> dict[str, Any]:
    """The status of a new consent, when the bank has answered."""
    answer = customer.call("POST", f"/bankzugaenge/{access}/consent", params={"callbackUrl": BACK}, headers=IP)
    assert answer.status_code == 201, answer.text
    status: dict[str, Any] = customer.read(answer.headers["Location"])
    return status


def test_a_tan_brings_old_bookings_and_later_refreshes_need_none(customer: Customer, bank: FintsServer, stack: Stack) -> None:
    user_id = f"test_long_history_{customer.username.replace('-', '')}"
    access = added(customer, user_id)
    assert customer.codes(access) == ["BA3010"]
    status = begun(customer, access)
    assert [method["code"] for method in status["scaMethods"]] == [922, 923]
    status = moved(customer, status, "set_method", chosenScaMethodId=922)
    tans = 0
    while "submit_text_tan" in rels(status):
        assert codes(status) == ["BA1110"]
        tans += 1
        assert tans < 10
        status = moved(customer, status, "submit_text_tan", tan=TAN)
    assert codes(status) == ["BA3090"]
    customer.wait_complete(access, 60)
    body = customer.access(access)
    assert body["messages"] == []
    account = next(product for product in body["bankprodukte"] if product.get("iban"))
    old = customer.bookings(access, account["id"])
    assert len(old) > 500, "bookings of years came with the TAN"
    assert customer.refresh(access).status_code == 201
    assert customer.access(access)["messages"] == []
    assert len(customer.bookings(access, account["id"])) >= len(old)
    everything = "\n".join(json.dumps(line) for line in stack.log_lines()) + (bank.bank.folder / "messages.jsonl").read_text()
    assert PIN not in everything
    assert TAN not in everything
    assert user_id not in "\n".join(json.dumps(line) for line in stack.log_lines())


def test_the_app_is_polled_by_the_worker_alone(customer: Customer) -> None:
    access = added(customer, f"test_app_{customer.username.replace('-', '')}")
    status = begun(customer, access)
    assert codes(status) == ["BA2002"]
    wait_until(lambda: codes(customer.read(href(status, "self"))) == ["BA3090"], 90, lambda: customer.read(href(status, "self")))
    customer.wait_complete(access, 60)
    assert customer.access(access)["bankprodukte"]


def test_a_wrong_pin_is_sent_once_until_it_is_entered_anew(customer: Customer, bank: FintsServer) -> None:
    user_id = f"test_lock_{customer.username.replace('-', '')}"
    access = added(customer, user_id, "99999")
    assert customer.codes(access) == ["BA1011"]
    customer.refresh(access)
    assert customer.codes(access) == ["BA1011"]
    lines = [json.loads(line) for line in (bank.bank.folder / "messages.jsonl").read_text().splitlines()]
    assert len([line for line in lines if user_id in line.values()]) == 1


def test_the_form_leads_through_the_confirmation_to_the_bookings(stack: Stack) -> None:
    customer = stack.tenant(regulated=False).customer()
    user_id = f"test_long_history_{customer.username.replace('-', '')}"
    browser = (
        Browser(stack).open(appended(connecting(customer))).send("accept").send("bank", bank=str(catalogue.SIMULATED_BANK.id))
    )
    assert browser.place == "login"
    assert browser.log_in(user_id, PIN).place == "methods"
    assert set(browser.form("method").choices["method"]) == {"922", "923"}
    browser.send("method", method="922")
    assert browser.send("tan", tan=TAN).place == "accounts"
    browser.send("accounts").send("connect")
    assert browser.returned["baReentry"] == "ACCOUNT_CREATED"
    customer.wait_complete("bank", 60)
    account = next(product for product in customer.access("bank")["bankprodukte"] if product.get("iban"))
    assert customer.bookings("bank", account["id"])
