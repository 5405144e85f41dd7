"""Documents that are written when they are asked for are those that are stored, and are remembered by state."""

import uuid
from datetime import date

import polars as pl
import pytest

from analytics.analyses import suite
from analytics.frames import PRODUCTS, TAGGED, TRANSACTIONS
from pipelines.results import live
from pipelines.results.documents.cashflow import DOCUMENT as CASHFLOW
from pipelines.results.documents.cashflow import VIEWS
from pipelines.results.live import FLOWS, NAMES, RecentDocuments, ResultState, UserDocuments, WrittenOnDemand
from tests.support.stack import Customer, Stack

ANNA, BERT = (uuid.UUID(int=number) for number in (1, 2))
DAY, BASE_URL = date(2026, 11, 15), "http://localhost"


@pytest.fixture(scope="module")
def documents(stack: Stack) -> UserDocuments:
    customer: Customer = stack.tenant().customer()
    customer.connected("demo1")
    with stack.database.acting_for(customer.tenant.tenant_id, customer.user_id) as owner:
        return live.make_documents(owner, BASE_URL)


def test_every_view_of_the_cashflow_is_the_one_of_stored_frames(documents: UserDocuments) -> None:
    contents = documents.contents
    assert isinstance(contents, WrittenOnDemand)
    assert documents.state.as_of is not None
    for view in VIEWS:
        stored_view = live.make_cashflow_view(contents[FLOWS], contents.user, documents.state.as_of, BASE_URL, view)
        assert documents.cashflow(view) == stored_view, view


def test_what_is_written_together_comes_together(documents: UserDocuments) -> None:
    assert set(documents.written_with("contracts")) == {"contracts", "contracts-insurance", "contracts-insurance-extended"}
    assert documents.written_with("life-events") == {"life-events": documents.contents["life-events"]}
    assert list(documents.contents) == list(NAMES)


def test_without_bookings_documents_are_empty() -> None:
    nothing = UserDocuments(ResultState(1, None, "v"), live.empty_documents())
    assert nothing.written_with("contracts") == {"contracts": b"[]"}
    assert nothing.cashflow(VIEWS[1]) == live.empty_documents()[CASHFLOW]


def remembered(revision: int) -> UserDocuments:
    frames = suite.analyse_on_demand(
        pl.DataFrame(schema={**TRANSACTIONS, **TAGGED}), PRODUCTS.to_frame(), live.as_of_frame("0", DAY)
    )
    return UserDocuments(ResultState(revision, DAY, "v"), WrittenOnDemand(frames, "0", DAY, BASE_URL))


def test_documents_are_found_for_the_same_user_and_state_only() -> None:
    recent = RecentDocuments()
    recent.put(ANNA, first := remembered(7))
    assert recent.find(ANNA, first.state) is first
    assert recent.find(BERT, first.state) is None
    assert recent.find(ANNA, ResultState(8, DAY, "v")) is None
    assert recent.find(ANNA, ResultState(7, DAY, "w")) is None
    recent.put(ANNA, remembered(8))
    assert recent.find(ANNA, first.state) is None
