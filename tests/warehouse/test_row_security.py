"""Row-level security: a transaction that says for whom it acts sees that tenant's rows; one that does not sees none."""

from uuid import UUID

import psycopg
import pytest
from sqlalchemy import delete, select, text, update

from tests.support.stack import Stack, TenantUnderTest
from warehouse.errors import NotFound
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Base, CategoryRule, User
from warehouse.stores import clients, rules, users

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
    from warehouse.postgres.tables import Token

    with stack.database.acting_for(r1.tenant_id, r1.users["anna"]) as owner:
        found = owner.session.scalars(owner.rows(Token)).all()
    assert found
    assert {token.user_id for token in found} == {r1.users["anna"]}


class TestRules:
    """A user's transaction sees its own rules and the tenant's, and can write only its own."""

    @pytest.fixture
    def ids(self, stack: Stack) -> dict[str, UUID]:
        """A tenant with two users and a rule of each of the three."""
        tenant = stack.tenant()
        ids = {"at": tenant.tenant_id, **{name: tenant.users[tenant.add_user()] for name in ("one", "two")}}
        for owner_name in ("one", "two", None):
            with stack.database.acting_for(ids["at"], ids[owner_name] if owner_name else None) as owner:
                made = rules.put(owner, "TAXES", iban="", name="Schulz", name_key="schulz")
                ids[f"rule of {owner_name}"] = made.id
        return ids

    def test_what_is_seen(self, stack: Stack, ids: dict[str, UUID]) -> None:
        with stack.database.acting_for(ids["at"], ids["one"]) as owner:
            assert set(owner.session.scalars(select(CategoryRule.id))) == {ids["rule of one"], ids["rule of None"]}
            assert [rule.id for rule in rules.visible(owner)] == [ids["rule of one"]]
            assert rules.whole(owner)["user"].to_list() == [str(ids["one"]), None]
        with stack.database.acting_for(ids["at"]) as owner:
            assert [rule.id for rule in rules.visible(owner)] == [ids["rule of None"]]

    @pytest.mark.parametrize(("actor", "whose"), [("one", "None"), ("one", "two"), (None, "one")])
    def test_what_cannot_be_written(self, stack: Stack, ids: dict[str, UUID], actor: str | None, whose: str) -> None:
        condition = CategoryRule.id == ids[f"rule of {whose}"]
        change = update(CategoryRule).where(condition).values(item="OTHER_INCOME")
        for statement in (delete(CategoryRule).where(condition), change):
            with stack.database.acting_for(ids["at"], ids[actor] if actor else None) as owner:
                assert owner.session.scalars(statement.returning(CategoryRule.id)).all() == []
        left = stack.sql("SELECT item FROM category_rules WHERE id = :id", id=ids[f"rule of {whose}"])
        assert [row[0] for row in left] == ["TAXES"]

    @pytest.mark.parametrize("whose", [None, "two"])
    def test_no_rule_in_the_name_of_others(self, stack: Stack, ids: dict[str, UUID], whose: str | None) -> None:
        values = {"item": "TAXES", "counterparty_iban": "", "counterparty_name": "x", "name_key": "x", "rank": 1, "after": 0}
        foreign = CategoryRule(tenant_id=ids["at"], user_id=ids[whose] if whose else None, **values)
        acting = stack.database.acting_for(ids["at"], ids["one"])
        with pytest.raises(Exception, match="row-level security"), acting as owner:
            owner.session.add(foreign)

    def test_they_go_with_their_user(self, stack: Stack, ids: dict[str, UUID]) -> None:
        stack.sql("DELETE FROM users WHERE id = :id", id=ids["one"])
        assert stack.sql("SELECT count(*) FROM category_rules WHERE tenant_id = :id", id=ids["at"])[0][0] == 2
