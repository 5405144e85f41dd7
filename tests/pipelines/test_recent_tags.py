"""Tags that a process has computed last: requests of one state share them, and nobody sees those of another state."""

import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import polars as pl
import pytest

from analytics.tagging import tag
from pipelines.results import corrections, tags
from pipelines.results.tags import RecentTags, StateChange, TaggedBookings, TaggedState, UncorrectedTags
from tests.support.accounts import category
from tests.support.stack import Customer, Stack
from warehouse.postgres.database import Owner
from warehouse.stores import ledger, results

ANNA, BERT, CLARA = (uuid.UUID(int=number) for number in (1, 2, 3))


def rows(count: int) -> pl.DataFrame:
    return pl.DataFrame({"id": [str(number) for number in range(count)]})


def tagged_rows(count: int, state: TaggedState) -> TaggedBookings:
    return TaggedBookings(rows(count), state.revision, precomputed=False, version=state.version)


def test_tags_are_found_for_the_same_user_and_state_only() -> None:
    recent, state, later = RecentTags(), TaggedState(7, "model-1"), TaggedState(8, "model-1")
    recent.put(ANNA, state, anna := tagged_rows(3, state))
    assert recent.find(ANNA, state) is anna
    assert recent.find(ANNA, later) is None
    assert recent.find(ANNA, TaggedState(7, "model-2")) is None
    assert recent.find(ANNA, TaggedState(7, "model-1", expired_accesses=1)) is None
    assert recent.find(BERT, state) is None
    recent.put(ANNA, later, tagged_rows(4, later))
    assert recent.find(ANNA, state) is None


def test_the_oldest_are_forgotten_where_there_are_too_many() -> None:
    recent, first, second = RecentTags(max_rows=10), TaggedState(1, "v"), TaggedState(2, "v")
    for user, state in ((ANNA, first), (BERT, first), (ANNA, second), (CLARA, first)):
        recent.put(user, state, tagged_rows(4, state))
    kept_users = [user for user in (ANNA, BERT, CLARA) if recent.find(user, second if user == ANNA else first) is not None]
    assert kept_users == [ANNA, CLARA]
    recent.put(BERT, first, tagged_rows(11, first))
    assert recent.find(BERT, first) is None, "too many for any room"
    assert recent.find(CLARA, first) is not None


def uncorrected_rows(count: int, digest: bytes = b"inputs") -> UncorrectedTags:
    return UncorrectedTags(rows(count), rows(count), digest)


def test_uncorrected_tags_are_found_for_the_same_inputs_or_state_and_version_only() -> None:
    recent, state = RecentTags(max_rows=5), TaggedState(7, "model-1")
    recent.put_uncorrected(ANNA, state, anna := uncorrected_rows(3))
    assert recent.find_same(ANNA, b"inputs", "model-1") is anna
    assert recent.find_same(ANNA, b"others", "model-1") is None
    assert recent.find_same(ANNA, b"inputs", "model-2") is None
    assert recent.find_same(BERT, b"inputs", "model-1") is None
    assert recent.find_uncorrected(ANNA, state) is anna
    assert recent.find_uncorrected(ANNA, TaggedState(8, "model-1")) is None
    assert recent.find_uncorrected(ANNA, TaggedState(7, "model-2")) is None
    assert recent.find_uncorrected(ANNA, TaggedState(7, "model-1", expired_accesses=1)) is None
    recent.put_uncorrected(BERT, state, uncorrected_rows(3))
    assert recent.find_uncorrected(ANNA, state) is None, "the oldest are forgotten"


def test_uncorrected_tags_are_carried_from_the_state_before_a_correction_only() -> None:
    recent = RecentTags()
    first, second, third, fourth = (TaggedState(revision, "model-1") for revision in (7, 8, 9, 10))
    recent.put_uncorrected(ANNA, first, anna := uncorrected_rows(3))
    recent.carry(ANNA, StateChange(first, second))
    assert recent.find_uncorrected(ANNA, second) is anna
    assert recent.find_uncorrected(ANNA, first) is None
    recent.carry(ANNA, StateChange(third, fourth))
    assert recent.find_uncorrected(ANNA, fourth) is None, "between the second and the third state, bookings may have changed"
    recent.carry(BERT, StateChange(second, third))
    assert recent.find_uncorrected(BERT, third) is None


@pytest.fixture(scope="module")
def customer(stack: Stack) -> Customer:
    new_customer = stack.tenant().customer()
    new_customer.connected("demo1")
    return new_customer


def test_a_correction_is_seen_by_the_next_request(stack: Stack, customer: Customer, monkeypatch: pytest.MonkeyPatch) -> None:
    recent = RecentTags()

    def read() -> TaggedBookings:
        with stack.database.acting_for(customer.tenant.tenant_id, customer.user_id) as owner:
            tagged = tags.tagged_bookings(owner, recent)
            assert not tagged.precomputed
            assert recent.find(customer.user_id, TaggedState(tagged.revision, tagged.version)) is tagged
            return tagged

    first = read()
    assert read() is first, "read once"
    (access,) = customer.read("/bankzugaenge")
    product = customer.access(access)["bankprodukte"][0]["id"]
    booking = next(booking for booking in customer.bookings(access, product) if float(booking["betrag"]) < 0)
    path = f"/bankzugaenge/{access}/{product}/kontoumsaetze/{booking['id']}"
    answer = customer.call("PUT", path, json={"tags": category("TRAVEL_ACCOMMODATION", "CATEGORIES")})
    assert answer.status_code == 200, answer.text
    with monkeypatch.context() as patch:
        patch.setattr(tag, "recognise", None)  # only the corrections are applied again
        tags_after = read().bookings.select(tags.SERVED)
    assert tags_after.filter(pl.col("id") == booking["id"])["category"].to_list() == ["TRAVEL_ACCOMMODATION"]
    with stack.database.acting_for(customer.tenant.tenant_id, customer.user_id) as owner:
        assert tags.tagged_bookings(owner).bookings.select(tags.SERVED).equals(tags_after), "as computed from nothing"


