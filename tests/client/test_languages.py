"""Clients in Python, TypeScript and Java, generated with the commands of `docs/tenants/clients.md`: no generator complains, every
enumeration of the document is there, everything compiles with all warnings on, and each client is used once.

The commands download generators and libraries, so `make clients` and `make thorough` run this. `make clients` keeps the clients
in the folder `CLIENTS_FOLDER` and does not accept a missing tool.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.client.calling import Generated
from tests.support.stack import PASSWORD, Customer, Stack

pytestmark = pytest.mark.thorough
HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "tenants" / "clients.md"
KEPT = os.environ.get("CLIENTS_FOLDER")
TOOLS = {"Python": ("openapi-python-client",), "TypeScript": ("node", "npm"), "Java": ("java", "mvn")}
LANGUAGES = tuple(TOOLS)
COMPLAINT = re.compile(r"\bWARN(ING)?\b|\bERROR\b|⚠|✘")
BETA = "OpenAPI 3.1 support is still in beta"
"""What the generator for Java says of itself, whatever the document."""
LIST_OF_FILES = "Could not compute datatypeWithEnum from File, null"
"""What it says of every form field that is a list, because it looks for an enumeration in it."""
HARMLESS = (BETA, LIST_OF_FILES)
NO_DOWNLOAD = re.compile(
    r"Unknown host|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ECONNREFUSED|Could not (transfer|find) artifact|No matching dist"
)
IMPORT_ALL = """
import importlib, pkgutil, kontor_client
for module in pkgutil.walk_packages(kontor_client.__path__, "kontor_client."):
    importlib.import_module(module.name)
"""


@dataclass(frozen=True)
class Tenant:
    """A customer with a connected bank, and what a tenant's shell knows to read its data."""

    customer: Customer
    environment: dict[str, str]


@pytest.fixture(scope="module")
def tenant(service: Stack, environment: dict[str, str]) -> Tenant:
    customer = service.tenant().customer()
    customer.connected("demo1", key="hausbank")
    app = ":".join(customer.tenant.basic("app"))
    return Tenant(customer, {**environment, "APP": app, "DEMO_USER": customer.username, "DEMO_PASSWORD": PASSWORD})


@pytest.fixture(scope="module", params=LANGUAGES)
def language(request: pytest.FixtureRequest) -> str:
    """A language whose tools are here."""
    name: str = request.param
    if missing := [
        tool for tool in TOOLS[name] if shutil.which(tool, path=f"{Path(sys.executable).parent}:{os.environ['PATH']}") is None
    ]:
        _give_up(f"{name}: {' and '.join(missing)} cannot be found")
    return name


