"""The tables of knowledge: what is shipped is in order, and every kind of mistake is found and named."""

import csv
import re
from pathlib import Path

import pytest

from analytics import knowledge, knowledge_checks, trees
from analytics.knowledge import creditors
from analytics.knowledge.catalogue import PARTNER_COLUMNS
from analytics.knowledge_checks.tables import CHECKS, READERS

CATALOGUE = knowledge.partners()
GOOD = {
    "number": "7",
    "system_name": "MUSTERLADEN",
    "display_name": "Musterladen",
    "aliases": "musterladen|muster laden koeln",
    "categories": "LIVING_GROCERIES:0.7|LIVING_OTHER:0.3",
    "flags": "insurer",
    "insurance": "SPECIAL_LEGAL",
    "creditor_ids": "DE98ZZZ09999999999",
    "street": "Weg 1",
    "zip": "50667",
    "city": "Köln",
    "country": "DE",
    "telephone": "+49 221 1234",
    "website": "https://www.example.de/",
    "purpose_safe": "1",
}
BROKEN = {
    "number": {
        "0": "whole number from 1",
        "x": "whole number from 1",
        "10000": "whole number from 1",
    },
    "system_name": {"Musterladen": "capitals", "UNKNOWN": "not UNKNOWN", "A__B": "capitals"},
    "display_name": {"": "is empty", " Musterladen": "begins or ends with a blank"},
    "aliases": {
        "": "is empty",
        "Müller": "not plain",
        "müller gmbh": "not plain",
        "zwei  blanks": "not plain",
        "penny": "everyday word",
        "pearl gmbh": "everyday word",
        "ver di": "line break",
        "ab": "too short",
        "laden!!!": "more than two marks",
        "^laden!": "more than two marks",
        "village:bonn": "of no kind of name_forms.csv",
        "eins zwei drei vier fuenf sechs sieben": "more than 6 words",
        "lotto 24": "read as 0",
        "laden|laden": "2 times",
    },
    "categories": {
        "": "must be NAME:1",
        "LIVING_GROCERIES": "must be NAME:1",
        "LIVING_BREAD:1": "not an item of the tree CATEGORIES",
        "LIVING:1": "not an item of the tree CATEGORIES",
        "LIVING_GROCERIES:0.7|LIVING_OTHER:0.2": "add up to 0.9",
        "LIVING_GROCERIES:0.3|LIVING_OTHER:0.7": "most likely first",
        "LIVING_GROCERIES:0.5|LIVING_GROCERIES:0.5": "each category once",
    },
    "flags": {"insurer|shop": "»shop« is not one of", "": "needs the flag insurer"},
    "insurance": {"SPECIAL_MOON": "not an item of the tree INSURANCE_TYPES"},
    "creditor_ids": {
        "DE97ZZZ09999999999": "check digits",
        "DE98ZZZ0999": "check digits",
        "de98zzz09999999999": "check digits",
    },
    "ibans": {"DE02 1203": "not an IBAN"},
    "country": {"Deutschland": "country code", "": "an address has street"},
    "city": {"": "an address has street"},
    "telephone": {"0221 1234": "international number"},
    "website": {"www.example.de": "an address such as", "http://www.example.de/": "an address such as"},
    "purpose_safe": {"yes": "1 or empty"},
}
MISTAKES = [(column, value, message) for column, values in BROKEN.items() for value, message in values.items()]


def write(folder: Path, *rows: dict[str, str], name: str = "partners.csv", columns: tuple[str, ...] = PARTNER_COLUMNS) -> Path:
    with (folder / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="")
        writer.writeheader()
        writer.writerows(rows)
    return folder


def test_what_is_shipped_is_in_order() -> None:
    assert knowledge_checks.problems() == []


def test_a_good_row_has_no_problems(tmp_path: Path) -> None:
    assert knowledge_checks.problems(write(tmp_path, GOOD)) == []


@pytest.mark.parametrize(("column", "value", "message"), MISTAKES)
def test_a_mistake_is_found_and_named(tmp_path: Path, column: str, value: str, message: str) -> None:
    found = knowledge_checks.problems(write(tmp_path, {**GOOD, column: value}))
    assert any(message in problem for problem in found), found
    assert all(re.match(r"partners\.csv:2 [a-z_]+: ", problem) for problem in found)


