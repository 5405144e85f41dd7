"""Models of tenants: what their users correct is learned for them alone, and only their users are tagged by it."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl
import pytest
import yaml  # type: ignore[import-untyped]

from models import registry
from models.errors import EstimatorInvalid, ModelUnknown, ModelUnreadable, NothingToLearn, PromotionRefused
from models.simulator.worlds import World
from models.training.settings import TrainingSettings
from pipelines import erase, training, training_tenants
from pipelines.assets.training_settings import TenantCandidateConfig, TenantCategoriserConfig
from pipelines.assets.training_tenants import ASSETS, tenant_categoriser, tenant_categoriser_candidate
from pipelines.context import Context
from pipelines.results import buckets, export, live, publish, tags
from pipelines.training_lines import shared_lines, tenant_lines
from tests.models.toys import line, lines
from tests.support.accounts import Account, add_rule, category
from tests.support.stack import Stack, TenantUnderTest
from warehouse.lake.buckets import bucket_of
from warehouse.runtime import files
from warehouse.settings import Settings
from warehouse.stores import results

PAGE = Path(__file__).parents[2] / "docs" / "data-scientists.md"
NOON = datetime(2026, 11, 17, 12, tzinfo=UTC)
WORLD, SMALL = World(users=10, seed=3), TrainingSettings(bits=13, looks=1)
BUCKETS = 64
SAID: dict[str, Any] = {"by": "Ada", "why": "what users corrected", "at": NOON}
SHOP, PERSON, LANDLORD = "Zwirnstube Quendel GmbH", "Erika Wanninger", "Vermieter Schulz"
SHOP_CATEGORY, PERSON_CATEGORY = "RECREATION_HOBBY", "HOUSING_RENT"


@pytest.fixture
def house(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Iterator[Context]:
    """The service's own data directory and database."""
    monkeypatch.setenv("KONTOR_HOME", str(stack.home))
    context = Context.of(Settings(home=stack.home, database_url=stack.where.service, base_url=stack.base_url))
    yield context
    context.database.close()


@pytest.fixture(scope="module")
def tenant(stack: Stack) -> Iterator[TenantUnderTest]:
    """A tenant that consents to learning."""
    consenting = stack.tenant()
    stack.sql("UPDATE tenants SET learns = true WHERE id = :id", id=consenting.tenant_id)
    yield consenting
    stack.sql("UPDATE tenants SET learns = false WHERE id = :id", id=consenting.tenant_id)


@pytest.fixture(scope="module")
def teacher(tenant: TenantUnderTest) -> Account:
    """A customer who has corrected a shop and two private persons, and made a rule."""
    account = Account(tenant.customer())
    correct(account, SHOP, "Rechnung", SHOP_CATEGORY)
    correct(account, PERSON, "Danke", PERSON_CATEGORY)
    correct(account, LANDLORD, "Monat", PERSON_CATEGORY)
    account.add_rule(SHOP_CATEGORY, counterpartyName="Klangwerk Oboe eG")
    add_rule(account.http, tenant.bearer("app"), "LIVING_OTHER", counterpartyName="Kantine Hafen GmbH")
    return account


