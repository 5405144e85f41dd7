"""Tags that a process has computed last: requests of one state share them, and nobody sees those of another state."""

import uuid

import polars as pl
import pytest

from analytics.tagging import tag
from pipelines.results import tags
from pipelines.results.tags import RecentTags
from tests.support.accounts import category
from tests.support.stack import Customer, Stack

ANNA, BERT, CLARA = (uuid.UUID(int=number) for number in (1, 2, 3))


def rows(count: int) -> pl.DataFrame:
    return pl.DataFrame({"id": [str(number) for number in range(count)]})


def test_tags_are_found_for_the_same_user_revision_and_version_only() -> None:
    recent = RecentTags()
    recent.put(ANNA, 7, "model-1", anna := rows(3))
    assert recent.find(ANNA, 7, "model-1") is anna
    assert recent.find(ANNA, 8, "model-1") is None
    assert recent.find(ANNA, 7, "model-2") is None
    assert recent.find(BERT, 7, "model-1") is None
    recent.put(ANNA, 8, "model-1", later := rows(4))
    assert recent.find(ANNA, 8, "model-1") is later
    assert recent.find(ANNA, 7, "model-1") is None


def test_the_oldest_are_forgotten_where_there_are_too_many() -> None:
    recent = RecentTags(max_rows=10)
    recent.put(ANNA, 1, "v", rows(4))
    recent.put(BERT, 1, "v", rows(4))
    recent.put(ANNA, 2, "v", rows(4))
    recent.put(CLARA, 1, "v", rows(4))
    kept_users = [user for user in (ANNA, BERT, CLARA) if recent.find(user, 2 if user == ANNA else 1, "v") is not None]
    assert kept_users == [ANNA, CLARA]
    recent.put(BERT, 1, "v", rows(11))
    assert [recent.find(user, 1, "v") for user in (BERT, CLARA)] == [None, None]


def test_uncorrected_tags_are_found_for_the_same_inputs_and_version_only() -> None:
    recent = RecentTags(max_rows=5)
    recent.put_uncorrected(ANNA, b"inputs", "model-1", anna := rows(3))
    assert recent.find_uncorrected(ANNA, b"inputs", "model-1") is anna
    assert recent.find_uncorrected(ANNA, b"others", "model-1") is None
    assert recent.find_uncorrected(ANNA, b"inputs", "model-2") is None
    assert recent.find_uncorrected(BERT, b"inputs", "model-1") is None
    recent.put_uncorrected(BERT, b"inputs", "model-1", rows(3))
    assert recent.find_uncorrected(ANNA, b"inputs", "model-1") is None, "the oldest are forgotten"


@pytest.fixture(scope="module")
def customer(stack: Stack) -> Customer:
    new_customer = stack.tenant().customer()
    new_customer.connected("demo1")
    return new_customer


def test_a_correction_is_seen_by_the_next_request(stack: Stack, customer: Customer, monkeypatch: pytest.MonkeyPatch) -> None:
    recent = RecentTags()

    def read() -> pl.DataFrame:
        with stack.database.acting_for(customer.tenant.tenant_id, customer.user_id) as owner:
            tagged = tags.tagged_bookings(owner, recent)
            assert not tagged.precomputed
            remembered_tags = recent.find(customer.user_id, tagged.revision, tagged.version)
            assert remembered_tags is not None
            assert tagged.bookings.select(remembered_tags.columns).equals(remembered_tags)
            return remembered_tags

    first_tags = read()
    assert read() is first_tags, "computed once"
    (access,) = customer.read("/bankzugaenge")
    product = customer.access(access)["bankprodukte"][0]["id"]
    booking = next(booking for booking in customer.bookings(access, product) if float(booking["betrag"]) < 0)
    path = f"/bankzugaenge/{access}/{product}/kontoumsaetze/{booking['id']}"
    answer = customer.call("PUT", path, json={"tags": category("TRAVEL_ACCOMMODATION", "CATEGORIES")})
    assert answer.status_code == 200, answer.text
    with monkeypatch.context() as patch:
        patch.setattr(tag, "recognise", None)  # only the corrections are applied again
        tags_after = read()
    assert tags_after.filter(pl.col("id") == booking["id"])["category"].to_list() == ["TRAVEL_ACCOMMODATION"]
    with stack.database.acting_for(customer.tenant.tenant_id, customer.user_id) as owner:
        assert tags.tagged_bookings(owner).bookings.select(tags.SERVED).equals(tags_after), "as computed from nothing"
