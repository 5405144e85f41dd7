"""What a bank says of itself and of a customer's accounts (BPD and UPD), as far as we use it; small enough to be remembered."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pipelines.banks.base import Medium, MediumClass, Method
from pipelines.banks.fints.syntax import Segment

METHOD_PARTS = {6: 21, 7: 26}
"""The number of parts that describe a method in HITANS of a version."""
HITANS_HEAD_PARTS = 3
HEAD_ELEMENTS = 2
"""Elements of a segment of parameters before those of the order itself: numbers of orders and signatures."""
PIN_HEAD_PARTS = 5
CAMT_FORMATS = ("camt.052.001.08", "camt.052.001.02")
"""The formats of bookings that we read, the better first."""
VERSIONS: Mapping[str, tuple[int, ...]] = {
    "HKSPA": (1, 2, 3),
    "HKSAL": (7, 6, 5),
    "HKCAZ": (1,),
    "HKKAZ": (7, 6, 5),
    "HKWPD": (6, 5),
    "HKTAB": (5, 4),
    "HKCCS": (1,),
    "HKCSE": (1,),
    "HKIPZ": (1,),
    "HKCCM": (1,),
    "HKVPP": (1,),
    "HKVPA": (1,),
    "HKPRO": (4, 3),
    "DKKKU": (2,),
}
"""The versions of orders that we write, the better first."""
TRANSFER_FORMATS = ("001.001.09", "001.001.03", "001.003.03")
"""The versions of pain that we write in orders, the better first."""
TRANSFER_FORMAT = re.compile(r"pain\.(001\.[0-9]{3}\.[0-9]{2})(?![0-9])")
REPORT_FORMAT = re.compile(r"pain\.002\.")
ORDER_NAME = re.compile(r"[HD]K[A-Z]{3}")
DEFAULT_LEAD_DAYS = (1, 180)
DEFAULT_BULK_TRANSFERS = 1000
MAX_REPORT_FORMATS = 9
SHORT_HISTORY_DAYS = 90
MAX_HISTORY_DAYS = 3650
MAX_METHODS = 40
MAX_DIGITS = 6
MAX_WAIT_SECONDS = 120.0
MAX_NAME_LENGTH = 100
MEDIUM_MUST_BE_NAMED = "2"
CARD_KIND = 5
"""The tens of the types of accounts that are credit cards."""
GENERATOR, MOBILE = "G", "M"
MEDIUM_CLASSES = {"L": MediumClass.LIST, GENERATOR: MediumClass.GENERATOR, MOBILE: MediumClass.MOBILE, "S": MediumClass.SECODER}
UNUSABLE_STATES = frozenset(("2", "4"))
"""States of media that the customer has but has not activated."""


@dataclass(frozen=True)
class TanMethod:
    """A two-step method, by HITANS."""

    code: str
    version: int
    name: str
    kind: str = ""
    names_medium: bool = False
    structured: bool = False
    decoupled: bool = False
    max_polls: int | None = None
    first_wait_seconds: float = 2
    wait_seconds: float = 2
    polls_itself: bool = True
    """Whether the bank lets programs ask again; otherwise the customer should say that the app has confirmed."""

    def shown(self) -> Method:
        """The method as customers see it."""
        return Method(self.code, self.name)


@dataclass(frozen=True)
class TanMedium:
    """A medium of the customer, by HITAB; `method` is the only one that it serves, if the bank says so."""

    name: str
    kind: str
    method: str = ""

    def shown(self) -> Medium:
        """The medium as customers see it."""
        return Medium(self.name, MEDIUM_CLASSES.get(self.kind, MediumClass.PUSH_TAN))


@dataclass(frozen=True)
class BankParameters:
    """The parameters of a bank: the methods and orders that it offers, and how far back its bookings go."""

    version: str = "0"
    name: str = ""
    methods: tuple[TanMethod, ...] = ()
    versions: dict[str, int] = field(default_factory=dict)
    camt_format: str = ""
    """The whole name of the format of bookings, as the bank writes it."""
    camt_days: int = SHORT_HISTORY_DAYS
    statement_days: int = SHORT_HISTORY_DAYS
    card_days: int = SHORT_HISTORY_DAYS
    with_tan: tuple[str, ...] = ()
    """Those of our orders that need a TAN, unless the bank waives it."""
    transfer_format: str = ""
    """The whole name of the format of transfers, as the bank writes it; empty if we write none that it reads."""
    instant_format: str = ""
    lead_days: tuple[int, int] = DEFAULT_LEAD_DAYS
    """How many days ahead a transfer may be scheduled, at least and at most."""
    bulk_transfers: int = DEFAULT_BULK_TRANSFERS
    """The largest number of transfers of one order."""
    bulk_needs_sum: bool = False
    verified_orders: tuple[str, ...] = ()
    """Orders whose payees the bank verifies."""
    report_formats: tuple[str, ...] = ()
    """The formats of reports about payees, as the bank writes them."""

    def method(self, code: str) -> TanMethod | None:
        """The method with this code."""
        return next((method for method in self.methods if method.code == code), None)


@dataclass(frozen=True)
class FintsAccount:
    """An account of the customer, by HIUPD and HISPA."""

    number: str
    sub: str
    blz: str
    iban: str = ""
    bic: str = ""
    kind: int | None = None
    currency: str = "EUR"
    owner_name: str = ""
    name: str = ""
    orders: tuple[str, ...] | None = None
    """Those of our orders that are allowed for it; None if the bank does not say."""

    @property
    def identity(self) -> tuple[str, str, str, str]:
        return (self.blz, self.number, self.sub, self.currency)

    @property
    def is_card(self) -> bool:
        """Whether the bank calls it a credit card."""
        return self.kind is not None and self.kind // 10 == CARD_KIND

    def allows(self, order: str) -> bool:
        """Whether an order may name this account."""
        return self.orders is None or order in self.orders


def read_bank(segments: Iterable[Segment], before: BankParameters) -> BankParameters:
    """The parameters of an answer; those from before if it brings none."""
    by_name: dict[str, list[Segment]] = {}
    for each in segments:
        by_name.setdefault(each.name, []).append(each)
    if "HIBPA" not in by_name:
        return before
    head = by_name["HIBPA"][0]
    versions = {order: version for order, ours in VERSIONS.items() if (version := _version(by_name, order, ours)) is not None}
    camt_days, camt_format = _camt(by_name.get("HICAZS", []))
    if not camt_format:
        versions.pop("HKCAZ", None)
    return BankParameters(
        head.text(1),
        head.text(3)[:MAX_NAME_LENGTH],
        read_methods(by_name.get("HITANS", [])),
        versions,
        camt_format,
        camt_days,
        max((_days(each.text(len(each.elements))) for each in by_name.get("HIKAZS", [])), default=SHORT_HISTORY_DAYS),
        max((_days(each.text(len(each.elements))) for each in by_name.get("DIKKUS", [])), default=SHORT_HISTORY_DAYS),
        _ours(order for each in by_name.get("HIPINS", []) for order in _orders_with_tan(each)),
        **_payment_parameters(by_name),
    )


def _payment_parameters(by_name: Mapping[str, list[Segment]]) -> dict[str, Any]:
    """What the bank says of payments: formats, limits, and whose payees it verifies."""
    lead_days = [_number(part) for part in _last_parts(by_name, "HICSES")[:2]]
    bulk = [*_last_parts(by_name, "HICCMS"), "", ""]
    verification = _last_parts(by_name, "HIVPPS")
    transfer_format = _transfer_format(_last_parts(by_name, "HISPAS"))
    return {
        "transfer_format": transfer_format,
        "instant_format": _transfer_format(_last_parts(by_name, "HIIPZS")) or transfer_format,
        "lead_days": (lead_days[0], lead_days[1]) if len(lead_days) == 2 and None not in lead_days else DEFAULT_LEAD_DAYS,
        "bulk_transfers": _number(bulk[0]) or DEFAULT_BULK_TRANSFERS,
        "bulk_needs_sum": bulk[1] == "J",
        "verified_orders": _ours(part for part in verification if ORDER_NAME.fullmatch(part)),
        "report_formats": tuple(name for part in verification for name in part.split(";") if REPORT_FORMAT.search(name))[
            :MAX_REPORT_FORMATS
        ],
    }


def _last_parts(by_name: Mapping[str, list[Segment]], name: str) -> list[str]:
    """The parameters of all versions of an order: the last element of each segment."""
    return [
        each.text(len(each.elements), position)
        for each in by_name.get(name, [])
        if len(each.elements) > HEAD_ELEMENTS
        for position in range(1, len(each.element(len(each.elements))) + 1)
    ]


def _transfer_format(names: Iterable[str]) -> str:
    """The best of the formats that a bank reads and we write, in the bank's own words."""
    offers = {match[1]: name for name in names if (match := TRANSFER_FORMAT.search(name))}
    return next((offers[ours] for ours in TRANSFER_FORMATS if ours in offers), "")


