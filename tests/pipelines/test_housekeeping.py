"""Housekeeping, as the flow and as the Dagster job."""

import dagster as dg
import pytest

from pipelines import housekeeping
from pipelines.definitions import defs
from tests.support.stack import Stack
from warehouse.secrets import hashing
from warehouse.settings import Settings


def test_what_has_ended_is_removed_and_what_lives_stays(stack: Stack) -> None:
    tenant = stack.tenant()
    tenant.add_user("gast")
    ended, living = (tenant.token_answer("admin").json()["access_token"] for _ in range(2))
    assert tenant.token_answer("app", "gast", password="falsch").status_code == 401
    stack.sql("UPDATE tokens SET expires_at = now() WHERE token_hash = :hash", hash=hashing.digest(ended))
    stack.sql("UPDATE throttles SET ends_at = now()")
    settings = Settings()
    swept = housekeeping.sweep(stack.database, settings)
    assert swept.tokens >= 1
    assert swept.throttles >= 1
    assert stack.sql("SELECT 1 FROM tokens WHERE token_hash = :hash", hash=hashing.digest(ended)) == []
    assert stack.http.get("/auth/mgmt/v1/tenants", headers={"Authorization": f"Bearer {living}"}).status_code == 200
    assert housekeeping.sweep(stack.database, settings) == housekeeping.SweepCounts(tokens=0, throttles=0)


def test_the_dagster_job_calls_the_same_flow(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KONTOR_DATABASE_URL", stack.where.service)
    token = stack.tenant().token_answer("admin").json()["access_token"]
    stack.sql("UPDATE tokens SET expires_at = now() WHERE token_hash = :hash", hash=hashing.digest(token))
    with dg.DagsterInstance.ephemeral() as instance:
        result = defs.resolve_job_def("housekeeping_job").execute_in_process(instance=instance)
        health = instance.get_latest_materialization_event(dg.AssetKey("bank_health"))
    assert result.success
    assert health is not None
    assert health.asset_materialization is not None
    assert health.asset_materialization.metadata.keys() >= {"summary", "banks", "paused", "sessions"}
    assert stack.sql("SELECT 1 FROM tokens WHERE token_hash = :hash", hash=hashing.digest(token)) == []


def test_the_definitions_are_sound() -> None:
    dg.Definitions.validate_loadable(defs)
