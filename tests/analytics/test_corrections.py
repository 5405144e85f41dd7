"""Wishes over tags: choices before rules, a user's rules before the tenant's, the newest first, and what follows from them."""

from datetime import date
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analytics import trees
from analytics.frames import CHOICES, LEDGER, RULES, TAGGED
from analytics.tagging.corrections import alike, apply_corrections, fits

IBAN, OTHER_IBAN = "DE02120300000000202051", "DE02500105170137075030"
CATEGORIES = [item.system_name for item in trees.tree("CATEGORIES").assignable]


def bookings(*rows: dict[str, Any]) -> pl.DataFrame:
    """Bookings of one user that are like these, in this order."""
    about = {
        "tenant": "t",
        "user": "u",
        "product": "p",
        "booked_on": date(2026, 11, 2),
        "amount_cents": -1000,
        "currency": "EUR",
        "pending": False,
    }
    return pl.DataFrame(
        [{"id": str(place), "sequence": place + 1, **about, **row} for place, row in enumerate(rows)], schema=LEDGER
    )


def recognised(transactions: pl.DataFrame, **columns: Any) -> pl.DataFrame:
    """Tags as if everything were recognised in the same way; a list gives each booking its own."""
    tag = {"confidence": 0.5, "source": "MODEL", "reason": "Wörter"}
    every = {"category": "LIVING_OTHER", "insurance": "UNRELATED_OTHER", "partner": "UNKNOWN", "freelancer": "PRIVATE"}
    parts = {f"{tagger}_{name}": value for tagger in every for name, value in tag.items()}
    values = {
        **every,
        **parts,
        "key": 0,
        "channel": "UNKNOWN",
        "counterparty_key": "",
        "effective_category": "LIVING_OTHER",
        **columns,
    }
    lists = {name: value if isinstance(value, list) else [value] * transactions.height for name, value in values.items()}
    ours = transactions.select("id", "user", "product").to_dict(as_series=False)
    return pl.DataFrame({name: lists.get(name, ours.get(name, [None] * transactions.height)) for name in TAGGED}, schema=TAGGED)


def choices(**items: str) -> pl.DataFrame:
    """Choices by the places of bookings: `_0="TAXES"`."""
    return pl.DataFrame([{"id": name[1:], "item": item} for name, item in items.items()], schema=CHOICES)


def rules(*rows: dict[str, Any]) -> pl.DataFrame:
    """Rules, the newest last."""
    about = {"tenant": "t", "user": "u", "name_key": "", "iban": "", "after": 0}
    return pl.DataFrame([{**about, "rank": rank, **row} for rank, row in enumerate(rows)], schema=RULES)


def said(transactions: pl.DataFrame, chosen: pl.DataFrame | None = None, ruled: pl.DataFrame | None = None) -> list[str]:
    """The categories after the corrections; empty where there is none."""
    none = (CHOICES.to_frame() if chosen is None else chosen, RULES.to_frame() if ruled is None else ruled)
    found = apply_corrections(recognised(transactions), transactions, *none)
    return [item if confidence == 1 else "" for item, confidence in found.select("category", "category_confidence").iter_rows()]


def test_without_corrections_nothing_is_changed() -> None:
    given = bookings({}, {})
    assert apply_corrections(recognised(given), given, CHOICES.to_frame(), RULES.to_frame()).equals(recognised(given))


def test_a_choice_is_for_its_booking() -> None:
    given = bookings({}, {}, {})
    found = apply_corrections(recognised(given), given, choices(_1="TAXES"), RULES.to_frame())
    assert found["category"].to_list() == ["LIVING_OTHER", "TAXES", "LIVING_OTHER"]
    assert found.row(1, named=True) | {"category_reason": "eigene Wahl", "category_source": "USER"} == found.row(1, named=True)
    assert found["effective_category"].to_list() == found["category"].to_list()
    assert found[0].equals(recognised(given)[0])


def test_choice_before_own_rule_before_the_tenants() -> None:
    given = bookings(*({"counterparty_name": name} for name in ("schulz", "schulz", "meier")))
    tenants = {"user": None, "item": "HOUSING_RENT"}
    ruled = rules({"item": "TAXES", "name_key": "schulz"}, {**tenants, "name_key": "schulz"}, {**tenants, "name_key": "meier"})
    assert said(given, choices(_0="OTHER_DONATION"), ruled) == ["OTHER_DONATION", "TAXES", "HOUSING_RENT"]


