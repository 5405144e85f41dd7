"""The evidence for life events and stages: small frames of histories, of bookings with a kind, and of contracts with a kind.

Everything that reads all bookings happens here, once; the rules read a few rows per user.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics import trees
from analytics.analyses.keys import user_key
from analytics.analyses.life_events.words import CATEGORIES, RENT_CATEGORY, fold_umlauts, read_kinds
from analytics.analyses.snapshot import CATEGORY_CODES, USER_STRIDE_DAYS, Snapshot
from analytics.bank_text.channels import Channel
from analytics.frames import collected
from analytics.knowledge import partners

MAX_MONTH_DAYS = 31
"""A contract with a longer period is paid less than monthly."""
MAX_OPENING_BOOKINGS = 3
"""The evidence for the start of a contract is at most this many of its first bookings."""
INCOME_CATEGORIES = tuple(name for name in CATEGORY_CODES.categories if name.startswith("INCOME_"))
OWN_PLAN_KINDS = {"TRANSFER_SAVINGS": "OWN_SAVINGS_PLAN", "TRANSFER_SECURITIES": "OWN_SECURITIES_PLAN"}
"""Regular transfers to own savings and depots are no contracts, but their start and end are events."""
OTHER_INCOME = "OTHER_INCOME"
"""Money from private people and unknown senders: income of a month, but no regular one."""
BOOKING_COLUMNS = (
    "id",
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
    """The frames that the rules read, each sorted by user and day."""

    histories: pl.DataFrame
    """`user`, `as_of`, and `start`, the day of the first booking."""
    user_indices: pl.DataFrame
    """`user` and its `user_index` among all users."""
    days: NDArray[np.int64]
    """The day of every booking as index of its user × `USER_STRIDE_DAYS` + day, sorted."""
    months: pl.DataFrame
    """`user` and `month`: each full month between the first booking and the as-of date."""
    income: pl.DataFrame
    """The bookings in categories of income: `user`, `id`, `category`, `day`, `cents`, `payer`, `name`."""
    rows: pl.DataFrame
    """Single bookings with their `kind`."""
    runs: pl.DataFrame
    """Contracts with their `kind`, their `first`, `last` and `due` day, their period `length` in days, and the day since which
    their start is `recognised`: that of the second payment, and of the first one for what is paid less than monthly.
    """
    payments: pl.DataFrame
    """The regular payments of these contracts: `user`, `contract`, `kind`, `id`, `day`, `cents`."""

    @cached_property
    def booked_kinds(self) -> frozenset[str]:
        """The kinds of single bookings. Rules about other kinds need no search, which is usual for a single user."""
        return frozenset(self.rows["kind"].unique())

    @cached_property
    def active_kinds(self) -> frozenset[str]:
        """The kinds of active contracts."""
        return frozenset(self.runs["kind"].filter(self.runs["active"]).unique())


def gather_evidence(snapshot: Snapshot) -> EventEvidence:
    """The evidence in a snapshot."""
    histories, user_indices = snapshot.histories.drop("user_index"), snapshot.histories.select("user", "user_index")
    rows = _bookings_with_kind(snapshot)
    payments = _regular_payments(snapshot, rows)
    runs = _contract_runs(snapshot, payments, histories)
    return EventEvidence(histories, user_indices, snapshot.days, full_months(histories), _income(snapshot), rows, runs, payments)


def bookings_until(evidence: EventEvidence, frame: pl.DataFrame, *days: pl.Expr) -> list[pl.Series]:
    """For each of these days: by row of a frame with `user` the number of bookings of its user up to and including that day."""
    days_by_row = frame.select("user", *(day.to_physical().cast(pl.Int64).alias(f"{index}") for index, day in enumerate(days)))
    user_offsets = (
        days_by_row[["user"]].join(evidence.user_indices, on="user", how="left", maintain_order="left")["user_index"].to_numpy()
        * USER_STRIDE_DAYS
    )
    first_bookings = np.searchsorted(evidence.days, user_offsets, "left")
    day_keys = (user_offsets + days_by_row[f"{index}"].to_numpy() for index in range(len(days)))
    return [pl.Series("until", np.searchsorted(evidence.days, day, "right") - first_bookings, pl.Int64) for day in day_keys]


def nth_booking_days(evidence: EventEvidence, frame: pl.DataFrame, day: pl.Expr, number: int) -> pl.Series:
    """By row of a frame with `user` the day of the user's booking of this number after a day; null if there are fewer."""
    (until,) = bookings_until(evidence, frame, day)
    user_index = (
        frame[["user"]].join(evidence.user_indices, on="user", how="left", maintain_order="left")["user_index"].to_numpy()
    )
    place = np.searchsorted(evidence.days, user_index * USER_STRIDE_DAYS, "left") + until.to_numpy() + number - 1
    keys = evidence.days[np.minimum(place, evidence.days.size - 1)]
    is_own = (place < evidence.days.size) & (keys // USER_STRIDE_DAYS == user_index)
    days = pl.Series("nth", keys % USER_STRIDE_DAYS, pl.Int64).cast(pl.Int32).cast(pl.Date)
    return pl.select(nth=pl.when(pl.Series(is_own)).then(days)).to_series()


def _income(snapshot: Snapshot) -> pl.DataFrame:
    columns = {
        "category": "effective_category",
        "day": "booked_on",
        "cents": "amount_cents",
        "payer": "counterparty_key",
        "name": "counterparty_name",
    }
    return snapshot.bookings.select("user", "id", **columns).filter(snapshot.are_in((*INCOME_CATEGORIES, OTHER_INCOME)))


def _bookings_with_kind(snapshot: Snapshot) -> pl.DataFrame:
    """The bookings that have a kind, with their `kind`."""
    collectors = partners().frame.filter("inkasso")["partner"].implode()
    is_returned, is_collected = (pl.col("channel") == Channel.DD_RETURN), pl.col("partner").is_in(collectors)
    rows = snapshot.bookings.lazy().select(BOOKING_COLUMNS)
    rows = rows.filter(pl.lit(snapshot.are_in(CATEGORIES)) | is_returned | is_collected)
    surname = fold_umlauts(pl.col("owner_name")).str.extract(r"([a-z]{3,})\W*$").fill_null("")
    with_kinds = read_kinds(collected(rows), snapshot.products.select("user", "product", surname=surname)).lazy()
    return collected(with_kinds.filter(pl.col("kind") != "").sort("user", "booked_on", "id"))


def _regular_payments(snapshot: Snapshot, rows: pl.DataFrame) -> pl.DataFrame:
    """The regular payments of contracts in the categories of kinds, each with the most frequent kind of its contract, and those
    of transfers to own savings.
    """
    contract_keys = snapshot.contracts.filter(pl.col("category").is_in(CATEGORIES)).select(user_key("id")).to_series()
    payments = snapshot.payments.lazy().filter("regular").filter(user_key("contract").is_in(contract_keys.implode()))
    keyed_payments = collected(payments.with_columns(contract=_user_contract("contract"), key=user_key("id"))).lazy()
    kinds = keyed_payments.join(rows.lazy().select("kind", key=user_key("id")), on="key").group_by("contract", "kind").len()
    kinds = kinds.sort(-pl.col("len").cast(pl.Int64), "kind").unique("contract", keep="first", maintain_order=True)
    plan_kinds = (
        snapshot.savings_plans.lazy()
        .select(
            contract=_user_contract("id"),
            kind=pl.col("category").replace_strict(OWN_PLAN_KINDS, default=None, return_dtype=pl.String),
        )
        .drop_nulls("kind")
    )
    plan_payments = snapshot.savings_plan_payments.lazy().filter("regular").with_columns(contract=_user_contract("contract"))
    columns = ["user", "contract", "kind", "id", "booked_on", "amount_cents"]
    payments_with_kind = pl.concat(
        [
            keyed_payments.join(kinds.select("contract", "kind"), on="contract").select(columns),
            plan_payments.join(plan_kinds, on="contract").select(columns),
        ]
    )
    renamed_payments = payments_with_kind.select("user", "contract", "kind", "id", day="booked_on", cents="amount_cents")
    return collected(renamed_payments.sort("user", "contract", "day", "id"))


def _contract_runs(snapshot: Snapshot, payments: pl.DataFrame, histories: pl.DataFrame) -> pl.DataFrame:
    payment_ids = (
        payments.lazy()
        .group_by("contract", maintain_order=True)
        .agg(
            kind=pl.col("kind").first(),
            opening=pl.col("id").head(MAX_OPENING_BOOKINGS),
            closing=pl.col("id").tail(1),
            second=pl.col("day").get(1, null_on_oob=True),
            earliest_cents=pl.col("cents").first(),
        )
    )
    lengths = trees.periods_frame().lazy().select(period="system_name", length=pl.col("days").cast(pl.Int64))
    contracts = (
        pl.concat([snapshot.contracts, snapshot.savings_plans])
        .lazy()
        .select(
            "user",
            "insurance",
            "period",
            contract=_user_contract("id"),
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
    )
    runs = contracts.join(payment_ids, on="contract").join(lengths, on="period", how="left").join(histories.lazy(), on="user")
    is_rare = pl.col("length") > MAX_MONTH_DAYS
    recognised = pl.when(is_rare | pl.col("second").is_null()).then("first").otherwise("second")
    return collected(runs.with_columns(recognised=recognised).drop("second").sort("user", "first", "contract"))


def _user_contract(contract: str) -> pl.Expr:
    """The contract id together with its user: ids are only unique per user."""
    return pl.concat_str("user", contract, separator=" ")


def _payee() -> pl.Expr:
    """The identity of the counterparty: its partner, otherwise the first word of its name, so that two companies of one group are
    one employer, otherwise its account. Of a landlord it is the account: names like that of an administration are shared.
    """
    word = fold_umlauts(pl.col("counterparty_name").fill_null("")).str.extract(r"([a-z0-9?]{3,})")
    brand = pl.when(pl.col("partner") != trees.UNKNOWN).then("partner")
    landlord = pl.when(pl.col("category") == RENT_CATEGORY).then(pl.col("counterparty_iban").replace("", None))
    return pl.coalesce(landlord, brand, word, pl.col("counterparty_iban"), "id")


def full_months(histories: pl.DataFrame) -> pl.DataFrame:
    """`user` and `month`: each full month between the first booking and the as-of date."""
    begins, ends = pl.col("start").dt.offset_by("-1d").dt.month_start().dt.offset_by("1mo"), pl.col("as_of").dt.offset_by("1d")
    spans = histories.lazy().select("user", begin=begins, end=ends.dt.month_start()).filter(pl.col("begin") < pl.col("end"))
    months = spans.select("user", month=pl.date_ranges("begin", "end", "1mo", closed="left"))
    return collected(months.explode("month").sort("user", "month"))
