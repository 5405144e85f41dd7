"""How a tenant gets its customer into the form: a session, and its address in an answer of 451."""

from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from api.http.errors import Problem
from api.http.responses import link
from api.schemas.accesses import ROOT
from api.services import Services
from warehouse.postgres.database import Owner
from warehouse.stores import redirect_sessions, tenants

TYPED_IN_FORM = "dürfen nicht gesendet werden; Ihre Kunden geben sie im Formular ein"


def begin(held: Services, owner: Owner, use_case: str, *, callback_url: str | None = None, **about: Any) -> str:
    """The address of the form for a new session. A callback address that is given is checked, and kept for who appends none."""
    return_to = None if callback_url is None else tenants.check_callback(owner, callback_url)
    name = redirect_sessions.begin(owner, held.vault, use_case, return_to=return_to, **about)
    return f"{link(held, *ROOT, 'webform')}?{urlencode({'session': name, 'useCase': use_case})}"


def redirected(location: str) -> Response:
    """The answer that sends a customer into the form."""
    return Response(status_code=451, headers={"Location": location})


def refuse_login(**given: object) -> None:
    """Refuses what a tenant must not send whose customers type in the form."""
    if sent := [name for name, value in given.items() if value is not None]:
        raise Problem(400, f"{' und '.join(sent)}: {TYPED_IN_FORM}")
