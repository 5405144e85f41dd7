"""Which language and which format a caller prefers, by the quality values of its headers (RFC 9110).

Callers send these headers: only so many characters and items are read, each once, and what is malformed counts for nothing.
"""

import re
from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import dataclass

from api.schemas.languages import Language

MAX_HEADER_CHARACTERS = 1000
MAX_ITEMS = 50
QUALITY = re.compile(r"q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)")
HTML, JSON = "text/html", "application/json"
RawHeaders = Iterable[tuple[bytes, bytes]]


@dataclass
class LanguageChoice:
    """The language of a request, and whether its answer depends on it."""

    language: Language = "de"
    is_used: bool = False


_choice: ContextVar[LanguageChoice | None] = ContextVar("language", default=None)


def begin_choice(headers: RawHeaders) -> LanguageChoice:
    """From now on the texts of the request are in the language that its caller prefers."""
    choice = LanguageChoice(language_of(headers))
    _choice.set(choice)
    return choice


def current_language() -> Language:
    """The language of the current request. Whoever asks makes the answer depend on it."""
    choice = _choice.get()
    if choice is None:
        return "de"
    choice.is_used = True
    return choice.language


def language_of(headers: RawHeaders) -> Language:
    """English for a caller that prefers it to German; German for everybody else."""
    qualities = _qualities(_value(headers, b"accept-language"))
    return "en" if _of_language(qualities, "en") > _of_language(qualities, "de") else "de"


def prefers_html(headers: RawHeaders) -> bool:
    """Whether the caller names HTML and likes it no less than JSON, as browsers do; one that takes anything does not."""
    qualities = _qualities(_value(headers, b"accept"))
    return qualities.get(HTML, 0) > 0 and qualities[HTML] >= qualities.get(JSON, 0)


def _value(headers: RawHeaders, name: bytes) -> str:
    """The readable beginning of a header."""
    values = (value for key, value in headers if key == name)
    return next(values, b"")[:MAX_HEADER_CHARACTERS].decode("latin-1").lower()


def _qualities(header: str) -> dict[str, float]:
    """The quality of each name in a header, from 0 to 1; of a repeated name, the highest."""
    qualities: dict[str, float] = {}
    for item in header.split(",", MAX_ITEMS)[:MAX_ITEMS]:
        name, *parameters = (part.strip() for part in item.split(";"))
        quality = next((_quality(parameter) for parameter in parameters if parameter.startswith("q=")), 1.0)
        qualities[name] = max(quality, qualities.get(name, 0))
    return qualities


def _quality(parameter: str) -> float:
    match = QUALITY.fullmatch(parameter)
    return float(match[1]) if match else 0.0


def _of_language(qualities: dict[str, float], language: str) -> float:
    """The quality of a language: the highest of itself and its regions, or that of any language."""
    own = [quality for name, quality in qualities.items() if name == language or name.startswith(f"{language}-")]
    return max(own) if own else qualities.get("*", 0.0)
