"""Routes of tag trees and their items. These are the same for everyone, so that lists are rendered only once."""

import hashlib
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import Annotated, Any, NamedTuple

import orjson
from fastapi import Path, Query, Request
from starlette.responses import Response

from analytics import trees
from analytics.english import items as english_items
from analytics.trees import Item, Partner, Tree, UnknownItem, UnknownTree
from api.bodies import drawn_logos
from api.http.authorization import TokenKind, needs
from api.http.negotiation import current_language
from api.http.route import JSON, has_etag, router
from api.routes.providers import LOGO_HEADERS, Search, SvgResponse
from api.schemas.languages import Language
from api.schemas.tags import TagTreeBody, TagTreeItemBody
from api.services import AppServices
from pipelines.results.documents.tags import TREES, item_body, tree_body
from warehouse import scopes
from warehouse.errors import NotFound
from warehouse.stores.callers import Caller

MAX_CACHED_LISTS = 64  # more than there are trees in both languages
MAX_ID_DIGITS = 9
UNCHANGED: dict[int | str, dict[str, Any]] = {304: {"description": "Nothing has changed."}}
UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
routes = router(f"/{TREES}", "Tag trees")
aliases = router("/tags/v1/tags/tag-trees", "Tag trees")

ReadsTags = Annotated[Caller, needs(scopes.CUSTOMER_READ, TokenKind.ANY)]
TreeKey = Annotated[str, Path(examples=["1"])]
ItemKey = Annotated[str, Path(examples=["10101"])]
Handler = Callable[..., Awaitable[Response]]


class CachedList(NamedTuple):
    """The items of a tree: their JSON, its ETag, and each item's JSON with the text that searches look at."""

    body: bytes
    etag: str
    items: tuple[tuple[str, bytes], ...]


def register_read(path: str, model: Any) -> Callable[[Handler], Handler]:
    """Registers a route at both addresses of the interface."""

    def register(handler: Handler) -> Handler:
        routes.get(path, response_model=model, responses=UNCHANGED)(handler)
        aliases.get(path, response_model=model, responses=UNCHANGED, name=f"{handler.__name__}_below_tags")(handler)
        return handler

    return register


@register_read("", list[TagTreeBody])
async def list_tag_trees(_caller: ReadsTags, services: AppServices) -> Response:
    """All tag trees."""
    base_url, language = services.settings.base_url, current_language()
    bodies = [tree_body(base_url, _in_language(tree, language)) for tree in trees.trees()]
    return Response(orjson.dumps(bodies), media_type=JSON)


@register_read("/{tree}", TagTreeBody)
async def get_tag_tree(tree: TreeKey, _caller: ReadsTags, services: AppServices) -> Response:
    """One tag tree."""
    return Response(
        orjson.dumps(tree_body(services.settings.base_url, _in_language(_tree(tree), current_language()))), media_type=JSON
    )


@register_read("/{tree}/tag-tree-items", list[TagTreeItemBody])
async def list_tag_tree_items(
    request: Request,
    tree: TreeKey,
    _caller: ReadsTags,
    services: AppServices,
    q: Annotated[Search | None, Query(description="Part of the display name or of the system name", examples=["miete"])] = None,
) -> Response:
    """All items of a tag tree, or those that a text finds. Of the time items of cashflow, those of twenty years are listed."""
    tag_tree = _in_language(_tree(tree), current_language())
    page = _cached_list(services.settings.base_url, tag_tree.id, current_language())
    if q is not None:
        bodies = [body for text, body in page.items if _plain(q.strip()) in text]
        bodies += _unlisted(services.settings.base_url, tag_tree, q.strip().upper())
        return Response(b"[" + b",".join(bodies) + b"]", media_type=JSON)
    headers = {"ETag": page.etag}
    if has_etag(request, page.etag):
        return Response(status_code=304, headers=headers)
    return Response(page.body, headers=headers, media_type=JSON)


@register_read("/{tree}/tag-tree-items/{item}", TagTreeItemBody)
async def get_tag_tree_item(tree: TreeKey, item: ItemKey, _caller: ReadsTags, services: AppServices) -> Response:
    """One item of a tag tree."""
    tag_tree = _in_language(_tree(tree), current_language())
    body = item_body(services.settings.base_url, tag_tree, _item(tag_tree, item))
    return Response(orjson.dumps(body), media_type=JSON)


@routes.get(
    "/{tree}/tag-tree-items/{item}/logo",
    response_class=SvgResponse,
    responses=UNCHANGED,
    openapi_extra={"security": []},
)
async def get_partner_logo(request: Request, tree: TreeKey, item: ItemKey) -> Response:
    """The logo of a business partner, drawn by us; other items have none. It needs no token: a page that shows it cannot send
    one.
    """
    partner = _item(_tree(tree), item)
    if not isinstance(partner, Partner):
        raise NotFound("logo")
    picture = drawn_logos.draw(partner.display_name, partner.group or None)
    headers = {**LOGO_HEADERS, "ETag": f'"{hashlib.sha256(picture.encode()).hexdigest()[:32]}"'}
    if has_etag(request, headers["ETag"]):
        return Response(status_code=304, headers={name: headers[name] for name in ("ETag", "Cache-Control")})
    return SvgResponse(picture, headers=headers)


@lru_cache(MAX_CACHED_LISTS)
def _cached_list(base_url: str, tree_id: int, language: Language) -> CachedList:
    """All items of a tree with their JSON."""
    tree = _in_language(trees.tree_of_id(tree_id), language)
    items = tuple((_search_text(item), orjson.dumps(item_body(base_url, tree, item))) for item in tree.items)
    body = b"[" + b",".join(text for _, text in items) + b"]"
    return CachedList(body, f'"{hashlib.sha256(body).hexdigest()[:32]}"', items)


def _unlisted(base_url: str, tree: Tree[Item], name: str) -> list[bytes]:
    """The JSON of the item with exactly this system name, if the tree has it without listing it: a year of long ago."""
    try:
        item = tree.item(name)
    except UnknownItem:
        return []
    return [] if item.system_name in tree.by_name else [orjson.dumps(item_body(base_url, tree, item))]


def _search_text(item: Item) -> str:
    """The names of an item, as searches compare them with `q`."""
    return f"{_plain(item.display_name)}\n{_plain(item.system_name)}"


def _plain(text: str) -> str:
    """The text in lower case and without umlauts: `Größe` becomes `groesse`."""
    return text.casefold().translate(UMLAUTS)


def _tree(key: str) -> Tree[Item]:
    try:
        return trees.tree_of_id(_id(key))
    except UnknownTree as error:
        raise NotFound("tag tree") from error


def _in_language(tree: Tree[Item], language: Language) -> Tree[Item]:
    return english_items.tree(tree.system_name) if language == "en" else tree


def _item(tree: Tree[Item], key: str) -> Item:
    try:
        return tree.item_of_id(_id(key))
    except UnknownItem as error:
        raise NotFound("tag tree item") from error


def _id(key: str) -> int:
    """The id that a key stands for; 0, which no item has, if the key is malformed."""
    well_formed = key.isascii() and key.isdigit() and len(key) <= MAX_ID_DIGITS and not key.startswith("0")
    return int(key) if well_formed else 0
