"""How often rules, words and partners are right when they decide: measured on simulated people, kept as a table of knowledge.

Merchants of the calibration split are missing from the catalogue while they are measured, so that words and rules are measured
where they will be needed: on merchants that nobody knows. Nothing gives way to the model meanwhile, since only what has been
measured does: everybody is measured wherever it speaks.
"""

import polars as pl

from analytics.bank_text import lines
from analytics.tagging import tag
from analytics.tagging.tag import Tagger
from models.evaluation.tagger import without_unseen
from models.experiment import World, simulated
from models.simulator import Corpus
from models.training.train import Progress, silent

MEASURED_ON = World(users=300, seed=3)
"""People of the training and calibration splits, other than those that the model learned from."""
STRENGTH = 20.0
"""A decider's precision is drawn to that of its kind as if so many bookings had said so."""
LEAST_ROWS = 5
SUREST, UNSUREST = 0.999, 0.05
NO_PRECISION = ("model", "sign")
"""What brings its own probability."""


def measure(brain: Tagger, world: World = MEASURED_ON, on_progress: Progress = silent) -> pl.DataFrame:
    """`decider`, `precision`, `rows` of everything that decided at least a few bookings."""
    assumed = Tagger(brain.scorer, brain.catalogue, brain.precisions.clear())
    strange = without_unseen(assumed)
    counted = pl.concat(_counted(part, assumed, strange) for part in simulated(world, on_progress=on_progress))
    sums = counted.group_by("decider").agg(pl.col("right").sum(), pl.col("rows").sum())
    kind = pl.col("decider").str.split(":").list.first()
    usual = pl.col("right").sum().over(kind) / pl.col("rows").sum().over(kind)
    precision = (pl.col("right") + STRENGTH * usual) / (pl.col("rows") + STRENGTH)
    found = sums.with_columns(precision=precision.clip(UNSUREST, SUREST).round(4))
    return found.filter(pl.col("rows") >= LEAST_ROWS).select("decider", "precision", "rows").sort("decider")


def _counted(part: Corpus, brain: Tagger, strange: Tagger) -> pl.DataFrame:
    """For each decider how often it decided and was right; own transfers and returns are not a line's to tell."""
    keyed = part.transactions.with_columns(lines.keys(part.transactions))
    told = part.truth.select(truth="category", seen=pl.col("merchant_split") == "train").with_columns(keyed["key"])
    return pl.concat(_decided(keyed, told, some, seen) for some, seen in ((brain, True), (strange, False)))


def _decided(keyed: pl.DataFrame, told: pl.DataFrame, brain: Tagger, seen: bool) -> pl.DataFrame:
    rows = told.filter(pl.col("seen") == seen, ~pl.col("truth").str.starts_with("TRANSFER_"))
    distinct = keyed.join(rows.select("key"), on="key", how="semi").unique("key", keep="first", maintain_order=True).drop("key")
    judged = tag.tag_lines(lines.read(distinct), brain).select("key", "decider", "category")
    decided = rows.join(judged, on="key").filter(~pl.col("decider").is_in(NO_PRECISION))
    return decided.group_by("decider").agg(right=(pl.col("truth") == pl.col("category")).sum(), rows=pl.len())
