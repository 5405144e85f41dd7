"""The redirect form: the entrance, the page of a session, and what is sent from it. Every change ends with a way to that page, so
that going back and loading again are safe.

A browser shows its secret in a cookie; forms carry a token made from it, and the turn they were made for.
"""

import asyncio
import hmac
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Query, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from api.http.responses import answer
from api.http.route import StrictRequest, has_etag, router
from api.services import Held, Services
from api.webform import changes, colours, flicker, pages, render, views
from api.webform.changes import Answer, Fetches
from api.webform.pages import FormPage, PageFrame
from api.webform.views import SEALED
from pipelines.banks.base import EnterTan
from pipelines.forms import moves, wizard
from pipelines.forms.moves import FormContext, InvalidInput
from pipelines.forms.wizard import FormStep, Reentry
from warehouse.errors import NotFound, OutOfTurn
from warehouse.stores import designs, redirect_sessions
from warehouse.stores.redirect_sessions import SessionView

FORM = moves.FORM
COOKIE = "__Host-kontor-form"
STOPPED = "/customer/v2/webform/stopped"
PATIENCE_SECONDS = 15
"""How long a browser waits for the bank before it is shown that we wait."""
KEPT_LONG = "public, max-age=31536000, immutable"
PICTURE_POLICY = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"}
routes = router("/customer/v2/webform", "Form")
Text = Annotated[str | None, Query(max_length=2048)]
OF_BROWSERS: dict[str, Any] = {"include_in_schema": False, "openapi_extra": {"security": []}}
"""Pages for people are no part of the interface, and need no token."""


@routes.get("", response_class=HTMLResponse, **OF_BROWSERS)
async def enter_form(
    request: Request,
    held: Held,
    session: Text = None,
    use_case: Annotated[str | None, Query(alias="useCase", max_length=64)] = None,
    callback_url: Annotated[str | None, Query(alias="callbackUrl", max_length=2048)] = None,
) -> Response:
    """The entrance: makes the browser the session's own, and leads on to an address without secrets."""
    entered = await held.changes.insist(changes.enter, held, session or "", request.cookies.get(COOKIE), use_case, callback_url)
    if entered is None:
        return RedirectResponse(STOPPED, 303)  # to an address that does not keep the session's name
    browser, stop = entered
    if stop is not None:
        return RedirectResponse(f"{STOPPED}?baReentry={stop}", 303)
    sight = await redirect_sessions.read_view(held.connections, browser)
    if sight is not None:
        await _wait(held, await held.changes.insist(changes.begin_by_itself, held, _visit(held, request, sight), sight))
    response = RedirectResponse(FORM, 303)
    response.set_cookie(COOKIE, browser, path="/", secure=True, httponly=True, samesite="lax")
    return response


@routes.get("/form", response_class=HTMLResponse, **OF_BROWSERS)
async def show_form(request: Request, held: Held, q: Text = None, lang: Text = None) -> Response:
    """The page of the browser's session."""
    sight = await _sight(request, held)
    if sight is None:
        return _stop("expired", views.language_of(None, lang))
    if lang in ("de", "en"):
        await held.changes.insist(changes.speak, held, sight, lang)
        return RedirectResponse(FORM + (f"?{urlencode({'q': q})}" if q else ""), 303)
    known = views.facts(sight)
    if set(request.query_params) - {"q"}:  # a bank's own page has sent the customer back, with words of its own
        if wizard.place(known) is FormStep.BANK_PAGE:
            await held.changes.insist(changes.come_back, held, sight)
        return RedirectResponse(FORM, 303)
    if wizard.place(known) is FormStep.FAILURE:
        await held.changes.insist(changes.heed, held, sight)
        return RedirectResponse(FORM, 303)
    return await _page(request, held, sight, query=q)


@routes.post("/form", response_class=HTMLResponse, **OF_BROWSERS)
async def send_form(request: Request, held: Held) -> Response:
    """A move of the customer. One that was made before, or does not belong here, changes nothing."""
    sight = await _sight(request, held)
    if sight is None:
        return _stop("expired")
    fields = await StrictRequest(request.scope, request.receive).fields()
    if not hmac.compare_digest(fields.get("token", "").encode(), _token(_token_holder(request)).encode()):
        return _stop("expired", views.language_of(sight))
    visit = _visit(held, request, sight)
    turn = int(fields["turn"]) if fields.get("turn", "").isascii() and fields.get("turn", "").isdigit() else -1
    try:
        await _wait(held, await held.changes.insist(changes.move, held, visit, sight, turn, fields))
    except InvalidInput as unfit:
        await held.changes.insist(changes.remember, held, sight, unfit, fields)
    except NotFound:  # what it is about is gone: the access, the account, the bank's offer
        await held.changes.insist(changes.give_up, held, sight)
    except OutOfTurn:
        pass  # the dialogue has gone on by itself
    return RedirectResponse(FORM, 303)


@routes.get("/state", **OF_BROWSERS)
async def tell_state(request: Request, held: Held) -> Response:
    """Where the browser's session is: for the script of a page that waits."""
    sight = await _sight(request, held)
    if sight is None:
        return answer(held, {"turn": -1, "place": "stopped"})
    return answer(held, {"turn": sight.turn, "place": views.template(views.facts(sight))})


