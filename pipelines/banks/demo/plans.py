"""The words in which a customer's life is written down: what recurs, what is habit, how a card is settled. No bookings yet."""

import zlib
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from functools import lru_cache

from schwifty import IBAN

from pipelines.banks.base import Balance, FetchedPosition, FetchedProduct, Medium, Method


class PaymentKind(StrEnum):
    """How money moves; each bank has its own words for it."""

    SALARY = "SALARY"
    PENSION = "PENSION"
    BENEFIT = "BENEFIT"
    CREDIT = "CREDIT"
    DEBIT = "DEBIT"
    STANDING = "STANDING"
    TRANSFER = "TRANSFER"
    CARD = "CARD"
    CASH = "CASH"
    FEE = "FEE"
    INTEREST = "INTEREST"
    INSTALMENT = "INSTALMENT"
    SETTLEMENT = "SETTLEMENT"
    SECURITIES = "SECURITIES"


class Style(StrEnum):
    """Whose way of writing bookings an account has."""

    SAVINGS_BANK = "SAVINGS_BANK"
    COOPERATIVE = "COOPERATIVE"
    DIRECT = "DIRECT"
    VISA = "VISA"


@dataclass(frozen=True)
class Counterparty:
    """The other side of a booking."""

    name: str
    iban: str | None = None
    bic: str | None = None
    creditor_id: str | None = None


@dataclass(frozen=True)
class Recurring:
    """A payment on a day of every, or every n-th, month; `anchor` is a month in which it falls due."""

    account: str
    kind: PaymentKind
    amount_cents: int
    partner: Counterparty | None
    purpose: str
    """`{month}` stands for the month, such as 11/2026."""
    day: int
    every: int = 1
    anchor: int = 1
    first: date = date.min
    last: date = date.max
    rise_permille: int = 0
    """By how much the amount rises with every year."""
    step_cents: int = 0
    """By how much the amount changes with every month."""
    spread_permille: int = 0
    """How far an amount may lie off, such as that of a telephone bill."""
    earlier: bool = False
    """Whether it is booked on the bank day before a weekend, like salaries, and not on the one after it."""
    ultimate: str | None = None
    currency: str = "EUR"


@dataclass(frozen=True)
class ScriptedHabit:
    """Purchases that happen about so often a week, at one of some merchants."""

    account: str
    merchants: tuple[str, ...]
    per_week: float
    low_cents: int
    high_cents: int
    kind: PaymentKind = PaymentKind.CARD
    sundays: bool = False
    twins: float = 0.0
    """How often two equal purchases are made on one day."""
    city: str | None = None
    """Where it is, unless where the customer lives."""
    country: str = "DE"
    foreign_currency: str | None = None
    payer: Counterparty | None = None
    """Who collects the money for the merchant, if somebody does."""


@dataclass(frozen=True)
class Settlement:
    """A credit card whose purchases of a month are collected from an account in the next."""

    card: str
    account: str
    day: int


@dataclass(frozen=True)
class Security:
    """A holding; `monthly` pieces come by a savings plan. Prices swing around that of the position."""

    position: FetchedPosition
    monthly: int = 0


@dataclass(frozen=True)
class Holder:
    """An account by the short name that the plans use."""

    short: str
    product: FetchedProduct
    style: Style
    opening_cents: int = 0
    further: tuple[Balance, ...] = ()
    securities: tuple[Security, ...] = ()


@dataclass(frozen=True)
class Persona:
    """A customer with everything that ever happens on the accounts."""

    user_id: str
    city: str
    holders: tuple[Holder, ...]
    recurring: tuple[Recurring, ...]
    habits: tuple[ScriptedHabit, ...] = ()
    settlements: tuple[Settlement, ...] = ()
    methods: tuple[Method, ...] = ()
    media: tuple[Medium, ...] = ()
    pin: str = field(default="demo", repr=False)


def seed(name: str) -> int:
    """A number for a name, so that a new plan changes the numbers of no other."""
    return zlib.crc32(name.encode())


@lru_cache(maxsize=1024)
def iban(bank_code: str, account_code: str) -> str:
    """A valid German IBAN."""
    return str(IBAN.generate("DE", bank_code=bank_code, account_code=account_code))


@lru_cache(maxsize=64)
def bank(bank_code: str) -> tuple[str | None, str | None]:
    """The BIC and the name of a bank."""
    known = IBAN(iban(bank_code, "1"))
    return (str(known.bic) if known.bic else None), known.bank_name


def partner(name: str, bank_code: str) -> Counterparty:
    """A partner with an invented account at a real bank, and an invented creditor identifier."""
    number = seed(name)
    return Counterparty(name, iban(bank_code, f"{number % 10**9:09d}"), bank(bank_code)[0], creditor_id(number))


def creditor_id(number: int) -> str:
    """A well-formed German creditor identifier: its check digits leave out the business code, as the scheme says."""
    national = f"{number:011d}"
    check = 98 - int(f"{national}131400") % 97
    return f"DE{check:02d}ZZZ{national}"


def own_transfer(
    source: Holder, target: Holder, amount_cents: int, day: int, purpose: str, *, every: int = 1, anchor: int = 1
) -> tuple[Recurring, Recurring]:
    """A standing order between accounts of one customer: what leaves the one arrives on the other, on the same day."""
    there = Counterparty(target.product.owner_name, target.product.iban, target.product.bic)
    back = Counterparty(source.product.owner_name, source.product.iban, source.product.bic)
    return (
        Recurring(source.short, PaymentKind.STANDING, -amount_cents, there, purpose, day, every=every, anchor=anchor),
        Recurring(target.short, PaymentKind.CREDIT, amount_cents, back, purpose, day, every=every, anchor=anchor),
    )
