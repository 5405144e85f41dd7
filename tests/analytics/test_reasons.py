"""The German of all reasons: those of the simulated people are rendered and read by rules that a native reader would have."""

import re
from collections.abc import Iterator
from functools import cache

import polars as pl
import pytest

from analytics.analyses.suite import analyse
from analytics.english.sentences import english, has_english
from analytics.frames import AS_OF, CHOICES, RULES
from analytics.tagging import tag as tagging
from analytics.tagging.rulebook import word_lists
from analytics.tagging.tag import Tagger
from models import registry
from models.simulator import simulate
from tests.analytics.drawing import quoted_words

QUOTATION = re.compile("»[^«]*«")
NAME = re.compile(
    r"\((?:[^()]|\([^()]*\))*\)|von .*? (?:am|endet|beginnt)|an .*? (?:endet|beginnt)|= .*|ähnelt .*|über .*|ID von .*"
)
"""Where a counterparty is named: banks write as they like."""
RULES_OF_GERMAN = {
    "a word stands twice": re.compile(r"\b([A-Za-zÄÖÜäöüß]{2,}) \1\b"),
    "one of several": re.compile(r"(?<![\d+.,-])[01] (?:\w+e )?\w*(?:Zahlungen|zahlungen|[Rr]aten|gebühren|schriften)\b"),
    "a small noun": re.compile(r"\b(?:monate?|wochen?|jahre?|tage?|zahlung|betrag|gehalt|miete|euro)\b"),
    "no umlaut": re.compile(r"(?:\b|[bcdfghjklmnprstvwxyz])(?:ae|oe|ue)(?!ll)[bcdfghklmnprstvwz]"),
    "a name of the code": re.compile(r"[A-Z]{3,}_[A-Z]|\b[a-z]+_[a-z]+\b|\bnull\b|\bNone\b|\bnan\b"),
    "a negative amount": re.compile(r"(?<![\d.])-\d+(?:[.,]\d+)* (?:Euro|€|%)"),
    "blanks or stops": re.compile(r"  |\s[;,.:]|[;,:]$|^\s|\s$|: ;|: :"),
    "an empty quotation": re.compile("»\\s*«"),
}

ENGLISH_QUOTATION = re.compile("“[^”]*”")
ENGLISH_NAME = re.compile(
    r"\((?:[^()]|\([^()]*\))*\)|from .*? (?:on|ends|begins)\b|to .*? (?:ends|begins)\b|= .*|resembles .*|through .*|ID of .*"
)
RULES_OF_ENGLISH = {
    **{rule: RULES_OF_GERMAN[rule] for rule in ("a word stands twice", "a name of the code", "blanks or stops")},
    "a German word": re.compile(
        r"[ÄÖÜäüß»«]|\b(?!BAföG)\w*ö\w*"
        r"|\b(?:der|das|dem|den|des|und|oder|eine?[rs]?|im|am|vom|von|mit|zum|zur|nicht|keine?|bis|seit|zuletzt)\b"
        r"|\b(?:Zahlung\w*|Miete|Gehalt|Raten?|Euro|Monate?|Buchung\w*|Wort|Betrag|Vertrag|Konto|Kredit)\b"
    ),
    "German marks of numbers": re.compile(r"\d,\d{1,2}\b(?!\d)|\d\.\d{3}\b|\d %|\d\d\.\d\d\.\d{4}|\d ?€"),
    "one of several": re.compile(r"(?<![\d+.,-])1 (?:\w+ )?(?:payments|instalments|charges|debits|months)\b"),
    "an empty quotation": re.compile("“\\s*”"),
}


@cache
def reasons() -> dict[str, set[str]]:
    """All reasons by the column they stand in."""
    corpus = simulate(24, 77)
    corrections = CHOICES.to_frame(), RULES.to_frame()
    tags = tagging.tag_bookings(corpus.transactions, corpus.products, *corrections, Tagger(registry.shipped()))
    tagged = corpus.transactions.hstack(tags.drop("id", "user", "product")).filter(pl.col("booked_on") <= corpus.as_of)
    as_of = corpus.products.select("user").unique().sort("user").with_columns(as_of=pl.lit(corpus.as_of)).select(AS_OF.names())
    frames = {"tags": tags, **analyse(tagged, corpus.products, as_of)}
    return {name: texts for frame_name, frame in frames.items() for name, texts in _texts(frame_name, frame)}


def _texts(frame_name: str, frame: pl.DataFrame) -> Iterator[tuple[str, set[str]]]:
    for column in frame.columns:
        if column.endswith("reason"):
            yield f"{frame_name}.{column}", set(frame[column].drop_nulls()) - {""}


def test_there_is_something_to_read() -> None:
    assert len(reasons()) >= 15
    assert sum(map(len, reasons().values())) > 1000


@pytest.mark.parametrize("rule", RULES_OF_GERMAN)
def test_reasons_are_german_that_a_native_reader_likes(rule: str) -> None:
    broken = {
        f"{column}: {reason}"
        for column, texts in reasons().items()
        for reason in texts
        if RULES_OF_GERMAN[rule].search(NAME.sub("N", reason if rule == "an empty quotation" else QUOTATION.sub("»x«", reason)))
    }
    assert broken == set()


def test_every_reason_has_english() -> None:
    assert {reason for texts in reasons().values() for reason in texts if not has_english(reason)} == set()


@pytest.mark.parametrize("rule", RULES_OF_ENGLISH)
def test_reasons_are_english_that_a_native_reader_likes(rule: str) -> None:
    texts = {english(reason) for column in reasons().values() for reason in column}
    quoted = texts if rule == "an empty quotation" else {ENGLISH_QUOTATION.sub("“x”", text) for text in texts}
    assert {text for text in quoted if RULES_OF_ENGLISH[rule].search(ENGLISH_NAME.sub("N", text))} == set()


def test_no_first_name_is_evidence() -> None:
    names = set(word_lists()["firstnames"])
    columns = ("tags.category_reason", "tags.insurance_reason", "tags.freelancer_reason")
    broken = {reason for column in columns for reason in reasons()[column] if names & set(quoted_words(NAME.sub("", reason)))}
    partners = {reason for reason in broken if "= " in reason or "ähnelt" in reason}
    assert broken - partners == set()


def test_no_quotation_has_replaced_numbers() -> None:
    texts = {reason for column in reasons().values() for reason in column}
    assert {
        reason for reason in texts if any(re.search(r"(?<!\d)0(?!\d)", quote) for quote in QUOTATION.findall(reason))
    } == set()
