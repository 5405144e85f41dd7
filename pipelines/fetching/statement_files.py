"""Statement files that a customer uploads: read without a database, then merged into the products of an access at once.

A file is stored whole or not at all, and so are all files of one upload. Nothing is kept of a file but its bookings and balance.
"""

import re
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import date, datetime, time, tzinfo
from functools import cache
from typing import Any

import polars as pl
from schwifty import registry

from analytics.products import ProductCategory
from pipelines.banks.base import FetchedBookings, Unusable
from pipelines.fetching import connect, facts
from pipelines.fetching.statement_merge import fold_statements, reconcile_statement
from pipelines.fetching.validation import (
    CURRENCIES,
    EARLIEST_DAY,
    IS_NOT_A_TEXT,
    MAX_TIME_AHEAD,
    PRODUCTS_LIMIT,
    check_bookings,
)
from pipelines.statements.reading import read
from pipelines.statements.statement import (
    BIC,
    IBAN,
    DayBalance,
    Difference,
    Reason,
    Statement,
    StatementAccount,
    StatementFault,
)
from warehouse.errors import HasBank, TooMany
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Access, Product
from warehouse.settings import Settings
from warehouse.stores import accesses, ledger, products, results, webhooks

MAX_LINES = 50_000
"""Lines of a file: what somebody with twenty bookings a day has in seven years."""
NOT_IN_A_KEY = re.compile(r"[^A-Za-z0-9]+")
MAX_KEY_CHARACTERS = 60
ACCOUNT_NUMBER = re.compile(r"[0-9A-Za-zÄÖÜäöüß .,:#*_/()+-]{1,70}")
"""Numbers of accounts and cards as banks and our own exports write them."""
CLEARING_CODE = re.compile(r"[0-9A-Za-z-]{1,35}")
MAX_OWNER_CHARACTERS = 300
GERMAN_IBAN = re.compile(r"DE[0-9]{20}")


@dataclass(frozen=True)
class AccountLines:
    """All that one file tells about one account."""

    format: str
    account: StatementAccount
    lines: pl.DataFrame = field(repr=False)
    first_day: date | None
    last_day: date | None
    closing: DayBalance | None
    differences: tuple[Difference, ...]


@dataclass(frozen=True)
class StatementFile:
    """A file that was read. Its name is the caller's, and is only ever shown to the caller."""

    name: str = field(repr=False)
    accounts: tuple[AccountLines, ...]


@dataclass(frozen=True)
class AccountUpload:
    """What an upload has done to a product."""

    product: str
    name: str
    format: str
    iban: str | None
    currency: str | None
    first_day: date | None
    last_day: date | None
    lines: int
    pending: int
    added: int
    changed: int
    balance_cents: int | None
    is_new_product: bool
    differences: tuple[Difference, ...]


@dataclass(frozen=True)
class FileUpload:
    """What an upload has done with a file."""

    name: str = field(repr=False)
    accounts: tuple[AccountUpload, ...]


@dataclass(frozen=True)
class UploadOptions:
    """How files are stored: into which product lines go whose file names no account, and whether anything is stored at all."""

    product: str | None = None
    dry_run: bool = False


class StatementFileFault(StatementFault):
    """A file of an upload that is no statement, with its name."""

    def __init__(self, name: str, fault: StatementFault) -> None:
        super().__init__(fault.reason, fault.line)
        self.name = name


class _DryRun(Exception):
    """Ends the transaction of a dry run, so that it is rolled back."""

    def __init__(self, uploads: tuple[FileUpload, ...]) -> None:
        super().__init__()
        self.uploads = uploads


def read_statement_files(contents: Sequence[tuple[str, bytes]], today: date) -> tuple[StatementFile, ...]:
    """All files of an upload; raises `StatementFileFault` with the name of the first that is no statement."""
    files = []
    for name, content in contents:
        try:
            files.append(read_statement_file(name, content, today))
        except StatementFault as fault:
            raise StatementFileFault(name, fault) from fault
    return tuple(files)


def read_statement_file(name: str, content: bytes, today: date) -> StatementFile:
    """The accounts of a file; raises `StatementFault` if it is no statement, or has a line that cannot be true."""
    statements = read(content)
    if sum(statement.bookings.height for statement in statements) > MAX_LINES:
        raise StatementFault(Reason.TOO_MANY_LINES, MAX_LINES + 1)
    groups: dict[tuple[str | None, ...], list[Statement]] = {}
    for statement in statements:
        account = statement.account
        groups.setdefault((account.iban, account.blz if account.iban is None else None, account.number), []).append(statement)
    return StatementFile(name, tuple(_account_lines(group, today) for group in groups.values()))


