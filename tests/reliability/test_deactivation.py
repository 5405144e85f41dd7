"""Deactivated means stopped: what a user, client, tenant or API key has begun ends with it, and nothing revives it.

The demo bank keeps a ledger of its calls, so that one can see that it is not asked again.
"""

import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from api.customer import changing_for
from pipelines import deactivation
from pipelines.banks.demo import calls, executed_orders
from pipelines.context import Context
from pipelines.dialogues import worker
from pipelines.dialogues.worker import MoveJob
from tests.spec.browsing import WEBFORM, Browser, appended, connecting
from tests.spec.dialogues import BACK, IP, TRANSFER, Status, codes, href, moved, rels, up_to_tan
from tests.support.stack import DEMO, PASSWORD, Customer, Stack, wait_until
from warehouse.errors import Busy, Deactivated, LoginFailed
from warehouse.settings import Settings
from warehouse.stores import api_keys, clients, fetches, tenants, tokens, users
from warehouse.stores.callers import Caller

KINDS = ("user", "client", "tenant", "API key")
ROWS = {"user": "users", "client": "clients", "tenant": "tenants", "API key": "api_keys"}
PATIENCE_SECONDS = 20
STOPPED = ["BA1109"]
NUMBERS = count(1)


class Person:
    """A user of a tenant of its own, who comes with an API key."""

    def __init__(self, stack: Stack, *, regulated: bool = True) -> None:
        self.stack, self.tenant = stack, stack.tenant(regulated=regulated)
        self.admin = self.tenant.bearer()
        self.username = self.tenant.add_user()
        self.key_id, self.key = self.tenant.add_api_key(self.username)
        self.customer = Customer(self.tenant, self.username, self.token(self.key))

    def token(self, key: str) -> dict[str, str]:
        answer = self.token_answer(key)
        assert answer.status_code == 200, answer.text
        return {"Authorization": f"Bearer {answer.json()['access_token']}"}

    def token_answer(self, key: str) -> httpx.Response:
        answer = self.stack.http.post("/one/bc-token", headers={"X-API-KEY": key})
        if answer.status_code == 200:
            self.stack.private.add(answer.json()["access_token"])
        return answer

    def disable(self, kind: str) -> None:
        """Deactivates the user over HTTP; for the rest there is the command line, which calls the same flows."""
        if kind == "user":
            assert self._users("PUT", "deactivate").status_code == 200
            return
        with self.stack.database.acting_for(self.tenant.tenant_id) as owner:
            if kind == "client":
                deactivation.disable_client(owner, "app")
            elif kind == "tenant":
                deactivation.disable_tenant(owner)
            else:
                deactivation.disable_api_key(owner, self.key_id)

    def enable(self, kind: str) -> None:
        if kind == "user":
            body = {"username": self.username, "password": PASSWORD}
            assert self._users("POST", "reactivate", json=body).status_code == 200
            return
        with self.stack.database.acting_for(self.tenant.tenant_id) as owner:
            if kind == "client":
                clients.enable(owner, "app")
            elif kind == "tenant":
                tenants.enable(owner)
            else:
                api_keys.enable(owner, self.key_id)

    def set_inactive(self, kind: str) -> None:
        """Only the mark: as if it were set at the very moment at which something begins."""
        ids = {"user": self.customer.user_id, "tenant": self.tenant.tenant_id, "API key": self.key_id}
        if kind == "client":
            self.stack.sql("UPDATE clients SET active = false WHERE tenant_id = :id AND name = 'app'", id=ids["tenant"])
        else:
            self.stack.sql(f"UPDATE {ROWS[kind]} SET active = false WHERE id = :id", id=ids[kind])

    def come_back(self, kind: str) -> None:
        """Activates again; the old token stays dead, and a new one works."""
        dead = self.customer.bearer
        self.enable(kind)
        assert self.customer.get().status_code == 403, "no token is revived"
        self.customer.bearer = self.token(self.key)
        assert self.customer.get().status_code == 200
        assert self.customer.bearer != dead

    def _users(self, method: str, action: str, **given: Any) -> httpx.Response:
        path = self.tenant.path("users", str(self.customer.user_id), action)
        return self.stack.http.request(method, path, headers=self.admin, **given)


