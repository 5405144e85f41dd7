"""A calibration: weights for the points of signals, the figures of its cross-validation, and the probability that follows.

It is plain JSON, so that reading one runs no code. It holds sums over outcomes, nothing about a single person.
"""

from collections.abc import Mapping
from datetime import date
from math import exp
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, model_validator

MAX_EXPONENT = 500.0
"""Larger exponents overflow, and differ from it in nothing that is shown."""
VERSION_PATTERN = r"^[0-9A-Za-z][0-9A-Za-z-]{0,63}$"


class CalibrationFigure(BaseModel):
    """A figure of the cross-validation with its 95 % interval over people."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    value: FiniteFloat
    low: FiniteFloat
    high: FiniteFloat


class CalibrationBin(BaseModel):
    """Outcomes of similar predicted probability: their number, the mean prediction, and the share of defaults."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    outcomes: int = Field(ge=1)
    predicted: FiniteFloat
    observed: FiniteFloat


class Calibration(BaseModel):
    """A fitted calibration of one tenant. More points never mean a higher probability: no weight is above zero."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Annotated[str, Field(pattern=VERSION_PATTERN)]
    tenant: str
    calibrated_on: date
    scorecard: str
    """The version of the scorecard whose points were fitted: the points of another one mean something else."""
    intercept: FiniteFloat
    weights: dict[str, Annotated[FiniteFloat, Field(le=0)]]
    """By signal, for the share of its best points that was reached."""
    max_points: dict[str, Annotated[int, Field(ge=1)]]
    left_out: dict[str, str]
    """The signals without a weight, and why."""
    outcomes: int = Field(ge=1)
    defaults: int = Field(ge=0)
    figures: dict[str, CalibrationFigure]
    bins: list[CalibrationBin]
    objections: list[str]
    """Why the gate refuses it; empty if it does not."""

    @model_validator(mode="after")
    def _has_points_for_weights(self) -> Self:
        if not self.weights.keys() <= self.max_points.keys():
            raise ValueError("a signal has a weight and no points")
        return self

    def probability(self, points: Mapping[str, int]) -> float:
        """The probability of default of somebody with these points by signal."""
        logit = self.intercept + sum(weight * points[signal] / self.max_points[signal] for signal, weight in self.weights.items())
        return 1 / (1 + exp(min(-logit, MAX_EXPONENT)))
