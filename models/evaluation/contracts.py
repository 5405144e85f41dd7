"""How good the contracts are that are found in bookings of simulated people, against those that they have.

A found contract and a true one are the same if they share most of their regular bookings.
"""

import polars as pl

from models.evaluation.metrics import Figure, Measure, calibration_error, figure, ratio
from models.simulator import Corpus

LEAST_SHARED = 0.6
"""The share of regular bookings of two contracts that both must have."""
OFTEN = 3
"""Contracts with fewer regular bookings are measured apart."""
SURE_DAYS = 10
GRACE_DAYS = 45
DAYS = {
    "MONTH_ONE": 31,
    "MONTH_TWO": 62,
    "QUARTER_ONE": 92,
    "MONTH_FOUR": 123,
    "HALFYEAR_ONE": 184,
    "YEAR_ONE": 366,
    "YEAR_TWO": 731,
}
WITHIN = 0.01
FEW_BINS = 5
"""Periods are seldom guessed: more bins would measure chance."""


def contract_figures(corpus: Corpus, contracts: pl.DataFrame, payments: pl.DataFrame, times: int = 1000) -> dict[str, Figure]:
    """Every figure that has a gate."""
    return {
        **recognition_figures(corpus, payments, times),
        **detail_figures(compared(corpus, contracts, payments), times),
    }


def recognition_figures(corpus: Corpus, payments: pl.DataFrame, times: int = 1000) -> dict[str, Figure]:
    """How well contracts are found in bookings."""
    members = _members(corpus, payments)
    return {
        **_recognition(_outcomes(corpus, members, _pairs(corpus, members)), times),
        "contract_habits": _habits(corpus, members, times),
        **_grouping(corpus, members, times),
    }


def compared(corpus: Corpus, contracts: pl.DataFrame, payments: pl.DataFrame) -> pl.DataFrame:
    """Contracts that were found, beside the truth (columns that end in `_true`)."""
    pairs = _pairs(corpus, _members(corpus, payments))
    true = corpus.contracts.rename(lambda name: f"{name}_true" if name != "contract_id" else name)
    said = contracts.rename({"id": "contract"}).with_columns(as_of=pl.lit(corpus.as_of))
    lately = _true(corpus).join(corpus.transactions.select("id", "booked_on", "amount_cents"), on="id").sort("booked_on", "id")
    last = lately.group_by("contract_id").agg(before_last=pl.col("amount_cents").slice(-2, 1).first())
    return pairs.join(said, on="contract").join(true, on="contract_id").join(last, on="contract_id", how="left")


def days_off() -> pl.Expr:
    """How many days the next date lies after the true one."""
    return (pl.col("date_next") - pl.col("date_next_true")).dt.total_days()


def running(both: pl.DataFrame) -> pl.DataFrame:
    """Of compared contracts those that go on, and are said to."""
    often = both.filter(pl.col("true") >= OFTEN)
    return often.filter(pl.col("status") == "ACTIVE", pl.col("status_true") == "ACTIVE")


def _members(corpus: Corpus, payments: pl.DataFrame) -> pl.DataFrame:
    """The bookings of found contracts, with the truth about them."""
    past = corpus.truth.filter(~pl.col("future")).select("id", "contract_id", true_regular="regular")
    return payments.join(past, on="id", how="left")


def _pairs(corpus: Corpus, members: pl.DataFrame) -> pl.DataFrame:
    """Found and true contracts that are the same: `contract`, `contract_id`."""
    found = members.filter("regular").group_by("contract").agg(found=pl.len())
    true = _true(corpus).group_by("contract_id").agg(true=pl.len())
    shared = members.filter("regular", "true_regular").group_by("contract", "contract_id").agg(shared=pl.len())
    whole = shared.join(found, on="contract").join(true, on="contract_id")
    same = pl.col("shared") / (pl.col("found") + pl.col("true") - pl.col("shared")) >= LEAST_SHARED
    return whole.filter(same).select("contract", "contract_id", "found", "true")


def _true(corpus: Corpus) -> pl.DataFrame:
    named = corpus.truth.with_columns(corpus.transactions["user"])
    return named.filter(~pl.col("future"), pl.col("regular").fill_null(value=False))