def test_an_alias_belongs_to_one_partner(tmp_path: Path) -> None:
    other = {**GOOD, "number": "8", "system_name": "ANDERER", "display_name": "Anderer", "creditor_ids": ""}
    expected = "partners.csv:3 aliases: »musterladen« belongs to line 2 already; leave it with one of them"
    assert knowledge_checks.problems(write(tmp_path, GOOD, {**other, "aliases": "anderer|musterladen!"})) == [expected]


def test_names_numbers_and_creditor_ids_belong_to_one_partner(tmp_path: Path) -> None:
    twin = {**GOOD, "aliases": "zwilling laden", "creditor_ids": "DE98ABC09999999999"}
    found = "\n".join(knowledge_checks.problems(write(tmp_path, GOOD, twin)))
    for column in ("number", "system_name", "display_name", "creditor_ids"):
        assert f"partners.csv:3 {column}: " in found


def test_new_partners_stand_at_the_end(tmp_path: Path) -> None:
    late = {**GOOD, "number": "6", "system_name": "B", "display_name": "B", "aliases": "bee laden", "creditor_ids": ""}
    assert knowledge_checks.problems(write(tmp_path, GOOD, late)) == [
        "partners.csv:3 number: 6 follows 7; new partners stand at the end, with the next number"
    ]


def test_a_wrong_header_and_crooked_rows_are_named(tmp_path: Path) -> None:
    (tmp_path / "partners.csv").write_text("number,name\n1,a\n")
    (tmp_path / "everyday.csv").write_text("word,kind\nhaus,word\nzwei,word,mehr\nhaus,thing\nHaus,word\n")
    found = knowledge_checks.problems(tmp_path)
    assert found[0] == "everyday.csv:3 row: has 3 cells instead of 2; quote cells that contain commas"
    assert [problem.split(": ")[0] for problem in found[1:]] == [
        "everyday.csv:4 word",
        "everyday.csv:5 word",
        "everyday.csv:4 kind",
        "partners.csv:1 header",
    ]


def test_every_file_is_checked_for_more_than_its_shape() -> None:
    assert {path.name for path in knowledge.FOLDER.rglob("*.csv")} == {*CHECKS, *READERS}


@pytest.mark.parametrize(
    ("file", "content", "problems"),
    [
        ("channels.csv", "kind,match,channel\ncode,153,SALARY\ntext,lohn,WAGE\n", ["3 channel: «WAGE» is no channel"]),
        (
            "intermediaries.csv",
            "kind,match,under,via,merchant\nname,klarna,,KLARNA,\nname,klarna,,KLARNA,\n",
            ["3 match: «klarna» stands there twice"],
        ),
        ("cities.csv", "city\naachen\nKöln\n", ["3 city: «Köln» is not in plain form"]),
        (
            "measured.csv",
            "decider,precision,rows\nrule:fine,0.9,7\nfine,0.9,7\nrule:rent,1.2,7\nrule:tax,0.9,-1\nrule:fine,0.8,1\n",
            [
                "6 decider: »rule:fine« stands in line 2 already; merge the two or rename one",
                "3 decider: »fine« is wrong, it begins with insurance:, partner:, rule: or word:",
                "4 precision: »1.2« is wrong, it lies between 0 and 1",
                "5 rows: »-1« is wrong, it is a whole number from 1",
            ],
        ),
    ],
)
def test_tables_of_lines_and_measures_are_checked_too(tmp_path: Path, file: str, content: str, problems: list[str]) -> None:
    (tmp_path / file).write_text(content)
    found = [problem.removesuffix("; run kontor knowledge measure again") for problem in knowledge_checks.problems(tmp_path)]
    assert found == [f"{file}:{problem}" for problem in problems]


@pytest.mark.parametrize("file", [*READERS, "measured.csv"])
def test_tables_of_another_shape_are_named_and_not_read(tmp_path: Path, file: str) -> None:
    (tmp_path / file).write_text("word\nhaus\n")
    (found,) = knowledge_checks.problems(tmp_path)
    assert found.startswith(f"{file}:1 header: write the columns ")