@pytest.fixture(scope="module")
def folder(language: str, tenant: Tenant, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the page's commands have generated the client of a language, without a complaint."""
    place = (Path(KEPT).resolve() if KEPT else tmp_path_factory.mktemp("clients")) / language.lower()
    shutil.rmtree(place, ignore_errors=True)
    ours = HERE / language.lower()
    shutil.copytree(ours, place) if ours.exists() else place.mkdir(parents=True)
    output = _run(["bash", "-euo", "pipefail", "-c", commands(language)], place, tenant)
    complaints = [line for line in output.splitlines() if COMPLAINT.search(line) and not any(text in line for text in HARMLESS)]
    assert complaints == []
    return place


def commands(language: str) -> str:
    """What the page tells to do for a language."""
    chapter = PAGE.read_text().split(f"\n## {language}\n")[1].split("\n## ")[0]
    return str(re.findall(r"^```sh\n(.*?)^```", chapter, re.M | re.S)[0])


def test_all_enumerations_of_the_document_exist(language: str, folder: Path) -> None:
    document = json.loads((folder / "openapi.json").read_text())
    schemas = document["components"]["schemas"]
    enumerations = {name: set(schema["enum"]) for name, schema in schemas.items() if "enum" in schema}
    assert len(enumerations) > 20
    assert {name: words for name, words in WORDS[language](folder).items() if name in enumerations} == enumerations


def test_it_compiles_with_all_warnings_on_and_reads_what_the_interface_answers(
    language: str, folder: Path, tenant: Tenant, service: Stack
) -> None:
    assert STORIES[language](folder, tenant) == expected(tenant.customer)


def expected(customer: Customer) -> dict[str, Any]:
    """What the story of a client reads, read without a client."""
    accesses = customer.read("/bankzugaenge")
    account = next(item["id"] for item in accesses["hausbank"]["bankprodukte"] if item["kategorie"] == "GIROKONTO")
    bookings = customer.bookings("hausbank", account, tag="categories", limit=5)
    return {
        "accesses": list(accesses),
        "categories": [booking["tags"][0]["tagTreeItem"]["systemName"] for booking in bookings],
        "contracts": [contract["details"]["status"] for contract in customer.read("/ai/contracts")],
        "income": customer.read("/ai/affordability")["details"]["income"]["amount"],
    }


def _python_words(folder: Path) -> dict[str, set[str]]:
    texts = [path.read_text() for path in (folder / "client" / "kontor_client" / "models").glob("*.py")]
    return {
        name: set(re.findall(r'^    \w+ = "(.*)"$', body, re.M))
        for text in texts
        for name, body in re.findall(r"^class (\w+)\((?:str, Enum|StrEnum)\):\n(.*?)(?=^\S|\Z)", text, re.M | re.S)
    }


def _typescript_words(folder: Path) -> dict[str, set[str]]:
    enums = re.findall(r"^export enum (\w+) \{(.*?)^\}", (folder / "kontor.ts").read_text(), re.M | re.S)
    return {name: set(re.findall(r'= "(.*?)"', body)) for name, body in enums}


def _java_words(folder: Path) -> dict[str, set[str]]:
    texts = [path.read_text() for path in (folder / "client/src/main/java/kontor/model").glob("*.java")]
    enums = (match for text in texts for match in re.findall(r"^public enum (\w+) \{(.*?);$", text, re.M | re.S))
    return {name: set(re.findall(r'^  \w+\("(.*?)"\)', body, re.M)) for name, body in enums}


def _python_story(folder: Path, tenant: Tenant) -> dict[str, Any]:
    """The story by a client in this process, after a look that every module can be loaded without a warning."""
    client = folder / "client"
    loaded = {**tenant.environment, "PYTHONPATH": os.pathsep.join([str(client), *sys.path])}
    subprocess.run([sys.executable, "-W", "error", "-c", IMPORT_ALL], env=loaded, check=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(client))
        story = _told_by(Generated(client, tenant.customer.tenant.stack.base_url), tenant)
        for name in [name for name in sys.modules if name.split(".")[0] == "kontor_client"]:
            del sys.modules[name]
    return story


def _told_by(kontor: Generated, tenant: Tenant) -> dict[str, Any]:
    models = kontor.models
    form = models.TokenForm(grant_type=models.GrantType.PASSWORD, username=tenant.customer.username, password=PASSWORD)
    token = kontor.by_basic(*tenant.customer.tenant.basic("app")).read("tokens.issue_token", body=form).access_token
    call = kontor.by_token(token)
    accesses = call.read("customer.list_accesses")
    account = next(item.id for item in accesses["hausbank"].bankprodukte if item.kategorie == models.ProductCategory.GIROKONTO)
    bookings = call.read("customer.list_transactions", "hausbank", account, tag=models.TagView.CATEGORIES, limit=5)
    return {
        "accesses": accesses.additional_keys,
        "categories": [booking.tags[0].tag_tree_item.system_name for booking in bookings],
        "contracts": [contract.details.status.value for contract in call.read("analyses.list_contracts")],
        "income": call.read("analyses.get_affordability").details.income.amount,
    }


def _typescript_story(folder: Path, tenant: Tenant) -> dict[str, Any]:
    _run(["node", "node_modules/typescript/bin/tsc", "--project", "."], folder, tenant)
    return _last_line(_run(["node", "built/story.js"], folder, tenant))


def _java_story(folder: Path, tenant: Tenant) -> dict[str, Any]:
    shutil.copy(folder / "Story.java", folder / "client/src/main/java")
    output = _run(["mvn", "--batch-mode", "--no-transfer-progress", "--quiet", "compile", "jar:jar"], folder, tenant)
    assert not COMPLAINT.search(output), output[-3000:]
    return _last_line(_run(["java", "-jar", "target/kontor-client-1.jar"], folder, tenant))


def _last_line(output: str) -> dict[str, Any]:
    """What a story has printed."""
    story: dict[str, Any] = json.loads(next(line for line in reversed(output.splitlines()) if line.startswith("{")))
    return story


def _run(command: list[str], folder: Path, tenant: Tenant) -> str:
    """What a command says that must succeed; the test is left out where nothing can be downloaded."""
    run = subprocess.run(command, cwd=folder, env=tenant.environment, capture_output=True, text=True)
    output = run.stdout + run.stderr
    if run.returncode and NO_DOWNLOAD.search(output) and not KEPT:
        _give_up(f"a generator or library cannot be downloaded here: {output[-300:]}")
    assert run.returncode == 0, output[-5000:]
    return output


def _give_up(reason: str) -> None:
    (pytest.fail if KEPT else pytest.skip)(reason)


WORDS: dict[str, Callable[[Path], dict[str, set[str]]]] = {
    "Python": _python_words,
    "TypeScript": _typescript_words,
    "Java": _java_words,
}
STORIES: dict[str, Callable[[Path, Tenant], dict[str, Any]]] = {
    "Python": _python_story,
    "TypeScript": _typescript_story,
    "Java": _java_story,
}
