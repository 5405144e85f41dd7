"""The categoriser: scores, signs, priors, words, and its file."""

import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from analytics import trees
from models.categoriser import model as module
from models.categoriser.features import texts
from models.categoriser.model import SCORES, Categoriser, allowed
from models.categoriser.priors import PRIOR_FLOOR
from models.errors import ModelUnreadable
from models.training.settings import TrainingSettings
from models.training.train import train
from tests.models.toys import labelled, line, lines, matrix

SETTINGS = TrainingSettings(bits=14)


@pytest.fixture(scope="module")
def model() -> Categoriser:
    frame, labels = labelled()
    trained = train(frame, labels, pl.repeat(1, frame.height, eager=True), SETTINGS)
    assert isinstance(trained, Categoriser)
    return trained


@pytest.fixture(scope="module")
def random_model() -> Categoriser:
    """Weights without meaning, for arithmetic."""
    classes = tuple(item.system_name for item in trees.tree("CATEGORIES").assignable)
    chance = np.random.default_rng(3)
    weights = chance.integers(-127, 128, (1 << 12, len(classes))).astype(np.int8)
    scale, bias = chance.random((2, len(classes)), dtype=np.float32) / 50
    return Categoriser("toy", classes, weights, scale, bias, 1.3)


def probabilities(model: Categoriser, frame: pl.DataFrame) -> np.ndarray:
    """Slowly: the matrix of features times the weights, softened over the classes that the sign allows."""
    scores = matrix(frame, model.bits) @ (model.weights.astype(np.float64) * model.scale) + model.bias
    may = allowed(model.classes)[frame["positive"].cast(pl.Int8).to_numpy()]
    level = np.exp(np.where(may, scores / model.temperature, -np.inf))
    return np.asarray(level / level.sum(axis=1, keepdims=True))


def test_scoring_agrees_with_the_matrix_of_the_same_features(random_model: Categoriser) -> None:
    frame = labelled()[0].filter(pl.col("merchant") != "")
    expected = probabilities(random_model, frame)
    found = random_model.score(frame)
    assert found.schema == SCORES
    assert found["key"].to_list() == frame["key"].to_list()
    assert found["category"].to_list() == [random_model.classes[number] for number in expected.argmax(axis=1)]
    assert np.allclose(found["confidence"].to_numpy(), expected.max(axis=1), atol=1e-4)


def test_scoring_agrees_with_scikit_learn_on_the_same_features() -> None:
    from sklearn.linear_model import SGDClassifier  # takes a second to load, in every process that collects tests

    frame, labels = labelled()
    frame, labels = frame.filter(~pl.col("positive")), labels.filter(~frame["positive"])
    bits = 12
    linear = SGDClassifier(loss="modified_huber", max_iter=5, tol=None, random_state=1).fit(
        matrix(frame, bits), labels.to_numpy()
    )
    scale = (np.abs(linear.coef_).max(axis=1) / 127).astype(np.float32)
    whole = np.rint(linear.coef_.T / scale).astype(np.int8)
    linear.coef_ = (whole * scale).T.astype(np.float64)
    ours = Categoriser("toy", tuple(linear.classes_), whole, scale, linear.intercept_.astype(np.float32), 1.0)
    assert ours.score(frame)["category"].to_list() == linear.predict(matrix(frame, bits)).tolist()


def test_all_rows_of_a_large_frame_are_scored_as_if_alone(random_model: Categoriser) -> None:
    frame = labelled(copies=60)[0]
    assert frame.height > 2 * module.BLOCK_ROWS
    found = random_model.score(frame)
    alone = pl.concat([random_model.score(part) for part in frame.iter_slices(97)])
    assert found.equals(alone)
    assert found.equals(random_model.score(frame))