def check_statement(statement: Statement, today: date) -> None:
    """Raises for what no bank says of an account: numbers and names that are none, and days that nobody can know."""
    account = statement.account
    days = [
        statement.first_day,
        statement.last_day,
        *(balance.day for balance in (statement.opening, statement.closing) if balance),
    ]
    is_plausible = (
        (account.iban is None or IBAN.fullmatch(account.iban) is not None)
        and (account.number is None or ACCOUNT_NUMBER.fullmatch(account.number) is not None)
        and (account.bic is None or BIC.fullmatch(account.bic) is not None)
        and (account.blz is None or CLEARING_CODE.fullmatch(account.blz) is not None)
        and (account.currency is None or account.currency in CURRENCIES)
        and len(account.owner_name or "") <= MAX_OWNER_CHARACTERS
        and IS_NOT_A_TEXT.search(account.owner_name or "") is None
        and all(EARLIEST_DAY <= day <= today + MAX_TIME_AHEAD for day in days if day is not None)
    )
    if not is_plausible:
        raise StatementFault(Reason.IMPLAUSIBLE_ACCOUNT)


def upload(
    transaction: AbstractContextManager[Owner],
    settings: Settings,
    access_key: str,
    files: Sequence[StatementFile],
    now: datetime,
    options: UploadOptions,
) -> tuple[FileUpload, ...]:
    """Merges files into the products of an access, in their order; raises `HasBank` if a bank delivers the data of the access."""
    try:
        with transaction as owner:
            uploads = store_files(owner, settings, access_key, files, now, options)
            _end_dry_run(uploads, options)
    except _DryRun as end:
        return end.uploads
    return uploads


def store_files(
    owner: Owner, settings: Settings, access_key: str, files: Sequence[StatementFile], now: datetime, options: UploadOptions
) -> tuple[FileUpload, ...]:
    """Merges files into the products of an access, as a part of the transaction of the caller."""
    return _store(owner, settings, accesses.find(owner, access_key, lock=True), files, now, options)


def _end_dry_run(uploads: tuple[FileUpload, ...], options: UploadOptions) -> None:
    if options.dry_run:
        raise _DryRun(uploads)


def _account_lines(statements: Sequence[Statement], today: date) -> AccountLines:
    """The statements of one account as one, with the newest closing balance."""
    frames = [(_last_day(statement), statement.bookings) for statement in statements]
    folded = fold_statements((day, frame) for day, frame in frames if day is not None)
    lines = folded[1] if folded else statements[0].bookings.clear()
    try:
        checked_lines = check_bookings(FetchedBookings("", date.min, lines), today).frame
    except Unusable as error:
        raise StatementFault(Reason.IMPLAUSIBLE) from error
    for statement in statements:
        check_statement(statement, today)
    newest = max(statements, key=lambda statement: _last_day(statement) or date.min)
    first_days = [statement.first_day for statement in statements if statement.first_day is not None]
    return AccountLines(
        newest.format,
        newest.account,
        checked_lines,
        min(first_days, default=None),
        _last_day(newest),
        newest.closing,
        tuple(difference for statement in statements for difference in statement.differences),
    )


def _last_day(statement: Statement) -> date | None:
    days: list[date] = [day for day in (statement.last_day, statement.bookings["booked_on"].max()) if isinstance(day, date)]
    return max(days, default=None)


def _store(
    owner: Owner, settings: Settings, access: Access, files: Sequence[StatementFile], now: datetime, options: UploadOptions
) -> tuple[FileUpload, ...]:
    if connect.has_bank(access):
        raise HasBank
    if any(len(file.accounts) > PRODUCTS_LIMIT for file in files):  # before anything is merged, which takes seconds
        raise TooMany("product")
    is_first = access.status != accesses.COMPLETE
    stored_products = {product.key: product for product in products.visible(owner, [access])[access.id]}
    uploads = []
    for file in files:
        merged_accounts = tuple(
            _store_account(owner, settings.zone, access, stored_products, account, now, options.product)
            for account in file.accounts
        )
        uploads.append(FileUpload(file.name, merged_accounts))
    accounts = [account for upload_ in uploads for account in upload_.accounts]
    if is_first or any(account.added or account.changed or account.is_new_product for account in accounts):
        accesses.touch(owner)
        results.request(owner)
    days = [account.last_day for account in accounts if account.last_day is not None]
    if days:
        accesses.record_refresh_day(owner, min(max(days), now.astimezone(settings.zone).date()))
    access.status, access.fetched_at = accesses.COMPLETE, now
    access.expires_at = None if access.sync else accesses.end_after(settings.unsynced_lifetime_seconds)
    accesses.end_fetch(owner, access, [], now)
    has_news = any(account.added for account in accounts) and not is_first
    webhooks.announce(owner, *facts.of_answer(access, (), has_news=has_news and access.sync))
    return tuple(uploads)


def _store_account(
    owner: Owner,
    zone: tzinfo,
    access: Access,
    stored_products: dict[str, Product],
    account: AccountLines,
    now: datetime,
    chosen_key: str | None,
) -> AccountUpload:
    """Merges the lines of an account into its product, which is added if there is none."""
    product = _matching_product(account.account, stored_products.values()) if _is_named(account.account) else None
    key = product.key if product is not None else _new_key(account, chosen_key)
    product = product or stored_products.get(key)
    is_new_product = product is None
    if product is None:
        if len(stored_products) >= PRODUCTS_LIMIT:
            raise TooMany("product")
        columns = {**_new_columns(account), "ordinal": len(stored_products), "status": accesses.COMPLETE, "fetched_at": now}
        product, _ = products.put(owner, access, stored_products, key, **columns)
        stored_products[key] = product
    has_new_facts = _update(product, account, zone, now)
    added, changed = _merge(owner, product, account)
    return AccountUpload(
        product.key,
        product.name,
        account.format,
        product.iban,
        product.currency,
        account.first_day,
        account.last_day,
        account.lines.height,
        int(account.lines["pending"].sum()),
        added,
        changed + has_new_facts,
        product.balance_cents,
        is_new_product,
        account.differences,
    )


