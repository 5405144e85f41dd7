"""The CSV exports of banks and services: a value of `CsvFormat` for each, and a small function where a table is not enough.

A format is recognised by its header line: all names in `header` must be there, others may be. Columns that a file does not have
are empty. Values are the banks' own words.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import polars as pl

Names = str | tuple[str, ...]
"""A column, or several of which the first filled one counts."""


class DayOrder(StrEnum):
    DAY_FIRST = "DAY_FIRST"
    YEAR_FIRST = "YEAR_FIRST"


@dataclass(frozen=True)
class CsvFormat:
    """How a bank writes its lines. Patterns are searched for with `re.search`."""

    name: str
    header: tuple[str, ...]
    booked_on: Names
    amount: Names
    separator: str = ";"
    """All separators that this bank has used."""
    decimal: str = ","
    day_order: DayOrder = DayOrder.DAY_FIRST
    value_on: Names = ""
    purpose: tuple[str, ...] = ()
    booking_text: Names = ""
    name_column: Names = ""
    iban: Names = ""
    bic: Names = ""
    ultimate: Names = ""
    currency: Names = ""
    default_currency: str = "EUR"
    gv_code: Names = ""
    primanota: Names = ""
    references: Mapping[str, Names] = field(default_factory=dict)
    """SEPA tags and their columns."""
    original: tuple[str, str] | None = None
    """The columns with amount and currency of a payment in a foreign currency."""
    own_account: Names = ""
    """The column with the account of a line; each account becomes a statement."""
    sign: int = 1
    """-1 where a positive amount is one that the customer pays."""
    added: tuple[str, ...] = ()
    """Columns with further amounts of the same payment, such as fees."""
    pending: tuple[str, str] | None = None
    """A column, and the pattern of its value for lines that are not booked yet."""
    balance_after: Names = ""
    opening: str = ""
    closing: str = ""
    """Patterns of the labels before balances above or below the lines."""
    footer: str = ""
    """The pattern of rows (cells joined with `;`) that are no lines."""
    first_line: str = ""
    """For formats without a header: the pattern of their first line; `header` then names the columns."""
    is_card: bool = False
    unnamed: str = ""
    """Our name for a last column that has none."""
    prepare: Callable[[pl.DataFrame], pl.DataFrame] = lambda frame: frame


COUNTERPARTY, COUNTERPARTY_IBAN, COUNTERPARTY_BIC = "\x00name", "\x00iban", "\x00bic"
TEXT, BOOKING_TEXT = "\x00text", "\x00booking text"
"""Columns that the functions below add; no file can have one of these names."""
_LABEL = r"(?:Auftraggeber|Empfänger|Zahlungspflichtiger|Zahlungsempfänger):\s*"
_LABEL_END = r"\s*(?:Kto/IBAN:|BLZ/BIC:|Buchungstext:|End-to-End-Ref|Ref\.|$)"
_PAYEE = r"^(.+?) ([A-Z]{6}[A-Z0-9]{2}(?:[A-Z0-9]{3})?) ([A-Z]{2}[0-9]{20}) "
_VOID = "^(?:Storniert|Abgelehnt|Verweigert|Abgelaufen|Entfernt)"


def _dkb(frame: pl.DataFrame) -> pl.DataFrame:
    """The counterparty pays what comes in and is paid what goes out."""
    outgoing = pl.col(next(name for name in frame.columns if name.startswith("Betrag"))).str.starts_with("-")
    payer, payee = pl.col("Zahlungspflichtige*r"), pl.col("Zahlungsempfänger*in")
    return frame.with_columns(pl.when(outgoing).then(payee).otherwise(payer).alias(COUNTERPARTY))


def _comdirect(frame: pl.DataFrame) -> pl.DataFrame:
    """Name, IBAN and BIC stand behind labels in the text, without a blank before the next label."""
    text = pl.col("Buchungstext").str.replace_all(r"\s+", " ")
    return frame.with_columns(
        text.str.extract(_LABEL + "(.*?)" + _LABEL_END).alias(COUNTERPARTY),
        text.str.extract(r"Kto/IBAN:\s*([A-Z]{2}[0-9]{2}[A-Z0-9]{11,30})").alias(COUNTERPARTY_IBAN),
        text.str.extract(r"BLZ/BIC:\s*([A-Z0-9]{8,11})").alias(COUNTERPARTY_BIC),
        text.alias(TEXT),
    )


def _commerzbank(frame: pl.DataFrame) -> pl.DataFrame:
    """Name, BIC and IBAN stand at the beginning of the text of some lines; newer exports have columns for names."""
    text = pl.col("Buchungstext")
    names = [text.str.extract(_PAYEE, 1)]
    if {"Sender", "Empfänger"} <= set(frame.columns):
        outgoing = pl.col("Betrag").str.starts_with("-")
        names.insert(0, pl.when(outgoing).then(pl.col("Empfänger")).otherwise(pl.col("Sender")))
    return frame.with_columns(
        pl.coalesce(pl.when(name != "").then(name) for name in names).alias(COUNTERPARTY),
        text.str.extract(_PAYEE, 2).alias(COUNTERPARTY_BIC),
        text.str.extract(_PAYEE, 3).alias(COUNTERPARTY_IBAN),
    )


def _postbank(frame: pl.DataFrame) -> pl.DataFrame:
    outgoing = pl.col("Betrag (€)").str.contains("-", literal=True)
    payer, payee = pl.col("Auftraggeber"), pl.col("Empfänger")
    return frame.with_columns(pl.when(outgoing).then(payee).otherwise(payer).alias(COUNTERPARTY))


def _fiducia(frame: pl.DataFrame) -> pl.DataFrame:
    """The first line of the text is the booking text, the others were cut at 27 characters; `S` marks a debit."""
    lines = pl.col("Vorgang/Verwendungszweck").str.split("\n")
    debit = pl.col("S/H") == "S"
    return frame.with_columns(
        lines.list.first().alias(BOOKING_TEXT),
        lines.list.slice(1).list.join("").alias(TEXT),
        pl.when(debit).then("-" + pl.col("Umsatz")).otherwise("Umsatz").alias("Umsatz"),
    )


def _paypal(frame: pl.DataFrame) -> pl.DataFrame:
    """Without lines that moved no money: notes, and what was cancelled or refused."""
    payments = frame
    if "Auswirkung auf Guthaben" in frame.columns:
        payments = payments.filter(pl.col("Auswirkung auf Guthaben") != "Memo")
    return payments.filter(~pl.col("Status").str.contains(_VOID)) if "Status" in payments.columns else payments


def _trade_republic(frame: pl.DataFrame) -> pl.DataFrame:
    """Without deliveries and splits of securities, which move no money."""
    return frame.filter(pl.col("amount") != "")


KONTOR_COLUMNS = (
    *("Konto", "Kontoname", "Buchungstag", "Wertstellung", "Betrag", "Währung", "Name", "IBAN", "BIC", "Abweichender Name"),
    *("Verwendungszweck", "Buchungstext", "GV-Code", "Primanota", "Status"),
)
KONTOR_BOOKED, KONTOR_PENDING = "gebucht", "vorgemerkt"
"""The table that we write ourselves (`writing`)."""
_FORMULA = re.compile(r"['=+\-@＝＋－＠\t\r]")


def guarded(cell: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{cell}" if _FORMULA.match(cell) else cell


def _kontor(frame: pl.DataFrame) -> pl.DataFrame:
    """Texts without the apostrophe before what could be a formula."""
    return frame.with_columns(pl.col(pl.String).str.replace(r"^'(['=+\-@＝＋－＠])", "$1"))


FORMATS = (
    CsvFormat(
        "Kontor",
        KONTOR_COLUMNS,
        booked_on="Buchungstag",
        value_on="Wertstellung",
        amount="Betrag",
        currency="Währung",
        day_order=DayOrder.YEAR_FIRST,
        purpose=("Verwendungszweck",),
        booking_text="Buchungstext",
        gv_code="GV-Code",
        primanota="Primanota",
        name_column="Name",
        iban="IBAN",
        bic="BIC",
        ultimate="Abweichender Name",
        own_account="Konto",
        pending=("Status", KONTOR_PENDING),
        prepare=_kontor,
    ),
    CsvFormat(
        "Sparkasse CSV-CAMT",
        ("Auftragskonto", "Buchungstag", "Valutadatum", "Buchungstext", "Verwendungszweck", "Glaeubiger ID", "Betrag", "Info"),
        booked_on="Buchungstag",
        value_on="Valutadatum",
        amount="Betrag",
        currency="Waehrung",
        purpose=("Verwendungszweck",),
        booking_text="Buchungstext",
        name_column="Beguenstigter/Zahlungspflichtiger",
        iban="Kontonummer/IBAN",
        bic="BIC (SWIFT-Code)",
        references={
            "EREF": "Kundenreferenz (End-to-End)",
            "KREF": "Sammlerreferenz",
            "MREF": "Mandatsreferenz",
            "CRED": "Glaeubiger ID",
            "OAMT": "Lastschrift Ursprungsbetrag",
            "COAM": "Auslagenersatz Ruecklastschrift",
        },
        own_account="Auftragskonto",
        pending=("Info", "vorgemerkt"),
    ),
    CsvFormat(
        "Sparkasse CSV-MT940",
        (
            "Auftragskonto",
            "Buchungstag",
            "Valutadatum",
            "Buchungstext",
            "Verwendungszweck",
            "Kontonummer",
            "BLZ",
            "Betrag",
            "Info",
        ),
        booked_on="Buchungstag",
        value_on="Valutadatum",
        amount="Betrag",
        currency=("Waehrung", "Währung"),
        purpose=("Verwendungszweck",),
        booking_text="Buchungstext",
        name_column=("Beguenstigter/Zahlungspflichtiger", "Begünstigter/Zahlungspflichtiger"),
        iban="Kontonummer",
        bic="BLZ",
        own_account="Auftragskonto",
        pending=("Info", "vorgemerkt"),
    ),
    CsvFormat(
        "Sparkasse card",
        ("Umsatz getätigt von", "Belegdatum", "Buchungsdatum", "Buchungsbetrag", "Buchungswährung", "Transaktionsbeschreibung"),
        is_card=True,
        booked_on="Buchungsdatum",
        value_on="Belegdatum",
        amount="Buchungsbetrag",
        currency="Buchungswährung",
        purpose=("Transaktionsbeschreibung Zusatz",),
        name_column="Transaktionsbeschreibung",
        references={"KREF": "Buchungsreferenz"},
        original=("Originalbetrag", "Originalwährung"),
        own_account="Umsatz getätigt von",
    ),
    CsvFormat(
        "Volksbank",
        (
            "IBAN Auftragskonto",
            "Buchungstag",
            "Valutadatum",
            "Name Zahlungsbeteiligter",
            "Verwendungszweck",
            "Betrag",
            "Waehrung",
        ),
        booked_on="Buchungstag",
        value_on="Valutadatum",
        amount="Betrag",
        currency="Waehrung",
        purpose=("Verwendungszweck",),
        booking_text="Buchungstext",
        name_column="Name Zahlungsbeteiligter",
        iban="IBAN Zahlungsbeteiligter",
        bic="BIC (SWIFT-Code) Zahlungsbeteiligter",
        references={"MREF": "Mandatsreferenz", "CRED": "Glaeubiger ID"},
        own_account="IBAN Auftragskonto",
        balance_after="Saldo nach Buchung",
    ),
    CsvFormat(
        "Volksbank (until 2020)",
        ("Buchungstag", "Valuta", "Empfänger/Zahlungspflichtiger", "Vorgang/Verwendungszweck", "Umsatz"),
        booked_on="Buchungstag",
        value_on="Valuta",
        amount="Umsatz",
        currency="Währung",
        purpose=(TEXT,),
        booking_text=BOOKING_TEXT,
        name_column="Empfänger/Zahlungspflichtiger",
        iban="IBAN",
        bic="BIC",
        references={"KREF": "Kundenreferenz"},
        opening="^Anfangssaldo",
        closing="^Endsaldo",
        footer=r"(?:^|;)(?:Anfangssaldo|Endsaldo)(?:;|$)",
        unnamed="S/H",
        prepare=_fiducia,
    ),
    CsvFormat(
        "DKB",
        ("Buchungsdatum", "Wertstellung", "Status", "Zahlungspflichtige*r", "Zahlungsempfänger*in", "Verwendungszweck"),
        separator=";,",
        booked_on="Buchungsdatum",
        value_on="Wertstellung",
        amount=("Betrag (€)", "Betrag"),
        purpose=("Verwendungszweck",),
        booking_text="Umsatztyp",
        name_column=COUNTERPARTY,
        iban="IBAN",
        references={"EREF": "Kundenreferenz", "MREF": "Mandatsreferenz", "CRED": "Gläubiger-ID"},
        pending=("Status", "Vorgemerkt"),
        closing="^Kontostand vom",
        prepare=_dkb,
    ),
    CsvFormat(
        "DKB card",
        ("Belegdatum", "Wertstellung", "Status", "Beschreibung", "Umsatztyp"),
        separator=";,",
        is_card=True,
        booked_on=("Wertstellung", "Belegdatum"),
        value_on="Belegdatum",
        amount=("Betrag (€)", "Betrag"),
        purpose=("Fremdwährungsbetrag",),
        booking_text="Umsatztyp",
        name_column="Beschreibung",
        pending=("Status", "Vorgemerkt"),
        closing="^Saldo vom",
    ),
    CsvFormat(
        "DKB card (until 2023)",
        ("Umsatz abgerechnet und nicht im Saldo enthalten", "Wertstellung", "Belegdatum", "Beschreibung", "Betrag (EUR)"),
        is_card=True,
        booked_on=("Wertstellung", "Belegdatum"),
        value_on="Belegdatum",
        amount="Betrag (EUR)",
        purpose=("Ursprünglicher Betrag",),
        name_column="Beschreibung",
    ),
    CsvFormat(
        "DKB (until 2023)",
        ("Buchungstag", "Wertstellung", "Buchungstext", "Auftraggeber / Begünstigter", "Verwendungszweck", "Betrag (EUR)"),
        booked_on="Buchungstag",
        value_on="Wertstellung",
        amount="Betrag (EUR)",
        purpose=("Verwendungszweck",),
        booking_text="Buchungstext",
        name_column="Auftraggeber / Begünstigter",
        iban="Kontonummer",
        bic="BLZ",
        references={"EREF": "Kundenreferenz", "MREF": "Mandatsreferenz", "CRED": "Gläubiger-ID"},
        closing="^Kontostand vom",
    ),
    CsvFormat(
        "ING",
        ("Buchung", "Auftraggeber/Empfänger", "Buchungstext", "Verwendungszweck", "Betrag", "Währung"),
        booked_on="Buchung",
        value_on=("Wertstellungsdatum", "Valuta"),
        amount="Betrag",
        currency="Währung",
        purpose=("Verwendungszweck",),
        booking_text="Buchungstext",
        name_column="Auftraggeber/Empfänger",
        references={"EREF": "Kundenreferenz", "MREF": "Mandatsreferenz", "CRED": ("Gläubiger ID", "Glaeubiger ID")},
        balance_after="Saldo",
        closing="^Saldo$",
    ),
    CsvFormat(
        "comdirect",
        ("Buchungstag", "Wertstellung (Valuta)", "Vorgang", "Buchungstext", "Umsatz in EUR"),
        booked_on="Buchungstag",
        value_on="Wertstellung (Valuta)",
        amount="Umsatz in EUR",
        purpose=(TEXT,),
        booking_text="Vorgang",
        name_column=COUNTERPARTY,
        iban=COUNTERPARTY_IBAN,
        bic=COUNTERPARTY_BIC,
        pending=("Buchungstag", "^offen"),
        opening="^Alter Kontostand",
        closing="^Neuer Kontostand",
        footer="^(?:Alter Kontostand|Keine Umsätze)",
        prepare=_comdirect,
    ),
    CsvFormat(
        "comdirect card",
        ("Buchungstag", "Umsatztag", "Vorgang", "Referenz", "Buchungstext", "Umsatz in EUR"),
        is_card=True,
        booked_on="Buchungstag",
        value_on="Umsatztag",
        amount="Umsatz in EUR",
        purpose=("Buchungstext",),
        booking_text="Vorgang",
        references={"KREF": "Referenz"},
        pending=("Buchungstag", "^offen"),
        opening="^Alter Kontostand",
        closing="^Neuer Kontostand",
        footer="^(?:Alter Kontostand|Keine Umsätze)",
    ),
    CsvFormat(
        "Commerzbank",
        ("Buchungstag", "Wertstellung", "Umsatzart", "Buchungstext", "Betrag", "Währung"),
        booked_on="Buchungstag",
        value_on="Wertstellung",
        amount="Betrag",
        currency="Währung",
        purpose=("Buchungstext",),
        booking_text="Umsatzart",
        name_column=COUNTERPARTY,
        iban=COUNTERPARTY_IBAN,
        bic=COUNTERPARTY_BIC,
        own_account=("IBAN Kontoinhaber", "IBAN Auftraggeberkonto", "Auftraggeberkonto"),
        prepare=_commerzbank,
    ),
    CsvFormat(
        "Deutsche Bank, Postbank",
        ("Buchungstag", "Wert", "Umsatzart", "Begünstigter / Auftraggeber", "Verwendungszweck", "Soll", "Haben", "Währung"),
        booked_on="Buchungstag",
        value_on="Wert",
        amount=("Betrag", "Soll", "Haben"),
        currency="Währung",
        purpose=("Verwendungszweck",),
        booking_text="Umsatzart",
        name_column="Begünstigter / Auftraggeber",
        iban=("IBAN / Kontonummer", "IBAN"),
        bic="BIC",
        ultimate=("Abweichender Empfänger", "Abweichender Auftraggeber"),
        references={"EREF": "Kundenreferenz", "MREF": "Mandatsreferenz", "CRED": "Gläubiger ID"},
        opening="^Letzter Kontostand",
        closing="^Kontostand",
        footer="^Kontostand",
    ),
    CsvFormat(
        "Postbank (until 2023)",
        ("Buchungstag", "Wertstellung", "Umsatzart", "Buchungsdetails", "Auftraggeber", "Empfänger", "Betrag (€)"),
        booked_on="Buchungstag",
        value_on="Wertstellung",
        amount="Betrag (€)",
        purpose=("Buchungsdetails",),
        booking_text="Umsatzart",
        name_column=COUNTERPARTY,
        balance_after="Saldo (€)",
        prepare=_postbank,
    ),
    CsvFormat(
        "N26",
        ("Booking Date", "Value Date", "Partner Name", "Partner Iban", "Payment Reference", "Amount (EUR)"),
        separator=",",
        decimal=".",
        day_order=DayOrder.YEAR_FIRST,
        booked_on="Booking Date",
        value_on="Value Date",
        amount="Amount (EUR)",
        purpose=("Payment Reference",),
        booking_text="Type",
        name_column="Partner Name",
        iban="Partner Iban",
        original=("Original Amount", "Original Currency"),
    ),
    CsvFormat(
        "N26 (until 2024)",
        ("Datum", "Empfänger", "Kontonummer", "Transaktionstyp", "Verwendungszweck", "Betrag (EUR)"),
        separator=",",
        decimal=".",
        day_order=DayOrder.YEAR_FIRST,
        booked_on="Datum",
        amount="Betrag (EUR)",
        purpose=("Verwendungszweck",),
        booking_text="Transaktionstyp",
        name_column="Empfänger",
        iban="Kontonummer",
        original=("Betrag (Fremdwährung)", "Fremdwährung"),
    ),
    CsvFormat(
        "N26 (English, until 2024)",
        ("Date", "Payee", "Account number", "Transaction type", "Payment reference", "Amount (EUR)"),
        separator=",",
        decimal=".",
        day_order=DayOrder.YEAR_FIRST,
        booked_on="Date",
        amount="Amount (EUR)",
        purpose=("Payment reference",),
        booking_text="Transaction type",
        name_column="Payee",
        iban="Account number",
        original=("Amount (Foreign Currency)", "Type Foreign Currency"),
    ),
    CsvFormat(
        "Consorsbank",
        ("Buchung", "Valuta", "Sender / Empfänger", "IBAN / Konto-Nr.", "BIC / BLZ", "Buchungstext", "Verwendungszweck"),
        booked_on="Buchung",
        value_on="Valuta",
        amount=("Betrag in EUR", "Betrag"),
        currency="Währung",
        purpose=("Verwendungszweck",),
        booking_text="Buchungstext",
        name_column="Sender / Empfänger",
        iban="IBAN / Konto-Nr.",
        bic="BIC / BLZ",
    ),
    CsvFormat(
        "Targobank",
        ("Datum", "Buchungstext", "Soll", "Haben", "leer", "leer.5", "Konto"),
        first_line=r"^\"?[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}\"?;.*;\"?'?[A-Z]{2}[0-9]{20}'?\"?\s*$",
        booked_on="Datum",
        amount=("Soll", "Haben"),
        purpose=("Buchungstext",),
        own_account="Konto",
    ),
    CsvFormat(
        "PayPal",
        ("Datum", "Uhrzeit", "Zeitzone", "Währung", "Brutto", "Netto", "Transaktionscode"),
        separator=",",
        booked_on="Datum",
        amount="Netto",
        currency="Währung",
        purpose=("Betreff", "Hinweis", "Artikelbezeichnung"),
        booking_text=("Typ", "Beschreibung"),
        name_column="Name",
        references={"KREF": "Transaktionscode"},
        pending=("Status", "^Ausstehend"),
        prepare=_paypal,
    ),
    CsvFormat(
        "American Express",
        ("Datum", "Beschreibung", "Betrag"),
        separator=",",
        is_card=True,
        booked_on="Datum",
        amount="Betrag",
        sign=-1,
        purpose=("Weitere Details", "Stadt", "Land"),
        name_column="Beschreibung",
        references={"KREF": "Betreff"},
        own_account="Konto #",
    ),
    CsvFormat(
        "Trade Republic",
        ("datetime", "date", "category", "type", "name", "amount", "fee", "tax", "description"),
        separator=",",
        decimal=".",
        day_order=DayOrder.YEAR_FIRST,
        booked_on="date",
        amount="amount",
        added=("fee", "tax"),
        currency="currency",
        purpose=("payment_reference", "description", "symbol"),
        booking_text="type",
        name_column=("counterparty_name", "name"),
        iban="counterparty_iban",
        references={"KREF": "transaction_id"},
        original=("original_amount", "original_currency"),
        prepare=_trade_republic,
    ),
)
