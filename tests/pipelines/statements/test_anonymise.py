"""Anonymised files: nothing personal remains, the form does, and what was equal stays equal."""

import re

import pytest
from schwifty import IBAN

from pipelines.statements.anonymise import _public_words, anonymised
from pipelines.statements.reading import read
from pipelines.statements.statement import decoded
from tests.pipelines.statements.samples import OTHER, OWN, SAMPLES, Sample
from tests.pipelines.statements.test_hostile import CAMT, HISTORY, MT940

KEY = b"0" * 32
FILES = {"CAMT": CAMT, "MT940": MT940, **{f"{sample.format} {place}": sample.content for place, sample in enumerate(SAMPLES)}}
PERSONAL = (OWN, OTHER, "Erika", "Muster", "Beispiel", "Jürgen", "Kunde Kurz", "Blum", "DE98ZZZ09999999999", "1234567")
"""What persons, accounts and references are called in the samples."""


def plain(content: bytes) -> str:
    return re.sub(r"[\r\n]", "", decoded(content))


@pytest.mark.parametrize("name", FILES)
def test_nothing_personal_remains(name: str) -> None:
    masked = plain(anonymised(FILES[name], KEY)).casefold()
    assert [word for word in PERSONAL if re.search(rf"\b{re.escape(word.casefold())}\b", masked)] == []


@pytest.mark.parametrize("name", FILES)
def test_words_that_remain_are_public(name: str) -> None:
    """Of the values that are read, which leaves out codes and names of columns."""
    before = {word for text in values(FILES[name]) for word in re.findall(r"[^\W\d_]{2,}|[0-9]{5,}", text)}
    after = {word for text in values(anonymised(FILES[name], KEY)) for word in re.findall(r"[^\W\d_]{2,}|[0-9]{5,}", text)}
    tags = {"EREF", "MREF", "CRED", "KREF", "SVWZ", "OAMT", "COAM", "EUR", "USD", "GBP", "DE", "ZZZ", "IE"}
    umlauts = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})
    kept = {word for word in before & after if word.casefold().translate(umlauts) not in _public_words()}
    assert kept - tags == set()


def values(content: bytes) -> list[str]:
    """The texts of a file as they are read, and its account."""
    columns = ("purpose", "counterparty_name", "counterparty_iban", "counterparty_bic")
    return [
        text
        for statement in read(content)
        for text in (statement.account.iban or "", *(value for name in columns for value in statement.bookings[name] if value))
    ]


@pytest.mark.parametrize("name", FILES)
def test_the_form_remains(name: str) -> None:
    """The same format, days and number of lines, amounts of the same length, and other amounts."""
    before, after = read(FILES[name]), read(anonymised(FILES[name], KEY))
    assert [statement.format for statement in before] == [statement.format for statement in after]
    for old, new in zip(before, after, strict=True):
        assert old.bookings["booked_on"].to_list() == new.bookings["booked_on"].to_list()
        assert old.bookings["pending"].to_list() == new.bookings["pending"].to_list()
        assert old.bookings["amount_cents"].to_list() != new.bookings["amount_cents"].to_list()
        lengths = [[len(str(cents)) for cents in part.bookings["amount_cents"]] for part in (old, new)]
        assert lengths[0] == lengths[1]


def test_check_digits_are_right() -> None:
    (statement,) = read(anonymised(CAMT, KEY))
    for iban in {str(statement.account.iban), *statement.bookings["counterparty_iban"].to_list()}:
        assert IBAN(iban).is_valid or IBAN(iban, validate_bban=False)
        assert iban != OWN


def test_the_same_counterparty_has_the_same_pseudonym_in_every_format() -> None:
    names = {str(read(anonymised(content, KEY))[0].bookings["counterparty_name"][0]) for content in (CAMT, MT940)}
    assert len(names) == 1
    assert len(set(read(anonymised(CAMT, KEY))[0].bookings["counterparty_name"])) == 1
    assert names != {HISTORY[0].name}


def test_another_key_gives_other_pseudonyms() -> None:
    assert anonymised(CAMT, KEY) != anonymised(CAMT, b"1" * 32)


def test_a_file_that_is_no_statement_is_replaced_too() -> None:
    text = 'Herr Xaver Ypsilon;"12,34";Geheimnis\n<kaputt>'.encode("latin-1")
    masked = anonymised(text, KEY).decode("latin-1")
    assert not re.search("xaver|ypsilon|geheimnis|12,34", masked, re.I)
    assert len(masked) == len(text)
    assert re.sub(r"\w", "", masked) == re.sub(r"\w", "", text.decode("latin-1"))


def test_comments_and_unknown_attributes_of_xml_do_not_remain() -> None:
    content = CAMT.replace(b"<GrpHdr>", b'<!-- Erika Xanthippe --><GrpHdr note="Xanthippe &#88;anthippe">')
    assert b"anthippe" not in anonymised(content, KEY)


def test_the_catalogue_keeps_no_names_of_persons() -> None:
    assert {"erika", "mueller", "schmidt", "anna"} & _public_words() == set()
    assert {"rewe", "miete"} <= _public_words()


@pytest.mark.parametrize("sample", SAMPLES[:3], ids=lambda sample: sample.format)
def test_the_encoding_remains(sample: Sample) -> None:
    assert anonymised(sample.content, KEY).decode(sample.encoding)
    assert len(anonymised(sample.content, KEY)) == len(sample.content)
