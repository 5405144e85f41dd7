"""Training: from a corpus of labelled bookings to a categoriser. The same settings always give the same model.

Here are the choice of lines and labels and the order of steps. Gradient descent is in `models.training.sgd`.
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
"""Labelled lines; `count` is the number of bookings they stand for, `part` is `train`, `known` or `strange`.

The last two are kept from training: `strange` are lines of merchants it does not have, `known` new wordings of others.
"""
TEST_FORMATS = frozenset({"vr", "commerzbank", "comdirect", "n26"})
"""Formats of banks that training never sees."""
TEXT_TRANSFERS = frozenset({"TRANSFER_REFUND"})
"""The only transfers that show in a line's own words; the others show in a user's other bookings and products."""
_MAX_IMPORTANCE = 20.0


class TrainingCorpus(Protocol):
    """The part of `models.simulator.Corpus` that training needs."""

    @property
    def transactions(self) -> pl.DataFrame:
        """`TRANSACTIONS`."""

    @property
    def truth(self) -> pl.DataFrame:
        """`TRUTH`, in the same order."""


def training_set(corpus: TrainingCorpus) -> pl.DataFrame:
    """The distinct lines of a corpus as `EXAMPLES`, without the merchants, wordings and formats of the test split."""
    truth = corpus.truth.select("category", "merchant_split", "wording_split", "format")
    keyed_bookings = truth.with_columns(key=reading.keys(corpus.transactions)).with_row_index("booking")
    splits = pl.concat_list("merchant_split", "wording_split")
    usable = keyed_bookings.filter(
        ~splits.list.contains("test"),
        ~pl.col("format").is_in(TEST_FORMATS),
        from_text_alone(pl.col("category")),
    ).with_columns(strange=pl.col("merchant_split") == "calibration", kept=splits.list.contains("calibration"))
    distinct_lines = (
        usable.group_by("key", "category")
        .agg(count=pl.len(), strange=pl.col("strange").all(), kept=pl.col("kept").all(), booking=pl.col("booking").min())
        .sort("booking", "category")
    )
    first = distinct_lines.unique("key", maintain_order=True)
    lines = hinted(reading.read(corpus.transactions[first["booking"]]))
    part = pl.when("strange").then(pl.lit("strange")).when("kept").then(pl.lit("known")).otherwise(pl.lit("train"))
    labelled = distinct_lines.select("key", "category", "count", part=part).join(
        lines, on="key", how="left", maintain_order="left"
    )
    return labelled.select(EXAMPLES.names()).cast(dict(EXAMPLES))  # type: ignore[arg-type]


def merged(parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Several `EXAMPLES` as one; a line that is `strange` in one and `known` in another is `known`."""
    order = pl.col("part").replace_strict({"train": 0, "known": 1, "strange": 2}, return_dtype=pl.UInt8)
    whole = pl.concat(parts).sort(order, maintain_order=True)
    first = [pl.col(name).first() for name in EXAMPLES if name not in ("key", "category", "count")]
    return whole.group_by("key", "category", maintain_order=True).agg(*first, pl.col("count").sum()).select(EXAMPLES.names())


def thinned(examples: pl.DataFrame, max_lines: int) -> pl.DataFrame:
    """At most `max_lines` training lines per merchant (or purpose) and category, with the counts of all."""
    group = (pl.when(pl.col("merchant") != "").then("merchant").otherwise("purpose"), "category", "part")
    usable = examples.with_columns(
        whole=pl.col("count").sum().over(group), place=pl.col("key").rank("ordinal").over(group)
    ).filter((pl.col("part") != "train") | (pl.col("place") <= max_lines))
    share = pl.col("count") / pl.col("count").sum().over(group)
    return usable.with_columns(count=share * pl.col("whole")).select(EXAMPLES.names())


