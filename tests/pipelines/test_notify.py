"""Delivery of webhooks: a real database, real senders, real receivers on loopback."""

import json
import time
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from sqlalchemy import make_url
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from pipelines.webhooks import notices
from tests.support.receiver import HANG, Receiver, receiving
from tests.support.stack import Stack, free_port, wait_until
from tests.support.subscribers import PRIVATE, SECONDS, Subscriber, delivering, new_access, separate_house, subscribe
from warehouse import scopes
from warehouse.postgres.tables import Client
from warehouse.settings import Settings
from warehouse.stores import clients, deliveries, webhooks
from warehouse.stores.webhooks import NewEvent
from warehouse.webhook_types import EventType

NEVER = 600.0


@pytest.fixture(scope="module")
def house(stack: Stack) -> Iterator[Stack]:
    with separate_house(stack, "webhooks") as house:
        yield house


def test_an_event_comes_signed_and_with_references_only(house: Stack) -> None:
    with receiving() as receiver, delivering(house):
        subscriber = subscribe(house, receiver.url)
        subscriber.announce()
        wait_until(lambda: subscriber.states() == ["DELIVERED"], SECONDS)
    (call,) = receiver.calls
    told = Webhook(subscriber.secret).verify(call.body, call.headers)
    assert told == {
        "serial": 1,
        "type": "NEW_TRANSACTIONS",
        "event": "NEW_TRANSACTIONS",
        "tenant": subscriber.tenant,
        "user": str(subscriber.user_id),
        "bankzugang": {
            "id": subscriber.access_key,
            "href": f"{house.base_url}/customer/v2/bankzugaenge/{subscriber.access_key}",
        },
        "timestamp": subscriber.rows()[0].created_at.astimezone(PRIVATE.zone).strftime("%Y-%m-%d %H:%M:%S"),
    }
    assert (call.headers["user-agent"], call.headers["content-type"]) == ("Kontor", "application/json")


@pytest.mark.parametrize("what", ["body", "webhook-id", "webhook-timestamp"])
def test_an_altered_event_does_not_verify(house: Stack, what: str) -> None:
    with receiving() as receiver, delivering(house):
        subscriber = subscribe(house, receiver.url)
        subscriber.announce()
        wait_until(lambda: receiver.calls, SECONDS)
    (call,) = receiver.calls
    body = call.body.replace(b'"serial":1', b'"serial":2') if what == "body" else call.body
    headers = {**call.headers, **({} if what == "body" else {what: f"{call.headers[what]}1"[1:]})}
    with pytest.raises(WebhookVerificationError):
        Webhook(subscriber.secret).verify(body, headers)


def test_numbers_have_no_gaps_however_many_announce_at_once(house: Stack) -> None:
    with receiving() as receiver, delivering(house):
        subscriber = subscribe(house, receiver.url)
        with ThreadPoolExecutor(20) as pool:
            list(pool.map(lambda _: subscriber.announce(), range(20)))
        wait_until(lambda: subscriber.states() == ["DELIVERED"] * 20, SECONDS)
    assert [json.loads(call.body)["serial"] for call in receiver.calls] == list(range(1, 21))
    assert len(set(receiver.names)) == 20


def test_announcing_delivering_and_deleting_at_once_never_meet_in_a_circle(house: Stack) -> None:
    def deadlocks() -> int:
        return int(house.sql("SELECT deadlocks FROM pg_stat_database WHERE datname = 'webhooks'")[0].deadlocks)

    def announce_and_delete(access_id: uuid.UUID) -> None:
        for _ in range(5):
            replace(subscriber, access_id=access_id).announce()
        house.sql("DELETE FROM accesses WHERE id = :id", id=access_id)

    before = deadlocks()
    with receiving() as one, receiving(500, 410) as two, delivering(house), delivering(house):
        subscriber = subscribe(house, one.url)
        with house.database.acting_for(subscriber.tenant_id) as owner:
            webhooks.register(owner, house.vault, clients.find(owner, "admin"), two.url, PRIVATE)
            accesses = [new_access(owner, subscriber.user_id) for _ in range(8)]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(announce_and_delete, [access.id for access in accesses]))
        wait_until(lambda: "PENDING" not in subscriber.states(), SECONDS)
    assert deadlocks() == before
    assert [event.serial for event in subscriber.replay()] == list(range(1, 41))


