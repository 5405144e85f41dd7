"""What the analyses claim about the eight demo customers: the reviewed lists, and each contract held against its bookings."""

import difflib
import json
import re
from pathlib import Path

import polars as pl
import pytest

from analytics.english.sentences import has_english
from analytics.frames import AS_OF
from pipelines.results.live import packed_documents
from tests.support.demo_claims import DAY, FOLDER, USERS, analysed_customers, claims, tagged_customers
from warehouse.lake.packing import unpack

README = Path(__file__).parents[2] / "README.md"
REVIEW = "read each changed line against the bookings, then write the lists anew: python -m tests.support.demo_claims"


@pytest.mark.parametrize("user", USERS)
def test_the_claims_are_those_that_were_reviewed(user: str) -> None:
    reviewed = (FOLDER / f"{user}.txt").read_text(encoding="utf-8")
    difference = difflib.unified_diff(reviewed.splitlines(), claims(user).splitlines(), "reviewed", "now", lineterm="", n=1)
    assert list(difference) == [], REVIEW


@pytest.fixture(scope="module")
def payments() -> pl.DataFrame:
    """The bookings of contracts with what the bank tells of them."""
    regular = analysed_customers()["contract_bookings"].filter("regular").select("user", "contract", "id")
    return regular.join(tagged_customers()[0], on=["user", "id"]).sort("booked_on")


def test_contracts_are_what_their_bookings_are(payments: pl.DataFrame) -> None:
    for contract in analysed_customers()["contracts"].iter_rows(named=True):
        bookings = payments.filter(pl.col("user") == contract["user"], pl.col("contract") == contract["id"])
        amounts, days = bookings["amount_cents"].to_list(), bookings["booked_on"].to_list()
        assert (days[0], days[-1], amounts[-1]) == (contract["date_first"], contract["date_latest"], contract["amount_latest"])
        assert contract["reason"].startswith(f"{len(amounts)} Zahlungen")
        assert ("immer derselbe Betrag" in contract["reason"]) == (len(set(amounts)) == 1)
        for change in contract["price_changes"]:
            place = days.index(change["date"])
            assert (amounts[place - 1], amounts[place]) == (change["before"], change["after"])
        assert contract["status"] == "INACTIVE" or contract["date_next"] > DAY
        assert bookings["counterparty_name"].n_unique() == 1


def test_prices_that_have_just_risen_do_not_rise_again(payments: pl.DataFrame) -> None:
    for contract in analysed_customers()["contracts"].filter(pl.col("status") == "ACTIVE").iter_rows(named=True):
        changes = contract["price_changes"]
        if changes and changes[-1]["date"] == contract["date_latest"]:
            assert contract["amount_next"] == contract["amount_latest"], contract["counterparty_name"]


def test_every_sentence_has_english() -> None:
    frames = analysed_customers()
    columns = [(frame, column) for name, frame in frames.items() for column in frame.columns if column.endswith("reason")]
    texts = {text for frame, column in columns for text in frame[column].drop_nulls()} - {""}
    missing = set(frames["credit_risk"]["missing"].explode().drop_nulls())
    assert {text for text in texts | missing if not has_english(text)} == set()


def test_the_answer_in_the_readme_is_that_of_a_demo_customer() -> None:
    days = pl.DataFrame({"user": USERS, "as_of": [DAY] * len(USERS)}, AS_OF)
    documents = dict(packed_documents(analysed_customers(), days, ""))["demo1"]
    details = json.loads(unpack(documents["disposable-money"]))["details"]
    shown = re.findall(r"^```json\n(.*?)^```", README.read_text(encoding="utf-8"), re.M | re.S)
    assert [json.loads(answer)["details"] for answer in shown] == [
        {name: details[name] for name in details if name != "transactionIds"}
    ]
