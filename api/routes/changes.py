"""The route of changes: what a client needs that keeps a copy of a customer's data."""

from hashlib import sha256
from typing import Annotated, Any

from fastapi import Query
from fastapi.routing import APIRoute
from starlette.responses import Response

from api.bodies.changes import changes_body
from api.customer import Reads, reading_for, user_of
from api.http.errors import wrong
from api.http.responses import json_response
from api.http.route import router
from api.routes import analyses
from api.schemas.accesses import ROOT
from api.schemas.base import Count
from api.schemas.changes import ChangesBody
from api.schemas.languages import Text
from api.services import AppServices, Services
from pipelines.results import live
from pipelines.results.calibration import calibration_in_use
from pipelines.results.live import ResultState
from warehouse.errors import Invalid
from warehouse.postgres.database import Owner
from warehouse.stores import changes, revisions
from warehouse.stores.callers import Caller
from warehouse.stores.changes import NO_STATE, SyncCursor

routes = router("/customer/v2", "Customer")
DEFAULT_ENTRIES, MAX_ENTRIES = 1000, 10_000
PREFIX = analyses.routes.prefix + "/"
ANALYSES = [route.path.removeprefix(PREFIX) for route in analyses.routes.routes if isinstance(route, APIRoute)]
TAGS = "tags"
BAD_CURSOR = Text("ist ungültig oder gehört zu einem anderen Benutzer", "is not valid, or belongs to another user")
STATUSES: dict[int | str, dict[str, Any]] = {304: {"description": "Nothing has changed."}, 410: {}, 429: {}}


@routes.get("/changes", response_model=ChangesBody, responses=STATUSES)
async def list_changes(
    caller: Reads,
    services: AppServices,
    cursor: Annotated[
        str | None,
        Query(min_length=1, max_length=256, description="of the last page; without one, everything from the beginning"),
    ] = None,
    limit: Annotated[
        Count,
        Query(
            ge=1,
            le=MAX_ENTRIES,
            json_schema_extra={"minimum": 1, "maximum": MAX_ENTRIES},
            description="at most so many objects and removals",
            examples=[100],
        ),
    ] = DEFAULT_ENTRIES,
) -> Response:
    """What has changed since a cursor: accesses, products and bookings that were added, changed and removed, and whether the
    analyses may have changed. Without a cursor it begins with everything there is.
    """
    user_id = user_of(caller)
    try:
        since = None if cursor is None else SyncCursor.decode(cursor, user_id)
    except Invalid as error:
        raise wrong("cursor", BAD_CURSOR, "query") from error
    async with services.lists.of(user_id):
        return await services.compute(caller, _respond, services, caller, since, limit)


def _respond(services: Services, caller: Caller, cursor: SyncCursor | None, limit: int) -> Response:
    """A page of changes, all of one moment."""
    with reading_for(services, caller) as owner:
        since = cursor or changes.first_cursor(owner)
        page = changes.read_page(owner, since, limit)
        state = _analyses_state(services, caller, owner)
    body: dict[str, Any] = {**changes_body(services.links, caller, page, since), "analyses": []}
    reached = page.cursor
    if not page.has_more:
        reached = SyncCursor(reached.phase, reached.base, reached.place, state)
        body["analyses"] = _analyses(services) if state != since.analyses else []
    body |= {"cursor": reached.encode(user_of(caller)), "hasMore": page.has_more}
    return json_response(services.zone, body)


def _analyses_state(services: Services, caller: Caller, owner: Owner) -> bytes:
    """A name for the state that tags and analyses are computed from; as long as it stays, so do their bytes."""
    revision, as_of = revisions.user_state(owner)
    state = ResultState(revision, as_of, live.version(services.settings.base_url, caller.tenant_id))
    calibration = calibration_in_use(services.settings.home, caller.tenant_id)
    return sha256(f"{state}-{calibration.version if calibration else ''}".encode()).digest()[: len(NO_STATE)]


def _analyses(services: Services) -> list[dict[str, str]]:
    """All analyses and the tags of bookings, with their addresses."""
    links = services.links
    tagged = {"name": TAGS, "href": f"{links.to(*ROOT, 'kontoumsaetze')}?tag=categories"}
    return [
        *({"name": path.replace("/", "-"), "href": links.to(*ROOT, "ai", *path.split("/"))} for path in ANALYSES),
        tagged,
    ]
