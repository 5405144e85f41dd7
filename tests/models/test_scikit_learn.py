"""The parts that scikit-learn learns with: they follow its interface, and what is exported predicts what it predicts."""

import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import parametrize_with_checks

from models import registry
from models.categoriser.by_sign import FORBIDDEN, BySign
from models.categoriser.features import Hiding
from models.categoriser.line_features import LineFeatures, matrix
from models.categoriser.model import SCORES, Categoriser
from models.categoriser.pipeline_model import PipelineCategoriser
from models.categoriser.storage import load
from models.categoriser.temperature import TemperatureCalibration
from models.errors import EstimatorInvalid, ExportDiffers, ModelUnreadable
from models.training.estimators import ESTIMATORS, pipeline, space
from models.training.export import check_export, exported
from models.training.search import search
from models.training.settings import SearchSettings, TrainingSettings
from models.training.train import EXAMPLES, fit, train
from tests.models.toys import labelled, line, lines
from tests.models.toys import matrix as plain_matrix

SMALL = TrainingSettings(bits=12, looks=2)
NAIVE = SMALL.model_copy(update={"estimator": "naive_bayes"})


def ones(frame: pl.DataFrame) -> pl.Series:
    return pl.repeat(1, frame.height, eager=True)


@pytest.fixture(scope="module")
def town() -> tuple[pl.DataFrame, pl.Series]:
    return labelled(copies=6)


@pytest.fixture(scope="module")
def naive(town: tuple[pl.DataFrame, pl.Series]) -> PipelineCategoriser:
    model = train(*town, ones(town[0]), NAIVE)
    assert isinstance(model, PipelineCategoriser)
    return model


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        BySign(LogisticRegression()),
        TemperatureCalibration(LogisticRegression()),
    ]
)
def test_our_estimators_follow_the_rules_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def test_the_matrix_holds_the_sign_and_the_features_of_the_scorer() -> None:
    frame = labelled(copies=2)[0]
    read = LineFeatures(bits=12).transform(frame)
    assert read.dtype == np.float32
    assert read.has_canonical_format
    assert (read[:, 0].toarray().ravel() > 0).tolist() == frame["positive"].to_list()
    assert np.allclose(read[:, 1:].toarray(), plain_matrix(frame, 12).toarray(), atol=1e-6)
    assert LineFeatures(bits=12).transform(frame.clear()).shape == (0, 1 + 2**12)


def test_only_learning_hides_words_and_every_copy_of_a_line_others() -> None:
    frame = pl.concat([labelled(copies=1)[0]] * 2)
    reader = LineFeatures(bits=12, hidden_words=0.5, seed=3)
    hidden, whole = reader.fit_transform(frame), reader.transform(frame)
    half = frame.height // 2
    assert hidden.nnz < whole.nnz
    assert (hidden[:half] != hidden[half:]).nnz > 0
    assert (whole[:half] != whole[half:]).nnz == 0
    assert (hidden != clone(reader).fit_transform(frame)).nnz == 0
    assert (matrix(frame, 12, Hiding(0.5, seed=4)) != hidden).nnz > 0


def test_each_sign_has_its_own_classifier() -> None:
    rows = np.array([[0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 0, 1], [0, 1, 0], [1, 1, 0]], float)
    labels = np.array(["rent", "food", "wages", "gift", "rent", "wages"])
    model = BySign(LogisticRegression()).fit(rows, labels, sample_weight=np.arange(1.0, 7))
    assert [one.classes_.tolist() for one in model.estimators_ if one is not None] == [["food", "rent"], ["gift", "wages"]]
    decisions = model.decision_function(rows)
    paid, classes = rows[:, 0] == 0, np.isin(model.classes_, ["food", "rent"])
    assert (decisions[np.ix_(paid, ~classes)] == FORBIDDEN).all()
    assert (decisions[np.ix_(~paid, classes)] == FORBIDDEN).all()
    assert np.allclose(model.predict_proba(rows).sum(axis=1), 1)
    assert (model.predict_proba(rows)[np.ix_(paid, ~classes)] == 0).all()
    assert model.predict(rows).tolist() == labels.tolist()


