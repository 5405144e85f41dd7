"""How a tenant sends its customer to the form: a new session, and its address in a 451 response."""

from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from api.http.errors import Problem
from api.http.mistakes import mistake
from api.schemas.accesses import ROOT
from api.schemas.languages import Text
from api.services import Services
from pipelines.fetching import connect
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Access
from warehouse.stores import redirect_sessions, tenants

STORED_LOGIN_REFUSED = "stored_login_refused"
"""The text above the login page, in `api/webform/texts.py`."""
TYPED_IN_FORM = Text(
    "darf nicht gesendet werden; Ihre Kunden geben es im Formular ein", "must not be sent; your customers enter it in the form"
)


def begin(services: Services, owner: Owner, use_case: str, *, callback_url: str | None = None, **progress: Any) -> str:
    """The address of the form for a new session. `callback_url` is checked and used unless the tenant appends another one."""
    return_to = None if callback_url is None else tenants.check_callback(owner, callback_url)
    name = redirect_sessions.begin(owner, services.vault, use_case, return_to=return_to, **progress)
    return f"{services.links.to(*ROOT, 'webform')}?{urlencode({'session': name, 'useCase': use_case})}"


def begin_renewal(services: Services, owner: Owner, access: Access, *, callback_url: str | None = None, **progress: Any) -> str:
    """The address of the form for an access: there the customer confirms it, after entering a login if the stored one does not
    work.
    """
    if connect.needs_login(access):
        progress |= {"wants_login": True, "trouble": STORED_LOGIN_REFUSED}
    return begin(
        services,
        owner,
        redirect_sessions.AUTHENTICATE_ACCOUNT,
        callback_url=callback_url,
        access_key=access.key,
        provider_id=access.provider_id,
        **progress,
    )


def redirect_response(location: str) -> Response:
    """The response that sends a customer to the form."""
    return Response(status_code=451, headers={"Location": location})


def refuse_login(**values: object) -> None:
    """Raises if a redirect tenant sends login data, which its customers enter in the form. Empty values are none."""
    if fields := [name for name, value in values.items() if value]:
        raise Problem(400, mistakes=[mistake(name, TYPED_IN_FORM) for name in fields])
