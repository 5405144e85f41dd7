"""What is broken is told and contained: a model, a seal, the vault's keys."""

import base64
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from api.cli import app
from models import registry
from tests.support.stack import Customer, Stack
from warehouse.errors import KeysMissing
from warehouse.runtime import files
from warehouse.secrets import sealed_values
from warehouse.secrets.vault import KeyRing, write_ring
from warehouse.settings import Settings
from warehouse.stores import accesses

BREAK = (
    "UPDATE sealed_values SET sealed = '\\x00112233445566778899aabbccddeeff00' WHERE user_id = :user AND subject LIKE 'access:%'"
)


@pytest.fixture
def customer(stack: Stack) -> Customer:
    return stack.tenant().customer()


def readiness(stack: Stack) -> tuple[int, dict[str, Any]]:
    answer = stack.http.get("/ready")
    return answer.status_code, answer.json()


class TestModel:
    @pytest.fixture
    def pointer(self, stack: Stack) -> Iterator[Path]:
        folder = stack.home / "models"
        files.make_folder(folder)
        yield folder / "active"
        (folder / "active").unlink(missing_ok=True)
        (folder / "2026.1-abcdef.npz").unlink(missing_ok=True)

    @pytest.mark.parametrize("content", [None, b"", b"rubbish", registry.SHIPPED.read_bytes()[:-100]])
    def test_one_that_cannot_be_read_is_told_and_answers_go_on(
        self, stack: Stack, customer: Customer, pointer: Path, content: bytes | None
    ) -> None:
        if content is not None:
            (pointer.parent / "2026.1-abcdef.npz").write_bytes(content)
        pointer.write_text("2026.1-abcdef")
        status, body = readiness(stack)
        assert (status, body["status"], body["checks"]["model"]) == (200, "degraded", "degraded")
        assert body["reasons"]["model"].startswith("model 2026.1-abcdef cannot be read; ")
        assert "\nkontor_model_stands_in 1.0" in stack.http.get("/metrics").text
        assert any(line["event"] == "model_unreadable" and line["level"] == "error" for line in stack.log_lines())
        assert customer.get("/ai/contracts").status_code == 200
        pointer.unlink()
        assert readiness(stack)[1]["checks"]["model"] == "ok"
        assert "\nkontor_model_stands_in 0.0" in stack.http.get("/metrics").text


class TestSeal:
    def test_the_customer_enters_the_login_again(self, stack: Stack, customer: Customer) -> None:
        key = customer.connected("demo1")
        products = customer.access(key)["bankprodukte"]
        stack.sql(BREAK, user=customer.user_id)
        assert customer.refresh(key).status_code == 201
        access = customer.access(key)
        assert [(message["code"], message["details"]) for message in access["messages"]] == [("BA1012", "userid, pin")]
        assert access["bankprodukte"] == products
        assert any(line["event"] == "seal_broken" for line in stack.log_lines())
        _, answer = customer.add("demo1", key=key)
        assert answer.status_code == 201
        customer.wait_idle(key)
        assert customer.codes(key) == customer.issues(key) == []

    def test_also_before_a_fetch_has_noticed(self, stack: Stack, customer: Customer) -> None:
        key = customer.connected("demo1")
        stack.sql(BREAK, user=customer.user_id)
        _, answer = customer.add("demo1", key=key)
        assert answer.status_code == 201
        customer.wait_idle(key)
        assert customer.codes(key) == customer.issues(key) == []

    def test_a_dialogue_says_so(self, stack: Stack, customer: Customer) -> None:
        key = customer.connected("demo1")
        stack.sql(BREAK, user=customer.user_id)
        query = {"callbackUrl": "https://app.example.de/back"}
        answer = customer.call(
            "POST", f"/bankzugaenge/{key}/consent", params=query, headers={"Customer-IP-Address": "84.112.10.7"}
        )
        assert answer.status_code == 201, answer.text
        assert "BA1012" in customer.get(answer.headers["Location"]).text
        customer.call("DELETE", f"/bankzugaenge/{key}")


class TestKeys:
    def test_wrong_ones_make_the_service_unready_and_right_ones_ready_again(self, stack: Stack, customer: Customer) -> None:
        customer.connected("demo1")
        right = stack.vault.ring()
        wrong = KeyRing(right.active, dict.fromkeys(right.keys, secrets.token_bytes(32)))
        for ring in (wrong, KeyRing("other", {"other": secrets.token_bytes(32)})):
            write_ring(stack.vault.path, ring)
            try:
                status, body = readiness(stack)
            finally:
                write_ring(stack.vault.path, right)
            assert (status, body["status"], body["checks"]["keys"]) == (503, "unavailable", "unavailable")
            assert body["reasons"] == {"keys": "the vault keys do not open what is stored"}
        assert readiness(stack)[0] == 200

    def test_the_start_says_what_to_do(self, stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
        stack.tenant()
        keys = ",".join(f"{key}:{base64.b64encode(secrets.token_bytes(32)).decode()}" for key in stack.vault.ring().keys)
        told = {"HOME": str(stack.home), "DATABASE_URL": stack.where.service, "MIGRATION_URL": stack.where.migration}
        for name, value in {**told, "VAULT_KEYS": keys}.items():
            monkeypatch.setenv(f"KONTOR_{name}", value)
        with pytest.raises(KeysMissing, match=r"keys\.json of the same backup"):
            CliRunner().invoke(app, ["worker"], catch_exceptions=False)

    def test_one_broken_seal_is_no_wrong_key(self, stack: Stack, customer: Customer) -> None:
        key = customer.connected("demo1")
        stack.sql(BREAK, user=customer.user_id)
        with stack.database.operating() as operator:
            sealed_values.check_keys(operator, stack.vault)
        assert readiness(stack)[0] == 200
        customer.call("DELETE", f"/bankzugaenge/{key}")

    def test_a_fetch_with_wrong_keys_asks_no_customer_for_the_login(self, stack: Stack, customer: Customer) -> None:
        from datetime import UTC, datetime

        from pipelines.context import Context
        from pipelines.fetching import refresh
        from pipelines.fetching.store import FetchJob

        key = customer.connected("demo1")
        keys = ",".join(f"{name}:{base64.b64encode(secrets.token_bytes(32)).decode()}" for name in stack.vault.ring().keys)
        context = Context.of(Settings(home=stack.home, database_url=stack.where.service, vault_keys=keys))
        with stack.database.acting_for(customer.tenant.tenant_id, customer.user_id) as owner:
            access = accesses.find(owner, key, lock=True)
            access.fetch_id = job_id = access.id
            job = FetchJob(customer.tenant.tenant_id, customer.user_id, access.id, job_id)
        try:
            with pytest.raises(KeysMissing):
                refresh.fetch_access(context, job, datetime.now(UTC))
        finally:
            context.database.close()
            refresh_end = "UPDATE accesses SET fetch_id = NULL WHERE id = :id"
            stack.sql(refresh_end, id=job.access)
        assert customer.codes(key) == []
