"""The tag trees: names of the interface, ids for ever, attributes, and texts for people."""

import csv
import re
from datetime import date, timedelta
from pathlib import Path

import pytest

from analytics import trees
from analytics.trees import Item, Tree, UnknownItem, UnknownTree, cashflow

GIVEN_AWAY = Path(__file__).with_name("tree_ids.csv")
"""Every id that was ever given, with its name. Lines are added, never changed or removed."""
CATEGORIES = {
    "LIVING": "GROCERIES DRUGSTORE CONSUMABLES OTHER",
    "HOUSING": "RENT FINANCING ANCILLARYCOSTS SERVICES FURNISHING OTHER",
    "BILLS": "ELECTRICITY HEATING FIXEDINTERNET MOBILE TELECOMMUNICATIONS OTHER",
    "HEALTH": "SERVICES CONSUMABLES OTHERS",
    "MOBILITY": "VEHICLEACQUISITION BIKEACQUISITION FUEL SERVICES PARKING PUBLICTRANSPORT CARSHARE BIKESHARE TAXI OTHER",
    "TRAVEL": "ACCOMMODATION TRANSPORT ACTIVITIES INCLUSIVEOFFERS OTHER",
    "FAMILY": "CHILDCARE CHILDNECESSITIES TOYS CHILDACTIVITIES SUPPORT OTHER",
    "EDUCATION": "TRAINING ACADEMIC OTHER",
    "SERVICES": "FINANCIAL ONLINE OFFLINE OTHER",
    "RECREATION": "ENTERTAINMENTFOOD SPORTS CULTURAL HOBBY GARDEN ONLINE PRINTED PETS OTHER",
    "SHOPPING": "CLOTHINGACCESSORIES BEAUTY ELECTRONICS DIGITALCONTENT OTHER",
    "INSURANCE": "VEHICLE LIABILITY HOME HEALTH TRAVEL SPECIAL PROVISIONARY INCAPACITY OTHER",
    "BANKFINANCE": "ATMDEPOSIT ATMWITHDRAWAL CASHDEPOSIT CASHWITHDRAWAL TRANSFER CREDITINCOME CREDITPAYMENT INVESTMENT OTHER",
    "SAVINGS": "LIFEINSURANCE LIFEBUILDING ACCOUNT SECURITIES OTHER",
    "INCOME": "SALARY INVESTMENT RENTAL PENSION STATE_FAMILY STATE_EDUCATION OTHER",
    "OTHER": "INCOME SPENDING DONATION SUPPORT",
    "TRANSFER": "INTERNAL SAVINGS SECURITIES CREDITCARD LOAN WALLET REFUND REVERSAL OTHER",
}
WITHOUT_PARENT = {*CATEGORIES, "TAXES", "NET", "EXPENSES"}
EITHER_WAY = {"OTHER_INCOME", "BANKFINANCE_ATMDEPOSIT", "BANKFINANCE_CASHDEPOSIT", "BANKFINANCE_CREDITINCOME"}
SAVING_PRODUCTS = {
    *("PROVISIONARY_RIESTER", "PROVISIONARY_BASIC", "PROVISIONARY_PENSION", "PROVISIONARY_UNITLINKED"),
    *("PROVISIONARY_OCCUPATIONAL", "LIFE_ENDOWMENT", "LIFE_UNITLINKED", "LIFE_EDUCATION"),
}
ENGLISH = re.compile(r"\b(the|and|of|for|with|from|to|is|are|no|not|by|or)\b")
SPELLED_OUT = re.compile(r"fuer|ueber|gehoer|koenn|waehr|moegl|zurueck")
CATEGORY_TREE = trees.tree("CATEGORIES")


def everything() -> list[tuple[Tree[Item], Item]]:
    return [(tree, item) for tree in trees.trees() for item in tree.items]


def test_the_trees_have_the_ids_of_the_interface() -> None:
    assert {tree.id: tree.system_name for tree in trees.trees()} == {
        1: "CATEGORIES",
        2: "INSURANCE_TYPES",
        3: "BUSINESS_PARTNERS",
        4: "PERIODS",
        5: "SALES_TRIGGERS",
        6: "CASHFLOW",
        9: "DISPOSABLE_MONEY",
        10: "LIFE_EVENTS",
        12: "LIFE_STAGES",
        13: "AFFORDABILITY",
        14: "CREDIT_RISK",
        15: "FREELANCER_CATEGORIES",
    }


