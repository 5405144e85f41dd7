"""The parts of a bank's way of writing: cases, shapes and lines. The banks themselves are in `banks/`."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum, auto


class Case(IntEnum):
    """What banks have different words for: a kind of booking, its direction, and what else shows."""

    CARD = 0
    CARD_ONLINE = auto()
    CARD_ABROAD = auto()
    CARD_REFUND = auto()
    DEBIT = auto()
    DEBIT_COLLECTED = auto()
    DEBIT_RETURN = auto()
    COLLECTION_RETURN = auto()
    STANDING = auto()
    STANDING_CREDIT = auto()
    TRANSFER = auto()
    INSTANT = auto()
    CREDIT = auto()
    INSTANT_CREDIT = auto()
    SALARY = auto()
    PENSION = auto()
    PUBLIC = auto()
    VL = auto()
    TRANSFER_RETURN = auto()
    ATM = auto()
    SHOP_CASH = auto()
    COUNTER = auto()
    DEPOSIT = auto()
    COUNTER_DEPOSIT = auto()
    FEE = auto()
    FEE_REFUND = auto()
    INTEREST_PAID = auto()
    INTEREST = auto()
    SECURITIES_BUY = auto()
    SECURITIES_SELL = auto()
    INSTALMENT = auto()
    LOAN_PAYOUT = auto()
    SETTLEMENT = auto()
    SETTLEMENT_CREDIT = auto()
    INTERNAL = auto()
    INTERNAL_CREDIT = auto()
    PENDING = auto()


CARDS = (Case.CARD, Case.CARD_ONLINE, Case.CARD_ABROAD, Case.CARD_REFUND, Case.ATM, Case.SHOP_CASH)
"""Payments and withdrawals with a card, which have a place."""
SAME_AS: Mapping[Case, Case] = {
    Case.CARD_ONLINE: Case.CARD,
    Case.CARD_ABROAD: Case.CARD_ONLINE,
    Case.CARD_REFUND: Case.CARD,
    Case.DEBIT_COLLECTED: Case.CREDIT,
    Case.DEBIT_RETURN: Case.CREDIT,
    Case.COLLECTION_RETURN: Case.DEBIT,
    Case.STANDING: Case.TRANSFER,
    Case.STANDING_CREDIT: Case.CREDIT,
    Case.INSTANT: Case.TRANSFER,
    Case.INSTANT_CREDIT: Case.CREDIT,
    Case.SALARY: Case.CREDIT,
    Case.PENSION: Case.SALARY,
    Case.PUBLIC: Case.CREDIT,
    Case.VL: Case.CREDIT,
    Case.TRANSFER_RETURN: Case.CREDIT,
    Case.SHOP_CASH: Case.CARD,
    Case.COUNTER: Case.ATM,
    Case.DEPOSIT: Case.CREDIT,
    Case.COUNTER_DEPOSIT: Case.DEPOSIT,
    Case.FEE_REFUND: Case.FEE,
    Case.INTEREST_PAID: Case.FEE,
    Case.INTEREST: Case.CREDIT,
    Case.SECURITIES_BUY: Case.TRANSFER,
    Case.SECURITIES_SELL: Case.CREDIT,
    Case.INSTALMENT: Case.DEBIT,
    Case.LOAN_PAYOUT: Case.CREDIT,
    Case.SETTLEMENT: Case.DEBIT,
    Case.SETTLEMENT_CREDIT: Case.CREDIT,
    Case.INTERNAL: Case.TRANSFER,
    Case.INTERNAL_CREDIT: Case.CREDIT,
}
"""A bank without words of its own for a case writes it like this one."""
CODES: Mapping[Case, str] = {
    Case.CARD: "106",
    Case.CARD_ONLINE: "106",
    Case.CARD_ABROAD: "106",
    Case.CARD_REFUND: "182",
    Case.DEBIT: "105",
    Case.DEBIT_COLLECTED: "171",
    Case.DEBIT_RETURN: "181",
    Case.COLLECTION_RETURN: "109",
    Case.STANDING: "117",
    Case.STANDING_CREDIT: "152",
    Case.TRANSFER: "116",
    Case.INSTANT: "118",
    Case.CREDIT: "166",
    Case.INSTANT_CREDIT: "168",
    Case.SALARY: "153",
    Case.PENSION: "153",
    Case.PUBLIC: "156",
    Case.VL: "154",
    Case.TRANSFER_RETURN: "159",
    Case.ATM: "083",
    Case.SHOP_CASH: "106",
    Case.COUNTER: "083",
    Case.DEPOSIT: "082",
    Case.COUNTER_DEPOSIT: "082",
    Case.FEE: "808",
    Case.FEE_REFUND: "808",
    Case.INTEREST_PAID: "805",
    Case.INTEREST: "814",
    Case.SECURITIES_BUY: "303",
    Case.SECURITIES_SELL: "303",
    Case.INSTALMENT: "601",
    Case.LOAN_PAYOUT: "606",
    Case.SETTLEMENT: "006",
    Case.SETTLEMENT_CREDIT: "006",
    Case.INTERNAL: "820",
    Case.INTERNAL_CREDIT: "820",
}
"""The codes of the German banks' common list."""

PAYER = "[{legal}|{party}]"
"""Who stands as the counterparty: the intermediary, if there is one."""
SHOP = "{prefix}{party:22}[ {store}]"
"""A shop as its terminal has it: short, with the mark of the payment service before and the number of the branch behind."""


@dataclass(frozen=True)
class Shape:
    """How the columns of a booking are filled; templates as in `templates`. `account` says whether IBAN and BIC are told."""

    name: str = PAYER
    purpose: str = "<{text}>"
    ultimate: str = "[{ultimate}]"
    account: bool = True


OWN = Shape(name="", purpose="<{text}>", ultimate="", account=False)
"""The bank's own bookings, without a counterparty."""


@dataclass(frozen=True)
class Line:
    """One way in which a bank writes a case: its words, its code if it is not the common one, and its batch number."""

    case: Case
    words: str | None
    shape: Shape = Shape()
    weight: int = 1
    code: str | None = None
    batch: str | None = None


class Capitals(Enum):
    """Where a bank writes names and purposes in capitals, in half of the rows. As tuples, the values fail in Python 3.11.2."""

    NOWHERE = frozenset[Case]()
    CARDS = frozenset(CARDS)
    EVERYWHERE = frozenset(Case)


@dataclass(frozen=True)
class Layout:
    """A bank's way of writing. `coded` is the share of rows with a code, `width` that of lines that may come broken (0: none)."""

    lines: tuple[Line, ...]
    coded: float = 1.0
    capitals: Capitals = Capitals.NOWHERE
    width: int = 0
    with_bic: bool = True
