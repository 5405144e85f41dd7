"""Retraining: from the training set to the model in use, as Dagster runs it, and what users' corrections have to do with it."""

import base64
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import dagster as dg
import polars as pl
import pytest
import yaml  # type: ignore[import-untyped]
from pydantic import ValidationError

from analytics import knowledge
from analytics.tagging.tag import Tagger
from models import experiment, registry
from models.categoriser.features import hinted
from models.categoriser.pipeline_model import PipelineCategoriser
from models.errors import ModelUnknown, NothingToLearn, PromotionRefused
from models.evaluation import tagger
from models.evaluation.gates import ANALYSES, GATES
from models.simulator.worlds import TRAINING_WORLD, World
from models.training.settings import TrainingSettings
from models.training.train import EXAMPLES
from pipelines import training
from pipelines.assets.evaluation import analyses_evaluation
from pipelines.assets.training import ASSETS, JOBS, categoriser, categoriser_candidate, categoriser_search, training_set
from pipelines.assets.training_settings import (
    CandidateConfig,
    CategoriserConfig,
    EvaluationConfig,
    SearchConfig,
    TrainingSetConfig,
)
from pipelines.context import Context
from pipelines.training_lines import CORRECTIONS, shared_lines
from tests.models.toys import labelled
from tests.support.accounts import Account, category
from tests.support.databases import migrated_database
from tests.support.stack import Stack
from warehouse.lake import parquet
from warehouse.secrets.vault import create_ring
from warehouse.settings import Settings

ROOT = Path(__file__).parents[2]
NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
LEARNED = World(users=10, seed=3)
POOR = TrainingSettings(bits=13, looks=1)
TINY = {
    "training_set": {"config": {"users": LEARNED.users, "seed": LEARNED.seed}},
    "categoriser_candidate": {"config": {"bits": POOR.bits, "looks": POOR.looks}},
    "categoriser_evaluation": {"config": {"users": 10}},
}
SAID = {"by": "Ada", "why": "more merchants"}


def house_at(home: Path, database_url: str = "postgresql://nowhere/none") -> Context:
    settings = Settings(home=home, database_url=database_url)
    if not settings.keys_path.exists():
        create_ring(settings.keys_path)
    return Context.of(settings)


def definitions(house: Context) -> dg.Definitions:
    return dg.Definitions(assets=ASSETS, jobs=JOBS, resources={"kontor": house}, executor=dg.in_process_executor)


def metadata(run: dg.ExecuteInProcessResult, asset: str) -> dict[str, Any]:
    (event,) = run.asset_materializations_for_node(asset)
    return {name: value.value for name, value in event.metadata.items()}


class Promote(Protocol):
    def __call__(self, home: Path, raise_on_error: bool = True, **config: Any) -> dg.ExecuteInProcessResult:
        """A run that materialises the model in use."""


@pytest.fixture(scope="module")
def promoted(homes: Path) -> Iterator[Promote]:
    with migrated_database(Settings(home=homes / "training")) as where:

        def promote(home: Path, raise_on_error: bool = True, **config: Any) -> dg.ExecuteInProcessResult:
            house = house_at(home, where.service)
            run = materialised(categoriser, house, {**SAID, **config}, raise_on_error)
            house.database.close()
            return run

        yield promote


def materialised(
    asset: dg.AssetsDefinition, house: Context, config: dict[str, Any], raise_on_error: bool = True
) -> dg.ExecuteInProcessResult:
    """A run of one asset."""
    ops = {asset.key.to_user_string(): {"config": config}}
    with dg.DagsterInstance.ephemeral() as instance:
        return dg.materialize(
            [asset], run_config={"ops": ops}, resources={"kontor": house}, instance=instance, raise_on_error=raise_on_error
        )


def gate(run: dg.ExecuteInProcessResult) -> tuple[bool, Any]:
    """Whether the check of the model in use has passed, and how many objections it names."""
    (check,) = run.get_asset_check_evaluations()
    return check.passed, check.metadata["objections"].value


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dg.ExecuteInProcessResult]:
    """The whole chain, run once with hardly anybody to learn from, and where it was."""
    home = tmp_path_factory.mktemp("home")
    job = definitions(house_at(home)).resolve_job_def("train_job")
    with dg.DagsterInstance.ephemeral() as instance:
        return home, job.execute_in_process(run_config={"ops": TINY}, instance=instance)


