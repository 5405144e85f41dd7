"""The page on which the operator logs in and out. Its look is that of the redirect form; nothing is loaded from elsewhere."""

from pathlib import Path
from urllib.parse import parse_qsl

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse

from api.dagster_proxy.sites import OWN_ROOT
from api.webform import render

LOGIN, LOGOUT = f"{OWN_ROOT}/login", f"{OWN_ROOT}/logout"
ASSETS = ("form.css", "favicon.svg")
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
}
MAX_FORM_FIELDS = 10
_environment = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,
)
_environment.globals |= {"root": OWN_ROOT, "login": LOGIN, "logout": LOGOUT}


def form_page(destination: str, trouble: str = "", status: int = 200) -> HTMLResponse:
    """The form for the password, with what went wrong."""
    return _page("login.html", status, destination=destination, trouble=trouble)


def inside_page() -> HTMLResponse:
    """The page of somebody who is logged in, with the button that ends it."""
    return _page("inside.html")


def unset_page() -> HTMLResponse:
    """The page where no password was set yet: how to set one."""
    return _page("unset.html", 503)


def asset(name: str) -> render.Asset | None:
    """A file that the pages need."""
    return render.asset(name) if name in ASSETS else None


def form_values(body: bytes) -> dict[str, str]:
    """The fields of a posted form; none if it is no form."""
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=MAX_FORM_FIELDS))
    except ValueError:
        return {}


def local_path(value: str) -> str:
    """A path of the UI to go to after the login; its start if the value leads anywhere else."""
    is_path = value.startswith("/") and not value.startswith(("//", f"{OWN_ROOT}/"))
    return value if is_path and value.isprintable() and "\\" not in value else "/"


def _page(template: str, status: int = 200, **values: str) -> HTMLResponse:
    return HTMLResponse(_environment.get_template(template).render(**values), status, HEADERS)
