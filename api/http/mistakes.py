"""Mistakes in a request: which field is wrong, what was sent, and what is allowed. What pydantic reports becomes a `Mistake` by
one table of texts; `field_schemas.py` adds what the OpenAPI document says about the field.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from dataclasses import field as made_by
from difflib import get_close_matches
from itertools import islice
from typing import Any

from api.schemas.accesses import ACCESS_KEY
from api.schemas.base import CONTROLS, TEXT, field_names
from api.schemas.echo import echoed, may_echo
from api.schemas.languages import Language, Text, say
from api.schemas.records import LINE, MOMENT
from api.schemas.search import AMOUNT

MAX_MISTAKES = 20
MAX_VALUES = 25
MAX_NAMES = 200
MAX_COMPARED_NAMES = 50
"""How many names of a caller are compared with ours."""
SIMILAR = 0.75
"""How alike two names are that are taken for a slip of the pen, from 0 to 1."""
WORD = re.compile("[A-Za-z_-]{2,40}")
ACCESS_ID = re.compile(ACCESS_KEY)
UNNAMED = "…"
"""Stands in a path for a key that the caller has made up, and that may be anything."""
NOTHING = object()
"""The value of a field that was not sent, or is not known here."""
INVALID = Text("ist ungültig", "is invalid")
MISSING = Text("fehlt", "is missing")
IN_FUTURE = Text("liegt in der Zukunft", "is in the future")
UNKNOWN = Text("ist unbekannt", "is unknown")
WHOLES = {"query": Text("Adresse", "Address")}
BODY = Text("Inhalt", "Body")
"""What is wrong if no field of it is: the query, or else the body."""
MEANT = Text(" (meinten Sie „{name}“?)", ' (did you mean "{name}"?)')

WHOLE = Text("muss eine ganze Zahl sein", "must be a whole number")
NUMBER = Text("muss eine Zahl sein", "must be a number")
STRING = Text("muss ein Text sein", "must be a string")
BOOLEAN = Text("muss true oder false sein", "must be true or false")
ARRAY = Text("muss eine Liste sein", "must be an array")
OBJECT = Text("muss ein Objekt sein", "must be an object")
IDENTIFIER = Text("muss eine UUID sein", "must be a UUID")
DAY = Text("muss ein Tag des Kalenders der Form yyyy-mm-dd sein", "must be a day of the calendar as yyyy-mm-dd")
CHOICE = Text("muss einer dieser Werte sein: {values}", "must be one of these values: {values}")
AMOUNT_FORM = Text("ein Betrag wie 12.34 oder -12", "an amount such as 12.34 or -12")
TEXTS: dict[str, Text] = {
    "not an amount": Text("ist kein Betrag wie 12.34 oder -12", "is not an amount such as 12.34 or -12"),
    "missing": MISSING,
    "extra_forbidden": UNKNOWN,
    "string_type": STRING,
    "string_unicode": STRING,
    "string_too_long": Text("ist zu lang: höchstens {max_length} Zeichen", "is too long: at most {max_length} characters"),
    "string_too_short": Text("ist zu kurz: mindestens {min_length} Zeichen", "is too short: at least {min_length} characters"),
    "string_pattern_mismatch": Text("hat nicht die erlaubte Form: {words}", "does not have the allowed form: {words}"),
    "int_type": WHOLE,
    "int_parsing": WHOLE,
    "int_parsing_size": WHOLE,
    "int_from_float": WHOLE,
    "float_type": NUMBER,
    "float_parsing": NUMBER,
    "finite_number": NUMBER,
    "decimal_type": NUMBER,
    "decimal_parsing": NUMBER,
    "bool_type": BOOLEAN,
    "bool_parsing": BOOLEAN,
    "list_type": ARRAY,
    "dict_type": OBJECT,
    "model_type": OBJECT,
    "model_attributes_type": OBJECT,
    "too_long": Text("hat zu viele Einträge: höchstens {max_length}", "has too many entries: at most {max_length}"),
    "too_short": Text("hat zu wenige Einträge: mindestens {min_length}", "has too few entries: at least {min_length}"),
    "greater_than_equal": Text("muss mindestens {ge} sein", "must be at least {ge}"),
    "greater_than": Text("muss größer als {gt} sein", "must be greater than {gt}"),
    "less_than_equal": Text("darf höchstens {le} sein", "must be at most {le}"),
    "less_than": Text("muss kleiner als {lt} sein", "must be less than {lt}"),
    "multiple_of": Text("muss ein Vielfaches von {multiple_of} sein", "must be a multiple of {multiple_of}"),
    "uuid_type": IDENTIFIER,
    "uuid_parsing": IDENTIFIER,
    "date_type": DAY,
    "date_parsing": DAY,
    "date_from_datetime_parsing": DAY,
    "date_from_datetime_inexact": DAY,
    "enum": CHOICE,
    "literal_error": CHOICE,
    # What validators of our own report.
    "control character": Text(
        "darf keine Zeilenumbrüche und Steuerzeichen enthalten", "must not contain line breaks or controls"
    ),
    "not a boolean": BOOLEAN,
    "not a number": Text("muss eine Zahl sein, kein Text", "must be a number, not a string"),
    "not a whole number": WHOLE,
    "amount out of range": Text(
        "muss zwischen -999999999999.99 und 999999999999.99 liegen", "must be between -999999999999.99 and 999999999999.99"
    ),
    "more than two decimals": Text("darf höchstens zwei Nachkommastellen haben", "must have at most two decimals"),
    "not a day": DAY,
    "not a date": Text(
        "muss ein Tag oder Zeitpunkt der Form yyyy-mm-dd HH:MM:SS sein", "must be a day or a timestamp as yyyy-mm-dd HH:MM:SS"
    ),
    "day out of range": Text("muss zwischen 1970-01-01 und 2199-12-31 liegen", "must be between 1970-01-01 and 2199-12-31"),
    "not a currency": Text(
        "muss ein Währungskürzel nach ISO 4217 sein, wie EUR", "must be a currency code of ISO 4217, such as EUR"
    ),
    "not a user name": Text(
        "muss 1 bis 255 Zeichen haben, nicht nur Leerzeichen und keine Steuerzeichen",
        "must have 1 to 255 characters, not only blanks, and no control characters",
    ),
    "unknown category": CHOICE,
    "not an IBAN": Text("ist keine gültige IBAN", "is not a valid IBAN"),
    "not a public address": Text("muss eine öffentliche IP-Adresse sein", "must be a public IP address"),
}
"""What is wrong, by the type of pydantic's error or by the message of our own validator."""
PATTERNS: dict[str, Text] = {
    ACCESS_KEY: Text("1 bis 64 Buchstaben, Ziffern, _ und -", "1 to 64 letters, digits, _ and -"),
    f"^{AMOUNT}$": AMOUNT_FORM,
    "^[0-9]{8}$": Text("genau acht Ziffern", "exactly eight digits"),
    "^[A-Za-z0-9]{8}([A-Za-z0-9]{3})?$": Text("acht oder elf Buchstaben und Ziffern", "eight or eleven letters and digits"),
    r"^[ -~]+$": Text("druckbare ASCII-Zeichen", "printable ASCII characters"),
    LINE: Text("eine Zeile ohne Steuerzeichen", "one line without control characters"),
    TEXT: Text("ein Text ohne Steuerzeichen", "a text without control characters"),
    MOMENT: Text("yyyy-mm-dd oder yyyy-mm-dd HH:MM:SS", "yyyy-mm-dd or yyyy-mm-dd HH:MM:SS"),
    r"^\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}:\d{2})?$": Text(
        "yyyy-mm-dd oder yyyy-mm-dd HH:MM:SS", "yyyy-mm-dd or yyyy-mm-dd HH:MM:SS"
    ),
    rf"^[^{CONTROLS}]*[^{CONTROLS}\s][^{CONTROLS}]*$": Text(
        "eine Zeile, nicht nur aus Leerzeichen", "one line, not only of blanks"
    ),
}
"""What the patterns of the interface mean, in words."""
CONTAINERS = frozenset({"list_type", "dict_type", "model_type", "model_attributes_type"})
"""Errors of values that should be lists or objects."""
QUOTED = re.compile(r"'([^']*)'")
LIMITS = {"ge": "minimum", "gt": "minimum", "le": "maximum", "lt": "maximum", "multiple_of": "multipleOf", "pattern": "pattern"}
"""Keywords of JSON Schema by the names of pydantic's context."""


