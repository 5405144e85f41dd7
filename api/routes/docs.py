"""The interactive documentation, and the handbook where `make run` or `make docs` has built it.

Their scripts and styles are served from here, so that both work without the internet.
"""

import base64
import hashlib
import re
from collections.abc import Callable, Iterator
from http import HTTPStatus
from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Match, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Scope

from api.http import strict_json
from api.http.route import JSON
from api.openapi import document as openapi
from api.services import Services

# Swagger UI starts itself with a script inside the page, which the policy names by its hash, and draws icons from data addresses.
CONTENT_POLICY = (
    "default-src 'self'; script-src 'self' {hashes}; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'"
)
HANDBOOK = Path(__file__).parents[2] / "dist" / "handbook"
"""Where it is built."""
INLINE_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.S)


def install(app: FastAPI) -> None:
    """Adds /docs and /openapi.json to an app."""
    contents: list[bytes] = []

    def write_document(services: Services) -> bytes:
        """The document as JSON. It takes almost a second the first time, and is kept."""
        if not contents:
            contents.append(strict_json.render(openapi.build(app, services.settings), services.zone))
        return contents[0]

    async def get_document(request: Request) -> Response:
        services: Services = request.app.state.services
        content = contents[0] if contents else await services.in_thread(write_document, services)
        return Response(content, media_type=JSON)

    async def get_page(_request: Request) -> Response:
        page = get_swagger_ui_html(
            openapi_url="/openapi.json",
            title="Kontor",
            swagger_js_url="/docs/assets/swagger-ui-bundle.js",
            swagger_css_url="/docs/assets/swagger-ui.css",
            swagger_favicon_url="/docs/assets/favicon.png",
        )
        page.headers["Content-Security-Policy"] = CONTENT_POLICY.format(hashes=" ".join(_hashes(bytes(page.body))))
        return page

    app.add_route("/openapi.json", get_document, include_in_schema=False)
    app.add_route("/docs", get_page, include_in_schema=False)
    app.mount("/docs/assets", StaticFiles(directory=Path(str(files("fastapi_offline") / "static"))))


def install_handbook(app: FastAPI, folder: Path) -> None:
    """Adds /handbook to an app; it is there as soon as the handbook is built in this folder."""

    async def get_start(_request: Request) -> Response:
        return RedirectResponse("/handbook/index.html", 307)

    app.router.routes.append(HandbookRoute(folder, "/handbook", get_start))
    app.router.routes.append(HandbookMount(folder, "/handbook", Handbook(directory=folder, check_dir=False)))


class HandbookRoute(Route):
    """A route that exists only while the handbook does."""

    def __init__(self, folder: Path, path: str, endpoint: Callable[..., Any]) -> None:
        super().__init__(path, endpoint, include_in_schema=False)
        self.folder = folder

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        return super().matches(scope) if is_built(self.folder) else (Match.NONE, {})


class HandbookMount(Mount):
    """The pages below a path, which exist only while the handbook does."""

    def __init__(self, folder: Path, path: str, app: ASGIApp) -> None:
        super().__init__(path, app)
        self.folder = folder

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        return super().matches(scope) if is_built(self.folder) else (Match.NONE, {})


def is_built(folder: Path = HANDBOOK) -> bool:
    """Whether the handbook lies in a folder. It gets there as a whole."""
    return (folder / "index.html").is_file()


class Handbook(StaticFiles):
    """The pages of the handbook. Each names the scripts inside it in its content policy."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        file, _ = self.lookup_path(path)
        if path.endswith(".html") and response.status_code == HTTPStatus.OK:
            hashes = " ".join(_hashes(Path(file).read_bytes()))
            response.headers["Content-Security-Policy"] = CONTENT_POLICY.format(hashes=hashes)
        response.headers["Cache-Control"] = "public, max-age=300"
        return response


def _hashes(page: bytes) -> Iterator[str]:
    """The scripts inside a page, as a content policy names them."""
    for script in INLINE_SCRIPT.findall(page):
        yield f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'"
