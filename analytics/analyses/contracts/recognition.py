"""Whether a stream is a contract: how well its dates fit a period, how even its amounts are, and what else speaks for it."""

from functools import cache
from pathlib import Path

import polars as pl

from analytics.analyses.contracts.amounts import medians
from analytics.analyses.contracts.rhythm import names, periods
from analytics.analyses.contracts.streams import HABIT, LIKELY, UNRELATED, Gathered
from analytics.bank_text import references

PRIORS = Path(__file__).parent / "period_priors.csv"
TIMING, EVENNESS, EVIDENCE = 0.6, 0.2, 0.2
"""What dates, amounts and evidence weigh in the score."""
FEW, SEVERAL, MANY = 2, 4, 7
LEAST_TIMING = {MANY: 0.72, SEVERAL: 0.86, 3: 0.94, FEW: 0.96}
"""How well the dates must fit, by the number of filled slots: a few dates fit some period by chance."""
LEAST_EVENNESS, EVEN_IF_UNUSUAL, EVEN_FOR_FEW = 0.3, 0.6, 0.75
USUAL = 0.4
"""From this prior on a category is mostly paid by contract."""
WEEKLY, RARE = names().index("MONTH_ONE"), names().index("HALFYEAR_ONE")
"""The periods before the first one are weeks; from the second one on, payments are rare."""
LEAST_IF_RARE = 0.85
"""How well two dates must fit that are half a year or more apart, of what would be a contract with one of them alone: premiums
come some days later, and at another price, every year."""
FIRM = 0.7
"""Evidence that two payments need."""
OF_CHANNEL, OF_REPETITION = 0.9, 0.7
EQUAL_TIMING = 0.9
PATIENCE, LEAST_PATIENCE = 1.5, 7
"""A single booking of which none has followed for so many periods, and so many days, was no contract."""
MOST_CERTAIN = 0.95
SPAN_CERTAINTY = 0.95
BY_MONTHS = {1: "MONTH_ONE", 2: "MONTH_TWO", 3: "QUARTER_ONE", 4: "MONTH_FOUR", 6: "HALFYEAR_ONE", 12: "YEAR_ONE", 24: "YEAR_TWO"}


def recognised(found: Gathered, bookings: pl.DataFrame) -> pl.DataFrame:
    """The streams that are contracts: `stream`, `period` (its place among all), `period_confidence` (null if sure), `score`."""
    streams = _assessed(found)
    repeated = streams.filter(_accepted()).with_columns(
        period_confidence=pl.when(pl.col("slots") == FEW).then(pl.min_horizontal("score", MOST_CERTAIN))
    )
    columns = ["stream", "period", "period_confidence", "score"]
    return pl.concat([repeated.select(columns), _single(found, streams, bookings).select(columns)])


def _assessed(found: Gathered) -> pl.DataFrame:
    """What speaks for each stream."""
    streams = found.rows.group_by(pl.col("stream").rle_id().set_sorted().alias("place"), maintain_order=True).agg(
        pl.first("stream"), n=pl.len(), prior=pl.mean("prior"), steady=pl.mean("steady") > 0.5, repeated=pl.mean("repeated") > 0.3
    )
    median, deviation = medians(streams["n"].to_numpy(), found.rows["cents"].abs().cast(pl.Float64).to_numpy())
    evidence = pl.max_horizontal(
        "prior", pl.when("steady").then(OF_CHANNEL).otherwise(0.0), pl.when("repeated").then(OF_REPETITION).otherwise(0.0)
    )
    timed = streams.with_columns(
        evidence=evidence,
        deviation=pl.Series(deviation),
        evenness=1 - pl.min_horizontal(1.0, pl.Series(4 * deviation / median)),
        period=pl.Series(found.rhythm.period),
        timing=pl.Series(found.rhythm.timing),
        slots=pl.Series(found.rhythm.slots),
    )
    return timed.with_columns(score=TIMING * pl.col("timing") + EVENNESS * pl.col("evenness") + EVIDENCE * pl.col("evidence"))


