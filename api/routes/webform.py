"""Routes of the redirect form: the entrance, the page of a session, and the moves sent from it.

Every change ends with a redirect to that page, so that going back and reloading are safe. A browser proves itself with a secret
in a cookie; forms carry a token derived from it, and the turn that they were made for.
"""

import asyncio
import hmac
import re
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Query, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from api.http.asker import set_asker
from api.http.multipart import boundary_of, read_form
from api.http.negotiation import language_of
from api.http.responses import SVG, json_response
from api.http.route import UPLOAD, StrictRequest, router
from api.schemas.statement_files import FILE_FIELD
from api.services import AppServices, Services
from api.webform import changes, colours, flicker, pages, render, views
from api.webform.changes import BankCall, Entrance, Fetches
from api.webform.pages import FormPage, PageFrame
from api.webform.views import SEALED
from pipelines.banks.base import EnterTan
from pipelines.fetching.statement_files import StatementFileFault, read_statement_files
from pipelines.forms import moves, wizard
from pipelines.forms.moves import FormContext, InvalidInput
from pipelines.forms.wizard import FormStep, Reentry
from warehouse.errors import AccessDiffers, NotFound, OutOfTurn, TooMany
from warehouse.inputs import logos
from warehouse.stores import designs, redirect_sessions
from warehouse.stores.redirect_sessions import EndedSession, SessionView

FORM = moves.FORM
COOKIE = "__Host-kontor-form"
STOPPED = "/customer/v2/webform/stopped"
MAX_WAIT_SECONDS = 15
TURN = re.compile("[0-9]{1,9}")
"""How long a request waits for the bank before the browser gets a waiting page."""
PICTURE_POLICY = {
    "Content-Security-Policy": ("default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'; sandbox")
}
routes = router("/customer/v2/webform", "Form")
Text = Annotated[str | None, Query(max_length=2048)]
BROWSER_ROUTE: dict[str, Any] = {"include_in_schema": False, "openapi_extra": {"security": []}}
"""Web pages are not part of the interface, and need no token."""


@routes.get("", response_class=HTMLResponse, **BROWSER_ROUTE)
async def enter_form(
    request: Request,
    services: AppServices,
    session: Text = None,
    use_case: Annotated[str | None, Query(alias="useCase", max_length=64)] = None,
    callback_url: Annotated[str | None, Query(alias="callbackUrl", max_length=2048)] = None,
    opener: Text = None,
) -> Response:
    """The entrance: binds the session to the browser, and redirects to an address without secrets."""
    cookie = request.cookies.get(COOKIE)
    entrance = Entrance(use_case, callback_url, opener, language_of(request.scope["headers"]))
    entry = await services.changes.insist(changes.enter, services, session or "", cookie, entrance)
    if entry is None:
        return RedirectResponse(STOPPED, 303)  # an address without the name of the session
    browser, stop = entry
    if stop is not None:
        return RedirectResponse(f"{STOPPED}?baReentry={stop}", 303)
    view = await redirect_sessions.read_view(services.connections, browser)
    if view is not None:
        await _wait(
            services, await services.changes.insist(changes.begin_by_itself, services, _context(services, request, view), view)
        )
    response = RedirectResponse(FORM, 303)
    response.set_cookie(COOKIE, browser, path="/", secure=True, httponly=True, samesite="lax")
    return response


@routes.get("/form", response_class=HTMLResponse, **BROWSER_ROUTE)
async def show_form(request: Request, services: AppServices, q: Text = None, lang: Text = None) -> Response:
    """The page of the browser's session."""
    view = await _session_view(request, services)
    if view is None:
        return await _expired(request, services)
    if lang in ("de", "en"):
        await services.changes.insist(changes.speak, services, view, lang)
        return RedirectResponse(FORM + (f"?{urlencode({'q': q})}" if q else ""), 303)
    facts = views.facts_of(view)
    if set(request.query_params) - {"q"}:  # the bank's page has sent the customer back, with parameters of its own
        if wizard.place(facts) is FormStep.BANK_PAGE:
            await services.changes.insist(changes.come_back, services, view)
        return RedirectResponse(FORM, 303)
    if wizard.place(facts) is FormStep.FAILURE:
        await services.changes.insist(changes.handle_failure, services, view)
        return RedirectResponse(FORM, 303)
    return await _page(request, services, view, query=q)


