"""What webhooks are told: each fact once, in the transaction of the fact, and nothing about anybody who was deactivated."""

import uuid
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from pipelines import consents, deactivation, erase
from pipelines.context import Context
from pipelines.dialogues import unsettled
from pipelines.results import buckets, export, publish, tags
from pipelines.results import live as one_user
from pipelines.results.analysis_changes import ANALYSIS_NAMES
from pipelines.webhooks import notices
from tests.spec.dialogues import BACK, IP, TRANSFER, Status, codes, moved, up_to_tan
from tests.support.stack import Customer, Stack, TenantUnderTest, wait_until
from warehouse.lake.buckets import bucket_of
from warehouse.lake.packing import pack
from warehouse.settings import Settings
from warehouse.stores import clients, fetches, results, webhooks
from warehouse.stores.webhooks import Event
from warehouse.webhook_types import EventType

URL = "https://receiver.example/kontor"  # a name that leads nowhere: the worker of the service may try it
NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)
BUCKETS = 64


@pytest.fixture(scope="module")
def house(stack: Stack) -> Iterator[Context]:
    """The flows' view of the service."""
    context = Context.of(Settings(home=stack.home, database_url=stack.where.service, base_url=stack.base_url))
    yield context
    context.database.close()


@pytest.fixture(scope="module")
def tenant(house: Context, stack: Stack) -> TenantUnderTest:
    """A tenant whose client `app` receives every type of events, and whose client `admin` receives new transactions alone."""
    subscribed = stack.tenant()
    with house.database.acting_for(subscribed.tenant_id) as owner:
        webhooks.register(owner, house.vault, clients.find(owner, "app"), URL, house.settings, list(EventType))
        webhooks.register(owner, house.vault, clients.find(owner, "admin"), URL, house.settings)
    return subscribed


@pytest.fixture
def customer(tenant: TenantUnderTest) -> Customer:
    return tenant.customer()


def all_events(customer: Customer, client: str = "app") -> list[Event]:
    with customer.tenant.stack.database.acting_for(customer.tenant.tenant_id) as owner:
        return webhooks.events(owner, clients.find(owner, client), from_serial=1, limit=10_000, days=30)


def told(customer: Customer) -> list[tuple[str, dict[str, Any]]]:
    """What was told about a customer: types and details, in the order of their numbers."""
    return [(event.type, dict(event.details)) for event in all_events(customer) if event.user_id == customer.user_id]


class TestFetches:
    def test_the_first_fetch_is_told_once(self, customer: Customer) -> None:
        key = customer.connected("demo4")
        assert told(customer) == [("FIRST_FETCH_DONE", {})]
        customer.refresh(key)
        customer.wait_idle(key)
        assert told(customer) == [("FIRST_FETCH_DONE", {})]

    def test_a_refused_login_is_told_once_until_it_works_again(self, customer: Customer) -> None:
        key, _ = customer.add("demo1", "falsch")
        wait_until(lambda: len(told(customer)) == 2, 30)
        refusal = {"fault": "BA1011"}
        assert told(customer) == [("FIRST_FETCH_DONE", refusal), ("LOGIN_BROKEN", refusal)]
        customer.add("demo1", "falsch", key=key, refresh=True)
        customer.wait_idle(key)
        assert len(told(customer)) == 2, "the customer has been asked to act, and has not"
        customer.add("demo1", key=key, refresh=True)
        customer.wait_complete(key)
        assert told(customer)[2:] == [("FIRST_FETCH_DONE", {})], "now there are data"
        customer.add("demo1", "falsch", key=key, refresh=True)
        wait_until(lambda: len(told(customer)) == 4, 30)
        assert told(customer)[3:] == [("LOGIN_BROKEN", refusal)]

    def test_a_bank_that_cannot_be_reached_is_the_end_of_a_first_fetch_and_no_broken_login(self, customer: Customer) -> None:
        customer.add("test_unreachable")
        wait_until(lambda: told(customer), 30)
        assert told(customer) == [("FIRST_FETCH_DONE", {"fault": "BA1051"})]

    def test_a_client_that_chose_no_types_receives_new_transactions_alone(self, customer: Customer) -> None:
        key = customer.connected(f"test_new_transactions_{uuid.uuid4().hex[:8]}")
        customer.refresh(key)
        wait_until(lambda: len(told(customer)) == 2, 30)
        assert [name for name, _ in told(customer)] == ["FIRST_FETCH_DONE", "NEW_TRANSACTIONS"]
        assert {event.type for event in all_events(customer, "admin")} == {"NEW_TRANSACTIONS"}

    def test_the_numbers_of_all_types_together_have_no_gaps(self, customer: Customer) -> None:
        customer.connected("demo4")
        serials = [event.serial for event in all_events(customer)]
        assert serials == list(range(1, len(serials) + 1))


