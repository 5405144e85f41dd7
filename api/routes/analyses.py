"""What the money says: analyses of a user, as they lie ready, or made now if nothing of this moment does."""

import asyncio
from datetime import date, datetime
from enum import StrEnum
from typing import Annotated, Any

from fastapi import Query, Request
from starlette.responses import Response

from api.http.errors import Problem
from api.http.response_cache import LEAST_ZIPPED, CachedResponse
from api.http.responses import freshness
from api.http.route import JSON, has_etag, router, takes_gzip
from api.routes.accesses import Reads, reading_for, user_of
from api.schemas.analyses import (
    AffordabilityBody,
    CashflowBody,
    ContractBody,
    DisposableMoneyBody,
    LifeEventBody,
    LifeStageBody,
    Nothing,
    SalesTriggerBody,
)
from api.schemas.base import Flag, QueryDay
from api.services import Held, Services
from pipelines.results import live
from pipelines.results.documents.cashflow import DOCUMENT as CASHFLOW
from pipelines.results.documents.cashflow import CashflowView
from pipelines.results.live import EMPTY_DOCUMENTS, FLOWS, ResultState, UserDocuments
from warehouse.lake.packing import unpack
from warehouse.stores import results
from warehouse.stores.callers import Caller

routes = router("/customer/v2/ai", "Analyses")
STATUSES: dict[int | str, dict[str, Any]] = {304: {"description": "Nothing has changed."}, 429: {}}
VARY = {"Vary": "Accept-Encoding"}
AsOf = Annotated[
    QueryDay | None,
    Query(alias="asOf", description="as it would have been with the bookings until this day", examples=["2026-10-31"]),
]


class Focus(StrEnum):
    """What cashflow is told by: tags with their times, or times with their tags."""

    TIME = "time"
    TAG = "tag"


class Tag(StrEnum):
    """By which tags cashflow is told."""

    CATEGORIES = "CATEGORIES"
    BUSINESS_PARTNERS = "BUSINESS_PARTNERS"


class Level(StrEnum):
    """Which categories cashflow is told by."""

    SUB = "sub"
    MAIN = "main"


@routes.get("/contracts", response_model=list[ContractBody], responses=STATUSES)
async def list_contracts(
    request: Request,
    caller: Reads,
    held: Held,
    insurance_only: Annotated[Flag, Query(alias="insuranceOnly", description="only insurance contracts")] = False,
    extended: Annotated[Flag, Query(alias="insuranceOnlyExtended", description="only insurances and home savings")] = False,
    as_of: AsOf = None,
) -> Response:
    """Regular payments, with period, amounts, next date and status. `insuranceOnlyExtended` includes `insuranceOnly`."""
    name = "contracts-insurance-extended" if extended else "contracts-insurance" if insurance_only else "contracts"
    return await _answer(request, held, caller, name, as_of)


@routes.get("/cashflow", response_model=list[CashflowBody], responses=STATUSES)
async def list_cashflow(
    request: Request,
    caller: Reads,
    held: Held,
    focus: Annotated[Focus, Query(description="what the outer level is not: `time` lists times for each tag")] = Focus.TIME,
    tag: Annotated[Tag, Query(description="categories or business partners")] = Tag.CATEGORIES,
    level: Annotated[Level, Query(alias="catLevel", description="subcategories or main categories")] = Level.SUB,
    exclude_savings: Annotated[Flag, Query(alias="excludeSavings", description="without savings and investments")] = False,
    as_of: AsOf = None,
) -> Response:
    """What came in and went out by tag and time, and what is to be expected in the current and the next items."""
    by = level.value if tag is Tag.CATEGORIES else Level.SUB.value
    view = CashflowView(focus.value, tag.value, by, exclude_savings=exclude_savings)
    return await _answer(request, held, caller, CASHFLOW, as_of, view)


@routes.get("/disposable-money", response_model=DisposableMoneyBody | Nothing, responses=STATUSES)
async def get_disposable_money(request: Request, caller: Reads, held: Held, as_of: AsOf = None) -> Response:
    """What is left of the latest salary until the next one; an empty object where no salary comes."""
    return await _answer(request, held, caller, "disposable-money", as_of)


@routes.get("/life-events", response_model=list[LifeEventBody], responses=STATUSES)
async def list_life_events(request: Request, caller: Reads, held: Held, as_of: AsOf = None) -> Response:
    """What has changed in career, housing, family and finances."""
    return await _answer(request, held, caller, "life-events", as_of)


