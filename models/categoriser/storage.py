"""The models of the categoriser, whatever their kind: what all of them have, and how one is read from its file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from models.categoriser import file


class CategoryModel(Protocol):
    """A trained model: `Categoriser` (linear) or `PipelineCategoriser` (any classifier of scikit-learn)."""

    @property
    def label(self) -> str: ...

    @property
    def classes(self) -> tuple[str, ...]: ...

    @property
    def temperature(self) -> float: ...

    @property
    def facts(self) -> Mapping[str, Any]: ...

    version: str

    def __hash__(self) -> int: ...

    def score(self, lines: pl.DataFrame, priors: pl.DataFrame | None = None, prior_power: float = 1.0) -> pl.DataFrame:
        """The category of each line (`SCORES`)."""

    def save(self, path: Path) -> None:
        """Writes the model to a file."""


def load(path: Path, trusted_types: Sequence[str] = ()) -> CategoryModel:
    """The model of a file; `ModelUnreadable` if the file is damaged, altered or not a model."""
    if file.names(path) != file.PIPELINE_ARRAYS:
        from models.categoriser.model import Categoriser  # loads numba, which a worker does without until a model changes

        return Categoriser.load(path)
    from models.categoriser.pipeline_model import PipelineCategoriser  # loads scikit-learn

    return PipelineCategoriser.load(path, trusted_types)
