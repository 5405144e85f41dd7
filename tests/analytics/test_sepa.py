"""The SEPA fields of a purpose, as a table of the ways in which banks write them and parsers go wrong. All data are invented."""

import polars as pl
import pytest

from analytics.bank_text import sepa

CRED = "DE98ZZZ09999999999"
IBAN = "DE02120300000000202051"
PAYPAL = "LU96ZZZ0000000000000000058"


def broken(text: str, width: int = 27) -> str:
    """The text as banks print it that put a blank where a line ends."""
    return " ".join(text[i : i + width] for i in range(0, len(text), width))


CASES = [
    # what is special, the purpose, its fields
    ("plus signs, joined without blanks",
     "EREF+4711-1MREF+41310-1CRED+DE98ZZZ09999999999SVWZ+Rechnung 11063225",
     {"eref": "4711-1", "mref": "41310-1", "cred": CRED, "svwz": "Rechnung 11063225", "remittance": "Rechnung 11063225"}),
    ("plus signs with blanks",
     "EREF+0600496348 MREF+D-VR-50411866-0-001 PURP+SUPP SVWZ+Wartung, Leistung 08/2026",
     {"eref": "0600496348", "mref": "D-VR-50411866-0-001", "purp": "SUPP", "remittance": "Wartung, Leistung 08/2026"}),
    ("colons and blanks",
     "EREF: 790255931563 MREF: 46710054 CRED: DE98ZZZ09999999999 SVWZ: Beitrag Mai",
     {"eref": "790255931563", "mref": "46710054", "cred": CRED, "remittance": "Beitrag Mai"}),
    ("colons without blanks",
     "EREF:790255931563MREF:46710054SVWZ:Beitrag Mai",
     {"eref": "790255931563", "mref": "46710054", "remittance": "Beitrag Mai"}),
    ("both separators mixed",
     "EREF+111 MREF: 222 CRED+DE98ZZZ09999999999 SVWZ: Abo Juni",
     {"eref": "111", "mref": "222", "cred": CRED, "remittance": "Abo Juni"}),
    ("the purpose leads, tags follow",
     "Miete Januar EREF: NOTPROVIDED IBAN: DE02120300000000202051 BIC: BYLADEM1001",
     {"eref": None, "iban": IBAN, "bic": "BYLADEM1001", "remittance": "Miete Januar", "svwz": None}),
    ("leading text yields to a purpose of its own",
     "LASTSCHRIFT SVWZ+Beitrag 12",
     {"svwz": "Beitrag 12", "remittance": "Beitrag 12"}),
    ("an empty purpose leaves the leading text",
     "Miete Juli EREF+NONREF SVWZ+",
     {"eref": None, "svwz": None, "remittance": "Miete Juli"}),
    ("a purpose of blanks leaves the leading text",
     "Miete Juli SVWZ+   ABWA+Anna Muster",
     {"remittance": "Miete Juli", "abwa": "Anna Muster"}),
    ("nothing but tags", "EREF+4711MREF+4712", {"eref": "4711", "mref": "4712", "remittance": None}),
    ("no tags", "Danke fuer das Essen", {"eref": None, "remittance": "Danke fuer das Essen"}),
    ("an empty purpose", "", {"eref": None, "remittance": None}),
    ("only blanks", "   ", {"remittance": None}),
    ("the tags repeated in the purpose: the first value wins",
     "SVWZ+Miete Mai EREF: 4711 MREF: 1 EREF: 4712 SVWZ+Miete Juni",
     {"svwz": "Miete Mai", "eref": "4711", "mref": "1", "remittance": "Miete Mai"}),
    ("the whole block twice",
     "EREF: 1 CRED: DE98ZZZ09999999999 SVWZ: Abo EREF: 1 CRED: DE98ZZZ09999999999 SVWZ: Abo",
     {"eref": "1", "cred": CRED, "remittance": "Abo"}),
    ("a first value that is empty yields to the second", "EREF+ SVWZ+Abo EREF+4711", {"eref": "4711", "remittance": "Abo"}),
    ("unknown tags of four letters stay in the purpose", "SVWZ+Miete WXYZ+12 ABCD: 3", {"remittance": "Miete WXYZ+12 ABCD: 3"}),
    ("words with colons stay in the purpose",
     "Rechnung: 4711, Kunde: 12, Objekt: Nord 3",
     {"remittance": "Rechnung: 4711, Kunde: 12, Objekt: Nord 3"}),
    ("times stay in the purpose", "SVWZ+2026-01-09T18:47:58 Folgenr. 0", {"remittance": "2026-01-09T18:47:58 Folgenr. 0"}),
    ("sums stay in the purpose", "SVWZ+Miete 500+Strom 50", {"remittance": "Miete 500+Strom 50"}),
    ("a single digit on the next line belongs to the reference",
     "EREF+1234567890123456789012 3 MREF+A SVWZ+Abo",
     {"eref": "12345678901234567890123", "mref": "A", "remittance": "Abo"}),
    ("a mandate over the line break",
     "MREF+ABCDEFGHIJKLMNOPQRSTUV 45678SVWZ+Abo",
     {"mref": "ABCDEFGHIJKLMNOPQRSTUV45678", "remittance": "Abo"}),
    ("a reference with blanks of its own",
     "EREF+1046773997197 PP.8078.PP PAYPALMREF+5JJJ2253SVWZ+Einkauf",
     {"eref": "1046773997197 PP.8078.PP PAYPAL", "mref": "5JJJ2253", "remittance": "Einkauf"}),
    ("a tag torn by the line break", "EREF+4711MREF+47124713 SV WZ+Miete Mai", {"mref": "47124713", "remittance": "Miete Mai"}),
    ("a tag torn after one letter", "EREF+4711 M REF+4712 SVWZ+Abo", {"eref": "4711", "mref": "4712", "remittance": "Abo"}),
    ("a tag torn from its separator", "EREF+4711 SVWZ +Abo Mai", {"eref": "4711", "remittance": "Abo Mai"}),
    ("a torn creditor id", "CRED+DE98ZZZ0999 9999999 SVWZ+Abo", {"cred": CRED, "remittance": "Abo"}),
    ("a creditor id in small letters", "cred: de98zzz09999999999 svwz: Abo", {"cred": CRED, "remittance": "Abo"}),
    ("a foreign creditor id", "CRED+LU96ZZZ0000000000000000058SVWZ+Einkauf", {"cred": PAYPAL, "remittance": "Einkauf"}),
    ("a creditor id with letters",
     "CRED+DE54DBK00000054093 SVWZ+Kranken",
     {"cred": "DE54DBK00000054093", "remittance": "Kranken"}),
    ("no creditor id at all", "CRED+NOTPROVIDED SVWZ+Abo", {"cred": None, "remittance": "Abo"}),
    ("something else as creditor id", "CRED+12345 SVWZ+Abo", {"cred": None, "remittance": "Abo"}),
    ("an account number in groups",
     "Miete IBAN: DE02 1203 0000 0000 2020 51 BIC: BYLADEM1001",
     {"iban": IBAN, "bic": "BYLADEM1001", "remittance": "Miete"}),
    ("a bank code in groups", "Miete BIC: BYLA DE M1 001", {"bic": "BYLADEM1001", "remittance": "Miete"}),
    ("a short bank code and text behind it",
     "BIC: COBADEFF Taschengeld Mai",
     {"bic": "COBADEFF", "remittance": "Taschengeld Mai"}),
    ("an Austrian account",
     "IBAN+AT611904300234573201BIC+BKAUATWWSVWZ+Pacht",
     {"iban": "AT611904300234573201", "bic": "BKAUATWW", "remittance": "Pacht"}),
    ("text behind an account number that is full",
     "IBAN+DE02120300000000202051 Taschengeld fuer Anna",
     {"iban": IBAN, "remittance": "Taschengeld fuer Anna"}),
    ("text behind a creditor id that is full",
     "CRED+DE98ZZZ09999999999 Beitrag Verein",
     {"cred": CRED, "remittance": "Beitrag Verein"}),
    ("text behind the only reference",
     "EREF+123456789 Ticket-Bestellung 2015XALSK",
     {"eref": "123456789", "remittance": "Ticket-Bestellung 2015XALSK"}),
    ("no reference but words for it",
     "EREF+NOTPROVIDED KREF+NONREF MREF+nicht angegeben SVWZ+Abo",
     {"eref": None, "kref": None, "mref": None}),
    ("the ultimate parties",
     "SVWZ+Miete ABWA+Anna Muster ABWE+Haus & Grund GmbH",
     {"abwa": "Anna Muster", "abwe": "Haus & Grund GmbH", "remittance": "Miete"}),
    ("a purpose code", "EREF+1 PURP+SALA SVWZ+Lohn 05/26", {"purp": "SALA", "remittance": "Lohn 05/26"}),
    ("amounts of a returned debit",
     "OAMT+45,90 COAM+3,00 SVWZ+Retoure RREF+R12 BREF+B34",
     {"oamt": "45,90", "coam": "3,00", "rref": "R12", "bref": "B34", "remittance": "Retoure"}),
    ("debtor and differing debtor", "DEBT+D1 DBET+D2 SVWZ+Text", {"debt": "D1", "dbet": "D2", "remittance": "Text"}),
    ("a code of a TAN procedure",
     "SVWZ+Miete TAN1:--------DATUM 23.12.2020",
     {"remittance": "Miete", "tan1": "--------DATUM 23.12.2020"}),
    ("small letters as words of their own", "Miete eref: 4711 mref: 12", {"eref": "4711", "mref": "12", "remittance": "Miete"}),
    ("small letters inside a word are no tag",
     "Bescheref: nein, Arabic: ja",
     {"eref": None, "bic": None, "remittance": "Bescheref: nein, Arabic: ja"}),
    ("umlauts around tags",
     "SVWZ+Größe für Müßiggänger ABWA+Jürgen Öztürk",
     {"remittance": "Größe für Müßiggänger", "abwa": "Jürgen Öztürk"}),
    ("line breaks as such", "EREF+4711\nSVWZ+Abo\r\nMai", {"eref": "4711", "remittance": "Abo\r\nMai"}),
    ("labels with reference behind (Commerzbank)",
     "Kd-Nr.: 51, Ihre Rechnung End-to-End-Ref.: 6786327315RCUR CORE / Mandatsref.: T2312341B8 Gläubiger-ID:"
     " DE98ZZZ09999999999 SEPA-BASISLASTSCHRIFT wiederholend",
     {"eref": "6786327315RCUR", "mref": "T2312341B8", "cred": CRED, "remittance": "Kd-Nr.: 51, Ihre Rechnung"}),
    ("labels in capitals, glued together",
     "HAENDLER - EINZUG 4711END-TO-END-REF.:4711CORE / MANDATSREF.:900001GLÄUBIGER-ID:DE98ZZZ09999999999",
     {"eref": "4711", "mref": "900001", "cred": CRED, "remittance": "HAENDLER - EINZUG 4711"}),
    ("labels with nothing to say", "Miete Mai End-to-End-Ref.: nicht angegeben", {"eref": None, "remittance": "Miete Mai"}),
    ("PayPal with labels",
     "1046773997197/PP.8078.PP/. Beispiel GmbH, Ihr Einkauf bei Beispiel GmbH End-to-End-Ref.: 1046773997197 CORE /"
     " Mandatsref.: 5JJJ2253Q3P8Q Gläubiger-ID: LU96ZZZ0000000000000000058",
     {"eref": "1046773997197", "cred": PAYPAL,
      "remittance": "1046773997197/PP.8078.PP/. Beispiel GmbH, Ihr Einkauf bei Beispiel GmbH"}),
    ("a company's mandate",
     "Beitrag B2B / Mandatsref.: M-7 Gläubiger-ID: DE98ZZZ09999999999",
     {"mref": "M-7", "cred": CRED, "remittance": "Beitrag"}),
    ("umlauts spelled out",
     "Abo Mandatsref: 12-34 Glaeubiger-ID: DE98ZZZ09999999999",
     {"mref": "12-34", "cred": CRED, "remittance": "Abo"}),
    ("the reference in German words",
     "Abo Ende-zu-Ende-Referenz: 4711 Mandatsreferenz: 12 Gläubiger-Identifikationsnummer: DE98ZZZ09999999999",
     {"eref": "4711", "mref": "12", "cred": CRED, "remittance": "Abo"}),
    ("the customer's reference",
     "Beitrag Kundenreferenz: K-4711 End-to-End-Referenz: NOTPROVIDED",
     {"eref": "K-4711", "remittance": "Beitrag"}),
    ("payer and text (comdirect)",
     "Auftraggeber: LIDL SAGT DANKE Buchungstext: 2026-02-11T18:22 Debitk.5 Ref. Q12C2/2",
     {"party": "LIDL SAGT DANKE", "remittance": "2026-02-11T18:22 Debitk.5", "bref": "Q12C2/2"}),
    ("payee, account and text, glued",
     "Empfänger: Markus MusterKto/IBAN: DE02120300000000202051 BLZ/BIC: BYLADEM1001 Buchungstext: Garten Ref. JM225/2",
     {"party": "Markus Muster", "iban": IBAN, "bic": "BYLADEM1001", "remittance": "Garten", "bref": "JM225/2"}),
    ("payee with spelled umlaut",
     "Empfaenger: Stadt Musterhausen Kto/IBAN: DE02120300000000202051 Buchungstext: 105700524 Ref. JF21/2",
     {"party": "Stadt Musterhausen", "iban": IBAN, "remittance": "105700524"}),
    ("text before the payee", "Buchungstext: Miete 05 Empfänger: Haus GmbH", {"party": "Haus GmbH", "remittance": "Miete 05"}),
    ("the word in a purpose is no label",
     "Fuer Auftraggeber: Muster, Gewerk 7",
     {"party": None, "remittance": "Fuer Auftraggeber: Muster, Gewerk 7"}),
    ("no blanks at all (ING)",
     "StromAbschlagMaiMandat:M-00000001Referenz:R000000000047",
     {"mref": "M-00000001", "eref": "R000000000047", "remittance": "StromAbschlagMai"}),
    ("mandate and reference (ING)",
     "Abschlag Strom Mandat: M-1 Referenz: R-2",
     {"mref": "M-1", "eref": "R-2", "remittance": "Abschlag Strom"}),
    ("a reference in a purpose is none of the bank's",
     "Referenz: 4711 Miete Mai",
     {"eref": None, "remittance": "Referenz: 4711 Miete Mai"}),
    ("a torn label", "Abo Manda tsref.: 12 Gläubig er-ID: DE98ZZZ09999999999", {"mref": "12", "cred": CRED, "remittance": "Abo"}),
    ("a lost umlaut", "Abo Gl\ufffdubiger-ID: DE98ZZZ09999999999", {"cred": CRED, "remittance": "Abo"}),
    ("a label torn before its last letter",
     "Abo Mandatsre f: M-7 Gläubiger-I D: DE98ZZZ09999999999 SEPA-BASISLASTSCHRIFT wiederholend",
     {"mref": "M-7", "cred": CRED, "remittance": "Abo", "note": "SEPA-BASISLASTSCHRIFT wiederholend"}),
    ("the bank's words behind a reference",
     "Abo End-to-End-Ref.: 384097269213 SEPA-BASISLASTSCHRIFT wiederholend",
     {"eref": "384097269213", "remittance": "Abo", "note": "SEPA-BASISLASTSCHRIFT wiederholend"}),
    ("lines of 35",
     "PP.2333.PP . Muster, Ihr Einkauf be i Muster End-to-End-Ref.: 384097269 213 SEPA-BASISLASTSCHRIFT",
     {"eref": "384097269213", "note": "SEPA-BASISLASTSCHRIFT"}),
    ("a country torn in two", "CRED+D E98ZZZ09999999999 SVWZ+Abo", {"cred": CRED, "remittance": "Abo"}),
    ("the bank's reference torn",
     "Auftraggeber: Wasser AG Buchungstext: Abschlag Ref. 8X8F1E66HD3PL1G8 /88531",
     {"party": "Wasser AG", "remittance": "Abschlag", "bref": "8X8F1E66HD3PL1G8 /88531"}),
    ("labels without colons behind the purpose (Deutsche Bank)",
     "VSNR 7613244836 monatlich Kundenreferenz 208184248260 Gläubiger-ID DE98ZZZ09999999999 Mand-ID MREF-2350-1 RCUR"
     " Wiederholungslastschrift",
     {"eref": "208184248260", "cred": CRED, "mref": "MREF-2350-1", "remittance": "VSNR 7613244836 monatlich",
      "note": "RCUR Wiederholungslastschrift"}),
    ("labels without colons in lines of 27",
     "Musikunterricht Anna Aug Ku ndenreferenz 494023598997 G läubiger-ID DE98ZZZ09999999 999 Mand-ID M-227323-1 RCUR"
     "  Wiederholung",
     {"eref": "494023598997", "cred": CRED, "mref": "M-227323-1"}),
    ("labels without colons before the purpose (Postbank)",
     "Referenz 383480592817 Mandat M2551864 Einreicher-ID DE98ZZZ09999999999 Sparbeitrag 12/2023",
     {"eref": "383480592817", "mref": "M2551864", "cred": CRED, "remittance": "Sparbeitrag 12/2023"}),
    ("labels without colons and no reference (Postbank)",
     "Referenz NOTPROVIDED Mandat M2551864 Einreicher-ID DE98ZZZ09999999999 Sparbeitrag 12/2023",
     {"eref": None, "mref": "M2551864", "cred": CRED, "remittance": "Sparbeitrag 12/2023"}),
    ("such words in a purpose",
     "Konferenz am Mandat Referenz Wien",
     {"eref": None, "mref": None, "remittance": "Konferenz am Mandat Referenz Wien"}),
    ("values behind semicolons (Targobank)",
     "VSNR 707643576 Beitrag ; 691588271845 ; DE98ZZZ09999999999 ; M2254159",
     {"eref": "691588271845", "cred": CRED, "mref": "M2254159", "remittance": "VSNR 707643576 Beitrag"}),
    ("a reference behind a semicolon",
     "Rundfunkbeitrag Nr. 623 ; HBKIN7350685208630 - Bitte bei Rückfragen angeben.",
     {"eref": "HBKIN7350685208630", "remittance": "Rundfunkbeitrag Nr. 623", "note": "- Bitte bei Rückfragen angeben."}),
    ("semicolons in a purpose", "Miete; Strom; Wasser 12", {"eref": None, "remittance": "Miete; Strom; Wasser 12"}),
    ("a purpose labelled in German", "Verwendungszweck: Spende Tierheim", {"remittance": "Spende Tierheim"}),
]  # fmt: skip


