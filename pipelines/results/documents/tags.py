"""Items of tag trees and tags as JSON.

A list of bookings has four tags for each. Most of a tag is the same wherever its item occurs; a `TagWriter` caches that as JSON.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import orjson
import polars as pl
from pydantic import Field

from analytics import trees
from analytics.english import items as english_items
from analytics.trees import Item, Partner, Tree
from pipelines.results.documents.fields import DocumentPart
from pipelines.results.documents.json_text import json_object, quoted, rate

TREES = "tags/v1/tag-trees"
TRANSACTION, USER = "TRANSACTION", "USER"
CUSTOMER = "Kunde"
"""The name of users in their tags, which never contain names of people."""
LINKS = {"refundOf": "refund_of", "pairOf": "pair_of", "guess": "category_guess"}
"""The details of categories that refer to something else, and the columns that have it."""
MAX_WRITERS = 8  # one for each base URL and language: a process has two, tests have some
SOME_DAY = "2026-11-13"
SOME_IDS = [["3a2b8c1e-7c7c-4c39-8d8a-2f5a5d3c1b10"]]
EVIDENCE = "The bookings on which this rests, by day"


class TagTreeReference(DocumentPart):
    """The tree of an item."""

    description: str = Field(examples=["Wofür Geld ausgegeben oder eingenommen wurde, in Haupt- und Unterkategorien."])
    display_name: str = Field(examples=["Kategorien"])
    system_id: int = Field(examples=[1])
    system_name: str = Field(examples=["CATEGORIES"], description="Never changes")
    version: int = Field(examples=[1], description="Grows when items change")
    is_client_generated: bool = Field(examples=[False])


class TagTreeItemReference(DocumentPart):
    """An item of a tag tree."""

    display_name: str = Field(examples=["Lebensmittel"])
    system_id: int = Field(examples=[10101], description="Never changes, and is never used for another item")
    system_name: str = Field(examples=["LIVING_GROCERIES"], description="Never changes")
    system_name_parent: str | None = Field(None, examples=["LIVING"], description="In two-level trees")
    description: str | None = Field(None, examples=["Einkäufe in Supermarkt, Discounter, Bäckerei und auf dem Wochenmarkt."])
    tag_tree: TagTreeReference
    address_city: str | None = Field(None, examples=["Hamburg"], description="This and all below: partners")
    address_country: str | None = Field(None, examples=["DE"])
    address_street: str | None = Field(None, examples=["Musterstraße 1"])
    address_zip: str | None = Field(None, examples=["20095"])
    creditor_id: str | None = Field(None, examples=["DE98ZZZ09999999999"])
    group: str | None = Field(None, examples=["REWE Group"])
    telephone: str | None = Field(None, examples=["+49 40 123456"])
    website: str | None = Field(None, examples=["https://www.example.de/"])
    logo: str | None = Field(
        None,
        examples=[f"http://127.0.0.1:8000/{TREES}/3/tag-tree-items/30001/logo"],
        description="The address of a picture (SVG) that we have drawn; it needs no token",
    )
    categories: list[str] | None = Field(None, examples=[["LIVING_GROCERIES"]], description="In contracts only")


def tree_body(base_url: str, tree: Tree[Item]) -> dict[str, Any]:
    """A tree as its endpoints return it."""
    links = _links(base_url, tree)
    return {**_reference(tree).model_dump(), "relations": _relations({"self": links.pop("tag_tree"), **links})}


def item_body(base_url: str, tree: Tree[Item], item: Item) -> dict[str, Any]:
    """An item as its endpoints return it."""
    links = _links(base_url, tree, item)
    relations = _relations({"self": links.pop("tag_tree_item"), **links})
    return {**tag_tree_item(base_url, tree, item), "relations": relations}


def tag_tree_item(base_url: str, tree: Tree[Item], item: Item, *, with_categories: bool = False) -> dict[str, Any]:
    """An item as tags contain it; contracts also need the categories of a partner."""
    reference = TagTreeItemReference(
        display_name=item.display_name,
        system_id=item.id,
        system_name=item.system_name,
        system_name_parent=item.parent or None,
        description=item.description,
        tag_tree=_reference(tree),
        **_partner_fields(base_url, tree, item) if isinstance(item, Partner) else {},
        categories=list(item.categories) if isinstance(item, Partner) and with_categories else None,
    )
    return reference.model_dump(exclude_none=True)


def tag_details(tagger: str, model_version: str) -> dict[str, pl.Expr]:
    """Why a booking has the tag of a tagger, in the names of the interface. Links to other bookings belong to the category, which
    they explain.
    """
    details = {
        "confidenceLevel": rate(f"{tagger}_confidence"),
        "source": quoted(f"{tagger}_source"),
        "reason": quoted(f"{tagger}_reason"),
        "modelVersion": quoted(pl.lit(model_version)),
    }
    return details | ({name: quoted(column) for name, column in LINKS.items()} if tagger == "category" else {})


class TagWriter:
    """Writes tags as JSON, by the ten thousand: the common part of all tags of an item is written once and cached."""

    def __init__(self, base_url: str, find_tree: Callable[[str], Tree[Item]] = trees.tree) -> None:
        self._base_url = base_url
        self._find_tree = find_tree
        self._cache: dict[tuple[str, str], str] = {}
        self._item_texts: dict[tuple[str, str, bool], str] = {}

    def on_bookings(
        self, tree: str, bookings: pl.DataFrame, tagger: str, name: pl.Expr, details: Mapping[str, pl.Expr]
    ) -> pl.Series:
        """The JSON of the tag of a tagger on each booking, which people recognise by this name."""
        entity = {
            "displayName": quoted(name),
            "entityClass": quoted(pl.lit(TRANSACTION)),
            "id": quoted("id"),
            "userId": quoted("user"),
        }
        parts = [
            *(pl.lit('{"id":'), quoted(pl.concat_str("id", pl.lit(f".{trees.tree(tree).id}")))),
            *(pl.lit(',"entity":'), json_object(entity)),
            *(pl.lit(","), pl.col(tagger).replace_strict(self._shared_texts(tree, bookings[tagger]), return_dtype=pl.String)),
            *(pl.lit(',"details":'), json_object(details), pl.lit("}")),
        ]
        return bookings.select(pl.concat_str(parts).alias(tagger)).to_series()

    def on_users(self, tree: str, rows: pl.DataFrame) -> pl.Series:
        """The JSON of tags on users. Rows have `user`, `item`, a `suffix` that makes the ids of one tree unique, and `details` as
        JSON; a column `more` has the text of further fields, a column `relations` that of further relations.
        """
        shared = self._shared_texts(tree, rows["item"])
        user, named_entity = quoted("user"), orjson.dumps({"displayName": CUSTOMER, "entityClass": USER}).decode()[:-1]
        parts = [
            *(pl.lit('{"id":'), quoted(pl.format(f"{{}}.{trees.tree(tree).id}.{{}}", "user", "suffix"))),
            *(pl.lit(f',"entity":{named_entity},"id":'), user, pl.lit(',"userId":'), user),
            *(pl.lit("},"), self._with_relations(rows, pl.col("item").replace_strict(shared, return_dtype=pl.String))),
            *(pl.lit(',"details":'), pl.col("details")),
            *((pl.lit(","), pl.col("more")) if "more" in rows.columns else ()),
            pl.lit("}"),
        ]
        return rows.select(pl.concat_str(parts).alias("text")).to_series()

    def relation_texts(self, tree: str, names: pl.Series, ending: str) -> dict[str, str]:
        """The JSON of the relations to each of these items, its tree and the items of that, separated by commas; `ending` ends
        their names.
        """
        tag_tree = self._find_tree(tree)
        links = {name: _links(self._base_url, tag_tree, tag_tree.item(name)) for name in names.unique()}
        return {
            name: orjson.dumps(_relations({f"{rel}{ending}": href for rel, href in of_item.items() if rel != "tag_trees"}))[
                1:-1
            ].decode()
            for name, of_item in links.items()
        }

    @staticmethod
    def _with_relations(rows: pl.DataFrame, shared: pl.Expr) -> pl.Expr:
        """The common part of the tags, which ends with their relations, and the further relations of each."""
        if "relations" not in rows.columns:
            return shared
        return pl.concat_str(shared.str.strip_suffix("]"), pl.lit(","), pl.col("relations"), pl.lit("]"))

    def item_texts(self, tree: str, names: pl.Series, *, with_categories: bool = False) -> dict[str, str]:
        """The JSON of each of these items, as tags contain them."""
        return {name: self._item_text(tree, name, with_categories) for name in names.unique()}

    def _item_text(self, tree: str, name: str, with_categories: bool) -> str:
        key = (tree, name, with_categories)
        if key not in self._item_texts:
            tag_tree = self._find_tree(tree)
            item = tag_tree_item(self._base_url, tag_tree, tag_tree.item(name), with_categories=with_categories)
            self._item_texts[key] = orjson.dumps(item).decode()
        return self._item_texts[key]

    def _shared_texts(self, tree: str, names: pl.Series) -> dict[str, str]:
        """What all tags of each of these items have in common."""
        return {name: self._cache.get((tree, name)) or self._shared_text(tree, name) for name in names.unique()}

    def _shared_text(self, tree: str, name: str) -> str:
        tag_tree = self._find_tree(tree)
        text = orjson.dumps(_shared(self._base_url, tag_tree, tag_tree.item(name)))[1:-1].decode()
        self._cache[tree, name] = text
        return text


@lru_cache(MAX_WRITERS)
def tag_writer(base_url: str, *, in_english: bool = False) -> TagWriter:
    """The one writer of this base URL and language, so that all requests share its cache."""
    return TagWriter(base_url, english_items.tree if in_english else trees.tree)


def _reference(tree: Tree[Item]) -> TagTreeReference:
    return TagTreeReference(
        description=tree.description,
        display_name=tree.display_name,
        system_id=tree.id,
        system_name=tree.system_name,
        version=tree.version,
        is_client_generated=False,
    )


def _partner_fields(base_url: str, tree: Tree[Item], partner: Partner) -> dict[str, Any]:
    return {
        "address_city": partner.city or None,
        "address_country": partner.country or None,
        "address_street": partner.street or None,
        "address_zip": partner.zip or None,
        "creditor_id": partner.creditor_id or None,
        "group": partner.group or None,
        "telephone": partner.telephone or None,
        "website": partner.website or None,
        "logo": f"{_links(base_url, tree, partner)['tag_tree_item']}logo",
    }


def _shared(base_url: str, tree: Tree[Item], item: Item) -> dict[str, Any]:
    """The part that all tags of an item have in common."""
    return {"tagTreeItem": tag_tree_item(base_url, tree, item), "relations": _relations(_links(base_url, tree, item))}


def _links(base_url: str, tree: Tree[Item], item: Item | None = None) -> dict[str, str]:
    """The addresses of an item, its tree and their lists, with the trailing slash of the interface."""
    root = f"{base_url}/{TREES}/"
    items = f"{root}{tree.id}/tag-tree-items/"
    links = {"tag_trees": root, "tag_tree": f"{root}{tree.id}/", "tag_tree_items": items}
    return links if item is None else {**links, "tag_tree_item": f"{items}{item.id}/"}


def _relations(links: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"rel": rel, "href": href} for rel, href in links.items()]
