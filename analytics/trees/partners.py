"""The items of the tree BUSINESS_PARTNERS, from the catalogue of partners."""

from pathlib import Path

from analytics.own_tables import FIRST_OWN_NUMBER, table_rows
from analytics.trees.files import IDS_PER_TREE, Row, item_id, split_cell
from analytics.trees.items import ITEM, Category, Partner, Tree

CATALOGUE = Path(__file__).parents[1] / "knowledge" / "tables" / "partners.csv"
COPIED_COLUMNS = ("group", "street", "zip", "city", "country", "telephone", "website")


def partner_items(tree_id: int, categories: Tree[Category]) -> tuple[Partner, ...]:
    """All partners of the catalogue; none if its file is missing."""
    return tuple(_partner(tree_id, row, categories) for row in table_rows(CATALOGUE)) if CATALOGUE.exists() else ()


def _partner(tree_id: int, row: Row, categories: Tree[Category]) -> Partner:
    names = tuple(entry.partition(":")[0] for entry in split_cell(row["categories"]))
    return Partner(
        id=_id(tree_id, row),
        system_name=row["system_name"],
        parent="",
        kind=ITEM,
        display_name=row["display_name"],
        description=_description(row["display_name"], row["group"], categories.by_name.get(names[0]) if names else None),
        creditor_id=next(iter(split_cell(row["creditor_ids"])), ""),
        categories=names,
        **{name: row[name] for name in COPIED_COLUMNS},
    )


def _id(tree_id: int, row: Row) -> int:
    """The id of a partner; those of own ones are beyond the ids of all trees."""
    number = int(row["number"])
    return tree_id * IDS_PER_TREE + number if number >= FIRST_OWN_NUMBER else item_id(tree_id, row)


def _description(name: str, group: str, category: Category | None) -> str:
    """A German sentence on a partner: its group and its most likely category."""
    belongs = f" (Gruppe {group})" if group and group != name else ""
    mostly = f", meist in der Kategorie »{category.display_name}«" if category else ""
    return f"Zahlungen an oder von {name}{belongs}{mostly}."
