"""`kontor payments`: what an operator does about payments of which nobody knows the end."""

import json
import uuid
from typing import Any

import pytest
from typer.testing import CliRunner

from api.cli import app
from tests.spec.dialogues import BACK, IP, Status, codes, href, moved, rels, up_to_tan
from tests.support.stack import Customer, Stack, TenantUnderTest, wait_until
from warehouse.errors import Invalid, NotFound

DETAILS = {"recipient": "Stadtwerke", "purpose": "Rechnung 4711", "iban": "DE02120300000000202051", "bic": None}


@pytest.fixture(autouse=True)
def environment(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KONTOR_HOME", str(stack.home))
    monkeypatch.setenv("KONTOR_DATABASE_URL", stack.where.service)


@pytest.fixture(scope="module")
def tenant(stack: Stack) -> TenantUnderTest:
    return stack.tenant()


@pytest.fixture
def customer(tenant: TenantUnderTest) -> Customer:
    return tenant.customer()


def kontor(command: str, *arguments: str) -> str:
    result = CliRunner().invoke(app, ["payments", command, *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def listed(payment: str) -> list[dict[str, Any]]:
    return [row for row in json.loads(kontor("unknown", "--json")) if row["payment"] == payment]


def begun(customer: Customer, payment: str, userid: str) -> Status:
    """A payment that waits for its TAN."""
    access = customer.connected(f"{userid}_{customer.username}")
    product = customer.access(access)["bankprodukte"][0]["id"]
    form = {"instant": False, "transferDetails": {**DETAILS, "currency": "EUR", "amount": 12.5}}
    query = {"callbackUrl": BACK, "paymentId": payment}
    path = f"/bankzugaenge/{access}/{product}/payment/single-transfer"
    answer = customer.call("POST", path, json=form, params=query, headers=IP)
    assert answer.status_code == 200, answer.text
    return up_to_tan(customer, answer.json(), 1)


def unknown(customer: Customer, payment: str, userid: str = "test_transfer_lost") -> str:
    """The address of a payment whose end is unknown, and that no worker asks about by itself."""
    status = moved(customer, begun(customer, payment, userid), "submit_text_tan", tan="42")
    assert codes(status) == ["BA1119"]
    customer.tenant.stack.sql("UPDATE dialogues SET look_at = NULL WHERE payment_id = :id", id=payment)
    return href(status, "self")


def test_an_unknown_payment_is_listed_without_what_it_pays(customer: Customer) -> None:
    payment = str(uuid.uuid4())
    unknown(customer, payment)
    (row,) = listed(payment)
    assert (row["tenant"], row["user"]) == (customer.tenant.name, str(customer.user_id))
    assert (row["looks"], row["nextLook"]) == (0, None)
    assert row["begun"]
    shown = kontor("unknown")
    assert "Unknown payments" in shown
    assert not any(word in shown for word in ("Stadtwerke", "12.5", "12,5", "DE02"))


@pytest.mark.parametrize(("option", "code"), [("--executed", "BA1111"), ("--not-executed", "BA1104")])
def test_what_the_bank_has_said_ends_it(customer: Customer, stack: Stack, option: str, code: str) -> None:
    payment = str(uuid.uuid4())
    place = unknown(customer, payment)
    kontor("settle", payment, option)
    status = customer.read(place)
    assert (codes(status), rels(status)) == ([code], ["self"])
    assert listed(payment) == []
    (row,) = stack.sql("SELECT id FROM dialogues WHERE payment_id = :id", id=payment)
    assert not stack.sql("SELECT field FROM sealed_values WHERE subject = :s", s=f"dialogue:{row[0]}")
    with pytest.raises(Invalid, match="its phase is"):
        kontor("settle", payment, option)


def test_a_worker_asks_the_bank_at_once(customer: Customer) -> None:
    payment = str(uuid.uuid4())
    place = unknown(customer, payment, "test_transfer_unknown")
    kontor("look", payment)
    wait_until(lambda: codes(customer.read(place)) == ["BA1111"], 30)


def test_only_what_is_unknown_is_settled(customer: Customer) -> None:
    payment = str(uuid.uuid4())
    status = begun(customer, payment, "test_transfer_slow_0")
    for command in (("settle", payment, "--executed"), ("look", payment)):
        with pytest.raises(Invalid, match="its phase is OPEN"):
            kontor(*command)
        with pytest.raises(NotFound):
            kontor(command[0], str(uuid.uuid4()), *command[2:])
    assert codes(customer.read(href(status, "self"))) == ["BA1110"]


def test_two_payments_of_one_id_are_told_apart_by_their_dialogues(tenant: TenantUnderTest, stack: Stack) -> None:
    payment, customers = str(uuid.uuid4()), [tenant.customer(), tenant.customer()]
    first, second = (unknown(customer, payment) for customer in customers)
    with pytest.raises(Invalid, match="several payments"):
        kontor("settle", payment, "--executed")
    (row,) = stack.sql("SELECT id FROM dialogues WHERE payment_id = :id AND user_id = :u", id=payment, u=customers[0].user_id)
    kontor("settle", str(row[0]), "--not-executed", "--json")
    assert codes(customers[0].read(first)) == ["BA1104"]
    assert codes(customers[1].read(second)) == ["BA1119"]