@pytest.mark.parametrize("file", READERS)
def test_crooked_rows_are_named_before_a_table_is_read(tmp_path: Path, file: str) -> None:
    columns = READERS[file].columns
    (tmp_path / file).write_text(f"{','.join(columns)}\n{',' * len(columns)}\n")
    expected = f"{file}:2 row: has {len(columns) + 1} cells instead of {len(columns)}; quote cells that contain commas"
    assert knowledge_checks.problems(tmp_path) == [expected]


def test_the_catalogue_is_large_enough() -> None:
    assert len(CATALOGUE.frame) >= 2_500
    assert len(CATALOGUE.spellings) >= 9_000


def test_every_category_that_a_partner_can_have_has_one() -> None:
    told_otherwise = {"INCOME_RENTAL", "SAVINGS_LIFEINSURANCE", "OTHER_SUPPORT", "BANKFINANCE_CREDITINCOME"}
    items = {
        item.system_name
        for item in trees.tree("CATEGORIES").items
        if item.kind == trees.ITEM and not item.system_name.startswith("TRANSFER_")
    }
    assert items - set(CATALOGUE.priors["category"]) == told_otherwise


def test_every_flag_has_partners() -> None:
    assert [flag for flag in knowledge.FLAGS if not CATALOGUE.frame[flag].any()] == []


@pytest.mark.parametrize(
    ("flag", "names"),
    {
        "insurer": ["ALLIANZ", "HUK24", "ARAG", "AGILA", "DEVK"],
        "krankenkasse": ["TK", "BARMER", "AOK", "BKK", "KNAPPSCHAFT"],
        "lender": ["TARGOBANK", "SANTANDER", "AUXMONEY", "KFW"],
        "bausparkasse": ["SCHWAEBISCH_HALL", "WUESTENROT", "LBS", "BHW"],
        "broker": ["TRADE_REPUBLIC", "SCALABLE_CAPITAL", "BITPANDA", "DEKA"],
        "gambling": ["LOTTO", "TIPICO", "SPIELBANK", "LOTTOLAND"],
        "inkasso": ["EOS", "CREDITREFORM", "INTRUM", "PAIR_FINANCE"],
        "authority_benefit": ["FAMILIENKASSE", "JOBCENTER", "BUNDESAGENTUR_FUER_ARBEIT"],
        "authority_tax": ["FINANZAMT", "BUNDESKASSE", "HAUPTZOLLAMT", "STADTKASSE"],
        "intermediary": ["PAYPAL", "KLARNA", "SUMUP", "ADYEN", "STRIPE"],
        "health_billing": ["PVS", "DZR", "BFS_HEALTH_FINANCE"],
    }.items(),
)
def test_the_seeds_of_the_design_carry_their_flags(flag: str, names: list[str]) -> None:
    flagged = set(CATALOGUE.frame.filter(flag)["partner"])
    assert set(names) - flagged == set()


def test_creditor_ids_are_compared_without_their_business_code() -> None:
    assert (
        creditors.without_business_code("DE98ZZZ09999999999")
        == creditors.without_business_code("DE98ABC09999999999")
        == "DE9809999999999"
    )
    assert creditors.is_valid("DE98ABC09999999999")
    assert creditors.is_valid("LU96ZZZ0000000000000000058")
    assert not creditors.is_valid("DE99ZZZ09999999999")


def test_the_version_is_short_and_stays() -> None:
    assert re.fullmatch("[0-9a-f]{8}", knowledge.version())
    assert knowledge.version() == knowledge.version()


def test_a_reduced_catalogue_knows_only_what_is_kept() -> None:
    small = CATALOGUE.reduced({"REWE", "TELEKOM"})
    assert set(small.frame["partner"]) == set(small.spellings["partner"]) == {"REWE", "TELEKOM"}
    assert small.creditors["partner"].to_list() == ["TELEKOM"]
    assert len(CATALOGUE.reduced(lambda name: name.startswith("STADTWERKE_")).frame) > 150
