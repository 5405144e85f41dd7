"""Items of tag trees and tags as JSON.

A list of bookings has four tags to each. Most of a tag is the same wherever its item occurs; a `TagWriter` keeps that as JSON.
"""

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

import orjson
import polars as pl

from analytics import trees
from analytics.trees import Item, Partner, Tree
from pipelines.results.documents.json_text import json_object, quoted

TREES = "tags/v1/tag-trees"
TRANSACTION, USER = "TRANSACTION", "USER"
CUSTOMER = "Kunde"
"""What users are called in their tags: names of people are no part of them."""
WRITERS_KEPT = 8  # one for each address of the service: one process has one, tests have some


def tree_body(base_url: str, tree: Tree[Item]) -> dict[str, Any]:
    """A tree as the tree endpoints answer it."""
    links = _links(base_url, tree)
    return {**_reference(tree), "relations": _relations({"self": links.pop("tag_tree"), **links})}


def item_body(base_url: str, tree: Tree[Item], item: Item) -> dict[str, Any]:
    """An item as the tree endpoints answer it."""
    links = _links(base_url, tree, item)
    return {**tag_tree_item(tree, item), "relations": _relations({"self": links.pop("tag_tree_item"), **links})}


def tag_tree_item(tree: Tree[Item], item: Item, *, with_categories: bool = False) -> dict[str, Any]:
    """An item as tags hold it; contracts also want to know the categories of a partner."""
    body: dict[str, Any] = {"displayName": item.display_name, "systemId": item.id, "systemName": item.system_name}
    if item.parent:
        body["systemNameParent"] = item.parent
    body |= {"description": item.description, "tagTree": _reference(tree)}
    if isinstance(item, Partner):
        body |= _partner(item)
        if with_categories:
            body["categories"] = list(item.categories)
    return body


def tag_instance(
    base_url: str,
    tree: str,
    item_system_name: str,
    entity_id: str,
    entity_display_name: str,
    user_id: str | None,
    details: Mapping[str, Any] | None,
    entity_class: str = TRANSACTION,
    apart: str = "",
) -> dict[str, Any]:
    """A tag on a booking or a user, by the system names of tree and item; `apart` tells those of one tree from each other."""
    found = trees.tree(tree)
    return {
        "id": f"{entity_id}.{found.id}.{apart}" if apart else f"{entity_id}.{found.id}",
        "entity": _entity(entity_id, entity_display_name, user_id, entity_class),
        **_shared(base_url, found, found.item(item_system_name)),
        "details": None if details is None else dict(details),
    }


def tag_details(
    confidence: float, source: str, reason: str, model_version: str, refund_of: str | None = None, pair_of: str | None = None
) -> dict[str, Any]:
    """Why a booking carries a tag, in the names of the interface."""
    details = {"confidenceLevel": round(confidence, 4), "source": source, "reason": reason, "modelVersion": model_version}
    if refund_of is not None:
        details["refundOf"] = refund_of
    if pair_of is not None:
        details["pairOf"] = pair_of
    return details


