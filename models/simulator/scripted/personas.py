"""What the scripted personas own, receive and pay, loaded from `personas/*.toml` and `partners.csv`.

Importing this module reads no file; nothing here turns a plan into bookings.
"""

import csv
import tomllib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from schwifty import IBAN

from analytics.products import CARDS, WITH_POSITIONS, ProductCategory

FOLDER = Path(__file__).parent
NAMES = ("employee", "family", "student", "pensioner", "freelancer", "couple", "investor", "apprentice")


class PaymentKind(StrEnum):
    """How money moves; `booking_texts.csv` has each bank's words for it."""

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
    """The kind of bank whose way of writing bookings an account has."""

    SAVINGS_BANK = "SAVINGS_BANK"
    COOPERATIVE = "COOPERATIVE"
    DIRECT = "DIRECT"
    VISA = "VISA"


@dataclass(frozen=True)
class Counterparty:
    """The other side of a booking, as far as the bank tells it."""

    name: str | None = None
    iban: str | None = None
    bic: str | None = None
    creditor_id: str | None = None


@dataclass(frozen=True)
class Recurring:
    """A payment on a day of every, or every n-th, month; `anchor` is a month in which it falls due."""

    kind: PaymentKind
    amount_cents: int
    day: int
    purpose: str
    """`{month}` stands for the month, such as 11/2026."""
    partner: str | None = None
    """The name of a partner in `partners.csv`."""
    own_account: str | None = None
    """The persona's own account on the other side, by its short name."""
    every: int = 1
    anchor: int = 1
    first: date = date.min
    last: date = date.max
    rise_permille: int = 0
    """The yearly rise of the amount."""
    rise_month: int = 0
    """The month of the rise, such as July for pensions; 0 for the month in which the history begins."""
    step_cents: int = 0
    """The monthly change of the amount."""
    spread_permille: int = 0
    """The largest random deviation of an amount, such as that of a telephone bill."""
    earlier: bool = False
    """Whether it is booked on the bank day before a weekend, like salaries, instead of the one after it."""
    ultimate: str | None = None
    currency: str = "EUR"


@dataclass(frozen=True)
class ScriptedHabit:
    """Purchases at one of some merchants, `per_week` on average."""

    merchants: tuple[str, ...]
    per_week: float
    low_cents: int
    high_cents: int
    kind: PaymentKind = PaymentKind.CARD
    sundays: bool = False
    twins: float = 0.0
    """The share of days with two equal purchases."""
    city: str | None = None
    """Where the merchant is, unless in the persona's city."""
    country: str = "DE"
    foreign_currency: str | None = None
    payer: str | None = None
    """The partner that collects the money for the merchant, if there is one."""


@dataclass(frozen=True)
class Security:
    """A position in a depot. `depots` fills in the value on a day; prices swing around the first one."""

    name: str
    quantity: Decimal
    isin: str
    wkn: str
    price: Decimal
    venue: str
    by_piece: bool = True
    currency: str = "EUR"
    exchange_rate: Decimal | None = None
    monthly_pieces: int = 0
    """Pieces that a savings plan adds every month."""
    price_at: datetime | None = None
    total_cents: int | None = None


@dataclass(frozen=True)
class ScriptedAccount:
    """An account, card, depot or contract, and everything that ever happens on it."""

    short: str
    """The name of the account within the persona."""
    bank_code: str
    category: ProductCategory
    name: str
    owner: str
    number: str = ""
    style: Style = Style.DIRECT
    opening_cents: int = 0
    overdraft_limit_cents: int | None = None
    credit_line_cents: int | None = None
    further_cents: Mapping[str, int] = field(default_factory=dict)
    """Opening balances in further currencies."""
    settled_from: str | None = None
    """Of a credit card: the account from which a month's purchases are collected in the next month."""
    settled_on_day: int = 1
    home_savings: Mapping[str, Any] | None = None
    recurring: tuple[Recurring, ...] = ()
    habits: tuple[ScriptedHabit, ...] = ()
    securities: tuple[Security, ...] = ()

    @property
    def iban(self) -> str | None:
        """A valid German IBAN; cards and depots have none."""
        return None if self.category in CARDS | WITH_POSITIONS else _iban(self.bank_code, self.number)


@dataclass(frozen=True)
class Persona:
    """A customer with everything that ever happens on the accounts."""

    user_id: str
    city: str
    accounts: tuple[ScriptedAccount, ...]


@cache
def load(name: str) -> Persona:
    """The persona of a file in `personas/`."""
    content = tomllib.loads((FOLDER / "personas" / f"{name}.toml").read_text())
    accounts = (_account(short, content["bank_code"], entry) for short, entry in content["accounts"].items())
    return Persona(content.get("user_id", ""), content["city"], tuple(accounts))


def plain(user_id: str) -> Persona:
    """A persona with one account, whose number follows from the user id."""
    persona = load("plain")
    account = replace(persona.accounts[0], number=f"{seed(user_id) % 10**9:09d}")
    return replace(persona, user_id=user_id, accounts=(account,))


@cache
def partners() -> dict[str, Counterparty]:
    """All partners by name. Names are real where everybody knows them; numbers are invented, with the right check digits."""
    with (FOLDER / "partners.csv").open(newline="") as file:
        return {row["name"]: Counterparty(**{key: value or None for key, value in row.items()}) for row in csv.DictReader(file)}


def seed(name: str) -> int:
    """A number for a name, so that a new plan changes the numbers of no other."""
    return zlib.crc32(name.encode())


@cache
def bank(bank_code: str) -> tuple[str | None, str | None]:
    """The BIC and the name of a bank."""
    iban = IBAN(_iban(bank_code, "1"))
    return (str(iban.bic) if iban.bic else None), iban.bank_name


@cache
def _iban(bank_code: str, number: str) -> str:
    return str(IBAN.generate("DE", bank_code=bank_code, account_code=number))


def _account(short: str, bank_code: str, entry: dict[str, Any]) -> ScriptedAccount:
    lists = {
        "recurring": tuple(Recurring(**row | {"kind": PaymentKind(row["kind"])}) for row in entry.get("recurring", ())),
        "habits": tuple(_habit(row) for row in entry.get("habits", ())),
        "securities": tuple(Security(**_exact(row, "quantity", "price", "exchange_rate")) for row in entry.get("securities", ())),
        "home_savings": _exact(entry.get("home_savings", {}), "rating", "saving_rate", "debt_rate", "saving_progress") or None,
        "category": ProductCategory(entry["category"]),
        "style": Style(entry.get("style", Style.DIRECT)),
    }
    return ScriptedAccount(short, bank_code, **entry | lists)


def _habit(row: dict[str, Any]) -> ScriptedHabit:
    return ScriptedHabit(**row | {"merchants": tuple(row["merchants"]), "kind": PaymentKind(row.get("kind", PaymentKind.CARD))})


def _exact(row: dict[str, Any], *names: str) -> dict[str, Any]:
    """The row with decimal numbers, which TOML has as text, in these fields."""
    return row | {name: Decimal(row[name]) for name in names if name in row}