def test_a_classifier_without_decisions_is_asked_for_probabilities() -> None:
    chance = np.random.default_rng(2)
    rows = chance.normal(size=(60, 3))
    labels = np.where(rows[:, 1] > 0, "a", "b")
    model = BySign(GaussianNB()).fit(rows, labels)
    assert not hasattr(model, "decision_function")
    assert (model.predict(rows) == labels).mean() > 0.9


def test_a_temperature_makes_the_labels_likely_and_may_lack_classes() -> None:
    chance = np.random.default_rng(5)
    rows = chance.normal(size=(900, 2)) * 4
    labels = np.array(["a", "b", "c"])[(rows[:, 0] > 0).astype(int) + (rows[:, 1] > 1)]
    sure = LogisticRegression(C=1e6, max_iter=500).fit(rows, labels)
    wrong = np.where(chance.random(900) < 0.3, "a", labels)
    some = wrong != "c"
    soft = TemperatureCalibration(FrozenEstimator(sure)).fit(rows[some], wrong[some])
    assert soft.estimator_.estimator is sure
    assert soft.temperature_ > 2
    assert soft.predict(rows).tolist() == sure.predict(rows).tolist()
    assert soft.predict_proba(rows).max(axis=1).mean() < sure.predict_proba(rows).max(axis=1).mean()
    with pytest.raises(ValueError, match="does not know"):
        TemperatureCalibration(FrozenEstimator(sure)).fit(rows, np.full(900, "z"))


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name != "gradient_boosting"])
def test_every_named_estimator_learns_the_town(name: str, town: tuple[pl.DataFrame, pl.Series]) -> None:
    model = train(*town, ones(town[0]), SMALL.model_copy(update={"estimator": name}))
    frame, truth = labelled(seed=9, copies=3)
    scores = model.score(frame)
    assert scores.schema == SCORES
    assert (scores["category"] == truth).mean() > 0.9  # type: ignore[operator]
    assert set(space(name)) <= set(pipeline(SMALL.model_copy(update={"estimator": name})).get_params())
    assert isinstance(model, Categoriser) == (name in ("linear", "logistic"))


@pytest.mark.thorough
def test_boosted_trees_learn_the_town_and_come_back_from_their_file(town: tuple[pl.DataFrame, pl.Series], tmp_path: Path) -> None:
    settings = SMALL.model_copy(update={"estimator": "gradient_boosting"})
    model = train(*town, ones(town[0]), settings)
    frame, truth = labelled(seed=9, copies=3)
    assert (model.score(frame)["category"] == truth).mean() > 0.8  # type: ignore[operator]
    model.save(tmp_path / "trees.npz")
    assert load(tmp_path / "trees.npz").score(frame).equals(model.score(frame))


def test_parameters_are_those_of_the_pipeline() -> None:
    settings = SMALL.model_copy(update={"parameters": {"classifier__estimator__alpha": 0.5, "lines__hidden_words": 0.25}})
    made = pipeline(settings)
    assert made["classifier"].estimator.alpha == 0.5
    assert made["lines"].hidden_words == 0.25


@pytest.mark.parametrize(
    ("change", "fact"),
    [
        ({"estimator": "oracle"}, "no estimator oracle; there are linear"),
        ({"estimator": "no.such.module:thing"}, "No module named"),
        ({"estimator": "tests.models.own_estimators:missing"}, "missing"),
        ({"parameters": {"classifier__estimator__depth": 3}}, "Invalid parameter 'depth'"),
    ],
)
def test_an_estimator_or_parameter_that_does_not_exist_is_a_fact(change: dict[str, Any], fact: str) -> None:
    with pytest.raises(EstimatorInvalid, match=fact):
        pipeline(SMALL.model_copy(update=change))


def test_a_function_of_ones_own_makes_the_estimator(town: tuple[pl.DataFrame, pl.Series]) -> None:
    settings = SMALL.model_copy(update={"estimator": "tests.models.own_estimators:linear"})
    model = train(*town, ones(town[0]), settings)
    assert isinstance(model, Categoriser)
    assert model.facts["settings"]["estimator"].endswith(":linear")


