"""Routes of a user's analyses: precomputed documents, or documents computed now if those are out of date."""

from dataclasses import replace
from datetime import date, datetime
from enum import StrEnum
from hashlib import sha256
from typing import Annotated, Any

from fastapi import Query, Request
from pydantic import StringConstraints
from starlette.responses import Response

from api.bodies.cashflow_windows import MAX_NAME_CHARACTERS, MAX_TAGS, Granularity, tags_of, window_of
from api.customer import Reads, reading_for, user_of
from api.http.errors import wrong
from api.http.mistakes import IN_FUTURE
from api.http.negotiation import current_language
from api.http.response_cache import MIN_GZIP_BYTES, CachedResponse
from api.http.responses import freshness, language_etag
from api.http.route import JSON, has_etag, router, takes_gzip
from api.schemas.analyses import (
    AffordabilityBody,
    CashflowBody,
    ContractBody,
    CreditRiskBody,
    DisposableMoneyBody,
    LifeEventBody,
    LifeStageBody,
    Nothing,
    SalesTriggerBody,
)
from api.schemas.base import Flag, Line, QueryDay
from api.services import AppServices, Services
from models.credit_risk.calibration import Calibration
from pipelines.results import live
from pipelines.results.calibration import calibration_in_use, with_probability
from pipelines.results.documents.cashflow import DOCUMENT as CASHFLOW
from pipelines.results.documents.cashflow import CashflowView
from pipelines.results.documents.credit_risk import DOCUMENT as CREDIT_RISK
from pipelines.results.english import english_document
from pipelines.results.live import FLOWS, ResultState, empty_documents
from warehouse.lake.packing import unpack
from warehouse.stores import results
from warehouse.stores.callers import Caller

routes = router("/customer/v2/ai", "Analyses")
STATUSES: dict[int | str, dict[str, Any]] = {304: {"description": "Nothing has changed."}, 429: {}}
VARY = {"Vary": "Accept-Encoding"}
MAX_INLINE_BYTES = 32_768
"""A document of this length is translated in a millisecond."""
AsOf = Annotated[
    QueryDay | None,
    Query(alias="asOf", description="as it would have been with the bookings until this day", examples=["2026-10-31"]),
]
FirstDay = Annotated[
    QueryDay | None, Query(alias="from", description="from the week or month of this day", examples=["2026-01-01"])
]
LastDay = Annotated[
    QueryDay | None, Query(alias="to", description="until the week or month of this day", examples=["2026-12-31"])
]
TagNames = Annotated[Line, StringConstraints(min_length=1, max_length=MAX_TAGS * (MAX_NAME_CHARACTERS + 1))]


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
    services: AppServices,
    insurance_only: Annotated[Flag, Query(alias="insuranceOnly", description="only insurance contracts")] = False,
    extended: Annotated[Flag, Query(alias="insuranceOnlyExtended", description="only insurances and home savings")] = False,
    as_of: AsOf = None,
) -> Response:
    """Regular payments, with period, amounts, next date and status. `insuranceOnlyExtended` includes `insuranceOnly`."""
    name = "contracts-insurance-extended" if extended else "contracts-insurance" if insurance_only else "contracts"
    return await _respond(request, services, caller, name, as_of)


@routes.get("/cashflow", response_model=list[CashflowBody], responses=STATUSES)
async def list_cashflow(
    request: Request,
    caller: Reads,
    services: AppServices,
    focus: Annotated[Focus, Query(description="what the outer level is not: `time` lists times for each tag")] = Focus.TIME,
    tag: Annotated[Tag, Query(description="categories or business partners")] = Tag.CATEGORIES,
    level: Annotated[Level, Query(alias="catLevel", description="subcategories or main categories")] = Level.SUB,
    exclude_savings: Annotated[Flag, Query(alias="excludeSavings", description="without savings and investments")] = False,
    first: FirstDay = None,
    last: LastDay = None,
    granularity: Annotated[Granularity | None, Query(description="only time items of this length")] = None,
    tags: Annotated[
        TagNames | None,
        Query(
            description=f"up to {MAX_TAGS} system names of the tag tree, separated by commas; a main category stands for all its "
            "subcategories",
            examples=["LIVING,INCOME_SALARY"],
        ),
    ] = None,
    as_of: AsOf = None,
) -> Response:
    """What came in and went out by tag and time, and what is to be expected in the current and the next items.

    `from`, `to`, `granularity` and `tags` choose a part of it. Sums are known by week and month: days are widened to these, and
    quarters, years and the total are then the sums of the months between them. Predictions are always those of whole items.
    """
    category_level = level if tag is Tag.CATEGORIES else Level.SUB
    chosen_tags = None if tags is None else await services.in_thread(tags_of, tags, tag.value, category_level.value)
    window = window_of(first, last, granularity, chosen_tags)
    view = CashflowView(focus.value, tag.value, category_level.value, exclude_savings=exclude_savings, window=window)
    return await _respond(request, services, caller, CASHFLOW, as_of, view)