def test_what_was_rolled_back_was_never_announced(house: Stack) -> None:
    subscriber = subscribe(house, "http://127.0.0.1:9/")
    with suppress(RuntimeError), house.database.acting_for(subscriber.tenant_id, subscriber.user_id) as owner:
        webhooks.announce(owner, NewEvent(EventType.NEW_TRANSACTIONS, subscriber.user_id, subscriber.access_id))
        raise RuntimeError("the refresh failed")
    assert subscriber.rows() == []
    subscriber.announce()
    assert [row.serial for row in subscriber.rows()] == [1]


def test_every_client_with_a_webhook_is_told_with_numbers_of_its_own(house: Stack) -> None:
    subscriber = subscribe(house, "http://127.0.0.1:9/")
    subscriber.announce()
    with house.database.acting_for(subscriber.tenant_id) as owner:
        webhooks.register(owner, house.vault, clients.find(owner, "admin"), "http://127.0.0.1:9/", PRIVATE)
    subscriber.announce()
    assert sorted(row.serial for row in subscriber.rows()) == [1, 1, 2]
    other = subscribe(house, "http://127.0.0.1:9/")
    assert other.rows() == []


@pytest.mark.parametrize("status", [500, 503, 400, 404, 429, 301, 302, 307, 308, 304])
def test_what_was_not_taken_is_sent_again_under_the_same_name_and_no_redirect_is_followed(house: Stack, status: int) -> None:
    with receiving(status, status) as receiver, delivering(house):
        subscriber = subscribe(house, receiver.url)
        subscriber.announce()
        wait_until(lambda: subscriber.states() == ["DELIVERED"], SECONDS)
    assert [call.path for call in receiver.calls] == ["/hook"] * 3
    assert len(set(receiver.names)) == 1
    assert len({call.body for call in receiver.calls}) == 1
    assert subscriber.rows()[0].attempts == 3


def test_a_receiver_that_takes_too_long_has_not_taken_the_event(house: Stack) -> None:
    with receiving(HANG) as receiver, delivering(house, webhook_timeout_seconds=0.2):
        subscriber = subscribe(house, receiver.url)
        subscriber.announce()
        wait_until(lambda: subscriber.states() == ["DELIVERED"], SECONDS)
        assert len(receiver.calls) == 2


def test_a_receiver_that_is_down_gets_its_event_when_it_is_back(house: Stack) -> None:
    port = free_port()
    with delivering(house):
        subscriber = subscribe(house, f"http://127.0.0.1:{port}/hook")
        subscriber.announce()
        wait_until(lambda: subscriber.rows()[0].attempts >= 2, SECONDS)
        assert subscriber.states() == ["PENDING"]
        with receiving(port=port) as receiver:
            wait_until(lambda: subscriber.states() == ["DELIVERED"], SECONDS)
            assert len(receiver.calls) == 1


def test_attempts_follow_the_schedule_with_a_little_chance(house: Stack) -> None:
    with receiving(500, 500, 500, 500) as receiver, delivering(house, webhook_retry_seconds=(0, 1000, 2000)):
        subscriber = subscribe(house, receiver.url)
        subscriber.announce()
        pauses = []
        for attempts in range(1, 5):
            wait_until(lambda attempts=attempts: subscriber.rows()[0].attempts == attempts, SECONDS)
            pauses.append(float(subscriber.rows()[0].pause))
            subscriber.change("next_attempt_at = now()")
    for pause, planned in zip(pauses, (1000, 2000, 2000, 2000), strict=True):
        assert planned * 0.8 - SECONDS < pause <= planned * 1.2
    assert len(set(pauses)) == 4