def from_text_alone(category: pl.Expr) -> pl.Expr:
    """Whether the category can be told from the text of a line."""
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
    """A categoriser trained on labelled lines, and calibrated if there are `calibration` examples (`EXAMPLES`)."""
    classes = tuple(labels.unique().sort())
    if len(classes) < 2:
        raise NothingToLearn(f"{lines.height} lines of {len(classes)} categories")
    line_texts, numbers, allowed_classes = texts(lines), _numbers(labels, classes), allowed(classes)
    if not allowed_classes[line_texts.positive, numbers].all():
        raise NothingToLearn("the sign of some lines forbids their category")
    all_facts = {"settings": settings.model_dump(), "lines": lines.height, "bookings": int(weights.sum()), **(facts or {})}
    weight = importance(numbers, weights.to_numpy(), settings)
    fitted = descend(
        line_texts, numbers, weight, allowed_classes, _descent(settings), lambda share: on_progress("descent", share)
    )
    model = _quantised(fitted, classes, settings, all_facts)
    return model if calibration is None else calibrated(model, calibration, settings)


def train_on(
    examples: pl.DataFrame,
    settings: TrainingSettings = SHIPPED,
    on_progress: Progress = silent,
    facts: Mapping[str, Any] | None = None,
) -> Categoriser:
    """A categoriser trained on `EXAMPLES` and the lexicon."""
    thinned_examples = thinned(examples, settings.most_lines)
    training_examples = pl.concat([thinned_examples.filter(pl.col("part") == "train"), lexicon_examples(settings.lesson_count)])
    calibration_examples = thinned_examples.filter(pl.col("part") != "train")
    return train(
        training_examples.drop("category", "count", "part"),
        training_examples["category"],
        training_examples["count"],
        settings,
        calibration_examples,
        on_progress,
        facts,
    )


def lexicon_examples(count: float) -> pl.DataFrame:
    """The words of the lexicon as `EXAMPLES`, each standing for `count` bookings."""
    lines, categories = lexicon_lines()
    examples = hinted(lines).with_columns(category=categories, count=pl.lit(count), part=pl.lit("train"))
    return examples.filter(pl.lit(count > 0)).select(EXAMPLES.names())


def importance(numbers: NDArray[np.int32], counts: NDArray[Any], settings: TrainingSettings) -> NDArray[np.float32]:
    """The weight of each line, 1 on average; bounded, so that no line outweighs all others."""
    line = counts.astype(np.float64) ** settings.count_power
    weight = line * np.bincount(numbers, line)[numbers] ** -settings.class_power
    return np.asarray(np.minimum(weight / weight.mean(), _MAX_IMPORTANCE), np.float32)


def calibrated(model: Categoriser, examples: pl.DataFrame, settings: TrainingSettings) -> Categoriser:
    """The model with a temperature fitted to `strange` merchants; for known ones the partner decides anyway."""
    usable = examples.filter(pl.col("category").is_in(model.classes), pl.col("part") == "strange")
    if not usable.height:
        return model
    line_texts, rows = texts(usable), np.arange(usable.height)
    weight = usable["count"].to_numpy() ** settings.count_power
    temperature = fit_temperature(
        model.logits(line_texts, rows),
        _numbers(usable["category"], model.classes),
        weight.astype(np.float32),
        allowed(model.classes)[line_texts.positive],
    )
    return replace(model, temperature=temperature)


def _descent(settings: TrainingSettings) -> Descent:
    hiding = Hiding(settings.hidden_words, settings.hidden_merchants, settings.hidden_hints, settings.seed)
    return Descent(settings.bits, settings.epochs, settings.rate, settings.batch, hiding, settings.smoothing, settings.shrink)


def _numbers(labels: pl.Series, classes: tuple[str, ...]) -> NDArray[np.int32]:
    return labels.replace_strict(classes, range(len(classes)), return_dtype=pl.Int32).to_numpy()


def _quantised(learned: Learned, classes: tuple[str, ...], settings: TrainingSettings, facts: dict[str, Any]) -> Categoriser:
    """The categoriser with weights rounded to eight bits; a few extremes are clipped, so that the others keep their precision."""
    weights = learned.weights[:, : len(classes)]
    touched = np.abs(weights[np.abs(weights).max(axis=1) > 0])
    scale = np.maximum(np.quantile(touched, 1 - settings.clipped_share, axis=0) / 127, 1e-6).astype(np.float32)
    whole = np.clip(np.rint(weights / scale), -127, 127).astype(np.int8)
    return Categoriser(settings.label, classes, whole, scale, learned.bias[: len(classes)].copy(), 1.0, facts)
