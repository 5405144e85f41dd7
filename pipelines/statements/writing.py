"""Writes accounts as CAMT.053 and CAMT.052 (version 08) and as CSV, in a form that `reading` reads back to the same bookings.

References that stand in a purpose in the form of the house go to their own elements of CAMT, so that other programs find them.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any
from xml.sax.saxutils import escape

import polars as pl

from analytics.frames import BOOKINGS, checked
from pipelines.statements.csv_formats import KONTOR_BOOKED, KONTOR_COLUMNS, KONTOR_PENDING, guarded
from pipelines.statements.statement import NO_REFERENCE, SEPA_TAG

STATEMENT_SPACE = "urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"
REPORT_SPACE = "urn:iso:std:iso:20022:tech:xsd:camt.052.001.08"
USTRD_WIDTH = 140
NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
REPLACEMENT = "\ufffd"
REFERENCE = re.compile(r"(EREF|KREF|MREF|CRED|PURP)\+(\S(?:.*\S)?)")
REMITTANCE = re.compile(r"SVWZ\+(\S(?:.*\S)?)", re.S)
REFERENCE_TAGS = ("EREF", "KREF", "MREF", "CRED", "PURP")
"""The references that have elements of their own, in the order in which they are read."""
REFERENCE_ELEMENTS = {"InstrId": "KREF", "EndToEndId": "EREF", "MndtId": "MREF"}
MAX_NAME_CHARACTERS = 70
CSV_TEXTS = (
    *("counterparty_name", "counterparty_iban", "counterparty_bic", "ultimate_name", "purpose"),
    *("booking_text", "gv_code", "primanota"),
)


@dataclass(frozen=True)
class ExportAccount:
    """An account with its bookings (frame `BOOKINGS`, the oldest first). `key` names it where it has no number."""

    key: str
    name: str
    bookings: pl.DataFrame = field(repr=False)
    iban: str | None = None
    number: str | None = None
    bic: str | None = None
    currency: str | None = None
    owner_name: str | None = None
    balance_cents: int | None = None
    balance_on: date | None = None
    opening_cents: int | None = None
    opening_on: date | None = None


def camt_file(accounts: Iterable[ExportAccount], now: datetime) -> bytes:
    """One statement (CAMT.053) for each account."""
    statements = (_element("Stmt", _statement(number, account, now)) for number, account in enumerate(accounts, 1))
    return _document(STATEMENT_SPACE, "BkToCstmrStmt", "".join(statements), now)


def camt_report(account: ExportAccount, now: datetime) -> bytes:
    """A report (CAMT.052) on one account, as banks send it through FinTS."""
    return _document(REPORT_SPACE, "BkToCstmrAcctRpt", _element("Rpt", _statement(1, account, now)), now)


def csv_file(accounts: Iterable[ExportAccount]) -> bytes:
    """All accounts in one table, in UTF-8 with a mark that spreadsheets look for. Cells that could be a formula begin with an
    apostrophe.
    """
    text = io.StringIO()
    writer = csv.writer(text, delimiter=";", lineterminator="\r\n")
    writer.writerow(KONTOR_COLUMNS)
    for account in accounts:
        writer.writerows(_csv_rows(account))
    return b"\xef\xbb\xbf" + text.getvalue().encode()


def _csv_rows(account: ExportAccount) -> Iterator[Sequence[str]]:
    own_account = account.iban or account.number or account.key
    for row in checked(account.bookings, BOOKINGS).iter_rows(named=True):
        yield (
            guarded(own_account),
            guarded(account.name),
            str(row["booked_on"]),
            str(row["value_on"] or ""),
            _amount(row["amount_cents"], ",", signed=True),
            row["currency"],
            *(guarded(row[name] or "") for name in CSV_TEXTS),
            KONTOR_PENDING if row["pending"] else KONTOR_BOOKED,
        )


def _document(space: str, root: str, content: str, now: datetime) -> bytes:
    header = _element("GrpHdr", _text("MsgId", f"KONTOR-{now:%Y%m%d%H%M%S}"), _text("CreDtTm", _moment(now)))
    body = f'<Document xmlns="{space}">{_element(root, header, content)}</Document>'
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'.encode()


def _statement(number: int, account: ExportAccount, now: datetime) -> str:
    other = _element("Othr", _text("Id", account.number or account.key))
    about = _element(
        "Acct",
        _element("Id", _text("IBAN", account.iban) or other),
        _text("Ccy", account.currency),
        _text("Nm", account.name[:MAX_NAME_CHARACTERS]),
        _element("Ownr", _text("Nm", account.owner_name)),
        _element("Svcr", _element("FinInstnId", _text("BICFI", account.bic))),
    )
    entries = [_entry(row) for row in checked(account.bookings, BOOKINGS).iter_rows(named=True)]
    identity = _text("Id", f"{now:%Y%m%d%H%M%S}-{number}")
    opening = _balance("OPBD", account.opening_cents, account.opening_on, account.currency)
    closing = _balance("CLBD", account.balance_cents, account.balance_on, account.currency)
    return "".join((identity, _text("CreDtTm", _moment(now)), about, opening, closing, *entries))


def _balance(code: str, cents: int | None, day: date | None, currency: str | None) -> str:
    if cents is None or day is None or currency is None:
        return ""
    kind = _element("Tp", _element("CdOrPrtry", _text("Cd", code)))
    return _element("Bal", kind, _money(cents, currency), _element("Dt", _text("Dt", str(day))))


def _entry(row: dict[str, Any]) -> str:
    """A booking as an entry with one part."""
    code = "+".join(("NTRF", row["gv_code"] or "", row["primanota"] or ""))
    return _element(
        "Ntry",
        _money(row["amount_cents"], row["currency"]),
        _element("Sts", _text("Cd", "PDNG" if row["pending"] else "BOOK")),
        _element("BookgDt", _text("Dt", str(row["booked_on"]))),
        _element("ValDt", _text("Dt", str(row["value_on"] or ""))),
        _element("BkTxCd", _element("Prtry", _text("Cd", code), _text("Issr", "DK"))),
        _element("NtryDtls", _element("TxDtls", _details(row))),
        _text("AddtlNtryInf", row["booking_text"]),
    )


def _details(row: dict[str, Any]) -> str:
    """References, parties and remittance of a booking."""
    references, remittance = _split(row["purpose"])
    chunks = [remittance[start : start + USTRD_WIDTH] for start in range(0, len(remittance), USTRD_WIDTH)]
    side = "Dbtr" if row["amount_cents"] >= 0 else "Cdtr"
    agent = _element(f"{side}Agt", _element("FinInstnId", _text("BICFI", row["counterparty_bic"])))
    return "".join(
        (
            _element("Refs", *(_text(name, references.get(tag)) for name, tag in REFERENCE_ELEMENTS.items())),
            _element("RltdPties", *(_party(role, row, references, is_counterparty=role == side) for role in ("Dbtr", "Cdtr"))),
            _element("RltdAgts", agent),
            _element("Purp", _text("Cd", references.get("PURP"))),
            _element("RmtInf", *(_text("Ustrd", chunk) for chunk in chunks)),
        )
    )


def _party(role: str, row: dict[str, Any], references: dict[str, str], *, is_counterparty: bool) -> str:
    """One side of a payment: the counterparty with its account, and the creditor with its identifier."""
    creditor = references.get("CRED") if role == "Cdtr" else None
    identity = _element("Id", _element("PrvtId", _element("Othr", _text("Id", creditor))))
    if not is_counterparty:
        return _element(role, _element("Pty", identity))
    account = _element("Id", _text("IBAN", row["counterparty_iban"]))
    return "".join(
        (
            _element(role, _element("Pty", _text("Nm", row["counterparty_name"]), identity)),
            _element(f"{role}Acct", account),
            _element(f"Ultmt{role}", _element("Pty", _text("Nm", row["ultimate_name"]))),
        )
    )


def _split(purpose: str | None) -> tuple[dict[str, str], str]:
    """The references of a purpose in the form of the house, and its remittance; any other purpose is all remittance."""
    lines = (purpose or "").split("\n")
    references: dict[str, str] = {}
    while lines and (match := REFERENCE.fullmatch(lines[0])):
        tags = [*references, match[1]]
        if match[2].upper() in NO_REFERENCE or tags != [tag for tag in REFERENCE_TAGS if tag in tags]:
            break
        references[match[1]] = match[2]
        lines.pop(0)
    rest = "\n".join(lines)
    remittance = REMITTANCE.fullmatch(rest)
    if references and (not rest or (remittance is not None and not SEPA_TAG.search(remittance[1]))):
        return references, remittance[1] if remittance else ""
    return {}, purpose or ""


def _money(cents: int, currency: str) -> str:
    amount = f'<Amt Ccy="{escape(currency)}">{_amount(cents, ".")}</Amt>'
    return amount + _text("CdtDbtInd", "CRDT" if cents >= 0 else "DBIT")


def _amount(cents: int, decimal: str, *, signed: bool = False) -> str:
    return f"{'-' if signed and cents < 0 else ''}{abs(cents) // 100}{decimal}{abs(cents) % 100:02}"


def _moment(now: datetime) -> str:
    return now.isoformat(timespec="seconds")


def _element(tag: str, *parts: str) -> str:
    """An element with finished parts; nothing if all are empty."""
    content = "".join(parts)
    return f"<{tag}>{content}</{tag}>" if content else ""


def _text(tag: str, text: str | None) -> str:
    """An element with a text; nothing if there is none. Characters that XML does not have are replaced."""
    return f"<{tag}>{escape(NOT_IN_XML.sub(REPLACEMENT, text))}</{tag}>" if text else ""