@routes.post("/form", response_class=HTMLResponse, **BROWSER_ROUTE)
async def send_form(request: Request, services: AppServices) -> Response:
    """A move of the customer. A repeated or unexpected one changes nothing."""
    view = await _session_view(request, services)
    if view is None:
        return await _expired(request, services)
    fields = await StrictRequest(request.scope, request.receive).fields()
    if not hmac.compare_digest(fields.get("token", "").encode(), _token(_browser_secret(request)).encode()):
        return _stop("expired", views.language_of(view))
    context = _context(services, request, view)
    turn = int(fields["turn"]) if TURN.fullmatch(fields.get("turn", "")) else -1
    try:
        await _wait(services, await services.changes.insist(changes.move, services, context, view, turn, fields))
    except InvalidInput as error:
        await services.changes.insist(changes.remember, services, view, error, fields)
    except NotFound:  # the access, the account or the bank's offer no longer exists
        await services.changes.insist(changes.give_up, services, view)
    except OutOfTurn:
        pass  # the dialogue has moved on meanwhile
    return RedirectResponse(FORM, 303)


@routes.post("/upload", response_class=HTMLResponse, include_in_schema=False, openapi_extra={"security": [], UPLOAD: True})
async def upload_files(request: Request, services: AppServices) -> Response:
    """Statement files of the customer. Those that cannot be read change nothing, and the page says why."""
    view = await _session_view(request, services)
    if view is None:
        return await _expired(request, services)
    boundary = boundary_of(request.headers.get("content-type"))
    form = read_form(await StrictRequest(request.scope, request.receive).body(), boundary)
    if not hmac.compare_digest(form.fields.get("token", "").encode(), _token(_browser_secret(request)).encode()):
        return _stop("expired", views.language_of(view))
    context, now = _context(services, request, view), datetime.now(UTC)
    turn = int(form.fields["turn"]) if TURN.fullmatch(form.fields.get("turn", "")) else -1
    files = [(file.name, file.content) for file in form.files if file.field_name == FILE_FIELD and (file.name or file.content)]
    if not files:
        missing = InvalidInput("file_missing", {FILE_FIELD: "file_missing"})
        await services.changes.insist(changes.remember, services, view, missing, {})
        return RedirectResponse(FORM, 303)
    try:
        statements = await services.compute_for_asker(read_statement_files, files, context.today)
        await services.changes.insist(changes.upload, services, context, view, turn, statements, now)
    except StatementFileFault as fault:
        place = fault.reason.value + ("" if fault.line is None else f":{fault.line}")
        error = InvalidInput("file_unreadable", {FILE_FIELD: place})
        await services.changes.insist(changes.remember, services, view, error, {FILE_FIELD: fault.name})
    except (NotFound, AccessDiffers, TooMany):
        await services.changes.insist(changes.give_up, services, view)
    return RedirectResponse(FORM, 303)


@routes.post("/extend", **BROWSER_ROUTE)
async def extend_session(request: Request, services: AppServices) -> Response:
    """Gives the customer more time; says how many seconds there are now. For the script of a page."""
    view = await _session_view(request, services)
    fields = await StrictRequest(request.scope, request.receive).fields()
    if view is None or not hmac.compare_digest(fields.get("token", "").encode(), _token(_browser_secret(request)).encode()):
        return json_response(services.zone, {"seconds": 0})
    await services.changes.insist(changes.extend, services, view)
    extended_view = await _session_view(request, services)
    return json_response(services.zone, {"seconds": extended_view.seconds_left if extended_view else 0})


@routes.get("/state", **BROWSER_ROUTE)
async def get_state(request: Request, services: AppServices) -> Response:
    """The state of the browser's session, for the script of a waiting page."""
    view = await _session_view(request, services)
    if view is None:
        return json_response(services.zone, {"turn": -1, "place": "stopped"})
    state = {"turn": view.turn, "place": views.template(views.facts_of(view)), "seconds": view.seconds_left}
    return json_response(services.zone, state)


@routes.get("/stopped", response_class=HTMLResponse, **BROWSER_ROUTE)
async def show_stop(
    request: Request, reentry: Annotated[str | None, Query(alias="baReentry", max_length=64)] = None, lang: Text = None
) -> Response:
    """The page that explains why the form ends here."""
    text = {Reentry.NO_CALLBACK_URL: "no_callback", Reentry.INVALID_CALLBACK_URL: "invalid_callback"}.get(
        Reentry(reentry) if reentry in set(Reentry) else Reentry.ERROR, "expired"
    )
    language = views.language_of(None, lang or language_of(request.scope["headers"]))
    return _stop(text, language, reentry if text != "expired" else None, status=400)


@routes.get("/static/{name}", **BROWSER_ROUTE)
async def get_asset(request: Request, name: str) -> Response:
    """A style sheet, script or icon of the form."""
    asset = render.asset(name)
    if asset is None:
        raise NotFound("file")
    return render.asset_response(request, asset)


