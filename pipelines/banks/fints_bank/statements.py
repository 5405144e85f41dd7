"""A page of bookings in the format of an order: CAMT.052 for HKCAZ, MT940 and MT942 for HKKAZ."""

import re
from datetime import datetime

import polars as pl

from pipelines.banks.fints_bank.accounts import BankAccount
from pipelines.banks.fints_bank.books import StatementPage
from pipelines.banks.fints_bank.customers import BankCustomer
from pipelines.banks.fints_bank.mt940 import write_mt940, write_mt942
from pipelines.statements.writing import ExportAccount, camt_report

LATIN = "iso-8859-1"


def write(
    order_name: str, customer: BankCustomer, account: BankAccount, page: StatementPage, now: datetime
) -> tuple[bytes, bytes]:
    """The booked and the pending lines of a page."""
    if order_name == "HKKAZ":
        return write_mt940(account, page), write_mt942(account, page, now)
    booked = camt_report(_export(account, page), now) if page.bookings.height else b""
    pending = camt_report(_export_pending(account, page.pending), now) if page.pending.height else b""
    return (_latin(booked), _latin(pending)) if customer.behaviour.has_latin_statements else (booked, pending)


def _export(account: BankAccount, page: StatementPage) -> ExportAccount:
    product = account.product
    return ExportAccount(
        product.key,
        product.name,
        page.bookings,
        iban=product.iban,
        number=account.number,
        bic=product.bic,
        currency=product.currency,
        owner_name=product.owner_name,
        balance_cents=page.closing_cents,
        balance_on=page.closing_on,
        opening_cents=page.opening_cents,
        opening_on=page.opening_on,
    )


def _export_pending(account: BankAccount, pending: pl.DataFrame) -> ExportAccount:
    product = account.product
    return ExportAccount(product.key, product.name, pending, iban=product.iban, number=account.number, currency=product.currency)


def _latin(document: bytes) -> bytes:
    """The document in ISO 8859-1, with line breaks of Windows inside its purposes."""
    text = document.decode().replace('encoding="UTF-8"', 'encoding="ISO-8859-1"', 1)
    text = re.sub(r"(<Ustrd>[^< ]+) ", "\\1\r\n", text)
    return text.encode(LATIN, "xmlcharrefreplace")
