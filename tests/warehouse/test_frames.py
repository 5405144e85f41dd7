"""Rows of a query as a frame: the same values, and the same errors, as any other query."""

import polars as pl
import pytest
from psycopg import sql
from sqlalchemy import text

from tests.support.stack import Stack, TenantUnderTest
from warehouse.errors import DatabaseUnavailable
from warehouse.postgres import frames

SCHEMA = pl.Schema({"words": pl.String, "day": pl.Date, "number": pl.Int64, "flag": pl.Boolean})
VALUES = sql.SQL(
    "SELECT words, day::date, number, flag::text FROM (VALUES "
    "('Müller \"&\" Söhne, 1', '2026-11-02', 1, true), (E'zwei\\nZeilen;\\t', NULL, -9007199254740993, false), "
    "('', '1970-01-01', 0, NULL), (NULL, NULL, NULL, NULL), ('\\N', NULL, NULL, NULL), (%(given)s, NULL, NULL, NULL)"
    ") AS rows (words, day, number, flag)"
)


def test_values_are_what_they_were(stack: Stack, r1: TenantUnderTest) -> None:
    with stack.database.acting_for(r1.tenant_id) as owner:
        found = frames.read_frame(owner, VALUES, {"given": "'; DROP TABLE users; --"}, SCHEMA)
    assert found.schema == SCHEMA
    assert found["words"].to_list() == ['Müller "&" Söhne, 1', "zwei\nZeilen;\t", "", None, "\\N", "'; DROP TABLE users; --"]
    assert [str(day) for day in found["day"].head(3)] == ["2026-11-02", "None", "1970-01-01"]
    assert found["number"].head(3).to_list() == [1, -9007199254740993, 0]
    assert found["flag"].head(3).to_list() == [True, False, None]


def test_no_rows(stack: Stack, r1: TenantUnderTest) -> None:
    query = sql.SQL("SELECT username, NULL, NULL, NULL FROM users WHERE false")
    with stack.database.acting_for(r1.tenant_id) as owner:
        assert frames.read_frame(owner, query, {}, SCHEMA).equals(SCHEMA.to_frame())


def test_row_level_security_holds(stack: Stack, r1: TenantUnderTest, r2: TenantUnderTest) -> None:
    query, schema = sql.SQL("SELECT tenant_id FROM users"), pl.Schema({"tenant": pl.String})
    with stack.database.acting_for(r1.tenant_id) as owner:
        assert frames.read_frame(owner, query, {}, schema)["tenant"].unique().to_list() == [str(r1.tenant_id)]


def test_a_database_that_goes_away(stack: Stack, r1: TenantUnderTest) -> None:
    def read() -> None:
        with stack.database.acting_for(r1.tenant_id) as owner:
            backend = owner.session.scalar(text("SELECT pg_backend_pid()"))
            stack.sql("SELECT pg_terminate_backend(:pid)", pid=backend)
            frames.read_frame(owner, VALUES, {"given": ""}, SCHEMA)

    with pytest.raises(DatabaseUnavailable):
        read()
    with stack.database.acting_for(r1.tenant_id) as owner:
        assert owner.session.scalar(text("SELECT 1")) == 1
