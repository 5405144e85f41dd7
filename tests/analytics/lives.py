"""Made-up lives for tests of events, stages and triggers: bookings as they are after tagging, a stream a line."""

from calendar import monthrange
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import partial
from typing import Any, NamedTuple

import polars as pl

from analytics.analyses.life_events import life_events
from analytics.analyses.life_stages import life_stages
from analytics.analyses.sales_triggers import sales_triggers
from analytics.analyses.snapshot import Snapshot, snapshot
from analytics.frames import AS_OF, LIFE_EVENTS, LIFE_STAGES, PRODUCTS, SALES_TRIGGERS, TAGGED, TRANSACTIONS
from tests.support.rehearsal import Answers

TODAY = date(2026, 6, 30)
TAGGED_BOOKINGS = pl.Schema({**TRANSACTIONS, **TAGGED})
USUAL: dict[str, Any] = {
    "user": "anna",
    "product": "giro",
    "currency": "EUR",
    "booking_text": "",
    "pending": False,
    "channel": "TRANSFER",
    "insurance": "UNRELATED_OTHER",
    "partner": "UNKNOWN",
    "freelancer": "PRIVATE",
}


def book(
    category: str, days: list[date], euros: float | list[float], name: str = "", purpose: str = "", **columns: Any
) -> pl.DataFrame:
    """Bookings of one category with one counterparty on these days."""
    amounts = euros if isinstance(euros, list) else [euros] * len(days)
    row = {
        **USUAL,
        "category": category,
        "effective_category": category,
        "counterparty_name": name,
        "purpose": purpose,
        **columns,
    }
    row = {"counterparty_key": f"{category} {name}", "counterparty_iban": f"DE{abs(hash_of(name + category)):020}", **row}
    rows = [
        {**row, "id": f"{row['user']} {category} {name} {number:03}", "booked_on": day, "amount_cents": round(amount * 100)}
        for number, (day, amount) in enumerate(zip(days, amounts, strict=True))
    ]
    return pl.DataFrame(rows, schema=TAGGED_BOOKINGS)


def hash_of(text: str) -> int:
    """A number for a text, the same in every run."""
    return int.from_bytes(text.encode()[:7].ljust(7), "big") + sum(text.encode())


def months(first: str, last: str, day: int = 3) -> list[date]:
    """The same day in each month from `yyyy-mm` to `yyyy-mm`, its last day if it has fewer."""
    begin, end = ((int(text[:4]) * 12 + int(text[5:]) - 1) for text in (first, last))
    spans = [(month // 12, month % 12 + 1) for month in range(begin, end + 1)]
    return [date(year, month, min(day, monthrange(year, month)[1])) for year, month in spans]


wage = partial(book, "INCOME_SALARY", channel="SALARY", purpose="Gehalt")
rent = partial(book, "HOUSING_RENT", channel="STANDINGORDER", purpose="Miete")
child_benefit = partial(book, "INCOME_STATE_FAMILY", name="Familienkasse", purpose="Kindergeld", channel="PUBLIC")
debit = partial(book, channel="DIRECTDEBIT")


def everyday(first: date = date(2024, 1, 1), last: date = TODAY, user: str = "anna") -> pl.DataFrame:
    """Purchases every fourth day, of uneven amounts: the account is alive."""
    days = [first + timedelta(days=at) for at in range(0, (last - first).days + 1, 4)]
    spending = [-20 - (at * 37 % 53) for at in range(len(days))]
    return book("LIVING_GROCERIES", days, [float(euros) for euros in spending], "Markt", channel="CARD", user=user)


def take_snapshot(
    *parts: pl.DataFrame, as_of: date = TODAY, owner: str = "Anna Muster", products: pl.DataFrame | None = None
) -> Snapshot:
    """What is seen of these bookings."""
    bookings = pl.concat(parts) if parts else TAGGED_BOOKINGS.to_frame()
    users = bookings["user"].unique().sort()
    days = pl.DataFrame({"user": users, "as_of": [as_of] * users.len()}, schema=AS_OF)
    products_of_users = [(user, "giro", "CHECKING", None, owner, None) for user in users]
    return snapshot(bookings, pl.DataFrame(products_of_users, PRODUCTS, orient="row") if products is None else products, days)


@dataclass(frozen=True)
class Life:
    """The bookings of one user, seen on a day; equal to another life of the same contents."""

    contents: bytes = field(init=False)
    bookings: pl.DataFrame = field(compare=False)
    products: pl.DataFrame = field(compare=False)
    as_of: date

    def __post_init__(self) -> None:
        contents = [frame.write_ipc(None, compat_level=pl.CompatLevel.oldest()) for frame in (self.bookings, self.products)]
        object.__setattr__(self, "contents", b"".join(content.getvalue() for content in contents))


class Told(NamedTuple):
    """What is said of one life."""

    events: pl.DataFrame
    stages: pl.DataFrame
    triggers: pl.DataFrame


def life(*parts: pl.DataFrame, as_of: date = TODAY, owner: str = "Anna Muster", products: pl.DataFrame | None = None) -> Life:
    """A life of these bookings of one user."""
    bookings = pl.concat(parts)
    (user,) = bookings["user"].unique()
    giro = pl.DataFrame([(user, "giro", "CHECKING", None, owner, None)], PRODUCTS, orient="row")
    return Life(bookings, giro if products is None else products, as_of)


def _tell(lives: Sequence[Life]) -> list[Told]:
    """What is said of each life, in one computation: each is another user."""
    users = [f"user {number:04}" for number in range(len(lives))]

    def joined(frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
        return pl.concat(frame.with_columns(user=pl.lit(user)) for user, frame in zip(users, frames, strict=True))

    days = pl.DataFrame({"user": users, "as_of": [life.as_of for life in lives]}, schema=AS_OF)
    whole = snapshot(joined(life.bookings for life in lives), joined(life.products for life in lives), days)
    events = life_events(whole)
    stages = life_stages(whole, events)
    told = [frame.partition_by("user", as_dict=True) for frame in (events, stages, sales_triggers(whole, events, stages))]
    empty = (LIFE_EVENTS, LIFE_STAGES, SALES_TRIGGERS)
    return [
        Told(*(by_user.get((user,), schema.to_frame()) for by_user, schema in zip(told, empty, strict=True))) for user in users
    ]


tell = Answers(_tell)
"""What is said of a life."""


def event_days(*parts: pl.DataFrame, as_of: date = TODAY, marriage: bool = False) -> dict[str, date]:
    """The events of the only user: item and day, the first one of an item; large incomes are left to the tests of triggers."""
    events = (
        life_events(take_snapshot(*parts, as_of=as_of), marriage=True) if marriage else tell(life(*parts, as_of=as_of)).events
    )
    result = events.filter(pl.col("item") != "LARGEINCOME").sort("event_date", descending=True)
    return dict(result.select("item", "event_date").rows())


def stages_of(*parts: pl.DataFrame, **more: Any) -> dict[str, str]:
    """The stages of the only user by dimension, without the overlay."""
    result = tell(life(*parts, **more)).stages.filter(pl.col("item") != "HOUSING_LANDLORD")
    return dict(result.select("dimension", pl.col("item").str.strip_prefix(pl.col("dimension") + "_")).rows())


def triggers_of(*parts: pl.DataFrame, **more: Any) -> dict[str, int | None]:
    """The triggers of the only user with their amounts."""
    return dict(tell(life(*parts, **more)).triggers.select("item", "amount").rows())
