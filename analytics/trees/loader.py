"""Loading of the tag trees: each from its CSV file, the items of cashflow computed, partners from the catalogue of knowledge."""

from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any, Literal, overload

import polars as pl

from analytics.trees import cashflow, partners
from analytics.trees.cashflow import TimeTree
from analytics.trees.files import Row, item_from_row, read_rows
from analytics.trees.items import Category, FreelancerCategory, InsuranceType, Item, Partner, Period, Tree, UnknownTree

FOLDER = Path(__file__).parent / "tables"
UNKNOWN = "UNKNOWN"
"""The item of bookings whose partner is unknown."""
ITEM_TYPES: dict[str, type[Item]] = {
    "CATEGORIES": Category,
    "INSURANCE_TYPES": InsuranceType,
    "BUSINESS_PARTNERS": Partner,
    "PERIODS": Period,
    "FREELANCER_CATEGORIES": FreelancerCategory,
}


@overload
def tree(system_name: Literal["CATEGORIES"]) -> Tree[Category]: ...
@overload
def tree(system_name: Literal["INSURANCE_TYPES"]) -> Tree[InsuranceType]: ...
@overload
def tree(system_name: Literal["BUSINESS_PARTNERS"]) -> Tree[Partner]: ...
@overload
def tree(system_name: Literal["PERIODS"]) -> Tree[Period]: ...
@overload
def tree(system_name: Literal["FREELANCER_CATEGORIES"]) -> Tree[FreelancerCategory]: ...
@overload
def tree(system_name: str) -> Tree[Item]: ...
def tree(system_name: str) -> Tree[Any]:
    """The tree of this name, read on first use."""
    if system_name not in _tree_rows():
        raise UnknownTree(system_name)
    return _read(system_name)


def tree_of_id(tree_id: int) -> Tree[Item]:
    """The tree of this id."""
    for system_name, row in _tree_rows().items():
        if int(row["id"]) == tree_id:
            return tree(system_name)
    raise UnknownTree(str(tree_id))


def trees() -> tuple[Tree[Item], ...]:
    """All trees, by their ids."""
    return tuple(tree(system_name) for system_name in _tree_rows())


@cache
def frame(system_name: str) -> pl.DataFrame:
    """The items of a tree as a frame for joins, one column per attribute."""
    return pl.DataFrame([asdict(item) for item in tree(system_name).items], infer_schema_length=None)


def categories_frame() -> pl.DataFrame:
    """`id, system_name, parent, kind, display_name, description, sign, accepts, need, contract_prior`."""
    return frame("CATEGORIES")


def insurance_types_frame() -> pl.DataFrame:
    """`id, system_name, parent, kind, display_name, description, subcategory, savings`."""
    return frame("INSURANCE_TYPES")


def periods_frame() -> pl.DataFrame:
    """`id, system_name, parent, kind, display_name, description, months, days, per_year, tolerance`."""
    return frame("PERIODS")


@cache
def _tree_rows() -> dict[str, Row]:
    return {row["system_name"]: row for row in read_rows(FOLDER / "trees.csv")}


@cache
def _read(system_name: str) -> Tree[Any]:
    row = _tree_rows()[system_name]
    attributes = (int(row["id"]), system_name, row["display_name"], row["description"], int(row["version"]))
    if system_name == "CASHFLOW":
        return TimeTree(*attributes, cashflow.listed_items())
    item_type = ITEM_TYPES.get(system_name, Item)
    items = tuple(item_from_row(item_type, attributes[0], row) for row in read_rows(FOLDER / f"{system_name.lower()}.csv"))
    if system_name == "BUSINESS_PARTNERS":
        items += partners.partner_items(attributes[0], tree("CATEGORIES"))
    return Tree(*attributes, items)
