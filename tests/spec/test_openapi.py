"""The OpenAPI document: complete, true, and a source of tests of its own."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.stack import Stack
from warehouse import scopes

CONFIG = """
base-url = "{base_url}"
request-timeout = 30
workers = 1
hooks = "{hooks}"

[auth.openapi.oauth2]
bearer = "{token}"
[auth.openapi.basic]
username = "{tenant}/everything"
password = "{secret}"
[auth.openapi.apiKey]
api_key = "{api_key}"

[parameters]
"path.tenant" = "{tenant}"
"path.client" = "app"
"path.role" = "customer"
"path.user" = "{user}"
"path.provider" = "00000000-0000-0000-0000-000000000000"
"path.access" = "known"
"path.product" = "{product}"
"path.tree" = "1"
"path.item" = "10101"

[[operations]]
include-operation-id = "issue_token"
# A scope or a password that is well written can still be one that is not granted.
checks.positive_data_acceptance.expected-statuses = [200, 400, 401, 429]

[[operations]]
include-operation-id = "reactivate_user"
# A user name that is well written can still be another user's.
checks.positive_data_acceptance.expected-statuses = [200, 400, 404, 409]

[[operations]]
include-operation-id = ["add_accesses", "push_transactions", "list_transactions"]
# Credentials, a day or a cursor that is well written can still mean nothing.
checks.positive_data_acceptance.expected-statuses = [200, 201, 400, 404, 409, 429]

[[operations]]
include-operation-id = ["update_category", "update_transaction", "delete_choice", "create_rule", "tag_records", "analyse_records"]
# A category, an IBAN, a name, a day or a currency that is well written can still be none.
checks.positive_data_acceptance.expected-statuses = [200, 201, 400, 404, 409]

[[operations]]
include-operation-id = "analyse_records"
# Every record that is accepted is analysed in full. Its fields are those of tag_records, where good values are tried as well.
phases.coverage.generation.mode = "negative"

[[operations]]
include-operation-id = [
    "start_consent", "initiate_single_transfer", "initiate_bulk_transfer", "initiate_transfer_without_access", "start_transfer",
    "verify_payee",
]
# An IBAN, a text, a day, a login or a callback that is well written can still be none, and an order can be given twice.
checks.positive_data_acceptance.expected-statuses = [200, 201, 400, 404, 409]

[[operations]]
include-operation-id = "set_webhook"
# An address that is well written can still be one that we do not call.
checks.positive_data_acceptance.expected-statuses = [200, 400]
"""


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


CUSTOMERS = "^/(customer|ai)/"
DELETING = ("--exclude-operation-id", "delete_access", "--exclude-operation-id", "delete_accesses")
ANALYSES = ("--exclude-path-regex", "^/customer/v2/ai/")
"""They have their own tests of every parameter, and take half a second for each day that is asked for."""


@pytest.mark.parametrize(
    ("client", "examples", "which"),
    [
        ("everything", 6, ("--exclude-path-regex", CUSTOMERS)),
        ("app", 4, ("--include-path-regex", CUSTOMERS, *DELETING, *ANALYSES)),
    ],
)
def test_generated_requests_find_nothing(
    stack: Stack, tmp_path: Path, client: str, examples: int, which: tuple[str, ...]
) -> None:
    """schemathesis with all its checks, on good and bad data: by a client, and by a customer with an access."""
    tenant = stack.tenant()
    customer = tenant.customer()
    username = customer.username
    customer.connected("test_many_20", key="known")
    _, api_key = tenant.add_api_key(username)
    tenant.add_client("everything", scopes.ALL)
    config = tmp_path / "schemathesis.toml"
    config.write_text(
        CONFIG.format(
            base_url=stack.base_url,
            token=tenant.token_answer(client, username if client == "app" else None).json()["access_token"],
            product=customer.access("known")["bankprodukte"][0]["id"],
            tenant=tenant.name,
            secret=tenant.secrets["everything"],
            api_key=api_key,
            user=tenant.users[username],
            hooks=Path(__file__).with_name("generated.py"),
        )
    )
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(config)),
        *(
            "run",
            f"{stack.base_url}/openapi.json",
            "--checks",
            "all",
            "--max-examples",
            str(examples),
            "--seed",
            "7",
            "--no-color",
        ),
        *which,
    ]
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=600)
    assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-2000:]
