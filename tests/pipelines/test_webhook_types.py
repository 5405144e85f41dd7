"""Types of events: what a receiver gets is what the page and the OpenAPI document say."""

import json
import re
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook

from api.cli.webhooks import TYPE_LIST
from api.schemas.webhooks import NOTIFICATIONS, NewWebhook
from tests.support.receiver import Call, receiving
from tests.support.stack import Stack, wait_until
from tests.support.subscribers import PRIVATE, SECONDS, Subscriber, delivering, separate_house, subscribe
from warehouse.postgres.tables import Dialogue
from warehouse.stores import clients, webhooks
from warehouse.stores.dialogues import DONE, PAYMENT
from warehouse.stores.webhooks import NewEvent
from warehouse.webhook_types import TYPES, EventSubject, EventType

PAGE = Path(__file__).parents[2] / "docs" / "tenants" / "webhooks.md"
DETAILS: Mapping[EventType, dict[str, Any]] = {
    EventType.FIRST_FETCH_DONE: {"fault": "BA1052"},
    EventType.LOGIN_BROKEN: {"fault": "BA1011"},
    EventType.CONSENT_ENDING: {"daysLeft": 7},
    EventType.PAYMENT_FINAL: {"outcome": "DONE"},
    EventType.ANALYSES_CHANGED: {"analyses": ["contracts", "life-stages"]},
    EventType.TRIGGER_APPEARED: {"trigger": "5.MISSINGINSURANCE_PRIVATELIABILITY"},
}
"""The details that the flows give to events; `test_webhook_facts.py` shows that they do."""


@pytest.fixture(scope="module")
def house(stack: Stack) -> Iterator[Stack]:
    with separate_house(stack, "webhook_types") as house:
        yield house


def sections() -> dict[str, str]:
    """The sections of the page by type."""
    parts = re.split(r"^## `([A-Z_]+)`\n", PAGE.read_text(), flags=re.M)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def example(section: str) -> dict[str, Any]:
    (text,) = re.findall(r"^```json\n(.*?)^```", section, re.M | re.S)
    body: dict[str, Any] = json.loads(text)
    return body


def announced(subscriber: Subscriber, types: list[EventType]) -> uuid.UUID:
    """The id of the payment of which events of all these types tell, each once."""
    payment_id = uuid.uuid4()
    with subscriber.house.database.acting_for(subscriber.tenant_id, subscriber.user_id) as owner:
        dialogue = Dialogue(tenant_id=owner.tenant, user_id=owner.user_id, kind=PAYMENT, provider_id=uuid.UUID(int=0))
        dialogue.login_hash, dialogue.phase, dialogue.move, dialogue.fixed = b"", DONE, 1, False
        dialogue.payment_id, dialogue.ends_at = payment_id, "2026-03-01T08:15:00Z"  # type: ignore[assignment]
        owner.add(dialogue, "dialogue")
        access = {EventSubject.ACCESS: {"access_id": subscriber.access_id}, EventSubject.PAYMENT: {"dialogue_id": dialogue.id}}
        events = [
            NewEvent(name, subscriber.user_id, **access.get(TYPES[name].subject, {}), details=DETAILS.get(name, {}))
            for name in types
        ]
        webhooks.announce(owner, *events)
    return payment_id


def subscribed(house: Stack, url: str, types: list[EventType]) -> Subscriber:
    subscriber = subscribe(house, url)
    with house.database.acting_for(subscriber.tenant_id) as owner:
        client = clients.find(owner, "app")
        subscriber.secret = webhooks.register(owner, house.vault, client, url, PRIVATE, types)
    return subscriber


def with_names_of_the_page(body: dict[str, Any], subscriber: Subscriber, payment_id: uuid.UUID, page: dict[str, Any]) -> Any:
    """A body with the ids, addresses and times of an example in place of its own."""
    replaced = {
        subscriber.house.base_url: "https://api.example.de",
        subscriber.access_key: "5b1d8f0a",
        str(subscriber.user_id): page["user"],
        str(payment_id): "6f1c2f9e-3c1b-4a57-9d2e-0c5b7a1f4e10",
        subscriber.tenant: page["tenant"],
        body["timestamp"]: page["timestamp"],
    }
    text = json.dumps({**body, "serial": page["serial"]})
    for own, of_page in replaced.items():
        text = text.replace(own, of_page)
    return json.loads(text)