def can_pay(bank: BankParameters, account: FintsAccount, order: str) -> bool:
    """Whether an order to pay may be placed from an account."""
    has_format = bool(bank.instant_format if order == "HKIPZ" else bank.transfer_format)
    return order in bank.versions and has_format and account.allows(order) and bool(account.iban) and account.currency == "EUR"


def _ours(names: Iterable[str]) -> tuple[str, ...]:
    """Those of the orders that we write, in a fixed order."""
    return tuple(sorted(VERSIONS.keys() & set(names)))


def answer_name(order: str) -> str:
    """The name of the segments that answer an order: HISAL for HKSAL."""
    return f"{order[0]}I{order[2:]}"


def _version(by_name: Mapping[str, list[Segment]], order: str, ours: tuple[int, ...]) -> int | None:
    """The best version of an order that both sides write."""
    offered = {each.version for each in by_name.get(f"{answer_name(order)}S", [])}
    return next((version for version in ours if version in offered), None)


def _camt(offers: list[Segment]) -> tuple[int, str]:
    """How many days back bookings go as CAMT, and the best format of them."""
    for each in offers:
        place = len(each.elements)
        names = [each.text(place, position) for position in range(4, len(each.element(place)) + 1)]
        for ours in CAMT_FORMATS:
            if name := next((name for name in names if name.endswith(ours)), None):
                return _days(each.text(place)), name
    return SHORT_HISTORY_DAYS, ""


