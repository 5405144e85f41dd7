"""Training: from a corpus of labelled bookings to a categoriser. Plain functions; the same settings always give the same model.

Here belong the choice of lines and labels, the settings and the order of steps. The descent itself is `models.training.sgd`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics.bank_text import lines as reading
from analytics.frames import LINES
from models.categoriser.features import Hiding, hinted, texts
from models.categoriser.model import Categoriser, allowed
from models.errors import NothingToLearn
from models.progress import Progress, silent
from models.training.calibration import fit_temperature
from models.training.lexicon_examples import lexicon_lines
from models.training.settings import SHIPPED, TrainingSettings
from models.training.sgd import Descent, Learned, descend

EXAMPLES = pl.Schema(
    [
        *LINES.items(),
        ("lexicon_category", pl.String),
        ("lexicon_confidence", pl.Float64),
        ("category", pl.String),
        ("count", pl.Float64),
        ("part", pl.String),
    ]
)
"""Labelled lines; `count` is how many bookings they stand for, `part` is `train`, `known` or `strange`.

What is not `train` is kept from training: `strange` are merchants that it does not have, `known` are new words of others.
"""
TEST_FORMATS = frozenset({"vr", "commerzbank", "comdirect", "n26"})
"""Formats of banks that training never sees."""
TEXT_TRANSFERS = frozenset({"TRANSFER_REFUND"})
"""Of the transfers, only refunds show in a line's own words; the others show in a user's other bookings and products."""
_MOST_IMPORTANT = 20.0


class TrainingCorpus(Protocol):
    """What training needs of a simulated world, `models.simulator.Corpus`."""

    @property
    def transactions(self) -> pl.DataFrame:
        """`TRANSACTIONS`."""

    @property
    def truth(self) -> pl.DataFrame:
        """`TRUTH`, in the same order."""


def training_set(corpus: TrainingCorpus) -> pl.DataFrame:
    """The distinct lines of a corpus with their categories, as `EXAMPLES`, without merchants, wordings and formats of tests."""
    truth = corpus.truth.select("category", "merchant_split", "wording_split", "format")
    keyed = truth.with_columns(key=reading.keys(corpus.transactions)).with_row_index("booking")
    splits = pl.concat_list("merchant_split", "wording_split")
    usable = keyed.filter(
        ~splits.list.contains("test"),
        ~pl.col("format").is_in(TEST_FORMATS),
        from_text_alone(pl.col("category")),
    ).with_columns(strange=pl.col("merchant_split") == "calibration", kept=splits.list.contains("calibration"))
    counted = (
        usable.group_by("key", "category")
        .agg(count=pl.len(), strange=pl.col("strange").all(), kept=pl.col("kept").all(), booking=pl.col("booking").min())
        .sort("booking", "category")
    )
    first = counted.unique("key", maintain_order=True)
    lines = hinted(reading.read(corpus.transactions[first["booking"]]))
    part = pl.when("strange").then(pl.lit("strange")).when("kept").then(pl.lit("known")).otherwise(pl.lit("train"))
    labelled = counted.select("key", "category", "count", part=part).join(lines, on="key", how="left", maintain_order="left")
    return labelled.select(EXAMPLES.names()).cast(dict(EXAMPLES))  # type: ignore[arg-type]


def merged(parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Several `EXAMPLES` as one; a line that is strange in one and known in another is known."""
    order = pl.col("part").replace_strict({"train": 0, "known": 1, "strange": 2}, return_dtype=pl.UInt8)
    whole = pl.concat(parts).sort(order, maintain_order=True)
    first = [pl.col(name).first() for name in EXAMPLES if name not in ("key", "category", "count")]
    return whole.group_by("key", "category", maintain_order=True).agg(*first, pl.col("count").sum()).select(EXAMPLES.names())


def thinned(examples: pl.DataFrame, most: int) -> pl.DataFrame:
    """At most so many lines to train on of each merchant (or purpose) and category; they stand for the others."""
    group = (pl.when(pl.col("merchant") != "").then("merchant").otherwise("purpose"), "category", "part")
    kept = examples.with_columns(whole=pl.col("count").sum().over(group), place=pl.col("key").rank("ordinal").over(group)).filter(
        (pl.col("part") != "train") | (pl.col("place") <= most)
    )
    share = pl.col("count") / pl.col("count").sum().over(group)
    return kept.with_columns(count=share * pl.col("whole")).select(EXAMPLES.names())


def from_text_alone(category: pl.Expr) -> pl.Expr:
    """Whether the text of a line can show this category."""
    return ~category.str.starts_with("TRANSFER_") | category.is_in(TEXT_TRANSFERS)