def test_what_is_sent_is_what_the_page_shows(house: Stack) -> None:
    types = list(EventType)
    with receiving() as receiver, delivering(house):
        subscriber = subscribed(house, receiver.url, types)
        payment_id = announced(subscriber, types)
        wait_until(lambda: subscriber.states() == ["DELIVERED"] * len(types), SECONDS)

    def verified(call: Call) -> dict[str, Any]:
        body: dict[str, Any] = Webhook(subscriber.secret).verify(call.body, call.headers)
        return body

    bodies = [verified(call) for call in receiver.calls]
    assert [body["serial"] for body in bodies] == list(range(1, len(types) + 1))
    assert {body["type"] for body in bodies} == set(types)
    for body in bodies:
        page = example(sections()[body["type"]])
        assert with_names_of_the_page(body, subscriber, payment_id, page) == page
        assert body["type"] == body["event"]
        NOTIFICATIONS[EventType(body["type"])].model_validate({**body, "timestamp": "2026-03-01T08:15:00"}, strict=False)
        known_fields = {field.alias or name for name, field in NOTIFICATIONS[EventType(body["type"])].model_fields.items()}
        assert body.keys() <= known_fields


def test_a_webhook_receives_the_types_that_it_was_set_for_and_counts_no_others(house: Stack) -> None:
    chosen_types = [EventType.LOGIN_BROKEN, EventType.PAYMENT_FINAL]
    subscriber = subscribed(house, "http://127.0.0.1:9/", chosen_types)
    announced(subscriber, list(EventType))
    assert [(row.serial, row.type) for row in subscriber.rows()] == [(1, "LOGIN_BROKEN"), (2, "PAYMENT_FINAL")]
    subscriber.register("http://127.0.0.1:9/")
    announced(subscriber, list(EventType))
    assert [row.type for row in subscriber.rows()] == [str(name) for name in chosen_types] * 2, "it keeps its types"


def test_a_webhook_without_types_receives_new_transactions_alone(house: Stack) -> None:
    subscriber = subscribe(house, "http://127.0.0.1:9/")
    announced(subscriber, list(EventType))
    assert [row.type for row in subscriber.rows()] == ["NEW_TRANSACTIONS"]


def test_nothing_is_told_about_a_user_who_is_inactive(house: Stack) -> None:
    subscriber = subscribed(house, "http://127.0.0.1:9/", list(EventType))
    subscriber.change("active = false", table="users")
    announced(subscriber, list(EventType))
    assert subscriber.rows() == []


@pytest.mark.parametrize("name", [EventType.PAYMENT_FINAL, EventType.ANALYSES_CHANGED])
def test_an_event_whose_subject_is_gone_is_dropped(house: Stack, name: EventType) -> None:
    with receiving() as receiver:
        subscriber = subscribed(house, receiver.url, list(EventType))
        announced(subscriber, [name])
        table = "dialogues" if name is EventType.PAYMENT_FINAL else "users"
        house.sql(f"DELETE FROM {table} WHERE tenant_id = :tenant", tenant=subscriber.tenant_id)
        with delivering(house):
            wait_until(lambda: subscriber.states() == ["DROPPED"], SECONDS)
        assert receiver.calls == []


def test_page_schema_and_command_line_follow_the_table() -> None:
    assert list(sections()) == [str(name) for name in TYPES] == [str(name) for name in NOTIFICATIONS]
    types_field = NewWebhook.model_fields["types"].description or ""
    for name, row in TYPES.items():
        assert row.description.rstrip(".") in " ".join(sections()[name].split()), f"{name}: the page says something else"
        assert f"`{name}`: {row.description}" in types_field
        assert f"{name}: {row.description}" in TYPE_LIST