def test_a_tenants_rule_does_not_claim_to_be_the_users() -> None:
    given = bookings({"counterparty_name": "schulz"})
    found = apply_corrections(
        recognised(given), given, CHOICES.to_frame(), rules({"user": None, "item": "TAXES", "name_key": "schulz"})
    )
    assert found.select("category_source", "category_reason").row(0) == ("RULE", "Regel des Anbieters für diesen Zahlungspartner")


def test_names_and_ibans_are_compared_however_they_are_written() -> None:
    given = bookings(
        {"counterparty_name": "Müller  Straße", "counterparty_iban": "de02 1203 0000 0000 2020 51"},
        {"counterparty_name": "MUELLER STRASSE", "counterparty_iban": OTHER_IBAN},
        {"counterparty_iban": IBAN},
        {},
    )
    name, iban = {"item": "TAXES", "name_key": "mueller strasse"}, {"item": "HOUSING_RENT", "iban": IBAN}
    assert said(given, ruled=rules(name)) == ["TAXES", "TAXES", "", ""]
    assert said(given, ruled=rules(iban)) == ["HOUSING_RENT", "", "HOUSING_RENT", ""]
    assert said(given, ruled=rules({**iban, **name})) == ["TAXES", "", "", ""]


def test_the_newest_rule_wins_however_much_it_compares() -> None:
    given = bookings({"counterparty_name": "schulz", "counterparty_iban": IBAN})
    three = [{"item": "TAXES", "name_key": "schulz"}, {"item": "LIVING_OTHER", "iban": IBAN}]
    three.append({"item": "HOUSING_RENT", "name_key": "schulz", "iban": IBAN})
    for turn in range(3):
        ordered = three[turn:] + three[:turn]
        assert said(given, ruled=rules(*ordered)) == [ordered[-1]["item"]]


def test_a_rule_that_does_not_fit_the_sign_leaves_room_for_an_older_one() -> None:
    given = bookings(*({"counterparty_name": "schulz", "amount_cents": cents} for cents in (-1, 1, 0)))
    ruled = rules({"item": "TRANSFER_OTHER", "name_key": "schulz"}, {"item": "INCOME_OTHER", "name_key": "schulz"})
    assert said(given, ruled=ruled) == ["TRANSFER_OTHER", "INCOME_OTHER", "TRANSFER_OTHER"]


def test_a_rule_leaves_alone_what_was_there_before_it() -> None:
    given = bookings(*[{"counterparty_name": "schulz"}] * 4)
    assert said(given, ruled=rules({"item": "TAXES", "name_key": "schulz", "after": 2})) == ["", "", "TAXES", "TAXES"]


def test_a_users_rule_is_for_nobody_else() -> None:
    given = bookings({"counterparty_name": "schulz"}, {"counterparty_name": "schulz", "user": "v"})
    assert said(given, ruled=rules({"item": "TAXES", "name_key": "schulz"})) == ["TAXES", ""]
    assert said(given, ruled=rules({"item": "TAXES", "name_key": "schulz", "user": None})) == ["TAXES", "TAXES"]


@pytest.mark.parametrize(
    ("recognised_type", "correction", "expected"),
    [
        ("VEHICLE_CAR", "LIVING_GROCERIES", "UNRELATED_OTHER"),
        ("VEHICLE_CAR", "SAVINGS_LIFEINSURANCE", "UNRELATED_OTHER"),
        ("VEHICLE_CAR", "INSURANCE_VEHICLE", "VEHICLE_CAR"),
        ("VEHICLE_CAR", "INSURANCE_HOME", "HOME_OTHER"),
        ("LIFE_TERM", "INSURANCE_PROVISIONARY", "LIFE_TERM"),
        ("PROVISIONARY_RIESTER", "INSURANCE_PROVISIONARY", "PROVISIONARY_RIESTER"),
        ("UNRELATED_OTHER", "INSURANCE_PROVISIONARY", "PROVISIONARY_OTHER"),
        ("UNRELATED_OTHER", "INSURANCE_OTHER", "OTHER_OTHER"),
        ("OTHER_BUNDLE", "INSURANCE_OTHER", "OTHER_BUNDLE"),
        ("UNRELATED_OTHER", "TAXES", "UNRELATED_OTHER"),
    ],
)
def test_the_insurance_type_goes_with_the_category(recognised_type: str, correction: str, expected: str) -> None:
    given = bookings({}, {})
    found = apply_corrections(recognised(given, insurance=recognised_type), given, choices(_0=correction), RULES.to_frame())
    assert found["insurance"].to_list() == [expected, recognised_type]
    kept = expected == recognised_type
    assert found.select("insurance_source", "insurance_confidence").row(0) == (("MODEL", 0.5) if kept else ("USER", 1))