@routes.get("/stopped", response_class=HTMLResponse, **OF_BROWSERS)
async def show_stop(
    reentry: Annotated[str | None, Query(alias="baReentry", max_length=64)] = None, lang: Text = None
) -> Response:
    """Why a way ends here. Only words of ours are shown."""
    text = {Reentry.NO_CALLBACK_URL: "no_callback", Reentry.INVALID_CALLBACK_URL: "invalid_callback"}.get(
        Reentry(reentry) if reentry in set(Reentry) else Reentry.ERROR, "expired"
    )
    return _stop(text, views.language_of(None, lang), reentry if text != "expired" else None, status=400)


@routes.get("/static/{name}", **OF_BROWSERS)
async def get_asset(request: Request, name: str) -> Response:
    """A style sheet, script or icon of the form."""
    found = render.asset(name)
    if found is None:
        raise NotFound("file")
    headers = {"ETag": found.etag, "Cache-Control": KEPT_LONG}
    if has_etag(request, found.etag):
        return Response(status_code=304, headers=headers)
    return Response(found.content, media_type=found.media_type, headers=headers)


@routes.get("/design.css", **OF_BROWSERS)
async def get_design(request: Request, held: Held) -> Response:
    """The tenant's colours."""
    sight = await _sight(request, held)
    return Response(colours.stylesheet(sight.design.get("colour") if sight else None), media_type="text/css; charset=utf-8")


@routes.get("/logo", **OF_BROWSERS)
async def get_tenant_logo(request: Request, held: Held) -> Response:
    """The tenant's logo."""
    sight = await _sight(request, held)
    design = await held.changes.run(_design, held, sight) if sight is not None and sight.has_logo else None
    if design is None or design.logo is None:
        raise NotFound("logo")
    return Response(design.logo, media_type=design.logo_type, headers=PICTURE_POLICY)


@routes.get("/flicker.svg", **OF_BROWSERS)
async def get_flicker(request: Request, held: Held) -> Response:
    """The flickering picture that a TAN generator reads."""
    step = await _tan_step(request, held)
    if step is None or step.hhduc is None or not flicker.is_code(step.hhduc):
        raise NotFound("picture")
    return Response(flicker.svg(step.hhduc), media_type="image/svg+xml", headers=PICTURE_POLICY)


@routes.get("/photo.png", **OF_BROWSERS)
async def get_photo(request: Request, held: Held) -> Response:
    """The picture that a reader photographs."""
    step = await _tan_step(request, held)
    if step is None or step.photo is None:
        raise NotFound("picture")
    return Response(step.photo, media_type="image/png", headers=PICTURE_POLICY)


async def _wait(held: Services, waits: Answer | Fetches | None) -> None:
    """Waits a while for the bank's answer, or for the first data of a new access."""
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE_SECONDS):
            if isinstance(waits, dict):
                await held.arrivals.wait(waits)
            elif waits is not None:
                await held.arrivals.wait_for_answer(*waits)


async def _page(request: Request, held: Services, sight: SessionView, query: str | None = None) -> Response:
    """The page that shows where the customer is."""
    known = views.facts(sight)
    here = wizard.place(known)
    if here is FormStep.END:
        return render.page_response(views.end_frame(sight), views.ending(sight))
    if here in SEALED:
        page = await held.changes.run(_sealed_page, held, sight, known, query)
    else:
        page = views.plain_page(sight, known)
    return render.page_response(views.frame(sight, known, _token(_token_holder(request))), page)


def _sealed_page(held: Services, sight: SessionView, known: wizard.FormFacts, query: str | None) -> FormPage:
    with held.database.reading_for(sight.tenant_id, sight.user_id) as owner:
        return views.sealed_page(held, owner, sight, known, query)


def _design(held: Services, sight: SessionView) -> Any:
    with held.database.acting_for(sight.tenant_id) as owner:
        return designs.find(owner)


async def _tan_step(request: Request, held: Services) -> EnterTan | None:
    sight = await _sight(request, held)
    step = views.facts(sight).step if sight is not None else None
    return step if isinstance(step, EnterTan) else None


async def _sight(request: Request, held: Services) -> SessionView | None:
    browser = _token_holder(request)
    return await redirect_sessions.read_view(held.connections, browser) if browser else None


def _visit(held: Services, request: Request, sight: SessionView) -> FormContext:
    return FormContext(
        held.vault,
        held.settings,
        held.connectors,
        sight.progress.get("ip") or (request.client.host if request.client else None),
        datetime.now(UTC).astimezone(held.settings.zone).date(),
        views.terms_hash(sight),
    )


def _token_holder(request: Request) -> str:
    return request.cookies.get(COOKIE, "")


def _token(browser: str) -> str:
    """What a form must carry: only who was sent the page knows it."""
    return hmac.new(browser.encode(), b"form", sha256).hexdigest()


def _stop(text: str, language: Any = "de", reentry: str | None = None, status: int = 400) -> Response:
    return render.page_response(PageFrame(language), pages.Stopped(text, reentry), status=status)