@pytest.fixture
def person(stack: Stack) -> Person:
    return Person(stack)


@pytest.fixture(scope="module")
def other(stack: Stack) -> Customer:
    """A customer of another tenant, whom nothing disturbs."""
    return stack.tenant().customer()


@pytest.fixture(scope="module")
def house(stack: Stack) -> Iterator[Context]:
    """The flows' view of the service."""
    context = Context.of(Settings(home=stack.home, database_url=stack.where.service))
    yield context
    context.database.close()


def asked(stack: Stack, userid: str, event: str = "begin") -> list[str]:
    """What the bank was asked by a user id."""
    ledger = calls(stack.home / "demo-bank")
    return [call["operation"] for call in ledger if call["event"] == event and call["user_id"] == userid]


def slow(seconds: float = 1) -> str:
    """A user id of its own, for which the bank takes its time."""
    return f"test_slow_{seconds:.1f}{next(NUMBERS):04d}"


def account(person: Person, userid: str) -> str:
    """The address at which the account of a user id pays."""
    access = person.customer.connected(userid)
    (product,) = person.customer.access(access)["bankprodukte"]
    return f"/bankzugaenge/{access}/{product['id']}/payment/single-transfer"


def order(customer: Customer, place: str, payment: str) -> httpx.Response:
    body, query = {"instant": False, "transferDetails": TRANSFER}, {"callbackUrl": BACK, "paymentId": payment}
    return customer.call("POST", place, json=body, params=query, headers=IP)


def paying(person: Person, userid: str, method: int = 1) -> Status:
    """The status of a payment that waits for its confirmation by this method."""
    answer = order(person.customer, account(person, userid), str(uuid.uuid4()))
    assert answer.status_code == 200, answer.text
    return up_to_tan(person.customer, answer.json(), method)


def take_over(person: Person, payment: str) -> MoveJob:
    """The waiting move of a payment, which no other worker begins any more."""
    person.stack.sql(
        "UPDATE procrastinate_jobs SET scheduled_at = now() + interval '1 hour' WHERE args ->> 'user' = :user",
        user=str(person.customer.user_id),
    )
    (row,) = person.stack.sql("SELECT id, move FROM dialogues WHERE payment_id = :id", id=payment)
    return MoveJob(person.tenant.tenant_id, person.customer.user_id, row.id, row.move)


def is_calling(person: Person) -> bool:
    return bool(person.stack.sql("SELECT 1 FROM dialogues WHERE user_id = :u AND phase = 'CALLING'", u=person.customer.user_id))


def let_in(person: Person) -> tuple[Any, Caller]:
    """A request of the person whose token was found valid."""
    scopes = frozenset({"http://service/customer/modify"})
    with person.stack.database.acting_for(person.tenant.tenant_id) as owner:
        client_id = clients.find(owner, "app").id
    user_id, key_id = person.customer.user_id, person.key_id
    caller = Caller(person.tenant.tenant_id, person.tenant.name, client_id, "app", user_id, scopes, True, None, key_id)
    return SimpleNamespace(database=person.stack.database), caller


def fetch_of(person: Person, key: str) -> Any:
    find = "SELECT id, status, fetched_at, fetch_id, attempted_at FROM accesses WHERE user_id = :user AND key = :key"
    (row,) = person.stack.sql(find, user=person.customer.user_id, key=key)
    return row


@contextmanager
def waiting_behind(other: Customer, person: Person, begin: Callable[[str], Any]) -> Iterator[tuple[str, Any]]:
    """A user id with which the bank is busy for somebody else, and a request that waits for it."""
    userid = slow()
    with ThreadPoolExecutor(2) as pool:
        blocking = pool.submit(other.add, userid)
        wait_until(lambda: asked(person.stack, userid), PATIENCE_SECONDS)
        waiting = pool.submit(begin, userid)
        yield userid, waiting
        assert blocking.result()[1].status_code == 201