def _days(text: str) -> int:
    return min(_number(text) or SHORT_HISTORY_DAYS, MAX_HISTORY_DAYS)


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) <= MAX_DIGITS else None


def _orders_with_tan(each: Segment) -> Iterable[str]:
    place = len(each.elements)
    parts = [each.text(place, position) for position in range(1, len(each.element(place)) + 1)][PIN_HEAD_PARTS:]
    return (order for order, tan in zip(parts[::2], parts[1::2], strict=False) if tan == "J")


def read_methods(offers: Iterable[Segment]) -> tuple[TanMethod, ...]:
    """The methods of all HITANS that we understand; one that several versions describe by the newest of them."""
    methods: dict[str, TanMethod] = {}
    for each in sorted((each for each in offers if each.version in METHOD_PARTS), key=lambda each: each.version):
        place = len(each.elements)
        parts = [each.text(place, position) for position in range(1, len(each.element(place)) + 1)][HITANS_HEAD_PARTS:]
        width = METHOD_PARTS[each.version]
        for start in range(0, len(parts), width):
            row = parts[start : start + width]
            if row[0].isdecimal():
                method = _method([*row, *[""] * (width - len(row))], each.version)
                methods[method.code] = method
    return tuple(methods.values())[:MAX_METHODS]


def _method(parts: list[str], version: int) -> TanMethod:
    kind = parts[3] or parts[2]
    decoupled = version >= 7 and parts[3].casefold().startswith("decoupled")
    method = TanMethod(
        parts[0],
        version,
        (parts[5] or parts[2] or parts[0])[:MAX_NAME_LENGTH],
        kind,
        names_medium=parts[18] == MEDIUM_MUST_BE_NAMED,
        structured=parts[16] == "J",
        decoupled=decoupled,
    )
    if not decoupled:
        return method
    return replace(
        method,
        max_polls=_number(parts[21]) or None,
        first_wait_seconds=_seconds(parts[22], method.first_wait_seconds),
        wait_seconds=_seconds(parts[23], method.wait_seconds),
        polls_itself=parts[25] != "N",
    )


