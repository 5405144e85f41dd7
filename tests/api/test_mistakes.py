"""Mistakes in requests: every error of a validator has words, and what a caller sends is repeated briefly and safely, or not."""

import re
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel, Field, ValidationError
from pydantic_core.core_schema import ErrorType

from api.app import create_app
from api.http import mistakes, negotiation
from api.http.errors import FACTS
from api.http.mistakes import PATTERNS, TEXTS, closest, mistake
from api.http.route import JSON_TEXTS
from api.openapi import document as openapi
from api.openapi import models
from api.schemas import echo
from api.schemas.codes import CATALOGUE
from api.schemas.languages import Text
from api.webform import texts as form_texts
from pipelines.banks.base import Code
from warehouse import errors
from warehouse.settings import Settings

ROOT = Path(__file__).parents[2]
VALUES = re.compile(r"{([a-z_]+)[:}]")
OURS = {kind for kind in TEXTS if " " in kind}
"""The messages of our own validators."""


def test_every_message_of_a_validator_has_words() -> None:
    sources = [*(ROOT / "api" / "schemas").glob("*.py"), ROOT / "api" / "customer.py"]
    raised = {message for path in sources for message in re.findall(r'raise ValueError\("([^"]+)"\)', path.read_text())}
    assert raised == OURS
    assert not [path for path in sources if re.search(r"raise ValueError(?!\()", path.read_text())]


def test_every_kind_of_error_is_one_of_pydantic() -> None:
    assert set(TEXTS) - OURS <= set(get_args(ErrorType))


def test_every_reason_against_a_body_has_words() -> None:
    source = (ROOT / "api" / "http" / "strict_json.py").read_text()
    assert set(re.findall(r'NotStrictJson\("([^"]+)"', source)) - {"not valid JSON"} == set(JSON_TEXTS)


def test_every_pattern_of_a_request_has_words() -> None:
    built = openapi.build(create_app(Settings(database_url="postgresql://nowhere/none")), Settings())
    requests = [operation for methods in built["paths"].values() for operation in methods.values()]
    names = models._request_models(built) - {"TokenForm", "RevokeForm"}
    nodes = [*(built["components"]["schemas"][name] for name in names), *(operation["parameters"] for operation in requests)]
    found = {str(node["pattern"]) for node in models._nodes(nodes) if isinstance(node.get("pattern"), str)}
    assert len(found) > 3
    assert found <= PATTERNS.keys()


def test_both_languages_say_the_same_values_and_differ() -> None:
    texts = [
        *TEXTS.values(),
        *JSON_TEXTS.values(),
        *(response.text for response in FACTS.values() if response.text),
        *(text for entry in CATALOGUE.values() for text in (entry.title, entry.meaning, entry.remedy)),
    ]
    assert [text for text in texts if not text.de or not text.en or text.de == text.en] == []
    assert [text for text in texts if set(VALUES.findall(text.de)) != set(VALUES.findall(text.en))] == []


def test_every_code_has_one_entry() -> None:
    assert {*Code} <= CATALOGUE.keys()
    assert len(CATALOGUE) == len({entry.title for entry in CATALOGUE.values()})
    assert form_texts.Text is Text


def test_every_fact_about_a_field_can_name_it() -> None:
    with_field = [fact for fact, response in FACTS.items() if response.field and "{field}" in response.field]
    assert all("field" in vars(fact("x", *([1] if fact is errors.TextTooLong else []))) for fact in with_field)


class Probe(BaseModel):
    limit: int = Field(5, ge=1, le=10, multiple_of=5)
    name: str = Field("abc", min_length=2, max_length=3)
    iban: str = Field("DE", pattern="^[A-Z]+$")
    transfers: list[int] = Field([1], min_length=1, max_length=2)