@pytest.fixture
def home(run: tuple[Path, dg.ExecuteInProcessResult], tmp_path: Path) -> Path:
    """A copy of what the chain has left."""
    return shutil.copytree(run[0], tmp_path / "home")


@pytest.fixture
def version(home: Path) -> str:
    return (home / "models" / "candidate").read_text()


def listed(found: Any) -> list[str]:
    """The sentences of a table of reasons."""
    return [record.data["reason"] for record in found.records]


def picture(markdown: str) -> bytes:
    found = re.fullmatch(r"!\[plot]\(data:image/png;base64,([A-Za-z0-9+/=]+)\)", markdown)
    assert found
    return base64.b64decode(found[1])


def test_training_changes_nothing_that_is_in_use(run: tuple[Path, dg.ExecuteInProcessResult]) -> None:
    home, result = run
    assert result.success
    assert registry.active_version(home / "models") == ""
    assert registry.log(home / "models") == []
    found = [known.version for known in registry.versions(home / "models")]
    assert found == ["shipped", metadata(result, "categoriser_candidate")["version"]]


def test_the_training_set_is_told_in_counts_and_a_picture(run: tuple[Path, dg.ExecuteInProcessResult]) -> None:
    home, result = run
    told, kept = metadata(result, "training_set"), training.training_set(home)
    assert (told["dagster/row_count"], told["lines"]) == (kept.simulated.height, kept.simulated["key"].n_unique())
    assert (told["corrections"], told["correcting_users"], told["share_of_corrections"]) == (0, 0, 0)
    assert told["categories"] == kept.simulated["category"].n_unique()
    assert [column.name for column in told["dagster/column_schema"].columns] == EXAMPLES.names()
    assert picture(told["lines_by_category"]).startswith(b"\x89PNG")
    assert kept.world["users"] == LEARNED.users


def test_dagster_trains_the_model_that_the_command_line_trains(run: tuple[Path, dg.ExecuteInProcessResult]) -> None:
    home, result = run
    told = metadata(result, "categoriser_candidate")
    assert told["version"] == experiment.train_categoriser(LEARNED, POOR).version
    assert told["settings"] == POOR.model_dump()
    assert told["estimator"] == "linear"
    assert told["training_set"] == training.training_set(home).version
    assert told["bytes"] == (home / "models" / f"{told['version']}.npz").stat().st_size
    assert told["seconds"] > 0


def test_the_evaluation_shows_every_gate_for_candidate_and_incumbent(run: tuple[Path, dg.ExecuteInProcessResult]) -> None:
    home, result = run
    told = metadata(result, "categoriser_evaluation")
    rows = [record.data for record in told["gates"].records]
    assert [row["figure"] for row in rows] == [f"{gate.analysis}: {gate.metric}" for gate in GATES]
    for row in rows:
        sign = 1 if row["gate"].startswith("≥") else -1
        assert row["better by"] == pytest.approx(sign * (row["candidate"] - row["in use"]), abs=2e-4)
    assert told["in_use"] == registry.shipped().version
    assert told["gates_missed"] == sum(row["verdict"] == "missed" for row in rows) > 0
    assert all(picture(told[name]).startswith(b"\x89PNG") for name in ("better_or_worse", "confusion_matrix", "reliability"))
    reports = home / "models" / "evaluations" / told["candidate"]
    assert {path.name for path in reports.glob("*.md")} == {"candidate.md", "incumbent.md", "comparison.md"}
    registered = registry.figures(home / "models" / f"{told['candidate']}.json")
    assert registered == registry.figures(reports / "candidate.json") != registry.figures(reports / "incumbent.json")


def test_the_evaluation_says_that_a_poor_candidate_stays_out(run: tuple[Path, dg.ExecuteInProcessResult]) -> None:
    home, result = run
    told, against = metadata(result, "categoriser_evaluation"), training.objections(home)
    assert told["verdict"] == f"{registry.shipped().version} stays in use"
    assert listed(told["objections"]) == against
    assert all(reason in told["whole_comparison"] for reason in against)
    ready = yaml.safe_load(told["to_promote"].removeprefix("```yaml").removesuffix("```"))["ops"]["categoriser"]["config"]
    assert CategoriserConfig(**ready).override


