"""A bank is asked at most four times a day without the customer: for each login, whoever asks and however often it is added."""

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from pipelines import housekeeping
from tests.support.stack import DEMO, Stack
from warehouse.secrets.vault import KeyRing, Vault
from warehouse.settings import Settings
from warehouse.stores import bank_logins

IP = "84.112.10.7"
BERLIN = ZoneInfo("Europe/Berlin")
DAY = date(2026, 11, 15)


@pytest.fixture
def bank(stack: Stack) -> Iterator[str]:
    """The id of a bank whose logins each belong to one person."""
    provider = str(uuid.uuid4())
    stack.sql("INSERT INTO providers (id, name, connector, consumer_relevant) VALUES (:id, 'Bank', 'demo', false)", id=provider)
    yield provider
    stack.sql("DELETE FROM unattended_sessions WHERE provider_id = :id", id=provider)
    stack.sql("DELETE FROM accesses WHERE provider_id = :id", id=provider)
    stack.sql("DELETE FROM providers WHERE id = :id", id=provider)


def login_at(provider: str, login_hash: bytes | None = None) -> Any:
    """What the count looks at of an access."""
    return SimpleNamespace(id=uuid.uuid4(), provider_id=uuid.UUID(provider), login_hash=login_hash or uuid.uuid4().bytes)


def take(stack: Stack, access: Any, day: date = DAY, limit: int = 4) -> bool:
    with stack.database.operating() as owner:
        return bank_logins.take_session(owner, stack.vault, access, day, limit)


class TestOverHttp:
    def test_accesses_of_all_tenants_share_the_count_and_a_new_access_does_not_start_it_anew(
        self, stack: Stack, bank: str
    ) -> None:
        userid = f"test_new_transactions_{uuid.uuid4().hex[:8]}"
        mine, other = stack.tenant().customer(), stack.tenant().customer()
        first = mine.connected(userid, providerId=bank)
        second = other.connected(userid, providerId=bank)
        assert mine.refresh(first, ip=None).status_code == 201
        assert mine.call("DELETE", f"/bankzugaenge/{first}").status_code == 200
        again = mine.connected(userid, providerId=bank)
        for customer, key in ((mine, again), (other, second)):
            answer = customer.refresh(key, ip=None)
            assert (answer.status_code, answer.json()["messages"][0]["code"]) == (429, "BA429")
            assert 0 < int(answer.headers["Retry-After"]) <= 25 * 3600
            assert userid not in answer.text
        key, answer = stack.tenant().customer().add(userid, providerId=bank)
        assert answer.status_code == 429
        assert other.refresh(second, ip=IP).status_code == 201, "a customer who waits is not counted"

    def test_the_fifth_session_is_not_opened_whoever_begins_it(self, stack: Stack, bank: str) -> None:
        """Fetches that were all begun before the limit was reached: the worker refuses what is too much."""
        userid = f"test_new_transactions_{uuid.uuid4().hex[:8]}"
        customers = [stack.tenant().customer() for _ in range(3)]
        keys = [customer.connected(userid, ip=IP, providerId=bank) for customer in customers]
        assert stack.sql("SELECT sessions FROM unattended_sessions WHERE provider_id = :id", id=bank) == []
        with ThreadPoolExecutor(3) as pool:
            jobs = [(customer, key) for customer, key in zip(customers, keys, strict=True) for _ in range(2)]
            list(pool.map(lambda job: job[0].refresh(job[1], ip=None), jobs))
        for customer, key in zip(customers, keys, strict=True):
            customer.wait_idle(key)
        ((sessions,),) = stack.sql("SELECT sessions FROM unattended_sessions WHERE provider_id = :id", id=bank)
        assert 3 <= sessions <= 4

    def test_logins_of_the_demo_bank_are_published_and_count_by_access(self, stack: Stack) -> None:
        customer = stack.tenant().customer()
        keys = [customer.connected("demo1") for _ in range(5)]
        assert customer.refresh(keys[-1], ip=None).status_code == 201


