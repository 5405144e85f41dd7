"""What a caller sends costs at most linear time: each case is timed with a text and with one eight times as long."""

import time
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal

import pytest
from pydantic import TypeAdapter
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException

from api.http import mistakes, negotiation, route, strict_json
from api.routes import providers
from api.schemas import base, echo, transactions
from api.webform import patterns
from pipelines.banks import catalogue
from pipelines.dialogues import payments
from warehouse.errors import KontorError
from warehouse.inputs import naming
from warehouse.stores import transactions as stored_transactions

SEARCH: TypeAdapter[str] = TypeAdapter(providers.Search)
STEPS = 8
LINEAR_LIMIT = 30
"""Eight times the text takes about eight times as long; in quadratic time, 64 times."""
LENGTH = 20_000
MARKS = "\u0327\u0301"
"""Combining characters in an order that is not the composed one."""


def _transfer(iban: str) -> object:
    return payments.transfer(recipient="A", iban=iban, bic=None, currency="EUR", amount_cents=1, purpose="B")


CASES: dict[str, Callable[[int], object]] = {
    "json, nested": lambda n: strict_json.parse(b"[" * n + b"]" * n),
    "json, nested objects": lambda n: strict_json.parse(b'{"a":' * n + b"1" + b"}" * n),
    "json, many keys": lambda n: strict_json.parse(("{" + ",".join(f'"k{k}":1' for k in range(n)) + "}").encode()),
    "json, many numbers": lambda n: strict_json.parse(("[" + ",".join(["1.5"] * n) + "]").encode()),
    "json, digits": lambda n: strict_json.parse(b"9" * n),
    "json, digits and a point": lambda n: strict_json.parse(b"9" * n + b".0"),
    "json, exponent": lambda n: strict_json.parse(b"1E+" + b"9" * n),
    "json, escapes": lambda n: strict_json.parse(b'"' + b"\\u0041" * n + b'"'),
    "json, surrogates": lambda n: strict_json.parse(b'"' + b"\\ud83d" * n + b'"'),
    "json, blanks": lambda n: strict_json.parse(b" " * n + b"1"),
    "user name": lambda n: naming.username("a" + MARKS * n),
    "user name to compare": lambda n: naming.username_key("a" + MARKS * n),
    "address": lambda n: naming.return_url("https://a.example/" + "a/../" * n),
    "address, percent": lambda n: naming.return_url("https://a.example/?" + "%41" * n),
    "count": lambda n: base._plain_count("9" * n),
    "day": lambda n: base._plain_day("9" * n),
    "line": lambda n: base._one_line("ä" * n + "\u2028"),
    "timestamp": lambda n: transactions.TIMESTAMP.fullmatch("2026-11-02 " + "0" * n),
    "cursor": lambda n: stored_transactions.CURSOR.fullmatch(b"2026-11-02." + b"9" * n),
    "accept": lambda n: route.require_accept(Headers({"accept": "a/b;q=0.1," * n}), "application/json"),
    "accept language": lambda n: negotiation.language_of([(b"accept-language", b"en;q=0.5," * n)]),
    "accept, for a page": lambda n: negotiation.prefers_html([(b"accept", b"text/html;" * n)]),
    "echo": lambda n: echo.echoed("\u202e" * n),
    "echo of a number": lambda n: echo.echoed(Decimal("9" * n)),
    "slip of the pen": lambda n: mistakes.closest("a" * n, ["limit"] * 50),
    "slips of the pen": lambda n: mistakes.closest("limit", (f"limit{k}" for k in range(n))),
    "search": lambda n: catalogue._spellings(SEARCH.validate_python("a" + MARKS * n)),
    "iban": lambda n: _transfer("DE" + "1" * n),
    "pattern of a field": lambda n: patterns.PIECE.findall("[a-z]{1,3}" * n),
}


def seconds(case: Callable[[int], object], length: int) -> float:
    """The best of three times."""
    best = float("inf")
    for _ in range(3):
        began_at = time.process_time()
        with suppress(ValueError, KontorError, HTTPException):
            case(length)
        best = min(best, time.process_time() - began_at)
    return best


@pytest.mark.parametrize("name", CASES)
def test_time_grows_with_the_length_alone(name: str) -> None:
    case = CASES[name]
    short = seconds(case, LENGTH)
    assert seconds(case, LENGTH * STEPS) < max(short, 0.002) * LINEAR_LIMIT


def test_the_measure_notices_quadratic_time() -> None:
    def compose(length: int) -> object:
        import unicodedata

        return unicodedata.normalize("NFC", "a" + MARKS * length)

    assert seconds(compose, 1_500 * STEPS) > max(seconds(compose, 1_500), 0.002) * LINEAR_LIMIT
