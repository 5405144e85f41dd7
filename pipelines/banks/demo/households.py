"""The demo bank's own customers, `demo1` to `demo8`, as `Histories`: scripted personas, and how each of them confirms."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from functools import cache
from typing import TYPE_CHECKING

from analytics.products import CARDS, ProductCategory
from models.simulator.scripted.personas import NAMES, Persona, ScriptedAccount, Security, bank, load
from pipelines.banks.base import Balance, FetchedPosition, FetchedProduct, HomeSavings, Medium, Method
from pipelines.banks.demo import security
from pipelines.banks.demo.histories import PAYING_CATEGORIES, START, Customer, DemoAccount

if TYPE_CHECKING:
    import polars as pl

METHODS = {
    "demo1": (security.MANUAL, security.PUSH),
    "demo2": (security.MANUAL, security.OPTICAL, security.PUSH, security.PAGE),
    "demo3": (security.PUSH, security.APP),
    "demo4": (security.MANUAL, security.LISTED),
    "demo5": (security.PUSH, security.APP, security.OPTICAL),
    "demo6": (security.PUSH, security.PHOTO, security.APP, security.PAGE),
    "demo7": (security.PHOTO, security.PUSH, security.MANUAL),
    "demo8": (security.MANUAL, security.PUSH),
}
MEDIA = {
    "demo1": (security.GENERATOR, security.PHONE_APP),
    "demo2": (security.GENERATOR, security.SECODER, security.PHONE),
    "demo3": (security.PHONE_APP, security.OLD_PHONE),
    "demo4": (security.SECOND_GENERATOR, security.LIST),
    "demo5": (security.PHONE_APP, security.TABLET, security.SECOND_GENERATOR),
    "demo6": (security.PHONE_APP, security.PHONE),
    "demo7": (security.PHONE, security.SECODER, security.TABLET),
    "demo8": (security.GENERATOR, security.PHONE_APP),
}


@dataclass(frozen=True)
class Member:
    """A persona as a customer of the bank: its PIN, and how it confirms."""

    persona: Persona
    methods: tuple[Method, ...] = ()
    media: tuple[Medium, ...] = ()
    pin: str = field(default="demo", repr=False)


@cache
def demo_members() -> tuple[Member, ...]:
    """The customers `demo1` to `demo8`."""
    personas = [load(name) for name in NAMES]
    return tuple(Member(persona, METHODS[persona.user_id], MEDIA[persona.user_id]) for persona in personas)


class Households:
    """Histories of scripted personas."""

    def __init__(self, members: tuple[Member, ...] | None = None) -> None:
        self._members = {member.persona.user_id: member for member in members or demo_members()}

    def find(self, user_id: str) -> Customer | None:
        """The customer with this user id."""
        member = self._members.get(user_id)
        if member is None:
            return None
        accounts = tuple(_account(account) for account in member.persona.accounts)
        return Customer(user_id, accounts, member.pin, member.methods, member.media)

    def bookings(self, customer: Customer, as_of: date) -> Mapping[str, "pl.DataFrame"]:
        """By product key, all bookings as the bank tells them on a day."""
        from models.simulator.scripted.movements import bookings

        persona = self._members[customer.user_id].persona
        frames = bookings(persona, START, as_of)
        return {key_of(account): frames[account.short] for account in persona.accounts if account.short in frames}

    def positions(self, customer: Customer, as_of: date) -> Mapping[str, tuple[FetchedPosition, ...]]:
        """By key of each depot, its positions on a day."""
        from models.simulator.scripted.depots import value

        depots = [account for account in self._members[customer.user_id].persona.accounts if account.securities]
        return {key_of(depot): tuple(map(_position, value(depot.securities, START, as_of))) for depot in depots}


def key_of(account: ScriptedAccount) -> str:
    """The key of a product: the IBAN, the number of a depot, or for a card a hash that tells nothing of its number."""
    if account.category in CARDS:
        card = f"{account.owner}/{account.number[:4]}/{account.number[-4:]}"
        return "KK-" + hashlib.sha256(card.encode()).hexdigest()[:8].upper()
    return account.iban or f"DEPOT-{account.number}"


def _account(account: ScriptedAccount) -> DemoAccount:
    bic, bank_name = bank(account.bank_code)
    product = FetchedProduct(
        key_of(account),
        account.category,
        account.name,
        account.owner,
        account_number=account.number,
        iban=account.iban,
        bic=bic,
        blz=account.bank_code,
        bank_name=bank_name,
        transfer_support=account.category in PAYING_CATEGORIES,
        bulk_transfer_support=account.category is ProductCategory.CHECKING,
        overdraft_limit_cents=account.overdraft_limit_cents,
        credit_line_cents=account.credit_line_cents,
        home_savings=HomeSavings(**account.home_savings) if account.home_savings else None,
    )
    return DemoAccount(product, account.opening_cents, tuple(Balance(*entry) for entry in account.further_cents.items()))


def _position(holding: Security) -> FetchedPosition:
    return FetchedPosition(**{entry.name: getattr(holding, entry.name) for entry in fields(FetchedPosition)})