@pytest.mark.parametrize(("purpose", "expected"), [pytest.param(*case[1:], id=case[0]) for case in CASES])
def test_the_fields_of_a_purpose_are_found_although(purpose: str, expected: dict[str, str | None]) -> None:
    found = sepa.fields(pl.Series([purpose])).row(0, named=True)
    assert {name: found[name] for name in expected} == expected


def test_a_column_is_cut_row_by_row_whatever_stands_beside() -> None:
    purposes = [purpose for _, purpose, _ in CASES]
    together = sepa.fields(pl.Series([*purposes, None]))
    assert together.height == len(CASES) + 1
    assert together.head(len(CASES)).rows() == [sepa.fields(pl.Series([purpose])).row(0) for purpose in purposes]
    assert set(together.row(-1)) == {None}


def test_a_slice_of_chunks_with_nulls_is_read_like_the_whole() -> None:
    purposes = pl.Series([*(purpose for _, purpose, _ in CASES), None, "x" * 5000])
    chunked = pl.concat([purposes.head(7), pl.Series([None], dtype=pl.String), purposes[7:]], rechunk=False)
    assert sepa.fields(chunked[5:40]).equals(sepa.fields(purposes)[5:7].vstack(sepa.fields(chunked[7:40])))
    assert sepa.fields(purposes.slice(11, 13)).equals(sepa.fields(purposes).slice(11, 13))


def test_columns_and_types_are_always_the_same() -> None:
    assert sepa.fields(pl.Series([], dtype=pl.String)).schema == dict.fromkeys(sepa.COLUMNS, pl.String)
    assert sepa.fields(pl.Series([None, None], dtype=pl.String)).schema == dict.fromkeys(sepa.COLUMNS, pl.String)
