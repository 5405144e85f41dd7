"""`kontor webhook`, against a real database."""

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from api.cli import app
from tests.support.stack import Stack
from warehouse.errors import AddressRefused, NotFound
from warehouse.webhook_types import EventType

URL = "https://app.example.de/kontor"


@pytest.fixture(autouse=True)
def environment(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KONTOR_HOME", str(stack.home))
    monkeypatch.setenv("KONTOR_DATABASE_URL", stack.where.service)


def kontor(command: str, *arguments: str) -> str:
    result = CliRunner().invoke(app, ["webhook", command, *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def kontor_json(command: str, *arguments: str) -> Any:
    return json.loads(kontor(command, *arguments, "--json"))


def test_a_webhook_from_its_beginning_to_its_end(stack: Stack) -> None:
    name = stack.tenant().name
    made = kontor_json("set", name, "app", URL)
    assert made["url"] == URL
    renewed = kontor_json("rotate", name, "app")["secret"]
    assert renewed.startswith("whsec_")
    assert renewed != made["secret"]
    assert kontor_json("show", name, "app") == [
        {"client": "app", "url": URL, "types": "NEW_TRANSACTIONS", "enabled": True, "serial": 0}
    ]
    assert kontor_json("events", name, "app", "--from", "1", "--limit", "5") == []
    assert "shown once" in kontor("set", name, "app", URL)
    assert "whsec_" not in kontor("show", name, "app")
    kontor("remove", name, "app")
    for command in ("show", "rotate", "events", "remove"):
        with pytest.raises(NotFound):
            kontor(command, name, "app")


def test_the_types_are_chosen_by_name_and_explained_by_help(stack: Stack) -> None:
    name = stack.tenant().name
    made = kontor_json("set", name, "app", URL, "--type", "LOGIN_BROKEN", "--type", "CONSENT_ENDED")
    assert made["types"] == "LOGIN_BROKEN CONSENT_ENDED"
    assert kontor_json("set", name, "app", URL)["types"] == "LOGIN_BROKEN CONSENT_ENDED"
    assert kontor_json("show", name, "app")[0]["types"] == "LOGIN_BROKEN CONSENT_ENDED"
    refused = CliRunner().invoke(app, ["webhook", "set", name, "app", URL, "--type", "NEWS"])
    assert refused.exit_code == 2
    explained = CliRunner().invoke(app, ["webhook", "set", "--help"], env={"COLUMNS": "200"}).output
    assert all(name in explained for name in EventType)


def test_an_address_inside_is_refused(stack: Stack) -> None:
    name = stack.tenant().name
    with pytest.raises(AddressRefused, match="public host"):
        kontor("set", name, "app", "https://10.0.0.1/")
    with pytest.raises(NotFound):
        kontor("set", name, "nobody", URL)