@pytest.mark.parametrize("name", ["linear", "logistic"])
def test_the_exported_model_predicts_what_scikit_learn_predicts(name: str, town: tuple[pl.DataFrame, pl.Series]) -> None:
    classifier = fit(*town, ones(town[0]), SMALL.model_copy(update={"estimator": name}))
    model = exported(classifier, "toy", {})
    frame = labelled(seed=5, copies=4)[0]
    assert check_export(model, classifier, frame)["changed_share"] < 0.01
    found, expected = model.score(frame), classifier.predict_proba(frame)
    assert found["category"].to_list() == classifier.predict(frame).tolist()
    assert np.abs(found["confidence"].to_numpy() - expected.max(axis=1)).mean() < 0.01


def test_an_export_that_differs_is_refused(town: tuple[pl.DataFrame, pl.Series]) -> None:
    classifier = fit(*town, ones(town[0]), SMALL)
    model = exported(classifier, "toy", {})
    weights = model.weights.copy()
    weights[:, 0] = np.roll(weights[:, 0], 1)
    shifted = Categoriser("toy", model.classes, weights, model.scale, model.bias, model.temperature, {}, model.signs)
    with pytest.raises(ExportDiffers, match="not those of scikit-learn"):
        check_export(shifted, classifier, town[0])
    few = np.rint(model.weights / 100).astype(np.int8)
    coarse = Categoriser("toy", model.classes, few, model.scale * 100, model.bias, model.temperature, {}, model.signs)
    with pytest.raises(ExportDiffers, match="eight bits are too few"):
        check_export(coarse, classifier, town[0])


def test_a_category_of_both_signs_has_a_column_for_each(tmp_path: Path) -> None:
    rows = [line("laden", f"einkauf {word}", positive=sign) for sign in (False, True) for word in ("rot", "blau", "gelb")] * 4
    labels = ["LIVING_GROCERIES", "TRANSFER_REFUND", "SHOPPING_OTHER", "TRANSFER_REFUND", "INCOME_SALARY", "INCOME_RENTAL"] * 4
    frame = lines(*rows)
    model = train(frame, pl.Series(labels), ones(frame), SMALL)
    assert isinstance(model, Categoriser)
    assert len(model.classes) == len(model.signs) == len(set(model.classes)) + 1
    model.save(tmp_path / "model.npz")
    again = Categoriser.load(tmp_path / "model.npz")
    assert (again.signs, again.version) == (model.signs, model.version)
    priors = pl.DataFrame({"partner": ["SHOP"], "category": ["TRANSFER_REFUND"], "prior": [0.999]})
    with_partner = frame.with_columns(partner=pl.lit("SHOP"))
    assert again.score(with_partner, priors, 1000.0)["category"].unique().to_list() == ["TRANSFER_REFUND"]


def test_a_file_of_the_first_format_is_still_read(tmp_path: Path) -> None:
    path = tmp_path / "old.npz"
    ones = np.ones(2, np.float32)
    old = Categoriser("old", ("INCOME_SALARY", "HOUSING_RENT"), np.ones((256, 2), np.int8), ones, ones, 1.0)
    old.save(path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    about = json.loads(members["about.npy"][members["about.npy"].index(b"{", 80) :])
    assert about["format"] == 2
    members["about.npy"] = _array(json.dumps({**about, "format": 1}).encode())
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    found = Categoriser.load(path)
    assert found.score(lines(line("miete"), line("lohn", positive=True)))["category"].to_list() == [
        "HOUSING_RENT",
        "INCOME_SALARY",
    ]


def _array(text: bytes) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.frombuffer(text, np.uint8))
    return buffer.getvalue()


def test_a_model_that_is_not_linear_comes_back_from_its_file(naive: PipelineCategoriser, tmp_path: Path) -> None:
    path = tmp_path / "naive.npz"
    naive.save(path)
    found = load(path)
    frame = labelled(seed=2)[0]
    assert isinstance(found, PipelineCategoriser)
    assert (found.version, found.classes, found.temperature) == (naive.version, naive.classes, naive.temperature)
    assert found.score(frame).equals(naive.score(frame))
    first = path.read_bytes()
    found.save(path)
    assert path.read_bytes() == first


def test_equal_settings_give_equal_bytes_of_any_kind(
    naive: PipelineCategoriser, town: tuple[pl.DataFrame, pl.Series], tmp_path: Path
) -> None:
    again = train(*town, ones(town[0]), NAIVE)
    assert again.version == naive.version
    for name, model in (("one", naive), ("two", again)):
        model.save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_partner_prior_moves_any_model(naive: PipelineCategoriser) -> None:
    frame = lines(line("xy", "z")).with_columns(partner=pl.lit("SHOP"))
    priors = pl.DataFrame({"partner": ["SHOP"], "category": ["MOBILITY_FUEL"], "prior": [1.0]})
    assert naive.score(frame, priors, 3.0)["category"].to_list() == ["MOBILITY_FUEL"]
    assert naive.score(frame.clear(), priors).schema == SCORES