def begun(customer: Customer, userid: str) -> tuple[str, Status]:
    """The id and the status of a payment that waits for its TAN."""
    access, payment = customer.connected(f"{userid}_{customer.username}"), str(uuid.uuid4())
    product = customer.access(access)["bankprodukte"][0]["id"]
    form, query = {"instant": False, "transferDetails": TRANSFER}, {"callbackUrl": BACK, "paymentId": payment}
    answer = customer.call(
        "POST", f"/bankzugaenge/{access}/{product}/payment/single-transfer", json=form, params=query, headers=IP
    )
    assert answer.status_code == 200, answer.text
    return payment, up_to_tan(customer, answer.json(), 1)


def payments_told(customer: Customer) -> list[tuple[str | None, dict[str, Any]]]:
    events = [event for event in all_events(customer) if event.user_id == customer.user_id and event.type == "PAYMENT_FINAL"]
    return [(str(event.payment_id), dict(event.details)) for event in events]


class TestPayments:
    def test_a_payment_is_told_when_it_is_final(self, customer: Customer) -> None:
        payment, status = begun(customer, "test_transfer_late_0")
        assert payments_told(customer) == [], "the customer has not confirmed it"
        moved(customer, status, "submit_text_tan", tan="42")
        assert payments_told(customer) == [(payment, {"outcome": "DONE"})]
        (event,) = [event for event in all_events(customer) if str(event.payment_id) == payment]
        link = notices.references(event, customer.tenant.stack.base_url)["payment"]
        assert link["id"] == payment
        assert customer.call("GET", link["href"]).status_code == 200

    def test_an_unknown_outcome_is_told_when_it_is_settled(self, house: Context, customer: Customer) -> None:
        payment, status = begun(customer, "test_transfer_lost")
        assert codes(moved(customer, status, "submit_text_tan", tan="42")) == ["BA1119"]
        customer.tenant.stack.sql("UPDATE dialogues SET look_at = NULL WHERE payment_id = :id", id=payment)
        assert payments_told(customer) == []
        with house.database.operating() as operator:
            unsettled.settle(operator, uuid.UUID(payment), executed=False)
        assert payments_told(customer) == [(payment, {"outcome": "FAILED"})]

    def test_a_settlement_that_is_rolled_back_was_never_told(self, house: Context, customer: Customer) -> None:
        payment, status = begun(customer, "test_transfer_lost")
        moved(customer, status, "submit_text_tan", tan="42")
        customer.tenant.stack.sql("UPDATE dialogues SET look_at = NULL WHERE payment_id = :id", id=payment)
        with suppress(RuntimeError), house.database.operating() as operator:
            unsettled.settle(operator, uuid.UUID(payment), executed=True)
            raise RuntimeError("the transaction failed")
        assert payments_told(customer) == []

    def test_a_deactivation_that_ends_a_payment_tells_nobody(self, house: Context, customer: Customer) -> None:
        begun(customer, "test_transfer_late_0")
        with house.database.acting_for(customer.tenant.tenant_id) as owner:
            deactivation.deactivate_user(owner, customer.user_id)
        assert payments_told(customer) == []


