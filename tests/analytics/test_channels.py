"""How a booking came about: codes first, then booking texts, then purposes."""

from pathlib import Path

import polars as pl
import pytest

from analytics.bank_text import channels, lines

CODES = [
    ("006", "CARDSETTLE"), ("082", "CASH"), ("083", "CASH"), ("104", "DIRECTDEBIT"), ("105", "DIRECTDEBIT"), ("106", "CARD"),
    ("107", "CARD"), ("108", "DD_RETURN_COLLECTOR"), ("109", "DD_RETURN_COLLECTOR"), ("110", "CARD"), ("116", "TRANSFER"),
    ("117", "STANDINGORDER"), ("118", "TRANSFER"), ("119", "TRANSFER"), ("152", "STANDINGORDER"), ("153", "SALARY"),
    ("154", "VL"), ("155", "VL"), ("156", "PUBLIC"), ("157", "SALARY"), ("159", "TRANSFER_RETURN"), ("160", "TRANSFER_RETURN"),
    ("161", "VL"), ("163", "PUBLIC"), ("166", "TRANSFER"), ("169", "TRANSFER"), ("177", "TRANSFER"), ("181", "DD_RETURN"),
    ("182", "CARD"), ("184", "DD_RETURN"), ("190", "CARD"), ("191", "TRANSFER"), ("193", "DD_RETURN"), ("194", "TRANSFER"),
    ("195", "DIRECTDEBIT"), ("302", "SECURITIES"), ("399", "SECURITIES"), ("601", "LOAN"), ("607", "LOAN"), ("804", "FEE"),
    ("805", "FEE"), ("808", "FEE"), ("811", "FEE"), ("812", "INTEREST"), ("814", "INTEREST"), ("819", "SALARY"),
    ("820", "INTERNAL"), ("825", "LOAN"), ("832", "LOAN"), ("833", "INTERNAL"), ("5", "DIRECTDEBIT"),
    ("NTRF+166+9601", "TRANSFER"), ("999", "UNKNOWN"), ("NMSC", "UNKNOWN"), ("", "UNKNOWN"), (None, "UNKNOWN"),
]  # fmt: skip
TEXTS = [
    ("FOLGELASTSCHRIFT", "DIRECTDEBIT"), ("SEPA-BASISLASTSCHRIFT", "DIRECTDEBIT"), ("Lastschrift", "DIRECTDEBIT"),
    ("SEPA-ELV-LASTSCHRIFT", "CARD"), ("KARTENZAHLUNG", "CARD"), ("DIG. KARTE (APPLE PAY)", "CARD"), ("Visa-Umsatz", "CARD"),
    ("MasterCard Payment", "CARD"), ("Kauf EC-Karte", "CARD"), ("Gutschr. Überweisung", "TRANSFER"),
    ("GUTSCHR. UEBERWEISUNG", "TRANSFER"), ("Echtzeitüberweisung", "TRANSFER"), ("Überweisungsgutschr.", "TRANSFER"),
    ("Übertrag / Überweisung", "TRANSFER"), ("Outgoing Transfer", "TRANSFER"), ("DAUERAUFTRAG", "STANDINGORDER"),
    ("Dauerauftragsbelast", "STANDINGORDER"), ("SEPA Überweisung (Dauerauftrag)", "STANDINGORDER"), ("LOHN  GEHALT", "SALARY"),
    ("Lohn/Gehalt/Rente", "SALARY"), ("SEPA-Gehaltsgutschrift von", "SALARY"),
    ("GUTSCHR. UEBERWEISUNG OEFFENTL. KASSEN", "PUBLIC"), ("VL", "VL"), ("Vermögenswirksame Leistungen", "VL"),
    ("BARGELDAUSZAHLUNG", "CASH"), ("Bargeldauszahlung (Geldautomat)", "CASH"), ("Auszahlung girocard", "CASH"),
    ("BARGELDEINZAHLUNG", "CASH"), ("ENTGELTABSCHLUSS", "FEE"), ("Abschluss", "FEE"), ("Kontoführungsgebühr", "FEE"),
    ("Zinsen", "INTEREST"), ("ABSCHLUSS ZINSEN", "INTEREST"), ("WERTPAPIERE", "SECURITIES"), ("Dividende", "SECURITIES"),
    ("DARLEHENSRATE", "LOAN"), ("Rate", "LOAN"), ("Zins und Tilgung", "LOAN"), ("KREDITKARTENABRECHNUNG", "CARDSETTLE"),
    ("Ausgleich Kreditkarte", "CARDSETTLE"), ("Umbuchung", "INTERNAL"), ("Übertrag", "INTERNAL"),
    ("Retoure", "TRANSFER_RETURN"), ("Vormerkung", "UNKNOWN"), ("Sonstiges", "UNKNOWN"), ("separate Moderation", "UNKNOWN"),
]  # fmt: skip