def jobs_of(person: Person) -> int:
    find = "SELECT count(*) FROM procrastinate_jobs WHERE args ->> 'user' = :user"
    return int(person.stack.sql(find, user=str(person.customer.user_id))[0][0])


@pytest.mark.parametrize("kind", KINDS)
class TestWhatIsUnderWay:
    def test_a_waiting_fetch_never_reaches_the_bank(self, person: Person, other: Customer, kind: str) -> None:
        with waiting_behind(other, person, lambda userid: person.customer.add(userid, key="k")) as (userid, adding):
            wait_until(lambda: jobs_of(person) == 1, PATIENCE_SECONDS)
            person.disable(kind)
            assert jobs_of(person) == 0
            assert adding.result()[1].status_code == 201, "the request that waited is let go"
            assert person.customer.get().status_code == 403
            assert fetch_of(person, "k").fetch_id is None
        person.come_back(kind)
        assert person.customer.access("k")["bankprodukte"] == []
        assert asked(person.stack, userid) == ["fetch"], "only the other one's"

    def test_a_running_fetch_ends_at_its_next_step_and_publishes_nothing(self, person: Person, kind: str) -> None:
        userid = f"test_slow_bookings_0.8{next(NUMBERS):04d}"
        key, answer = person.customer.add(userid)
        assert answer.status_code == 201
        body = person.customer.access(key)
        assert body["status"] == "KOPFDATEN"
        before = fetch_of(person, key)
        revision = "SELECT revision, refreshed_on FROM users WHERE id = :user"
        known = person.stack.sql(revision, user=person.customer.user_id)
        person.disable(kind)
        wait_until(lambda: asked(person.stack, userid, "end"), PATIENCE_SECONDS)
        wait_until(lambda: jobs_of(person) == 0, PATIENCE_SECONDS)
        after = fetch_of(person, key)
        assert (after.status, after.fetched_at, after.fetch_id) == (before.status, before.fetched_at, None)
        assert person.stack.sql(revision, user=person.customer.user_id) == known
        assert not person.stack.sql("SELECT 1 FROM transactions WHERE user_id = :user", user=person.customer.user_id)
        person.come_back(kind)
        assert person.customer.access(key)["bankprodukte"] == body["bankprodukte"]
        assert asked(person.stack, userid) == ["fetch"]

    def test_a_consent_that_waits_for_a_tan_ends(self, person: Person, kind: str) -> None:
        userid = f"test_sca_method_media_{person.username}"
        key, _ = person.customer.add(userid)
        query = {"callbackUrl": BACK}
        answer = person.customer.call("POST", f"/bankzugaenge/{key}/consent", params=query, headers=IP)
        status = up_to_tan(person.customer, person.customer.read(answer.headers["Location"]), 1)
        self._confirm_in_vain(person, kind, status, userid)

    def test_a_payment_that_waits_for_a_tan_ends(self, person: Person, kind: str) -> None:
        userid = f"test_transfer_slow_0_{person.username}"
        status = paying(person, userid)
        self._confirm_in_vain(person, kind, status, userid)
        assert executed_orders(person.stack.home / "demo-bank", userid) == []

    def test_a_form_session_ends(self, stack: Stack, kind: str) -> None:
        person, browser = Person(stack, regulated=False), Browser(stack)
        userid = f"test_sca_method_media_{person.username}"
        browser.open(appended(connecting(person.customer))).send("accept").send("bank", bank=DEMO).log_in(userid)
        form = browser.form("method").fields | {"method": "1"}
        before = asked(stack, userid)
        person.disable(kind)
        assert browser.post(form).place == "stopped"
        person.come_back(kind)
        for _ in (browser.post(form), browser.open(f"{WEBFORM}/form")):
            assert (browser.page.status_code, browser.place) == (400, "stopped")
        assert asked(stack, userid) == before
        for table in ("sealed_values", "dialogues", "redirect_sessions"):
            assert not stack.sql(f"SELECT 1 FROM {table} WHERE user_id = :user", user=person.customer.user_id), table

    def _confirm_in_vain(self, person: Person, kind: str, status: Status, userid: str) -> None:
        """Disables, and confirms before and after the return: the bank hears nothing of it."""
        assert codes(status) == ["BA1110"]
        before, confirm = asked(person.stack, userid), href(status, "submit_text_tan")
        person.disable(kind)
        assert person.customer.call("PUT", confirm, json={"tan": "42"}).status_code == 403
        person.come_back(kind)
        after = person.customer.read(href(status, "self"))
        assert (codes(after), rels(after)) == (STOPPED, ["self"])
        assert person.customer.call("PUT", confirm, json={"tan": "42"}).status_code == 409
        assert asked(person.stack, userid) == before
        assert not person.stack.sql(
            "SELECT field FROM sealed_values WHERE user_id = :user AND subject LIKE 'dialogue:%'", user=person.customer.user_id
        )