def test_the_evaluation_tells_which_category_became_which_one(run: tuple[Path, dg.ExecuteInProcessResult]) -> None:
    home, result = run
    told = metadata(result, "categoriser_evaluation")
    found = json.loads((home / "models" / "evaluations" / told["candidate"] / "comparison.json").read_text())
    assert told["changed_share"] == pytest.approx(found["changed"] / found["bookings"])
    assert 0 < found["righted"] + found["wronged"] <= found["changed"] < found["bookings"]
    rows = [record.data for record in told["changed_categories"].records]
    assert rows[0]["before → now"] == f"{found['changes'][0]['before']} → {found['changes'][0]['now']}"
    assert rows[0]["bookings"] == found["changes"][0]["rows"] >= rows[0]["mended"] + rows[0]["spoilt"]


def test_the_figures_are_numbers_that_dagster_draws_over_time(run: tuple[Path, dg.ExecuteInProcessResult]) -> None:
    home, result = run
    told = metadata(result, "categoriser_evaluation")
    registered = registry.figures(home / "models" / f"{told['candidate']}.json")
    assert {name: told[name] for name in registered} == {name: found.value for name, found in registered.items()}


def test_events_of_the_chain_are_in_the_group_of_training_with_owners() -> None:
    for asset in ASSETS:
        (spec,) = asset.specs
        assert (spec.group_name, spec.owners) == ("training", ["team:data-science"])
        assert spec.description


def test_the_analyses_are_evaluated_in_figures_and_pictures(tmp_path: Path) -> None:
    found = materialised(analyses_evaluation, house_at(tmp_path), {"people": 5, "seed": 3})
    told = metadata(found, "analyses_evaluation")
    rows = [record.data for record in told["figures"].records]
    assert [(row["analysis"], row["figure"]) for row in rows] == [(gate.analysis, gate.metric) for gate in ANALYSES]
    assert (told["people"], told["seed"], told["model"]) == (5, 3, registry.shipped().version)
    assert all(picture(told[name]).startswith(b"\x89PNG") for name in ("gates", "next_dates", "cashflow"))
    missed = sum(row["verdict"] == "missed" for row in rows)
    (check,) = found.get_asset_check_evaluations()
    assert (check.passed, check.severity) == (missed == 0, dg.AssetCheckSeverity.WARN)
    assert told["gates_missed"] == check.metadata["gates_missed"].value == missed
    assert (tmp_path / "models" / "evaluations" / "analyses" / "analyses.md").exists()


def test_nothing_evaluates_the_analyses_by_itself() -> None:
    from pipelines.definitions import defs

    jobs = {job.name: {node.name for node in job.nodes} for job in defs.resolve_all_job_defs()}
    assert [name for name, nodes in jobs.items() if "analyses_evaluation" in nodes] == ["__ASSET_JOB"]


def test_a_poor_candidate_is_refused(home: Path, version: str, promoted: Promote) -> None:
    found = promoted(home, raise_on_error=False)
    assert not found.success
    (failure,) = (event for event in found.all_events if event.is_step_failure)
    assert "PromotionRefused: category_seen_accuracy is" in str(failure.step_failure_data.user_failure_data)
    assert "override: true" in str(failure.step_failure_data.user_failure_data)
    assert registry.active_version(home / "models") == ""
    assert registry.log(home / "models") == []


def test_an_override_is_recorded_with_what_it_set_aside(home: Path, version: str, promoted: Promote) -> None:
    against = training.objections(home)
    found = promoted(home, override=True)
    told = metadata(found, "categoriser")
    assert (told["before"], told["after"]) == (registry.shipped().version, version)
    assert told["objections_overridden"] == len(against)
    assert listed(told["overridden"]) == against
    assert "analyses_job" in told["tag_again"]
    assert [record.data["change"] for record in told["changes"].records] == [f"shipped → {version}"]
    assert {record.data["version"]: record.data["in use"] for record in told["versions"].records} == {
        "shipped": "",
        version: "yes",
    }
    (entry,) = registry.log(home / "models")
    assert (entry.version, entry.by, entry.why) == (version, "Ada", "more merchants (gate overridden)")
    assert entry.overridden == tuple(against)
    assert gate(found) == (False, len(against))
    assert gate(promoted(home, version=version)) == (False, len(against)), "it stays so while that model is in use"
    assert gate(promoted(home, version="shipped")) == (True, 0)
    assert gate(promoted(home, version=version)) == (False, len(against))
    (event,) = found.asset_materializations_for_node("categoriser")
    assert event.tags is not None
    assert event.tags["dagster/data_version"] == version


