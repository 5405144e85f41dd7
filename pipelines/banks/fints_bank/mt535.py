"""Writes what lies in a depot as banks send it with HIWPD: MT535."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal

from pipelines.banks.base import FetchedPosition
from pipelines.banks.fints.syntax import ENCODING
from pipelines.banks.fints_bank.accounts import BankAccount
from pipelines.banks.fints_bank.messages import BANK_CODE

LINE_BREAK = "\r\n"
PLACES = Decimal("0.000001")


def write_mt535(account: BankAccount, positions: Sequence[FetchedPosition], now: datetime, *, with_isin: bool) -> bytes:
    """One message; some banks name securities by WKN alone."""
    lines = [
        *(":16R:GENL", ":28E:1/ONLY", ":20C::SEME//NONREF", ":23G:NEWM"),
        *(f":98C::PREP//{now:%Y%m%d%H%M%S}", f":98A::STAT//{now:%Y%m%d}", ":22F::STTY//CUST"),
        *(f":97A::SAFE//{BANK_CODE}/{account.number}", ":17B::ACTI//Y", ":16S:GENL"),
    ]
    for position in positions:
        lines += _position(position, now, with_isin=with_isin)
    total = sum(position.total_cents or 0 for position in positions)
    lines += [":16R:ADDINFO", f":19A::HOLP//{account.product.currency}{_cents(total)}", ":16S:ADDINFO", "-"]
    return (LINE_BREAK + LINE_BREAK.join(lines) + LINE_BREAK).encode(ENCODING, "replace")


def _position(position: FetchedPosition, now: datetime, *, with_isin: bool) -> Iterator[str]:
    yield ":16R:FIN"
    yield f":35B:ISIN {position.isin}" if with_isin and position.isin else f":35B:/DE/{position.wkn or ''}"
    if with_isin and position.isin and position.wkn:
        yield f"/DE/{position.wkn}"
    yield (position.name or "")[:35]
    if position.price is not None:
        if position.by_piece:
            yield f":90B::MRKT//ACTU/{position.currency}{_number(position.price)}"
        else:
            yield f":90A::MRKT//PRCT/{_number(position.price)}"
        if position.venue:
            yield ":94B::PRIC//LMAR/XETR"
        yield f":98A::PRIC//{position.price_at or now:%Y%m%d}"
    kind = "UNIT" if position.by_piece else "FAMT"
    yield f":93B::AGGR//{kind}/{_number(position.quantity or Decimal(0))}"
    if position.total_cents is not None:
        yield f":19A::HOLD//EUR{_cents(position.total_cents)}"
    if position.exchange_rate is not None:
        yield f":92B::EXCH//EUR/{position.currency}/{_number(position.exchange_rate)}"
    yield ":16S:FIN"


def _number(value: Decimal) -> str:
    """A number with a comma always, and without zeros at its end."""
    whole, _, fraction = f"{value.quantize(PLACES):f}".partition(".")
    return f"{whole},{fraction.rstrip('0')}"


def _cents(cents: int) -> str:
    return _number(Decimal(cents) / 100)
