"""The linear categoriser, an `analytics.tagging.tag.Scorer`: calibrated, over hashed features, and it names its words.

Here is the use of a trained model, without scikit-learn. Its file format is in `models.categoriser.file`, its training in
`models.training`. Models that are not linear are in `models.categoriser.pipeline_model`.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from models.categoriser import file, scoring
from models.categoriser.features import MAX_BITS, MIN_BITS, LineTexts, blocks, features, texts, values
from models.categoriser.priors import PartnerPriors
from models.categoriser.threads import in_threads
from models.errors import ModelUnreadable

SCORES = pl.Schema({"key": pl.UInt64, "category": pl.String, "confidence": pl.Float64, "words": pl.String})
"""The prediction for each line; `words` are up to three of the line's words, `a|b|c`, those of the largest weight first."""
BLOCK_ROWS = 512
"""The features of this many rows stay in the second-level cache."""
ARRAYS = frozenset({"weights", "scale", "bias"})
_LANES = 16
"""Classes that one register holds."""
_MAX_CLASSES = 1024


@dataclass(eq=False)
class Categoriser:
    """A trained model: weights by slot and column, as whole numbers to be multiplied by the scale of the column."""

    label: str
    classes: tuple[str, ...]
    """The class of each column. A class that both signs may have stands in a column for each."""
    weights: NDArray[np.int8]
    scale: NDArray[np.float32]
    bias: NDArray[np.float32]
    temperature: float
    """Scores are divided by it to become calibrated probabilities."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Where the model comes from, for people and reports."""
    signs: str = ""
    """The sign of each column, `-` or `+`; empty in files of format 1, where the category tree decides."""
    version: str = field(init=False)

    def __post_init__(self) -> None:
        """Names the version after the content, so that two models never share one."""
        described = [self.classes, self.temperature, *([self.signs] if self.signs else [])]
        content = hashlib.sha256(json.dumps(described).encode())
        for array in (self.weights, self.scale, self.bias):
            content.update(np.ascontiguousarray(array).data)
        self.version = f"{self.label}-{content.hexdigest()[:6]}"

    @property
    def bits(self) -> int:
        return len(self.weights).bit_length() - 1

    @classmethod
    def load(cls, path: Path) -> Self:
        """The model of a file; `ModelUnreadable` if the file is damaged, altered or not a model."""
        about, arrays = file.read(path, ARRAYS)
        try:
            fields: dict[str, Any] = {"label": str(about["label"]), "facts": dict(about["facts"]), **arrays}
            fields["signs"] = str(about.get("signs", ""))
            model = cls(classes=tuple(map(str, about["classes"])), temperature=float(about["temperature"]), **fields)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise ModelUnreadable(f"{path.name}: the description is incomplete") from error
        model.check(path.name)
        if model.version != about.get("version"):
            raise ModelUnreadable(f"{path.name}: the content is not that of {about.get('version')}")
        return model

    def save(self, path: Path) -> None:
        """Writes the model to a file."""
        about = {
            "label": self.label,
            "version": self.version,
            "classes": self.classes,
            "temperature": self.temperature,
            "facts": dict(self.facts),
            "signs": self.signs,
        }
        file.write(path, about, {name: getattr(self, name) for name in sorted(ARRAYS)})

    def check(self, name: str) -> None:
        """Raises `ModelUnreadable` unless all parts fit together and are finite."""
        count = len(self.classes)
        fits = (
            0 < count <= _MAX_CLASSES
            and len(self.signs) in (0, count)
            and set(self.signs) <= {"-", "+"}
            and len({*zip(self.classes, self.signs or " " * count, strict=True)}) == count
            and MIN_BITS <= self.bits <= MAX_BITS
            and self.weights.shape == (1 << self.bits, count)
            and self.weights.dtype == np.int8
            and self.scale.shape == self.bias.shape == (count,)
            and self.scale.dtype == self.bias.dtype == np.float32
            and bool(np.isfinite([*self.scale, *self.bias]).all())
            and 0.01 < self.temperature < 100
        )
        if not fits:
            raise ModelUnreadable(f"{name}: the parts do not fit together")

    def score(self, lines: pl.DataFrame, priors: pl.DataFrame | None = None, prior_power: float = 1.0) -> pl.DataFrame:
        """The category of each line, as `SCORES`. With `PRIORS`, lines need a column `partner`."""
        of = texts(lines)
        table, prior_of = self._partner_priors.of_lines(lines, priors, prior_power)
        parts = in_threads(lambda rows: self._score(of, rows, table, prior_of[rows]), list(blocks(of.rows, BLOCK_ROWS)))
        best = np.concatenate([np.empty(0, np.int32), *(part[0] for part in parts)])
        columns = [
            lines["key"],
            pl.Series("category", [*self.classes, None], pl.String).gather(np.where(best < 0, len(self.classes), best)),
            pl.Series("confidence", np.concatenate([np.empty(0), *(part[1] for part in parts)])),
            pl.concat([pl.Series("words", [], pl.String), *(part[2] for part in parts)]),
        ]
        return pl.DataFrame(columns)

    def logits(self, of: LineTexts, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """The scores of all classes, before sign, temperature and prior."""
        line_features = features(of, rows, self.bits)
        return self._add_up(line_features.slots, line_features.ends, values(line_features.ends))[:, : len(self.classes)]

    def _score(
        self, of: LineTexts, rows: NDArray[np.int64], priors: NDArray[np.float32], prior_of: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64], pl.Series]:
        line_features = features(of, rows, self.bits)
        feature_values = values(line_features.ends)
        scores = self._add_up(line_features.slots, line_features.ends, feature_values)
        best, confidence = scoring.choose(scores, of.positive[rows], self._allowed, self.temperature, priors, prior_of)
        parts = (line_features.slots, line_features.owners, line_features.ends, line_features.spans, line_features.span_ends)
        words = scoring.decisive_words(of.data, parts, feature_values, self._table[0], best)
        return best, confidence, _column(*scoring.spell(of.data, words))

    def _add_up(
        self, slots: NDArray[np.int32], ends: NDArray[np.int64], feature_values: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        return scoring.add_up(slots, ends, feature_values, *self._table)

    @cached_property
    def _table(self) -> tuple[NDArray[np.int8], NDArray[np.float32], NDArray[np.float32]]:
        """Weights, scales and biases, padded with columns of zeros so that rows fill whole registers."""
        room = -len(self.classes) % _LANES
        return (
            np.pad(self.weights, ((0, 0), (0, room))),
            np.pad(self.scale, (0, room)),
            np.pad(self.bias, (0, room)),
        )

    @cached_property
    def _allowed(self) -> NDArray[np.bool_]:
        """Whether a column may be chosen, by sign (0 negative, 1 positive)."""
        return np.array([[sign == one for sign in self.signs] for one in "-+"]) if self.signs else allowed(self.classes)

    @cached_property
    def _partner_priors(self) -> PartnerPriors:
        return PartnerPriors(self.classes)


def allowed(classes: tuple[str, ...]) -> NDArray[np.bool_]:
    """Whether a class may be chosen, by sign (0 negative, 1 positive) and class; classes outside the category tree always may."""
    from analytics.trees import tree  # reads a file

    signs = {item.system_name: item.sign for item in tree("CATEGORIES").items}
    return np.array([[signs.get(name, "±") in ("±", sign) for name in classes] for sign in "-+"])


def _column(letters: NDArray[np.uint8], offsets: NDArray[np.int64]) -> pl.Series:
    array = pa.LargeStringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(letters))
    return pl.Series("words", array, pl.String)