def _merge(owner: Owner, product: Product, account: AccountLines) -> tuple[int, int]:
    """Updates the bookings of a product; returns the number of new ones, and of those that changed or went."""
    if account.lines.is_empty() or account.last_day is None:
        return 0, 0
    first_day: Any = account.lines["booked_on"].min()
    changes = reconcile_statement(
        ledger.window(owner, product, first_day), account.lines, until=account.last_day, stored_until=product.statement_until
    )
    ledger.add(owner, product, changes.added)
    ledger.change(owner, product, changes.changed)
    ledger.drop(owner, product, changes.gone)
    product.complete_from = min(first_day, product.complete_from or first_day)
    product.statement_until = max(account.last_day, product.statement_until or account.last_day)
    return changes.added.height, changes.changed.height + len(changes.gone)


def _is_named(account: StatementAccount) -> bool:
    return bool(account.iban or account.number)


def _matching_product(account: StatementAccount, stored_products: Iterable[Product]) -> Product | None:
    """The product of this account: of the same IBAN, or of the number in it, where one format has only that."""
    matching = [product for product in stored_products if _is_same(account, product)]
    return matching[0] if len(matching) == 1 else next((product for product in matching if product.iban == account.iban), None)


def _is_same(account: StatementAccount, product: Product) -> bool:
    if account.iban and product.iban:
        return account.iban == product.iban
    blz, number = _numbers(account.iban, account.blz, account.number)
    own_blz, own_number = _numbers(product.iban, product.blz, product.account_number)
    return number is not None and number == own_number and (blz is None or own_blz is None or blz == own_blz)


def _numbers(iban: str | None, blz: str | None, number: str | None) -> tuple[str | None, str | None]:
    """Bank code and account number, also those inside a German IBAN; without leading zeros, as banks write them at will."""
    if iban is not None and GERMAN_IBAN.fullmatch(iban):
        return iban[4:12], iban[12:].lstrip("0")
    return blz, (number or "").lstrip("0") or None


def _new_key(account: AccountLines, chosen_key: str | None) -> str:
    """The key of a new product: its IBAN or number; without them the caller's choice, or the name of the format."""
    number = account.account.iban or "-".join(filter(None, (account.account.blz, account.account.number)))
    if not number and chosen_key is not None:
        return chosen_key
    key = NOT_IN_A_KEY.sub("-", number or account.format).strip("-")[:MAX_KEY_CHARACTERS]
    has_digit = any(letter.isdigit() for letter in key)
    return key if has_digit or not number else f"account-{key}"  # a word could be the address of an operation


def _new_columns(account: AccountLines) -> dict[str, Any]:
    owner_name, iban = account.account.owner_name or "", account.account.iban
    blz, number = _numbers(iban, account.account.blz, account.account.number)
    bank_name = _bank_names().get(blz or "")
    return {
        "category": str(ProductCategory.CREDIT_CARD if account.account.is_card else ProductCategory.CHECKING),
        "name": bank_name or account.format,
        "owner_name": owner_name,
        "currency": account.account.currency or "EUR",
        "account_number": account.account.number or number,
        "iban": iban,
        "bic": account.account.bic,
        "blz": blz,
        "bank_name": bank_name,
        "transfer_support": False,
        "bulk_transfer_support": False,
    }


def _update(product: Product, account: AccountLines, zone: tzinfo, now: datetime) -> bool:
    """Takes over a newer balance, and what earlier files did not tell; returns whether anything but the time has changed."""
    known_facts = {name: getattr(product, name) for name in ("iban", "bic", "blz", "owner_name", "balance_cents")}
    product.iban = product.iban or account.account.iban
    product.bic = product.bic or account.account.bic
    product.blz = product.blz or account.account.blz
    product.owner_name = product.owner_name or account.account.owner_name or ""
    day = (account.closing.day if account.closing else None) or account.last_day
    if account.closing is not None and day is not None and account.account.currency in (None, product.currency):
        balance_at = datetime.combine(day, time(), zone)
        if product.balance_at is None or balance_at >= product.balance_at:
            product.balance_cents, product.balance_at = account.closing.cents, balance_at
    product.fetched_at, product.status = now, accesses.COMPLETE
    return any(getattr(product, name) != value for name, value in known_facts.items())


@cache
def _bank_names() -> dict[str, str]:
    """The names of German banks by their codes."""
    return {bank.bank_code: bank.name for bank in registry.get_banks_by_country("DE") if bank.primary}