def test_the_first_attempt_waits_for_the_first_pause(house: Stack) -> None:
    with receiving() as receiver, delivering(house, webhook_retry_seconds=(1000, 2000)):
        early, late = subscribe(house, receiver.url), subscribe(house, receiver.url)
        early.announce()
        late.announce()
        early.change("next_attempt_at = now() - interval '1001 seconds'")
        wait_until(lambda: early.states() == ["DELIVERED"], SECONDS)
        assert late.rows()[0].attempts == 0


def has_settled(receiver: Receiver) -> bool:
    """Whether nobody calls any more: attempts of these tests follow each other within tenths of a second."""
    calls = len(receiver.calls)
    time.sleep(2)
    return len(receiver.calls) == calls


def test_an_event_that_nobody_took_in_time_is_dropped_and_the_next_one_shows_the_gap(house: Stack) -> None:
    with receiving(*[500] * 100) as receiver, delivering(house):
        subscriber = subscribe(house, receiver.url)
        subscriber.announce()
        wait_until(lambda: subscriber.rows()[0].attempts >= 2, SECONDS)
        subscriber.change("created_at = now() - interval '601 seconds'")
        wait_until(lambda: subscriber.states() == ["DROPPED"], SECONDS)
        wait_until(lambda: has_settled(receiver), SECONDS)  # an attempt that was under way may still arrive
        receiver.statuses.clear()
        receiver.calls.clear()
        subscriber.announce()
        wait_until(lambda: subscriber.states() == ["DROPPED", "DELIVERED"], SECONDS)
    assert [json.loads(call.body)["serial"] for call in receiver.calls] == [2]
    assert [(event.serial, event.state) for event in subscriber.replay()] == [(1, "DROPPED"), (2, "DELIVERED")]
    assert [event.serial for event in subscriber.replay(from_serial=2)] == [2]
    assert subscriber.replay()[0].access_key == subscriber.access_key


def test_a_receiver_that_is_gone_is_not_called_again_until_it_is_registered_anew(house: Stack) -> None:
    with receiving(500, 410) as receiver, delivering(house, webhook_retry_seconds=(0, 1000)):
        subscriber = subscribe(house, receiver.url)
        subscriber.announce()
        wait_until(lambda: subscriber.rows()[0].attempts == 1, SECONDS)
        subscriber.announce()
        wait_until(lambda: subscriber.states() == ["DROPPED", "DROPPED"], SECONDS)
        subscriber.announce()
        assert len(subscriber.rows()) == 2
        secret = subscriber.register(receiver.url)
        assert secret != subscriber.secret
        subscriber.announce()
        wait_until(lambda: subscriber.states() == ["DROPPED", "DROPPED", "DELIVERED"], SECONDS)
    assert [json.loads(call.body)["serial"] for call in receiver.calls] == [1, 2, 3]


def test_a_dead_receiver_delays_nobody(house: Stack) -> None:
    with receiving(HANG) as dead, receiving() as living, delivering(house, webhook_timeout_seconds=NEVER):
        waiting, served = subscribe(house, dead.url), subscribe(house, living.url)
        for _ in range(3):
            waiting.announce()
        wait_until(lambda: dead.calls, SECONDS)
        for _ in range(3):
            served.announce()
        wait_until(lambda: served.states() == ["DELIVERED"] * 3, SECONDS)
        assert waiting.states() == ["PENDING"] * 3
        assert len(dead.calls) == 1
        dead.released.set()
        wait_until(lambda: waiting.states() == ["DELIVERED"] * 3, SECONDS)


