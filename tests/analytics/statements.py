"""Lives told as bank statements: raw bookings as German banks write them, tagged and analysed together on the whole real way.

Users do not change what is said of each other, so all lives of a book cost one tagging and one run of the suite.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from itertools import count
from typing import Any
from zlib import crc32

import polars as pl

from analytics.analyses.cashflow import roll_up, select_view
from analytics.analyses.suite import Frames, analyse
from analytics.frames import AS_OF, CHOICES, PRODUCTS, RULES, TRANSACTIONS
from analytics.tagging import tag as tagging
from analytics.tagging.tag import Tagger
from models import registry
from tests.analytics.lives import months

TODAY = date(2026, 6, 30)
HOLDER = "Anna Muster"
GIRO = ("giro", "CHECKING", "DE02370501980001802057", HOLDER)
CARD = {"booking_text": "KARTENZAHLUNG", "gv_code": "106", "primanota": "9290"}
DEBIT = {"booking_text": "FOLGELASTSCHRIFT", "gv_code": "105", "primanota": "9248"}
ORDER = {"booking_text": "DAUERAUFTRAG", "gv_code": "117", "primanota": "9245"}
OUT = {"booking_text": "ONLINE-UEBERWEISUNG", "gv_code": "177", "primanota": "9310"}
INTO = {"booking_text": "GUTSCHR. UEBERWEISUNG", "gv_code": "166", "primanota": "9601"}
PAY = {"booking_text": "LOHN  GEHALT", "gv_code": "153", "primanota": "9603"}
PUBLIC = {"booking_text": "GUTSCHR. UEBERWEISUNG OEFFENTL. KASSEN", "gv_code": "156", "primanota": "9603"}
CLOSING = {"booking_text": "ABSCHLUSS", "gv_code": "805", "primanota": "9800"}
SHOPS = ("REWE SAGT DANKE. 41234//Koeln/DE", "ALDI SUED//KOELN/DE", "DM-DROGERIE MARKT//KOELN/DE", "EDEKA WERNER//KOELN/DE")
Rows = list[dict[str, Any]]


def iban(name: str) -> str:
    """An account of this name at a savings bank, always the same one."""
    number = f"50050201{crc32(name.encode()):010}"
    return f"DE{98 - int(f'{number}131400') % 97:02}{number}"


def lines(
    kind: dict[str, str],
    days: date | Iterable[date],
    euros: float | list[float],
    name: str | None,
    purpose: str = "",
    **more: Any,
) -> Rows:
    """Bookings of one kind with one counterparty; a purpose may name the day, as in `Miete {:%m.%Y}`, and count by `{n}`."""
    dates = [days] if isinstance(days, date) else list(days)
    amounts = euros if isinstance(euros, list) else [euros] * len(dates)
    account = None if kind in (CARD, CLOSING) or name is None else iban(name)
    about = {"product": "giro", "currency": "EUR", "pending": False, "counterparty_name": name, "counterparty_iban": account}
    return [
        {**about, **kind, "booked_on": day, "value_on": day, "amount_cents": round(amount * 100), **_dated(more, day, n)}
        | {"purpose": purpose.format(day, n=n)}
        for n, day, amount in zip(count(1), dates, amounts, strict=False)
    ]


def debits(days: date | Iterable[date], euros: float | list[float], name: str, purpose: str, **more: Any) -> Rows:
    """Direct debits as the bank of a savings bank's customer writes them, under one mandate unless another is given."""
    mandate, number = more.pop("mandate", f"M{crc32(name.encode()):010}"), crc32(f"{name}cred".encode())
    text = f"EREF+{number}MREF+{mandate}CRED+DE98ZZZ{number:011}SVWZ+{purpose}"
    return lines(DEBIT, days, euros, name, text, **more)


def wage(
    first: str, last: str, euros: float | list[float] = 2_450.17, name: str = "Rheinwerk Logistik GmbH", day: int = 28
) -> Rows:
    """A wage in every month from `yyyy-mm` to `yyyy-mm`."""
    return lines(PAY, months(first, last, day), euros, name, "LOHN / GEHALT {:%m/%Y} Personalnr. 004711")


