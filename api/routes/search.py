"""The route that searches the bookings of all accounts of a customer."""

from contextlib import aclosing
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlencode

import polars as pl
from fastapi import Query, Request
from starlette.responses import Response

from analytics import trees
from api.customer import Reads, reading_for, user_of
from api.http.errors import misnamed, wrong
from api.http.long_lists import JsonListWriter
from api.http.negotiation import current_language
from api.http.responses import freshness
from api.http.route import router
from api.routes.transactions import MAX_ROWS, NAME, STATUSES, TAGGED_ROWS, Row, tagged_texts, view_taggers, write_rows
from api.schemas.accesses import ROOT
from api.schemas.base import Count, Flag, QueryDay
from api.schemas.languages import Language, Text
from api.schemas.search import MAX_TEXT, Direction, QueryCents, search_words
from api.schemas.transactions import FoundTransactionBody, View, transaction_fields
from api.services import AppServices, Services
from pipelines.results import tags
from pipelines.results.documents.json_text import quoted
from pipelines.results.tags import TaggedBookings
from warehouse.errors import Invalid
from warehouse.postgres.database import Owner
from warehouse.stores import booking_search, transactions
from warehouse.stores.booking_search import ACCESS_KEY, PRODUCT_KEY, BookingSearch, SearchCursor, Sort, SortOrder
from warehouse.stores.callers import Caller

routes = router("/customer/v2", "Customer")
DEFAULT_ROWS = 100
TREES = {"category": "CATEGORIES", "partner": "BUSINESS_PARTNERS"}
"""The kinds of tags that a search can ask for, and the trees of their items."""
UNKNOWN_ITEM = Text("ist unbekannt", "is unknown")
BAD_CURSOR = Text("ist ungültig", "is not valid")
OTHER_ORDER = Text("gehört zu einer anderen Sortierung", "belongs to another order")


@dataclass(frozen=True)
class SearchQuery:
    """The parameters of a search."""

    search: BookingSearch
    items: dict[str, list[str]]
    """By kind of tag: the items of which a booking must have one."""
    limit: int
    taggers: list[str]
    categorize: bool
    parameters: dict[str, str]
    """As they were sent, for the address of the next page."""


@routes.get(f"/{NAME}", response_model=list[FoundTransactionBody], responses=STATUSES)
async def search_transactions(
    request: Request,
    caller: Reads,
    services: AppServices,
    text: Annotated[
        str | None,
        Query(
            max_length=MAX_TEXT,
            description="words that all occur in purpose, counterparty or IBAN; case and accents make no difference",
            examples=["stadtwerke"],
        ),
    ] = None,
    category: Annotated[
        str | None,
        Query(max_length=128, description="`systemName` of a category; a group has all of its items", examples=["LIVING"]),
    ] = None,
    partner: Annotated[
        str | None, Query(max_length=128, description="`systemName` of a business partner", examples=["UNKNOWN"])
    ] = None,
    least: Annotated[
        QueryCents | None, Query(alias="minAmount", description="lowest amount; expenses are negative", examples=["-100.00"])
    ] = None,
    most: Annotated[QueryCents | None, Query(alias="maxAmount", description="highest amount", examples=["-10"])] = None,
    direction: Annotated[Direction | None, Query(description="only what came in, or what went out")] = None,
    first: Annotated[QueryDay | None, Query(alias="from", description="first day", examples=["2026-10-01"])] = None,
    last: Annotated[QueryDay | None, Query(alias="to", description="last day", examples=["2026-10-31"])] = None,
    access: Annotated[str | None, Query(alias="accessId", max_length=64, description="only of this access")] = None,
    product: Annotated[str | None, Query(alias="productId", max_length=128, description="only of products of this id")] = None,
    sort: Annotated[Sort, Query(description="by date or by amount")] = Sort.DATE,
    order: Annotated[SortOrder, Query(description="ascending or descending")] = SortOrder.DESCENDING,
    limit: Annotated[
        Count,
        Query(
            ge=1,
            le=MAX_ROWS,
            json_schema_extra={"minimum": 1, "maximum": MAX_ROWS},
            description="at most so many; `Link` leads on",
            examples=[100],
        ),
    ] = DEFAULT_ROWS,
    cursor: Annotated[str | None, Query(min_length=1, max_length=128, description="where to go on; taken from `Link`")] = None,
    tag: Annotated[View | None, Query(description="with `tags` of this kind", examples=["categories"])] = None,
    categorize: Annotated[Flag, Query(description="with `classifications`, and `tags`")] = False,
) -> Response:
    """The bookings of all accounts that match every condition, a page at a time; the newest first, unless sorted otherwise. An
    access or a product that the customer has not gives an empty list.
    """
    items = {kind: _items(kind, name) for kind, name in (("category", category), ("partner", partner)) if name is not None}
    search = BookingSearch(
        words=search_words(text),
        first=first,
        last=last,
        least_cents=least,
        most_cents=most,
        incoming=None if direction is None else direction is Direction.IN,
        access=access,
        product=product,
        sort=sort,
        order=order,
        after=_cursor(cursor, sort, order),
    )
    parameters = {name: value for name, value in request.query_params.items() if name != "cursor"}
    query = SearchQuery(search, items, limit, view_taggers(tag, categorize=categorize), categorize, parameters)
    async with services.lists.of(user_of(caller)):
        if query.taggers or items:
            return await services.compute(caller, _with_tags, services, caller, query, current_language())
        async with services.list_connections.hold(caller.tenant_id, user_of(caller)):
            return await _without_tags(services, caller, query)