def _seconds(text: str, usual: float) -> float:
    number = _number(text)
    return usual if number is None else min(float(number), MAX_WAIT_SECONDS)


def read_media(segments: Iterable[Segment]) -> tuple[TanMedium, ...]:
    """The active media with a name of HITAB, each once."""
    media: dict[str, TanMedium] = {}
    for each in segments:
        shift = 1 if each.version >= 5 else 0
        for place in range(2, len(each.elements) + 1):
            name = each.text(place, 13 + shift)
            if name and each.text(place, 2) not in UNUSABLE_STATES:
                media.setdefault(name, TanMedium(name, each.text(place, 1), each.text(place, 3) if shift else ""))
    return tuple(media.values())


def media_for(method: TanMethod, media: tuple[TanMedium, ...]) -> tuple[TanMedium, ...]:
    """The media that serve a method, as far as the bank says it; else those of its kind, or all."""
    own = tuple(medium for medium in media if medium.method == method.code)
    if own:
        return own
    others = tuple(medium for medium in media if not medium.method)
    kind = GENERATOR if method.kind.startswith("HHD") else MOBILE if method.kind.casefold() in ("mobiletan", "smstan") else ""
    return tuple(medium for medium in others if medium.kind == kind) or others


def read_accounts(segments: Iterable[Segment]) -> tuple[FintsAccount, ...]:
    """The accounts of HIUPD, each once; rows without an account are what the customer may do without one."""
    accounts: dict[tuple[str, str, str, str], FintsAccount] = {}
    for each in segments:
        if each.name != "HIUPD" or not each.text(1):
            continue
        names = " ".join(filter(None, (each.text(6).strip(), each.text(7).strip())))
        account = FintsAccount(
            each.text(1),
            each.text(1, 2),
            each.text(1, 4),
            each.text(2).replace(" ", ""),
            kind=_number(each.text(4)),
            currency=each.text(5) or "EUR",
            owner_name=names,
            name=each.text(8).strip(),
            orders=_ours(each.text(place) for place in range(10, len(each.elements) + 1)),
        )
        twin = accounts.get(account.identity)
        if twin is not None:
            account = replace(twin, orders=_ours((*(twin.orders or ()), *(account.orders or ()))))
        accounts[account.identity] = account
    return tuple(accounts.values())


def with_sepa(accounts: tuple[FintsAccount, ...], segments: Iterable[Segment]) -> tuple[FintsAccount, ...]:
    """The accounts with IBAN and BIC of HISPA; those of HISPA alone if there are no others."""
    rows = {
        (each.text(place, 4), each.text(place, 5)): each.element(place)
        for each in segments
        for place in range(1, len(each.elements) + 1)
        if each.text(place, 4)
    }
    if not accounts:
        return tuple(
            FintsAccount(number, sub, _text(row, 7), _text(row, 2), _text(row, 3)) for (number, sub), row in rows.items()
        )
    return tuple(
        replace(account, iban=_text(row, 2) or account.iban, bic=_text(row, 3))
        if (row := rows.get((account.number, account.sub))) is not None
        else account
        for account in accounts
    )


def _text(element: tuple[str | bytes, ...], position: int) -> str:
    part = element[position - 1] if position <= len(element) else ""
    return part if isinstance(part, str) else ""
