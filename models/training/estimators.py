"""The classifiers that a data scientist can choose, by name, and the pipeline that one of them stands in.

A new one is a function and a line in `ESTIMATORS`. A function of an installation's own package needs no line:
`package.module:function` names it, and training calls it.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from models.errors import EstimatorInvalid
from models.training.settings import TrainingSettings

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

ESTIMATOR = "classifier__estimator__"
"""The prefix of the classifier's own parameters in the pipeline: `classifier__estimator__alpha`."""


@dataclass(frozen=True)
class NamedEstimator:
    """A classifier with scikit-learn's interface."""

    make: Callable[[int], Any]
    """The classifier for a seed."""
    space: Callable[[], Mapping[str, Any]]
    """Distributions and lists that a search draws the pipeline's parameters from."""
    about: str


def linear(seed: int) -> Any:
    """One linear model for each category against all others, by averaged stochastic gradient descent.

    The steps begin small: those of `learning_rate="optimal"` begin at 20, and the average keeps their noise.
    """
    from sklearn.linear_model import SGDClassifier

    steps: dict[str, Any] = {"learning_rate": "invscaling", "eta0": 8.0, "power_t": 0.25, "max_iter": 5, "tol": None}
    return SGDClassifier(loss="log_loss", alpha=5e-6, average=True, n_jobs=2, random_state=seed, **steps)


def logistic(seed: int) -> Any:
    """Multinomial logistic regression, which weighs all categories against each other."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=0.3, tol=1e-3, max_iter=40, random_state=seed)


def naive_bayes(_seed: int) -> Any:
    """Naive Bayes on the complement of each category: trained in seconds, a first comparison."""
    from sklearn.naive_bayes import ComplementNB

    return ComplementNB(alpha=0.1)


def gradient_boosting(seed: int) -> Any:
    """Boosted trees over a few dozen directions of the features; slow with many categories."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.pipeline import make_pipeline

    trees = HistGradientBoostingClassifier(max_iter=30, max_leaf_nodes=15, early_stopping=False, random_state=seed)
    return make_pipeline(TruncatedSVD(48, random_state=seed), trees)


def _hiding_space() -> dict[str, Any]:
    from scipy.stats import uniform

    return {"lines__hidden_words": uniform(0, 0.3), "lines__hidden_merchants": uniform(0, 0.4)}


def _linear_space() -> Mapping[str, Any]:
    from scipy.stats import loguniform

    steps = {f"{ESTIMATOR}eta0": loguniform(1, 64), f"{ESTIMATOR}max_iter": [2, 3, 5]}
    return {f"{ESTIMATOR}alpha": loguniform(1e-6, 1e-3), **steps, **_hiding_space()}


def _logistic_space() -> Mapping[str, Any]:
    from scipy.stats import loguniform

    return {f"{ESTIMATOR}C": loguniform(0.03, 10), **_hiding_space()}


def _naive_bayes_space() -> Mapping[str, Any]:
    from scipy.stats import loguniform

    return {f"{ESTIMATOR}alpha": loguniform(1e-3, 1), f"{ESTIMATOR}norm": [False, True], **_hiding_space()}


def _gradient_boosting_space() -> Mapping[str, Any]:
    from scipy.stats import loguniform

    trees = f"{ESTIMATOR}histgradientboostingclassifier__"
    return {f"{trees}learning_rate": loguniform(0.02, 0.5), f"{trees}max_leaf_nodes": [7, 15, 31], **_hiding_space()}


ESTIMATORS: Mapping[str, NamedEstimator] = {
    "linear": NamedEstimator(linear, _linear_space, "one linear model for each category, the default"),
    "logistic": NamedEstimator(logistic, _logistic_space, "multinomial logistic regression"),
    "naive_bayes": NamedEstimator(naive_bayes, _naive_bayes_space, "naive Bayes, in seconds"),
    "gradient_boosting": NamedEstimator(gradient_boosting, _gradient_boosting_space, "boosted trees over few features, slow"),
}


def pipeline(settings: TrainingSettings) -> "Pipeline":
    """The pipeline of these settings, not fitted: it reads lines, and has a classifier for each sign."""
    from sklearn.pipeline import Pipeline

    from models.categoriser.by_sign import BySign
    from models.categoriser.line_features import LineFeatures

    lines = LineFeatures(settings.bits, settings.hidden_words, settings.hidden_merchants, settings.hidden_hints, settings.seed)
    steps = Pipeline([("lines", lines), ("classifier", BySign(estimator_function(settings.estimator)(settings.seed)))])
    try:
        return steps.set_params(**settings.parameters)
    except ValueError as error:
        raise EstimatorInvalid(f"parameters: {error}") from error


@contextmanager
def limited_steps() -> Iterator[None]:
    """Fits without warnings that an estimator has not converged, or that few rows have many classes.

    How many steps it takes is one of its parameters, and the first round of a search has few rows.
    """
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", message="The number of unique classes is greater than 50%")
        yield


def space(name: str) -> Mapping[str, Any]:
    """What a search over this estimator draws from; for a function of one's own what is hidden of the lines."""
    return ESTIMATORS[name].space() if name in ESTIMATORS else _hiding_space()


def estimator_function(name: str) -> Callable[[int], Any]:
    """The function that makes the classifier: of the table, or `package.module:function`."""
    if name in ESTIMATORS:
        return ESTIMATORS[name].make
    module, _, function = name.partition(":")
    if not function:
        raise EstimatorInvalid(f"no estimator {name}; there are {', '.join(ESTIMATORS)} and `package.module:function`")
    try:
        maker: Callable[[int], Any] = getattr(import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise EstimatorInvalid(f"{name}: {error}") from error
    return maker