def test_an_id_that_was_given_stays_with_its_name() -> None:
    with GIVEN_AWAY.open(newline="") as file:
        given = {(row["tree"], int(row["id"]), row["system_name"]) for row in csv.DictReader(file)}
    assert len({number for _, number, _ in given}) == len(given)
    assert given - {(tree.system_name, item.id, item.system_name) for tree, item in everything()} == set()


def test_every_id_that_is_in_use_is_written_down() -> None:
    """A new item of our own files gets its line; partners have their own file of numbers, and times are computed."""
    with GIVEN_AWAY.open(newline="") as file:
        given = {int(row["id"]) for row in csv.DictReader(file)}
    written = [(tree, item) for tree, item in everything() if tree.system_name not in ("BUSINESS_PARTNERS", "CASHFLOW")]
    assert [item.system_name for _, item in written if item.id not in given] == []


def test_ids_and_names_are_unique_and_ids_show_their_tree() -> None:
    ids = [item.id for _, item in everything()]
    assert len(set(ids)) == len(ids)
    for tree in trees.trees():
        names = [item.system_name for item in tree.items]
        assert len(set(names)) == len(names), tree.system_name
        if tree.system_name != "CASHFLOW":
            assert {item.id // 10_000 for item in tree.items} == {tree.id}


def test_items_are_found_by_name_and_by_id() -> None:
    for tree, item in everything():
        assert tree.item(item.system_name) is item
        assert tree.item_of_id(item.id) == item
    assert trees.tree_of_id(12) is trees.tree("LIFE_STAGES")


def test_what_is_not_there_is_named() -> None:
    with pytest.raises(UnknownTree):
        trees.tree("NONE")
    with pytest.raises(UnknownTree):
        trees.tree_of_id(7)
    for tree in trees.trees():
        with pytest.raises(UnknownItem):
            tree.item("NONE")
        with pytest.raises(UnknownItem):
            tree.item_of_id(1)


def test_all_categories_of_the_interface_are_there_and_no_others() -> None:
    named = {f"{main}_{sub}": main for main, subs in CATEGORIES.items() for sub in subs.split()}
    assert {item.system_name: item.parent for item in CATEGORY_TREE.items} == {**named, **dict.fromkeys(WITHOUT_PARENT, "")}
    assert {item.system_name for item in CATEGORY_TREE.assignable} == {*named, "TAXES"}


def test_signs_follow_the_rule_of_the_interface() -> None:
    for item in CATEGORY_TREE.assignable:
        rule = "+" if item.parent == "INCOME" else "±" if item.parent == "TRANSFER" else "-"
        expected = ("+", "±") if item.system_name in EITHER_WAY else (rule, rule)
        assert (item.sign, item.accepts) == expected, item.system_name


def test_every_category_says_whether_it_is_needed_and_how_likely_a_contract() -> None:
    for item in CATEGORY_TREE.items:
        assert item.need in (("N", "L", "S", "X") if item.assignable else ("",)), item.system_name
        assert 0 <= item.contract_prior < 1
        if item.parent in ("SAVINGS", "INCOME", "TRANSFER"):
            assert item.need == ("S" if item.parent == "SAVINGS" else "X"), item.system_name


def test_every_division_of_insurance_has_products_and_a_subcategory() -> None:
    tree = trees.tree("INSURANCE_TYPES")
    divisions = [item.system_name for item in tree.items if not item.assignable]
    assert set(divisions) == {
        *(
            "VEHICLE",
            "LIABILITY",
            "HOME",
            "HEALTH",
            "TRAVEL",
            "SPECIAL",
            "PROVISIONARY",
            "INCAPACITY",
            "LIFE",
            "OTHER",
            "UNRELATED",
        )
    }
    for item in tree.items:
        division = item.parent or item.system_name
        expected = {"LIFE": "INSURANCE_PROVISIONARY", "UNRELATED": ""}.get(division, f"INSURANCE_{division}")
        assert item.subcategory == expected, item.system_name
        assert not expected or CATEGORY_TREE.item(expected).assignable
        assert item.savings == (item.system_name in SAVING_PRODUCTS), item.system_name
    assert {f"{division}_OTHER" for division in divisions} <= tree.by_name.keys()


def test_periods_have_their_numbers() -> None:
    periods = {item.system_name: item for item in trees.tree("PERIODS").assignable}
    assert {name: (item.months, item.per_year) for name, item in periods.items()} == {
        "WEEK_ONE": (None, 52.18),
        "WEEK_TWO": (None, 26.09),
        "WEEK_FOUR": (None, 13.04),
        "MONTH_HALF": (None, 24),
        "MONTH_ONE": (1, 12),
        "MONTH_TWO": (2, 6),
        "MONTH_FOUR": (4, 3),
        "QUARTER_ONE": (3, 4),
        "HALFYEAR_ONE": (6, 2),
        "YEAR_ONE": (12, 1),
        "YEAR_TWO": (24, 0.5),
        "IRREGULAR_OTHER": (None, None),
    }
    for item in periods.values():
        if item.days and item.per_year and item.tolerance:
            assert item.days * item.per_year == pytest.approx(365.2425, abs=0.2)
            assert item.tolerance < item.days / 4
    assert periods["MONTH_ONE"].parent == "MONTH"


def test_what_is_business_has_a_field_of_the_tax_form() -> None:
    tree = trees.tree("FREELANCER_CATEGORIES")
    assert {item.system_name for item in tree.items if not item.field} == {"INCOME_TAX", "SOCIAL_SECURITY", "PRIVATE"}
    assert all(re.fullmatch(r"[1-9][0-9]{2}", field) for item in tree.items for field in item.fields)
    assert (tree.item("TELECOMMUNICATIONS").field, tree.item("REVENUE").fields) == ("280", ("112", "111", "103"))


@pytest.mark.parametrize(
    ("tree", "some"),
    [
        ("SALES_TRIGGERS", "MISSINGINSURANCE_PRIVATEHEALTH LIFEEVENT_FIRSTCHILD FINANCIAL_LARGEINCOME"),
        ("DISPOSABLE_MONEY", "DISPOSABLEMONEY_INFORMATION"),
        ("LIFE_EVENTS", "EMPLOYMENT_FIRST TENANCY_END CHILD_NEXT MARRIAGE PAYMENTDIFFICULTY_START"),
        ("LIFE_STAGES", "LABOURMARKET_EMPLOYED PARENTHOOD_NONE_OBSERVED HOUSING_OWNER_FINANCED SAVINGS_INTENSIVE"),
        ("AFFORDABILITY", "AFFORDABILITY_INFORMATION"),
        ("BUSINESS_PARTNERS", "UNKNOWN"),
    ],
)
def test_the_other_trees_have_their_items(tree: str, some: str) -> None:
    assert all(trees.tree(tree).item(name).assignable for name in some.split())


def test_an_unknown_partner_has_the_number_0() -> None:
    assert trees.tree("BUSINESS_PARTNERS").item("UNKNOWN").id == 30_000


def test_every_parent_is_an_item_of_its_tree() -> None:
    assert [item.system_name for tree, item in everything() if item.parent and item.parent not in tree.by_name] == []


def test_parents_are_items_and_have_no_parent_themselves() -> None:
    for tree, item in everything():
        if item.parent and tree.system_name != "CASHFLOW":
            assert tree.item(item.parent).kind == "group", item.system_name
            assert tree.item(item.parent).parent == "", item.system_name
            named_after = item.system_name.startswith(f"{item.parent}_")
            assert named_after or tree.system_name == "LIFE_EVENTS", item.system_name


def test_every_text_is_a_german_sentence_or_name() -> None:
    for tree in trees.trees():
        described: list[Tree[Item] | Item] = [tree, *tree.items]
        for about in described:
            assert about.display_name.strip() == about.display_name != ""
            assert about.description.strip() == about.description
            assert about.description.endswith("."), about.system_name
            assert len(about.description.split()) >= 3, about.system_name
            if tree.system_name != "BUSINESS_PARTNERS":  # partners have names in every language
                assert about.display_name[0].isupper() or about.display_name[0].isdigit()
                assert not ENGLISH.search(f"{about.display_name} {about.description}"), about.system_name
                assert not SPELLED_OUT.search(about.description.lower()), about.system_name


def test_categories_refer_to_each_other_by_the_names_that_people_see() -> None:
    names = {item.display_name for item in CATEGORY_TREE.items}
    for tree, item in everything():
        if tree.system_name != "BUSINESS_PARTNERS":
            assert set(re.findall("»(.*?)«", item.description)) <= names, item.system_name


def test_names_that_people_see_differ_within_a_tree() -> None:
    for tree in trees.trees():
        if tree.system_name != "BUSINESS_PARTNERS":
            names = [item.display_name for item in tree.assignable]
            assert sorted(set(names)) == sorted(names), tree.system_name


@pytest.mark.parametrize(
    ("name", "number", "parent", "display_name"),
    [
        ("TOTAL", 60_000_001, "", "Zeiträume"),
        ("TOTAL_TOTAL", 60_000_000, "TOTAL", "Gesamter Zeitraum"),
        ("2020_Y", 62_020_000, "TOTAL", "Jahr 2020"),
        ("2020_Q1", 62_020_001, "2020_Y", "1. Quartal 2020"),
        ("2020_M01", 62_020_011, "2020_Y", "Januar 2020"),
        ("2020_M12", 62_020_022, "2020_Y", "Dezember 2020"),
        ("2020_W01", 62_020_031, "2020_Y", "Kalenderwoche 1/2020"),
        ("2020_W53", 62_020_083, "2020_Y", "Kalenderwoche 53/2020"),
        ("1970_M02", 61_970_012, "1970_Y", "Februar 1970"),
        ("2200_W01", 62_200_031, "2200_Y", "Kalenderwoche 1/2200"),
    ],
)
def test_time_items_are_computed(name: str, number: int, parent: str, display_name: str) -> None:
    tree = trees.tree("CASHFLOW")
    item = tree.item(name)
    assert (item.id, item.parent, item.display_name) == (number, parent, display_name)
    assert tree.item_of_id(number) == item


@pytest.mark.parametrize(
    "name",
    [
        "2021_W53",
        "2020_W54",
        "2020_W00",
        "2020_M00",
        "2020_M13",
        "2020_Q0",
        "2020_Q5",
        "2020_Y1",
        "2020_M1",
        "1899_Y",
        "TOTAL_Y",
        "",
    ],
)
def test_times_that_do_not_exist_have_no_item(name: str) -> None:
    with pytest.raises(UnknownItem):
        trees.tree("CASHFLOW").item(name)


@pytest.mark.parametrize("place", [5, 10, 23, 30, 84, 999])
def test_ids_between_those_of_time_items_are_nobodys(place: int) -> None:
    with pytest.raises(UnknownItem):
        trees.tree("CASHFLOW").item_of_id(62_020_000 + place)


def test_every_day_of_the_listed_years_has_its_week_month_quarter_and_year() -> None:
    first, last = date(min(cashflow.LISTED_YEARS), 1, 1), date(max(cashflow.LISTED_YEARS), 12, 28)
    names = {item.system_name for item in trees.tree("CASHFLOW").items}
    for number in range((last - first).days + 1):
        day = first + timedelta(number)
        year, week, _ = day.isocalendar()
        quarter = (day.month + 2) // 3
        assert {f"{year}_W{week:02d}", f"{day:%Y}_M{day:%m}", f"{day:%Y}_Q{quarter}", f"{day:%Y}_Y"} <= names


def test_frames_have_a_column_for_each_attribute() -> None:
    categories = trees.categories_frame()
    assert categories.height == len(CATEGORY_TREE.items)
    assert {"id", "system_name", "parent", "kind", "sign", "accepts", "need", "contract_prior"} <= set(categories.columns)
    assert trees.insurance_types_frame()["savings"].sum() == len(SAVING_PRODUCTS)
    assert trees.periods_frame()["tolerance"].null_count() == 7
    assert trees.frame("FREELANCER_CATEGORIES").filter(system_name="IT_COSTS")["fields"].to_list() == [["228"]]