def train(
    lines: pl.DataFrame,
    labels: pl.Series,
    weights: pl.Series,
    settings: TrainingSettings = SHIPPED,
    calibration: pl.DataFrame | None = None,
    on_progress: Progress = silent,
    facts: Mapping[str, Any] | None = None,
) -> Categoriser:
    """The categoriser that these labelled lines teach; with `calibration` (rows of `EXAMPLES`), its confidences are honest."""
    classes = tuple(labels.unique().sort())
    if len(classes) < 2:
        raise NothingToLearn(f"{lines.height} lines of {len(classes)} categories")
    of, numbers, may = texts(lines), _numbers(labels, classes), allowed(classes)
    if not may[of.positive, numbers].all():
        raise NothingToLearn("the sign of some lines forbids their category")
    told = {"settings": settings.model_dump(), "lines": lines.height, "bookings": int(weights.sum()), **(facts or {})}
    weight = importance(numbers, weights.to_numpy(), settings)
    learned = descend(of, numbers, weight, may, _descent(settings), lambda share: on_progress("descent", share))
    model = _quantised(learned, classes, settings, told)
    return model if calibration is None else calibrated(model, calibration, settings)


def train_on(
    examples: pl.DataFrame,
    settings: TrainingSettings = SHIPPED,
    on_progress: Progress = silent,
    facts: Mapping[str, Any] | None = None,
) -> Categoriser:
    """The categoriser that `EXAMPLES` and the lexicon teach."""
    thin = thinned(examples, settings.most_lines)
    own = pl.concat([thin.filter(pl.col("part") == "train"), lessons(settings.lesson_count)])
    kept = thin.filter(pl.col("part") != "train")
    return train(own.drop("category", "count", "part"), own["category"], own["count"], settings, kept, on_progress, facts)


def lessons(count: float) -> pl.DataFrame:
    """The words of the lexicon as `EXAMPLES`, each as if it stood for so many bookings."""
    lines, categories = lexicon_lines()
    told = hinted(lines).with_columns(category=categories, count=pl.lit(count), part=pl.lit("train"))
    return told.filter(pl.lit(count > 0)).select(EXAMPLES.names())


def importance(numbers: NDArray[np.int32], counts: NDArray[Any], settings: TrainingSettings) -> NDArray[np.float32]:
    """How much each line counts, one on average; bounded, so that no line outweighs all others."""
    line = counts.astype(np.float64) ** settings.count_power
    weight = line * np.bincount(numbers, line)[numbers] ** -settings.class_power
    return np.asarray(np.minimum(weight / weight.mean(), _MOST_IMPORTANT), np.float32)


def calibrated(model: Categoriser, examples: pl.DataFrame, settings: TrainingSettings) -> Categoriser:
    """The same model with the temperature that fits strange merchants; known ones are easy, and the partner decides."""
    usable = examples.filter(pl.col("category").is_in(model.classes), pl.col("part") == "strange")
    if not usable.height:
        return model
    of, rows = texts(usable), np.arange(usable.height)
    weight = usable["count"].to_numpy() ** settings.count_power
    temperature = fit_temperature(
        model.logits(of, rows),
        _numbers(usable["category"], model.classes),
        weight.astype(np.float32),
        allowed(model.classes)[of.positive],
    )
    return replace(model, temperature=temperature)


def _descent(settings: TrainingSettings) -> Descent:
    hiding = Hiding(settings.hidden_words, settings.hidden_merchants, settings.hidden_hints, settings.seed)
    return Descent(settings.bits, settings.epochs, settings.rate, settings.batch, hiding, settings.smoothing, settings.shrink)


def _numbers(labels: pl.Series, classes: tuple[str, ...]) -> NDArray[np.int32]:
    return labels.replace_strict(classes, range(len(classes)), return_dtype=pl.Int32).to_numpy()


def _quantised(learned: Learned, classes: tuple[str, ...], settings: TrainingSettings, facts: dict[str, Any]) -> Categoriser:
    """The weights as whole numbers of eight bits; a few extreme ones are clipped, so that the others keep their precision."""
    weights = learned.weights[:, : len(classes)]
    touched = np.abs(weights[np.abs(weights).max(axis=1) > 0])
    scale = np.maximum(np.quantile(touched, 1 - settings.clipped_share, axis=0) / 127, 1e-6).astype(np.float32)
    whole = np.clip(np.rint(weights / scale), -127, 127).astype(np.int8)
    return Categoriser(settings.label, classes, whole, scale, learned.bias[: len(classes)].copy(), 1.0, facts)
