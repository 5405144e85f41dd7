"""Pages as HTML, and their static files. The values of pages are in `pages.py`, the texts in `texts.py`."""

import gzip
import hashlib
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

import ada_url
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from api.http.responses import SVG
from api.http.route import has_etag, takes_gzip
from api.webform import flicker, texts
from api.webform.bank_texts import BANK_TEXTS
from api.webform.pages import KONTOR, FormPage, PageFrame, Stopped, Trouble
from api.webform.patterns import browser_pattern
from api.webform.texts import Language, Text, say

HERE = Path(__file__).parent
ROOT = "/customer/v2/webform"
ZONE = ZoneInfo("Europe/Berlin")
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; object-src 'none'; frame-ancestors 'none'; form-action 'self'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=()",
}
OPENED_HEADERS = {**HEADERS, "Cross-Origin-Opener-Policy": "unsafe-none"}
"""For a form in a window of its own: the page that has opened it must stay in reach, to be told how it ended."""
SHARED_ASSETS = frozenset({"embed.js"})
"""Files that pages of tenants load."""
IMMUTABLE = "public, max-age=31536000, immutable"
BRIEFLY = "public, max-age=3600"
"""For a file that tenants load by an address that does not change with its content."""
MEDIA_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": SVG}
ENGLISH_NOTATION = str.maketrans(".,", ",.")
"""From German notation, in which amounts are typed in every language."""
MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
FIELDLESS_TROUBLES = frozenset({"bank_unreachable", "order_refused", "page_old", "repeated_order", "terms_not_accepted"})
"""Troubles that do not belong to a field of the page."""


@dataclass(frozen=True)
class Asset:
    content: bytes
    media_type: str
    etag: str
    gzip_content: bytes
    is_shared: bool
    """Whether pages of other origins may load it."""


def page_response(frame: PageFrame, page: FormPage, *, status: int = 200) -> HTMLResponse:
    """A page as a response."""
    return HTMLResponse(page_html(frame, page), status, OPENED_HEADERS if frame.opener else HEADERS)


def stop_response(text: str, status: int, headers: dict[str, str], language: Language = "de") -> HTMLResponse:
    """The page of an error outside a session; `text` is a key of `texts.STOPS`."""
    response = page_response(PageFrame(language), Stopped(text), status=status)
    response.headers.update(headers)
    return response


def page_html(frame: PageFrame, page: FormPage) -> str:
    """The HTML of a page."""
    return _environment.get_template(f"{page.template}.html").render(
        frame=frame, page=page, other_language=_other(frame.language), **_words(frame.language)
    )


def asset(name: str) -> Asset | None:
    """A file of `static/` by its exact name."""
    return _assets.get(name)


def asset_response(request: Request, asset: Asset) -> Response:
    """A file of `static/` as a response, compressed for those who accept it; 304 for a browser that has it."""
    headers = {"ETag": asset.etag, "Cache-Control": BRIEFLY if asset.is_shared else IMMUTABLE, "Vary": "Accept-Encoding"}
    if asset.is_shared:
        headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    if has_etag(request, asset.etag):
        return Response(status_code=304, headers=headers)
    if takes_gzip(request):
        return Response(asset.gzip_content, media_type=asset.media_type, headers={**headers, "Content-Encoding": "gzip"})
    return Response(asset.content, media_type=asset.media_type, headers=headers)


def asset_url(name: str) -> str:
    """The address of a file of `static/`. It changes with the content, so that browsers may cache the file for long."""
    return f"{ROOT}/static/{name}?v={_assets[name].etag[1:9]}"


def day(moment: date, language: Language) -> str:
    """A day in the notation of the language, in German time."""
    if isinstance(moment, datetime) and moment.tzinfo is not None:
        moment = moment.astimezone(ZONE)
    return f"{moment.day} {MONTHS[moment.month - 1]} {moment.year}" if language == "en" else f"{moment:%d.%m.%Y}"


def host(url: str) -> str | None:
    """The host of an address as a browser parses it, if it has one."""
    try:
        return str(ada_url.URL(url).hostname) or None
    except ValueError:
        return None


def _other(language: Language) -> Language:
    return "de" if language == "en" else "en"


def _words(language: Language) -> dict[str, object]:
    """The functions by which templates get texts: `t` for their own, the others for those that pages name."""

    def trouble(problem: Trouble) -> str:
        return say(texts.TROUBLES[problem.text], language, **problem.values)

    def bank_text(text: str) -> str:
        return say(BANK_TEXTS[text], language) if text in BANK_TEXTS else text

    def bank_language(text: str) -> str | None:
        """The language of a bank's own words, where it is not that of the page."""
        return None if language == "de" or text in BANK_TEXTS else "de"

    def text_of(table: dict[str, Text], key: str) -> str:
        return say(table[key], language)

    return {
        "t": lambda key, /, **values: say(texts.WORDS[key], language, **values),
        "trouble": trouble,
        "bank_text": bank_text,
        "bank_language": bank_language,
        "step": partial(text_of, texts.STEPS),
        "medium": partial(text_of, texts.MEDIA),
        "kind": partial(text_of, texts.KINDS),
        "day": partial(day, language=language),
        "notation": lambda amount: amount.translate(ENGLISH_NOTATION) if language == "en" else amount,
    }


def load_asset(path: Path) -> Asset:
    """A file with what its responses need."""
    content = path.read_bytes()
    etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    return Asset(content, MEDIA_TYPES[path.suffix], etag, gzip.compress(content, mtime=0), path.name in SHARED_ASSETS)


_assets = {path.name: load_asset(path) for path in sorted((HERE / "static").iterdir()) if path.suffix in MEDIA_TYPES}
_environment = Environment(
    loader=FileSystemLoader(HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,
)
_environment.globals |= {
    "root": ROOT,
    "house": KONTOR,
    "texts": texts,
    "say": say,
    "asset_url": asset_url,
    "browser_pattern": browser_pattern,
    "host": host,
    "flicker_size": (flicker.TOTAL_WIDTH, flicker.TOTAL_HEIGHT),
    "of_no_field": FIELDLESS_TROUBLES,
}