@routes.get("/disposable-money", response_model=DisposableMoneyBody | Nothing, responses=STATUSES)
async def get_disposable_money(request: Request, caller: Reads, services: AppServices, as_of: AsOf = None) -> Response:
    """What is left of the latest salary until the next one; an empty object where no salary comes."""
    return await _respond(request, services, caller, "disposable-money", as_of)


@routes.get("/life-events", response_model=list[LifeEventBody], responses=STATUSES)
async def list_life_events(request: Request, caller: Reads, services: AppServices, as_of: AsOf = None) -> Response:
    """What has changed in career, housing, family and finances."""
    return await _respond(request, services, caller, "life-events", as_of)


@routes.get("/life/stages", response_model=list[LifeStageBody], responses=STATUSES)
async def list_life_stages(request: Request, caller: Reads, services: AppServices, as_of: AsOf = None) -> Response:
    """How the customer earns, lives and saves, and how old the youngest child is."""
    return await _respond(request, services, caller, "life-stages", as_of)


@routes.get("/sales-triggers", response_model=list[SalesTriggerBody], responses=STATUSES)
async def list_sales_triggers(request: Request, caller: Reads, services: AppServices, as_of: AsOf = None) -> Response:
    """Occasions to talk with the customer."""
    return await _respond(request, services, caller, "sales-triggers", as_of)


@routes.get("/affordability", response_model=AffordabilityBody | Nothing, responses=STATUSES)
async def get_affordability(request: Request, caller: Reads, services: AppServices, as_of: AsOf = None) -> Response:
    """Income and expenses by need and regularity, what is left, and signs of risk; an empty object where less than three full
    months are known.
    """
    return await _respond(request, services, caller, "affordability", as_of)


@routes.get("/credit-risk", response_model=CreditRiskBody | Nothing, responses=STATUSES)
async def get_credit_risk(request: Request, caller: Reads, services: AppServices, as_of: AsOf = None) -> Response:
    """A class from A to E and a score by a scorecard, with every signal, stress values and the highest affordable instalment; an
    empty object where less than three full months are known. It is no probability of default: that is in `calibration`, once
    the tenant has calibrated the scorecard with outcomes of its own.
    """
    calibration = calibration_in_use(services.settings.home, caller.tenant_id)
    return await _respond(request, services, caller, CREDIT_RISK, as_of, calibration=calibration)


async def _respond(
    request: Request,
    services: Services,
    caller: Caller,
    name: str,
    as_of: date | None,
    view: CashflowView | None = None,
    calibration: Calibration | None = None,
) -> Response:
    """The response with an analysis of the caller's current state, or of an earlier day."""
    if as_of is not None and as_of > datetime.now(services.zone).date():
        raise wrong("asOf", IN_FUTURE, "query")
    state, language = _state(services, caller, as_of), current_language()
    calibrated = f"-{calibration.version}" if calibration else ""
    etag = language_etag(f"{state}{calibrated}", language)
    if has_etag(request, etag):
        return Response(status_code=304, headers={"ETag": etag, **VARY})
    german_key = _cache_key(name, view) + calibrated
    user_id, key = user_of(caller), german_key if language == "de" else f"{german_key}-{language}"
    cached = services.response_cache.find(user_id, key, state)
    if cached is not None and not cached.precomputed and await _is_published(services, caller, state):
        cached = replace(cached, precomputed=True)  # the same bytes: only where they come from is told anew
        services.response_cache.put(user_id, key, cached)
    if cached is None:
        async with services.analyses.of(user_id):  # parallel requests of one user compute the analyses once
            cached = services.response_cache.find(user_id, german_key, state) or await _load(services, caller, name, state, view)
        if calibration is not None:
            cached = CachedResponse(cached.state, with_probability(cached.body, calibration), cached.precomputed)
            services.response_cache.put(user_id, german_key, cached)
        if language == "en":
            cached = CachedResponse(cached.state, await _english(services, caller, cached.body), cached.precomputed)
            services.response_cache.put(user_id, key, cached)
    etag = language_etag(f"{cached.state}{calibrated}", language)
    headers = {**VARY, **freshness(cached.state.revision, cached.state.version, precomputed=cached.precomputed)}
    if len(cached.body) < MIN_GZIP_BYTES or not takes_gzip(request):
        return Response(cached.body, headers={"ETag": etag, **headers}, media_type=JSON)
    if cached.gzip_body is None:
        cached = await services.in_thread(cached.with_gzip)
        services.response_cache.put(user_id, key, cached)
    # The compressed bytes differ from the body, so that their ETag is a weak one.
    headers = {"ETag": f"W/{etag}", "Content-Encoding": "gzip", **headers}
    return Response(cached.gzip_body, headers=headers, media_type=JSON)


