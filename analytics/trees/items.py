"""The types of tag trees: the tree, its items, and the attributes that the items of each tree add. Reading is in `loader.py`."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

GROUP, ITEM, AGGREGATE = "group", "item", "aggregate"
"""Kinds of items: a heading, a tag that a booking or user can carry, and a total that only cashflow shows."""


class UnknownTree(LookupError):
    """No tree has this name or id."""


class UnknownItem(LookupError):
    """The tree has no item of this name or id."""


@dataclass(frozen=True)
class Item:
    """An item of a tree. Its id and system name never change; display name and description are German texts for people."""

    id: int
    system_name: str
    parent: str
    kind: str
    display_name: str
    description: str

    @property
    def assignable(self) -> bool:
        """Whether a booking or user can carry this item as a tag."""
        return self.kind == ITEM


@dataclass(frozen=True)
class Category(Item):
    """A category. `sign` (`+`, `-` or `±`) limits automatic tags, `accepts` limits a user's own choice."""

    sign: str
    accepts: str
    need: str
    """`N` necessity, `L` luxury, `S` savings, `X` none of them; empty for groups and totals."""
    contract_prior: float
    """The probability that a recurring stream of this category is a contract."""


@dataclass(frozen=True)
class InsuranceType(Item):
    """A division or a product of insurance."""

    subcategory: str
    """The category of its premiums; empty for items that are not insurance."""
    savings: bool
    """Whether premiums build up capital."""


@dataclass(frozen=True)
class FreelancerCategory(Item):
    """An income or expense of the self-employed."""

    fields: tuple[str, ...]
    """Field numbers (Kz) of the Anlage EÜR, the usual one first; none for private items. Unlike its lines, they never change."""

    @property
    def field(self) -> str:
        """The usual field number."""
        return self.fields[0] if self.fields else ""


@dataclass(frozen=True)
class Period(Item):
    """The interval between payments. Groups and the irregular period have no numbers."""

    months: int | None
    """Set where the interval is whole months."""
    days: float | None
    """The mean length in days."""
    per_year: float | None
    tolerance: float | None
    """Days by which a payment may deviate from its due date."""


@dataclass(frozen=True)
class Partner(Item):
    """A business partner. Unknown attributes are empty."""

    group: str = ""
    street: str = ""
    zip: str = ""
    city: str = ""
    country: str = ""
    creditor_id: str = ""
    telephone: str = ""
    website: str = ""
    categories: tuple[str, ...] = ()
    """Categories of its bookings, the most likely first."""


AnyItem = TypeVar("AnyItem", bound=Item, covariant=True)


@dataclass(frozen=True)
class Tree(Generic[AnyItem]):
    """A tree: items on one or two levels, in display order."""

    id: int
    system_name: str
    display_name: str
    description: str
    version: int
    items: tuple[AnyItem, ...]

    @cached_property
    def by_name(self) -> Mapping[str, AnyItem]:
        return {item.system_name: item for item in self.items}

    @cached_property
    def by_id(self) -> Mapping[int, AnyItem]:
        return {item.id: item for item in self.items}

    @property
    def assignable(self) -> tuple[AnyItem, ...]:
        """Items that can be a tag."""
        return tuple(item for item in self.items if item.assignable)

    def item(self, system_name: str) -> AnyItem:
        """The item of this name."""
        try:
            return self.by_name[system_name]
        except KeyError as error:
            raise UnknownItem(f"{self.system_name}: {system_name}") from error

    def item_of_id(self, item_id: int) -> AnyItem:
        """The item of this id."""
        try:
            return self.by_id[item_id]
        except KeyError as error:
            raise UnknownItem(f"{self.system_name}: {item_id}") from error
