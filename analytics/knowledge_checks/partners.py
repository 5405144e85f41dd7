"""Checks of the catalogue of partners (`partners.csv`), one function per subject."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from analytics import trees
from analytics.knowledge import creditors
from analytics.knowledge.catalogue import FLAGS, UNKNOWN
from analytics.knowledge.everyday import everyday
from analytics.knowledge.name_forms import name_forms, spelt
from analytics.knowledge_checks.sheets import Sheet
from analytics.own_tables import FIRST_OWN_NUMBER

PLAIN_TEXT = re.compile(r"[a-z0-9&]+(?: [a-z0-9&]+)*")
SYSTEM_NAME = re.compile(r"[A-Z0-9]+(?:_[A-Z0-9]+)*")
PRIORS = re.compile(r"[A-Z_]+:(?:0\.\d+|1)(?:\|[A-Z_]+:0\.\d+)*")
COLUMN_FORMS = {
    "ibans": (re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}"), "an IBAN without blanks"),
    "country": (re.compile(r"[A-Z]{2}"), "a country code of two letters"),
    "telephone": (re.compile(r"\+[1-9]\d*(?: \d+)+"), "an international number such as +49 30 1234"),
    "website": (re.compile(r"https://[a-z0-9.-]+\.[a-z]{2,}/"), "an address such as https://www.example.de/"),
    "purpose_safe": (re.compile("1"), "1 or empty"),
}
LAST_NUMBER = 9_999
LEGAL_FORMS = frozenset(["gmbh", "mbh", "ag", "se", "kg", "co", "&", "ug", "ohg", "eg", "ev", "ltd", "inc"])
MAX_ALIAS_WORDS = 6
MIN_ALIAS_CHARACTERS = 3
MIN_CHARACTERS_BESIDE_NUMBER = 7
"""Numbers are read as 0: `lotto 24` is then the same as the 17th shop of `lotto`."""


def names(sheet: Sheet) -> Iterator[str]:
    """Numbers, system names and display names."""
    for column in ("number", "system_name", "display_name"):
        yield from sheet.repeated(column)
    numbers = [(line, int(cell) if cell.isdigit() else 0) for line, cell in sheet.cells("number")]
    for line, number in numbers:
        if not (0 < number <= LAST_NUMBER or FIRST_OWN_NUMBER <= number < 2 * FIRST_OWN_NUMBER):
            yield sheet.problem(line, "number", f"must be a whole number from 1 to {LAST_NUMBER}; 0 is {UNKNOWN}")
    for (_, before), (line, number) in pairwise(numbers):
        if number < before:
            yield sheet.problem(line, "number", f"{number} follows {before}; new partners stand at the end, with the next number")
    for line, name in sheet.cells("system_name"):
        if not SYSTEM_NAME.fullmatch(name) or name == UNKNOWN:
            yield sheet.problem(line, "system_name", f"»{name}« must be capitals and digits joined by _, and not {UNKNOWN}")
    for line, name in sheet.cells("display_name"):
        if not name:
            yield sheet.problem(line, "display_name", "is empty; write the name as people know it")


def aliases(sheet: Sheet) -> Iterator[str]:
    """Spellings: their form, their guards, and that each belongs to one partner."""
    owners: dict[str, int] = {}
    common = set(everyday())
    for line, cell in sheet.cells("aliases"):
        if not cell:
            yield sheet.problem(line, "aliases", "is empty; write at least one spelling")
    for line, part in sheet.parts("aliases"):
        if part.partition(":")[2] and part.partition(":")[0] not in name_forms():
            yield sheet.problem(line, "aliases", f"»{part}« is of no kind of name_forms.csv; correct the kind or add it there")
    for line, marked in _spellings(sheet):
        alias = marked.lstrip("^").rstrip("!")
        for sentence in _alias(alias, marked, common):
            yield sheet.problem(line, "aliases", f"»{alias}« {sentence}")
        if owners.setdefault(alias, line) != line:
            yield sheet.problem(line, "aliases", f"»{alias}« belongs to line {owners[alias]} already; leave it with one of them")
    for (alias, line), times in Counter((part.strip("^!"), line) for line, part in _spellings(sheet)).items():
        if times > 1:
            yield sheet.problem(line, "aliases", f"»{alias}« stands here {times} times; once is enough")


def categories(sheet: Sheet) -> Iterator[str]:
    """Categories and their priors."""
    items = set(trees.categories_frame().filter(kind=trees.ITEM)["system_name"])
    for line, cell in sheet.cells("categories"):
        entries = [part.partition(":") for part in cell.split("|")]
        for name, _, _ in entries:
            if name not in items:
                yield sheet.problem(line, "categories", f"»{name}« is not an item of the tree CATEGORIES")
        if not PRIORS.fullmatch(cell):
            yield sheet.problem(line, "categories", f"»{cell}« must be NAME:1 or NAME:0.7|NAME:0.3")
            continue
        priors = [float(prior) for _, _, prior in entries]
        if abs(sum(priors) - 1) > 0.001:
            yield sheet.problem(line, "categories", f"the priors add up to {sum(priors):g}; make it 1")
        if priors != sorted(priors, reverse=True) or len({name for name, _, _ in entries}) < len(entries):
            yield sheet.problem(line, "categories", "write each category once, the most likely first")


def flags(sheet: Sheet) -> Iterator[str]:
    """Flags."""
    for line, flag in sheet.parts("flags"):
        if flag not in FLAGS:
            yield sheet.problem(line, "flags", f"»{flag}« is not one of {', '.join(FLAGS)}")


def insurance(sheet: Sheet) -> Iterator[str]:
    """The main product of insurers."""
    items = set(trees.insurance_types_frame().filter(kind=trees.ITEM)["system_name"])
    for line, row in sheet.rows:
        product = row["insurance"]
        if product and product not in items:
            yield sheet.problem(line, "insurance", f"»{product}« is not an item of the tree INSURANCE_TYPES")
        if product and not {"insurer", "krankenkasse"} & set(row["flags"].split("|")):
            yield sheet.problem(line, "insurance", f"»{product}« needs the flag insurer or krankenkasse")


def creditor_ids(sheet: Sheet) -> Iterator[str]:
    """Creditor ids, with check digits."""
    owners: dict[str, int] = {}
    for line, creditor_id in sheet.parts("creditor_ids"):
        first = owners.setdefault(creditors.without_business_code(creditor_id), line)
        if not creditors.is_valid(creditor_id):
            yield sheet.problem(line, "creditor_ids", f"»{creditor_id}« has a wrong form or check digits; look it up")
        elif first != line:
            yield sheet.problem(line, "creditor_ids", f"»{creditor_id}« belongs to line {first} already, business code aside")


def forms(sheet: Sheet) -> Iterator[str]:
    """The form of IBANs, telephone numbers, websites and postal addresses."""
    for column, (form, description) in COLUMN_FORMS.items():
        for line, part in sheet.parts(column):
            if not form.fullmatch(part):
                yield sheet.problem(line, column, f"»{part}« is not {description}")
    for line, row in sheet.rows:
        if len({bool(row[column]) for column in ("street", "zip", "city", "country")}) > 1:
            yield sheet.problem(line, "zip", "an address has street, zip, city and country, or none of them")


def _spellings(sheet: Sheet) -> Iterator[tuple[int, str]]:
    return ((line, spelling) for line, part in sheet.parts("aliases") for spelling in spelt(part))


def _alias(alias: str, marked: str, common: set[str]) -> Iterator[str]:
    if not PLAIN_TEXT.fullmatch(alias):
        yield "is not plain; write it in a-z0-9& with ae, oe, ue, ss and single blanks"
        return
    if len(marked) - len(alias) > 2 or (marked.startswith("^") and marked.endswith("!")):
        yield "has more than two marks; ! and !! are the guards, or ^ before it"
    if alias.count(" ") >= MAX_ALIAS_WORDS:
        yield f"has more than {MAX_ALIAS_WORDS} words; shorten it"
    core = " ".join(word for word in alias.split() if word not in LEGAL_FORMS)
    if alias == marked and (core in common or len(alias) < MIN_ALIAS_CHARACTERS):
        yield "is an everyday word, name or place, or too short; guard it with ! or !!, or add a word"
    if alias == marked and " " in alias and alias.replace(" ", "") in common:
        yield "is an everyday word when a line break eats its blanks; guard it with ! or !!, or add a word"
    rest = [word for word in re.split("[ &]", alias) if not word.isdigit()]
    if (
        re.search(r"\b\d+\b", alias)
        and alias == marked
        and len(" ".join(rest)) < MIN_CHARACTERS_BESIDE_NUMBER
        and "&" not in alias
    ):
        yield "says too little beside its number, which is read as 0; join them, guard it, or add a word"
