"""The OpenAPI document: complete, true, and a source of tests of its own."""

import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.spec.generating import configured
from tests.support.stack import Stack


@pytest.fixture(scope="module")
def document(http: httpx.Client) -> dict[str, Any]:
    found: dict[str, Any] = http.get("/openapi.json").json()
    return found


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [(method, path, item) for path, methods in document["paths"].items() for method, item in methods.items()]


def test_every_operation_says_who_may_call_it(document: dict[str, Any]) -> None:
    assert all("security" in operation for _, _, operation in operations(document))


def test_every_operation_is_described_with_its_errors(document: dict[str, Any]) -> None:
    for _, path, operation in operations(document):
        assert operation["description"], path
        assert {"406", "410", "500", "503", "504"} <= operation["responses"].keys(), path
        if operation["security"]:
            assert "401" in operation["responses"], path
        if "requestBody" in operation:
            assert {"413", "415"} <= operation["responses"].keys(), path


def test_every_body_has_examples(document: dict[str, Any]) -> None:
    for name, schema in document["components"]["schemas"].items():
        for field, described in schema.get("properties", {}).items():
            if "enum" in described:
                continue
            has_example = (
                "examples" in described or "const" in described or "$ref" in str(described) or described.get("format") == "uuid"
            )
            assert has_example, f"{name}.{field}"


def test_every_chapter_and_parameter_is_described(document: dict[str, Any]) -> None:
    chapters = {tag["name"] for tag in document["tags"] if tag["description"]}
    for _, path, operation in operations(document):
        assert set(operation["tags"]) <= chapters, path
        assert all(parameter["schema"]["description"] for parameter in operation["parameters"]), path


def test_everything_that_a_client_must_name_has_a_name(document: dict[str, Any]) -> None:
    """Enumerations and objects stand in the list of models, so that generators need not make names up for them."""
    places: list[tuple[str, Any]] = [(path, operation) for _, path, operation in operations(document)]
    places += [(name, list(schema.get("properties", {}).values())) for name, schema in document["components"]["schemas"].items()]
    for place, value in places:
        assert not [node for node in nodes(value) if "enum" in node or "properties" in node], place


def test_what_an_answer_leaves_out_is_never_null(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    for name in ("BankAccess", "BankProduct", "Transaction", "Message", "TransferStatus", "ContractDetails"):
        assert not [node for node in nodes(schemas[name]) if node.get("type") == "null"], name
    assert {"type": "null"} in schemas["EnglishBankProduct"]["properties"]["iban"]["anyOf"]
    assert {"type": "null"} in schemas["NewAccess"]["properties"]["credentials"]["anyOf"]


def test_errors_say_how_long_to_wait(document: dict[str, Any]) -> None:
    responses = document["components"]["responses"]
    assert {name for name, response in responses.items() if "Retry-After" in response["headers"]} == {
        f"{shape}{status}" for shape in ("Problems", "TokenProblem") for status in (429, 503)
    }


def nodes(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        return [value, *(node for item in value.values() for node in nodes(item))]
    return [node for item in value for node in nodes(item)] if isinstance(value, list) else []


CUSTOMERS = "^/(customer|ai)/"
DELETING = ("--exclude-operation-id", "delete_access", "--exclude-operation-id", "delete_accesses")
ANALYSES = ("--exclude-path-regex", "^/customer/v2/ai/")
"""They have their own tests of every parameter, and take half a second for each day that is asked for."""
LIMITS = ("--seed", "7", "--max-response-time", "170")


@pytest.mark.parametrize("phases", ["examples,fuzzing,stateful", pytest.param("coverage", marks=pytest.mark.thorough)])
@pytest.mark.parametrize(
    ("client", "examples", "which"),
    [
        ("everything", 3, ("--exclude-path-regex", CUSTOMERS)),
        ("app", 2, ("--include-path-regex", CUSTOMERS, *DELETING, *ANALYSES)),
    ],
)
def test_generated_requests_find_nothing(
    stack: Stack, tmp_path: Path, client: str, examples: int, which: tuple[str, ...], phases: str
) -> None:
    """schemathesis with all its checks, on good and bad data: by a client, and by a customer with an access. How fast answers are
    is measured elsewhere.
    """
    customer = stack.tenant().customer()
    customer.connected("test_many_20", key="known")
    command = [*configured(customer, client, tmp_path), *LIMITS, "--phases", phases, "--max-examples", str(examples), *which]
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=600)
    assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-2000:]
