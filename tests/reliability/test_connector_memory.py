"""What a connector remembers of an access: sealed, stored with the result alone, and gone with the access."""

import uuid

import pytest

from pipelines.banks.base import MAX_MEMORY_BYTES
from pipelines.fetching.store import storable_memory
from tests.spec.dialogues import BACK, IP, codes, moved, up_to_tan
from tests.support.stack import DEMO, Customer, Stack, TenantUnderTest
from warehouse.secrets import sealed_values
from warehouse.secrets.vault import write_ring
from warehouse.stores import accesses

PUSH = 942


@pytest.fixture(scope="module")
def tenant(stack: Stack) -> TenantUnderTest:
    return stack.tenant()


@pytest.fixture
def customer(tenant: TenantUnderTest) -> Customer:
    return tenant.customer()


@pytest.fixture
def userid() -> str:
    return f"test_device_{uuid.uuid4().hex[:10]}"


def at_tan(customer: Customer, access: str) -> dict[str, object]:
    """The status of a consent that waits for a TAN."""
    answer = customer.call("POST", f"/bankzugaenge/{access}/consent", params={"callbackUrl": BACK}, headers=IP)
    assert answer.status_code == 201, answer.text
    return up_to_tan(customer, customer.read(answer.headers["Location"]), PUSH)


def confirm(customer: Customer, access: str) -> None:
    assert codes(moved(customer, at_tan(customer, access), "submit_text_tan", tan="42")) == ["BA3090"]
    customer.wait_complete(access)
    customer.wait_idle(access)


def memory_of(stack: Stack, customer: Customer, access: str) -> bytes:
    with stack.database.acting_for(customer.tenant.tenant_id, customer.user_id) as owner:
        return accesses.memory(owner, stack.vault, accesses.find(owner, access))


def memories(stack: Stack, customer: Customer) -> list[tuple[str, bytes]]:
    """The sealed memories of a customer, with those of open dialogues."""
    find = "SELECT subject, sealed FROM sealed_values WHERE user_id = :user AND field = 'memory' ORDER BY subject"
    return [(subject, bytes(sealed)) for subject, sealed in stack.sql(find, user=customer.user_id)]


def test_each_access_remembers_its_own_device(stack: Stack, customer: Customer, userid: str) -> None:
    access, _ = customer.add(userid)
    assert customer.codes(access) == ["BA3010"]
    confirm(customer, access)
    first = memory_of(stack, customer, access)
    assert b'"fetches": 1' in first, "the fetch after the consent remembers that it was"
    assert customer.refresh(access).status_code == 201
    assert customer.codes(access) == []
    assert memory_of(stack, customer, access) == first.replace(b'"fetches": 1', b'"fetches": 2')
    other, _ = customer.add(userid)
    assert customer.codes(other) == ["BA3010"]


def test_a_memory_lies_sealed_and_outlives_a_rotation_of_keys(stack: Stack, customer: Customer, userid: str) -> None:
    access, _ = customer.add(userid)
    confirm(customer, access)
    content = memory_of(stack, customer, access)
    ((subject, sealed),) = memories(stack, customer)
    assert subject.startswith("memory:")
    assert content not in sealed
    assert b"device" not in sealed
    write_ring(stack.vault.path, stack.vault.ring().with_new_key())
    with stack.database.operating() as operator:
        while sealed_values.reseal_some(operator, stack.vault):
            pass
    assert memories(stack, customer) != [(subject, sealed)]
    assert memory_of(stack, customer, access) == content
    assert customer.refresh(access).status_code == 201
    assert customer.codes(access) == []


def test_nothing_is_remembered_before_the_dialogue_has_ended_well(stack: Stack, customer: Customer, userid: str) -> None:
    access, _ = customer.add(userid)
    status = at_tan(customer, access)
    assert [subject.split(":")[0] for subject, _ in memories(stack, customer)] == ["dialogue"]
    assert memory_of(stack, customer, access) == b""
    for _ in range(3):
        status = moved(customer, status, "submit_text_tan", tan="41")
    assert codes(status) == ["BA1103"]
    assert memories(stack, customer) == []


def test_a_memory_goes_with_the_access(stack: Stack, customer: Customer, userid: str) -> None:
    access, _ = customer.add(userid)
    confirm(customer, access)
    assert customer.call("DELETE", f"/bankzugaenge/{access}").status_code == 200
    assert memories(stack, customer) == []


def test_another_pin_keeps_the_memory_and_another_login_does_not(stack: Stack, customer: Customer, userid: str) -> None:
    access, _ = customer.add(userid)
    confirm(customer, access)
    content = memory_of(stack, customer, access)
    customer.add(userid, "another-pin", key=access, refresh=True, ip=IP["Customer-IP-Address"])
    customer.wait_idle(access)
    assert memory_of(stack, customer, access) == content
    customer.add(f"{userid}-b", key=access, refresh=True, ip=IP["Customer-IP-Address"])
    customer.wait_idle(access)
    assert memory_of(stack, customer, access) == b""


def test_a_payment_of_one_login_remembers_nothing(stack: Stack, customer: Customer) -> None:
    access = customer.connected("demo1")
    product = customer.access(access)["bankprodukte"][0]["id"]
    customer.call("DELETE", f"/bankzugaenge/{access}")
    body = {
        "provider": DEMO,
        "product": product,
        "credentials": customer.tenant.encrypted(userid="demo1", pin="demo"),
        "instant": False,
        "transferDetails": {
            **{"recipient": "Stadtwerke", "purpose": "Rechnung", "iban": "DE02120300000000202051"},
            **{"bic": None, "currency": "EUR", "amount": 1},
        },
    }
    answer = customer.call("POST", "/payment/single-transfer", params={"callbackUrl": BACK}, headers=IP, json=body)
    assert answer.status_code == 200, answer.text
    assert memories(stack, customer) == []


def test_a_memory_that_is_too_large_is_not_stored() -> None:
    assert storable_memory(b"x" * MAX_MEMORY_BYTES) is not None
    assert storable_memory(b"x" * (MAX_MEMORY_BYTES + 1)) is None