def everyday(first: date = date(2024, 1, 2), last: date = TODAY) -> Rows:
    """Purchases of uneven amounts in changing shops: the account is alive."""
    days = [first + timedelta(days=at) for at in range(0, (last - first).days + 1, 3)]
    amounts = [-(1_340 + at * at * 37 % 5_300) / 100 for at in range(len(days))]
    purchases = (
        lines(CARD, day, euros, SHOPS[at * at * 7 % 11 % 4], "{:%Y-%m-%d}T17:42 Debitk.4 2028-12")
        for at, (day, euros) in enumerate(zip(days, amounts, strict=True))
    )
    return [line for row in purchases for line in row]


def weekly(last: date, number: int) -> list[date]:
    """A number of days, a week apart, up to the last."""
    return [last - timedelta(weeks=week) for week in reversed(range(number))]


def _dated(more: dict[str, Any], day: date, n: int) -> dict[str, Any]:
    return {name: value.format(day, n=n) if isinstance(value, str) else value for name, value in more.items()}


@dataclass(frozen=True)
class LifeResults:
    """The tags and the analyses of one life."""

    tagged: pl.DataFrame
    frames: Frames
    as_of: pl.DataFrame

    @property
    def contracts(self) -> pl.DataFrame:
        return self.frames["contracts"]

    def contract(self, **of: Any) -> dict[str, Any]:
        """The only contract of this kind."""
        found = self.contracts.filter(**of)
        assert found.height == 1, found.select("category", "counterparty_name", "period", "amount_latest", "status").rows()
        return found.row(0, named=True)

    def category(self, name: str) -> set[str]:
        """The categories of the bookings with this counterparty, or whose purpose has these words."""
        texts = pl.concat_str("counterparty_name", "purpose", separator=" ", ignore_nulls=True)
        found = self.tagged.filter(texts.str.contains(name, literal=True))
        assert not found.is_empty(), name
        return set(found["category"])

    @cached_property
    def happened(self) -> dict[str, date]:
        """The events with their days."""
        return dict(self.frames["life_events"].sort("event_date", descending=True).select("item", "event_date").rows())

    @property
    def stages(self) -> set[str]:
        return set(self.frames["life_stages"]["item"])

    @property
    def triggers(self) -> set[str]:
        return set(self.frames["sales_triggers"]["item"])

    @property
    def afford(self) -> dict[str, Any]:
        return self.frames["affordability"].row(0, named=True)

    @property
    def disposable(self) -> dict[str, Any]:
        return self.frames["disposable_money"].row(0, named=True)

    def cents(self, tag: str, item: str) -> int:
        """What flowed under this tag in this item."""
        found = roll_up(self.frames["cashflow"], self.as_of).filter(tag=tag, item=item)
        return int(found["cents"].sum())

    def expected(self, tag: str, item: str) -> dict[str, Any]:
        """What is predicted under this tag for this item."""
        return select_view(self.frames["cashflow_predictions"]).filter(tag=tag, item=item).row(0, named=True)


class Book:
    """Lives, written one after the other, then tagged and analysed together."""

    def __init__(self) -> None:
        self._lives: dict[str, tuple[Rows, list[tuple[str | None, ...]], date]] = {}

    def life(self, *parts: Rows, as_of: date = TODAY, products: Iterable[tuple[str, ...]] = (GIRO,)) -> str:
        """Adds a life and returns its user."""
        user = f"life-{len(self._lives):02}"
        self._lives[user] = ([row for part in parts for row in part], [(user, *product, None) for product in products], as_of)
        return user

    @cached_property
    def _read(self) -> tuple[pl.DataFrame, Frames, pl.DataFrame]:
        rows = [
            {"user": user, "id": f"{user}-{n:04}", **line}
            for user, (statement, _, _) in self._lives.items()
            for n, line in enumerate(sorted(statement, key=lambda line: line["booked_on"]))
        ]
        bookings = pl.DataFrame(rows, schema=TRANSACTIONS)
        products = pl.DataFrame([row for _, owned, _ in self._lives.values() for row in owned], PRODUCTS, orient="row")
        as_of = pl.DataFrame([(user, day) for user, (_, _, day) in self._lives.items()], AS_OF, orient="row")
        tags = tagging.tag_bookings(bookings, products, CHOICES.to_frame(), RULES.to_frame(), Tagger(registry.shipped()))
        tagged = bookings.hstack(tags.drop("id", "user", "product"))
        return tagged, analyse(tagged, products, as_of), as_of

    def told(self, user: str) -> LifeResults:
        """The results of one life."""
        tagged, frames, as_of = self._read
        return LifeResults(
            tagged.filter(user=user),
            {name: frame.filter(user=user) for name, frame in frames.items()},
            as_of.filter(user=user),
        )