@pytest.mark.parametrize(
    ("field", "value", "problem", "allowed"),
    [
        ("limit", 0, "muss mindestens 1 sein", {"minimum": 1}),
        ("limit", 15, "darf höchstens 10 sein", {"maximum": 10}),
        ("limit", 7, "muss ein Vielfaches von 5 sein", {"multipleOf": 5}),
        ("limit", "x", "muss eine ganze Zahl sein", {}),
        ("name", "a", "ist zu kurz: mindestens 2 Zeichen", {"minLength": 2}),
        ("name", "abcd", "ist zu lang: höchstens 3 Zeichen", {"maxLength": 3}),
        ("iban", "de", "hat nicht die erlaubte Form: ^[A-Z]+$", {"pattern": "^[A-Z]+$"}),
        ("transfers", [], "hat zu wenige Einträge: mindestens 1", {"minItems": 1}),
        ("transfers", [1, 2, 3], "hat zu viele Einträge: höchstens 2", {"maxItems": 2}),
        ("transfers", {}, "muss eine Liste sein", {}),
    ],
)
def test_what_pydantic_reports_becomes_words_and_limits(field: str, value: Any, problem: str, allowed: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as refusal:
        Probe.model_validate({field: value})
    (error,) = refusal.value.errors()
    body = mistakes.of_validation({**error, "loc": ("body", *error["loc"])}).body("de")
    assert (body["field"], body["problem"], body.get("allowed", {})) == (field, problem, allowed)


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("DE12", "DE12"),
        ("x" * 41, "x" * 40 + "…"),
        ("a\u202eb\u0085c\u2028d", "a\\u202eb\\u0085c\\u2028d"),
        ("\ud800", "\\ud800"),
        ("\U000e0001", "\\ue0001"),
        (5, "5"),
        (10**39, "1" + "0" * 39),
        (Decimal("1E+40"), "1E+40"),
        (True, "true"),
        (None, "null"),
        ({"password": "geheim"}, "{…}"),
        (["geheim"], "[…]"),
        (object(), None),
    ],
)
def test_a_value_is_repeated_as_one_short_printable_line(value: object, line: str | None) -> None:
    assert echo.echoed(value) == line


@pytest.mark.parametrize(
    "path",
    [
        ("password",),
        ("tan",),
        ("credentials", "iban"),
        ("a", "credentials", "userid"),
        ("username",),
        ("url",),
        ("callbackUrl",),
        ("token",),
        ("X-API-KEY",),
        ("Authorization",),
        ("clientSecret",),
        ("zugangsdaten", "name"),
        ("pin",),
        ("anything-new",),
        (),
    ],
)
def test_secrets_and_what_nobody_has_listed_are_withheld(path: tuple[str, ...]) -> None:
    assert not echo.may_echo(path)
    assert "given" not in mistake(".".join(path), mistakes.INVALID, sent_value="geheim").body("de")


def test_no_listed_field_has_the_name_of_a_secret() -> None:
    assert not [name for name in echo.ECHOED_FIELDS if echo.SECRET.search(name)]


@pytest.mark.parametrize(
    ("name", "meant"),
    [("limt", "limit"), ("Limit", "limit"), ("asof", "asOf"), ("colour", None), ("", None), ("l" * 5000, None), ("li<mit", None)],
)
def test_a_slip_of_the_pen_finds_what_was_meant(name: str, meant: str | None) -> None:
    assert closest(name, ["from", "limit", "asOf"]) == meant


@pytest.mark.parametrize(
    ("header", "language"),
    [
        (None, "de"),
        ("", "de"),
        ("en", "en"),
        ("EN-us", "en"),
        ("en-GB,en;q=0.9,de;q=0.8", "en"),
        ("de-DE,de;q=0.9,en;q=0.8", "de"),
        ("de;q=0.5, en;q=0.7", "en"),
        ("en, de", "de"),
        ("fr", "de"),
        ("fr, en;q=0.1", "en"),
        ("*", "de"),
        ("*, de;q=0.1", "en"),
        ("en;q=0", "de"),
        ("en;q=2", "de"),
        ("en;q=abc", "de"),
        ("en;q=0.1234", "de"),
        ("english", "de"),
        ("," * 999 + "en", "de"),
        ("x," * 100 + "en", "de"),
    ],
)
def test_english_is_for_those_who_prefer_it(header: str | None, language: str) -> None:
    headers = [] if header is None else [(b"accept-language", header.encode())]
    assert negotiation.language_of(headers) == language


@pytest.mark.parametrize(
    ("header", "html"),
    [
        (None, False),
        ("*/*", False),
        ("application/json", False),
        ("text/html", True),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", True),
        ("application/json, text/html;q=0.9", False),
        ("text/html;q=0", False),
    ],
)
def test_pages_are_for_those_who_ask_for_html(header: str | None, html: bool) -> None:
    headers = [] if header is None else [(b"accept", header.encode())]
    assert negotiation.prefers_html(headers) == html