def _accepted() -> pl.Expr:
    """Enough slots that are met well enough; habits only if they are met nearly to the day with the same amount each time."""
    slots = pl.col("slots")
    needed = (
        pl.when(slots >= MANY)
        .then(LEAST_TIMING[MANY])
        .when(slots >= SEVERAL)
        .then(LEAST_TIMING[SEVERAL])
        .when(slots == 3)
        .then(LEAST_TIMING[3])
        .otherwise(LEAST_TIMING[FEW])
    )
    usual = (pl.col("prior") >= USUAL) | pl.col("steady")
    rare = (slots == FEW) & (pl.col("period") >= RARE) & (pl.col("prior") >= LIKELY) & (pl.col("steady") | pl.col("repeated"))
    needed = pl.when(rare).then(LEAST_IF_RARE).otherwise(needed)
    enough = pl.when(rare).then(LEAST_EVENNESS).otherwise(EVEN_FOR_FEW)
    firm = (slots > FEW) | ((slots == FEW) & usual & (pl.col("evidence") >= FIRM) & (pl.col("evenness") >= enough))
    habit = (pl.col("prior") <= HABIT) & ~pl.col("steady") & ~pl.col("repeated")
    equal = (pl.col("timing") >= EQUAL_TIMING) & (pl.col("deviation") == 0)
    even = pl.col("evenness") >= pl.when(usual).then(LEAST_EVENNESS).otherwise(EVEN_IF_UNUSUAL)
    told = pl.col("steady") | pl.col("repeated") | (pl.col("prior") >= LIKELY)
    appointment = (pl.col("period") < WEEKLY) & ~told  # friends who meet every Friday
    return (pl.col("timing") >= needed) & even & firm & (~habit | equal) & ~appointment


def _single(found: Gathered, streams: pl.DataFrame, bookings: pl.DataFrame) -> pl.DataFrame:
    """Single bookings of categories that are contracts, if something in them says that they are; the period is an estimate."""
    lonely = streams.filter(pl.col("n") == 1, pl.col("prior") >= LIKELY)
    rows = found.rows.join(lonely, on="stream", how="semi", maintain_order="left")
    said = bookings.select("purpose", "category", "insurance", "as_of")[rows["row"]]
    span = references.numbered_span(said["purpose"])
    told = rows.hstack(said).hstack(span[["months", "numbered"]])
    firm = told.filter(
        pl.col("mandate").is_not_null()
        | pl.col("steady")
        | pl.col("repeated")
        | pl.col("numbered")
        | pl.col("months").is_not_null()
    )
    spanned = pl.col("months").replace_strict(BY_MONTHS, default=None, return_dtype=pl.String)
    kind = pl.when(pl.col("insurance") != UNRELATED).then("insurance").otherwise("category")
    age = (pl.col("as_of") - pl.col("booked_on")).dt.total_days()
    usual = _usual(firm.select("stream", kind=kind, size=pl.col("cents").abs(), spanned=spanned, age=age))
    known = pl.DataFrame({"item": names(), "days": periods().days}).with_row_index("period").cast({"period": pl.Int64})
    timed = usual.join(known, on="item", how="inner", maintain_order="left").with_columns(score=pl.lit(TIMING))
    return timed.filter(pl.col("age") <= PATIENCE * pl.col("days") + LEAST_PATIENCE)


def _usual(firm: pl.DataFrame) -> pl.DataFrame:
    """The period that a booking names, else the most frequent one of its kind and amount."""
    fits = pl.col("kind").str.starts_with(pl.col("begins")) & pl.col("size").is_between("least_cents", "most_cents")
    matched = firm.join(_priors(), how="cross").filter(fits)
    best = matched.sort("stream", pl.col("begins").str.len_chars(), descending=[False, True]).unique(
        "stream", maintain_order=True
    )
    told = pl.col("spanned").is_not_null()
    return best.select(
        "stream",
        "age",
        item=pl.coalesce("spanned", "usual"),
        period_confidence=pl.when(told).then(SPAN_CERTAINTY).otherwise(pl.min_horizontal("probability", MOST_CERTAIN)),
    )


@cache
def _priors() -> pl.DataFrame:
    """For each kind and amount the most frequent period and its probability."""
    table = pl.read_csv(PRIORS).with_columns(pl.col("begins").fill_null(""))
    items = [name for name in table.columns if name in set(BY_MONTHS.values())]
    most = pl.max_horizontal(items)
    named = pl.coalesce(pl.when(pl.col(name) == most).then(pl.lit(name)) for name in items)
    return table.select(
        "begins",
        pl.col("least_cents").fill_null(0),
        pl.col("most_cents").fill_null(2**62),
        usual=named,
        probability=most,
    )