def test_any_version_that_was_in_use_comes_back_without_a_gate(home: Path, version: str, promoted: Promote) -> None:
    promoted(home, override=True)
    back = metadata(promoted(home, version=registry.shipped().version, why="too many complaints"), "categoriser")
    assert f"version: {version}" in back["to_roll_back"]
    assert (back["before"], back["after"]) == (version, registry.shipped().version)
    again = metadata(promoted(home, version=version), "categoriser")
    assert (again["before"], again["after"], again["objections_overridden"]) == (registry.shipped().version, version, 0)
    assert [(entry.before, entry.version) for entry in registry.log(home / "models")] == [
        ("shipped", version),
        (version, "shipped"),
        ("shipped", version),
    ]


def test_what_is_in_use_stays_so_and_nothing_is_logged(home: Path, version: str, promoted: Promote) -> None:
    for name in ("shipped", "active"):
        told = metadata(promoted(home, version=name), "categoriser")
        assert (told["before"], told["after"]) == (registry.shipped().version,) * 2
        assert told["tag_again"] == "nothing has changed"
    assert registry.log(home / "models") == []


def test_a_candidate_that_passes_needs_no_override(home: Path, version: str, promoted: Promote) -> None:
    folder = home / "models"
    found = json.loads(registry.SHIPPED_REPORT.read_text())
    for role in ("candidate", "incumbent"):
        path = folder / "evaluations" / version / f"{role}.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "figures": found["figures"]}))
    assert training.objections(home) == []
    told = metadata(promoted(home), "categoriser")
    assert (told["after"], told["objections_overridden"], told["overridden"]) == (version, 0, "none")


def test_figures_of_another_incumbent_are_no_comparison(home: Path, version: str) -> None:
    """Between evaluation and promotion somebody else has promoted: the registered figures decide."""
    path = home / "models" / "evaluations" / version / "incumbent.json"
    told = json.loads(path.read_text())
    path.write_text(json.dumps({**told, "about": {**told["about"], "model": "another-1"}}))
    (home / "models" / f"{version}.json").write_text(registry.SHIPPED_REPORT.read_text())
    assert training.objections(home) == []


def test_a_version_that_nobody_has_trained_is_refused(home: Path, tmp_path: Path) -> None:
    said: dict[str, Any] = {**SAID, "at": NOON}
    with pytest.raises(ModelUnknown):
        training.choose(home, "2026.1.1-abcdef", **said, override=True)
    with pytest.raises(ModelUnknown):
        training.choose(home, "../../etc/passwd", **said, override=True)
    with pytest.raises(ModelUnknown):
        training.choose(tmp_path / "nowhere", **said)
    with pytest.raises(PromotionRefused):
        training.choose(home, **said)


@pytest.mark.parametrize("seed", [LEARNED.seed, TRAINING_WORLD.seed])
def test_no_model_is_examined_on_a_world_that_it_or_the_other_has_learned_from(home: Path, seed: int) -> None:
    with pytest.raises(NothingToLearn):
        training.evaluate(home, replace(tagger.TEST_WORLD, users=10, seed=seed))


def test_without_a_training_set_nothing_is_trained(tmp_path: Path) -> None:
    with pytest.raises(NothingToLearn):
        training.train_candidate(tmp_path, POOR)


def test_training_the_same_again_keeps_its_report(home: Path, version: str) -> None:
    before = (home / "models" / f"{version}.json").read_bytes()
    assert training.train_candidate(home, POOR).model.version == version
    assert (home / "models" / f"{version}.json").read_bytes() == before


def test_a_search_shows_its_course_and_the_next_candidate_uses_what_it_found(home: Path) -> None:
    small = {"estimator": "naive_bayes", "trials": 3, "lines": 1500, "folds": 2}
    told = metadata(materialised(categoriser_search, house_at(home), small), "categoriser_search")
    assert picture(told["course"]).startswith(b"\x89PNG")
    assert picture(told["learning_curve"]).startswith(b"\x89PNG")
    assert [record.data["round"] for record in told["trials"].records] == [1, 0, 0, 0]
    assert 0 < told["score"] < 1
    searched = {"bits": POOR.bits, "looks": 1, "searched": True}
    trained = metadata(materialised(categoriser_candidate, house_at(home), searched), "categoriser_candidate")
    assert trained["estimator"] == "naive_bayes"
    assert trained["settings"]["parameters"] == told["parameters"]
    model = registry.find(home / "models", trained["version"])
    assert isinstance(model, PipelineCategoriser)
    assert registry.choose(home / "models").model.version == registry.shipped().version
    entry = training.choose(home, trained["version"], at=NOON, override=True, by="Ada", why="trial").entry
    assert entry is not None
    assert registry.active(home / "models").version == trained["version"]
    assert training.choose(home, "shipped", at=NOON, by="Ada", why="trial").after == registry.shipped().version