def test_threads_change_nothing(random_model: Categoriser, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = labelled(copies=60)[0]
    found = random_model.score(frame)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    assert random_model.score(frame).equals(found)


def test_no_lines_give_no_scores(random_model: Categoriser) -> None:
    assert random_model.score(lines().clear() if lines().height else lines()).schema == SCORES


def test_the_sign_of_a_line_decides_which_categories_it_may_have(random_model: Categoriser) -> None:
    frame = labelled(copies=40)[0]
    found = random_model.score(frame).with_columns(positive=frame["positive"])
    signs = {item.system_name: item.sign for item in trees.tree("CATEGORIES").items}
    kept = found.with_columns(sign=pl.col("category").replace_strict(signs))
    assert kept.filter(pl.col("positive"), pl.col("sign") == "-").is_empty()
    assert kept.filter(~pl.col("positive"), pl.col("sign") == "+").is_empty()
    assert kept["category"].n_unique() > 5


def test_a_line_whose_sign_no_category_has_gets_none() -> None:
    only_income = Categoriser(
        "toy",
        ("INCOME_SALARY", "INCOME_PENSION"),
        np.zeros((256, 2), np.int8),
        np.ones(2, np.float32),
        np.zeros(2, np.float32),
        1.0,
    )
    found = only_income.score(lines(line("rewe")))
    assert found.row(0)[1:] == (None, 0.0, "")


def test_a_partner_prior_multiplies_the_probabilities(random_model: Categoriser) -> None:
    frame = lines(line("rewe", "einkauf"), line("rewe", "einkauf"), line("rewe", "einkauf")).with_columns(
        partner=pl.Series(["REWE", "UNKNOWN", None])
    )
    priors = pl.DataFrame({"partner": ["REWE", "REWE"], "category": ["LIVING_GROCERIES", "SHOPPING_OTHER"], "prior": [0.9, 0.1]})
    found = random_model.score(frame, priors)
    plain = probabilities(random_model, frame)[0]
    prior = np.full(len(random_model.classes), PRIOR_FLOOR)
    for category, share in (("LIVING_GROCERIES", 0.9), ("SHOPPING_OTHER", 0.1)):
        prior[random_model.classes.index(category)] = share
    expected = plain * prior / (plain * prior).sum()
    assert found["category"][0] == random_model.classes[int(expected.argmax())]
    assert found["confidence"][0] == pytest.approx(expected.max(), abs=1e-4)
    assert found["confidence"][1] == found["confidence"][2] == pytest.approx(plain.max(), abs=1e-4)


def test_it_learns_the_town(model: Categoriser) -> None:
    frame, labels = labelled(seed=9)
    assert (model.score(frame)["category"] == labels).sum() > 0.97 * frame.height


def test_it_reads_trades_of_owners_that_it_never_met(model: Categoriser) -> None:
    found = model.score(lines(line("baeckerei oezdemir", channel="CARD"), line("apotheke zum stern", channel="CARD")))
    assert found["category"].to_list() == ["LIVING_GROCERIES", "HEALTH_CONSUMABLES"]
    assert found["words"].str.contains_any(["baeckerei", "apotheke"]).all()


def test_named_words_stand_in_the_line_and_carry_the_category(model: Categoriser) -> None:
    frame, _ = labelled(seed=4)
    found = model.score(frame)
    before = model.logits(texts(frame), np.arange(frame.height))
    named = found["words"].str.split("|").list.set_difference([""])
    text = frame.select(pl.concat_str("merchant", "name", "purpose", separator=" ").str.split(" ")).to_series()
    assert pl.select(named.list.set_difference(text).list.len().sum()).item() == 0
    columns = [
        " ".join(word for word in str(value).split() if word not in words.split("|"))
        for name in ("merchant", "name", "purpose")
        for value, words in zip(frame[name], found["words"], strict=True)
    ]
    thirds = [columns[start : start + frame.height] for start in range(0, len(columns), frame.height)]
    without = frame.with_columns(merchant=pl.Series(thirds[0]), name=pl.Series(thirds[1]), purpose=pl.Series(thirds[2]))
    after = model.logits(texts(without), np.arange(frame.height))
    best = np.array([model.classes.index(name) for name in found["category"]])
    rows = np.arange(frame.height)
    has_words = found["words"].str.len_bytes().to_numpy() > 0
    assert has_words.mean() > 0.95
    assert (before[rows, best] > after[rows, best])[has_words].all()


def test_words_with_collapsed_digits_are_not_named(model: Categoriser) -> None:
    found = model.score(lines(line("mueller", "gehalt0 lohn0 0", positive=True)))
    assert "0" not in found["words"][0]


def test_a_model_comes_back_from_its_file(model: Categoriser, tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    model.save(path)
    loaded = Categoriser.load(path)
    frame, _ = labelled(seed=2)
    assert loaded.version == model.version
    assert loaded.facts == model.facts
    assert loaded.score(frame).equals(model.score(frame))
    with np.load(path, allow_pickle=False) as plain:
        assert set(plain) == {"about", "weights", "scale", "bias"}
    first = path.read_bytes()
    loaded.save(path)
    assert path.read_bytes() == first


def test_versions_name_the_content(model: Categoriser) -> None:
    other = Categoriser(model.label, model.classes, model.weights, model.scale, model.bias + 1, model.temperature, model.facts)
    assert model.version.startswith(f"{SETTINGS.label}-")
    assert other.version != model.version


def rewritten(path: Path, change: Callable[[dict[str, bytes]], None]) -> None:
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def array(value: object, allow_pickle: bool = False) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(value), allow_pickle=allow_pickle)
    return buffer.getvalue()


def huge(members: dict[str, bytes]) -> None:
    header = members["weights.npy"]
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "|i1", "fortran_order": False, "shape": (1 << 40, 90)})
    members["weights.npy"] = buffer.getvalue() + header[-100:]


HOSTILE: dict[str, Callable[[dict[str, bytes]], None]] = {
    "an array is missing": lambda members: members.__delitem__("bias.npy"),
    "there is one array more": lambda members: members.update({"more.npy": array([1.0])}),
    "an array of objects": lambda members: members.update({"bias.npy": array([{}], allow_pickle=True)}),
    "a header that claims terabytes": huge,
    "an array that ends early": lambda members: members.update({"weights.npy": members["weights.npy"][:-5]}),
    "an array that goes on": lambda members: members.update({"weights.npy": members["weights.npy"] + b"12345"}),
    "another number of classes": lambda members: members.update({"bias.npy": array(np.zeros(3, np.float32))}),
    "numbers that are none": lambda members: members.update({"bias.npy": array(np.full(8, np.nan, np.float32))}),
    "altered weights": lambda members: members.update({"weights.npy": members["weights.npy"][:-1] + b"\x55"}),
    "no array at all": lambda members: members.update({"scale.npy": b"text"}),
    "a description that is no object": lambda members: members.update({"about.npy": array(np.frombuffer(b"[1]", np.uint8))}),
    "a description of another format": lambda members: members.update(
        {"about.npy": array(np.frombuffer(b'{"format": 99}', np.uint8))}
    ),
    "an incomplete description": lambda members: members.update({"about.npy": array(np.frombuffer(b'{"format": 1}', np.uint8))}),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_file_is_refused(model: Categoriser, tmp_path: Path, what: str) -> None:
    path = tmp_path / "model.npz"
    model.save(path)
    rewritten(path, HOSTILE[what])
    with pytest.raises(ModelUnreadable):
        Categoriser.load(path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"no archive", b"\x80\x04N."])
def test_what_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.npz"
    path.write_bytes(content)
    with pytest.raises(ModelUnreadable):
        Categoriser.load(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelUnreadable):
        Categoriser.load(tmp_path / "nothing.npz")
