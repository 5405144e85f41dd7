"""Turns at a bank, of several workers on one PostgreSQL."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from procrastinate.jobs import Status
from sqlalchemy import make_url

from pipelines.banks.session_limits import ProviderSlots
from tests.support.databases import migrated_database
from warehouse.postgres.job_connections import MAX_CONNECTIONS, job_connector
from warehouse.postgres.job_manager import FairJobManager
from warehouse.settings import Settings


@pytest.fixture(scope="module")
def address(homes: Path) -> Iterator[str]:
    with migrated_database(Settings(home=homes / "turns")) as where:
        yield make_url(where.service).set(drivername="postgresql").render_as_string(hide_password=False)


def most_at_once(address: str, at_once: int, *sessions: tuple[str, bool]) -> Counter[str]:
    """The largest number of sessions that two workers had open at each provider, when each has these sessions."""
    now: Counter[str] = Counter()
    most: Counter[str] = Counter()

    async def session(turns: ProviderSlots, provider: str, awaited: bool) -> None:
        async with turns.at(provider, "tenant", is_awaited=awaited):
            now[provider] += 1
            most[provider] = max(most[provider], now[provider])
            await asyncio.sleep(0.05)
            now[provider] -= 1

    async def both() -> None:
        workers = [ProviderSlots(address, at_once), ProviderSlots(address, at_once)]
        await asyncio.gather(*(session(turns, *given) for turns in workers for given in sessions))
        for turns in workers:
            await turns.close()

    asyncio.run(both())
    assert not +now
    return most


def test_a_provider_has_no_more_sessions_than_allowed_however_many_workers_there_are(address: str) -> None:
    one, other = str(uuid4()), str(uuid4())
    found = most_at_once(address, 4, *[(one, False)] * 6, *[(other, False)] * 3)
    assert found == {one: 2, other: 2}


def test_customers_who_wait_have_turns_of_their_own(address: str) -> None:
    bank = str(uuid4())
    assert most_at_once(address, 4, *[(bank, False)] * 4, *[(bank, True)] * 4) == {bank: 4}
    assert most_at_once(address, 1, *[(bank, False)] * 3) == {bank: 1}


def test_the_next_turn_goes_to_the_tenant_that_has_none(address: str) -> None:
    bank, order = str(uuid4()), list[str]()

    async def session(turns: ProviderSlots, tenant: str) -> None:
        async with turns.at(bank, tenant, is_awaited=True):
            order.append(tenant)
            await asyncio.sleep(0.01)

    async def scenario() -> None:
        turns = ProviderSlots(address, 4)
        await asyncio.gather(*(session(turns, tenant) for tenant in ["crowd"] * 12 + ["other"]))
        await turns.close()

    asyncio.run(scenario())
    assert order.index("other") <= 2
    assert order.count("crowd") == 12


def test_the_turns_of_a_dead_worker_are_free(address: str) -> None:
    async def scenario() -> None:
        bank, dead, other = str(uuid4()), ProviderSlots(address, 2), ProviderSlots(address, 2)
        async with AsyncExitStack() as session:
            await session.enter_async_context(dead.at(bank, "tenant", is_awaited=False))
            waiting = asyncio.create_task(once(other, bank))
            done, _ = await asyncio.wait([waiting], timeout=0.6)
            assert not done
            await dead.close()
            await asyncio.wait_for(waiting, 10)
        await other.close()

    asyncio.run(scenario())


def test_a_connection_that_was_lost_is_made_again(address: str) -> None:
    async def scenario() -> None:
        turns, bank = ProviderSlots(address, 2), str(uuid4())
        await once(turns, bank)
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'kontor-turns'")
        await asyncio.wait_for(once(turns, bank), 10)
        await turns.close()

    asyncio.run(scenario())


async def once(turns: ProviderSlots, bank: str) -> None:
    async with turns.at(bank, "tenant", is_awaited=False):
        pass


def test_the_end_of_a_job_is_announced_to_those_that_wait_for_its_lock(address: str) -> None:
    columns = "(queue_name, task_name, lock, status) VALUES ('banks', 'none', 'login', 'doing')"

    async def finish(job: int) -> None:
        connector = job_connector(address, "kontor-test")
        await connector.open_async()
        await FairJobManager(connector).finish_job_by_id_async(job, Status.SUCCEEDED, delete_job=True)
        await connector.close_async()

    with psycopg.connect(address, autocommit=True) as worker:
        (job,) = worker.execute(f"INSERT INTO procrastinate_jobs {columns} RETURNING id").fetchone() or ()
        worker.execute('LISTEN "procrastinate_queue_v1#banks"')
        asyncio.run(finish(job))
        (notice,) = worker.notifies(timeout=20, stop_after=1)
        assert json.loads(notice.payload) == {"type": "job_inserted", "job_id": job}


def test_customers_of_all_tenants_have_jobs_in_turn(address: str) -> None:
    columns = "(queue_name, task_name, lock, status, priority, args)"
    waiting = [
        ("crowd", "login 1", 1),
        ("crowd", "login 2", 1),
        ("crowd", "login 2", 1),
        ("crowd", "login 3", 1),
        ("other", "login 4", 1),
        ("other", "login 1", 1),
        ("third", "login 5", 0),
    ]

    async def take_all() -> list[str]:
        connector = job_connector(address, "kontor-test")
        await connector.open_async()
        jobs = FairJobManager(connector)
        worker_id = await jobs.register_worker()
        taken = []
        while (job := await jobs.fetch_job(["banks"], worker_id)) is not None:
            taken.append(f"{job.task_kwargs['tenant']} {job.lock}")
        await connector.close_async()
        return taken

    with psycopg.connect(address, autocommit=True) as session:
        session.execute("DELETE FROM procrastinate_jobs")
        for tenant, lock, priority in waiting:
            values = (lock, priority, json.dumps({"tenant": tenant}))
            session.execute(f"INSERT INTO procrastinate_jobs {columns} VALUES ('banks', 'none', %s, 'todo', %s, %s)", values)
        taken = asyncio.run(take_all())
        session.execute("DELETE FROM procrastinate_jobs")
    assert taken == ["crowd login 1", "other login 4", "crowd login 2", "crowd login 3", "third login 5"]


def test_connections_to_the_jobs_that_were_lost_are_made_again(address: str) -> None:
    async def scenario() -> list[int]:
        connector = job_connector(address, "kontor-lost")
        await connector.open_async()
        with psycopg.connect(address, autocommit=True) as connection:
            ended = connection.execute(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = 'kontor-lost'"
            )
            assert ended.fetchall()
        rows = [await connector.execute_query_one_async("SELECT 1 AS one") for _ in range(2 * MAX_CONNECTIONS)]
        await connector.close_async()
        return [row["one"] for row in rows]

    assert asyncio.run(scenario()) == [1] * (2 * MAX_CONNECTIONS)
