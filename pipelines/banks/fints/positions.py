"""Reads MT535: SWIFT's statement of holdings as German banks write it.

A security is a block `FIN`: 35B its ISIN, WKN and name, 90A its price in percent or 90B in money, 93B the quantity in units or
nominal, 19A the value, 98 the time and 94B the place of the price.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from zoneinfo import ZoneInfo

from pipelines.banks.base import FetchedPosition, Unusable
from pipelines.statements.statement import StatementFault, cents_of, decoded

FIELD = re.compile(r":([0-9]{2}[A-Z]?):(.*)", re.DOTALL)
ISIN = re.compile(r"ISIN\s+([A-Z]{2}[A-Z0-9]{9}[0-9])")
WKN = re.compile(r"(?:^|/)(?:DE/|WKN\s*)([A-Z0-9]{6})\b")
PRICE = re.compile(r":[A-Z]{4}//[A-Z]{4}/([A-Z]{3})?([0-9]{1,15},?[0-9]*)")
QUANTITY = re.compile(r":AGGR//(UNIT|FAMT|AMOR)/(N?)([0-9]{1,15},?[0-9]*)")
VALUE = re.compile(r":HOLD//(N?)([A-Z]{3})([0-9]{1,15},[0-9]*)")
RATE = re.compile(r":EXCH//[A-Z]{3}/[A-Z]{3}/([0-9]{1,9},?[0-9]*)")
TIME = re.compile(r":PRIC//([0-9]{8})([0-9]{6})?")
VENUE = re.compile(r":PRIC//[A-Z]{4}(?:/(.+))?")
NOTHING_HELD, SOMETHING_HELD = ":ACTI//N", ":ACTI//Y"
BERLIN = ZoneInfo("Europe/Berlin")
MAX_NAME_LENGTH = 200
Fields = list[tuple[str, str]]


def read_mt535(statements: Sequence[bytes]) -> tuple[FetchedPosition, ...]:
    """The positions of all pages; raises `Unusable` if any of them cannot be read."""
    try:
        return tuple(position for content in statements for position in _positions(list(_fields(decoded(content)))))
    except (StatementFault, InvalidOperation, ValueError) as error:
        raise Unusable from error


def _fields(text: str) -> Iterator[tuple[str, str]]:
    """The fields of a statement with their lines."""
    name, lines = "", list[str]()
    for line in text.replace("@@", "\n").splitlines():
        match = FIELD.match(line)
        if match or line.strip() in ("-", "-}"):
            if name:
                yield name, "\n".join(lines)
            name, lines = (match[1], [match[2]]) if match else ("", [])
        elif name:
            lines.append(line)
    if name:
        yield name, "\n".join(lines)


def _positions(fields: Fields) -> list[FetchedPosition]:
    if ("16R", "GENL") not in fields:
        raise Unusable
    positions: list[FetchedPosition] = []
    block: Fields | None = None
    for name, value in fields:
        if (name, value.strip()) == ("16R", "FIN"):
            block = []
        elif (name, value.strip()) == ("16S", "FIN") and block is not None:
            positions.append(_position(block))
            block = None
        elif block is not None:
            block.append((name, value))
    if block is not None or (not positions and ("17B", SOMETHING_HELD) in fields):
        raise Unusable
    return positions


def _position(block: Fields) -> FetchedPosition:
    isin, wkn, name = _identity(_first(block, "35B"))
    quantity = QUANTITY.match(_first(block, "93B", ":AGGR"))
    if quantity is None:
        raise Unusable
    amount = _decimal(quantity[3]) * (-1 if quantity[2] else 1)
    by_piece = quantity[1] == "UNIT"
    percent = PRICE.match(_first(block, "90A"))
    price = PRICE.match(_first(block, "90B"))
    value, rate = VALUE.match(_first(block, "19A", ":HOLD")), RATE.match(_first(block, "92B", ":EXCH"))
    quote = _decimal(price[2]) if price else _decimal(percent[2]) if percent else None
    total = None
    if value is not None:
        total = cents_of(value[3]) * (-1 if value[1] else 1)
    elif quote is not None:
        total = round(amount * quote * (100 if price else 1))
    venue = VENUE.match(_first(block, "94B", ":PRIC"))
    return FetchedPosition(
        name=name or isin or wkn,
        quantity=amount,
        by_piece=by_piece,
        isin=isin,
        wkn=wkn,
        price=quote,
        price_at=_time(block),
        currency=price[1] if price else None,
        exchange_rate=_decimal(rate[1]) if rate else None,
        venue=venue[1].strip() if venue and venue[1] else None,
        total_cents=total,
    )


def _identity(value: str) -> tuple[str | None, str | None, str | None]:
    """ISIN, WKN and name of a security; some banks give the WKN alone."""
    lines = [line.strip() for line in value.splitlines() if line.strip()]
    isin = ISIN.match(lines[0]) if lines else None
    wkn = next((match[1] for line in lines if (match := WKN.search(line))), None)
    names = [line for line in lines if not ISIN.match(line) and not WKN.match(line)]
    if isin is None and wkn is None:
        raise Unusable
    return isin[1] if isin else None, wkn, " ".join(names)[:MAX_NAME_LENGTH] or None


def _time(block: Fields) -> datetime | None:
    match = TIME.match(_first(block, "98C", ":PRIC") or _first(block, "98A", ":PRIC"))
    if match is None:
        return None
    return datetime.strptime(match[1] + (match[2] or "000000"), "%Y%m%d%H%M%S").replace(tzinfo=BERLIN).astimezone(UTC)


def _first(block: Fields, name: str, start: str = "") -> str:
    return next((value for field, value in block if field == name and value.startswith(start)), "")


def _decimal(text: str) -> Decimal:
    return Decimal(text.rstrip(",").replace(",", "."))