def _outcomes(corpus: Corpus, members: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """A row for each contract that is there or was found: `user`, `there`, `found`, `often`."""
    true = _true(corpus).group_by("contract_id").agg(pl.first("user"), n=pl.len())
    said = members.filter("regular").group_by("contract").agg(pl.first("user"), n=pl.len())
    hit = true.join(pairs, on="contract_id", how="semi").with_columns(there=True, found=True)
    missed = true.join(pairs, on="contract_id", how="anti").with_columns(there=True, found=False)
    wrong = said.join(pairs, on="contract", how="anti").with_columns(there=False, found=True)
    columns = ["user", "there", "found", "n"]
    return pl.concat([frame.select(columns) for frame in (hit, missed, wrong)]).with_columns(often=pl.col("n") >= OFTEN)


def _recognition(outcomes: pl.DataFrame, times: int) -> dict[str, Figure]:
    often, few = outcomes.filter("often"), outcomes.filter(~pl.col("often"))
    hit = pl.col("there") & pl.col("found")
    harmonic = ratio(2 * hit.cast(pl.Int64), pl.col("there").cast(pl.Int64) + pl.col("found").cast(pl.Int64))
    return {
        "contract_f1": figure(often, harmonic, "user", times),
        "contract_few_precision": figure(few.filter("found"), ratio(pl.col("there")), "user", times),
        "contract_few_recall": figure(few.filter("there"), ratio(pl.col("found")), "user", times),
    }


def _habits(corpus: Corpus, members: pl.DataFrame, times: int) -> Figure:
    """For each user how many contracts were found in bookings most of which belong to none."""
    found = (
        members.filter("regular").group_by("user", "contract").agg(n=pl.len(), true=pl.col("contract_id").is_not_null().mean())
    )
    wrong = found.filter(pl.col("n") >= OFTEN, pl.col("true") < 0.5).group_by("user").agg(wrong=pl.len())
    users = _true(corpus).select("user").unique().join(wrong, on="user", how="left").with_columns(pl.col("wrong").fill_null(0))
    return figure(users, ratio(pl.col("wrong")), "user", times)


def _grouping(corpus: Corpus, members: pl.DataFrame, times: int) -> dict[str, Figure]:
    """How well bookings are put together: over pairs of regular bookings of one contract."""

    def pairs(frame: pl.DataFrame, name: str) -> pl.DataFrame:
        counted = frame.group_by("user", *[column for column in ("contract", "contract_id") if column in frame.columns]).len()
        n = pl.col("len").cast(pl.Float64)
        return (
            counted.filter(pl.col("len") >= OFTEN)
            .group_by(pl.col("user").cast(pl.String))
            .agg((n * (n - 1) / 2).sum().alias(name))
        )

    regular = members.filter("regular")
    said = pairs(regular.select("user", "contract"), "said")
    there = pairs(_true(corpus).select("user", "contract_id"), "there")
    both = pairs(regular.filter("true_regular").select("user", "contract", "contract_id"), "both")
    frame = there.join(said, on="user", how="full", coalesce=True).join(both, on="user", how="left").fill_null(0)
    return {"contract_pairs_f1": figure(frame, ratio(2 * pl.col("both"), pl.col("said") + pl.col("there")), "user", times)}


def detail_figures(both: pl.DataFrame, times: int = 1000) -> dict[str, Figure]:
    """How good period, next date, next amount and status of compared contracts are."""
    often, active = both.filter(pl.col("true") >= OFTEN), running(both)
    off = days_off().abs()
    fixed = pl.col("before_last") == pl.col("amount_latest_cents_true")
    wrong_by = (pl.col("amount_next") - pl.col("amount_next_cents_true")).abs() / pl.col("amount_next_cents_true").abs()
    guessed = both.filter(pl.col("period_confidence").is_not_null()).select(
        "user", truth="period_true", prediction="period", confidence="period_confidence"
    )
    right = pl.col("period") == pl.col("period_true")
    measured: dict[str, tuple[pl.DataFrame, Measure]] = {
        "period_accuracy": (often, ratio(right)),
        "period_fallback_error": (guessed, calibration_error(FEW_BINS)),
        "next_date_exact": (active, ratio(off == 0)),
        "next_date_one_day": (active, ratio(off <= 1)),
        "next_date_three_days": (active, ratio(off <= 3)),
        "next_amount_fixed": (active.filter(fixed), ratio(wrong_by <= WITHIN)),
        "next_amount_usage": (active.filter(~fixed), ratio(wrong_by)),
        "contract_status": (_settled(often), ratio(pl.col("status") == pl.col("status_true"))),
    }
    return {name: figure(frame, measure, "user", times) for name, (frame, measure) in measured.items()}


def _settled(often: pl.DataFrame) -> pl.DataFrame:
    """Contracts of which one can know: those that go on, and those whose end lies long enough back."""
    days = pl.col("period_true").replace_strict(DAYS, default=28, return_dtype=pl.Int64)
    ended = pl.col("date_latest_true") + pl.duration(days=days + pl.min_horizontal(days // 2, GRACE_DAYS) + SURE_DAYS)
    return often.filter((pl.col("status_true") == "ACTIVE") | (ended <= pl.col("as_of")))
