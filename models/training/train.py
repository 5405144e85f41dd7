"""Training: from a corpus of labelled bookings to a categoriser. The same settings always give the same model.

Here are the choice of lines and labels and the order of steps. scikit-learn learns: the pipelines are in
`models.training.estimators`, and `models.training.export` turns linear ones into the form that tags fast.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics.bank_text import lines as reading
from analytics.frames import LINES
from models.categoriser.features import hinted
from models.categoriser.model import allowed
from models.categoriser.storage import CategoryModel
from models.errors import NothingToLearn
from models.progress import Progress, silent
from models.training.estimators import limited_steps, pipeline
from models.training.lexicon_examples import lexicon_lines
from models.training.settings import SHIPPED, TrainingSettings

if TYPE_CHECKING:
    from models.categoriser.temperature import TemperatureCalibration

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


def with_own(simulated: pl.DataFrame, own_examples: pl.DataFrame) -> pl.DataFrame:
    """Simulated `EXAMPLES` and those of people, whose word replaces that of the simulation for the same line."""
    return merged([simulated.join(own_examples, on="key", how="anti", maintain_order="left"), own_examples])


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
) -> CategoryModel:
    """A categoriser trained on labelled lines, and calibrated if there are `calibration` examples (`EXAMPLES`)."""
    from models.training.export import check_export, exported, is_linear  # load scikit-learn, which erasing corrections need not

    classifier = fit(lines, labels, weights, settings, calibration, on_progress)
    all_facts = {"settings": settings.model_dump(), "lines": lines.height, "bookings": int(weights.sum()), **(facts or {})}
    if not is_linear(classifier):
        from models.categoriser.pipeline_model import PipelineCategoriser

        return PipelineCategoriser(settings.label, classifier, all_facts)
    on_progress("export", 0.0)
    model = exported(classifier, settings.label, all_facts)
    check_export(model, classifier, lines if calibration is None or calibration.is_empty() else calibration)
    on_progress("export", 1.0)
    return model


def fit(
    lines: pl.DataFrame,
    labels: pl.Series,
    weights: pl.Series,
    settings: TrainingSettings = SHIPPED,
    calibration: pl.DataFrame | None = None,
    on_progress: Progress = silent,
) -> "TemperatureCalibration":
    """The pipeline of these settings, fitted to several looks at labelled lines, each with other words hidden, and calibrated."""
    classes = tuple(labels.unique().sort())
    if len(classes) < 2:
        raise NothingToLearn(f"{lines.height} lines of {len(classes)} categories")
    numbers = class_numbers(labels, classes)
    if not allowed(classes)[lines["positive"].cast(pl.Int8).to_numpy(), numbers].all():
        raise NothingToLearn("the sign of some lines forbids their category")
    on_progress("fit", 0.0)
    looks = pl.concat([hinted(lines)] * settings.looks)
    weight = np.tile(importance(numbers, weights.to_numpy(), settings), settings.looks)
    names = np.tile(labels.to_numpy().astype(str), settings.looks)
    with limited_steps():
        model = pipeline(settings).fit(looks, names, classifier__sample_weight=weight)
    on_progress("fit", 1.0)
    return calibrated(model, calibration, settings)


def train_on(
    examples: pl.DataFrame,
    settings: TrainingSettings = SHIPPED,
    on_progress: Progress = silent,
    facts: Mapping[str, Any] | None = None,
) -> CategoryModel:
    """A categoriser trained on `EXAMPLES` and the lexicon."""
    training_examples, calibration_examples = parted(examples, settings)
    return train(
        training_examples.drop("category", "count", "part"),
        training_examples["category"],
        training_examples["count"],
        settings,
        calibration_examples,
        on_progress,
        facts,
    )


def parted(examples: pl.DataFrame, settings: TrainingSettings) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The `EXAMPLES` to learn from, with the lexicon, and those to calibrate with."""
    thinned_examples = thinned(examples, settings.most_lines)
    training_examples = pl.concat([thinned_examples.filter(pl.col("part") == "train"), lexicon_examples(settings.lesson_count)])
    return training_examples, thinned_examples.filter(pl.col("part") != "train")


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


def calibrated(model: Any, examples: pl.DataFrame | None, settings: TrainingSettings) -> "TemperatureCalibration":
    """The fitted pipeline with a temperature for `strange` merchants; for known ones the partner decides anyway."""
    from sklearn.frozen import FrozenEstimator

    from models.categoriser.temperature import TemperatureCalibration

    classifier = TemperatureCalibration(FrozenEstimator(model))
    usable = (
        pl.DataFrame()
        if examples is None
        else examples.filter(pl.col("category").is_in(model.classes_.tolist()), pl.col("part") == "strange")
    )
    if usable.is_empty():
        return classifier.uncalibrated()
    weight = usable["count"].to_numpy() ** settings.count_power
    return classifier.fit(usable, usable["category"].to_numpy().astype(str), sample_weight=weight)


def class_numbers(labels: pl.Series, classes: tuple[str, ...]) -> NDArray[np.int32]:
    """The number of each label among the classes."""
    return labels.replace_strict(classes, range(len(classes)), return_dtype=pl.Int32).to_numpy()
