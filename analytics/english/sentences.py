"""The sentences of tags and analyses in English.

A sentence is recognised by its German pattern, whose places have kinds: amounts, dates and numbers are written as in English,
phrases are looked up, names stay as they are. `{count?one|several}` in an English text chooses by a number.
"""

import re
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from analytics import trees
from analytics.english import items
from analytics.english.writing import capitalised, english_date, english_euros, english_number
from analytics.trees.files import read_rows

TABLE = Path(__file__).parent / "tables" / "phrases.csv"
MAX_CACHED_SENTENCES = 20_000
PLACE = re.compile(r"\{(\w+)(?::(\w+))?\}")
CHOICE = re.compile(r"\{(\w+)\?([^|{}]*)\|([^{}]*)\}")
UNKNOWN_NAME = "einem unbekannten Konto"


class NoEnglish(LookupError):
    """A phrase or sentence that has no English."""


class PlaceKind(NamedTuple):
    """A kind of place: what stands there in German, and what it becomes."""

    pattern: str
    translate: Callable[[str], str]


class SentencePattern(NamedTuple):
    """A German sentence with places, and its English."""

    german: re.Pattern[str]
    kinds: dict[str, PlaceKind]
    english: str


@lru_cache(MAX_CACHED_SENTENCES)
def english(german: str) -> str:
    """The sentence in English. It begins with a capital if the German one does; without English it stays as it is."""
    try:
        text = _sentence(german)
    except NoEnglish:
        return german
    return capitalised(text) if german[:1].isupper() else text


def has_english(german: str) -> bool:
    """Whether the sentence is known."""
    try:
        _sentence(german)
    except NoEnglish:
        return False
    return True


def _sentence(german: str) -> str:
    if german in _phrases():
        return _phrases()[german]
    for pattern in _patterns():
        match = pattern.german.fullmatch(german)
        if match is not None:
            try:
                return _fill(pattern, match)
            except NoEnglish:
                continue
    raise NoEnglish(german)


def _fill(pattern: SentencePattern, match: re.Match[str]) -> str:
    """The English of a sentence that a pattern has matched."""
    values = {name: kind.translate(match[name]) if match[name] is not None else "" for name, kind in pattern.kinds.items()}
    chosen = CHOICE.sub(lambda choice: _choose(choice, match), pattern.english)
    return PLACE.sub(lambda place: values[place[1]], chosen)


def _choose(choice: re.Match[str], match: re.Match[str]) -> str:
    """The first text for a place that is 1 or, if the place is no number, is filled; else the second."""
    value = match[choice[1]] or ""
    is_first = value == "1" if value[:1].isdigit() else bool(value)
    return choice[2] if is_first else choice[3]


def _phrase(german: str) -> str:
    try:
        return _phrases()[german]
    except KeyError as error:
        raise NoEnglish(german) from error


def _list_of_phrases(german: str) -> str:
    return ", ".join(_phrase(part) for part in german.split(", "))


def _name(german: str) -> str:
    return _phrase(german) if german == UNKNOWN_NAME else german


def _category(german: str) -> str:
    try:
        return items.item_names("CATEGORIES", _category_names()[german])[0]
    except KeyError as error:
        raise NoEnglish(german) from error


def _period(german: str) -> str:
    try:
        name = items.item_names("PERIODS", _period_names()[german])[0]
    except KeyError as error:
        raise NoEnglish(german) from error
    return name[:1].lower() + name[1:]


def _quotations(german: str) -> str:
    return german.replace("»", "“").replace("«", "”")


def _points(german: str) -> str:
    """Points with their reasons: `+1 spart regelmäßig; -2 Inkasso`."""
    parts = [part.split(" ", 1) for part in german.split("; ")]
    return "; ".join(f"{points} {_phrase(reason)}" for points, reason in parts)