@pytest.fixture(scope="module")
def school(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with a small shared model in use, and the lines that it has learned from."""
    home = tmp_path_factory.mktemp("school")
    training.make_training_set(home, WORLD)
    candidate = training.train_candidate(home, SMALL)
    registry.promote(home / "models", candidate.model.version, **SAID, override_reason="a small one is enough")
    return home


@pytest.fixture(scope="module")
def taught(
    school: Path, stack: Stack, tenant: TenantUnderTest, teacher: Account
) -> tuple[Path, training_tenants.TenantCandidate]:
    """The tenant's own model, trained and evaluated, and where it is."""
    new = training_tenants.train_own_model(school, stack.database, tenant.tenant_id)
    training.evaluate(school, World(users=10, seed=2, splits=("train", "calibration", "test")), times=10, tenant=tenant.tenant_id)
    return school, new


@pytest.fixture
def home(taught: tuple[Path, training_tenants.TenantCandidate], tmp_path: Path) -> Path:
    """A copy of that place."""
    return shutil.copytree(taught[0], tmp_path / "home")


def correct(account: Account, name: str, purpose: str, item: str) -> str:
    """The id of a booking whose category the customer has corrected."""
    (booking,) = account.push({"gegenkontoInhaber": name, "verwendungszweck": purpose})
    answer = account.customer.call("PUT", f"{account.path}/{booking}", json={"tags": category(item)})
    assert answer.status_code in (200, 204), answer.text
    return booking


def test_persons_never_leave_the_tenant(stack: Stack, tenant: TenantUnderTest, teacher: Account) -> None:
    with stack.database.surveying() as operator:
        own, shared = tenant_lines(operator, tenant.tenant_id), shared_lines(operator)
    user = str(teacher.customer.user_id)
    expected = {
        ("zwirnstube quendel", SHOP_CATEGORY, user),
        ("erika wanninger", PERSON_CATEGORY, user),
        ("vermieter schulz", PERSON_CATEGORY, user),
        ("klangwerk oboe", SHOP_CATEGORY, user),
        ("kantine hafen", "LIVING_OTHER", ""),
    }
    assert {(name.removesuffix(" gmbh").removesuffix(" eg"), *others) for name, *others in names(own)} == expected
    assert {name for name, _, _ in names(shared)} >= {name for name, _, _ in names(own) if name.endswith(("gmbh", "eg"))}
    assert not {name for name, _, _ in names(shared)} & {"erika wanninger", "vermieter schulz"}


def names(lines: pl.DataFrame) -> set[tuple[str, str, str]]:
    """Counterparty, category and user of each line."""
    return set(lines.select("name", "category", "user").rows())


def test_a_tenant_that_does_not_consent_is_not_read(stack: Stack, school: Path) -> None:
    silent = stack.tenant()
    correct(Account(silent.customer()), SHOP, "Rechnung", SHOP_CATEGORY)
    with stack.database.surveying() as operator:
        assert tenant_lines(operator, silent.tenant_id).is_empty()
    with pytest.raises(NothingToLearn, match="does not consent"):
        training_tenants.train_own_model(school, stack.database, silent.tenant_id)


def test_an_erased_user_is_not_learned_from_any_more(house: Context, stack: Stack, tenant: TenantUnderTest) -> None:
    account = Account(tenant.customer())
    correct(account, "Federkiel Morgenrot GmbH", "Rechnung", SHOP_CATEGORY)
    account.add_rule(SHOP_CATEGORY, counterpartyName="Tintenfass Abendrot GmbH")
    user = str(account.customer.user_id)

    def lines_of_user() -> int:
        with stack.database.surveying() as operator:
            return tenant_lines(operator, tenant.tenant_id).filter(user=user).height

    assert lines_of_user() == 2
    erase.erase_user(house, tenant.tenant_id, account.customer.user_id)
    assert lines_of_user() == 0


def test_corrections_are_learned_and_counted(
    taught: tuple[Path, training_tenants.TenantCandidate], tenant: TenantUnderTest
) -> None:
    home, new = taught
    assert (new.lines, new.users) == (5, 1)
    assert new.right_after > new.right_before
    assert new.model.facts["tenant"] == str(tenant.tenant_id)
    assert new.model.facts["shared"] == new.shared == registry.active_version(home / "models")
    assert new.changes["lines"].sum() == new.lines
    assert set(new.changes["merchant"]) == {training_tenants.OTHER_MERCHANTS}, "nobody is named whom few have corrected"
    assert (
        new.changes.filter(corrected=SHOP_CATEGORY)["after"].to_list()
        == [SHOP_CATEGORY] * new.changes.filter(corrected=SHOP_CATEGORY).height
    )
    assert registry.tenants_with_models(home / "models") == [], "training puts nothing into use"


def test_the_same_corrections_give_the_same_model(
    taught: tuple[Path, training_tenants.TenantCandidate], home: Path, stack: Stack, tenant: TenantUnderTest
) -> None:
    again = training_tenants.train_own_model(home, stack.database, tenant.tenant_id)
    assert again.model.version == taught[1].model.version


def test_a_merchant_is_named_if_several_users_have_corrected_it() -> None:
    read_lines = lines(line("zwirnstube quendel"), line("kleiner laden"))
    corrected = pl.concat([read_lines.with_columns(user=pl.lit(user))[: 2 if user == "a" else 1] for user in "abc"])
    shown = training_tenants.shown_merchants(corrected, read_lines)
    assert shown["merchant"].to_list() == ["zwirnstube quendel", training_tenants.OTHER_MERCHANTS]


def test_the_gate_refuses_a_model_that_places_fewer_corrections(home: Path, tenant: TenantUnderTest) -> None:
    version = (training.registry_folder(home, tenant.tenant_id) / "candidate").read_text()
    report = training.corrections_report(home, version, tenant.tenant_id)
    counts = json.loads(report.read_bytes())
    report.write_text(json.dumps({**counts, "right_after": counts["right_before"] - 1}))
    reasons = training.objections(home, tenant=tenant.tenant_id)
    assert [reason for reason in reasons if "corrected lines" in reason] == reasons[-1:]
    with pytest.raises(PromotionRefused, match="corrected lines"):
        training.choose(home, **SAID, tenant=tenant.tenant_id)


def test_promotion_and_rollback_are_the_tenants_own(home: Path, tenant: TenantUnderTest) -> None:
    own, shared = tenant.tenant_id, registry.active_version(home / "models")
    promotion = training.choose(home, **SAID, override=True, tenant=own)
    assert promotion.before == shared
    assert registry.tenants_with_models(home / "models") == [str(own)]
    assert registry.active_version(home / "models") == shared, "what others use stays"
    assert training.choose(home, **SAID, tenant=own).entry is None
    back = training.choose(home, "shared", **SAID, tenant=own)
    assert (back.before, back.after) == (promotion.after, shared)
    assert training.choose(home, promotion.after, **SAID, tenant=own).after == promotion.after, "no gate for what was in use"
    with pytest.raises(ModelUnknown, match="was never in use; what was: shared"):
        registry.roll_back(training.registry_folder(home, own), "2020.1-abcdef", **SAID, base=registry.SHARED_NAME)
    log = registry.log(training.registry_folder(home, own))
    assert [(entry.before, entry.version) for entry in log] == [
        ("shared", promotion.after),
        (promotion.after, "shared"),
        ("shared", promotion.after),
    ]


def test_only_the_tenants_users_are_tagged_by_it_and_results_of_before_are_stale(
    stack: Stack, house: Context, home: Path, tenant: TenantUnderTest, teacher: Account
) -> None:
    pupil, stranger = Account(tenant.customer()), Account(stack.tenant().customer())
    bookings = [account.push({"gegenkontoInhaber": SHOP, "verwendungszweck": "Rechnung"})[0] for account in (pupil, stranger)]
    before = answer_of(stranger, bookings[1])
    assert answer_of(pupil, bookings[0])[1:] == before[1:]
    work(house, pupil)
    assert stale(house, pupil) == []
    training.choose(home, **SAID, override=True, tenant=tenant.tenant_id)
    folder = registry.tenant_folder(stack.home / "models", tenant.tenant_id)
    try:
        files.make_folder(folder.parent)
        shutil.copytree(registry.tenant_folder(home / "models", tenant.tenant_id), folder)
        source, item, version = answer_of(pupil, bookings[0])
        assert (source, item) == ("live", SHOP_CATEGORY)
        assert version == f"{tags.version(tenant.tenant_id)}" != before[2]
        assert answer_of(stranger, bookings[1]) == before
        assert stale(house, pupil) == [pupil.customer.user_id]
        work(house, pupil)
        work(house, stranger)
        assert answer_of(pupil, bookings[0]) == ("precomputed", SHOP_CATEGORY, version)
        assert answer_of(stranger, bookings[1]) == ("precomputed", *before[1:])
        assert stale(house, pupil) == stale(house, stranger) == []
        assert pupil.customer.get("/ai/contracts").headers["X-Analysis-Source"] == "precomputed"
        registry.roll_back(folder, "shared", **SAID, base=registry.SHARED_NAME)
        assert answer_of(pupil, bookings[0]) == ("live", *before[1:])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def answer_of(account: Account, booking: str) -> tuple[str, str, str]:
    """Source of the list, category and version of the tagger of a booking."""
    answer = account.customer.get(account.path, params={"tag": "categories"})
    (tag,) = (row["tags"][0] for row in answer.json() if row["id"] == booking)
    return answer.headers["X-Analysis-Source"], tag["tagTreeItem"]["systemName"], tag["details"]["modelVersion"]


def work(house: Context, account: Account) -> None:
    """Brings the bucket of a customer up to date."""
    bucket, own, base_url = bucket_of(account.customer.user_id, BUCKETS), tags.own_taggers(), house.settings.base_url
    export.export_bucket(house.database, house.lake, bucket, BUCKETS)
    buckets.tag_buckets(house.lake, [bucket], tags.tagger(), own)
    buckets.analyse_buckets(house.lake, [bucket], live.version(base_url), live.own_versions(base_url, own))
    publish.publish_buckets(house.database, house.lake, [bucket], BUCKETS, base_url)
    assert bucket in buckets.unchanged_taggings(house.lake, [bucket], tags.tagger(), own)
    versions = live.version(base_url), live.own_versions(base_url, own)
    assert bucket in buckets.unchanged_analyses(house.lake, [bucket], *versions)


def stale(house: Context, account: Account) -> list[Any]:
    """The customer, if the stored results are not those of now."""
    base_url = house.settings.base_url
    versions = live.version(base_url), live.own_versions(base_url, tags.own_taggers())
    with house.database.surveying() as operator:
        users = results.users_with_stale_result(operator, live.NAMES[0], *versions)
    return [user for user in users if user == account.customer.user_id]


def test_a_model_of_another_tenant_is_not_used(home: Path, stack: Stack, house: Context, tenant: TenantUnderTest) -> None:
    training.choose(home, **SAID, override=True, tenant=tenant.tenant_id)
    thief = stack.tenant()
    folder = registry.tenant_folder(stack.home / "models", thief.tenant_id)
    try:
        files.make_folder(folder.parent)
        shutil.copytree(registry.tenant_folder(home / "models", tenant.tenant_id), folder)
        with pytest.raises(ModelUnreadable, match="not trained for this tenant"):
            registry.find_own(stack.home / "models", thief.tenant_id, registry.active_version(folder))
        assert tags.version(thief.tenant_id) == tags.version()
        assert str(thief.tenant_id) not in tags.own_taggers().models
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_a_damaged_model_is_replaced_by_the_shared_one(home: Path, stack: Stack, house: Context, tenant: TenantUnderTest) -> None:
    training.choose(home, **SAID, override=True, tenant=tenant.tenant_id)
    folder = registry.tenant_folder(stack.home / "models", tenant.tenant_id)
    try:
        files.make_folder(folder.parent)
        shutil.copytree(registry.tenant_folder(home / "models", tenant.tenant_id), folder)
        assert tags.version(tenant.tenant_id) != tags.version()
        (folder / f"{registry.active_version(folder)}.npz").write_bytes(b"rubbish")
        assert tags.version(tenant.tenant_id) == tags.version()
        assert tags.tagger(tenant.tenant_id) is tags.tagger()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_an_estimator_of_somebodys_package_is_not_run_because_a_file_names_it() -> None:
    settings = {**TrainingSettings().model_dump(), "estimator": "os:system"}
    model = replace(registry.shipped(), facts={"settings": settings})
    with pytest.raises(EstimatorInvalid, match="name it in the settings"):
        training_tenants.settings_of(model)


def test_the_shipped_model_has_settings_to_train_with() -> None:
    assert training_tenants.settings_of(registry.shipped()).estimator == "linear"


# As Dagster runs it.


def materialised(asset: dg.AssetsDefinition, home: Path, stack: Stack, config: dict[str, Any]) -> dict[str, Any]:
    """The metadata of a run of one asset."""
    context = Context.of(Settings(home=home, database_url=stack.where.service, base_url=stack.base_url))
    try:
        with dg.DagsterInstance.ephemeral() as instance:
            run = dg.materialize(
                [asset],
                run_config={"ops": {asset.key.to_user_string(): {"config": config}}},
                resources={"kontor": context},
                instance=instance,
            )
        texts = " ".join(str(event) for event in run.all_events).lower()
        assert [text for text in (PERSON, SHOP, LANDLORD) if text.lower() in texts] == []
        (event,) = run.asset_materializations_for_node(asset.key.to_user_string())
        return {name: value.value for name, value in event.metadata.items()}
    finally:
        context.database.close()


def test_dagster_shows_what_the_corrections_changed_without_a_name(
    home: Path, stack: Stack, tenant: TenantUnderTest, teacher: Account
) -> None:
    shown = materialised(tenant_categoriser_candidate, home, stack, {"tenant": tenant.name, "users": 10})
    assert (shown["lines"], shown["correcting_users"]) == (5, 1)
    rows = [record.data for record in shown["changes"].records]
    assert sum(row["lines"] for row in rows) == 5
    assert set(rows[0]) == set(training_tenants.CHANGES)
    version = shown["version"]
    promoted = materialised(
        tenant_categoriser, home, stack, {"tenant": tenant.name, "by": "Ada", "why": "trial", "override": True}
    )
    assert promoted["after"] == version
    assert {record.data["version"]: record.data["in use"] for record in promoted["versions"].records} == {
        "shared": "",
        version: "yes",
    }
    back = materialised(tenant_categoriser, home, stack, {"tenant": tenant.name, "version": "shared", "by": "Ada", "why": "no"})
    assert back["before"] == version


def test_the_assets_are_in_the_group_of_training() -> None:
    for asset in ASSETS:
        (spec,) = asset.specs
        assert (spec.group_name, spec.owners) == ("training", ["team:data-science"])
    assert TenantCandidateConfig(tenant="demo").weight == training_tenants.DEFAULT_WEIGHT
    assert TenantCategoriserConfig(tenant="demo", by="Ada", why="trial").version == ""


@pytest.mark.thorough  # each step is tested above; training four models takes a minute
def test_the_walk_of_the_page_runs(stack: Stack, tenant: TenantUnderTest, teacher: Account, tmp_path: Path) -> None:
    section = PAGE.read_text().split("## A tenant's own model")[1].split("\n## ")[0]
    (walk,) = re.findall(r"^```sh\n(.*?)^```", section, re.M | re.S)
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "KONTOR_HOME": str(tmp_path),
        "KONTOR_DATABASE_URL": stack.where.service,
        "TENANT": tenant.name,
    }
    run = subprocess.run(["bash", "-euo", "pipefail", "-c", walk], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    assert "is in use again" in run.stdout


def test_the_configuration_of_the_page_fits_the_job() -> None:
    section = PAGE.read_text().split("## A tenant's own model")[1].split("\n## ")[0]
    (config,) = (yaml.safe_load(block) for block in re.findall(r"^```yaml\n(.*?)^```", section, re.M | re.S))
    TenantCandidateConfig(**config["ops"]["tenant_categoriser_candidate"]["config"])