def crowd(house: Stack, url: str, receivers: int) -> Subscriber:
    """A subscriber with so many receivers at one address, each with an event to be sent."""
    subscriber = subscribe(house, url)
    with house.database.acting_for(subscriber.tenant_id) as owner:
        for number in range(1, receivers):
            client, _ = clients.create(owner, f"app-{number}", scopes.MANAGEMENT)
            webhooks.register(owner, house.vault, client, url, PRIVATE)
    subscriber.announce()
    return subscriber


def test_two_hundred_hanging_receivers_of_a_tenant_delay_no_other_tenant(house: Stack) -> None:
    """None of them ever answers or is given up: what another tenant gets, it gets beside them."""
    with receiving(*[HANG] * 1000) as hanging, receiving() as living:
        greedy = crowd(house, hanging.url, 200)
        with delivering(house, webhook_timeout_seconds=NEVER, look_seconds=1.0):
            wait_until(lambda: len(hanging.calls) >= 25, SECONDS)
            served = subscribe(house, living.url)
            started_at = time.monotonic()
            for _ in range(3):
                served.announce()
            wait_until(lambda: len(living.calls) == 3, SECONDS)
            assert time.monotonic() - started_at < 2
            assert len(hanging.calls) == 25, "half of the calls of a worker"
            greedy.change("enabled = false", table="webhooks")
            hanging.released.set()


def test_slow_receivers_take_no_slots_of_quick_ones_even_of_their_tenant(house: Stack) -> None:
    """After its first call everybody is slow here. Of the slow calls, a tenant has one."""
    limits: dict[str, Any] = {"webhook_calls_at_once": 8, "webhook_slow_calls_at_once": 2, "webhook_slow_seconds": 1e-9}
    with receiving(*[HANG] * 1000) as hanging, receiving() as living:
        slow = crowd(house, hanging.url, 4)
        with delivering(house, webhook_timeout_seconds=NEVER, **limits):
            wait_until(lambda: len(hanging.calls) == 4, SECONDS)
            hanging.released.set()
            wait_until(lambda: slow.states() == ["DELIVERED"] * 4, SECONDS)
            hanging.released.clear()
            slow.announce()
            wait_until(lambda: len(hanging.calls) == 5, SECONDS)
            with house.database.acting_for(slow.tenant_id) as owner:
                client, _ = clients.create(owner, "quick", scopes.MANAGEMENT)
                webhooks.register(owner, house.vault, client, living.url, PRIVATE)
            slow.announce()
            wait_until(lambda: living.calls, SECONDS)
            assert len(hanging.calls) == 5
            slow.change("enabled = false", table="webhooks")
            hanging.released.set()


def test_a_receiver_gets_one_event_at_a_time_from_all_senders_together(house: Stack) -> None:
    with receiving() as receiver, delivering(house), delivering(house), delivering(house):
        subscriber = subscribe(house, receiver.url)
        for _ in range(15):
            subscriber.announce()
        wait_until(lambda: subscriber.states() == ["DELIVERED"] * 15, SECONDS)
    assert receiver.most_at_once == 1
    assert [json.loads(call.body)["serial"] for call in receiver.calls] == list(range(1, 16))


def test_an_event_whose_sender_died_is_sent_again_under_the_same_name(house: Stack) -> None:
    with receiving() as receiver:
        subscriber = subscribe(house, receiver.url)
        subscriber.announce()
        with house.database.operating() as owner:
            due = deliveries.due_receivers(owner, (), per_tenant=9, first_pause_seconds=0)
            (receiver_id,) = [one.client_id for one in due if one.tenant_id == subscriber.tenant_id]
            (dead,) = deliveries.claim(owner, [receiver_id], lease_seconds=1000, first_pause_seconds=0)
        with house.database.operating() as owner:
            assert deliveries.claim(owner, [receiver_id], lease_seconds=1000, first_pause_seconds=0) == []
            due = deliveries.due_receivers(owner, (), per_tenant=9, first_pause_seconds=0)
            assert receiver_id not in {one.client_id for one in due}
        subscriber.change("busy_until = now()", table="webhooks")
        with delivering(house):
            wait_until(lambda: subscriber.states() == ["DELIVERED"], SECONDS)
        with house.database.acting_for(subscriber.tenant_id) as owner:
            deliveries.record_failed(owner, dead, 1000)
    assert receiver.names == [notices.message_id(dead)]
    assert subscriber.states() == ["DELIVERED"]