@pytest.mark.parametrize("kind", KINDS)
class TestTheWorkerItself:
    """It asks before every call of a bank, whoever has let the work begin."""

    def test_drops_a_fetch_that_it_takes_up(self, person: Person, other: Customer, kind: str) -> None:
        with waiting_behind(other, person, lambda userid: person.customer.add(userid, key="k")) as (userid, adding):
            wait_until(lambda: jobs_of(person) == 1, PATIENCE_SECONDS)
            person.set_inactive(kind)
            assert adding.result()[1].status_code == 201
        wait_until(lambda: jobs_of(person) == 0, PATIENCE_SECONDS)
        assert fetch_of(person, "k").fetch_id is None
        assert asked(person.stack, userid) == ["fetch"]

    def test_ends_a_dialogue_that_it_takes_up(self, person: Person, other: Customer, kind: str) -> None:
        userid = slow(0.5)
        place = account(person, userid)
        before = asked(person.stack, userid)
        with ThreadPoolExecutor(2) as pool:
            blocking = pool.submit(other.add, userid)
            wait_until(lambda: asked(person.stack, userid) != before, PATIENCE_SECONDS)
            ordering = pool.submit(order, person.customer, place, str(uuid.uuid4()))
            wait_until(lambda: jobs_of(person) == 1, PATIENCE_SECONDS)
            person.set_inactive(kind)
            assert codes(ordering.result().json()) == STOPPED
            assert blocking.result()[1].status_code == 201
        assert asked(person.stack, userid) == [*before, "fetch"]

    def test_takes_the_answer_of_a_bank_but_goes_no_further(
        self, person: Person, other: Customer, house: Context, kind: str
    ) -> None:
        """It is asking the bank at the end: the order would now wait for the choice of a method. Even if everybody is back before
        the answer, it does not.
        """
        returns = kind in ("client", "tenant")
        userid, payment = slow(0.3), str(uuid.uuid4())
        place = account(person, userid)
        before = asked(person.stack, userid)
        with ThreadPoolExecutor(2) as pool:
            blocking = pool.submit(other.add, userid)
            wait_until(lambda: asked(person.stack, userid) != before, PATIENCE_SECONDS)
            ordering = pool.submit(order, person.customer, place, payment)
            wait_until(lambda: jobs_of(person) == 1, PATIENCE_SECONDS)
            job = take_over(person, payment)
            plan = worker._plan(house, job, datetime.now(UTC))
            assert plan is not None
            standing, state = worker._ask_bank(house, plan)
            assert standing.phase == "OPEN"
            person.disable(kind)
            if returns:
                person.enable(kind)
            worker._settle(house, job, standing, state, plan)
            assert codes(ordering.result().json()) == STOPPED
            assert blocking.result()[1].status_code == 201
        assert asked(person.stack, userid) == [*before, "fetch", "start"]


