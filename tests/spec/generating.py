"""How schemathesis calls the service: as whom, with which names of things that exist, and which refusals good data may meet."""

import sys
from pathlib import Path

from tests.support.stack import Customer
from warehouse import scopes

KNOWN = """
[parameters]
"path.tenant" = "{tenant}"
"path.client" = "app"
"path.role" = "customer"
"path.provider" = "00000000-0000-0000-0000-000000000000"
"path.tree" = "1"
"""
ACCESS = """
"path.access" = "known"
"path.product" = "{product}"
"""
OWN = """
"path.user" = "{user}"
"path.item" = "10101"
"""
"""What sequences of requests find out by themselves."""
CONFIG = """
base-url = "{base_url}"
request-timeout = {patience}
workers = 1
hooks = "{hooks}"

[auth.openapi.oauth2]
bearer = "{token}"
[auth.openapi.basic]
username = "{tenant}/everything"
password = "{secret}"
[auth.openapi.apiKey]
api_key = "{api_key}"

{parameters}

[[operations]]
include-operation-id = "issue_token"
# A scope or a password that is well written can still be one that is not granted.
checks.positive_data_acceptance.expected-statuses = [200, 400, 401, 429]

[[operations]]
include-operation-id = ["create_user", "reactivate_user"]
# A user name that is well written can still be another user's, and a password can still be too simple.
checks.positive_data_acceptance.expected-statuses = [200, 201, 400, 404, 409]

[[operations]]
include-operation-id = [
    "add_accesses", "push_transactions", "list_transactions", "search_transactions", "list_changes", "export_data", "get_report",
]
# Credentials, a day, a category or a cursor that is well written can still mean nothing.
checks.positive_data_acceptance.expected-statuses = [200, 201, 304, 400, 404, 409, 429]

[[operations]]
include-operation-id = ["upload_statements", "add_product", "change_product", "delete_product"]
# A file that is well sent can still be no statement, and products of a bank can be neither added nor changed.
checks.positive_data_acceptance.expected-statuses = [200, 201, 400, 404, 409]

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
include-operation-id = ["set_payment_method", "set_payment_medium", "set_consent_method", "set_consent_medium"]
# A name that is well written can still be none of those to choose from.
checks.positive_data_acceptance.expected-statuses = [200, 400, 404, 409]

[[operations]]
include-operation-id = [
    "list_contracts", "list_cashflow", "get_disposable_money", "list_life_events", "list_life_stages", "list_sales_triggers",
    "get_affordability",
    "get_credit_risk",
]
# A day that is well written can still be one to come.
checks.positive_data_acceptance.expected-statuses = [200, 304, 400]

[[operations]]
include-operation-id = "set_webhook"
# An address that is well written can still be one that we do not call.
checks.positive_data_acceptance.expected-statuses = [200, 400]
"""


def configured(customer: Customer, client: str, folder: Path, *, sequences: bool = False) -> list[str]:
    """The beginning of a command that runs schemathesis: by a client, or by a customer whose access is called `known`."""
    tenant, username = customer.tenant, customer.username
    _, api_key = tenant.add_api_key(username)
    tenant.add_client("everything", scopes.ALL)
    given = {
        "base_url": tenant.stack.base_url,
        "token": tenant.token_answer(client, username if client == "app" else None).json()["access_token"],
        "product": customer.access("known")["bankprodukte"][0]["id"],
        "tenant": tenant.name,
        "secret": tenant.secrets["everything"],
        "api_key": api_key,
        "user": tenant.users[username],
        "hooks": Path(__file__).with_name("generated.py"),
    }
    path = folder / "schemathesis.toml"
    known = KNOWN + ACCESS.lstrip() + ("" if sequences else OWN.lstrip())
    path.write_text(CONFIG.format(parameters=known.format(**given), patience=180 if sequences else 30, **given))
    run = ("run", f"{tenant.stack.base_url}/openapi.json", "--checks", "all", "--no-color")
    return [sys.executable, "-m", "schemathesis.cli", "--config-file", str(path), *run]
