"""The settings of training: each with its default, range and meaning, for Python and for the launchpad of Dagster.

Nothing here loads compiled code, so that the pipelines can show the settings without training.
"""

from pydantic import BaseModel, ConfigDict, Field

_LABEL = r"^[0-9A-Za-z][0-9A-Za-z._-]{0,50}$"


class ChosenSettings(BaseModel):
    """The settings that a data scientist can choose for a run. The defaults are those of the shipped model."""

    model_config = ConfigDict(frozen=True)

    label: str = Field(default="2026.11.1", pattern=_LABEL, description="First part of the model's version.")
    seed: int = Field(default=11, ge=0, le=2**31 - 1, description="Of the order of rows and of what is hidden.")
    bits: int = Field(default=17, ge=10, le=20, description="The weight table has two to this power rows: 10 to 20.")
    """With more bits fewer features share a row, and the file is larger."""
    epochs: int = Field(default=5, ge=1, le=50, description="How often every line is looked at: 1 to 50.")
    rate: float = Field(default=0.5, gt=0, le=10, description="The first step of the descent; above 0, at most 10.")
    """Steps decrease to zero by the end."""
    batch: int = Field(default=64, ge=1, le=4096, description="Lines between two updates: 1 to 4,096.")
    """Larger is faster on many cores and learns less in an epoch."""
    hidden_words: float = Field(default=0.08, ge=0, le=0.9, description="Share of words hidden in each look at a line: 0 to 0.9.")
    """Words are hidden so that no single one is relied on."""
    hidden_merchants: float = Field(default=0.15, ge=0, le=0.9, description="Share of looks without the merchant: 0 to 0.9.")
    """Merchants are hidden so that purposes and amounts are learned for unseen merchants."""
    hidden_hints: float = Field(default=0.3, ge=0, le=1, description="Share of looks without the lexicon's hint: 0 to 1.")
    smoothing: float = Field(default=0.02, ge=0, le=0.5, description="Share of the truth spread over all classes: 0 to 0.5.")
    """Against overconfidence."""
    shrink: float = Field(default=0.0, ge=0, le=0.1, description="How much weights shrink with each step: 0 to 0.1.")
    count_power: float = Field(default=0.5, ge=0, le=1, description="0 treats lines alike, 1 treats bookings alike.")
    """A line that stands for n bookings counts n to this power."""
    class_power: float = Field(default=0.25, ge=0, le=1, description="0 treats bookings alike, 1 treats classes alike.")
    """A class of weight n counts n to minus this power."""
    most_lines: int = Field(default=12, ge=1, le=1000, description="Lines looked at of a merchant and category: 1 to 1,000.")
    """They stand for the others."""
    lesson_count: float = Field(
        default=1.0, ge=0, le=100, description="Bookings a word of the lexicon stands for; 0: leave it out."
    )


class TrainingSettings(ChosenSettings):
    """All settings of training."""

    clipped_share: float = Field(
        default=0.0001, ge=0, lt=1, description="Share of a class's weights that are clipped when they are rounded to eight bits."
    )


SHIPPED = TrainingSettings()
"""The settings of the shipped model."""
