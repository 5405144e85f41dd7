"""The kinds of product that the demo bank sells, each a function from the facts of one to an account."""

import hashlib
from dataclasses import replace

from analytics.products import ProductCategory
from pipelines.banks.base import Balance, FetchedProduct, HomeSavings
from pipelines.banks.demo.plans import Holder, Security, Style, bank, iban


def account(
    short: str, category: ProductCategory, name: str, owner: str, bank_code: str, number: str, style: Style, opening_cents: int
) -> Holder:
    """Any account with an IBAN, which is its key."""
    known, (bic, bank_name) = iban(bank_code, number), bank(bank_code)
    product = FetchedProduct(
        known, category, name, owner, account_number=number, iban=known, bic=bic, blz=bank_code, bank_name=bank_name
    )
    return Holder(short, product, style, opening_cents)


def checking(
    name: str,
    owner: str,
    bank_code: str,
    number: str,
    style: Style,
    opening_cents: int,
    *,
    short: str = "giro",
    overdraft_limit_cents: int | None = None,
) -> Holder:
    """An account from which one can pay."""
    holder = account(short, ProductCategory.CHECKING, name, owner, bank_code, number, style, opening_cents)
    product = replace(
        holder.product, transfer_support=True, bulk_transfer_support=True, overdraft_limit_cents=overdraft_limit_cents
    )
    return replace(holder, product=product)


def call_money(
    name: str, owner: str, bank_code: str, number: str, style: Style, opening_cents: int, *, short: str = "call"
) -> Holder:
    """Money at call, from which one can pay to one's own checking account."""
    holder = account(short, ProductCategory.CALL_MONEY, name, owner, bank_code, number, style, opening_cents)
    return replace(holder, product=replace(holder.product, transfer_support=True))


def card(
    name: str,
    owner: str,
    bank_code: str,
    first: str,
    last: str,
    *,
    short: str = "card",
    limit_cents: int | None = None,
    category: ProductCategory = ProductCategory.CREDIT_CARD,
    opening_cents: int = 0,
) -> Holder:
    """A card. Its number is masked, and its key tells nothing of it."""
    bic, bank_name = bank(bank_code)
    key = "KK-" + hashlib.sha256(f"{owner}/{first}/{last}".encode()).hexdigest()[:8].upper()
    product = FetchedProduct(
        key,
        category,
        name,
        owner,
        account_number=f"{first}********{last}",
        bic=bic,
        blz=bank_code,
        bank_name=bank_name,
        credit_line_cents=limit_cents,
    )
    return Holder(short, product, Style.VISA, opening_cents)


def depot(
    name: str, owner: str, bank_code: str, number: str, securities: tuple[Security, ...], *, short: str = "depot"
) -> Holder:
    """A depot. It has a number, but no IBAN."""
    bic, bank_name = bank(bank_code)
    product = FetchedProduct(
        f"DEPOT-{number}", ProductCategory.DEPOT, name, owner, account_number=number, bic=bic, blz=bank_code, bank_name=bank_name
    )
    return Holder(short, product, Style.DIRECT, securities=securities)


def home_savings(name: str, owner: str, bank_code: str, number: str, opening_cents: int, contract: HomeSavings) -> Holder:
    """A home-savings contract."""
    holder = account("home", ProductCategory.HOME_SAVINGS, name, owner, bank_code, number, Style.COOPERATIVE, opening_cents)
    return replace(holder, product=replace(holder.product, home_savings=contract))


def multicurrency(
    name: str, owner: str, bank_code: str, number: str, style: Style, opening_cents: int, further: tuple[Balance, ...]
) -> Holder:
    """An account in several currencies, which our categories do not know."""
    holder = account("multi", ProductCategory.OTHER_ACCOUNT, name, owner, bank_code, number, style, opening_cents)
    return replace(holder, further=further)
