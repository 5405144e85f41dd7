"""Results that a worker makes with new data: they are ready when the data are there, and no data wait for them without end."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from pipelines.results import at_once, live
from pipelines.results.at_once import MAX_WAITING, ResultsAtOnce
from tests.soak.customers import ANALYSES
from tests.support.accounts import category
from tests.support.stack import Customer, Stack, running_stack, wait_until
from warehouse.lake.packing import unpack
from warehouse.postgres.database import Owner
from warehouse.settings import Settings


@pytest.fixture(scope="module")
def prompt(homes: Path) -> Iterator[Stack]:
    with running_stack(homes / "at-once", KONTOR_RESULTS_AT_ONCE="true", KONTOR_WARM_UP="true") as stack:
        wait_until(lambda: '"prepared"' in stack.worker_log.read_text(), 180)
        yield stack


@pytest.fixture(scope="module")
def customer(prompt: Stack) -> Customer:
    new_customer = prompt.tenant().customer()
    new_customer.connected("demo1")
    return new_customer


def sources(customer: Customer) -> set[str]:
    """Where the answers to all analyses come from."""
    return {customer.get(f"/ai/{name}/").headers["X-Analysis-Source"] for name in ANALYSES}


def test_all_answers_are_ready_when_the_access_is_complete(customer: Customer) -> None:
    assert sources(customer) == {"precomputed"}
    (access,) = customer.read("/bankzugaenge")
    product = customer.access(access)["bankprodukte"][0]["id"]
    tagged = customer.get(f"/bankzugaenge/{access}/{product}/kontoumsaetze", params={"tag": "true"})
    assert tagged.headers["X-Analysis-Source"] == "precomputed"


def test_they_are_what_would_be_computed_for_the_request(prompt: Stack, customer: Customer) -> None:
    find = "SELECT name, content FROM results WHERE user_id = :user AND name <> 'transaction_tags'"
    stored_results = {name: unpack(content) for name, content in prompt.sql(find, user=customer.user_id)}
    prompt.sql("DELETE FROM results WHERE user_id = :user", user=customer.user_id)
    with prompt.database.acting_for(customer.tenant.tenant_id, customer.user_id) as owner:
        documents = live.make_documents(owner, prompt.base_url)
    assert stored_results == documents.contents


def test_soon_after_a_correction_they_are_ready_again(customer: Customer) -> None:
    (access,) = customer.read("/bankzugaenge")
    product = customer.access(access)["bankprodukte"][0]["id"]
    booking = next(booking for booking in customer.bookings(access, product) if float(booking["betrag"]) < 0)
    path = f"/bankzugaenge/{access}/{product}/kontoumsaetze/{booking['id']}"
    answer = customer.call("PUT", path, json={"tags": category("TRAVEL_ACCOMMODATION", "CATEGORIES")})
    assert answer.status_code == 200, answer.text
    find = "SELECT count(*) FROM results r JOIN users u ON u.id = r.user_id AND u.revision = r.revision WHERE u.id = :user"
    wait_until(lambda: customer.tenant.stack.sql(find, user=customer.user_id)[0][0] == len(live.NAMES) + 1, 60)
    assert sources(customer) == {"precomputed"}


def test_data_do_not_wait_where_many_wait_for_results() -> None:
    results = ResultsAtOnce(Settings(warm_up=False))
    begun, end = threading.Semaphore(0), threading.Event()

    def wait() -> None:
        begun.release()
        with results.turn():
            end.wait(60)

    threads = [threading.Thread(target=wait) for _ in range(MAX_WAITING)]
    for thread in threads:
        thread.start()
        begun.acquire(timeout=60)
    wait_until(lambda: results._waiting._value == 0, 60)
    with results.turn() as publish_results:
        assert publish_results is None
    end.set()
    for thread in threads:
        thread.join(60)
    with results.turn() as publish_results:
        assert publish_results is not None


def test_results_that_cannot_be_made_lose_no_data(prompt: Stack, customer: Customer, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(owner: Owner, base_url: str) -> Any:
        owner.session.connection().exec_driver_sql("UPDATE users SET revision = revision + 1000")
        raise ZeroDivisionError

    monkeypatch.setattr(at_once, "publish", fail)
    results = ResultsAtOnce(Settings(warm_up=False))
    tenant = customer.tenant.tenant_id
    find = "SELECT username, revision FROM users WHERE id = :user"
    ((name, revision),) = prompt.sql(find, user=customer.user_id)
    with ExitStack() as stack:
        publish_results = stack.enter_context(results.turn())
        assert publish_results is not None
        owner = stack.enter_context(prompt.database.acting_for(tenant, customer.user_id))
        owner.session.connection().exec_driver_sql("UPDATE users SET revision = revision + 1")
        assert publish_results(owner) == []
    assert prompt.sql(find, user=customer.user_id) == [(name, revision + 1)]
