"""The OpenAPI document: complete, true, and a source of tests of its own."""

import re
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


def test_no_operation_or_file_of_a_client_has_the_name_of_another(document: dict[str, Any]) -> None:
    """Operations and chapters become functions and files: case and signs of their names do not tell two of them apart."""
    operation_ids = [operation["operationId"] for _, _, operation in operations(document)]
    webhook_tags = {tag for item in document["webhooks"].values() for call in item.values() for tag in call["tags"]}
    route_tags = {tag for _, _, operation in operations(document) for tag in operation["tags"]}
    assert not webhook_tags & route_tags
    for names in (operation_ids, document["components"]["schemas"], webhook_tags | route_tags):
        plain = [re.sub("[^a-z0-9]", "", name.lower()) for name in names]
        assert sorted(set(plain)) == sorted(plain)


def test_every_union_has_a_name_and_null_is_no_part_of_one(document: dict[str, Any]) -> None:
    """A generator writes a class for each union. Null and a plain type are one schema; null and a model are no class."""
    for name, schema in document["components"]["schemas"].items():
        if "anyOf" in schema:
            assert all("$ref" in choice for choice in schema["anyOf"]), name
    places: list[tuple[str, Any]] = [(path, operation) for _, path, operation in operations(document)]
    places += [(name, schema.get("properties", {})) for name, schema in document["components"]["schemas"].items()]
    for place, value in places:
        for node in nodes(value):
            assert not {"oneOf", "allOf"} & node.keys(), place
            if "anyOf" in node:
                assert [sorted(choice) for choice in node["anyOf"]] == [["$ref"], ["type"]], place
                assert node["anyOf"][1] == {"type": "null"}, place


def test_maps_name_their_values_and_forms_have_no_others(document: dict[str, Any]) -> None:
    """The generator for Java warns of maps with other values, and does not know forms that are maps."""
    schemas = document["components"]["schemas"]
    for name, schema in schemas.items():
        assert "$ref" in schema.get("additionalProperties", {"$ref": ""}), name
    assert not [name for name in ("TokenForm", "RevokeForm") if "additionalProperties" in schemas[name]]


def test_what_an_answer_leaves_out_is_never_null(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    for name in ("BankAccess", "BankProduct", "Transaction", "Message", "TransferStatus", "ContractDetails"):
        assert not [node for node in nodes(schemas[name]) if node.get("type") == "null"], name
    assert schemas["EnglishBankProduct"]["properties"]["iban"]["type"] == ["string", "null"]
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


@pytest.mark.parametrize(
    "phases", ["examples,fuzzing", *(pytest.param(name, marks=pytest.mark.thorough) for name in ("stateful", "coverage"))]
)
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
