"""What can be chosen in the launchpad when the categoriser is retrained: each field with default, range and meaning."""

import dagster as dg
from pydantic import Field

_VERSION = r"[0-9A-Za-z][0-9A-Za-z._-]{0,50}"


class TrainingSetConfig(dg.Config):
    """Which lines are learned from."""

    users: int = Field(default=400, ge=10, le=20_000, description="How many people are simulated: 10 to 20,000.")
    seed: int = Field(default=1, ge=0, le=2**31 - 1, description="Which simulated world. The evaluation needs another one.")
    feedback: bool = Field(default=False, description="Learn from users' corrections too, of tenants that consent (`learns`).")
    feedback_weight: float = Field(
        default=1.0, gt=0, le=100, description="For how many bookings a user's correction of a line stands: above 0, at most 100."
    )


class CandidateConfig(dg.Config):
    """How it is learned: the fields of `models.training.TrainingSettings`. The defaults are those of the model that we ship."""

    label: str = Field(default="2026.11.1", pattern=f"^{_VERSION}$", description="First part of the model's version.")
    seed: int = Field(default=11, ge=0, le=2**31 - 1, description="Of the order of rows and of what is hidden.")
    bits: int = Field(default=17, ge=10, le=20, description="The weight table has two to this power rows: 10 to 20.")
    epochs: int = Field(default=5, ge=1, le=50, description="How often every line is looked at: 1 to 50.")
    rate: float = Field(default=0.5, gt=0, le=10, description="The first step of the descent; above 0, at most 10.")
    batch: int = Field(default=64, ge=1, le=4096, description="Lines between two updates: 1 to 4,096.")
    hidden_words: float = Field(default=0.08, ge=0, le=0.9, description="Share of words hidden in each look at a line: 0 to 0.9.")
    hidden_merchants: float = Field(default=0.15, ge=0, le=0.9, description="Share of looks without the merchant: 0 to 0.9.")
    hidden_hints: float = Field(default=0.3, ge=0, le=1, description="Share of looks without the lexicon's hint: 0 to 1.")
    smoothing: float = Field(default=0.02, ge=0, le=0.5, description="Share of the truth spread over all classes: 0 to 0.5.")
    shrink: float = Field(default=0.0, ge=0, le=0.1, description="How much weights shrink with each step: 0 to 0.1.")
    count_power: float = Field(default=0.5, ge=0, le=1, description="0 treats lines alike, 1 treats bookings alike.")
    class_power: float = Field(default=0.25, ge=0, le=1, description="0 treats bookings alike, 1 treats classes alike.")
    most_lines: int = Field(default=12, ge=1, le=1000, description="Lines looked at of a merchant and category: 1 to 1,000.")
    lesson_count: float = Field(
        default=1.0, ge=0, le=100, description="Bookings a word of the lexicon stands for; 0: leave it out."
    )


class EvaluationConfig(dg.Config):
    """What is examined, and in which world."""

    version: str = Field(default="", description="Version to examine; empty: the last candidate.")
    users: int = Field(default=300, ge=10, le=20_000, description="How many other people are simulated: 10 to 20,000.")
    seed: int = Field(default=2, ge=0, le=2**31 - 1, description="Which simulated world; not the one that was learned from.")


class AnalysesEvaluationConfig(dg.Config):
    """In which world the analyses of users are examined."""

    people: int = Field(default=120, ge=5, le=20_000, description="How many people are simulated: 5 to 20,000.")
    seed: int = Field(
        default=4711, ge=0, le=2**31 - 1, description="Which simulated world. That of the test is 4711: develop on another one."
    )


class CategoriserConfig(dg.Config):
    """Which model is put into use, and on whose word."""

    version: str = Field(
        default="",
        description="Version to put into use; empty: the one evaluated last. One that was in use, or `shipped`: rollback. "
        "`active`: whichever is in use stays, and Dagster is told of it.",
    )
    override: bool = Field(default=False, description="Set the objections of the gate aside. That is logged with who and why.")
    by: str = Field(min_length=1, max_length=200, description="Who decides this, for the log.")
    why: str = Field(min_length=1, max_length=1000, description="Why, for the log.")
