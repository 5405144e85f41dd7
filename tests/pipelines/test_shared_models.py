"""Machines of one installation use the same models: what is put into use on one is taken up by all others."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from analytics.analyses.credit_risk.scorecard import version as scorecard_version
from models import registry
from models.credit_risk import versions
from pipelines import shared_models
from pipelines.results.calibration import calibration_in_use
from tests.models.test_credit_risk import TENANT, fitted, outcomes
from tests.support.databases import migrated_database
from tests.support.stack import running_stack, wait_until
from warehouse.postgres import models_in_use
from warehouse.postgres.database import Database
from warehouse.settings import Settings

SAID: dict[str, Any] = {"by": "ada", "at": datetime(2026, 11, 18, tzinfo=UTC), "why": "a test"}


@pytest.fixture(scope="module")
def database(homes: Path) -> Iterator[Database]:
    with migrated_database(Settings(home=homes / "shared-models")) as where:
        opened = Database(where.service, pool=2)
        yield opened
        opened.close()


@pytest.fixture
def machines(tmp_path: Path, database: Database) -> tuple[Path, Path]:
    with psycopg.connect(database.url.set(drivername="postgresql").render_as_string(hide_password=False)) as connection:
        connection.execute("DELETE FROM models_in_use")
    return tmp_path / "one", tmp_path / "other"


def add_model(home: Path) -> str:
    """The version of a model of another name in the folder of a machine."""
    model = replace(registry.shipped(), label="2026.9")
    registry.add(home / "models", model, {"about": {}, "figures": {}})
    return model.version


def promote(database: Database, home: Path) -> str:
    version = add_model(home)
    with shared_models.changing(database, home):
        registry.promote(home / "models", version, **SAID, override_reason="it is the shipped one")
    return version


def test_a_promotion_on_one_machine_is_taken_up_by_another(database: Database, machines: tuple[Path, Path]) -> None:
    one, other = machines
    assert shared_models.take_up(database, other) == []
    version = promote(database, one)
    assert shared_models.take_up(database, one) == [], "it is in use here already"
    assert shared_models.take_up(database, other) == ["shared"]
    assert registry.active_version(other / "models") == version
    assert registry.choose(other / "models").problem is None
    assert registry.log(other / "models") == registry.log(one / "models")
    assert registry.figures(other / "models" / f"{version}.json") == {}
    assert shared_models.take_up(database, other) == []


def test_a_rollback_is_taken_up_as_well(database: Database, machines: tuple[Path, Path]) -> None:
    one, other = machines
    version = promote(database, one)
    shared_models.take_up(database, other)
    with shared_models.changing(database, other):
        registry.roll_back(other / "models", "shipped", **SAID)
    assert shared_models.take_up(database, one) == ["shared"]
    assert registry.active_version(one / "models") == ""
    assert registry.find(one / "models", version).version == version, "its file stays, to come back"


def test_a_tenant_has_a_model_of_its_own_on_all_machines(database: Database, machines: tuple[Path, Path]) -> None:
    one, other = machines
    tenant = uuid4()
    folder = registry.tenant_folder(one / "models", tenant)
    version = add_model(one)
    (one / "models" / f"{version}.npz").rename(_made(folder) / f"{version}.npz")
    with shared_models.changing(database, one, tenant):
        (folder / "active").write_text(version)
    assert shared_models.take_up(database, other) == [str(tenant)]
    assert registry.active_version(registry.tenant_folder(other / "models", tenant)) == version
    assert registry.active_version(other / "models") == ""


def test_nobody_takes_up_the_model_before_while_another_is_put_into_use(database: Database, machines: tuple[Path, Path]) -> None:
    one, _ = machines
    with shared_models.changing(database, one):
        pass
    version = add_model(one)
    with shared_models.changing(database, one):
        registry.promote(one / "models", version, **SAID, override_reason="it is the shipped one")
        assert shared_models.take_up(database, one) == []
        assert registry.active_version(one / "models") == version
    assert shared_models.take_up(database, one) == []


def test_a_model_that_cannot_be_read_is_not_taken_up(database: Database, machines: tuple[Path, Path]) -> None:
    one, other = machines
    promote(database, one)
    with psycopg.connect(database.url.set(drivername="postgresql").render_as_string(hide_password=False)) as connection:
        connection.execute("UPDATE models_in_use SET model = 'rubbish'")
    assert shared_models.take_up(database, other) == []
    assert registry.active_version(other / "models") == "", "the model before stays in use"
    shared_models._refused_until.clear()


def test_a_change_that_fails_changes_nothing_elsewhere(database: Database, machines: tuple[Path, Path]) -> None:
    one, other = machines
    with pytest.raises(LookupError), shared_models.changing(database, one):
        raise LookupError
    assert shared_models.take_up(database, other) == []


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def test_a_running_service_takes_up_what_another_machine_has_put_into_use(homes: Path, tmp_path: Path) -> None:
    with running_stack(homes / "two-machines", KONTOR_WORKERS="1") as stack:
        customer = stack.tenant().customer()
        customer.connected("demo1")

        def version() -> str:
            return str(customer.get("/ai/contracts").headers["X-Analysis-Version"])

        before = version()
        assert before.startswith(registry.shipped().version)
        promoted = promote(stack.database, tmp_path)
        wait_until(lambda: version().startswith(promoted), 60, version)
        with shared_models.changing(stack.database, tmp_path):
            registry.roll_back(tmp_path / "models", "shipped", **SAID)
        wait_until(lambda: version() == before, 60, version)


def test_a_calibration_is_taken_up_by_other_machines_and_taken_out_of_use_there(
    database: Database, machines: tuple[Path, Path]
) -> None:
    one, other = machines
    tenant, calibration = TENANT, fitted(outcomes()).model_copy(update={"scorecard": scorecard_version()})
    folder, copy = versions.tenant_folder(one, tenant), versions.tenant_folder(other, tenant)
    versions.add(folder, calibration)
    with shared_models.changing_calibration(database, one, tenant):
        versions.promote(folder, calibration.version, **SAID, override_reason="a test")
    assert shared_models.take_up(database, one) == [], "it is in use here already"
    assert shared_models.take_up(database, other) == [f"credit_risk:{tenant}"]
    assert calibration_in_use(other, tenant) == calibration
    assert versions.log(copy) == versions.log(folder)

    with shared_models.changing_calibration(database, other, tenant):
        versions.roll_back(copy, versions.NONE, **SAID)
    assert shared_models.take_up(database, one) == [f"credit_risk:{tenant}"]
    assert calibration_in_use(one, tenant) is None


def test_a_calibration_of_another_tenant_is_not_taken_up(database: Database, machines: tuple[Path, Path]) -> None:
    _, other = machines
    tenant = uuid4()
    with database.operating() as operator:
        stranger = models_in_use.ModelFiles("2026.1-0123abcd", b"{}", None, b"[]")
        models_in_use.put(operator, f"credit_risk:{tenant}", stranger)
    assert shared_models.take_up(database, other) == []
    assert calibration_in_use(other, tenant) is None
