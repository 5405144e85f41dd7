"""The routes of the login: the page, the check of the password, and the end."""

import structlog
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from api.dagster_proxy import credentials, pages, rules
from api.dagster_proxy.bodies import read_body
from api.dagster_proxy.callers import ProxyServices, is_logged_in, services_of, session_cookie
from api.dagster_proxy.guard import refused
from warehouse.secrets import hashing

MAX_FORM_BYTES = 8192
MAX_WAITING_LOGINS = 20
LOGGED_OUT_HEADERS = {"Clear-Site-Data": '"cache", "storage"'}
"""What Dagster's pages keep in the browser goes with the login. Not all cookies: those of other ports would go too."""


async def show_login(request: Request) -> Response:
    """The page to log in; for somebody who is logged in, the page to log out."""
    services = services_of(request)
    if is_logged_in(services, request):
        return pages.inside_page()
    if credentials.password_hash(services.home) is None:
        return pages.unset_page()
    return pages.form_page(pages.local_path(request.query_params.get("next", "/")))


async def log_in(request: Request) -> Response:
    """Checks the password, one at a time; a wrong one returns to the form."""
    services = services_of(request)
    if not rules.has_origin(request):
        return refused(request, rules.NO_ORIGIN)
    body = await read_body(request, MAX_FORM_BYTES, services.settings.body_timeout_seconds)
    if isinstance(body, rules.Refusal):
        return refused(request, body)
    form = pages.form_values(body)
    destination = pages.local_path(form.get("next", "/"))
    if services.waiting_logins >= MAX_WAITING_LOGINS:
        return _too_many(destination, 1)
    services.waiting_logins += 1
    try:
        async with services.password_check:
            return await _check(services, request, form.get("password", ""), destination)
    finally:
        services.waiting_logins -= 1


async def log_out(request: Request) -> Response:
    """Ends the login of this browser."""
    services = services_of(request)
    if not rules.has_origin(request):
        return refused(request, rules.NO_ORIGIN)
    services.sessions.close(session_cookie(services, request))
    response = RedirectResponse(pages.LOGIN, 303, LOGGED_OUT_HEADERS)
    response.delete_cookie(services.cookie_name(request), secure=services.is_https(request), httponly=True, samesite="strict")
    return response


async def _check(services: ProxyServices, request: Request, password: str, destination: str) -> Response:
    wait_seconds = services.attempts.wait_seconds(services.clock())
    if wait_seconds:
        return _too_many(destination, wait_seconds)
    password_hash = credentials.password_hash(services.home)
    if password_hash is None:
        return pages.unset_page()
    is_right, new_hash = await run_in_threadpool(hashing.check_password, password, password_hash)
    structlog.get_logger().info("dagster_login", accepted=is_right)
    if not is_right:
        services.attempts.fail(services.clock())
        return pages.form_page(destination, "This password is wrong.", 401)
    if new_hash is not None:
        credentials.store_hash(services.home, new_hash)
    response = RedirectResponse(destination, 303)
    response.set_cookie(
        services.cookie_name(request),
        services.sessions.open(new_hash or password_hash, services.clock()),
        max_age=services.settings.dagster_session_seconds,
        secure=services.is_https(request),
        httponly=True,
        samesite="strict",
    )
    return response


def _too_many(destination: str, wait_seconds: int) -> Response:
    response = pages.form_page(destination, f"Too many wrong passwords. Try again in {wait_seconds} seconds.", 429)
    response.headers["Retry-After"] = str(wait_seconds)
    return response