class TagWriter:
    """Writes tags as JSON, by the ten thousand: what the tags of an item have in common is written once and kept."""

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url
        self._kept: dict[tuple[str, str], tuple[str, bytes]] = {}

    def entity(self, entity_id: str, display_name: str, user_id: str | None, entity_class: str = TRANSACTION) -> bytes:
        """What carries tags, to be handed to `write` for each of them."""
        return orjson.dumps(_entity(entity_id, display_name, user_id, entity_class))

    def write(self, tree: str, item: str, entity_id: str, entity: bytes, details: Mapping[str, Any] | None) -> bytes:
        """The JSON of a tag, equal to that of `tag_instance`."""
        suffix, shared = self._kept.get((tree, item)) or self._keep(tree, item)
        return b'{"id":%b,"entity":%b,%b,"details":%b}' % (
            orjson.dumps(entity_id + suffix),
            entity,
            shared,
            orjson.dumps(details),
        )

    def on_users(self, tree: str, rows: pl.DataFrame) -> pl.Series:
        """The JSON of tags on users, equal to that of `tag_instance`. Rows have `user`, `item`, what tells tags of one tree
        `apart`, and `details` as JSON; if they have `more`, it is the text of further fields.
        """
        shared = {item: (self._kept.get((tree, item)) or self._keep(tree, item))[1].decode() for item in rows["item"].unique()}
        user = quoted("user")
        about = {"displayName": quoted(pl.lit(CUSTOMER)), "entityClass": quoted(pl.lit(USER)), "id": user, "userId": user}
        parts = [
            *(pl.lit('{"id":'), quoted(pl.format(f"{{}}.{trees.tree(tree).id}.{{}}", "user", "apart"))),
            *(pl.lit(',"entity":'), json_object(about)),
            *(pl.lit(","), pl.col("item").replace_strict(shared, return_dtype=pl.String)),
            *(pl.lit(',"details":'), pl.col("details")),
            *((pl.lit(","), pl.col("more")) if "more" in rows.columns else ()),
            pl.lit("}"),
        ]
        return rows.select(pl.concat_str(parts).alias("text")).to_series()

    def _keep(self, tree: str, item: str) -> tuple[str, bytes]:
        found = trees.tree(tree)
        shared = orjson.dumps(_shared(self._base_url, found, found.item(item)))[1:-1]
        self._kept[tree, item] = kept = f".{found.id}", shared
        return kept


@lru_cache(WRITERS_KEPT)
def tag_writer(base_url: str) -> TagWriter:
    """The writer for this address; there is one, so that what it keeps is kept for all requests."""
    return TagWriter(base_url)


def item_texts(tree: str, names: pl.Series, *, with_categories: bool = False) -> dict[str, str]:
    """The JSON of each of these items, as tags hold them."""
    return {name: _item_text(tree, name, with_categories) for name in names.unique()}


@cache
def _item_text(tree: str, name: str, with_categories: bool) -> str:
    found = trees.tree(tree)
    return orjson.dumps(tag_tree_item(found, found.item(name), with_categories=with_categories)).decode()


def _reference(tree: Tree[Item]) -> dict[str, Any]:
    return {
        "description": tree.description,
        "displayName": tree.display_name,
        "systemId": tree.id,
        "systemName": tree.system_name,
        "version": tree.version,
        "isClientGenerated": False,
    }


def _partner(partner: Partner) -> dict[str, str]:
    known = {
        "addressCity": partner.city,
        "addressCountry": partner.country,
        "addressStreet": partner.street,
        "addressZip": partner.zip,
        "creditorId": partner.creditor_id,
        "group": partner.group,
        "telephone": partner.telephone,
        "website": partner.website,
    }
    return {name: text for name, text in known.items() if text}


def _entity(entity_id: str, display_name: str, user_id: str | None, entity_class: str) -> dict[str, str]:
    entity = {"displayName": display_name, "entityClass": entity_class, "id": entity_id}
    return entity if user_id is None else {**entity, "userId": user_id}


def _shared(base_url: str, tree: Tree[Item], item: Item) -> dict[str, Any]:
    """What all tags of an item have in common."""
    return {"tagTreeItem": tag_tree_item(tree, item), "relations": _relations(_links(base_url, tree, item))}


def _links(base_url: str, tree: Tree[Item], item: Item | None = None) -> dict[str, str]:
    """The addresses of what belongs together, with the slash at their end that the interface shows."""
    every = f"{base_url}/{TREES}/"
    items = f"{every}{tree.id}/tag-tree-items/"
    links = {"tag_trees": every, "tag_tree": f"{every}{tree.id}/", "tag_tree_items": items}
    return links if item is None else {**links, "tag_tree_item": f"{items}{item.id}/"}


def _relations(links: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"rel": rel, "href": href} for rel, href in links.items()]