@dataclass(frozen=True)
class Mistake:
    """A mistake in one field of a request."""

    field: str
    """The field as the caller writes it; empty for the whole body."""
    text: Text
    place: str = "body"
    path: tuple[str | int, ...] = ()
    """Where the field is, from the outside in."""
    sent_value: object = NOTHING
    allowed: Mapping[str, Any] = made_by(default_factory=dict)
    suggestion: str | None = None
    values: Mapping[str, object] = made_by(default_factory=dict)
    """What the text leaves open."""

    def summary(self, language: Language) -> str:
        """The mistake in one line, without what was sent."""
        suggestion = say(MEANT, language, name=self.suggestion) if self.suggestion else ""
        return f"{self.field or say(WHOLES.get(self.place, BODY), language)}: {self.problem(language)}{suggestion}"

    def problem(self, language: Language) -> str:
        """What is wrong."""
        words = PATTERNS.get(str(self.allowed.get("pattern")))
        values = ", ".join(str(value) for value in self.allowed.get("values", ()))
        known = {"words": say(words, language) if words else self.allowed.get("pattern", ""), "values": values}
        return say(self.text, language, **{**known, **self.values})

    def body(self, language: Language) -> dict[str, Any]:
        """The mistake as error bodies show it (`FieldProblem`)."""
        sent_value = echoed(self.sent_value) if self.sent_value is not NOTHING and self.is_echoed else None
        parts = {"given": sent_value, "allowed": dict(self.allowed) or None, "didYouMean": self.suggestion}
        required = {"field": self.field, "place": self.place, "problem": self.problem(language)}
        return required | {name: part for name, part in parts.items() if part is not None}

    @property
    def is_echoed(self) -> bool:
        """Whether the body may repeat what was sent."""
        return may_echo(part for part in self.path if isinstance(part, str))