def test_what_is_under_way_is_finished_before_the_end(house: Stack) -> None:
    with receiving(HANG) as receiver, delivering(house) as sender:
        subscriber = subscribe(house, receiver.url)
        subscriber.announce()
        subscriber.announce()
        wait_until(lambda: receiver.calls, SECONDS)
        sender.stop()
        receiver.released.set()
    assert subscriber.states() == ["DELIVERED", "PENDING"]


def test_two_signatures_while_secrets_overlap(house: Stack) -> None:
    with receiving() as receiver, delivering(house):
        subscriber = subscribe(house, receiver.url)
        fresh = subscriber.rotate()
        subscriber.announce()
        wait_until(lambda: len(receiver.calls) == 1, SECONDS)
        subscriber.change("previous_secret_until = now()", table="webhooks")
        subscriber.announce()
        wait_until(lambda: len(receiver.calls) == 2, SECONDS)
    during, after = receiver.calls
    for secret in (subscriber.secret, fresh):
        Webhook(secret).verify(during.body, during.headers)
    Webhook(fresh).verify(after.body, after.headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(subscriber.secret).verify(after.body, after.headers)
    assert [len(call.headers["webhook-signature"].split(" ")) for call in receiver.calls] == [2, 1]


def test_an_event_whose_access_is_gone_is_dropped_and_names_nobody(house: Stack) -> None:
    with receiving() as receiver:
        subscriber = subscribe(house, receiver.url)
        subscriber.announce()
        house.sql("DELETE FROM accesses WHERE id = :id", id=subscriber.access_id)
        with delivering(house):
            wait_until(lambda: subscriber.states() == ["DROPPED"], SECONDS)
        assert receiver.calls == []
    (event,) = subscriber.replay()
    assert (event.serial, event.access_key, event.has_subject) == (1, None, False)
    assert notices.references(event, house.base_url) == {}


@pytest.mark.parametrize("table", ["clients", "tenants"])
def test_a_client_that_is_shut_out_is_not_told(house: Stack, table: str) -> None:
    with receiving() as receiver, delivering(house):
        outside, inside = subscribe(house, receiver.url), subscribe(house, receiver.url)
        column = "id" if table == "tenants" else "tenant_id"
        house.sql(f"UPDATE {table} SET active = false WHERE {column} = :tenant", tenant=outside.tenant_id)
        outside.announce()
        inside.announce()
        wait_until(lambda: inside.states() == ["DELIVERED"], SECONDS)
        outside.change("created_at = now() - interval '601 seconds'")
        wait_until(lambda: outside.states() == ["DROPPED"], SECONDS)
        assert len(receiver.calls) == 1


def test_the_notice_of_postgresql_is_enough_also_after_it_was_away(house: Stack) -> None:
    with receiving() as receiver, delivering(house, look_seconds=NEVER):
        subscriber = subscribe(house, receiver.url)
        for number in range(1, 4):
            subscriber.announce()
            wait_until(lambda number=number: subscriber.states() == ["DELIVERED"] * number, SECONDS)
        house.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = 'webhooks'")
        subscriber.announce()
        wait_until(lambda: subscriber.states() == ["DELIVERED"] * 4, SECONDS)
        assert len(receiver.calls) == 4


def test_a_look_now_and_then_makes_up_for_a_notice_that_was_lost(house: Stack) -> None:
    with receiving() as receiver, delivering(house):
        subscriber = subscribe(house, receiver.url)
        with house.database.acting_for(subscriber.tenant_id) as owner:
            client = clients.find(owner, "app")
        _insert_silently(subscriber, client)
        wait_until(lambda: subscriber.states() == ["DELIVERED"], SECONDS)
        assert len(receiver.calls) == 1


def _insert_silently(subscriber: Subscriber, client: Client) -> None:
    statement = "INSERT INTO webhook_events (tenant_id, client_id, serial, user_id, access_id) VALUES (:t, :c, 1, :u, :a)"
    tenant_id = subscriber.tenant_id
    subscriber.house.sql(statement, t=tenant_id, c=client.id, u=subscriber.user_id, a=subscriber.access_id)


def test_connections_that_die_are_replaced(house: Stack) -> None:
    with receiving() as receiver, delivering(house):
        subscriber = subscribe(house, receiver.url)
        subscriber.announce()
        wait_until(lambda: subscriber.states() == ["DELIVERED"], SECONDS)
        with psycopg.connect(make_url(house.where.service).set(database="webhooks").render_as_string()) as own:
            own.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'webhooks' AND pid <> pg_backend_pid()"
            )
        subscriber.announce()
        wait_until(lambda: subscriber.states() == ["DELIVERED"] * 2, SECONDS)