def test_a_damaged_pipeline_is_refused(naive: PipelineCategoriser, tmp_path: Path) -> None:
    path = tmp_path / "naive.npz"
    naive.save(path)
    other = train(*labelled(seed=3, copies=3), ones(labelled(seed=3, copies=3)[0]), NAIVE)
    assert isinstance(other, PipelineCategoriser)
    naive_version, other.version = other.version, naive.version
    other.save(path)
    assert naive_version != naive.version
    with pytest.raises(ModelUnreadable, match="the content is not that of"):
        load(path)


def test_types_of_ones_own_must_be_trusted_by_name(town: tuple[pl.DataFrame, pl.Series], tmp_path: Path) -> None:
    name = "tests.models.own_estimators.Majority"
    model = train(*town, ones(town[0]), SMALL.model_copy(update={"estimator": "tests.models.own_estimators:majority"}))
    with pytest.raises(ModelUnreadable, match=f"types that are not trusted: {name}"):
        registry.add(tmp_path, model, {"figures": {}})
    assert not list(tmp_path.glob("*.npz"))
    (tmp_path / registry.TRUSTED_TYPES).write_text(json.dumps([name]))
    registry.add(tmp_path, model, {"figures": {}})
    assert registry.find(tmp_path, model.version).score(town[0]).equals(model.score(town[0]))
    (tmp_path / registry.TRUSTED_TYPES).write_text("{}")
    with pytest.raises(ModelUnreadable, match="not a list of names"):
        registry.find(tmp_path, model.version)


def test_a_random_state_in_a_file_is_refused(town: tuple[pl.DataFrame, pl.Series], tmp_path: Path) -> None:
    model = train(*town, ones(town[0]), SMALL.model_copy(update={"estimator": "tests.models.own_estimators:careless"}))
    with pytest.raises(ModelUnreadable, match="types that are not trusted: RandomStateNode"):
        registry.add(tmp_path, model, {"figures": {}})


@pytest.fixture(scope="module")
def examples() -> pl.DataFrame:
    frame, labels = labelled(copies=25)
    hints = {"lexicon_category": pl.lit(""), "lexicon_confidence": pl.lit(0.0)}
    return frame.with_columns(
        category=labels, count=pl.lit(1.0), part=pl.lit("train"), **hints, merchant=pl.col("merchant") + pl.col("purpose")
    ).select(EXAMPLES.names())


def test_a_search_tries_many_on_few_lines_and_few_on_many(examples: pl.DataFrame) -> None:
    steps: list[tuple[str, float]] = []
    settings = NAIVE.model_copy(update={"lesson_count": 0.0, "most_lines": 1000})
    choices = SearchSettings(trials=4, lines=600, factor=2, folds=2)
    found = search(examples, settings, choices, lambda step, share: steps.append((step, share)))
    assert found.trials["round"].to_list() == [0] * 4 + [1] * 2 + [2]
    assert found.trials.filter(round=2)["lines"].min() > found.trials.filter(round=0)["lines"].max()  # type: ignore[operator]
    assert set(found.parameters) == set(space("naive_bayes"))
    assert json.loads(json.dumps(found.parameters)) == found.parameters
    assert 0.3 < found.score <= 1
    assert found.curve["lines"].is_sorted()
    assert found.curve.height == 5
    assert steps[-1] == ("curve", 1.0)
    assert pipeline(settings.model_copy(update={"parameters": found.parameters})) is not None
    again = search(examples, settings, choices)
    assert again.parameters == found.parameters


def test_the_model_that_we_ship_is_served_without_scikit_learn() -> None:
    code = (
        "import sys; from models import registry; from tests.models.toys import lines, line;"
        "registry.shipped().score(lines(line('rewe')));"
        "import pipelines.results.tags, pipelines.erase;"
        "print(*sorted({'sklearn', 'joblib', 'skops'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    assert done.stdout.split() == []
