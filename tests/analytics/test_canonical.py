"""Canonical text: what is the same text, whoever wrote it."""

import re
import unicodedata

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.bank_text import canonical as text

PLAIN = [
    ("Müller & Söhne GmbH", "mueller & soehne gmbh"),
    ("MÜLLER", "mueller"),
    ("Straße", "strasse"),
    ("STRAẞE", "strasse"),
    (unicodedata.normalize("NFD", "Bäckerei Köln für Süßes"), "baeckerei koeln fuer suesses"),
    ("Café São Paulo, Łódź, Ærø", "cafe sao paulo lodz aero"),
    ("Mu\u0308ller", "mueller"),
    ("n\u0303 o\u0301", "n o"),
    ("MÃ¼ller", "mueller"),
    ("GrÃ¶ÃŸe", "groesse"),
    ("Ãœber Ã–l Ã„rger", "ueber oel aerger"),
    ("mã¼ller", "mueller"),
    ("§ 5 Â§ 6", "5 6"),
    ("M?LLER M\ufffdLLER", "m ller m ller"),
    ("REWE-Markt//Berlin/DE", "rewe markt berlin de"),
    ("PAYPAL *SPOTIFY", "paypal spotify"),
    ("H&M", "h&m"),
    ("C & A", "c & a"),
    ("  zu   viele\tBlanks\r\n ", "zu viele blanks"),
    ("Nr. 4711/0815", "nr 4711 0815"),
    ("a\u00a0b\u200bc\u00add", "a bcd"),
    ("ＡＢ１２", "ab12"),
    ("m²", "m2"),
    ("€ 5,00 – „gut“", "5 00 gut"),
    ("日本", ""),
    ("", ""),
    (None, ""),
]
DIGITS = [
    ("4711", "0"),
    ("o2 huk24 1und1 bank11 check24", "o2 huk24 1und1 bank11 check24"),
    ("kg123456fk789012", "kg0fk0"),
    ("RNR12345", "rnr0"),
    ("DE98ZZZ09999999999", "de0zzz0"),
    ("a1b2c3d4", "0"),
    ("2026-04-23T20:21:03", "0 0 0t0 0 0"),
    ("Miete Mai 2026", "miete mai 0"),
    ("1&1 Telecom", "0&0 telecom"),
    ("123ö", "0oe"),
    ("12ä", "12ae"),
    ("x 5ß6", "x 5ss6"),
    ("100%", "0"),
    ("a12&b345", "a12&b0"),
]
NAMES = [
    ("REWE Markt GmbH", "rewe markt"),
    ("REWE SAGT DANKE. 42345", "rewe"),
    ("DANKE, IHR LIDL", "lidl"),
    ("Aldi Süd sagt vielen Dank", "aldi sued"),
    ("Müller GmbH & Co. KG", "mueller"),
    ("Müller & Co", "mueller"),
    ("ALDI GMBH + CO. KG", "aldi"),
    ("H&M Hennes & Mauritz B.V. & Co. KG", "h&m hennes & mauritz"),
    ("PayPal Europe S.a.r.l. et Cie, S.C.A.", "paypal europe"),
    ("Amazon EU S.à r.l.", "amazon eu"),
    ("Turn- und Sportverein 1908 e.V.", "turn und sportverein"),
    ("Versicherung a.G.", "versicherung"),
    ("Café Anton UG (haftungsbeschränkt)", "cafe anton"),
    ("Klarna Bank AB (publ)", "klarna bank"),
    ("Spotify AB", "spotify"),
    ("BeispielGmbH", "beispiel"),
    ("1&1 Telecom GmbH", "0&0 telecom"),
    ("1 und 1 Internet SE", "0 und 0 internet"),
    ("O2 Telefonica", "o2 telefonica"),
    ("huk24", "huk24"),
    ("Shell 1234 Hamburg", "shell hamburg"),
    ("Kaufland Fil. 123", "kaufland"),
    ("AMZN Mktp DE*K34RT8", "amzn mktp de"),
    ("A. B. Meyer", "a b meyer"),
    ("AB Meyer", "ab meyer"),
    ("C & A", "c & a"),
    ("s.Oliver", "s oliver"),
    ("Ihr Bäcker Schüren", "ihr baecker schueren"),
    ("GmbH", "gmbh"),
    ("Vielen Dank", "vielen dank"),
    ("Peter und Paul Müller", "peter und paul mueller"),
    (None, ""),
]


@pytest.mark.parametrize(("given_text", "expected"), PLAIN)
def test_the_plain_form_of(given_text: str | None, expected: str) -> None:
    assert text.plain(pl.Series([given_text], dtype=pl.String)).to_list() == [expected]


@pytest.mark.parametrize(("given_text", "expected"), DIGITS)
def test_digits_collapse_word_by_word(given_text: str, expected: str) -> None:
    assert text.canonical(pl.Series([given_text])).to_list() == [expected]


@pytest.mark.parametrize(("name", "expected"), NAMES)
def test_the_key_of_a_name(name: str | None, expected: str) -> None:
    assert text.name_key(pl.Series([name], dtype=pl.String)).to_list() == [expected]


def test_squeezed_texts_have_no_blanks() -> None:
    assert text.squeeze(pl.Series(["Ihr Einkauf bei eB ay"])).to_list() == ["ihreinkaufbeiebay"]


@given(st.lists(st.one_of(st.none(), st.text(max_size=60)), max_size=20))
def test_any_text_becomes_plain_and_stays_so(values: list[str | None]) -> None:
    column = pl.Series("any", values, dtype=pl.String)
    plain, canonical, keys = text.plain(column), text.canonical(column), text.name_key(column)
    assert all(re.fullmatch(r"([a-z0-9&]+( [a-z0-9&]+)*)?", value) for found in (plain, canonical, keys) for value in found)
    assert text.plain(plain).equals(plain)
    assert text.canonical(plain).equals(canonical)
    assert text.canonical(canonical).equals(canonical)
    assert text.name_key(canonical).equals(keys)


WORDS = [
    "rewe",
    "gmbh",
    "&",
    "co",
    "kg",
    "e",
    "v",
    "s",
    "a",
    "r",
    "l",
    "sagt",
    "danke",
    "ihr",
    "und",
    "42",
    "fil",
    "b1234c",
    "1",
    "ab",
    "nr",
    "mue",
]


@given(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join))
def test_a_key_is_its_own_key(name: str) -> None:
    key = text.name_key(pl.Series([name]))
    assert text.name_key(key).equals(key)


def test_slices_chunks_and_nulls_are_read_like_the_whole() -> None:
    values = [value for value, _ in PLAIN] * 3 + ["kurz", None, "ein längerer Text, der nicht in zwölf Bytes passt"]
    column = pl.Series(values, dtype=pl.String)
    whole = text.plain(column)
    assert text.plain(column[7:31]).equals(whole[7:31])
    assert text.plain(pl.concat([column[:5], column[5:40], column[40:]], rechunk=False)).equals(whole)
    assert text.plain(pl.DataFrame({"a": column}).filter(pl.col("a").is_not_null())["a"]).equals(
        whole.filter(column.is_not_null())
    )
    assert text.plain(column.cast(pl.Categorical)).equals(whole)
    assert text.plain(pl.Series([None, None])).to_list() == ["", ""]
    assert text.plain(pl.Series([], dtype=pl.String)).to_list() == []
