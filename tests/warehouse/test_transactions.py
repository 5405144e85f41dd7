"""Transactions whose connection ends in their middle."""

import pytest
from sqlalchemy import text

from tests.support.stack import Stack, TenantUnderTest
from warehouse.errors import DatabaseUnavailable, NotFound
from warehouse.postgres.database import Owner


def end_connection(stack: Stack, owner: Owner) -> None:
    """Ends the connection of a transaction, as a database does that dies."""
    stack.sql("SELECT pg_terminate_backend(:pid, 10000)", pid=owner.session.scalar(text("SELECT pg_backend_pid()")))


def test_a_database_that_dies_before_the_next_statement(stack: Stack, r1: TenantUnderTest) -> None:
    def work() -> None:
        with stack.database.acting_for(r1.tenant_id) as owner:
            end_connection(stack, owner)
            owner.session.scalar(text("SELECT 1"))

    with pytest.raises(DatabaseUnavailable):
        work()


def test_a_database_that_dies_before_the_commit(stack: Stack, r1: TenantUnderTest) -> None:
    with pytest.raises(DatabaseUnavailable), stack.database.acting_for(r1.tenant_id) as owner:
        end_connection(stack, owner)


def test_a_database_that_dies_before_the_rollback(stack: Stack, r1: TenantUnderTest) -> None:
    """What a transaction has found out does not count if the database cannot even take it back."""

    def work() -> None:
        with stack.database.acting_for(r1.tenant_id) as owner:
            end_connection(stack, owner)
            raise NotFound("access")

    with pytest.raises(DatabaseUnavailable):
        work()