def test_a_name_that_leads_inside_is_refused_when_it_is_called(house: Stack) -> None:
    asked: list[str] = []

    async def resolve(host: str, _port: int) -> Sequence[str]:
        asked.append(host)
        return ["93.184.215.14", "127.0.0.1"]

    with delivering(house, resolve=resolve, webhook_private_addresses=False):
        subscriber = subscribe(house, "https://receiver.example/hook", Settings())
        subscriber.announce()
        wait_until(lambda: subscriber.rows()[0].attempts >= 1, SECONDS)
    assert asked
    assert set(asked) == {"receiver.example"}
    assert subscriber.states() == ["PENDING"]


def test_an_address_that_was_allowed_once_is_refused_when_the_setting_is_gone(house: Stack) -> None:
    with receiving() as receiver, delivering(house, webhook_private_addresses=False):
        subscriber = subscribe(house, receiver.url)
        subscriber.announce()
        wait_until(lambda: subscriber.rows()[0].attempts >= 1, SECONDS)
        assert receiver.calls == []


def test_logs_hold_neither_addresses_nor_users(
    house: Stack, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    with receiving(500) as receiver, delivering(house):
        subscriber = subscribe(house, f"{receiver.url}?key=geheim")
        subscriber.announce()
        wait_until(lambda: subscriber.states() == ["DELIVERED"], SECONDS)
    said = capsys.readouterr().out + caplog.text
    assert "outcome" in said
    for private in ("geheim", str(subscriber.user_id), subscriber.access_key, subscriber.secret):
        assert private not in said


def test_old_events_are_removed_and_new_ones_stay(house: Stack) -> None:
    subscriber = subscribe(house, "http://127.0.0.1:9/")
    for _ in range(2):
        subscriber.announce()
    subscriber.change("created_at = now() - interval '30 days'")
    assert subscriber.replay() == []
    subscriber.announce()
    with house.database.operating() as owner:
        assert webhooks.purge_old(owner, 30) == 2
    assert [row.serial for row in subscriber.rows()] == [3]


def test_a_webhook_that_was_removed_takes_its_events_and_secrets_with_it(house: Stack) -> None:
    subscriber = subscribe(house, "http://127.0.0.1:9/")
    subscriber.announce()
    with house.database.acting_for(subscriber.tenant_id) as owner:
        webhooks.remove(owner, clients.find(owner, "app"))
    subscriber.announce()
    assert subscriber.rows() == []
    left = house.sql("SELECT 1 FROM sealed_values WHERE tenant_id = :t AND subject LIKE 'webhook:%'", t=subscriber.tenant_id)
    assert left == []
