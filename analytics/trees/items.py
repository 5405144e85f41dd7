"""What a tag tree is made of: the tree, its items, and what the items of each tree say beyond their names."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

GROUP, ITEM, AGGREGATE = "group", "item", "aggregate"
"""What an item is: a heading of others, one that a booking or a user can carry, or a sum that only cashflow shows."""


class UnknownTree(LookupError):
    """No tree has this name or id."""


class UnknownItem(LookupError):
    """The tree has no item of this name or id."""


@dataclass(frozen=True)
class Item:
    """An item of a tree. Its id and its system name never change; both texts are German and for people."""

    id: int
    system_name: str
    parent: str
    kind: str
    display_name: str
    description: str

    @property
    def assignable(self) -> bool:
        """Whether something can carry this item as its tag."""
        return self.kind == ITEM


@dataclass(frozen=True)
class Category(Item):
    """A category. A sign is `+`, `-` or `±`: `sign` is that of automatic tags, `accepts` that of a user's own choice."""

    sign: str
    accepts: str
    need: str
    """`N` necessity, `L` luxury, `S` savings, `X` none of them; empty for groups and sums."""
    contract_prior: float
    """How likely a recurring stream of this category is a contract."""

    def admits(self, amount_cents: int) -> bool:
        """Whether a user may choose this category for a booking of this amount."""
        return self.assignable and (amount_cents == 0 or self.accepts in ("±", "-" if amount_cents < 0 else "+"))


@dataclass(frozen=True)
class InsuranceType(Item):
    """A division or a product of insurance."""

    subcategory: str
    """The category of its premiums; empty for what is no insurance."""
    savings: bool
    """Whether premiums build up capital."""


@dataclass(frozen=True)
class FreelancerCategory(Item):
    """An income or expense of the self-employed."""

    fields: tuple[str, ...]
    """Field numbers (Kz) of the Anlage EÜR, the usual one first; none for what is private. Unlike line numbers, they stay."""

    @property
    def field(self) -> str:
        """The usual field number."""
        return self.fields[0] if self.fields else ""


@dataclass(frozen=True)
class Period(Item):
    """A distance between payments. Groups and the irregular one have no numbers."""

    months: int | None
    """Set where the distance is whole months."""
    days: float | None
    """The mean length."""
    per_year: float | None
    tolerance: float | None
    """Days by which a payment may miss its place."""


@dataclass(frozen=True)
class Partner(Item):
    """A business partner. What is not known is empty."""

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
    """A tree: items of one or two levels, in the order in which they are shown."""

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
        """Items that a tag can name."""
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
