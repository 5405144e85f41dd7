"""The login, its end, and the own account with its password."""

import time

from fastapi import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from api.console import render
from api.console.pages import Block, ConsolePage, FactSheet, PlainCell, StateCell
from api.console.roles import OWN_ACCOUNT
from api.console.visits import (
    BROWSER_ROUTE,
    ENTRY_COOKIE,
    LOGIN,
    Visit,
    back_to,
    check_token,
    cookie_name,
    correlation_id,
    current_user,
    form_token,
    is_https,
    language_choice,
    local_path,
    page,
    refuse_foreign,
    routes,
    session_cookie,
    set_secret,
    with_language,
)
from api.http.errors import Problem
from api.http.route import StrictRequest
from api.schemas.languages import Text, say
from api.services import AppServices, Services
from warehouse import logins
from warehouse.errors import Invalid, LoginFailed, NotFound, PasswordCommon, PasswordHasName, PasswordTooShort, Throttled
from warehouse.logins import ConsoleCredentials
from warehouse.postgres import console_accounts
from warehouse.postgres.audit_log import Deed
from warehouse.postgres.console_accounts import ConsoleRole
from warehouse.secrets import hashing

ACCOUNT = f"{render.ROOT}/account"
MAX_PASSWORD_CHARACTERS = 1024
REFUSED = Text("Name, Passwort oder Code stimmen nicht.", "Name, password or code are wrong.")
TOO_MANY = Text(
    "Zu viele falsche Anmeldungen. Bitte in {seconds} Sekunden noch einmal.",
    "Too many wrong logins. Please try again in {seconds} seconds.",
)
ENDED = Text("Ihre Anmeldung ist beendet. Bitte melden Sie sich neu an.", "Your login has ended. Please log in again.")
LEFT = Text("Sie sind abgemeldet.", "You are logged out.")
WRONG_PASSWORD = Text("Das bisherige Passwort stimmt nicht.", "The current password is wrong.")
DIFFERENT = Text("Die beiden neuen Passwörter sind verschieden.", "The two new passwords differ.")
UNFIT: dict[type[Invalid], Text] = {
    PasswordTooShort: Text("Das neue Passwort hat weniger als 8 Zeichen.", "The new password has less than 8 characters."),
    PasswordCommon: Text("Das neue Passwort ist zu einfach.", "The new password is too common."),
    PasswordHasName: Text("Das neue Passwort besteht aus Ihrem Namen.", "The new password consists of your name."),
}
LOGGED_OUT_HEADERS = {"Clear-Site-Data": '"cache", "storage"'}


@routes.get("/login", response_class=HTMLResponse, name="console_show_login", **BROWSER_ROUTE)
async def show_login(request: Request, services: AppServices) -> Response:
    """The form to log in; for somebody who is logged in, the way to the console."""
    destination = local_path(request.query_params.get("next", ""))
    if await current_user(request, services) is not None:
        return RedirectResponse(destination, 303)
    notice = ENDED if "ended" in request.query_params else LEFT if "left" in request.query_params else None
    return _form(request, services, destination, notice=notice)


@routes.post("/login", response_class=HTMLResponse, name="console_log_in", **BROWSER_ROUTE)
async def log_in(request: Request, services: AppServices) -> Response:
    """Checks name, password and code; all failures look the same."""
    refuse_foreign(request)
    fields = await StrictRequest(request.scope, request.receive).fields()
    destination = local_path(fields.get("next", ""))
    try:
        check_token(fields, session_cookie(request, services.settings, ENTRY_COOKIE))
    except Problem:  # the page was open for long, or the browser takes no cookies
        return _form(request, services, destination, trouble=say(ENDED, language_choice(request)), status=403)
    credentials = ConsoleCredentials(
        fields.get("name", ""), fields.get("password", "")[:MAX_PASSWORD_CHARACTERS], fields.get("code", "")
    )
    try:
        cookie = await services.passwords.run(
            logins.open_console,
            services.database,
            services.vault,
            services.settings,
            credentials,
            time.time(),
            correlation_id(request),
        )
    except LoginFailed:
        trouble = say(REFUSED, language_choice(request))
        return _form(request, services, destination, name=credentials.name, trouble=trouble, status=401)
    except Throttled as error:
        trouble = say(TOO_MANY, language_choice(request), seconds=error.retry_after_seconds)
        response = _form(request, services, destination, name=credentials.name, trouble=trouble, status=429)
        response.headers["Retry-After"] = str(error.retry_after_seconds)
        return response
    response = set_secret(RedirectResponse(destination, 303), services.settings, cookie)
    response.delete_cookie(
        cookie_name(services.settings, ENTRY_COOKIE), secure=is_https(services.settings), httponly=True, samesite="strict"
    )
    return response


