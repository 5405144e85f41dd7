"""Lines and their keys: bookings that say the same are read once, and nothing is read that the key does not cover."""

import re

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.bank_text import lines
from analytics.frames import LINES

TEXTS = ("gv_code", "booking_text", "counterparty_name", "ultimate_name", "purpose", "counterparty_iban")
NAMES = [
    "REWE SAGT DANKE {}//BERLIN/DE", "PayPal Europe S.a.r.l. et Cie S.C.A", "Müller GmbH & Co. KG", "VISA AMZN Mktp DE*{}",
    "Anna Muster", "Landesbank Berlin AG", "SUMUP *CAFE {}", "", None, "MÃ¼ller GmbH & Co. KG", "Klarna Bank AB",
    "BFS health finance GmbH",
]  # fmt: skip
PURPOSES = [
    "EREF+{} MREF+M{}CRED+DE98ZZZ09999999999SVWZ+Rechnung {} vom 01.02.2024",
    "EREF+{} MREF+M{}CRED+DE98ABC09999999999SVWZ+Rechnung {} vom 01.02.2024",
    "PP.{}.PP . BVG, Ihr Einkauf bei BVG",
    "NR XXXX {} BERLIN DE KAUFUMSATZ 27.02 {} ARN{}",
    "Miete Januar EREF: {} IBAN: DE02120300000000202051",
    "Auftraggeber: Lidl {} Buchungstext: Einkauf {} Ref. {}/1",
    "Rechnung {} Zahnarztpraxis Dr. Grün ABWA+Praxis GmbH",
    "2026-04-23T20:21 Debitk.{} 2029-12", "PURP+SALA SVWZ+Gehalt {}", "Danke", "", None,
]  # fmt: skip

PIECES = [
    "EREF", "SVWZ", "CRED", "+", ": ", " ", "//", "/", "*", ";", "DE", "98ZZZ0", "PAYPAL", "VISA", "ihr einkauf bei ", "4711",
    "ä", "Referenz ", "Mandat", "berlin", "KAUFUMSATZ", "via ", "sumup", "amazon", "prime", "Ref. ", "Gläubiger-ID", "x", "GmbH",
    "0 ", "IBAN", "&",
]  # fmt: skip
ODD = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


def bookings(rows: int, seed: int = 1) -> pl.DataFrame:
    """Bookings of few kinds, each with numbers of its own."""
    chance = np.random.default_rng(seed)

    def drawn(texts: list[str | None]) -> list[str | None]:
        chosen = chance.integers(0, len(texts), rows)
        numbers = chance.integers(10**4, 10**9, (rows, 3))
        return [text and text.format(*row) for text, row in zip((texts[k] for k in chosen), numbers.tolist(), strict=True)]

    return pl.DataFrame(
        {
            "amount_cents": chance.choice([-200_000, -4_500, -4_499, -99, 0, 99, 4_500, 310_000], rows),
            "gv_code": drawn(["105", "106", "166", "153", None, "NDDT+105+12"]),
            "booking_text": drawn(["FOLGELASTSCHRIFT", "Lastschrift", "Kartenzahlung", None, "Gutschrift"]),
            "counterparty_name": drawn(NAMES),
            "ultimate_name": drawn(["", None, "EDEKA {}//KÖLN/DE", "Ultimo"]),
            "purpose": drawn(PURPOSES),
            "counterparty_iban": drawn(["DE02120300000000202051", None, ""]),
        },
        schema_overrides=dict.fromkeys(TEXTS, pl.String),
    )


def booking(**values: object) -> pl.DataFrame:
    """One booking; what is not given is missing."""
    whole = {"amount_cents": -1000, **dict.fromkeys(TEXTS), **values}
    return pl.DataFrame([whole], schema={"amount_cents": pl.Int64, **dict.fromkeys(TEXTS, pl.String)})


def key(**values: object) -> int:
    found: int = lines.keys(booking(**values)).item()
    return found


def line(**values: object) -> dict[str, object]:
    return lines.read(booking(**values)).row(0, named=True)


def test_equal_keys_mean_equal_lines() -> None:
    given = bookings(20_000)
    read = lines.read(given)
    assert read["key"].equals(lines.keys(given))
    assert read.unique().height == read["key"].n_unique()
    assert read["key"].n_unique() < given.height * 0.9


