"""Writes bookings as banks send them with HIKAZ: booked ones as MT940, pending ones as MT942."""

import re
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

from pipelines.banks.fints.syntax import ENCODING
from pipelines.banks.fints_bank.accounts import BankAccount
from pipelines.banks.fints_bank.books import StatementPage
from pipelines.banks.fints_bank.messages import BANK_CODE

LINE_WIDTH, SUBFIELD_WIDTH = 65, 27
PURPOSE_SUBFIELDS = (*range(20, 30), *range(60, 64))
EARLY_PURPOSES = 10
"""The subfields of the purpose that stand before those of the counterparty."""
SEPA_TAGS = re.compile(r"(?=(?:EREF|KREF|MREF|CRED|DEBT|SVWZ|PURP|ABWA|ABWE)\+)")
LINE_BREAK = "\r\n"


def write_mt940(account: BankAccount, page: StatementPage) -> bytes:
    """One message for a page, its balances final or between pages; nothing for a page without lines."""
    if not page.bookings.height:
        return b""
    currency = account.product.currency
    opening, closing = ("60F" if page.is_first else "60M"), ("62M" if page.touchdown else "62F")
    lines = [
        *_head(account),
        f":{opening}:{_balance(page.opening_cents, page.opening_on, currency)}",
        *_entries(page.bookings.iter_rows(named=True)),
        f":{closing}:{_balance(page.closing_cents, page.closing_on, currency)}",
    ]
    return _encoded(lines)


def write_mt942(account: BankAccount, page: StatementPage, now: datetime) -> bytes:
    """One message for the pending lines; nothing if there are none."""
    if not page.pending.height:
        return b""
    amounts: list[int] = page.pending["amount_cents"].to_list()
    debits, receipts = [cents for cents in amounts if cents < 0], [cents for cents in amounts if cents >= 0]
    currency = account.product.currency
    lines = [
        *_head(account),
        f":34F:{currency}0,",
        f":13D:{now:%y%m%d%H%M}+0000",
        *_entries(page.pending.iter_rows(named=True)),
        f":90D:{len(debits)}{currency}{_amount(sum(debits))}",
        f":90C:{len(receipts)}{currency}{_amount(sum(receipts))}",
    ]
    return _encoded(lines)


def _head(account: BankAccount) -> list[str]:
    return [":20:STARTUMS", ":21:NONREF", f":25:{BANK_CODE}/{account.number}", ":28C:0/1"]


def _entries(rows: Iterator[dict[str, Any]]) -> Iterator[str]:
    for row in rows:
        value_on: date = row["value_on"] or row["booked_on"]
        mark = "C" if row["amount_cents"] >= 0 else "D"
        code = row["gv_code"] if re.fullmatch("[0-9]{3}", row["gv_code"] or "") else None
        yield f":61:{value_on:%y%m%d}{row['booked_on']:%m%d}{mark}{_amount(row['amount_cents'])}N{code or 'MSC'}NONREF"
        text = (code or "999") + "".join(f"?{key:02}{part}" for key, part in _subfields(row))
        yield LINE_BREAK.join(f":86:{text}"[start : start + LINE_WIDTH] for start in range(0, len(text) + 4, LINE_WIDTH))


def _subfields(row: dict[str, Any]) -> Iterator[tuple[int, str]]:
    """The subfields of field 86 in ascending order."""
    if row["booking_text"]:
        yield 0, _plain(row["booking_text"])[:SUBFIELD_WIDTH]
    if row["primanota"]:
        yield 10, _plain(row["primanota"])
    purposes = list(zip(PURPOSE_SUBFIELDS, _purpose_lines(_plain(row["purpose"] or ""), row["ultimate_name"]), strict=False))
    yield from purposes[:EARLY_PURPOSES]
    if row["counterparty_bic"]:
        yield 30, row["counterparty_bic"]
    if row["counterparty_iban"]:
        yield 31, row["counterparty_iban"]
    yield from zip((32, 33), _chunks(_plain(row["counterparty_name"] or "")), strict=False)
    yield from purposes[EARLY_PURPOSES:]


def _purpose_lines(purpose: str, ultimate_name: str | None) -> Iterator[str]:
    """The purpose in lines of 27 characters; each reference of SEPA begins a line."""
    if ultimate_name and SEPA_TAGS.search(purpose) and "ABWA+" not in purpose and "ABWE+" not in purpose:
        purpose += f"ABWA+{_plain(ultimate_name)}"
    for part in SEPA_TAGS.split(purpose):
        yield from _chunks(part)


def _chunks(text: str) -> list[str]:
    return [text[start : start + SUBFIELD_WIDTH] for start in range(0, len(text), SUBFIELD_WIDTH)]


def _plain(text: str) -> str:
    """The text in one line, without the question marks that separate subfields."""
    return " ".join(text.split("\n")).replace("?", ".")


def _balance(cents: int, day: date, currency: str) -> str:
    return f"{'C' if cents >= 0 else 'D'}{day:%y%m%d}{currency}{_amount(cents)}"


def _amount(cents: int) -> str:
    return f"{abs(cents) // 100},{abs(cents) % 100:02}"


def _encoded(lines: list[str]) -> bytes:
    """The message as it stands in HIKAZ: between line breaks, in the character set of FinTS."""
    return (LINE_BREAK + LINE_BREAK.join(lines) + LINE_BREAK + "-" + LINE_BREAK).encode(ENCODING, "replace")