async def _without_tags(services: Services, caller: Caller, query: SearchQuery) -> Response:
    """The page of a search that needs no tags."""
    user_id = user_of(caller)
    statement = booking_search.search_query(caller.tenant_id, user_id, query.search, query.limit + 1)
    async with services.reads.acting_for(caller.tenant_id, user_id) as connection:
        batches = transactions.row_batches(connection, *statement, query.limit + 1)
        async with aclosing(batches):  # while the connection is ours: also if the caller goes away
            writer, next_row = await write_rows(services, caller, batches, query.limit, _fields)
    return writer.response(_next_page(services, query, next_row))


def _with_tags(services: Services, caller: Caller, query: SearchQuery, language: Language) -> Response:
    """The page of a search for tags, or with them. Tags depend on all bookings, which are read in the same snapshot."""
    with reading_for(services, caller) as owner:
        recent = services.recent_tags
        tagged = tags.tagged_bookings(owner, recent) if query.taggers else tags.tag_items(owner, list(query.items), recent)
        rows = _rows(owner, query, tagged.bookings)
    shown_rows = rows[: query.limit]
    writer = JsonListWriter()
    if query.taggers:
        for start in range(0, len(shown_rows), TAGGED_ROWS):
            writer.add_texts(_tagged_texts(services, query, tagged, shown_rows[start : start + TAGGED_ROWS], language))
    else:
        writer.add(_fields(row) for row in shown_rows)
    next_page = _next_page(services, query, shown_rows[-1] if len(rows) > query.limit else None)
    return writer.response({**freshness(tagged.revision, tagged.version, precomputed=tagged.precomputed), **next_page})


def _rows(owner: Owner, query: SearchQuery, tagged: pl.DataFrame) -> list[Row]:
    """The rows of a page, and one more if there is a next one."""
    ids = None
    if query.items:
        ids = tagged.filter(*(pl.col(kind).is_in(names) for kind, names in query.items.items()))["id"].to_list()
    statement, values = booking_search.search_query(owner.tenant, owner.user_id, query.search, query.limit + 1, ids)
    return [tuple(row) for row in owner.session.connection().exec_driver_sql(statement.as_string(), values)]


def _tagged_texts(
    services: Services, query: SearchQuery, tagged: TaggedBookings, rows: list[Row], language: Language
) -> pl.Series:
    """The JSON of rows with the tags that the query asks for."""
    columns = {
        "id": [str(row[0]) for row in rows],
        "access": [row[ACCESS_KEY] for row in rows],
        "of": [row[PRODUCT_KEY] for row in rows],
    }
    page = pl.DataFrame(columns, dict.fromkeys(columns, pl.String)).join(
        tagged.bookings, on="id", how="left", maintain_order="left"
    )
    more = {"accessId": quoted("access"), "productId": quoted("of")}
    return tagged_texts(services, page, query.taggers, tagged.version, language, categorize=query.categorize, more=more)


def _fields(row: Row) -> dict[str, Any]:
    return {**transaction_fields(row), **_belonging(row)}


def _belonging(row: Row) -> dict[str, str]:
    return {"accessId": row[ACCESS_KEY], "productId": row[PRODUCT_KEY]}


def _items(kind: str, system_name: str) -> list[str]:
    """The items that a name stands for: itself and, of a group, what is in it."""
    tree = trees.tree(TREES[kind])
    if system_name not in tree.by_name:
        raise misnamed(kind, UNKNOWN_ITEM, "query", system_name, tree.by_name)
    return [item.system_name for item in tree.items if system_name in (item.system_name, item.parent)]


def _cursor(cursor: str | None, sort: Sort, order: SortOrder) -> SearchCursor | None:
    if cursor is None:
        return None
    try:
        after = SearchCursor.read(cursor)
    except Invalid as error:
        raise wrong("cursor", BAD_CURSOR, "query") from error
    if (after.sort, after.order) != (sort, order):
        raise wrong("cursor", OTHER_ORDER, "query")
    return after


def _next_page(services: Services, query: SearchQuery, row: Row | None) -> dict[str, str]:
    """The header with the address of the next page, which begins after this row; none without one."""
    if row is None:
        return {}
    cursor = SearchCursor.after(row, query.search.sort, query.search.order)
    parameters = {**query.parameters, "cursor": str(cursor)}
    return {"Link": f'<{services.links.to(*ROOT, NAME)}?{urlencode(parameters)}>; rel="next"'}
