"""How often rules, words and partners are right when they decide: measured on simulated people, kept as a table of knowledge.

Merchants of the calibration split are missing from the catalogue meanwhile, so that words and rules are measured where they will
be needed: on unknown merchants. No precision is known during the measurement, so that nothing gives way to the model and every
decider is measured wherever it applies.
"""

import polars as pl

from analytics.bank_text import lines
from analytics.tagging import tag
from analytics.tagging.tag import Tagger
from models.evaluation.tagger import without_unseen_partners
from models.progress import Progress, silent
from models.simulator import Corpus
from models.simulator.worlds import World, simulate_parts

PRECISION_WORLD = World(users=300, seed=3)
"""People of the training and calibration splits, other than those of the training world."""
PRIOR_BOOKINGS = 20.0
"""A decider's precision is shrunk towards that of its kind, which weighs as much as this many bookings."""
MIN_BOOKINGS = 5
MAX_PRECISION, MIN_PRECISION = 0.999, 0.05
DECIDERS_WITH_OWN_CONFIDENCE = ("model", "guess", "sign")


def measure(tagger: Tagger, world: World = PRECISION_WORLD, on_progress: Progress = silent) -> pl.DataFrame:
    """`decider`, `precision`, `rows` for each decider of at least `MIN_BOOKINGS` bookings."""
    unmeasured_tagger = Tagger(tagger.scorer, tagger.catalogue, tagger.precisions.clear())
    reduced_tagger = without_unseen_partners(unmeasured_tagger)
    parts = simulate_parts(world, on_progress=on_progress)
    decisions = pl.concat(_decisions(part, unmeasured_tagger, reduced_tagger) for part in parts)
    sums = decisions.group_by("decider").agg(pl.col("right").sum(), pl.col("rows").sum())
    kind = pl.col("decider").str.split(":").list.first()
    precision_of_kind = pl.col("right").sum().over(kind) / pl.col("rows").sum().over(kind)
    precision = (pl.col("right") + PRIOR_BOOKINGS * precision_of_kind) / (pl.col("rows") + PRIOR_BOOKINGS)
    precisions = sums.with_columns(precision=precision.clip(MIN_PRECISION, MAX_PRECISION).round(4))
    return precisions.filter(pl.col("rows") >= MIN_BOOKINGS).select("decider", "precision", "rows").sort("decider")


def _decisions(corpus: Corpus, tagger: Tagger, reduced_tagger: Tagger) -> pl.DataFrame:
    """For each decider the number of its decisions and of right ones; own transfers do not show in a single line."""
    keyed_bookings = corpus.transactions.with_columns(lines.keys(corpus.transactions))
    truth = corpus.truth.select(truth="category", in_training=pl.col("merchant_split") == "train").with_columns(
        keyed_bookings["key"]
    )
    truth = truth.filter(~pl.col("truth").str.starts_with("TRANSFER_"))
    in_training = pl.col("in_training")
    taggers = ((tagger, in_training), (reduced_tagger, ~in_training))
    return pl.concat(_count_decisions(keyed_bookings, truth.filter(rows), some) for some, rows in taggers)


def _count_decisions(keyed_bookings: pl.DataFrame, truth: pl.DataFrame, tagger: Tagger) -> pl.DataFrame:
    bookings = keyed_bookings.join(truth.select("key"), on="key", how="semi")
    distinct = bookings.unique("key", keep="first", maintain_order=True).drop("key")
    decided_lines = tag.tag_lines(lines.read(distinct), tagger).select("key", "decider", "category")
    decisions = truth.join(decided_lines, on="key").filter(~pl.col("decider").is_in(DECIDERS_WITH_OWN_CONFIDENCE))
    return decisions.group_by("decider").agg(right=(pl.col("truth") == pl.col("category")).sum(), rows=pl.len())