async def _english(services: Services, caller: Caller, body: bytes) -> bytes:
    """The document in English; a long one takes its turn among what is computed."""
    is_short = len(body) <= MAX_INLINE_BYTES
    return english_document(body) if is_short else await services.compute(caller, english_document, body)


def _state(services: Services, caller: Caller, as_of: date | None) -> ResultState:
    """The state that a response rests on. A day after the latest one with data counts as the latest."""
    revision, latest = caller.state or (0, None)
    day = latest if as_of is None or latest is None else min(as_of, latest)
    return ResultState(revision, day, live.version(services.settings.base_url, caller.tenant_id))


async def _load(services: Services, caller: Caller, name: str, state: ResultState, view: CashflowView | None) -> CachedResponse:
    """The precomputed response, or one computed now; what is written with it is cached too."""
    user_id, cache = user_of(caller), services.response_cache
    if state.as_of is None:
        return CachedResponse(state, empty_documents()[name], precomputed=False)
    is_default = view is None or view == CashflowView()
    source = name if is_default else FLOWS
    response = cache.find(user_id, source, state)
    if response is None and services.recent_documents.find(user_id, state) is None:
        response = await _precomputed(services, caller, source, state)
    if response is None:
        new_state, bodies = await services.compute(caller, _compute, services, caller, state, name, None if is_default else view)
        responses = {other: CachedResponse(new_state, body, precomputed=False) for other, body in bodies.items()}
        for other in responses if is_default else ():
            cache.put(user_id, other, responses[other])
        response = responses[name]
    elif not is_default and view is not None:
        body = await services.compute(
            caller, live.make_cashflow_view, response.body, str(user_id), state.as_of, services.settings.base_url, view
        )
        response = CachedResponse(response.state, body, response.precomputed)
    cache.put(user_id, _cache_key(name, view), response)
    return response


def _cache_key(name: str, view: CashflowView | None) -> str:
    """The name of a response in the cache. It is short for every view, since a view can have many tags."""
    return name if view is None else f"{name}-{sha256(repr(view).encode()).hexdigest()}"


async def _precomputed(services: Services, caller: Caller, name: str, state: ResultState) -> CachedResponse | None:
    """The stored document of this state, if there is one."""
    async with services.list_turns.hold(caller.tenant_id, caller.user_id):
        row = await services.connections.one(results.READY, (user_of(caller), name, state.revision, state.version, state.as_of))
        return None if row is None else CachedResponse(state, unpack(row[0]), precomputed=True)


async def _is_published(services: Services, caller: Caller, state: ResultState) -> bool:
    """Whether the documents of this state lie ready by now. All of a user are published together."""
    values = (user_of(caller), live.NAMES[0], state.revision, state.version, state.as_of)
    return state.as_of is not None and await services.connections.one(results.IS_READY, values) is not None


def _compute(
    services: Services, caller: Caller, state: ResultState, name: str, view: CashflowView | None
) -> tuple[ResultState, dict[str, bytes]]:
    """The document of this name and those that are written with it, or a view of the cashflow, computed now; and their state."""
    user_id, base_url = user_of(caller), services.settings.base_url
    documents = services.recent_documents.find(user_id, state)
    if documents is None:
        with reading_for(services, caller) as owner:
            documents = live.make_documents(owner, base_url, state.as_of, services.recent_tags)
        services.recent_documents.put(user_id, documents)
    if view is None:
        return documents.state, documents.written_with(name)
    return documents.state, {name: documents.cashflow(view)}