def channel(
    code: str | None = None, booking_text: str = "", purpose: str = "Text", name: str = "Muster", cents: int = -1000
) -> str:
    """The channel of a booking with an account number."""
    booking = {
        "amount_cents": cents, "gv_code": code, "booking_text": booking_text, "counterparty_name": name,
        "ultimate_name": None, "purpose": purpose, "counterparty_iban": "DE02120300000000202051",
    }  # fmt: skip
    texts = dict.fromkeys((key for key in booking if key != "amount_cents"), pl.String)
    found: str = lines.read(pl.DataFrame([booking], schema_overrides=texts))["channel"].item()
    return found


@pytest.mark.parametrize(("code", "expected"), CODES)
def test_the_transaction_code_tells(code: str | None, expected: str) -> None:
    assert channel(code) == expected


@pytest.mark.parametrize(("booking_text", "expected"), TEXTS)
def test_without_a_code_the_booking_text_tells(booking_text: str, expected: str) -> None:
    assert channel(None, booking_text) == expected


def test_a_code_counts_more_than_a_text() -> None:
    assert channel("153", "GUTSCHRIFT") == "SALARY"
    assert channel("117", "UEBERWEISUNG") == "STANDINGORDER"


def test_without_code_and_text_the_purpose_tells() -> None:
    assert channel(purpose="Lohn Mai") == "SALARY"
    assert channel(purpose="Abschluss Sollzinsen") == "INTEREST"
    assert channel(purpose="EREF+1 MREF+2 SVWZ+Nichts") == "UNKNOWN"


def test_a_card_is_told_by_its_terminal_whatever_it_was_booked_as() -> None:
    assert channel(None, "Lastschrift", "NR XXXX 0027 BERLIN DE KAUFUMSATZ 27.02") == "CARD"
    assert channel(None, "Lastschrift", "Text", "VISA REWE") == "CARD"
    assert channel("105", "Lastschrift", "2023-10-17 Debitk.17 VISA Debit") == "CARD"
    assert channel("105", "Lastschrift", "Text", "REWE//BERLIN/DE") == "CARD"
    assert channel("105", "Lastschrift", "REWE//BERLIN/DE 2024-03-01T12:31 KFN 1 VJ 2512") == "CARD"
    assert channel("106", "BARGELDAUSZAHLUNG", "GA NR00004471 BLZ57069999 0 17.09") == "CASH"
    assert channel("116", "UEBERWEISUNG", "Rueckzahlung Kartenzahlung Kino") == "TRANSFER"
    assert channel("153", "LOHN", "Kaufumsatz Bonus") == "SALARY"


def test_a_purpose_code_says_more_than_a_transfer() -> None:
    assert channel(None, "Gutschrift", "EREF+1 PURP+SALA SVWZ+Mai", cents=200_000) == "SALARY"
    assert channel("166", "Gutschrift", "EREF+1 PURP+BECH SVWZ+Mai", cents=25_000) == "PUBLIC"
    assert channel("105", "Lastschrift", "EREF+1 PURP+SALA SVWZ+Mai") == "DIRECTDEBIT"


def test_a_returned_debit_is_ours_or_one_that_we_collected() -> None:
    assert channel(None, "Rücklastschrift", cents=1000) == "DD_RETURN"
    assert channel(None, "Rücklastschrift", cents=-1000) == "DD_RETURN_COLLECTOR"


def test_the_table_of_channels_is_in_order() -> None:
    assert channels.problems() == []


def test_every_channel_can_be_found() -> None:
    assert {row["channel"] for row in channels.rows()} == set(channels.Channel)


def test_what_is_wrong_in_the_table_is_said(tmp_path: Path) -> None:
    path = tmp_path / "channels.csv"
    path.write_text("kind,match,channel\ncode,10a,CARD\ntxt,Lohn,WAGE\ntext,lohn,SALARY\ntext,lohn,SALARY\n")
    assert channels.problems(path) == [
        "channels.csv:2 match: «10a» is not in plain form",
        f"channels.csv:3 kind: «txt» is none of {', '.join(channels.KINDS)}",
        "channels.csv:3 channel: «WAGE» is no channel",
        "channels.csv:3 match: «Lohn» is not in plain form",
        "channels.csv:5 match: «lohn» stands there twice",
    ]
