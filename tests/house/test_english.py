"""Every text that people read has English: the names of tags, the reasons of rules, the sentences of analyses."""

import re
from collections.abc import Iterator

import orjson
import pytest

from analytics import trees
from analytics.analyses.affordability import flags, literacy
from analytics.analyses.contracts.amounts import NEXT_AMOUNT_REASONS
from analytics.analyses.credit_risk.scorecard import VALUE, scorecard
from analytics.analyses.life_events.contract_events import CONTRACT_EVENTS
from analytics.analyses.loans import REASONS as LOAN_REASONS
from analytics.english import items
from analytics.english.sentences import english, has_english
from analytics.knowledge.files import TABLES
from analytics.tagging import business_accounts, corrections, merchants
from analytics.trees import Item
from analytics.trees.files import read_rows
from api.routes.what_if import REASONS as ASSUMPTIONS
from pipelines.results.documents.credit_risk import NOTICE
from pipelines.results.english import english_document

GERMAN = re.compile(r"[äöüßÄÖÜ»«]|\b(?:der|die|das|und|oder|ein|eine|einer|eines|im|am|für|mit|von|nicht|gehört|gehören)\b")
GERMAN_NAMES = re.compile(r"BAföG|Rürup|EÜR|Deutschlandticket|Anlage")
VALUES = {"euros": "2.500 €", "percent": "34,6 %", "months": "3,5 Monate", "count": "3"}
ALL_ITEMS = [(tree.system_name, item) for tree in trees.trees() for item in tree.items]
OWN_ITEMS = [(tree, item) for tree, item in ALL_ITEMS if tree not in (items.PARTNERS, items.TIMES)]


def rule_reasons() -> Iterator[str]:
    for table in ("rules", "insurance", "freelancer"):
        yield from (row["reason"] for row in read_rows(TABLES / f"{table}.csv") if row["reason"])


def scorecard_reasons() -> Iterator[str]:
    for signal in scorecard().signals:
        yield signal.display_name
        yield from (range_.reason.replace(VALUE, VALUES[signal.unit]) for range_ in signal.all_ranges)


def analysis_reasons() -> Iterator[str]:
    yield from (f"12 Zahlungen, monatlich; nächster Betrag {reason}" for reason in NEXT_AMOUNT_REASONS)
    yield from (f"{reason}; vorzeitig abgelöst" for reason in LOAN_REASONS.values())
    yield from LOAN_REASONS.values()
    for one, several in flags.FLAGS.values():
        yield from (
            f"1 {one}, zuletzt am 03.11.2026",
            f"2 {several}, zuletzt am 03.11.2026",
            f"keine {several} seit dem 01.11.2025",
        )
    yield "; ".join(f"{points:+d} {reason}" for points, _, reason in literacy._rules())
    for description in CONTRACT_EVENTS["description"]:
        yield from (f"{description} {change} (Muster GmbH) am 03.11.2026" for change in ("beginnt", "endet"))
    yield from (text for _, text in (corrections.CHOICE, corrections.OWN_RULE, corrections.TENANT_RULE))
    yield from (business_accounts.REASON, merchants.REASON, NOTICE)
    yield from (text.format(amount="1.200,00 €", benefit="259,00 €") for text in ASSUMPTIONS.values())
    for words in ("eigenes Konto ist nicht verbunden", "Kreditkarte ist nicht verbunden"):
        yield f"1 {words}"


@pytest.mark.parametrize("reasons", [rule_reasons, scorecard_reasons, analysis_reasons])
def test_every_reason_has_english(reasons: object) -> None:
    texts = set(reasons()) if callable(reasons) else set()
    assert texts
    assert {text for text in texts if not has_english(text)} == set()


def test_every_item_of_every_tree_has_english() -> None:
    for tree in trees.trees():
        translated = items.tree(tree.system_name)
        assert [(item.id, item.system_name, item.parent) for item in translated.items] == [
            (item.id, item.system_name, item.parent) for item in tree.items
        ]
        assert all(item.display_name and item.description.endswith(".") for item in translated.items)


