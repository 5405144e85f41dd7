"""Bookings that a bank gives only within the dialogue of a consent: published with it, whole or not at all."""

import uuid
from datetime import UTC, date, datetime, timedelta

import pytest

from pipelines.banks.demo import calls
from tests.spec.dialogues import BACK, IP, codes, moved, up_to_tan
from tests.support.stack import Customer, Stack, TenantUnderTest

PUSH = 942


@pytest.fixture(scope="module")
def tenant(stack: Stack) -> TenantUnderTest:
    return stack.tenant()


@pytest.fixture
def customer(tenant: TenantUnderTest) -> Customer:
    return tenant.customer()


@pytest.fixture
def userid() -> str:
    return f"test_long_history_{uuid.uuid4().hex[:10]}"


def confirm(customer: Customer, access: str, tan: str = "42", **query: str) -> list[str]:
    """The codes of a consent after a TAN."""
    params = {"callbackUrl": BACK, **query}
    answer = customer.call("POST", f"/bankzugaenge/{access}/consent", params=params, headers=IP)
    status = up_to_tan(customer, customer.read(answer.headers["Location"]), PUSH)
    told = codes(moved(customer, status, "submit_text_tan", tan=tan))
    customer.wait_idle(access)
    return told


def days(customer: Customer, access: str) -> list[date]:
    """The days of all bookings."""
    product = customer.access(access)["bankprodukte"][0]["id"]
    return [date.fromisoformat(row["buchungsdatum"][:10]) for row in customer.bookings(access, product)]


def fetches(stack: Stack, userid: str) -> int:
    ledger = calls(stack.home / "demo-bank")
    return sum(call["operation"] == "fetch" and call["event"] == "begin" and call["user_id"] == userid for call in ledger)


def test_a_consent_brings_the_bookings_of_long_ago_without_a_second_login(stack: Stack, customer: Customer, userid: str) -> None:
    access = customer.connected(userid)
    recent, ninety_days_ago = days(customer, access), datetime.now(UTC).date() - timedelta(days=91)
    assert min(recent) >= ninety_days_ago
    assert confirm(customer, access) == ["BA3090"]
    everything = days(customer, access)
    assert min(everything) < ninety_days_ago - timedelta(days=365)
    assert [day for day in everything if day >= min(recent)] == recent, "none twice, none lost"
    assert fetches(stack, userid) == 1, "the dialogue has brought it, no fetch followed"
    assert customer.refresh(access).status_code == 201
    assert days(customer, access) == everything


def test_who_wants_no_history_gets_none(customer: Customer, userid: str) -> None:
    access = customer.connected(userid)
    recent = days(customer, access)
    assert confirm(customer, access, maxTransactions="none") == ["BA3090"]
    assert days(customer, access) == recent


def test_a_consent_for_a_new_access_brings_its_first_data(stack: Stack, customer: Customer, userid: str) -> None:
    body = {"neu": customer.entry(userid)}
    answer = customer.call("POST", "/bankzugaenge/neu/consent", params={"callbackUrl": BACK}, headers=IP, json=body)
    status = up_to_tan(customer, customer.read(answer.headers["Location"]), PUSH)
    assert codes(moved(customer, status, "submit_text_tan", tan="42")) == ["BA3090"]
    customer.wait_complete("neu")
    assert min(days(customer, "neu")) < datetime.now(UTC).date() - timedelta(days=365)
    assert fetches(stack, userid) == 0
