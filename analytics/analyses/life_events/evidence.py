"""The small frames on which the rules about events and stages stand: histories, bookings with a kind, and contracts with one.

Everything that has to look at all bookings happens here and once; the rules read a few rows per user.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics import trees
from analytics.analyses.keys import user_key
from analytics.analyses.life_events.words import CATEGORIES, folded, read
from analytics.analyses.snapshot import CATEGORY_CODES, USER_STRIDE_DAYS, Snapshot
from analytics.bank_text.channels import Channel
from analytics.knowledge import partners

EVIDENCE = 3
"""So many bookings of a contract are named as evidence for its start."""
INCOMES = tuple(name for name in CATEGORY_CODES.categories if name.startswith("INCOME_"))
ROWS = (
    "id",
    "key",
    "user",
    "product",
    "booked_on",
    "amount_cents",
    "counterparty_name",
    "counterparty_key",
    "purpose",
    "channel",
    "partner",
    "insurance",
    "freelancer",
    "effective_category",
)


@dataclass(frozen=True)
class EventEvidence:
    """What the rules read; every frame is sorted by user and day."""

    histories: pl.DataFrame
    """`user`, `as_of`, `start`: the day of the first booking."""
    places: pl.DataFrame
    """`user` and its `place` among all users."""
    days: NDArray[np.int64]
    """The day of every booking, by user: the place of the user × `USER_STRIDE_DAYS` + the day, sorted."""
    months: pl.DataFrame
    """`user` and `month`: each month that lies wholly between the first booking and the as-of date."""
    income: pl.DataFrame
    """The bookings of effective income: `user`, `id`, `day`, `cents`, `payer`, `name`."""
    rows: pl.DataFrame
    """Single bookings with their `kind`."""
    runs: pl.DataFrame
    """Contracts with their `kind`, `first`, `last` and `due` day, their `length` in days, and what the guards say."""
    paid: pl.DataFrame
    """The regular payments of these contracts: `user`, `contract`, `kind`, `id`, `day`, `cents`."""

    @cached_property
    def booked_kinds(self) -> frozenset[str]:
        """The kinds that single bookings have: of others nothing need be searched, as is usual for one user."""
        return frozenset(self.rows["kind"].unique())

    @cached_property
    def active_kinds(self) -> frozenset[str]:
        """The kinds that active contracts have."""
        return frozenset(self.runs["kind"].filter(self.runs["active"]).unique())


def gather_evidence(seen: Snapshot) -> EventEvidence:
    """The small frames of what was seen."""
    histories, places = seen.histories.drop("place"), seen.histories.select("user", "place")
    rows = _rows(seen)
    paid = _paid(seen, rows)
    runs = _runs(seen, paid, histories)
    return EventEvidence(histories, places, seen.days, _full_months(histories), _income(seen), rows, runs, paid)


def until(base: EventEvidence, frame: pl.DataFrame, *days: pl.Expr) -> list[pl.Series]:
    """For each row of a frame with `user`, and each of these days, how many bookings its user had until that day."""
    asked = frame.select("user", *(day.to_physical().cast(pl.Int64).alias(f"{place}") for place, day in enumerate(days)))
    begin = asked[["user"]].join(base.places, on="user", how="left", maintain_order="left")["place"].to_numpy() * USER_STRIDE_DAYS
    first = np.searchsorted(base.days, begin, "left")
    each = (begin + asked[f"{place}"].to_numpy() for place in range(len(days)))
    return [pl.Series("until", np.searchsorted(base.days, day, "right") - first, pl.Int64) for day in each]


def _income(seen: Snapshot) -> pl.DataFrame:
    columns = {"day": "booked_on", "cents": "amount_cents", "payer": "counterparty_key", "name": "counterparty_name"}
    return seen.bookings.select("user", "id", **columns).filter(seen.are_in(INCOMES))


def _rows(seen: Snapshot) -> pl.DataFrame:
    """The bookings of kinds that are of interest, with the surname of the owner of their product."""
    collectors = partners().frame.filter("inkasso")["partner"].implode()
    returned, collected = (pl.col("channel") == Channel.DD_RETURN), pl.col("partner").is_in(collectors)
    rows = seen.bookings.select(ROWS).filter(pl.lit(seen.are_in(CATEGORIES)) | returned | collected)
    surnames = seen.products.select(
        "user", "product", surname=folded(pl.col("owner_name")).str.extract(r"([a-z]{3,})\W*$").fill_null("")
    )
    named = rows.join(surnames, on=["user", "product"], how="left", maintain_order="left").with_columns(
        pl.col("surname").fill_null("")
    )
    return read(named).filter(pl.col("kind") != "").sort("user", "booked_on", "id")


def _paid(seen: Snapshot, rows: pl.DataFrame) -> pl.DataFrame:
    """The regular payments of contracts in these categories, each contract with the kind that most of them have."""
    wanted = seen.contracts.filter(pl.col("category").is_in(CATEGORIES)).select(user_key("id")).to_series()
    chosen = seen.payments.filter("regular").filter(user_key("contract").is_in(wanted.implode()))
    of = chosen.with_columns(contract=_of_user("contract"), key=user_key("id"))
    kinds = of.join(rows.select("kind", key=user_key("id")), on="key").group_by("contract", "kind").len()
    kinds = kinds.sort(-pl.col("len").cast(pl.Int64), "kind").unique("contract", keep="first", maintain_order=True)
    known = of.join(kinds.select("contract", "kind"), on="contract")
    return known.select("user", "contract", "kind", "id", day="booked_on", cents="amount_cents").sort(
        "user", "contract", "day", "id"
    )


def _runs(seen: Snapshot, paid: pl.DataFrame, histories: pl.DataFrame) -> pl.DataFrame:
    evidence = paid.group_by("contract", maintain_order=True).agg(
        kind=pl.col("kind").first(), opening=pl.col("id").head(EVIDENCE), closing=pl.col("id").tail(1)
    )
    lengths = trees.periods_frame().select(period="system_name", length=pl.col("days").cast(pl.Int64))
    contracts = seen.contracts.select(
        "user",
        "insurance",
        "period",
        contract=_of_user("id"),
        first="date_first",
        last="date_latest",
        due="date_due",
        active=pl.col("status") == "ACTIVE",
        median=pl.col("amount_median").round().cast(pl.Int64),
        latest="amount_latest",
        count="regular_count",
        name=pl.col("counterparty_name").fill_null(""),
        payee=_payee(),
    )
    joined = contracts.join(evidence, on="contract").join(lengths, on="period", how="left").join(histories, on="user")
    return joined.sort("user", "first", "contract")


def _of_user(contract: str) -> pl.Expr:
    """The contract together with its user: ids are only unique so."""
    return pl.concat_str("user", contract, separator=" ")


def _payee() -> pl.Expr:
    """By what the other side is known again: its brand, else the first word of its name, so that two companies of one group are
    one employer; else its account.
    """
    word = folded(pl.col("counterparty_name").fill_null("")).str.extract(r"([a-z0-9?]{3,})")
    brand = pl.when(pl.col("partner") != trees.UNKNOWN).then("partner")
    return pl.coalesce(brand, word, pl.col("counterparty_iban"), "id")


def _full_months(histories: pl.DataFrame) -> pl.DataFrame:
    """`user` and `month`: each month that lies wholly between the first booking and the as-of date."""
    begins, ends = pl.col("start").dt.offset_by("-1d").dt.month_start().dt.offset_by("1mo"), pl.col("as_of").dt.offset_by("1d")
    spans = histories.select("user", begin=begins, end=ends.dt.month_start()).filter(pl.col("begin") < pl.col("end"))
    months = spans.select("user", month=pl.date_ranges("begin", "end", "1mo", closed="left"))
    return months.explode("month").sort("user", "month")
