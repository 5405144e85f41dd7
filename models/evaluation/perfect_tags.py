"""The input that the analyses would get if every tag, contract, event and stage were true: the truth in their own frames."""

from collections.abc import Mapping

import polars as pl

from analytics.analyses.snapshot import Snapshot
from analytics.frames import AS_OF, CONTRACT_BOOKINGS, CONTRACTS, LIFE_EVENTS, LIFE_STAGES, SNAPSHOT_BOOKINGS, checked
from analytics.knowledge import UNKNOWN
from models.simulator import Corpus

NUMBER = pl.col("user").cast(pl.String).str.zfill(7)
NAME = pl.concat_str(pl.lit("u"), NUMBER)
"""The user's name in bookings, from the number in truths."""


def user_names(corpus: Corpus) -> pl.DataFrame:
    """`user` and `name`: the number and the name of each simulated user who has bookings."""
    return corpus.truth.select("user").with_columns(name=corpus.transactions["user"]).unique("user")


def true_snapshot(corpus: Corpus, tagged_bookings: pl.DataFrame, partner_of: Mapping[str, str]) -> Snapshot:
    """The bookings until the as-of date with true tags, and the true contracts; `partner_of` maps brands to partners.

    Fields read from the text (channel, counterparty) are those of `tagged_bookings`: they have no truth of their own.
    """
    true = corpus.truth.select(
        "id",
        "category",
        "insurance",
        "effective_category",
        freelancer=pl.when(pl.col("freelancer") != "").then("freelancer").otherwise(pl.lit("PRIVATE")),
        partner=pl.col("brand").replace_strict(dict(partner_of), default=UNKNOWN, return_dtype=pl.String),
    )
    with_truth = tagged_bookings.drop("category", "insurance", "effective_category", "freelancer", "partner").join(true, on="id")
    booked = with_truth.filter(~pl.col("pending")).with_columns(as_of=pl.lit(corpus.as_of)).select(SNAPSHOT_BOOKINGS.names())
    users = booked.select(pl.col("user").unique().sort()).with_columns(as_of=pl.lit(corpus.as_of))
    payments = _payments(corpus, booked)
    contract_bookings = checked(payments.drop("place"), CONTRACT_BOOKINGS)
    return Snapshot(
        checked(booked, SNAPSHOT_BOOKINGS),
        corpus.products,
        checked(users, AS_OF),
        _contracts(corpus),
        contract_bookings,
        payments["place"],
    )


def true_events(corpus: Corpus) -> pl.DataFrame:
    """The true events until the as-of date (frame `LIFE_EVENTS`)."""
    past = corpus.events.filter(pl.col("date") <= corpus.as_of)
    return _filled(past.select("item", user=NAME, event_date="date", known_since="date", confidence=pl.lit(1.0)), LIFE_EVENTS)


def true_stages(corpus: Corpus) -> pl.DataFrame:
    """The true stages on the as-of date (frame `LIFE_STAGES`)."""
    current = corpus.stages.filter(pl.col("since") <= corpus.as_of, pl.col("until").is_null() | (pl.col("until") >= corpus.as_of))
    return _filled(current.select("dimension", "item", "since", user=NAME, confidence=pl.lit(1.0)), LIFE_STAGES)


def _contracts(corpus: Corpus) -> pl.DataFrame:
    contracts = corpus.contracts.select(
        "category",
        "insurance",
        "period",
        "status",
        "counterparty_name",
        "counterparty_iban",
        "date_first",
        "date_latest",
        "date_next",
        "amount_median",
        "regular_count",
        id=pl.col("contract_id").cast(pl.String),
        user=NAME,
        date_due=pl.coalesce("date_next", "date_latest"),
        amount_latest="amount_latest_cents",
        partner=pl.lit(UNKNOWN),
    )
    return _filled(contracts, CONTRACTS)


def _payments(corpus: Corpus, booked: pl.DataFrame) -> pl.DataFrame:
    """The frame `CONTRACT_BOOKINGS`, and the row of each among the bookings."""
    truth = corpus.truth.filter(pl.col("contract_id").is_not_null()).select("id", "regular", contract="contract_id")
    payments = booked.select("id", "user", "booked_on", "amount_cents").with_row_index("place").join(truth, on="id")
    return payments.with_columns(pl.col("contract").cast(pl.String), pl.col("regular").fill_null(value=False)).select(
        *CONTRACT_BOOKINGS.names(), "place"
    )


def _filled(frame: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
    """The frame with all columns of a schema; those that it lacks are null."""
    missing = [pl.lit(None, kind).alias(name) for name, kind in schema.items() if name not in frame.columns]
    return checked(frame.with_columns(missing).select(schema.names()).cast(dict(schema.items())), schema)
