"""The numbers of changes: the database itself gives them, in the order of commits."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import text

from tests.support.stack import Customer, Stack, TenantUnderTest, wait_until


@pytest.fixture
def customer(r1: TenantUnderTest) -> Customer:
    someone = r1.customer()
    someone.connected("test_many_3", key="konto")
    return someone


def one(stack: Stack, statement: str, customer: Customer) -> Any:
    return stack.sql(statement, user=customer.user_id)[0][0]


@pytest.mark.parametrize(
    ("change", "table"),
    [
        ("UPDATE transactions SET purpose = 'neu' WHERE user_id = :user", "transactions"),
        ("UPDATE products SET balance_cents = 1 WHERE user_id = :user", "products"),
        ("UPDATE accesses SET messages = '[{}]' WHERE user_id = :user", "accesses"),
        ("UPDATE accesses SET fetch_phase = 'STARTED' WHERE user_id = :user", "accesses"),
        (
            "INSERT INTO category_choices (transaction_id, tenant_id, user_id, item) "
            "SELECT id, tenant_id, user_id, 'TAXES' FROM transactions WHERE user_id = :user LIMIT 1",
            "transactions",
        ),
        (
            "INSERT INTO positions (product_id, ordinal, tenant_id, user_id) "
            "SELECT id, 0, tenant_id, user_id FROM products WHERE user_id = :user",
            "products",
        ),
        (
            "INSERT INTO transactions (id, tenant_id, user_id, product_id, booked_on, amount_cents, currency, pending, purpose) "
            "SELECT gen_random_uuid(), tenant_id, user_id, id, now(), 1, 'EUR', false, 'Öl' FROM products WHERE user_id = :user",
            "transactions",
        ),
    ],
)
def test_a_writer_that_knows_nothing_of_serials_is_numbered(stack: Stack, customer: Customer, change: str, table: str) -> None:
    before = one(stack, "SELECT serial FROM users WHERE id = :user", customer)
    stack.sql(change, user=customer.user_id)
    after = one(stack, "SELECT serial FROM users WHERE id = :user", customer)
    assert after > before
    assert one(stack, f"SELECT max(serial) FROM {table} WHERE user_id = :user", customer) == after
    assert one(stack, "SELECT next_serial FROM sync_points WHERE user_id = :user ORDER BY serial DESC LIMIT 1", customer) == after
    assert one(stack, "SELECT count(*) FROM transactions WHERE user_id = :user AND search_text IS NULL", customer) == 0


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE accesses SET slot_at = now(), attempted_at = now(), issues = '[{}]' WHERE user_id = :user",
        "UPDATE accesses SET fetch_id = gen_random_uuid() WHERE user_id = :user",
        "UPDATE products SET name = name WHERE user_id = :user",
        "UPDATE transactions SET purpose = purpose WHERE user_id = :user",
    ],
)
def test_what_clients_do_not_see_has_no_number(stack: Stack, customer: Customer, change: str) -> None:
    before = one(stack, "SELECT serial FROM users WHERE id = :user", customer)
    stack.sql(change, user=customer.user_id)
    stack.sql("UPDATE accesses SET fetch_id = NULL WHERE user_id = :user", user=customer.user_id)
    assert one(stack, "SELECT serial FROM users WHERE id = :user", customer) == before


@pytest.mark.parametrize(("table", "kind"), [("transactions", "booking"), ("products", "product"), ("accesses", "access")])
def test_what_is_deleted_is_recorded_once(stack: Stack, customer: Customer, table: str, kind: str) -> None:
    count = one(stack, f"SELECT count(*) FROM {table} WHERE user_id = :user", customer)
    stack.sql(f"DELETE FROM {table} WHERE user_id = :user", user=customer.user_id)
    removed = stack.sql("SELECT kind, count(*) FROM removals WHERE user_id = :user GROUP BY kind", user=customer.user_id)
    assert [tuple(row) for row in removed] == [(kind, count)]


def test_serials_appear_in_the_order_of_commits(stack: Stack, customer: Customer) -> None:
    """A second writer gets no number before the first has ended, so that no reader sees the second alone."""
    touch = "UPDATE products SET balance_cents = coalesce(balance_cents, 0) + 1 WHERE user_id = :user RETURNING serial"

    def write() -> int:
        return int(one(stack, touch, customer))

    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND CAST(:user AS uuid) IS NOT NULL"
    with ThreadPoolExecutor(1) as pool:
        with stack.database.operating() as first:
            serial = first.session.execute(text(touch), {"user": customer.user_id}).scalar_one()
            second = pool.submit(write)
            wait_until(lambda: one(stack, waiting, customer), 30)
            assert not second.done()
            assert one(stack, "SELECT serial FROM users WHERE id = :user", customer) < serial
        assert second.result(30) > serial