@routes.get("/design.css", **BROWSER_ROUTE)
async def get_design(request: Request, services: AppServices) -> Response:
    """The tenant's colours."""
    view = await _session_view(request, services) or await _ended_session(request, services)
    return Response(colours.stylesheet(view.design.get("colour") if view else None), media_type="text/css; charset=utf-8")


@routes.get("/logo", **BROWSER_ROUTE)
async def get_tenant_logo(request: Request, services: AppServices) -> Response:
    """The tenant's logo."""
    view = await _session_view(request, services) or await _ended_session(request, services)
    design = await services.changes.run(_design, services, view) if view is not None and view.has_logo else None
    if design is None or design.logo is None:
        raise NotFound("logo")
    media_type = SVG if design.logo_type == logos.SVG else design.logo_type
    return Response(design.logo, media_type=media_type, headers=PICTURE_POLICY)


@routes.get("/flicker.svg", **BROWSER_ROUTE)
async def get_flicker(request: Request, services: AppServices) -> Response:
    """The animated picture that a TAN generator reads."""
    step = await _tan_step(request, services)
    if step is None or step.hhduc is None or not flicker.is_code(step.hhduc):
        raise NotFound("picture")
    return Response(flicker.svg(step.hhduc), media_type=SVG, headers=PICTURE_POLICY)


@routes.get("/photo.png", **BROWSER_ROUTE)
async def get_photo(request: Request, services: AppServices) -> Response:
    """The picture for photoTAN."""
    step = await _tan_step(request, services)
    if step is None or step.photo is None:
        raise NotFound("picture")
    return Response(step.photo, media_type="image/png", headers=PICTURE_POLICY)


async def _wait(services: Services, pending: BankCall | Fetches | None) -> None:
    """Waits up to `MAX_WAIT_SECONDS` for the bank's answer, or for the first data of a new access."""
    with suppress(TimeoutError):
        async with asyncio.timeout(MAX_WAIT_SECONDS):
            if isinstance(pending, dict):
                await services.arrivals.wait(pending)
            elif pending is not None:
                await services.arrivals.wait_for_answer(*pending)


async def _page(request: Request, services: Services, view: SessionView, query: str | None = None) -> Response:
    """The page of the customer's current step."""
    facts = views.facts_of(view)
    step = wizard.place(facts)
    if step is FormStep.END:
        return render.page_response(views.end_frame(view), views.ending(view))
    if step in SEALED:
        page = await services.changes.run(_sealed_page, services, view, facts, query)
    else:
        page = views.plain_page(view, facts)
    return render.page_response(views.frame(view, facts, _token(_browser_secret(request))), page)


def _sealed_page(services: Services, view: SessionView, facts: wizard.FormFacts, query: str | None) -> FormPage:
    with services.database.reading_for(view.tenant_id, view.user_id) as owner:
        return views.sealed_page(services, owner, view, facts, query)


def _design(services: Services, view: SessionView | EndedSession) -> Any:
    with services.database.acting_for(view.tenant_id) as owner:
        return designs.find(owner)


async def _tan_step(request: Request, services: Services) -> EnterTan | None:
    view = await _session_view(request, services)
    step = views.facts_of(view).step if view is not None else None
    return step if isinstance(step, EnterTan) else None


async def _session_view(request: Request, services: Services) -> SessionView | None:
    browser = _browser_secret(request)
    view = await redirect_sessions.read_view(services.connections, browser) if browser else None
    if view is not None:
        set_asker(view.tenant_id, view.user_id)
    return view


async def _ended_session(request: Request, services: Services) -> EndedSession | None:
    """The session of the browser that has ended by itself, if it is still remembered."""
    browser = _browser_secret(request)
    return await redirect_sessions.read_ended(services.connections, browser) if browser else None


async def _expired(request: Request, services: Services) -> Response:
    """The page of a session that is over: the tenant's, with a way back, if it is still known whose it was."""
    session = await _ended_session(request, services)
    if session is not None:
        return render.page_response(*views.expired_page(session), status=400)
    return _stop("expired", language_of(request.scope["headers"]))


def _context(services: Services, request: Request, view: SessionView) -> FormContext:
    return FormContext(
        services.vault,
        services.settings,
        services.connectors,
        view.progress.get("ip") or (request.client.host if request.client else None),
        datetime.now(services.zone).date(),
        views.terms_hash(view),
    )


def _browser_secret(request: Request) -> str:
    return request.cookies.get(COOKIE, "")


def _token(browser: str) -> str:
    """The token of a form, known only to the browser that received the page."""
    return hmac.new(browser.encode(), b"form", sha256).hexdigest()


def _stop(text: str, language: Any = "de", reentry: str | None = None, status: int = 400) -> Response:
    return render.page_response(PageFrame(language), pages.Stopped(text, reentry), status=status)