class TestConsents:
    """Time is an argument: the days pass in a moment."""

    @pytest.fixture
    def access(self, customer: Customer) -> str:
        """An access that was told about, whose consent ends in 40 days."""
        key = customer.connected("demo4")
        self.let_end(customer, NOW + timedelta(days=40))
        return key

    @staticmethod
    def let_end(customer: Customer, ends_at: datetime) -> None:
        statement = "UPDATE accesses SET consent_ends_at = :end WHERE user_id = :user"
        customer.tenant.stack.sql(statement, end=ends_at, user=customer.user_id)

    @staticmethod
    def told_after(house: Context, customer: Customer, days: float) -> list[Any]:
        """What is told in all of the consent after a look so many days later: the days left, 0 for the end."""
        consents.announce_ends(house.database, NOW + timedelta(days=days))
        events = [event for event in all_events(customer) if event.user_id == customer.user_id]
        return [event.details.get("daysLeft", 0) for event in events if event.type.startswith("CONSENT")]

    def test_it_is_told_thirty_seven_and_one_days_before_and_at_the_end(
        self, house: Context, customer: Customer, access: str
    ) -> None:
        looks = {0: 0, 9.9: 0, 10: 1, 11: 1, 32.9: 1, 33: 2, 39: 3, 39.9: 3, 40: 4, 41: 4, 400: 4}
        for days, count in looks.items():
            assert self.told_after(house, customer, days) == [30, 7, 1, 0][:count], f"after {days} days"
        (ended,) = [
            event for event in all_events(customer) if event.user_id == customer.user_id and event.type == "CONSENT_ENDED"
        ]
        assert ended.access_key == access

    @pytest.mark.parametrize(("days", "expected"), [(34, [7]), (39.5, [1]), (50, [0])])
    def test_after_an_outage_the_nearest_alone_is_told(
        self, house: Context, customer: Customer, access: str, days: float, expected: list[int]
    ) -> None:
        assert self.told_after(house, customer, days) == expected
        assert self.told_after(house, customer, days) == expected, "also after a restart"

    def test_a_renewed_consent_is_told_of_again_and_a_restated_end_is_not(
        self, house: Context, customer: Customer, access: str
    ) -> None:
        assert self.told_after(house, customer, 34) == [7]
        self.let_end(customer, NOW + timedelta(days=42))  # the bank states the same end a little differently
        assert self.told_after(house, customer, 34) == [7]
        self.let_end(customer, NOW + timedelta(days=214))
        assert self.told_after(house, customer, 34) == [7]
        assert self.told_after(house, customer, 185) == [7, 30]

    def test_a_deactivated_user_is_left_alone(self, house: Context, customer: Customer, access: str) -> None:
        with house.database.acting_for(customer.tenant.tenant_id) as owner:
            deactivation.deactivate_user(owner, customer.user_id)
        assert self.told_after(house, customer, 35) == []

    def test_two_looks_at_once_tell_it_once(self, house: Context, customer: Customer, access: str) -> None:
        with house.database.operating() as operator:
            first = fetches.lock_ending_consents(operator, NOW + timedelta(days=10), 10_000)
            assert customer.user_id in {row.user_id for row in first}
            assert self.told_after(house, customer, 10) == [], "the other one has locked it"
        assert self.told_after(house, customer, 10) == [30]


def published(house: Context, customer: Customer) -> None:
    """Brings the bucket of a customer up to date."""
    bucket = bucket_of(customer.user_id, BUCKETS)
    export.export_bucket(house.database, house.lake, bucket, BUCKETS)
    buckets.tag_buckets(house.lake, [bucket], tags.tagger())
    buckets.analyse_buckets(house.lake, [bucket], one_user.version(house.settings.base_url))
    publish.publish_buckets(house.database, house.lake, [bucket], BUCKETS, house.settings.base_url)