def test_without_a_search_there_is_nothing_to_use_of_it(home: Path) -> None:
    with pytest.raises(ModelUnknown, match="no parameters were searched yet"):
        training.with_searched_parameters(home, POOR)


def corrected(*users: str) -> pl.DataFrame:
    """Corrections of these users, one line after the other."""
    lines, labels = labelled(copies=1)
    frame = hinted(lines).with_columns(category=labels, count=pl.lit(1.0), part=pl.lit("train")).head(len(users))
    own = frame.with_columns(user=pl.Series(users), access=pl.concat_str(pl.lit("access of "), pl.Series(users)))
    return own.select(CORRECTIONS.names())


def test_a_user_is_forgotten(home: Path) -> None:
    folder = home / "models" / "training"
    (folder / training.FEEDBACK).write_bytes(parquet.encode(corrected("anna", "bert", "anna"), {}))
    (folder / ".writing-0123").write_bytes(b"anna, of a writer that was killed")
    before = training.training_set(home)
    assert training.forget(home, ["anna", "nobody"]).rows == 2
    after = training.training_set(home)
    assert after.feedback["user"].to_list() == ["bert"]
    assert after.version != before.version
    assert [path for path in folder.iterdir() if b"anna" in path.read_bytes()] == []
    assert training.forget(home, ["anna"]).rows == 0
    assert training.forget(home, ["access of bert"], kind="access").rows == 1
    assert not (folder / training.FEEDBACK).exists()


def test_a_user_is_forgotten_in_files_of_an_older_version(home: Path) -> None:
    path = home / "models" / "training" / training.FEEDBACK
    path.write_bytes(parquet.encode(corrected("anna", "bert").drop("city"), {}))
    assert training.forget(home, ["anna"]).rows == 1
    assert pl.read_parquet(path)["user"].to_list() == ["bert"]


def test_where_nothing_was_trained_nobody_needs_to_be_forgotten(tmp_path: Path) -> None:
    assert training.forget(tmp_path, ["anna"]).rows == 0
    assert list(tmp_path.iterdir()) == []