@page("/logout", OWN_ACCOUNT, "POST")
def log_out(visit: Visit) -> Response:
    """Ends the login of this browser."""
    settings = visit.services.settings
    with visit.services.database.operating() as operator:
        console_accounts.end_session(operator, hashing.digest(session_cookie(visit.request, settings)))
        visit.record(operator, Deed("logout", tenant_id=visit.user.tenant_id))
    response = RedirectResponse(f"{LOGIN}?left=1", 303, LOGGED_OUT_HEADERS)
    response.delete_cookie(cookie_name(settings), secure=is_https(settings), httponly=True, samesite="strict")
    return response


@page("/account", OWN_ACCOUNT)
def show_account(visit: Visit) -> Response:
    """The own account, and the form for a new password."""
    return _account_page(visit)


@page("/account/password", OWN_ACCOUNT, "POST")
async def change_password(visit: Visit) -> Response:
    """Changes the password, after checking the current one. Other logins of the account end."""
    fields, language = visit.form_fields, visit.language
    if fields.get("new_password") != fields.get("repeated_password"):
        return _account_page(visit, say(DIFFERENT, language))
    try:
        cookie = await visit.services.passwords.run(
            logins.change_console_password,
            visit.services.database,
            visit.services.settings,
            visit.user,
            fields.get("password", "")[:MAX_PASSWORD_CHARACTERS],
            fields.get("new_password", "")[:MAX_PASSWORD_CHARACTERS],
            visit.actor,
        )
    except LoginFailed:
        return _account_page(visit, say(WRONG_PASSWORD, language))
    except Throttled as error:
        return _account_page(visit, say(TOO_MANY, language, seconds=error.retry_after_seconds), 429)
    except Invalid as error:
        return _account_page(visit, say(UNFIT[type(error)], language))
    return set_secret(back_to(ACCOUNT, "password_changed"), visit.services.settings, cookie)


@routes.get("/static/{name}", name="console_get_asset", **BROWSER_ROUTE)
async def get_asset(request: Request, name: str) -> Response:
    """A style sheet of the console."""
    asset = render.asset(name)
    if asset is None:
        raise NotFound("file")
    return render.asset_response(request, asset)


def _account_page(visit: Visit, trouble: str | None = None, status: int = 400) -> Response:
    t, user = visit.t, visit.user
    roles = {
        ConsoleRole.OPERATOR: t("Betreiber", "operator"),
        ConsoleRole.TENANT: t("Verwaltung des Mandanten", "administrator of the tenant"),
    }
    second_factor = (
        StateCell(t("eingerichtet", "set up"), "good")
        if user.has_code
        else StateCell(t("nicht eingerichtet", "not set up"), "warn", f"kontor console code {user.name}")
    )
    facts = [
        (t("Name", "Name"), PlainCell(user.name)),
        (t("Rolle", "Role"), PlainCell(roles[user.role])),
        (t("Zweiter Faktor", "Second factor"), second_factor),
    ]
    if user.tenant_name:
        facts.insert(2, (t("Mandant", "Tenant"), PlainCell(user.tenant_name)))
    blocks: list[Block] = [FactSheet(t("Angaben", "Details"), facts)]
    content = ConsolePage(t("Mein Konto", "My account"), blocks, "account")
    token = form_token(session_cookie(visit.request, visit.services.settings))
    frame = visit.frame(token)
    return render.template_response(
        "account.html", frame, status if trouble else 200, page=content, trouble=trouble, notice=visit.notice()
    )


def _form(
    request: Request,
    services: Services,
    destination: str,
    *,
    name: str = "",
    trouble: str = "",
    notice: Text | None = None,
    status: int = 200,
) -> Response:
    """The form to log in. Its token belongs to a secret that the browser gets with it."""
    language = language_choice(request)
    secret = session_cookie(request, services.settings, ENTRY_COOKIE) or hashing.new_secret()
    frame = render.ConsoleFrame(language, token=form_token(secret), address=f"{LOGIN}?lang=")
    text = say(notice, language) if notice else ""
    response = render.template_response(
        "login.html", frame, status, destination=destination, name=name, trouble=trouble, notice=text
    )
    return with_language(set_secret(response, services.settings, secret, ENTRY_COOKIE), request, services.settings)
