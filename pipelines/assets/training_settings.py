"""What can be chosen in the launchpad when the categoriser is retrained: each field with default, range and meaning."""

import dagster as dg
from pydantic import Field

from models.training.settings import ESTIMATOR_NAME, SearchSettings, TrainingSettings


class TrainingSetConfig(dg.Config):
    """Which lines are learned from."""

    users: int = Field(default=400, ge=10, le=20_000, description="How many people are simulated: 10 to 20,000.")
    seed: int = Field(default=1, ge=0, le=2**31 - 1, description="Which simulated world. The evaluation needs another one.")
    feedback: bool = Field(default=False, description="Learn from users' corrections too, of tenants that consent (`learns`).")
    feedback_weight: float = Field(
        default=1.0, gt=0, le=100, description="For how many bookings a user's correction of a line stands: above 0, at most 100."
    )


class CandidateConfig(dg.Config, TrainingSettings):
    """How it is learned: the fields of `models.training.TrainingSettings`. The defaults are those of the model that we ship."""

    searched: bool = Field(default=False, description="Use estimator and best parameters of the last `categoriser_search`.")


class SearchConfig(dg.Config, SearchSettings):
    """What is searched, and how long."""

    estimator: str = Field(
        default="linear",
        max_length=200,
        pattern=ESTIMATOR_NAME,
        description="linear, logistic, naive_bayes, gradient_boosting, or `package.module:function` of your own, which is run.",
    )
    seed: int = Field(default=11, ge=0, le=2**31 - 1, description="Of the random parameters and of the sample of lines.")


class EvaluationConfig(dg.Config):
    """What is evaluated, and in which world."""

    version: str = Field(default="", description="Version to evaluate; empty: the last candidate.")
    users: int = Field(default=300, ge=10, le=20_000, description="How many other people are simulated: 10 to 20,000.")
    seed: int = Field(default=2, ge=0, le=2**31 - 1, description="Which simulated world; not the one that was learned from.")


class AnalysesEvaluationConfig(dg.Config):
    """In which world the analyses of users are evaluated."""

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


class TenantCandidateConfig(dg.Config):
    """Whose corrections are learned from, and in which world the model is evaluated."""

    tenant: str = Field(min_length=1, max_length=200, description="Name of the tenant; it must consent (`kontor tenant learn`).")
    weight: float = Field(
        default=100.0, gt=0, le=1000, description="For how many bookings a correction stands: above 0, at most 1,000."
    )
    users: int = Field(default=300, ge=10, le=20_000, description="How many other people are simulated: 10 to 20,000.")
    seed: int = Field(default=2, ge=0, le=2**31 - 1, description="Which simulated world; not the one that was learned from.")


class TenantCategoriserConfig(CategoriserConfig):
    """Which model a tenant uses, and on whose word."""

    tenant: str = Field(min_length=1, max_length=200, description="Name of the tenant.")
    version: str = Field(
        default="",
        description="Version to put into use; empty: the one evaluated last. One that was in use, or `shared`: rollback.",
    )


class CreditRiskCalibrationConfig(dg.Config):
    """Whose outcomes the scorecard of credit risk is calibrated with."""

    tenant: str = Field(min_length=1, max_length=200, description="Name of the tenant.")
    file: str = Field(
        pattern=r"^[0-9A-Za-z][0-9A-Za-z._-]{0,99}\.csv$",
        description="Name of the CSV file in the folder `outcomes` of the data directory: user, observed_on, outcome.",
    )


class CreditRiskProbabilityConfig(dg.Config):
    """Which calibration a tenant uses, and on whose word."""

    tenant: str = Field(min_length=1, max_length=200, description="Name of the tenant.")
    version: str = Field(
        min_length=1, max_length=64, description="Version to put into use. One that was in use, or `none`: rollback."
    )
    override: bool = Field(default=False, description="Set the objections of the gate aside. That is logged with who and why.")
    by: str = Field(min_length=1, max_length=200, description="Who decides this, for the log.")
    why: str = Field(min_length=1, max_length=1000, description="Why, for the log.")
