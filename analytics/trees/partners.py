"""Business partners as items: what the catalogue of partners says of each."""

from pathlib import Path

from analytics.trees.files import Row, item_id, rows, texts
from analytics.trees.items import ITEM, Category, Partner, Tree

CATALOGUE = Path(__file__).parents[1] / "knowledge" / "tables" / "partners.csv"
AS_THEY_ARE = ("group", "street", "zip", "city", "country", "telephone", "website")


def listed(tree_id: int, categories: Tree[Category]) -> tuple[Partner, ...]:
    """All partners of the catalogue; none where there is no catalogue."""
    return tuple(_partner(tree_id, row, categories) for row in rows(CATALOGUE)) if CATALOGUE.exists() else ()


def _partner(tree_id: int, row: Row, categories: Tree[Category]) -> Partner:
    names = tuple(entry.partition(":")[0] for entry in texts(row["categories"]))
    return Partner(
        id=item_id(tree_id, row),
        system_name=row["system_name"],
        parent="",
        kind=ITEM,
        display_name=row["display_name"],
        description=_about(row["display_name"], row["group"], categories.by_name.get(names[0]) if names else None),
        creditor_id=next(iter(texts(row["creditor_ids"])), ""),
        categories=names,
        **{name: row[name] for name in AS_THEY_ARE},
    )


def _about(name: str, group: str, category: Category | None) -> str:
    """A sentence on a partner: whose it is, and what it is mostly paid for."""
    belongs = f" (Gruppe {group})" if group and group != name else ""
    mostly = f", meist in der Kategorie »{category.display_name}«" if category else ""
    return f"Zahlungen an oder von {name}{belongs}{mostly}."