def test_requests_at_once_read_the_tags_once(stack: Stack, customer: Customer, monkeypatch: pytest.MonkeyPatch) -> None:
    recent, reads = RecentTags(), []
    read_bookings, both = ledger.whole, Barrier(2)

    def counting(owner: Owner) -> pl.DataFrame:
        reads.append(owner.user_id)
        time.sleep(0.2)
        return read_bookings(owner)

    def read() -> TaggedBookings:
        with stack.database.acting_for(customer.tenant.tenant_id, customer.user_id) as owner:
            both.wait(30)
            return tags.tagged_bookings(owner, recent)

    monkeypatch.setattr(ledger, "whole", counting)
    with ThreadPoolExecutor(2) as threads:
        first, second = (task.result() for task in [threads.submit(read), threads.submit(read)])
    assert first is second
    assert reads == [customer.user_id]


def test_bookings_of_an_access_that_has_expired_are_not_remembered(stack: Stack) -> None:
    customer, recent = stack.tenant().customer(), RecentTags()
    customer.connected("demo1")

    def read() -> TaggedBookings:
        with stack.database.acting_for(customer.tenant.tenant_id, customer.user_id) as owner:
            return tags.tagged_bookings(owner, recent)

    assert read().bookings.height > 0
    stack.sql("UPDATE accesses SET expires_at = now() WHERE user_id = :user", user=customer.user_id)
    assert read().bookings.is_empty()


def test_tags_that_were_published_meanwhile_are_told_as_precomputed(stack: Stack) -> None:
    customer, recent = stack.tenant().customer(), RecentTags()
    customer.connected("demo1")
    with stack.database.acting_for(customer.tenant.tenant_id, customer.user_id) as owner:
        tagged = tags.tagged_bookings(owner, recent)
    assert not tagged.precomputed
    with stack.database.operating() as owner:
        content = tags.encode(tagged.bookings)
        new = results.NewResult(customer.user_id, tags.NAME, tagged.revision, content)
        results.put(owner, tagged.version, [new])
    with stack.database.acting_for(customer.tenant.tenant_id, customer.user_id) as owner:
        ready = tags.tagged_bookings(owner, recent)
    assert ready.precomputed
    assert ready.bookings is tagged.bookings


def test_a_correction_reads_no_bookings_again(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    customer, recent = stack.tenant().customer(), RecentTags()
    customer.connected("demo1")
    tenant, user = customer.tenant.tenant_id, customer.user_id

    def read() -> pl.DataFrame:
        with stack.database.acting_for(tenant, user) as owner:
            return tags.tagged_bookings(owner, recent).bookings

    expenses = read().filter(pl.col("amount_cents") < 0)
    booking = uuid.UUID(expenses["id"][0])
    with monkeypatch.context() as patch:
        patch.setattr(ledger, "whole", None)
        for change_existing in (False, True):
            with stack.database.changing_for(tenant, user) as owner:
                states = corrections.choose(
                    owner, booking, "TRAVEL_ACCOMMODATION", change_existing=change_existing, recent=recent
                )
            recent.carry(user, states)
            corrected = read()
            assert corrected.filter(pl.col("id") == str(booking))["category"].to_list() == ["TRAVEL_ACCOMMODATION"]
        with stack.database.changing_for(tenant, user) as owner:
            states = corrections.retract(owner, booking, recent=recent)
        recent.carry(user, states)
        retracted = read()
    with stack.database.acting_for(tenant, user) as owner:
        assert tags.tagged_bookings(owner).bookings.equals(retracted), "as computed from nothing"
    is_own_choice = (pl.col("category_source") == "USER").sum()
    assert retracted.select(is_own_choice).item() == corrected.select(is_own_choice).item() - 1, "of this booking alone"


def test_a_correction_after_another_change_reads_the_bookings_again(stack: Stack) -> None:
    customer, recent = stack.tenant().customer(), RecentTags()
    customer.connected("demo1")
    tenant, user = customer.tenant.tenant_id, customer.user_id
    with stack.database.acting_for(tenant, user) as owner:
        remembered = tags.tagged_bookings(owner, recent).bookings
    expenses = remembered.filter(pl.col("amount_cents") < 0)
    gone, booking = expenses["id"][0], uuid.UUID(expenses["id"][1])
    stack.sql("DELETE FROM transactions WHERE id = :id", id=gone)
    stack.sql("UPDATE users SET revision = revision + 1 WHERE id = :user", user=user)
    with stack.database.changing_for(tenant, user) as owner:
        states = corrections.choose(owner, booking, "TRAVEL_ACCOMMODATION", change_existing=True, recent=recent)
    recent.carry(user, states)
    with stack.database.acting_for(tenant, user) as owner:
        bookings = tags.tagged_bookings(owner, recent).bookings
    assert gone not in bookings["id"]
    assert bookings.height == remembered.height - 1
