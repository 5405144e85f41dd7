"""Row-level security: a transaction that says for whom it acts sees that tenant's rows; one that does not sees none."""

import psycopg
import pytest
from sqlalchemy import select, text

from tests.stack import Stack, TenantUnderTest
from warehouse import clients, users
from warehouse.database import Owner
from warehouse.errors import NotFound
from warehouse.tables import Base, User

OWNED = [table for table in Base.metadata.sorted_tables if "tenant_id" in table.columns or table.name == "tenants"]


@pytest.mark.parametrize("table", [table.name for table in OWNED])
def test_without_an_owner_no_row_is_seen(stack: Stack, r1: TenantUnderTest, table: str) -> None:
    for address in (stack.where.service, stack.where.migration):
        with psycopg.connect(address) as connection:
            row = connection.execute(psycopg.sql.SQL("SELECT count(*) FROM {}").format(psycopg.sql.Identifier(table))).fetchone()
            assert row == (0,)


def test_every_table_with_a_tenant_is_protected(stack: Stack) -> None:
    protected = stack.sql("SELECT relname FROM pg_class WHERE relrowsecurity AND relforcerowsecurity")
    assert {row[0] for row in protected} == {table.name for table in OWNED}


def test_a_query_that_forgets_its_tenant_sees_only_its_own_rows(stack: Stack, r1: TenantUnderTest, r2: TenantUnderTest) -> None:
    with stack.database.acting_for(r1.tenant_id) as owner:
        assert set(owner.session.scalars(select(User.tenant_id))) == {r1.tenant_id}


def test_a_row_cannot_be_written_for_another_tenant(stack: Stack, r1: TenantUnderTest, r2: TenantUnderTest) -> None:
    with pytest.raises(Exception, match="row-level security"), stack.database.acting_for(r1.tenant_id) as owner:
        clients.create(Owner(owner.session, r2.tenant_id), "intruder", [])


def test_one_tenants_objects_are_missing_for_another(stack: Stack, r1: TenantUnderTest, r2: TenantUnderTest) -> None:
    with stack.database.acting_for(r2.tenant_id) as owner, pytest.raises(NotFound):
        users.find(owner, r1.users["anna"])


def test_an_owner_leaves_no_trace_on_its_connection(stack: Stack, r1: TenantUnderTest) -> None:
    for _ in range(10):
        with stack.database.acting_for(r1.tenant_id):
            pass
        with stack.database._connect(stack.database._engine, "SELECT 1", {}, 1) as connection:
            assert connection.scalar(text("SELECT count(*) FROM users")) == 0


def test_the_roles_of_the_service_are_no_superusers(stack: Stack) -> None:
    rows = stack.sql("SELECT rolsuper, rolbypassrls, rolcreaterole FROM pg_roles WHERE rolname LIKE 'kontor%'")
    assert len(rows) == 3
    assert not any(any(row) for row in rows)


def test_the_service_cannot_change_tables(stack: Stack) -> None:
    with psycopg.connect(stack.where.service) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("ALTER TABLE users DISABLE ROW LEVEL SECURITY")


def test_a_users_transaction_sees_only_rows_of_that_user(stack: Stack, r1: TenantUnderTest) -> None:
    for username in ("anna", "bert"):
        r1.bearer("app", username)
    from warehouse.tables import Token

    with stack.database.acting_for(r1.tenant_id, r1.users["anna"]) as owner:
        found = owner.session.scalars(owner.rows(Token)).all()
    assert found
    assert {token.user_id for token in found} == {r1.users["anna"]}