def test_other_lines_have_other_keys() -> None:
    read = lines.read(bookings(20_000))
    told = read.select(pl.exclude("key", "channel"))
    assert told.unique().height <= read["key"].n_unique()


def test_a_line_has_the_columns_of_its_schema() -> None:
    assert lines.read(bookings(5)).schema == LINES
    assert lines.read(bookings(5).clear()).schema == LINES
    assert lines.keys(bookings(5).clear()).to_list() == []


def test_a_key_does_not_depend_on_the_rows_beside() -> None:
    given = bookings(3_000)
    keys = lines.keys(given)
    order = pl.Series(np.random.default_rng(2).permutation(given.height))
    assert lines.keys(given[order]).equals(keys[order])
    assert lines.keys(given.slice(701, 1_000)).equals(keys.slice(701, 1_000))
    chunked = pl.concat([given[:100], given[100:101], given[101:]], rechunk=False)
    assert lines.keys(chunked).equals(keys)
    assert lines.keys(chunked[50:2_000]).equals(keys[50:2_000])
    assert lines.read(given[order]).equals(lines.read(given)[order])


def test_one_thread_and_many_find_the_same() -> None:
    given = pl.concat([bookings(20_000), bookings(20_000, seed=3)])
    assert lines.keys(given, threads=1).equals(lines.keys(given, threads=4))


def test_missing_and_empty_texts_are_the_same() -> None:
    assert key(purpose="", booking_text="", gv_code="") == key()
    assert key(counterparty_name="  ", ultimate_name="-") == key()


def test_all_missing_is_a_line_too() -> None:
    found = line()
    assert {
        found[name] for name in ("booking_text", "name", "ultimate", "purpose", "merchant", "city", "via", "creditor_id")
    } == {""}
    assert found["channel"] == "UNKNOWN"


def test_references_dates_and_amounts_do_not_count() -> None:
    first = key(purpose="EREF+4711 MREF+12 SVWZ+Rechnung 4711 vom 01.02.2024", counterparty_name="Müller GmbH")
    assert first == key(purpose="EREF+9 MREF+AB SVWZ+Rechnung 815 vom 31.12.2025", counterparty_name="MUELLER GMBH")
    assert first == key(
        purpose="Rechnung 1 vom 3.4.26 EREF: NONREF IBAN: DE02120300000000202051", counterparty_name="Mu\u0308ller-GmbH"
    )
    assert first == key(purpose="SVWZ+Rechnung 1 vom 3.4.26", counterparty_name="Müller GmbH", amount_cents=-1001)


@pytest.mark.parametrize(
    "other",
    [
        {"amount_cents": 1000}, {"amount_cents": -100_000}, {"gv_code": "106"}, {"booking_text": "Gutschrift"},
        {"counterparty_name": "Anders"}, {"ultimate_name": "Anders"}, {"purpose": "CRED+DE98ZZZ09999999998 SVWZ+Abo"},
        {"purpose": "PURP+SALA SVWZ+Abo"}, {"purpose": "Abo Mai"},
        {"counterparty_iban": "DE02120300000000202051", "purpose": None},
    ],
)  # fmt: skip
def test_everything_that_is_read_counts(other: dict[str, object]) -> None:
    usual: dict[str, object] = {"gv_code": "105", "booking_text": "Lastschrift", "counterparty_name": "Verein", "purpose": "Abo"}
    if other.get("purpose", "") is None:
        assert key(**usual | {"purpose": None}) != key(**usual | other)
    assert key(**usual) != key(**usual | other)


def test_what_the_owner_may_choose_in_a_creditor_id_does_not_count() -> None:
    assert key(purpose="CRED+DE98ZZZ09999999999 SVWZ+Abo") == key(purpose="CRED+DE98ABC09999999999 SVWZ+Abo")
    assert line(purpose="CRED+DE98ABC09999999999 SVWZ+Abo")["creditor_id"] == "DE9809999999999"


def test_zero_counts_as_positive() -> None:
    assert line(amount_cents=0)["positive"]
    assert not line(amount_cents=-1)["positive"]