def test_every_insurance_category_has_a_type_of_its_own() -> None:
    items = [item for item in CATEGORIES if item.startswith("INSURANCE_")]
    given = bookings(*[{}] * len(items))
    chosen = choices(**{f"_{place}": item for place, item in enumerate(items)})
    found = apply_corrections(recognised(given), given, chosen, RULES.to_frame())
    types = trees.tree("INSURANCE_TYPES")
    assert [types.item(name).subcategory for name in found["insurance"]] == items


def test_a_refund_counts_in_the_category_of_its_purchase() -> None:
    given = bookings({}, {"amount_cents": 500}, {"amount_cents": 500})
    tags = recognised(given, category=["SHOPPING_OTHER", "TRANSFER_REFUND", "OTHER_INCOME"], refund_of=[None, "0", "0"])
    found = apply_corrections(tags, given, choices(_0="SHOPPING_BEAUTY"), RULES.to_frame())
    assert found["category"].to_list() == ["SHOPPING_BEAUTY", "TRANSFER_REFUND", "OTHER_INCOME"]
    assert found["effective_category"].to_list() == ["SHOPPING_BEAUTY", "SHOPPING_BEAUTY", "LIVING_OTHER"]
    chosen = apply_corrections(tags, given, choices(_1="INCOME_OTHER", _2="TRANSFER_REFUND"), RULES.to_frame())
    assert chosen["effective_category"].to_list() == ["LIVING_OTHER", "INCOME_OTHER", "SHOPPING_OTHER"]


@settings(deadline=None)
@given(st.lists(st.sampled_from(["a", "b", None]), min_size=1, max_size=6), st.data())
def test_order_and_bookings_stay(names: list[str | None], data: st.DataObject) -> None:
    given = bookings(*({"counterparty_name": name} for name in names))
    places = st.sampled_from([str(place) for place in range(len(names))])
    chosen = data.draw(st.dictionaries(places, st.sampled_from(CATEGORIES), max_size=4))
    ruled = data.draw(st.lists(st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(CATEGORIES)), max_size=4))
    found = apply_corrections(
        recognised(given),
        given,
        choices(**{f"_{place}": item for place, item in chosen.items()}),
        rules(*({"name_key": name, "item": item} for name, item in ruled)),
    )
    assert found["id"].to_list() == given["id"].to_list()
    fitting = [[item for name, item in ruled if name == named and not item.startswith("INCOME_")] for named in names]
    for place, category in enumerate(found["category"]):
        assert category == chosen.get(str(place), fitting[place][-1] if fitting[place] else "LIVING_OTHER")


@pytest.mark.parametrize("item", CATEGORIES)
def test_signs_as_the_interface_says(item: str) -> None:
    both = item.startswith("TRANSFER_") or item in {
        "OTHER_INCOME",
        "BANKFINANCE_ATMDEPOSIT",
        "BANKFINANCE_CASHDEPOSIT",
        "BANKFINANCE_CREDITINCOME",
    }
    income = item.startswith("INCOME_")
    told = pl.select(*(fits(pl.lit(item), pl.lit(cents)).alias(str(cents)) for cents in (1, -1, 0))).row(0)
    assert told == (both or income, both or not income, both)


@pytest.mark.parametrize(
    ("booking", "expected"),
    [("0", ["0", "1"]), ("2", ["2"]), ("3", ["3"]), ("4", ["4", "5"]), ("6", ["6"]), ("7", ["7"])],
)
def test_who_is_alike(booking: str, expected: list[str]) -> None:
    given = bookings(
        {"counterparty_name": "Schulz", "counterparty_iban": IBAN},
        {"counterparty_name": "SCHULZ", "counterparty_iban": f" {IBAN.lower()}"},
        {"counterparty_name": "Schulz", "counterparty_iban": OTHER_IBAN},
        {"counterparty_name": "Schulz"},
        {"counterparty_iban": IBAN},
        {"counterparty_iban": IBAN, "counterparty_name": " * "},
        {},
        {"counterparty_name": "", "counterparty_iban": ""},
    )
    assert given.filter(alike(given, booking))["id"].to_list() == expected
