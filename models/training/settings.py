"""The settings of training: each with its default, range and meaning, for Python and for the launchpad of Dagster.

Nothing here loads compiled code, so that the pipelines can show the settings without training.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

ESTIMATOR_NAME = r"^[A-Za-z_][\w.]*(:[A-Za-z_]\w*)?$"
_LABEL = r"^[0-9A-Za-z][0-9A-Za-z._-]{0,50}$"


class TrainingSettings(BaseModel):
    """The settings of training. The defaults are those of the shipped model."""

    model_config = ConfigDict(frozen=True)

    label: str = Field(default="2026.11.2", pattern=_LABEL, description="First part of the model's version.")
    seed: int = Field(default=11, ge=0, le=2**31 - 1, description="Of the order of rows and of what is hidden.")
    bits: int = Field(default=17, ge=10, le=20, description="The weight table has two to this power rows: 10 to 20.")
    """With more bits fewer features share a row, and the file is larger."""
    estimator: str = Field(
        default="linear",
        max_length=200,
        pattern=ESTIMATOR_NAME,
        description="linear, logistic, naive_bayes, gradient_boosting, or `package.module:function` of your own, which is run.",
    )
    """The names are those of `models.training.estimators`. A function gets the seed and returns a classifier."""
    parameters: dict[str, Any] = Field(
        default_factory=dict, description="Parameters of the pipeline, as `classifier__estimator__alpha: 0.00001`."
    )
    """For `set_params` of the pipeline: a search names them the same."""
    looks: int = Field(default=3, ge=1, le=50, description="Copies of every line to learn from, hidden differently: 1 to 50.")
    hidden_words: float = Field(default=0.08, ge=0, le=0.9, description="Share of words hidden in each look at a line: 0 to 0.9.")
    """Words are hidden so that no single one is relied on."""
    hidden_merchants: float = Field(default=0.15, ge=0, le=0.9, description="Share of looks without the merchant: 0 to 0.9.")
    """Merchants are hidden so that purposes and amounts are learned for unseen merchants."""
    hidden_hints: float = Field(default=0.3, ge=0, le=1, description="Share of looks without the lexicon's hint: 0 to 1.")
    count_power: float = Field(default=0.5, ge=0, le=1, description="0 treats lines alike, 1 treats bookings alike.")
    """A line that stands for n bookings counts n to this power."""
    class_power: float = Field(default=0.25, ge=0, le=1, description="0 treats bookings alike, 1 treats classes alike.")
    """A class of weight n counts n to minus this power."""
    most_lines: int = Field(default=12, ge=1, le=1000, description="Lines looked at of a merchant and category: 1 to 1,000.")
    """They stand for the others."""
    lesson_count: float = Field(
        default=1.0, ge=0, le=100, description="Bookings a word of the lexicon stands for; 0: leave it out."
    )


class SearchSettings(BaseModel):
    """How parameters are searched."""

    model_config = ConfigDict(frozen=True)

    trials: int = Field(default=16, ge=2, le=500, description="How many random parameters are tried: 2 to 500.")
    lines: int = Field(default=20_000, ge=500, le=1_000_000, description="Lines of the last round: 500 to 1,000,000.")
    factor: int = Field(
        default=3, ge=2, le=10, description="One in so many trials goes on to a round with as many times the lines."
    )
    folds: int = Field(default=3, ge=2, le=10, description="Parts of the merchants, each left out once: 2 to 10.")
    scoring: str = Field(default="accuracy", max_length=60, description="What is best: a scorer of scikit-learn, as f1_macro.")


SHIPPED = TrainingSettings()
"""The settings of the shipped model."""