@pytest.mark.parametrize(
    ("cents", "expected"),
    [
        (0, 1),
        (499, 1),
        (500, 2),
        (-500, 2),
        (1_499, 2),
        (1_500, 3),
        (44_999, 5),
        (45_000, 6),
        (95_200, 7),
        (-300_000, 8),
        (10**12, 8),
    ],
)
def test_amounts_fall_into_bins(cents: int, expected: int) -> None:
    assert line(amount_cents=cents)["amount_bin"] == expected


def test_texts_are_plain_and_fields_apart() -> None:
    found = line(
        booking_text="FOLGE-LASTSCHRIFT",
        counterparty_name="Stadtwerke Köln GmbH",
        purpose="EREF+1 MREF+2 CRED+DE98ZZZ09999999999 PURP+ELEC SVWZ+Abschlag 04/2024 Kd. 4711 ABWA+Anna Müller",
        gv_code="105",
    )
    assert (found["booking_text"], found["name"], found["purpose"]) == (
        "folge lastschrift",
        "stadtwerke koeln gmbh",
        "abschlag 0 0 kd 0",
    )
    assert (found["ultimate"], found["purpose_code"], found["merchant"]) == ("anna mueller", "ELEC", "stadtwerke koeln")


def test_the_bank_s_ultimate_party_counts_more_than_the_purpose_s() -> None:
    assert line(ultimate_name="Haus AG", purpose="SVWZ+Miete ABWE+Anders")["ultimate"] == "haus ag"


def test_a_name_in_the_purpose_is_the_name_where_none_is_given() -> None:
    purpose = "Auftraggeber: Wasser AG Buchungstext: Abschlag Ref. 8X8F/1"
    assert line(purpose=purpose)["name"] == "wasser ag"
    assert line(purpose=purpose, counterparty_name="Anders")["name"] == "anders"


def test_words_of_the_bank_behind_references_belong_to_the_booking_text() -> None:
    found = line(booking_text="Überweisung", purpose="Miete End-to-End-Ref.: NOTPROVIDED Dauerauftrag")
    assert (found["booking_text"], found["channel"], found["purpose"]) == ("ueberweisung dauerauftrag", "STANDINGORDER", "miete")


def test_lines_broken_by_the_bank_are_mended_where_that_is_certain() -> None:
    whole = (
        "Abschlagszahlung Strom und Fernwaerme Musterstrasse Kundennummer 208604237 Vertragskonto 76899324 vielen herzlichen Dank"
    )
    broken = " ".join(whole[i : i + 27] for i in range(0, len(whole), 27))
    assert line(purpose=broken)["purpose"] == line(purpose=whole)["purpose"]
    assert key(purpose=broken) == key(purpose=whole)
    assert line(purpose="Miete Anna")["purpose"] == "miete anna"


@given(st.lists(st.tuples(*(st.one_of(st.none(), st.text(max_size=40), ODD) for _ in TEXTS)), min_size=1, max_size=6))
def test_any_texts_are_read_alone_as_among_others(rows: list[tuple[str | None, ...]]) -> None:
    given_rows = pl.DataFrame(rows, schema=dict.fromkeys(TEXTS, pl.String), orient="row").with_columns(amount_cents=pl.lit(-1))
    together = lines.read(given_rows)
    assert together["key"].equals(lines.keys(given_rows))
    assert together.equals(pl.concat([lines.read(given_rows[row]) for row in range(given_rows.height)]))
    assert all(
        re.fullmatch("[a-z0-9& ]*", value)
        for name in ("booking_text", "name", "ultimate", "purpose", "merchant", "city")
        for value in together[name]
    )


def test_very_long_and_odd_texts_are_read() -> None:
    odd = [
        "x" * 20_000,
        "/" * 500,
        "*" * 500,
        "SVWZ+" * 300,
        "ä" * 3_000,
        "+:;" * 200,
        "1a" * 2_000,
        "REWE//" + "ort " * 900 + "/DE",
        "\x00\x01",
    ]
    for text in odd:
        found = line(purpose=text, counterparty_name=text, ultimate_name=text, booking_text=text)
        assert len(str(found["city"])) < 200
        assert found["key"] == key(purpose=text, counterparty_name=text, ultimate_name=text, booking_text=text)