def mistake(name: str, text: Text, place: str = "body", sent_value: object = NOTHING, **values: object) -> Mistake:
    """A mistake in the field of this name, written as `details.iban` or `transfers[3].iban`."""
    path = tuple(int(part) if part.isdigit() else part for part in re.split(r"[.\[\]]+", name.rstrip("]")) if part)
    return Mistake(name, text, place, path, sent_value, values=values)


def missing(*names: str, place: str = "body") -> list[Mistake]:
    """The mistakes of fields that were not sent."""
    return [mistake(name, MISSING, place) for name in names]


def of_validation(error: Mapping[str, Any]) -> Mistake:
    """The mistake behind an error of pydantic."""
    place, *path = error["loc"]
    context = error.get("ctx") or {}
    kind = str(context["error"]) if error["type"] == "value_error" and "error" in context else str(error["type"])
    is_key = bool(path) and path[-1] == "[key]"
    is_missing = kind == "missing"
    names = path[:-1] if is_key else path
    value = error.get("input", NOTHING)
    is_misplaced = kind in CONTAINERS and not isinstance(value, dict | list)  # nobody knows what it was meant for
    return Mistake(
        _written(str(place), names),
        TEXTS.get(kind, INVALID),
        str(place),
        tuple(names),
        NOTHING if is_missing or is_key or is_misplaced else value,
        _limits(kind, context),
        _meant(names, value) if is_missing else None,
        {name: value for name, value in context.items() if isinstance(value, str | int | float)},
    )


def closest(name: str, names: Iterable[str]) -> str | None:
    """The name that was probably meant, among the first `MAX_NAMES`."""
    candidates = [other for other in islice(names, MAX_NAMES) if WORD.fullmatch(other)]
    matches = get_close_matches(name.lower(), [other.lower() for other in candidates], 1, SIMILAR) if WORD.fullmatch(name) else []
    return next((other for other in candidates if matches and other.lower() == matches[0]), None)


def _written(place: str, path: list[str | int]) -> str:
    """A path as callers write it. Keys that the caller has made up are left out, except ids of accesses."""
    text = ""
    for depth, part in enumerate(path):
        if isinstance(part, int):
            text += f"[{part}]"
            continue
        is_ours = place != "body" or part in field_names() or (depth == 0 and ACCESS_ID.fullmatch(part))
        text += ("." if text else "") + (part if is_ours else UNNAMED)
    return text


def _meant(path: list[str | int], parent: object) -> str | None:
    """The name of a missing field, if the caller has sent one that is almost the same."""
    name = path[-1] if path else None
    if not isinstance(name, str) or not isinstance(parent, dict):
        return None
    keys = (key for key in islice(parent, MAX_COMPARED_NAMES) if key not in field_names())
    return name if closest(name, keys) else None


def _limits(kind: str, context: Mapping[str, Any]) -> dict[str, Any]:
    """What the error itself says about allowed values."""
    limits = {keyword: context[name] for name, keyword in LIMITS.items() if name in context}
    of_string = kind.startswith("string")
    if "max_length" in context:
        limits["maxLength" if of_string else "maxItems"] = context["max_length"]
    if "min_length" in context:
        limits["minLength" if of_string else "minItems"] = context["min_length"]
    if "expected" in context:
        limits["values"] = QUOTED.findall(str(context["expected"]))[:MAX_VALUES]
    return limits
