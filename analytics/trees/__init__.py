"""Tag trees: one CSV file each in `tables/`, with typed items and their loader.

An item's id is its tree's id × 10,000 + its number. Numbers stand in the files and are never changed or reused, because clients
store ids; a test holds every id that was ever assigned. New items get new numbers, wherever in a file they stand.
"""

from analytics.trees.items import (
    AGGREGATE,
    GROUP,
    ITEM,
    Category,
    FreelancerCategory,
    InsuranceType,
    Item,
    Partner,
    Period,
    Tree,
    UnknownItem,
    UnknownTree,
)
from analytics.trees.loader import (
    UNKNOWN,
    categories_frame,
    frame,
    insurance_types_frame,
    periods_frame,
    tree,
    tree_of_id,
    trees,
)

__all__ = [
    "AGGREGATE",
    "GROUP",
    "ITEM",
    "UNKNOWN",
    "Category",
    "FreelancerCategory",
    "InsuranceType",
    "Item",
    "Partner",
    "Period",
    "Tree",
    "UnknownItem",
    "UnknownTree",
    "categories_frame",
    "frame",
    "insurance_types_frame",
    "periods_frame",
    "tree",
    "tree_of_id",
    "trees",
]