class TestCount:
    def test_of_twenty_at_once_four_are_let_through(self, stack: Stack, bank: str) -> None:
        access = login_at(bank)
        with ThreadPoolExecutor(4) as pool:
            allowed = list(pool.map(lambda _: take(stack, access), range(20)))
        assert sum(allowed) == 4
        assert take(stack, access, DAY + timedelta(days=1))
        assert take(stack, login_at(bank))

    def test_banks_count_apart_and_published_logins_by_access(self, stack: Stack, bank: str) -> None:
        login_hash = uuid.uuid4().bytes
        assert take(stack, login_at(bank, login_hash), limit=1)
        assert not take(stack, login_at(bank, login_hash), limit=1)
        assert take(stack, login_at(DEMO, login_hash), limit=1)
        assert take(stack, login_at(DEMO, login_hash), limit=1)

    def test_a_row_tells_nothing_without_the_key(self, stack: Stack, bank: str) -> None:
        access = login_at(bank)
        take(stack, access)
        ((stored, sessions),) = stack.sql("SELECT login_hash, sessions FROM unattended_sessions WHERE provider_id = :id", id=bank)
        assert (len(stored), sessions) == (32, 1)
        assert access.login_hash not in stored
        columns = {
            name
            for (name,) in stack.sql(
                "SELECT column_name FROM information_schema.columns WHERE table_name = 'unattended_sessions'"
            )
        }
        assert columns == {"login_hash", "provider_id", "day", "sessions"}

    def test_a_rotation_of_keys_does_not_start_it_anew(self) -> None:
        vault = Vault(Settings(vault_keys=None))
        ring = KeyRing("", {}).with_new_key()
        hashes = []
        for _ in range(11):
            vault.from_environment, vault._ring = True, ring
            hashes.append(vault.keyed_hash("a", b"login"))
            ring = ring.with_new_key()
        assert len(set(hashes)) == 1
        assert vault.keyed_hash("b", b"login") not in hashes

    def test_housekeeping_forgets_it_after_some_days(self, stack: Stack, bank: str) -> None:
        access, today = login_at(bank), datetime.now(UTC).date()
        for days in (0, 2, 5, 9):
            take(stack, access, today - timedelta(days=days))
        assert housekeeping.sweep(stack.database, Settings()).unattended_sessions >= 2
        rows = stack.sql("SELECT day FROM unattended_sessions WHERE provider_id = :id", id=bank)
        assert {row[0] for row in rows} == {today, today - timedelta(days=2)}


class TestDays:
    @pytest.mark.parametrize(
        ("now", "day", "wait_seconds"),
        [
            ("2026-11-15T22:59:59", "2026-11-15", 1),
            ("2026-11-15T23:00:00", "2026-11-16", 86400),
            ("2026-07-01T21:59:59", "2026-07-01", 1),
            ("2026-07-01T22:00:00", "2026-07-02", 86400),
            ("2026-03-28T23:00:00", "2026-03-29", 23 * 3600),
            ("2026-03-29T00:59:59", "2026-03-29", 21 * 3600 + 1),
            ("2026-03-29T21:59:59", "2026-03-29", 1),
            ("2026-03-29T22:00:00", "2026-03-30", 86400),
            ("2026-10-24T22:00:00", "2026-10-25", 25 * 3600),
            ("2026-10-25T00:30:00", "2026-10-25", 22 * 3600 + 1800),
            ("2026-10-25T01:30:00", "2026-10-25", 21 * 3600 + 1800),
            ("2026-10-25T22:59:59.7", "2026-10-25", 1),
            ("2026-10-25T23:00:00", "2026-10-26", 86400),
            ("2026-12-31T23:00:00", "2027-01-01", 86400),
        ],
    )
    def test_a_day_is_one_of_berlin_and_has_23_or_25_hours_when_the_clocks_change(
        self, now: str, day: str, wait_seconds: int
    ) -> None:
        moment = datetime.fromisoformat(now).replace(tzinfo=UTC)
        assert bank_logins.day_of(moment, BERLIN) == date.fromisoformat(day)
        assert bank_logins.seconds_until_next_day(moment, BERLIN) == wait_seconds

    @pytest.mark.parametrize("first_midnight", ["2026-03-28T23:00:00", "2026-10-24T22:00:00", "2026-11-14T23:00:00"])
    def test_a_login_has_four_sessions_on_every_day_however_long_it_is(
        self, stack: Stack, bank: str, first_midnight: str
    ) -> None:
        access, start = login_at(bank), datetime.fromisoformat(first_midnight).replace(tzinfo=UTC)
        hours = [start + timedelta(hours=hour) for hour in range(23 + 24)]
        days = [bank_logins.day_of(hour, BERLIN) for hour in hours]
        allowed = [day for day in days if take(stack, access, day)]
        assert [allowed.count(day) for day in dict.fromkeys(days)] == [4] * len(set(days))