def test_no_german_is_left_in_names_and_descriptions() -> None:
    names = {name for tree, item in OWN_ITEMS for name in items.item_names(tree, item.system_name)}
    times = {name for item in trees.tree(items.TIMES).items for name in items.item_names(items.TIMES, item.system_name)}
    assert {name for name in names | times if GERMAN.search(GERMAN_NAMES.sub("", name))} == set()


def test_no_english_is_left_over() -> None:
    known = {(tree, item.system_name) for tree, item in ALL_ITEMS} | {(items.TREES, tree.system_name) for tree in trees.trees()}
    assert {(row["tree"], row["system_name"]) for row in read_rows(items.TABLE)} - known == set()


def test_names_within_a_group_differ() -> None:
    for tree in {tree for tree, _ in OWN_ITEMS}:
        by_parent: dict[str, list[str]] = {}
        for item in items.tree(tree).items:
            by_parent.setdefault(item.parent, []).append(item.display_name)
        assert all(len(set(names)) == len(names) for names in by_parent.values()), tree


def test_a_year_of_long_ago_has_english() -> None:
    assert items.tree("CASHFLOW").item("1999_M03").display_name == "March 1999"
    assert items.tree("CASHFLOW").item("2026_W07").description == "Payments from 9 February 2026 to 15 February 2026."


@pytest.mark.parametrize(
    ("german", "text"),
    [
        ("Miete endet (Wohnbau eG) am 31.10.2026", "Rent ends (Wohnbau eG) on 31 October 2026"),
        ("2.500 € Einkommen im Monat", "income of €2,500 a month"),
        ("Guthaben für 1 Monat Ausgaben", "Savings for 1 month of expenses"),
        ("Guthaben für 1,5 Monate Ausgaben", "Savings for 1.5 months of expenses"),
        (
            "Gehalt am 30.10.2026, das nächste am 30.11.2026; bis dahin eine erwartete Zahlung und übliche Ausgaben; "
            "1.550,00 Euro gehen per Dauerauftrag auf eigene Sparkonten",
            "Salary on 30 October 2026, the next one on 30 November 2026; until then one expected payment and usual expenses; "
            "€1,550.00 go to own savings accounts by standing order",
        ),
        (
            "Gehalt am 30.10.2026, das nächste am 30.11.2026; bis dahin 2 erwartete Zahlungen und übliche Einnahmen und Ausgaben",
            "Salary on 30 October 2026, the next one on 30 November 2026; until then 2 expected payments and usual income and "
            "expenses",
        ),
        (
            "unsicher, am ehesten Lebensmittel: Wörter »Bio«, »Markt«",
            "uncertain, most likely Groceries: words “Bio”, “Markt”",
        ),
        ("Name »Rewe {name}« = REWE", "Name “Rewe {name}” = REWE"),
        ("Ein Satz, den es nicht gibt", "Ein Satz, den es nicht gibt"),
    ],
)
def test_sentences_read_well(german: str, text: str) -> None:
    assert english(german) == text


def test_only_texts_of_documents_change() -> None:
    item = {
        "displayName": "Miete",
        "systemName": "HOUSING_RENT",
        "description": "…",
        "tagTree": {"systemName": "CATEGORIES", "displayName": "Kategorien", "description": "…"},
    }
    details = {"reason": "eigene Wahl", "status": "ACTIVE", "counterpartyName": "Miete", "missing": [], "amountNext": -12.5}
    body = {"entity": {"displayName": "Miete"}, "tagTreeItem": item, "details": details}

    translated = orjson.loads(english_document(orjson.dumps(body)))
    assert translated["tagTreeItem"]["displayName"] == "Rent"
    assert translated["tagTreeItem"]["tagTree"]["displayName"] == "Categories"
    assert translated["details"] == {**details, "reason": "own choice"}
    assert translated["entity"] == {"displayName": "Miete"}


def test_items_of_partners_keep_their_names() -> None:
    german: Item = trees.tree(items.PARTNERS).item("REWE")
    assert items.tree(items.PARTNERS).item("REWE").display_name == german.display_name == "REWE"
    assert "Groceries" in items.tree(items.PARTNERS).item("REWE").description
