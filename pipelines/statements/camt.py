"""Reads CAMT.052 and CAMT.053: the XML statements of ISO 20022, in the versions of German banks (02 and 08).

The parser is told to load nothing and to expand nothing, and entries are freed as they are read, so that memory does not grow
with hostile or long files. Names are those of the standard.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Any

import polars as pl
from lxml import etree

from analytics.frames import BOOKINGS
from pipelines.statements.statement import (
    DayBalance,
    Difference,
    Reason,
    Statement,
    StatementAccount,
    StatementFault,
    Subject,
    cents_of,
    currency_of,
    frame_of_rows,
    german_amount,
    joined_lines,
    joined_pages,
    purpose_of,
    tidy,
    with_balance_checked,
    with_period,
)

NAMESPACE = re.compile(r"urn:(?:iso:std:iso:20022:tech:xsd|swift:xsd):(?:\$)?(camt\.05[23]\.001\.[0-9][0-9])")
ENCODINGS = frozenset(("utf-8", "us-ascii", "iso-8859-1", "iso-8859-15", "windows-1252"))
DECLARATION = re.compile(rb"^(?:\xef\xbb\xbf)?\s*<\?xml[^>]*?encoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")
FEED_BYTES = 64 * 1024
CHUNK_ROWS = 2_000
MIN_BYTES_PER_TAG = 6
"""Real statements have 9 and more: a denser file is built to cost memory."""
FLOAT = re.compile(r"[0-9]{1,15}\.[0-9]{7,30}")
FLOAT_ERROR = Decimal("0.000001")
USTRD_WIDTH = 140
OPENING_CODES, CLOSING_CODES = ("OPBD", "PRCD"), ("CLBD", "ITBD")
NOT_BOOKED, INFORMATION = frozenset(("PDNG", "FUTR")), "INFO"
LOOKED_UP = frozenset(
    (
        *("Acct", "AddtlInf", "AddtlNtryInf", "AddtlTxInf", "Agt", "Amt", "AmtDtls", "BIC", "BICFI", "Bal", "BkTxCd"),
        *("BookgDt", "Btch", "Ccy", "Cd", "CdOrPrtry", "CdtDbtInd", "CdtrRefInf", "Chrgs", "ClrSysMmbId", "Dt", "DtTm"),
        *("EndToEndId", "FinInstnId", "FrDtTm", "FrToDt", "IBAN", "Id", "InstdAmt", "InstrId", "MmbId", "MndtId", "Nb"),
        *("NbOfNtries", "Nm", "NtryDtls", "OrgId", "Othr", "Ownr", "PgNb", "PmtInfId", "Prtry", "PrvtId", "Pty", "Purp"),
        *("Rcrd", "Ref", "Refs", "RfrdDocInf", "RltdAgts", "RltdPties", "RmtInf", "RptPgntn", "Rsn", "RtrInf", "RvslInd"),
        *("StmtPgntn", "Strd", "Sts", "Svcr", "ToDtTm", "Tp", "TtlNtries", "TxAmt", "TxsSummry", "ValDt"),
    )
)
"""The names of elements that are looked up; a file may have any number of others."""
Element = Any
Row = tuple[object, ...]


class _Node:
    """An element whose children are found by their names. It knows the first child of each name, and reads all of them when it is
    asked for one.
    """

    __slots__ = ("_children", "element")

    def __init__(self, element: Element) -> None:
        self.element = element
        self._children: dict[str, _Node] | None = None

    @property
    def line(self) -> int | None:
        """The line of the file in which the element begins."""
        line: int | None = self.element.sourceline
        return line

    def child(self, name: str) -> "_Node | None":
        """The first child of this name."""
        children = self._children
        if children is None:
            children = self._children = {}
            for element in self.element:
                tag = str(element.tag).rpartition("}")[2]
                if tag in LOOKED_UP and tag not in children:
                    children[tag] = _Node(element)
        return children.get(name)

    def all(self, name: str) -> "Iterator[_Node]":
        """All children of this name."""
        return map(_Node, self.element.iterchildren(f"{{*}}{name}"))

    def by_name(self) -> "dict[str, _Node]":
        """The children by their names, the last one of each."""
        return {_local_name(element): _Node(element) for element in self.element}


@dataclass(frozen=True)
class _Entry:
    """What all parts of an entry share."""

    booked_on: date
    value_on: date | None
    cents: int
    currency: str
    booking_text: str | None
    gv_code: str | None
    primanota: str | None
    pending: bool
    returned: bool


def read_camt(content: bytes) -> list[Statement]:
    """All statements of a file; raises `StatementFault` if any part of it cannot be read."""
    _refuse_hostile(content)
    statements: list[Statement] = []
    frames: list[pl.DataFrame] = []
    rows: list[Row] = []
    batches: list[Difference] = []
    name, entries = "", 0
    for element in _elements(content):
        tag = _local_name(element)
        if tag == "Document":
            name = _format(element)
        elif tag == "Ntry":
            entries += 1
            rows.extend(_rows(_Node(element), batches))
            if len(rows) >= CHUNK_ROWS:
                frames.append(frame_of_rows(rows))
                rows = []
        else:
            node = _Node(element)
            statement = _statement(name, node, pl.concat([*frames, frame_of_rows(rows)]), entries, batches)
            if statements and _is_next_page(node, statements[-1], statement):
                statement = joined_pages(statements.pop(), statement)
            statements.append(statement)
            frames, rows, batches, entries = [], [], [], 0
    if not statements:
        raise StatementFault(Reason.FORMAT_UNKNOWN)
    return [with_balance_checked(with_period(statement)) for statement in statements]


def _refuse_hostile(content: bytes) -> None:
    """Raises for what no bank writes: document types, encodings that could hide them, and nothing but tags."""
    declared = DECLARATION.match(content)
    if b"\x00" in content or (declared and declared[1].decode().lower() not in ENCODINGS):
        raise StatementFault(Reason.ENCODING)
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
        raise StatementFault(Reason.DOCTYPE)
    if content.count(b"<") * MIN_BYTES_PER_TAG > len(content):
        raise StatementFault(Reason.MARKUP)


def _elements(content: bytes) -> Iterator[Element]:
    """The root when it begins, then each entry and statement when it ends; an entry is freed when the next one was read."""
    parser = etree.XMLPullParser(
        events=("start", "end"),
        tag=("{*}Document", "{*}Ntry", "{*}Stmt", "{*}Rpt"),
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    before = None
    try:
        for start in range(0, len(content), FEED_BYTES):
            parser.feed(content[start : start + FEED_BYTES])
            for event, element in parser.read_events():
                tag = _local_name(element)
                if (event == "start") != (tag == "Document"):
                    continue
                if tag == "Document" and element.getparent() is not None:
                    raise StatementFault(Reason.MARKUP, element.sourceline)
                yield element
                if tag != "Document":
                    element.clear()
                    if before is not None and before.getparent() is element.getparent() is not None:
                        before.getparent().remove(before)
                    before = element
        parser.close()
    except etree.XMLSyntaxError as error:
        raise StatementFault(Reason.MARKUP, error.lineno) from error


def _format(document: Element) -> str:
    """The name of the format by the namespace of the root, for example CAMT.053.001.08."""
    match = NAMESPACE.fullmatch(str(document.tag).rpartition("}")[0].lstrip("{"))
    if match is None:
        raise StatementFault(Reason.FORMAT_UNKNOWN, document.sourceline)
    return match[1].upper()


def _statement(name: str, element: _Node, lines: pl.DataFrame, entries: int, batches: list[Difference]) -> Statement:
    """A statement from its element, whose entries were read before."""
    if not name:
        raise StatementFault(Reason.FORMAT_UNKNOWN)
    account = _account(_find(element, "Acct"))
    if account.currency is None:
        account = replace(account, currency=_first_currency(element, lines))
    declared = _text(element, "TxsSummry", "TtlNtries", "NbOfNtries")
    differences = list(batches)
    if declared is not None and declared.isdecimal() and int(declared[:9]) != entries:
        differences.append(Difference(Subject.LINES, int(declared[:9]), entries))
    opening, closing = _balances(element)
    return Statement(
        name,
        account,
        tidy(lines),
        _day(_find(element, "FrToDt", "FrDtTm")) or (opening.day if opening else None),
        _day(_find(element, "FrToDt", "ToDtTm")) or (closing.day if closing else None),
        opening,
        closing,
        tuple(differences),
    )


def _is_next_page(element: _Node, before: Statement, statement: Statement) -> bool:
    """Whether a statement continues the one before it: a page after the first one, of the same account."""
    page = _text(element, "StmtPgntn", "PgNb") or _text(element, "RptPgntn", "PgNb") or "1"
    return page.isdecimal() and int(page[:9]) > 1 and before.account == statement.account


def _account(element: _Node | None) -> StatementAccount:
    iban = _text(element, "Id", "IBAN")
    agent = _find(element, "Svcr", "FinInstnId")
    return StatementAccount(
        iban=iban.replace(" ", "") if iban else None,
        number=_text(element, "Id", "Othr", "Id"),
        bic=_bic(agent),
        blz=_text(agent, "ClrSysMmbId", "MmbId"),
        currency=_text(element, "Ccy"),
        owner_name=_text(element, "Ownr", "Nm") or _text(element, "Ownr", "Pty", "Nm"),
    )


def _first_currency(element: _Node, lines: pl.DataFrame) -> str | None:
    """The currency of the first balance, or else of the first line."""
    amount = _find(element, "Bal", "Amt")
    currencies: list[str] = lines["currency"].head(1).to_list()
    return amount.element.get("Ccy") if amount is not None else next(iter(currencies), None)


def _own_currency(entry: _Node) -> str | None:
    """The currency of the account, for entries that leave out their own; the account stands before them."""
    statement = _Node(entry.element.getparent())
    return _text(statement, "Acct", "Ccy") or _first_currency(statement, BOOKINGS.to_frame())


def _balances(element: _Node) -> tuple[DayBalance | None, DayBalance | None]:
    """The opening and closing balance; of several interim balances the first opens and the last closes."""
    balances: dict[str, list[DayBalance]] = {}
    for balance in element.all("Bal"):
        code = _text(balance, "Tp", "CdOrPrtry", "Cd") or ""
        amount = _amount(balance)
        if amount is None or _find(balance, "CdtDbtInd") is None:
            continue  # whether it is a debt is not guessed
        balances.setdefault(code, []).append(DayBalance(_signed(balance, amount[0]), _day(_find(balance, "Dt"))))
    opening = next((balances[code][0] for code in OPENING_CODES if code in balances), None)
    if opening is None and len(balances.get("ITBD", ())) > 1:
        opening = balances["ITBD"][0]
    return opening, next((balances[code][-1] for code in CLOSING_CODES if code in balances), None)


def _rows(entry: _Node, batches: list[Difference]) -> list[Row]:
    """The bookings of an entry: one, or those of a batch whose parts add up to it; none if it only informs."""
    status = _find(entry, "Sts")
    state = _text(status, "Cd") or _own_text(status) or "BOOK"
    if state == INFORMATION:
        return []
    shared = _shared(entry, pending=state in NOT_BOOKED)
    details = [part for group in entry.all("NtryDtls") for part in group.all("TxDtls")]
    if len(details) < 2:
        return [_row(shared, details[0] if details else None, entry, shared.cents)]
    parts = [_part_cents(detail, shared) for detail in details]
    whole = [part for part in parts if part is not None]
    if len(whole) == len(parts) and sum(whole) == shared.cents:
        return [_row(shared, detail, entry, cents) for detail, cents in zip(details, whole, strict=True)]
    batches.append(Difference(Subject.BATCH, shared.cents, sum(whole)))
    return [_row(shared, None, entry, shared.cents)]


def _shared(entry: _Node, *, pending: bool) -> _Entry:
    amount = _amount(entry)
    if amount is None:
        raise StatementFault(Reason.AMOUNT, entry.line)
    value_on = _day(_find(entry, "ValDt"))
    booked_on = _day(_find(entry, "BookgDt")) or value_on
    if booked_on is None:
        raise StatementFault(Reason.DAY, entry.line)
    gv_code, primanota = _transaction_code(entry)
    return _Entry(
        booked_on,
        value_on,
        _signed(entry, amount[0]),
        currency_of(amount[1] or _own_currency(entry), entry.line),
        _text(entry, "AddtlNtryInf"),
        gv_code,
        primanota,
        pending,
        _text(entry, "RvslInd") in ("true", "1"),
    )


def _row(shared: _Entry, detail: _Node | None, entry: _Node, cents: int) -> Row:
    """One booking; the counterparty is who stands on the other side of the payment, which a return does not exchange."""
    parties, agents = _children(detail, "RltdPties"), _children(detail, "RltdAgts")
    returned = shared.returned or _find(detail, "RtrInf") is not None
    side = "Dbtr" if (cents >= 0) != returned else "Cdtr"
    other = "Cdtr" if side == "Dbtr" else "Dbtr"
    if parties and not _is_named(parties, side) and _is_named(parties, other):
        side = other
    iban = _text(parties.get(f"{side}Acct"), "Id", "IBAN")
    gv_code, primanota = (shared.gv_code, shared.primanota) if shared.gv_code else _transaction_code(detail)
    return (
        shared.booked_on,
        shared.value_on,
        cents,
        shared.currency,
        _purpose(shared, detail, entry, parties, cents),
        shared.booking_text or _text(detail, "AddtlTxInf"),
        gv_code,
        primanota,
        _party_name(parties.get(side)),
        iban,
        _bic(_find(agents.get(f"{side}Agt"), "FinInstnId")),
        _party_name(parties.get(f"Ultmt{side}")),
        shared.pending,
    )


def _is_named(parties: dict[str, _Node], side: str) -> bool:
    return _party_name(parties.get(side)) is not None or _find(parties.get(f"{side}Acct"), "Id", "IBAN") is not None


def _party_name(party: _Node | None) -> str | None:
    """The name of a party; version 08 has a level more, and an agent instead of a party where a bank pays."""
    return _text(party, "Nm") or _text(party, "Pty", "Nm") or _text(party, "Agt", "FinInstnId", "Nm")


def _purpose(shared: _Entry, detail: _Node | None, entry: _Node, parties: dict[str, _Node], cents: int) -> str | None:
    """References, creditor, original amount and remittance of a part, or the batch reference of an entry."""
    references = _find(detail, "Refs")
    tags = {
        "EREF": _text(references, "EndToEndId"),
        "KREF": _text(references, "InstrId") or _text(references, "PmtInfId") or _batch_reference(detail, entry),
        "MREF": _text(references, "MndtId"),
        "CRED": _creditor_id(parties.get("Cdtr")),
        "PURP": _text(detail, "Purp", "Cd") or _text(detail, "Purp", "Prtry"),
        **_original_amount(shared, detail, entry, cents),
    }
    return purpose_of(tags, _remittance(detail))


def _batch_reference(detail: _Node | None, entry: _Node) -> str | None:
    return _text(entry, "NtryDtls", "Btch", "PmtInfId") if detail is None else None


def _creditor_id(creditor: _Node | None) -> str | None:
    """The creditor identifier of a direct debit."""
    identity = _find(creditor, "Pty", "Id")
    if identity is None:
        identity = _find(creditor, "Id")
    return _text(identity, "PrvtId", "Othr", "Id") or _text(identity, "OrgId", "Othr", "Id")


def _original_amount(shared: _Entry, detail: _Node | None, entry: _Node, cents: int) -> dict[str, str | None]:
    """The amount before charges or exchange and the charges, where the booked amount is another one."""
    details = _find(detail, "AmtDtls")
    if details is None:
        details = _find(entry, "AmtDtls")
    original = _amount(_find(details, "InstdAmt")) or _amount(_find(details, "TxAmt"))
    if original is None:
        return {}
    amount, currency = original[0], original[1] or shared.currency
    if (amount, currency) == (abs(cents), shared.currency):
        return {}
    charges = _find(detail, "Chrgs")
    charge = _amount(charges) or _amount(_find(charges, "Rcrd"))
    foreign = "" if currency == shared.currency else f"{currency} "
    return {"OAMT": foreign + german_amount(amount), "COAM": german_amount(charge[0]) if charge else None}


def _remittance(detail: _Node | None) -> str | None:
    """What the payer wrote, the references of documents, and why a payment came back."""
    information = _find(detail, "RmtInf")
    if information is None:
        lines = []
    else:
        lines = [line for part in information.all("Ustrd") if (line := part.element.text or "").strip()]
    texts = [joined_lines(lines, USTRD_WIDTH)]
    if information is not None and information.child("Strd") is not None:
        for structured in information.all("Strd"):
            texts.append(_text(structured, "CdtrRefInf", "Ref") or "")
            texts.append(_text(structured, "RfrdDocInf", "Nb") or "")
            texts.extend((part.element.text or "").strip() for part in structured.all("AddtlRmtInf"))
    returned = _find(detail, "RtrInf")
    if returned is not None:
        texts.append(f"RETURN {_text(returned, 'Rsn', 'Cd') or _text(returned, 'Rsn', 'Prtry') or ''}".strip())
        texts.append(_text(returned, "AddtlInf") or "")
    return " ".join(filter(None, texts)) or None


def _part_cents(detail: _Node, shared: _Entry) -> int | None:
    """The signed amount of a part of a batch in the currency of the entry; None if the file does not tell it."""
    amount = _amount(detail) or _amount(_find(detail, "AmtDtls", "TxAmt")) or _amount(_find(detail, "AmtDtls", "InstdAmt"))
    if amount is None or (amount[1] or shared.currency) != shared.currency:
        return None
    if _find(detail, "CdtDbtInd") is None:
        return amount[0] if shared.cents >= 0 else -amount[0]
    return _signed(detail, amount[0])


def _transaction_code(element: _Node | None) -> tuple[str | None, str | None]:
    """The German transaction code and the primanota from a code like `NTRF+166+9248+997`."""
    code = _text(element, "BkTxCd", "Prtry", "Cd")
    parts = [*(code or "").split("+"), "", ""]
    gv_code = parts[1] if len(parts[1]) == 3 and parts[1].isdigit() else None
    return gv_code, (parts[2].partition("/")[0] or None) if gv_code else None


def _bic(agent: _Node | None) -> str | None:
    return _text(agent, "BICFI") or _text(agent, "BIC")


def _amount(element: _Node | None) -> tuple[int, str] | None:
    """The unsigned cents and the currency of the amount in an element."""
    amount = _find(element, "Amt")
    if amount is None:
        return None
    text = (amount.element.text or "").strip()
    if text.startswith(("-", "+")) or "," in text:
        raise StatementFault(Reason.AMOUNT, amount.line)
    return cents_of(_without_float_error(text), amount.line), amount.element.get("Ccy") or ""


def _without_float_error(text: str) -> str:
    """An amount without the error of binary fractions: a bank writes 94.010000000021 for a balance of 94.01."""
    if not FLOAT.fullmatch(text):
        return text
    exact = Decimal(text)
    hundredths = round(exact, 2)
    return str(hundredths) if abs(exact - hundredths) < FLOAT_ERROR else text


def _signed(element: _Node, cents: int) -> int:
    """Cents with the sign of the indicator beside them; raises if there is none."""
    indicator = _text(element, "CdtDbtInd")
    if indicator not in ("CRDT", "DBIT"):
        raise StatementFault(Reason.FIELD_MISSING, element.line)
    return cents if indicator == "CRDT" else -cents


def _day(element: _Node | None) -> date | None:
    """The day as the bank wrote it, also of a time with its zone."""
    if element is None:
        return None
    text = _own_text(element) or _text(element, "Dt") or _text(element, "DtTm")
    if text is None:
        return None
    try:
        return date.fromisoformat(text[:10])
    except ValueError as error:
        raise StatementFault(Reason.DAY, element.line) from error


def _find(element: _Node | None, *names: str) -> _Node | None:
    for name in names:
        if element is None:
            return None
        element = element.child(name)
    return element


def _children(element: _Node | None, name: str) -> dict[str, _Node]:
    """The children of a child by their names."""
    parent = _find(element, name)
    return {} if parent is None else parent.by_name()


def _text(element: _Node | None, *names: str) -> str | None:
    for name in names:
        if element is None:
            return None
        element = element.child(name)
    return _own_text(element)


def _own_text(element: _Node | None) -> str | None:
    if element is None:
        return None
    text: str | None = element.element.text
    return (text.strip() or None) if text else None


def _local_name(element: Element) -> str:
    return str(element.tag).rpartition("}")[2]