def test_a_call_that_is_under_way_is_recorded_as_the_bank_answers(person: Person) -> None:
    """The customer has confirmed, and the bank takes a second: the payment is done, and is told so after the return."""
    userid = f"test_transfer_slow_1_{person.username}"
    status = paying(person, userid)
    with ThreadPoolExecutor(1) as pool:
        entering = pool.submit(person.customer.call, "PUT", href(status, "submit_text_tan"), json={"tan": "42"})
        wait_until(lambda: asked(person.stack, userid)[-1] == "resume" and is_calling(person), PATIENCE_SECONDS)
        person.disable("user")
        assert codes(entering.result().json()) == ["BA1111"]
    person.come_back("user")
    assert codes(person.customer.read(href(status, "self"))) == ["BA1111"]
    assert len(executed_orders(person.stack.home / "demo-bank", userid)) == 1


def test_what_may_have_been_confirmed_elsewhere_is_unknown_and_not_asked_for(person: Person) -> None:
    """The app may have confirmed: nobody claims that the payment failed, and the bank is not asked."""
    userid = f"test_transfer_slow_0_{person.username}"
    status = paying(person, userid, method=944)
    assert codes(status) == ["BA2002"]
    person.disable("user")
    before = asked(person.stack, userid)
    person.come_back("user")
    assert codes(person.customer.read(href(status, "self"))) == ["BA1119"]
    (row,) = person.stack.sql("SELECT look_at FROM dialogues WHERE user_id = :user", user=person.customer.user_id)
    assert row.look_at is None
    assert asked(person.stack, userid) == before


def test_a_disabled_key_leaves_the_other_keys_of_the_user_alone(person: Person) -> None:
    userid = f"test_transfer_slow_0_{person.username}"
    place = account(person, userid)
    _, second_key = person.tenant.add_api_key(person.username)
    second = Customer(person.tenant, person.username, person.token(second_key))
    first_status, second_status = (
        up_to_tan(customer, order(customer, place, str(uuid.uuid4())).json(), 1) for customer in (person.customer, second)
    )
    person.disable("API key")
    assert person.customer.get().status_code == 403
    assert codes(second.read(href(first_status, "self"))) == STOPPED
    assert codes(moved(second, second_status, "submit_text_tan", tan="42")) == ["BA1111"]


def test_no_token_is_issued_beside_the_end_of_its_client(person: Person) -> None:
    """The secret was checked while the client was active; the token is stored afterwards."""
    with person.stack.database.acting_for(person.tenant.tenant_id) as owner:
        client = clients.find(owner, "app")
    person.disable("client")
    with pytest.raises(LoginFailed), person.stack.database.acting_for(person.tenant.tenant_id) as owner:
        tokens.issue_to_user(owner, client, person.customer.user_id, None, tokens.TokenTerms(60))


@pytest.mark.parametrize("kind", KINDS)
def test_a_request_that_was_let_in_begins_nothing_after_the_end(person: Person, kind: str) -> None:
    """Its token was checked before; the transaction in which it begins something asks again."""
    services, caller = let_in(person)
    with changing_for(services, caller) as owner:
        assert (owner.client_id, owner.api_key_id) == (caller.client_id, person.key_id)
    person.disable(kind)
    with pytest.raises(Deactivated), changing_for(services, caller):
        pass


def test_no_deactivation_overtakes_a_request_that_begins_something(person: Person) -> None:
    services, caller = let_in(person)
    database, tenant = person.stack.database, person.tenant.tenant_id
    with changing_for(services, caller):
        for end in (
            partial(users.deactivate, user_id=person.customer.user_id),
            partial(clients.disable, name="app"),
            tenants.disable,
        ):
            with pytest.raises(Busy), database.changing_for(tenant) as owner:
                end(owner)


@pytest.mark.parametrize("kind", KINDS)
def test_a_slot_fetches_nothing_for_them(person: Person, kind: str) -> None:
    """A key is one way to a user of several: its end does not keep the data of the user from being kept up to date."""
    key = person.customer.connected("test_empty")
    access = fetch_of(person, key).id
    later = datetime.now(UTC) + timedelta(hours=6)

    def is_due() -> bool:
        with person.stack.database.operating() as operator:
            return access in {row.id for row in fetches.due_accesses(operator, later, 100_000)}

    assert is_due()
    person.disable(kind)
    assert is_due() == (kind == "API key")
    person.enable(kind)
    assert is_due()