KINDS = {
    "count": PlaceKind(r"\d+", str),
    "number": PlaceKind(r"\d[\d.]*(?:,\d+)?", english_number),
    "euros": PlaceKind(r"-?\d[\d.]*(?:,\d\d)?", english_euros),
    "date": PlaceKind(r"\d\d\.\d\d\.\d{4}", english_date),
    "name": PlaceKind(r".+", _name),
    "phrase": PlaceKind(r".+", _phrase),
    "phrases": PlaceKind(r".+", _list_of_phrases),
    "sentence": PlaceKind(r".+", _sentence),
    "category": PlaceKind(r"[^:]+", _category),
    "period": PlaceKind(r"[^;,]+", _period),
    "quotations": PlaceKind(r"»[^«]*«(?:, »[^«]*«)*", _quotations),
    "class": PlaceKind(r"[A-E]", str),
    "points": PlaceKind(r"[+-]\d .+", _points),
}
SENTENCES = (
    # tags of bookings
    ("Wort {words:quotations}", "word {words}"),
    ("Wort {words:quotations} {place:phrase}", "word {words} {place}"),
    ("Wörter {words:quotations}", "words {words}"),
    ("unsicher, am ehesten {category:category}: {why:sentence}", "uncertain, most likely {category}: {why}"),
    ("Gruppe und {words:quotations} = {name:name}", "group and {words} = {name}"),
    ("Gläubiger-ID von {name:name}", "creditor ID of {name}"),
    ("bezahlt über {name:name}", "paid through {name}"),
    ("{words:quotations} im Verwendungszweck = {name:name}", "{words} in the purpose = {name}"),
    ("abweichender Name {words:quotations} = {name:name}", "other name {words} = {name}"),
    ("Name {words:quotations} ähnelt {name:name}", "name {words} resembles {name}"),
    ("Name {words:quotations} = {name:name}", "name {words} = {name}"),
    ("{phrase:phrase}: {why:sentence}", "{phrase}: {why}"),
    ("{phrases:phrases}", "{phrases}"),
    # contracts and loans
    ("{contract:sentence}; nächster Betrag {next:phrase}", "{contract}; next amount: {next}"),
    (
        "{contract:sentence}; weitere Zahlungen gewährt das Gesetz in der Regel nicht",
        "{contract}; the law does not usually grant further payments",
    ),
    ("{count:count} Zahlungen, {period:period}", "{count} payments, {period}"),
    ("{count:count} Zahlungen, {period:period}, immer derselbe Betrag", "{count} payments, {period}, always the same amount"),
    (
        "eine Zahlung mit Merkmalen eines Vertrags, vermutlich {period:period}",
        "one payment with the features of a contract, presumably {period}",
    ),
    ("{loan:phrase}; vorzeitig abgelöst", "{loan}; repaid early"),
    # disposable money
    (
        "{salary:sentence}; {euros:euros} Euro gehen per Dauerauftrag auf eigene Sparkonten",
        "{salary}; {euros} go to own savings accounts by standing order",
    ),
    (
        "Gehalt(?: von {name:name})? am {latest:date}, das nächste am {next:date}; bis dahin {expected:sentence}",
        "salary{name? from |}{name} on {latest}, the next one on {next}; until then {expected}",
    ),
    ("{expected:sentence} und übliche Ausgaben", "{expected} and usual expenses"),
    ("{expected:sentence} und übliche Einnahmen und Ausgaben", "{expected} and usual income and expenses"),
    (
        "{expected:sentence}; der Verlauf ist zu kurz für übliche Ausgaben",
        "{expected}; the history is too short for usual expenses",
    ),
    ("{count:count} erwartete Zahlungen", "{count} expected payments"),
    # predictions of cashflow
    ("{basis:sentence}; {yearly:sentence}", "{basis}; {yearly}"),
    (
        "Rechnungen von {payers:count} Kunden brachten in {months:count} Monaten "
        "zwischen {low:euros} und {high:euros} Euro im Monat",
        "invoices of {payers} {payers?customer|customers} brought between {low} and {high} a month in {months} "
        "{months?month|months}",
    ),
    (
        "[Dd]arin {euros:euros} Euro {side:phrase}, die in den Vorjahren im selben Monat anfielen",
        "includes {euros} of {side} that fell in the same month of earlier years",
    ),
    (
        "[Dd]arin {euros:euros} Euro {change:phrase} durch Zahlungen, die in den Vorjahren im selben Monat anfielen",
        "includes {euros} {change} because of payments that fell in the same month of earlier years",
    ),
    # affordability
    ("{count:count} {bookings:phrase}, zuletzt am {date:date}", "{count} {bookings}, most recently on {date}"),
    ("keine {bookings:phrase} seit dem {date:date}", "no {bookings} since {date}"),
    ("{points:points}", "{points}"),
    # life events, stages and sales triggers
    (
        "Neuer Arbeitgeber: Gehalt von {old:name} endet, von {new:name} beginnt am {date:date}",
        "new employer: salary from {old} ends, salary from {new} begins on {date}",
    ),
    (
        "Umzug: Miete an {old:name} endet, an {new:name} beginnt am {date:date}",
        "move: rent to {old} ends, rent to {new} begins on {date}",
    ),
    ("{what:sentence} \\({name:name}\\) am {date:date}", "{what} ({name}) on {date}"),
    ("{what:sentence} am {date:date}", "{what} on {date}"),
    ("{what:phrase} beginnt", "{what} begins"),
    ("{what:phrase} endet", "{what} ends"),
    (
        "in {months:count} Monaten {share:number} % des Einkommens vom Ersparten entnommen",
        "{share}% of income taken from savings in {months} {months?month|months}",
    ),
    (
        "{share:number} % des Einkommens von {months:count} Monaten zurückgelegt",
        "{share}% of the income of {months} {months?month|months} put aside",
    ),
    ("{saving:sentence}; ein Vertrag oder Dauerauftrag spart", "{saving}; a contract or standing order saves"),
    (
        "Einnahme vom {date:date} ist {times:number}-mal so hoch wie ein mittlerer Monat",
        "the income of {date} is {times} times that of an average month",
    ),
    # credit risk
    (
        "nach Punkten {own:class}, höchstens {best:class} wegen: {signals:phrases}",
        "{own} by points, at most {best} because of: {signals}",
    ),
    ("{euros:euros} € Einkommen im Monat", "income of {euros} a month"),
    (
        "in {share:number} % der Monate wenigstens drei Viertel des mittleren Einkommens: {how:phrase}",
        "at least three quarters of the average income in {share}% of the months: {how}",
    ),
    (
        "{share:number} % der Einnahmen kommen regelmäßig von denselben Zahlern",
        "{share}% of income comes regularly from the same payers",
    ),
    (
        "das älteste laufende Einkommen ist {months:number} Monate? lang zu sehen",
        "the oldest current income can be seen for {months} {months?month|months}",
    ),
    ("{share:number} % des Einkommens gehen in regelmäßige Ausgaben", "{share}% of income goes into regular expenses"),
    ("{share:number} % des Einkommens gehen in die Miete", "{share}% of income goes into rent"),
    ("{share:number} % des Einkommens gehen in Kreditraten", "{share}% of income goes into loan instalments"),
    ("{share:number} % des Einkommens gehen in Glücksspiel", "{share}% of income goes into gambling"),
    ("das Girokonto war an {share:number} % der Tage im Minus", "the current account was below zero on {share}% of the days"),
    ("{share:number} % der Ausgaben sind Abhebungen", "{share}% of expenses are cash withdrawals"),
    ("Buchungen mit Anbietern von Kurzzeitkrediten: {count:count}", "bookings with providers of short-term loans: {count}"),
    ("Guthaben für {months:number} Monate? Ausgaben", "savings for {months} {months?month|months} of expenses"),
    ("{months:number} Monate? sind vollständig zu sehen", "{months} {months?month|months} can be seen completely"),
    (
        "eigene Konten oder Kreditkarten, die nicht verbunden sind: {count:count}",
        "own accounts or credit cards that are not connected: {count}",
    ),
    ("{phrase:phrase}: {count:count}", "{phrase}: {count}"),
    ("nur {months:count} von {full:count} vollen Monaten sind zu sehen", "only {months} of {full} full months can be seen"),
    (
        "{count:count} (?:eigenes Konto ist|eigene Konten sind) nicht verbunden",
        "{count} own {count?account is|accounts are} not connected",
    ),
    ("{count:count} Kreditkarten? (?:ist|sind) nicht verbunden", "{count} credit {count?card is|cards are} not connected"),
    (
        "{count:count} Kredite? ohne bekannte Restschuld: für (?:ihn|sie) gilt kein Zinsstress",
        "{count} {count?loan|loans} without a known remaining debt: no interest stress applies to {count?it|them}",
    ),
    # assumptions
    ("Neue Rate von {euros:euros}\\s€ im Monat", "new instalment of {euros} a month"),
    ("Neue Miete von {euros:euros}\\s€ im Monat", "new rent of {euros} a month"),
    ("Das Gehalt ist {euros:euros}\\s€", "the salary is {euros}"),
    (
        "Ein Kind mit {euros:euros}\\s€ Bedarf und {benefit:euros}\\s€ Kindergeld im Monat",
        "a child that needs {euros} and brings {benefit} of child benefit a month",
    ),
)
"""German patterns and their English. The first that holds is taken; `sentence` and `phrase` must be known themselves."""


@cache
def _patterns() -> tuple[SentencePattern, ...]:
    return tuple(_compile(german, text) for german, text in SENTENCES)


def _compile(german: str, text: str) -> SentencePattern:
    kinds = {name: KINDS[kind] for name, kind in PLACE.findall(german)}
    return SentencePattern(re.compile(PLACE.sub(lambda place: f"(?P<{place[1]}>{kinds[place[1]].pattern})", german)), kinds, text)


@cache
def _phrases() -> dict[str, str]:
    return {row["german"]: row["english"] for row in read_rows(TABLE)}


@cache
def _category_names() -> dict[str, str]:
    """System names of categories by their German names."""
    return {item.display_name: item.system_name for item in reversed(trees.tree("CATEGORIES").items)}


@cache
def _period_names() -> dict[str, str]:
    """System names of periods by their German names as they stand inside a sentence."""
    return {item.display_name[:1].lower() + item.display_name[1:]: item.system_name for item in trees.tree("PERIODS").items}