@routes.get("/life/stages", response_model=list[LifeStageBody], responses=STATUSES)
async def list_life_stages(request: Request, caller: Reads, held: Held, as_of: AsOf = None) -> Response:
    """How the customer earns, lives and saves, and how old the youngest child is."""
    return await _answer(request, held, caller, "life-stages", as_of)


@routes.get("/sales-triggers", response_model=list[SalesTriggerBody], responses=STATUSES)
async def list_sales_triggers(request: Request, caller: Reads, held: Held, as_of: AsOf = None) -> Response:
    """Occasions to talk with the customer."""
    return await _answer(request, held, caller, "sales-triggers", as_of)


@routes.get("/affordability", response_model=AffordabilityBody | Nothing, responses=STATUSES)
async def get_affordability(request: Request, caller: Reads, held: Held, as_of: AsOf = None) -> Response:
    """Income and expenses by need and regularity, what is left, and signs of risk; an empty object where less than three full
    months are known.
    """
    return await _answer(request, held, caller, "affordability", as_of)


async def _answer(
    request: Request, held: Services, caller: Caller, name: str, as_of: date | None, view: CashflowView | None = None
) -> Response:
    """An analysis of the caller's current state, or of an earlier day."""
    if as_of is not None and as_of > datetime.now(held.settings.zone).date():
        raise Problem(400, "asOf: liegt in der Zukunft")
    state = _state(held, caller, as_of)
    etag = f'"{state}"'
    if has_etag(request, etag):
        return Response(status_code=304, headers={"ETag": etag, **VARY})
    user_id, key = user_of(caller), name if view is None else f"{name}-{view}"
    kept = held.shelf.find(user_id, key, state)
    if kept is None:
        async with held.analyses.of(user_id):  # who asks for several at once has them made once
            kept = held.shelf.find(user_id, key, state) or await _made(held, caller, name, state, view)
    return await _sent(request, kept)


async def _sent(request: Request, kept: CachedResponse) -> Response:
    """The answer as the caller takes it. Packed, it has other bytes, so that its name is only a weak one."""
    headers = {**VARY, **freshness(kept.state.revision, precomputed=kept.precomputed)}
    if len(kept.body) < LEAST_ZIPPED or not takes_gzip(request):
        return Response(kept.body, headers={"ETag": f'"{kept.state}"', **headers}, media_type=JSON)
    if kept.to_be_zipped:
        await asyncio.to_thread(lambda: kept.zipped)
    packed = {"ETag": f'W/"{kept.state}"', "Content-Encoding": "gzip", **headers}
    return Response(kept.zipped, headers=packed, media_type=JSON)


def _state(held: Services, caller: Caller, as_of: date | None) -> ResultState:
    """What an answer is to be made from. A day that has not been heard of yet is the latest one."""
    revision, latest = caller.state or (0, None)
    day = latest if as_of is None or latest is None else min(as_of, latest)
    return ResultState(revision, day, live.version(held.settings.base_url))


async def _made(held: Services, caller: Caller, name: str, state: ResultState, view: CashflowView | None) -> CachedResponse:
    """The answer as it lies ready, or else made now with all others, which are kept for who asks for them next."""
    user_id = user_of(caller)
    if state.as_of is None:
        return CachedResponse(state, EMPTY_DOCUMENTS[name], precomputed=False)
    usual = view is None or view == CashflowView()
    source = name if usual else FLOWS
    found = held.shelf.find(user_id, source, state) or await _ready(held, caller, source, state)
    if found is None:
        made = await held.tagging.run(_live, held, caller, state)
        for other, body in made.contents.items():
            held.shelf.put(user_id, other, CachedResponse(made.state, body, precomputed=False))
        found = CachedResponse(made.state, made.contents[source], precomputed=False)
    if not usual and view is not None:
        body = await held.tagging.run(
            live.make_cashflow_view, found.body, str(user_id), state.as_of, held.settings.base_url, view
        )
        found = CachedResponse(found.state, body, found.precomputed)
    held.shelf.put(user_id, name if view is None else f"{name}-{view}", found)
    return found


async def _ready(held: Services, caller: Caller, name: str, state: ResultState) -> CachedResponse | None:
    """What lies ready of this state."""
    row = await held.connections.one(results.READY, (user_of(caller), name, state.revision, state.version, state.as_of))
    return None if row is None else CachedResponse(state, unpack(row[0]), precomputed=True)


def _live(held: Services, caller: Caller, state: ResultState) -> UserDocuments:
    """All analyses, made now."""
    with reading_for(held, caller) as owner:
        return live.make_documents(owner, held.settings.base_url, state.as_of)
