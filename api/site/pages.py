"""The start page and the pages about codes as HTML, in the language of the visitor. Their texts are here and in the catalogue."""

import base64
import hashlib
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from api.schemas.codes import CATALOGUE, CodeEntry
from api.schemas.languages import Language, Text, say

TEMPLATES = Path(__file__).parent / "templates"
STYLE = (TEMPLATES / "site.css").read_text()
STYLE_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; style-src 'sha256-{STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
WORDS: dict[str, Text] = {
    "lead": Text(
        "Eine offene Plattform für deutsche Bankdaten: Konten und Umsätze, und was sie aussagen.",
        "An open platform for German bank data: accounts and bookings, and what they say.",
    ),
    "where": Text("Hier geht es weiter", "Where to go from here"),
    "programs": Text(
        "Programme bekommen diese Liste als JSON: Accept: application/json.",
        "Programs get this list as JSON: Accept: application/json.",
    ),
    "errors": Text("Fehler und Meldungen", "Errors and messages"),
    "errors_lead": Text(
        "Was jeder Code bedeutet und was zu tun ist. Jeder Fehler nennt die Adresse seiner Seite.",
        "What each code means and what to do. Every error names the address of its page.",
    ),
    "code": Text("Code", "Code"),
    "status": Text("Status", "Status"),
    "text": Text("Text", "Text"),
    "meaning": Text("Was es bedeutet", "What it means"),
    "remedy": Text("Was zu tun ist", "What to do"),
    "on_objects": Text("als Meldung an einem Objekt", "as a message on an object"),
    "all": Text("Alle Fehler und Meldungen", "All errors and messages"),
    "start": Text("Zur Startseite", "To the start page"),
}
LINKS: dict[str, Text] = {
    "documentation": Text("Dokumentation der Schnittstelle", "Documentation of the interface"),
    "openapi": Text("OpenAPI-Dokument", "OpenAPI document"),
    "handbook": Text("Handbuch (englisch)", "Handbook"),
    "demo": Text("Demo", "Demo"),
    "errors": Text("Fehler und Meldungen", "Errors and messages"),
    "health": Text("Läuft der Dienst?", "Is the service running?"),
    "ready": Text("Kann der Dienst arbeiten?", "Is the service able to work?"),
    "security": Text("Eine Schwachstelle melden", "Report a weakness"),
}
"""What the links of the start page lead to."""


def start_page(language: Language, links: dict[str, str]) -> str:
    """The start page with these links: addresses by names in `LINKS`."""
    labelled_links = [(address, say(LINKS[name], language)) for name, address in links.items()]
    return _render("start", language, links=labelled_links)


def codes_page(language: Language, address: str) -> str:
    """The list of all codes, whose pages are below this address."""
    return _render("codes", language, entries=list(CATALOGUE.values()), address=address)


def code_page(language: Language, entry: CodeEntry, address: str) -> str:
    """The page about one code."""
    return _render("code", language, entry=entry, address=address)


def _render(name: str, language: Language, **values: object) -> str:
    def text(item: Text) -> Markup:
        """The text in the language of the visitor; what stands in backticks is shown as code."""
        pieces = say(item, language).split("`")
        return Markup("").join(
            Markup("<code>{}</code>").format(piece) if number % 2 else escape(piece) for number, piece in enumerate(pieces)
        )

    words = {key: say(word, language) for key, word in WORDS.items()}
    template = _environment.get_template(f"{name}.html")
    return template.render(language=language, words=words, text=text, style=Markup(STYLE), **values)  # noqa: S704 (our own file)


_environment = Environment(
    loader=FileSystemLoader(TEMPLATES),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,
)
