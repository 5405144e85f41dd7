"""Small exports of every CSV format, written by hand after what banks document and clients tell. No person in them exists.

Accounts are made-up numbers with valid check digits. Each sample has the encoding, preamble and habits of its bank.
"""

# ruff: noqa: E501  lines of files stay lines

from dataclasses import dataclass
from datetime import date

OWN = "DE02370501980001802057"
OTHER = "DE89370400440532013000"


@dataclass(frozen=True)
class Sample:
    """A file, and what must be read from it: day, cents, name, IBAN and purpose of each line, the oldest first."""

    format: str
    text: str
    rows: tuple[tuple[date, int, str | None, str | None, str | None], ...]
    encoding: str = "utf-8"
    iban: str | None = None
    opening: int | None = None
    closing: int | None = None
    pending: tuple[bool, ...] = ()

    @property
    def content(self) -> bytes:
        return self.text.encode(self.encoding)


SAMPLES = (
    Sample(
        "Kontor",
        "\ufeffKonto;Kontoname;Buchungstag;Wertstellung;Betrag;Währung;Name;IBAN;BIC;Abweichender Name;Verwendungszweck;Buchungstext;"
        "GV-Code;Primanota;Status\r\n"
        f'{OWN};Girokonto;2026-03-02;2026-03-03;-850,00;EUR;Hausverwaltung Huber;{OTHER};COBADEFFXXX;;"EREF+E-1\nSVWZ+Miete";'
        "DAUERAUFTRAG;117;9310;gebucht\r\n"
        f"{OWN};Girokonto;2026-03-04;;-9,10;EUR;'=SUMME(A1);;;;Einkauf;;;;vorgemerkt\r\n",
        (
            (date(2026, 3, 2), -85000, "Hausverwaltung Huber", OTHER, "EREF+E-1\nSVWZ+Miete"),
            (date(2026, 3, 4), -910, "=SUMME(A1)", None, "Einkauf"),
        ),
        iban=OWN,
        pending=(False, True),
    ),
    Sample(
        "Sparkasse CSV-CAMT",
        '"Auftragskonto";"Buchungstag";"Valutadatum";"Buchungstext";"Verwendungszweck";"Glaeubiger ID";"Mandatsreferenz";'
        '"Kundenreferenz (End-to-End)";"Sammlerreferenz";"Lastschrift Ursprungsbetrag";"Auslagenersatz Ruecklastschrift";'
        '"Beguenstigter/Zahlungspflichtiger";"Kontonummer/IBAN";"BIC (SWIFT-Code)";"Betrag";"Waehrung";"Info"\r\n'
        f'"{OWN}";"03.03.26";"03.03.26";"FOLGELASTSCHRIFT";"Abschlag März";"DE98ZZZ09999999999";"M-1";"E-1";"";"";"";'
        f'"Stadtwerke Köln";"{OTHER}";"COBADEFFXXX";"-1168,50";"EUR";"Umsatz gebucht"\r\n'
        f'"{OWN}";"04.03.26";"";"KARTENZAHLUNG";"Einkauf";"";"";"";"";"";"";"Bäcker Blum";"";"";"-9,1";"EUR";"Umsatz vorgemerkt"\r\n'
        f'"{OWN}";"02.03.26";"02.03.26";"RUECKLASTSCHRIFT";"Beitrag";"";"";"NOTPROVIDED";"";"50,00";"3,00";'
        f'"Kunde Kurz";"{OTHER}";"";"-53,00";"EUR";"Umsatz gebucht"\r\n',
        (
            (date(2026, 3, 2), -5300, "Kunde Kurz", OTHER, "OAMT+50,00\nCOAM+3,00\nSVWZ+Beitrag"),
            (
                date(2026, 3, 3),
                -116850,
                "Stadtwerke Köln",
                OTHER,
                "EREF+E-1\nMREF+M-1\nCRED+DE98ZZZ09999999999\nSVWZ+Abschlag März",
            ),
            (date(2026, 3, 4), -910, "Bäcker Blum", None, "Einkauf"),
        ),
        "iso-8859-1",
        OWN,
        pending=(False, False, True),
    ),
    Sample(
        "Sparkasse CSV-MT940",
        '"Auftragskonto";"Buchungstag";"Valutadatum";"Buchungstext";"Verwendungszweck";"Beguenstigter/Zahlungspflichtiger";'
        '"Kontonummer";"BLZ";"Betrag";"Waehrung";"Info"\r\n'
        f'"1802057";"03.03.26";"03.03.26";"LASTSCHRIFT";"EREF+E-1 SVWZ+Abschlag";"Stadtwerke Köln";"{OTHER}";"COBADEFFXXX";"-68,5";'
        '"EUR";"Umsatz gebucht"\r\n',
        ((date(2026, 3, 3), -6850, "Stadtwerke Köln", OTHER, "EREF+E-1 SVWZ+Abschlag"),),
        "cp1252",
    ),
    Sample(
        "Sparkasse card",
        "Umsatz getätigt von;Belegdatum;Buchungsdatum;Originalbetrag;Originalwährung;Umrechnungskurs;Buchungsbetrag;Buchungswährung;"
        "Transaktionsbeschreibung;Transaktionsbeschreibung Zusatz;Buchungsreferenz;Gebührenschlüssel;Länderkennzeichen;"
        "BAR-Entgelt+Buchungsreferenz;AEE+Buchungsreferenz;Abrechnungskennzeichen\r\n"
        "4871 **** **** 1111;08.03.26;10.03.26;-25,00;USD;1,15;-21,74;EUR;CITY MUSEUM;;R2;7991;US;;;\r\n",
        ((date(2026, 3, 10), -2174, "CITY MUSEUM", None, "KREF+R2\nOAMT+USD 25,00"),),
        "iso-8859-1",
    ),
    Sample(
        "Volksbank",
        "\ufeffBezeichnung Auftragskonto;IBAN Auftragskonto;BIC Auftragskonto;Bankname Auftragskonto;Buchungstag;Valutadatum;"
        "Name Zahlungsbeteiligter;IBAN Zahlungsbeteiligter;BIC (SWIFT-Code) Zahlungsbeteiligter;Buchungstext;Verwendungszweck;Betrag;"
        "Waehrung;Saldo nach Buchung;Bemerkung;Gekennzeichneter Umsatz;Glaeubiger ID;Mandatsreferenz\r\n"
        f"Giro;{OWN};GENODEF1S02;VR Bank;03.03.2026;03.03.2026;Hausverwaltung Nord;{OTHER};COBADEFFXXX;Basislastschrift;"
        "Miete EREF: 77 MREF: M-2;-850,00;EUR;1150,00;;;DE98ZZZ09999999999;M-2\r\n"
        f"Giro;{OWN};GENODEF1S02;VR Bank;02.03.2026;02.03.2026;;;;Abschluss;Abschluss per 28.02.2026;-6,00;EUR;2000,00;;;;\r\n",
        (
            (date(2026, 3, 2), -600, None, None, "Abschluss per 28.02.2026"),
            (
                date(2026, 3, 3),
                -85000,
                "Hausverwaltung Nord",
                OTHER,
                "MREF+M-2\nCRED+DE98ZZZ09999999999\nSVWZ+Miete EREF: 77 MREF: M-2",
            ),
        ),
        iban=OWN,
        opening=200600,
        closing=115000,
    ),
    Sample(
        "Volksbank (until 2020)",
        '"Volksbank Musterstadt eG";;;;;;;;;;;;\r\n\r\n"Umsatzanzeige";;;;;;;;;;;;\r\n\r\n'
        '"Buchungstag";"Valuta";"Auftraggeber/Zahlungsempfänger";"Empfänger/Zahlungspflichtiger";"Konto-Nr.";"IBAN";"BLZ";"BIC";'
        '"Vorgang/Verwendungszweck";"Kundenreferenz";"Währung";"Umsatz";" "\r\n'
        f'"29.12.2019";"29.12.2019";"Erika Muster";"Max Beispiel";;"{OTHER}";;"COBADEFFXXX";"UEBERWEISUNGSGUTSCHR\r\n'
        'Auslagen Teamtag 2019 Rückz\r\nahlung";;"EUR";"1.202,10";"H"\r\n\r\n'
        '"30.12.2019";"30.12.2019";"Erika Muster";"Strom AG";;;;;"Basislastschrift\r\nAbschlag";;"EUR";"2,10";"S"\r\n'
        '"29.12.2019";;;;;;;;;"Anfangssaldo";"EUR";"800,00";"H"\r\n"30.12.2019";;;;;;;;;"Endsaldo";"EUR";"2.000,00";"H"\r\n',
        (
            (date(2019, 12, 29), 120210, "Max Beispiel", OTHER, "Auslagen Teamtag 2019 Rückzahlung"),
            (date(2019, 12, 30), -210, "Strom AG", None, "Abschlag"),
        ),
        "iso-8859-15",
        opening=80000,
        closing=200000,
    ),
    Sample(
        "DKB",
        f'\ufeff"Girokonto";"{OWN}"\n""\n"Kontostand vom 09.03.2026:";"4.093,32 €"\n""\n'
        '"Buchungsdatum";"Wertstellung";"Status";"Zahlungspflichtige*r";"Zahlungsempfänger*in";"Verwendungszweck";"Umsatztyp";"IBAN";'
        '"Betrag (€)";"Gläubiger-ID";"Mandatsreferenz";"Kundenreferenz"\n'
        f'"08.03.26";"";"Vorgemerkt";"Erika Muster";"Kino Kunterbunt";"";"Ausgang";"";"-24";"";"";""\n'
        f'"07.03.26";"07.03.26";"Gebucht";"Arbeit AG";"Erika Muster";"Gehalt";"Eingang";"{OTHER}";"1.000";"";"";""\n'
        f'"06.03.26";"06.03.26";"Gebucht";"Erika Muster";"Strom AG";"Abschlag";"Ausgang";"{OTHER}";"-62,3 €";"DE98ZZZ09999999999";'
        '"M-3";"K-3"\n',
        (
            (date(2026, 3, 6), -6230, "Strom AG", OTHER, "EREF+K-3\nMREF+M-3\nCRED+DE98ZZZ09999999999\nSVWZ+Abschlag"),
            (date(2026, 3, 7), 100000, "Arbeit AG", OTHER, "Gehalt"),
            (date(2026, 3, 8), -2400, "Kino Kunterbunt", None, None),
        ),
        iban=OWN,
        closing=409332,
        pending=(False, False, True),
    ),
    Sample(
        "DKB card",
        '"Karte";"Visa 4871 •••• •••• 1234"\n""\n"Saldo vom 09.03.2026:";"-20,49 EUR"\n""\n'
        '"Belegdatum";"Wertstellung";"Status";"Beschreibung";"Umsatztyp";"Betrag (€)";"Fremdwährungsbetrag"\n'
        '"06.03.26";"07.03.26";"Gebucht";"Buchladen London";"Im Geschäft";"-20,49 €";"17,90 GBP"\n',
        ((date(2026, 3, 7), -2049, "Buchladen London", None, "17,90 GBP"),),
        closing=-2049,
    ),
    Sample(
        "DKB",
        f'"Girokonto","{OWN}"\n""\n"Kontostand vom 09.03.2026:","1.234,56 €"\n""\n'
        '"Buchungsdatum","Wertstellung","Status","Zahlungspflichtige*r","Zahlungsempfänger*in","Verwendungszweck","Umsatztyp","IBAN",'
        '"Betrag (€)","Gläubiger-ID","Mandatsreferenz","Kundenreferenz"\n'
        f'"04.03.26","04.03.26","Gebucht","Erika Muster","Strom AG","Abschlag, März","Ausgang","{OTHER}","-1.062,30 €","","M-4",""\n',
        ((date(2026, 3, 4), -106230, "Strom AG", OTHER, "MREF+M-4\nSVWZ+Abschlag, März"),),
        "utf-8-sig",
        OWN,
        closing=123456,
    ),
    Sample(
        "DKB card (until 2023)",
        '"Kreditkarte:";"4871********1234";\n\n"Von:";"01.03.2022";\n"Bis:";"31.03.2022";\n"Saldo:";"-20.49 EUR";\n"Datum:";"31.03.2022";\n\n'
        '"Umsatz abgerechnet und nicht im Saldo enthalten";"Wertstellung";"Belegdatum";"Beschreibung";"Betrag (EUR)";"Ursprünglicher Betrag";\n'
        '"Nein";"07.03.2022";"06.03.2022";"Buchladen London";"-20,49";"-17,90 GBP";\n',
        ((date(2022, 3, 7), -2049, "Buchladen London", None, "-17,90 GBP"),),
        "iso-8859-1",
    ),
    Sample(
        "DKB (until 2023)",
        f'"Kontonummer:";"{OWN} / Girokonto";\n\n"Von:";"01.03.2022";\n"Bis:";"31.03.2022";\n'
        '"Kontostand vom 31.03.2022:";"1.234,56 EUR";\n\n'
        '"Buchungstag";"Wertstellung";"Buchungstext";"Auftraggeber / Begünstigter";"Verwendungszweck";"Kontonummer";"BLZ";'
        '"Betrag (EUR)";"Gläubiger-ID";"Mandatsreferenz";"Kundenreferenz";\n'
        f'"04.03.2022";"04.03.2022";"Lastschrift";"Strom AG";"Abschlag";"{OTHER}";"COBADEFFXXX";"-1.062,30";"";"M-4";"";\n',
        ((date(2022, 3, 4), -106230, "Strom AG", OTHER, "MREF+M-4\nSVWZ+Abschlag"),),
        "iso-8859-1",
        OWN,
        closing=123456,
    ),
    Sample(
        "ING",
        "Umsatzanzeige;Datei erstellt am: 09.03.2026 15:23\n\nIBAN;DE02 3705 0198 0001 8020 57\nKontoname;Girokonto\nBank;ING\n"
        "Kunde;Erika Muster\nZeitraum;01.03.2026 - 09.03.2026\nSaldo;2.447,74;EUR\n\nSortierung;Datum absteigend\n\n"
        "In der CSV-Datei finden Sie alle bereits gebuchten Umsätze.\n\n"
        "Buchung;Wertstellungsdatum;Auftraggeber/Empfänger;Buchungstext;Verwendungszweck;Saldo;Währung;Betrag;Währung\n"
        "05.03.2026;05.03.2026;Max Beispiel;Überweisung;Nebenkosten;2.447,74;EUR;-200,00;EUR\n"
        "04.03.2026;04.03.2026;Arbeit AG;Gehalt/Rente;Gehalt;2.647,74;EUR;2.600,00;EUR\n",
        (
            (date(2026, 3, 4), 260000, "Arbeit AG", None, "Gehalt"),
            (date(2026, 3, 5), -20000, "Max Beispiel", None, "Nebenkosten"),
        ),
        "cp1252",
        OWN,
        opening=4774,
        closing=244774,
    ),
    Sample(
        "comdirect",
        ';\n"Umsätze Girokonto";"Zeitraum: 01.03.2026 - 09.03.2026";\n"Neuer Kontostand";"-250,00 EUR";\n\n'
        '"Buchungstag";"Wertstellung (Valuta)";"Vorgang";"Buchungstext";"Umsatz in EUR";\n'
        '"offen";"--";"Kartenverfügung";"Buchungstext: Kiosk am Eck 2026-03-06T17:43:43";"-3,86";\n'
        f'"05.03.2026";"05.03.2026";"Übertrag / Überweisung";"Empfänger: Max BeispielKto/IBAN: {OTHER} BLZ/BIC: COBADEFFXXX  '
        'Buchungstext: Möbel Ref. AB12/1";"-1.250,00";\n\n"Alter Kontostand";"1.000,00 EUR";\n\n',
        (
            (
                date(2026, 3, 5),
                -125000,
                "Max Beispiel",
                OTHER,
                f"Empfänger: Max BeispielKto/IBAN: {OTHER} BLZ/BIC: COBADEFFXXX Buchungstext: Möbel Ref. AB12/1",
            ),
            (date(2026, 3, 5), -386, None, None, "Buchungstext: Kiosk am Eck 2026-03-06T17:43:43"),
        ),
        "iso-8859-15",
        opening=100000,
        closing=-25000,
        pending=(False, True),
    ),
    Sample(
        "comdirect card",
        ';\n"Umsätze Visa-Karte";"Zeitraum: 30 Tage";\n\n"Buchungstag";"Umsatztag";"Vorgang";"Referenz";"Buchungstext";"Umsatz in EUR";\n'
        '"05.03.2026";"04.03.2026";"Visa-Umsatz";"123";"Buchladen Köln";"-12,00";\n',
        ((date(2026, 3, 5), -1200, None, None, "KREF+123\nSVWZ+Buchladen Köln"),),
        "iso-8859-1",
    ),
    Sample(
        "Commerzbank",
        "\ufeffBuchungstag;Wertstellung;Umsatzart;Buchungstext;Betrag;Währung;IBAN Kontoinhaber;Kategorie\n"
        f"05.03.2026;05.03.2026;Dauerauftrag;MAX BEISPIEL COBADEFFXXX {OTHER} Miete End-to-End-Ref.: NOTPROVIDED;-2040;EUR;{OWN};Wohnen\n"
        f"04.03.2026;04.03.2026;Zinsen/Entgelte;Kontoführung 9,90- EUR;-10,7;EUR;{OWN};\n",
        (
            (date(2026, 3, 4), -1070, None, None, "Kontoführung 9,90- EUR"),
            (
                date(2026, 3, 5),
                -204000,
                "MAX BEISPIEL",
                OTHER,
                f"MAX BEISPIEL COBADEFFXXX {OTHER} Miete End-to-End-Ref.: NOTPROVIDED",
            ),
        ),
        iban=OWN,
    ),
    Sample(
        "Deutsche Bank, Postbank",
        f"\ufeffUmsätze\nKonto;Filial-/Kontonummer;IBAN;Währung\nAktivKonto;123 1234567 00;{OWN};EUR\n\n1.3.2026 - 9.3.2026\n"
        "Letzter Kontostand;;;;2.500,00;EUR\nVorgemerkte und noch nicht gebuchte Umsätze sind nicht Bestandteil dieser Übersicht.\n"
        "Buchungstag;Wert;Umsatzart;Begünstigter / Auftraggeber;Verwendungszweck;IBAN / Kontonummer;BIC;Kundenreferenz;Mandatsreferenz;"
        "Gläubiger ID;Fremde Gebühren;Betrag;Abweichender Empfänger;Anzahl der Aufträge;Anzahl der Schecks;Soll;Haben;Währung\n"
        f"9.3.2026;9.3.2026;SEPA Lastschrift;Bank AG;Baufinanzierung, Rate;{OTHER};;E-5;M-5;DE98ZZZ09999999999;;-1.000,00;;;;-1.000,00;;EUR\n"
        f"2.3.2026;2.3.2026;SEPA Überweisung;Max Beispiel;Miete;{OTHER};;NOTPROVIDED;;;;750;;;;;750;EUR\n"
        "Kontostand;9.3.2026;;;2.250,00;EUR\n",
        (
            (date(2026, 3, 2), 75000, "Max Beispiel", OTHER, "Miete"),
            (
                date(2026, 3, 9),
                -100000,
                "Bank AG",
                OTHER,
                "EREF+E-5\nMREF+M-5\nCRED+DE98ZZZ09999999999\nSVWZ+Baufinanzierung, Rate",
            ),
        ),
        iban=OWN,
        opening=250000,
        closing=225000,
    ),
    Sample(
        "Deutsche Bank, Postbank",
        "Umsätze Girokonto;;;Kundennummer: 123 1234567 00\n01.03.2023 - 09.03.2023\nLetzter Kontostand;;;;100,00;EUR\n\n"
        "Buchungstag;Wert;Umsatzart;Begünstigter / Auftraggeber;Verwendungszweck;IBAN;BIC;Kundenreferenz;Mandatsreferenz ;Gläubiger ID;"
        "Fremde Gebühren;Betrag;Abweichender Empfänger;Abweichender Auftraggeber;Anzahl der Aufträge;Anzahl der Schecks;Soll;Haben;Währung\n"
        f'07.03.2023;07.03.2023;"SEPA-Lastschrift";Strom AG;Abschlag;{OTHER};COBADEFFXXX;E-6;M-6;;;;;;;;-59,00;;EUR\n'
        "Kontostand;07.03.2023;;;41,00;EUR\n",
        ((date(2023, 3, 7), -5900, "Strom AG", OTHER, "EREF+E-6\nMREF+M-6\nSVWZ+Abschlag"),),
        "iso-8859-1",
        opening=10000,
        closing=4100,
    ),
    Sample(
        "Postbank (until 2023)",
        f"Kontoumsätze Postbank Giro;\nIBAN;{OWN};\n\n"
        '"Buchungstag";"Wertstellung";"Umsatzart";"Buchungsdetails";"Auftraggeber";"Empfänger";"Betrag (€)";"Saldo (€)"\n'
        '"05.03.2022";"05.03.2022";"Lastschrift";"Abschlag";"Erika Muster";"Strom AG";"-59,00 €";"1.041,00 €"\n',
        ((date(2022, 3, 5), -5900, "Strom AG", None, "Abschlag"),),
        "cp1252",
        OWN,
        opening=110000,
        closing=104100,
    ),
    Sample(
        "N26",
        '"Booking Date","Value Date","Partner Name","Partner Iban",Type,"Payment Reference","Account Name","Amount (EUR)",'
        '"Original Amount","Original Currency","Exchange Rate"\n'
        f'2026-03-05,2026-03-05,"Max Beispiel",{OTHER},"Debit Transfer","Miete, März","Main Account",-980.0,,,\n'
        '2026-03-04,,"MUSEUM NYC",,Presentment,,"Main Account",-21.74,-25.00,USD,1.15\n',
        (
            (date(2026, 3, 4), -2174, "MUSEUM NYC", None, "OAMT+USD 25,00"),
            (date(2026, 3, 5), -98000, "Max Beispiel", OTHER, "Miete, März"),
        ),
    ),
    Sample(
        "N26 (until 2024)",
        '"Datum","Empfänger","Kontonummer","Transaktionstyp","Verwendungszweck","Kategorie","Betrag (EUR)","Betrag (Fremdwährung)",'
        '"Fremdwährung","Wechselkurs"\n'
        f'"2022-03-05","Max Beispiel","{OTHER}","Überweisung","Miete","Wohnen","-980.0","","",""\n',
        ((date(2022, 3, 5), -98000, "Max Beispiel", OTHER, "Miete"),),
    ),
    Sample(
        "N26 (English, until 2024)",
        '"Date","Payee","Account number","Transaction type","Payment reference","Amount (EUR)","Amount (Foreign Currency)",'
        '"Type Foreign Currency","Exchange Rate"\n'
        '"2022-03-05","MUSEUM NYC","","MasterCard Payment","","-21.74","-25.0","USD","1.15"\n',
        ((date(2022, 3, 5), -2174, "MUSEUM NYC", None, "OAMT+USD 25,0"),),
    ),
    Sample(
        "Consorsbank",
        "Buchung;Valuta;Sender / Empfänger;IBAN / Konto-Nr.;BIC / BLZ;Buchungstext;Verwendungszweck;Kategorie;Stichwörter;Umsatz geteilt;"
        "Betrag in EUR\n"
        f"05.03.2026;05.03.2026;Max Beispiel;{OTHER};COBADEFFXXX;Lastschrift;Miete;Wohnen;;;-1.333,22\n",
        ((date(2026, 3, 5), -133322, "Max Beispiel", OTHER, "Miete"),),
        "cp1252",
    ),
    Sample(
        "Targobank",
        f"05.03.2026;LASTSCHRIFT Strom AG Abschlag;-59,00;;;;'{OWN}'\n06.03.2026;GEHALT Arbeit AG;;2.500,00;;;'{OWN}'\n",
        (
            (date(2026, 3, 5), -5900, None, None, "LASTSCHRIFT Strom AG Abschlag"),
            (date(2026, 3, 6), 250000, None, None, "GEHALT Arbeit AG"),
        ),
        iban=OWN,
    ),
    Sample(
        "PayPal",
        '\ufeff"Datum","Uhrzeit","Zeitzone","Name","Typ","Status","Währung","Brutto","Entgelt","Netto","Absender E-Mail-Adresse",'
        '"Empfänger E-Mail-Adresse","Transaktionscode","Auswirkung auf Guthaben","Betreff"\n'
        '"05.03.2026","10:11:12","CET","Buchladen","Allgemeine Zahlung","Abgeschlossen","EUR","-12,00","0,00","-12,00","erika@example.de",'
        '"laden@example.de","T1","Soll","Roman"\n'
        '"05.03.2026","10:11:12","CET","Buchladen","Autorisierung","Abgeschlossen","EUR","-12,00","0,00","-12,00","","","T2","Memo",""\n'
        '"06.03.2026","10:11:12","CET","Max Beispiel","Handyzahlung","Ausstehend","USD","1.020,00","-20,00","1.000,00","","","T3","Haben",""\n',
        (
            (date(2026, 3, 5), -1200, "Buchladen", None, "KREF+T1\nSVWZ+Roman"),
            (date(2026, 3, 6), 100000, "Max Beispiel", None, "KREF+T3"),
        ),
        pending=(False, True),
    ),
    Sample(
        "American Express",
        "Datum,Beschreibung,Karteninhaber,Konto #,Betrag,Weitere Details,Erscheint auf Ihrer Abrechnung als,Adresse,Stadt,PLZ,Land,"
        "Betreff,Kategorie\n"
        '05/03/2026,BUCHLADEN KOELN,ERIKA MUSTER,-71001,"12,34",,BUCHLADEN,,KOELN,,DEUTSCHLAND,AT26,Einkauf\n'
        '06/03/2026,ZAHLUNG ERHALTEN BESTEN DANK,ERIKA MUSTER,-71001,"-1.500,00",,ZAHLUNG,,,,,AT27,\n',
        (
            (date(2026, 3, 5), -1234, "BUCHLADEN KOELN", None, "KREF+AT26\nSVWZ+KOELN DEUTSCHLAND"),
            (date(2026, 3, 6), 150000, "ZAHLUNG ERHALTEN BESTEN DANK", None, "KREF+AT27"),
        ),
    ),
    Sample(
        "Trade Republic",
        '"datetime","date","account_type","category","type","asset_class","name","symbol","shares","price","amount","fee","tax","currency",'
        '"original_amount","original_currency","fx_rate","description","transaction_id","counterparty_name","counterparty_iban",'
        '"payment_reference","mcc_code"\n'
        '"2026-03-05T09:00:00Z","2026-03-05","DEFAULT","TRADING","BUY","FUND","World ETF","IE00BK5BQT80","1.5","100.00","-150.00","-1.00","",'
        '"EUR","","","","Savings plan","t1","","","",""\n'
        '"2026-03-06T09:00:00Z","2026-03-06","DEFAULT","DELIVERY","SPLIT","STOCK","Muster AG","DE0007236101","9","","","","","EUR","","","",'
        '"","t2","","","",""\n'
        f'"2026-03-07T09:00:00Z","2026-03-07","DEFAULT","CASH","CUSTOMER_INBOUND","","","","","","30.000000","","","EUR","","","","",'
        f'"t3","Erika Muster","{OTHER}","Sparen",""\n',
        (
            (date(2026, 3, 5), -15100, "World ETF", None, "KREF+t1\nSVWZ+Savings plan IE00BK5BQT80"),
            (date(2026, 3, 7), 3000, "Erika Muster", OTHER, "KREF+t3\nSVWZ+Sparen"),
        ),
    ),
)