def test_the_defaults_are_those_of_the_shipped_model() -> None:
    assert TrainingSettings(**CandidateConfig().model_dump()) == TrainingSettings()
    assert replace(TRAINING_WORLD, users=TrainingSetConfig().users, seed=TrainingSetConfig().seed) == TRAINING_WORLD
    assert replace(tagger.TEST_WORLD, users=EvaluationConfig().users, seed=EvaluationConfig().seed) == tagger.TEST_WORLD


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (TrainingSetConfig, {"users": 9}),
        (TrainingSetConfig, {"feedback_weight": 0}),
        (CandidateConfig, {"looks": 0}),
        (CandidateConfig, {"estimator": "rm -rf"}),
        (SearchConfig, {"trials": 1}),
        (CandidateConfig, {"label": "../up"}),
        (CandidateConfig, {"hidden_words": 1}),
        (EvaluationConfig, {"users": 20_001}),
        (CategoriserConfig, {"by": "", "why": "because"}),
        (CategoriserConfig, {"by": "Ada", "why": ""}),
    ],
)
def test_what_is_out_of_range_is_refused(kind: type[dg.Config], given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        kind(**given)


def test_the_configurations_of_the_page_fit_the_jobs(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "data-scientists.md").read_text()
    section = page.split("## Retraining in the Dagster UI")[1].split("\n## ")[0]
    train, search, promote, back = (yaml.safe_load(block) for block in re.findall(r"^```yaml\n(.*?)^```", section, re.M | re.S))
    found = definitions(house_at(tmp_path))
    dg.validate_run_config(found.resolve_job_def("train_job"), train)
    dg.validate_run_config(found.resolve_job_def("search_job"), search)
    for config in (promote, back):
        dg.validate_run_config(found.resolve_job_def("promote_job"), config)
    fields = {"training_set": TrainingSetConfig, "categoriser_candidate": CandidateConfig}
    for name, kind in fields.items():
        kind(**train["ops"][name]["config"])
    SearchConfig(**search["ops"]["categoriser_search"]["config"])


# Corrections, with a real database.

LANDLORD, SECRET = "Hausverwaltung Schulz GmbH", "DE02120300000000202051"


@pytest.fixture(scope="module")
def teachers(stack: Stack) -> Iterator[list[Account]]:
    """Two customers of a tenant that consents, and one of a tenant that does not, who have corrected the same bookings."""
    consenting, silent = stack.tenant(), stack.tenant()
    stack.sql("UPDATE tenants SET learns = true WHERE id = :id", id=consenting.tenant_id)
    accounts = [Account(consenting.customer()), Account(consenting.customer()), Account(silent.customer())]
    rent = {"gegenkontoInhaber": LANDLORD, "gegenkontoIban": SECRET, "verwendungszweck": "Miete Vertrag 4711", "betrag": -900}
    for account in accounts:
        choose(account, rent, "HOUSING_RENT")
    choose(accounts[0], {**rent, "verwendungszweck": "Miete Vertrag 9922"}, "HOUSING_RENT")
    choose(accounts[0], {**rent, "verwendungszweck": "Umbuchung"}, "TRANSFER_INTERNAL")
    choose(accounts[1], {**rent, "gegenkontoInhaber": unseen_brand(), "verwendungszweck": "Einkauf"}, "LIVING_GROCERIES")
    yield accounts
    stack.sql("UPDATE tenants SET learns = false WHERE id = :id", id=consenting.tenant_id)


def choose(account: Account, booking: dict[str, Any], item: str) -> None:
    (id_,) = account.push(booking)
    answer = account.customer.call("PUT", f"{account.path}/{id_}", json={"tags": category(item)})
    assert answer.status_code in (200, 204), answer.text


def unseen_brand() -> str:
    """A brand that only the examination knows."""
    brain = Tagger(registry.shipped())
    learnable = set(tagger.without_unseen_partners(brain).catalogue.frame["partner"])
    named = tagger.partner_of_brands(brain.catalogue)
    return next(brand for brand, partner in named.items() if partner not in {*learnable, knowledge.UNKNOWN})


def learnt(home: Path, stack: Stack, feedback: bool) -> dg.ExecuteInProcessResult:
    """A run that makes the training set of ten people."""
    config = {"users": 10, "seed": LEARNED.seed, "feedback": feedback, "feedback_weight": 2}
    house = house_at(home, stack.where.service)
    try:
        return materialised(training_set, house, config)
    finally:
        house.database.close()


def test_only_lines_of_tenants_that_consent_are_learned(stack: Stack, teachers: list[Account]) -> None:
    with stack.database.surveying() as operator:
        found = shared_lines(operator, weight=2)
    own = [str(account.customer.user_id) for account in teachers]
    assert sorted(found["user"]) == sorted(own[:2])
    assert set(found.select("name", "category", "count", "part").rows()) == {
        ("hausverwaltung schulz gmbh", "HOUSING_RENT", 2.0, "train")
    }
    assert found["key"].n_unique() == 1
    texts = str(found.drop("user", "access", "key").rows())
    assert SECRET.lower() not in texts
    assert "4711" not in texts


def test_corrections_are_learned_where_that_is_wanted(home: Path, stack: Stack, teachers: list[Account]) -> None:
    before = training.training_set(home)
    result = learnt(home, stack, feedback=True)
    told, kept = metadata(result, "training_set"), training.training_set(home)
    assert (told["corrections"], told["correcting_users"]) == (2, 2)
    assert told["share_of_corrections"] == pytest.approx(2 / kept.examples.height)
    ours = kept.examples.join(kept.feedback, on=["key", "category"], how="semi")
    assert ours.select("category", "count", "part").rows() == [("HOUSING_RENT", 4.0, "train")]
    assert kept.simulated.equals(before.simulated)
    assert kept.version != before.version
    private = [LANDLORD.lower(), *(str(account.customer.user_id) for account in teachers)]
    events = " ".join(str(event) for event in result.all_events).lower()
    assert [text for text in private if text in events] == []

    candidate = training.train_candidate(home, POOR)
    assert candidate.model.facts["corrections"] == 2
    assert candidate.model.facts["training_set"] == kept.version
    assert training.forget(home, [str(teachers[0].customer.user_id)]).rows == 1
    assert training.training_set(home).feedback["user"].to_list() == [str(teachers[1].customer.user_id)]


def test_a_set_without_corrections_keeps_none_of_an_earlier_one(home: Path, stack: Stack, teachers: list[Account]) -> None:
    (home / "models" / "training" / training.FEEDBACK).write_bytes(parquet.encode(corrected("anna"), {}))
    learnt(home, stack, feedback=False)
    assert not (home / "models" / "training" / training.FEEDBACK).exists()
