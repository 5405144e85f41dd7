"""How good the contracts are that are found in the bookings of simulated people, compared with their true contracts.

A found contract and a true one count as the same if they share most of their regular bookings.
"""

import polars as pl

from models.evaluation.metrics import Figure, Measure, calibration_error, f1, figure, ratio
from models.simulator import Corpus

OWN_LOAN_TRANSFER = "TRANSFER_LOAN"
MIN_SHARED_BOOKINGS = 0.6
"""Two contracts are the same if both have at least this share of their regular bookings."""
MIN_FREQUENT_BOOKINGS = 3
"""Contracts with fewer regular bookings are measured apart."""
MARGIN_DAYS = 10
MAX_GRACE_DAYS = 45
PERIOD_DAYS = {
    "MONTH_ONE": 31,
    "MONTH_TWO": 62,
    "QUARTER_ONE": 92,
    "MONTH_FOUR": 123,
    "HALFYEAR_ONE": 184,
    "YEAR_ONE": 366,
    "YEAR_TWO": 731,
}
MAX_AMOUNT_ERROR = 0.01
"""The largest relative error of a fixed amount that counts as right."""
PERIOD_BINS = 5
"""Periods are seldom guessed: more bins would measure chance."""


def contract_figures(corpus: Corpus, contracts: pl.DataFrame, payments: pl.DataFrame, times: int = 1000) -> dict[str, Figure]:
    """Every figure of contracts that has a gate."""
    return {
        **recognition_figures(corpus, payments, times),
        **detail_figures(compare_contracts(corpus, contracts, payments), times),
    }


def recognition_figures(corpus: Corpus, payments: pl.DataFrame, times: int = 1000) -> dict[str, Figure]:
    """How well contracts are found in bookings."""
    members = _members(corpus, payments)
    return {
        **_recognition(_outcomes(corpus, members, _pairs(corpus, members)), times),
        "contract_habits": _habits(corpus, members, times),
        **_grouping(corpus, members, times),
    }


def compare_contracts(corpus: Corpus, contracts: pl.DataFrame, payments: pl.DataFrame) -> pl.DataFrame:
    """The contracts that were found beside the true ones, whose columns end in `_true`."""
    pairs = _pairs(corpus, _members(corpus, payments))
    true_contracts = corpus.contracts.rename(lambda name: f"{name}_true" if name != "contract_id" else name)
    found_contracts = contracts.rename({"id": "contract"}).with_columns(as_of=pl.lit(corpus.as_of))
    regular = (
        _true_regular_bookings(corpus)
        .join(corpus.transactions.select("id", "booked_on", "amount_cents"), on="id")
        .sort("booked_on", "id")
    )
    amounts = regular.group_by("contract_id").agg(before_last=pl.col("amount_cents").slice(-2, 1).first())
    with_truth = pairs.join(found_contracts, on="contract").join(true_contracts, on="contract_id")
    return with_truth.join(amounts, on="contract_id", how="left")


def days_off() -> pl.Expr:
    """Days from the true next date to the predicted one."""
    return (pl.col("date_next") - pl.col("date_next_true")).dt.total_days()


def active_contracts(both: pl.DataFrame) -> pl.DataFrame:
    """Of compared contracts those that are active and were found to be."""
    frequent = both.filter(pl.col("true") >= MIN_FREQUENT_BOOKINGS)
    return frequent.filter(pl.col("status") == "ACTIVE", pl.col("status_true") == "ACTIVE")


def _members(corpus: Corpus, payments: pl.DataFrame) -> pl.DataFrame:
    """The bookings of found contracts, with the truth about them. Payments to connected loans are left out: they are contracts by
    definition, and the truth has only those with others.
    """
    past = corpus.truth.filter(~pl.col("future")).select("id", "contract_id", "category", true_regular="regular")
    members = payments.join(past, on="id", how="left")
    return members.filter((pl.col("category") != OWN_LOAN_TRANSFER).fill_null(value=True)).drop("category")


def _pairs(corpus: Corpus, members: pl.DataFrame) -> pl.DataFrame:
    """Found and true contracts that are the same (`contract`, `contract_id`), with their numbers of regular bookings."""
    found_counts = members.filter("regular").group_by("contract").agg(found=pl.len())
    true_counts = _true_regular_bookings(corpus).group_by("contract_id").agg(true=pl.len())
    shared = members.filter("regular", "true_regular").group_by("contract", "contract_id").agg(shared=pl.len())
    counts = shared.join(found_counts, on="contract").join(true_counts, on="contract_id")
    same = pl.col("shared") / (pl.col("found") + pl.col("true") - pl.col("shared")) >= MIN_SHARED_BOOKINGS
    return counts.filter(same).select("contract", "contract_id", "found", "true")


def _true_regular_bookings(corpus: Corpus) -> pl.DataFrame:
    """The regular bookings of contracts until the as-of date."""
    bookings = corpus.truth.with_columns(corpus.transactions["user"])
    return bookings.filter(~pl.col("future"), pl.col("regular").fill_null(value=False))