def analyses_told(customer: Customer) -> tuple[list[list[str]], list[str]]:
    """The names of the changed analyses of each event, and all triggers."""
    details = told(customer)
    changed = [facts["analyses"] for name, facts in details if name == "ANALYSES_CHANGED"]
    return changed, [facts["trigger"] for name, facts in details if name == "TRIGGER_APPEARED"]


class TestAnalyses:
    def test_a_publication_is_one_event_and_each_new_trigger_another(self, house: Context, customer: Customer) -> None:
        customer.connected("demo1")
        published(house, customer)
        (changed,), triggers = analyses_told(customer)
        assert {"contracts", "cashflow", "sales-triggers"} <= set(changed) <= set(ANALYSIS_NAMES)
        served = {tag["id"] for tag in customer.read("/ai/sales-triggers")}
        assert {f"{customer.user_id}.{trigger}" for trigger in triggers} == served
        assert len(triggers) == len(served) > 0
        published(house, customer)
        assert analyses_told(customer) == ([changed], triggers), "nothing has changed"

    def test_what_is_published_again_with_equal_bytes_is_no_change(self, house: Context, customer: Customer) -> None:
        customer.connected("demo1")
        published(house, customer)
        before = analyses_told(customer)
        customer.tenant.stack.sql("UPDATE results SET knowledge = 'older' WHERE user_id = :user", user=customer.user_id)
        published(house, customer)
        assert analyses_told(customer) == before

    def test_changed_bytes_are_told_by_name_and_a_trigger_that_was_there_is_not(self, house: Context, customer: Customer) -> None:
        customer.connected("demo1")
        published(house, customer)
        _, triggers = analyses_told(customer)
        older = "UPDATE results SET knowledge = 'older', content = :content WHERE user_id = :user AND name = :name"
        other = pack(b"[]")
        stack = customer.tenant.stack
        stack.sql("UPDATE results SET knowledge = 'older' WHERE user_id = :user", user=customer.user_id)
        stack.sql(older, user=customer.user_id, name="life-events", content=b"other")
        stack.sql(older, user=customer.user_id, name="contracts-insurance", content=other)
        published(house, customer)
        changed, triggers_now = analyses_told(customer)
        assert changed[1:] == [["contracts", "life-events"]]
        assert triggers_now == triggers

    def test_every_analysis_leads_to_its_address(self, customer: Customer) -> None:
        customer.connected("demo4")
        base_url = customer.tenant.stack.base_url
        links = [notices.references(_notice(customer, name), base_url)["analyses"][0] for name in ANALYSIS_NAMES]
        assert [link["id"] for link in links] == list(ANALYSIS_NAMES)
        assert {customer.call("GET", link["href"]).status_code for link in links} == {200}

    def test_a_deactivated_user_is_left_alone(self, house: Context, customer: Customer) -> None:
        customer.connected("demo1")
        with house.database.acting_for(customer.tenant.tenant_id) as owner:
            deactivation.deactivate_user(owner, customer.user_id)
        published(house, customer)
        assert analyses_told(customer) == ([], [])
        with house.database.acting_for(customer.tenant.tenant_id, customer.user_id) as owner:
            assert results.contents(owner, [customer.user_id], "contracts"), "they were published all the same"


def _notice(customer: Customer, analysis: str) -> webhooks.EventNotice:
    details = {notices.ANALYSES: [analysis]}
    return webhooks.EventNotice(1, EventType.ANALYSES_CHANGED, customer.user_id, None, None, details, NOW)


def test_an_erasure_leaves_nothing_but_the_numbers(house: Context, customer: Customer) -> None:
    customer.connected("demo1")
    begun(customer, "test_transfer_late_0")
    published(house, customer)
    serials = [event.serial for event in all_events(customer) if event.user_id == customer.user_id]
    assert len(serials) > 3
    erase.erase_user(house, customer.tenant.tenant_id, customer.user_id)
    left = [event for event in all_events(customer) if event.serial in serials]
    assert len(left) == len(serials)
    assert {(event.user_id, event.access_key, event.payment_id, str(event.details)) for event in left} == {
        (None, None, None, "{}")
    }