def _outcomes(corpus: Corpus, members: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """A row for each contract that exists or was found: `user`, `there`, `found`, `frequent`."""
    true_contracts = _true_regular_bookings(corpus).group_by("contract_id").agg(pl.first("user"), n=pl.len())
    found_contracts = members.filter("regular").group_by("contract").agg(pl.first("user"), n=pl.len())
    hit = true_contracts.join(pairs, on="contract_id", how="semi").with_columns(there=True, found=True)
    missed = true_contracts.join(pairs, on="contract_id", how="anti").with_columns(there=True, found=False)
    wrong = found_contracts.join(pairs, on="contract", how="anti").with_columns(there=False, found=True)
    columns = ["user", "there", "found", "n"]
    return pl.concat([frame.select(columns) for frame in (hit, missed, wrong)]).with_columns(
        frequent=pl.col("n") >= MIN_FREQUENT_BOOKINGS
    )


def _recognition(outcomes: pl.DataFrame, times: int) -> dict[str, Figure]:
    frequent, few = outcomes.filter("frequent"), outcomes.filter(~pl.col("frequent"))
    return {
        "contract_f1": figure(frequent, f1(pl.col("there"), pl.col("found")), "user", times),
        "contract_few_precision": figure(few.filter("found"), ratio(pl.col("there")), "user", times),
        "contract_few_recall": figure(few.filter("there"), ratio(pl.col("found")), "user", times),
    }


def _habits(corpus: Corpus, members: pl.DataFrame, times: int) -> Figure:
    """False contracts per user: found in bookings most of which belong to no contract."""
    found_contracts = (
        members.filter("regular").group_by("user", "contract").agg(n=pl.len(), true=pl.col("contract_id").is_not_null().mean())
    )
    wrong = (
        found_contracts.filter(pl.col("n") >= MIN_FREQUENT_BOOKINGS, pl.col("true") < 0.5).group_by("user").agg(wrong=pl.len())
    )
    users = (
        _true_regular_bookings(corpus)
        .select("user")
        .unique()
        .join(wrong, on="user", how="left")
        .with_columns(pl.col("wrong").fill_null(0))
    )
    return figure(users, ratio(pl.col("wrong")), "user", times)


def _grouping(corpus: Corpus, members: pl.DataFrame, times: int) -> dict[str, Figure]:
    """How well bookings are grouped: F1 over pairs of regular bookings of one contract."""

    def pairs(frame: pl.DataFrame, name: str) -> pl.DataFrame:
        sizes = frame.group_by("user", *[column for column in ("contract", "contract_id") if column in frame.columns]).len()
        n = pl.col("len").cast(pl.Float64)
        return (
            sizes.filter(pl.col("len") >= MIN_FREQUENT_BOOKINGS)
            .group_by(pl.col("user").cast(pl.String))
            .agg((n * (n - 1) / 2).sum().alias(name))
        )

    regular = members.filter("regular")
    found_pairs = pairs(regular.select("user", "contract"), "found")
    true_pairs = pairs(_true_regular_bookings(corpus).select("user", "contract_id"), "there")
    both = pairs(regular.filter("true_regular").select("user", "contract", "contract_id"), "both")
    frame = true_pairs.join(found_pairs, on="user", how="full", coalesce=True).join(both, on="user", how="left").fill_null(0)
    return {"contract_pairs_f1": figure(frame, ratio(2 * pl.col("both"), pl.col("found") + pl.col("there")), "user", times)}


def detail_figures(both: pl.DataFrame, times: int = 1000) -> dict[str, Figure]:
    """How good period, next date, next amount and status of compared contracts are."""
    frequent, active = both.filter(pl.col("true") >= MIN_FREQUENT_BOOKINGS), active_contracts(both)
    off = days_off().abs()
    fixed = pl.col("before_last") == pl.col("amount_latest_cents_true")
    relative_error = (pl.col("amount_next") - pl.col("amount_next_cents_true")).abs() / pl.col("amount_next_cents_true").abs()
    guessed_periods = both.filter(pl.col("period_confidence").is_not_null()).select(
        "user", truth="period_true", prediction="period", confidence="period_confidence"
    )
    right = pl.col("period") == pl.col("period_true")
    measures: dict[str, tuple[pl.DataFrame, Measure]] = {
        "period_accuracy": (frequent, ratio(right)),
        "period_fallback_error": (guessed_periods, calibration_error(PERIOD_BINS)),
        "next_date_exact": (active, ratio(off == 0)),
        "next_date_one_day": (active, ratio(off <= 1)),
        "next_date_three_days": (active, ratio(off <= 3)),
        "next_amount_fixed": (active.filter(fixed), ratio(relative_error <= MAX_AMOUNT_ERROR)),
        "next_amount_usage": (active.filter(~fixed), ratio(relative_error)),
        "contract_status": (_with_known_status(frequent), ratio(pl.col("status") == pl.col("status_true"))),
    }
    return {name: figure(frame, measure, "user", times) for name, (frame, measure) in measures.items()}


def _with_known_status(frequent: pl.DataFrame) -> pl.DataFrame:
    """Contracts whose status can be known: active ones, and those that ended long enough ago."""
    days = pl.col("period_true").replace_strict(PERIOD_DAYS, default=28, return_dtype=pl.Int64)
    ended = pl.col("date_latest_true") + pl.duration(days=days + pl.min_horizontal(days // 2, MAX_GRACE_DAYS) + MARGIN_DAYS)
    return frequent.filter((pl.col("status_true") == "ACTIVE") | (ended <= pl.col("as_of")))
