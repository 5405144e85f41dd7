"""What breaks around the service: the database restarts or gets other tables, a worker is killed, the service is told to stop."""

import asyncio
import shutil
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import httpx
import psutil
import psycopg
import pytest
from procrastinate.jobs import Status

from tests.support.stack import PASSWORD, Stack, TenantUnderTest, is_ready, running_stack, start, start_python, wait_until
from warehouse.postgres import migrate
from warehouse.postgres.embedded import pg_ctl
from warehouse.postgres.job_connections import job_connector
from warehouse.postgres.job_manager import FairJobManager

TENANTS = "/auth/mgmt/v1/tenants"
NEXT = """from alembic import op
import sqlalchemy as sa
revision, down_revision = "9000", "{before}"
def upgrade(): op.add_column("users", sa.Column("note", sa.Text(), nullable=True))
"""


HURRIED = {"KONTOR_DATABASE_WAIT_SECONDS": "0.5", "KONTOR_STOP_SECONDS": "8"}


@pytest.fixture(scope="module", params=[start, pytest.param(start_python, marks=pytest.mark.thorough)], ids=["forks", "python"])
def fragile(homes: Path, request: pytest.FixtureRequest) -> Iterator[Stack]:
    """A service of these tests' own, to be broken."""
    with running_stack(homes / f"fragile-{request.param.__name__}", request.param) as running:
        yield running


@pytest.fixture(scope="module")
def impatient(homes: Path) -> Iterator[Stack]:
    """Another one, of one process, which hardly waits for its database. The last of these tests stop it."""
    with running_stack(homes / "impatient", start_python, KONTOR_WORKERS="1", **HURRIED) as running:
        yield running


def test_the_service_survives_a_restart_of_the_database(fragile: Stack) -> None:
    tenant = fragile.tenant()
    token = tenant.bearer("admin")
    assert fragile.http.get(TENANTS, headers=token).status_code == 200
    pg_ctl(fragile.home / "postgres", "stop", "-m", "immediate")
    assert fragile.http.get("/health").status_code == 200
    down = fragile.http.get("/ready")
    checks = down.json()["checks"]
    assert (down.status_code, checks["database"], checks["lake"]) == (503, "unavailable", "ok")
    waiting: list[int] = []
    waiters = [threading.Thread(target=lambda: waiting.append(fresh_get(fragile, token).status_code)) for _ in range(4)]
    for waiter in waiters:
        waiter.start()
    pg_ctl(fragile.home / "postgres", "start")
    for waiter in waiters:
        waiter.join()
    assert waiting == [200] * 4, "requests that came in the meantime waited for the database"
    for _ in range(6):
        assert fresh_get(fragile, token).status_code == 200
        assert tenant.token_answer("admin").status_code == 200
    assert fragile.http.get("/ready").status_code == 200


def test_the_end_of_a_job_is_recorded_when_the_database_is_back(fragile: Stack) -> None:
    """Otherwise its worker, which lives on, would hold the lock of the job for ever."""
    columns = "(queue_name, task_name, lock, status) VALUES ('nobody', 'none', 'login', 'doing')"
    job = fragile.sql(f"INSERT INTO procrastinate_jobs {columns} RETURNING id")[0][0]

    async def finish() -> None:
        connector = job_connector(fragile.where.service, "kontor-test")
        await connector.open_async()
        pg_ctl(fragile.home / "postgres", "stop", "-m", "immediate")
        ending = asyncio.create_task(FairJobManager(connector).finish_job_by_id_async(job, Status.SUCCEEDED, delete_job=True))
        await asyncio.sleep(2)
        assert not ending.done()
        await asyncio.to_thread(pg_ctl, fragile.home / "postgres", "start")
        await asyncio.wait_for(ending, 30)
        await connector.close_async()

    asyncio.run(finish())
    assert fragile.sql("SELECT 1 FROM procrastinate_jobs WHERE id = :id", id=job) == []


def test_without_a_database_requests_end_with_503_and_a_hint_when_to_come_back(impatient: Stack) -> None:
    tenant = impatient.tenant()
    token = tenant.bearer("admin")
    pg_ctl(impatient.home / "postgres", "stop", "-m", "fast")
    for answer in (impatient.http.get(TENANTS, headers=token), tenant.token_answer("admin")):
        assert answer.status_code == 503
        assert "Retry-After" in answer.headers
    pg_ctl(impatient.home / "postgres", "start")
    wait_until(lambda: impatient.http.get(TENANTS, headers=token).status_code == 200, 10)


def test_killing_a_worker_under_load_leaves_no_half_object(fragile: Stack) -> None:
    tenant = fragile.tenant()
    token = tenant.bearer("admin")
    workers = psutil.Process(fragile.process.pid).children()

    def create(number: int) -> tuple[str, int]:
        name = f"last-{number}"
        try:
            return name, create_user(fragile, tenant, token, name)
        except httpx.TransportError:
            return name, 0

    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(create, 0)
        assert first.result()[1] == 201
        jobs = [pool.submit(create, number) for number in range(1, 60)]
        victims = [worker for worker in workers if worker.is_running() and "resource_tracker" not in " ".join(worker.cmdline())]
        victims[-1].send_signal(signal.SIGKILL)
        outcomes = dict(job.result() for job in jobs)
    assert 201 in outcomes.values()
    wait_until(lambda: fresh_get(fragile, token).status_code == 200, 10)
    listed = {user["username"] for user in fragile.http.get(tenant.path("users"), headers=token).json()}
    assert {name for name, status in outcomes.items() if status == 201} <= listed
    roles = fragile.sql(
        "SELECT u.username FROM users u LEFT JOIN role_users r ON r.user_id = u.id WHERE r.role_id IS NULL AND u.tenant_id = :id",
        id=tenant.tenant_id,
    )
    assert roles == [], "every user that exists has its default role"


def test_a_stuck_worker_is_replaced_within_ten_seconds(fragile: Stack) -> None:
    """A stopped process gives no sign of life, like one whose event loop computes for minutes."""
    wait_until(lambda: len(workers(fragile)) == 2, 60)
    victim = min(workers(fragile), key=psutil.Process.create_time)  # the other one may still be starting
    victim.send_signal(signal.SIGSTOP)
    wait_until(partial(has_ended, victim), 10)
    wait_until(lambda: len(workers(fragile)) == 2, 10)
    assert f'"pid":{victim.pid},"reason":"stuck"' in fragile.log.read_text()


def test_a_stuck_worker_is_replaced_in_time_while_another_keeps_dying(fragile: Stack) -> None:
    """Workers that die soon after their start are replaced after a pause; nobody else waits for that."""
    wait_until(lambda: len(workers(fragile)) == 2, 60)
    served = min(workers(fragile), key=psutil.Process.create_time)
    wait_until(lambda: fresh_get(fragile, fragile.tenant().bearer()).status_code == 200, 60)
    for _ in range(4):
        wait_until(lambda: len(workers(fragile)) == 2, 60)
        other = next(worker for worker in workers(fragile) if worker != served)
        other.kill()
        wait_until(partial(has_ended, other), 10)
    served.send_signal(signal.SIGSTOP)
    wait_until(partial(has_ended, served), 10)
    wait_until(lambda: len(workers(fragile)) == 2, 40)
    wait_until(lambda: fresh_get(fragile, fragile.tenant().bearer()).status_code == 200, 60)


def workers(stack: Stack) -> list[psutil.Process]:
    """The processes of a service that handle requests."""
    return [child for child in psutil.Process(stack.process.pid).children() if is_worker(child)]


def is_worker(process: psutil.Process) -> bool:
    try:
        return not has_ended(process) and "resource_tracker" not in " ".join(process.cmdline())
    except psutil.NoSuchProcess:  # it has ended meanwhile
        return False


def has_ended(process: psutil.Process) -> bool:
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def test_a_migration_lets_requests_pass_and_the_version_before_goes_on(
    fragile: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long query holds the table that is to be changed: the migration must not make everybody wait behind it."""
    tenant = fragile.tenant()
    token, before = tenant.bearer("admin"), migrate.newest()
    folder = shutil.copytree(migrate.FOLDER, tmp_path / "migrations")
    (folder / "versions" / "9000_note.py").write_text(NEXT.format(before=before))
    monkeypatch.setattr(migrate, "FOLDER", folder)
    waiting = "SELECT 1 FROM pg_locks WHERE relation = 'users'::regclass AND NOT granted"
    with psycopg.connect(fragile.where.migration) as reader, ThreadPoolExecutor(1) as pool:
        reader.execute("SELECT count(*) FROM users")
        migrating = pool.submit(migrate.upgrade, fragile.where.migration, "kontor")
        wait_until(lambda: migrating.done() or fragile.sql(waiting), 30)
        assert create_user(fragile, tenant, token, "meanwhile") == 201
        assert not migrating.done()
        reader.rollback()
        assert migrating.result(60) == (before, "9000")
    assert create_user(fragile, tenant, token, "afterwards") == 201
    assert len(fragile.http.get(tenant.path("users"), headers=token).json()) == 2


def test_a_stop_finishes_what_is_running_and_tells_the_others_to_come_back(impatient: Stack) -> None:
    tenant = impatient.tenant()
    token, customer = tenant.bearer("admin"), tenant.customer()

    def stored() -> int:
        return int(impatient.sql("SELECT count(*) FROM users WHERE tenant_id = :id", id=tenant.tenant_id)[0][0])

    before = stored()
    with ThreadPoolExecutor(9) as pool:
        waiting = pool.submit(customer.add, "test_slow_60")
        wait_until(lambda: customer.read("/bankzugaenge") != {}, 20)
        jobs = [pool.submit(create_user, impatient, tenant, token, f"spät-{number}") for number in range(8)]
        wait_until(lambda: stored() > before, 20)
        impatient.process.send_signal(signal.SIGTERM)
        statuses = []
        for job in jobs:
            try:
                statuses.append(job.result())
            except httpx.TransportError:
                statuses.append(0)
        _, answer = waiting.result()
    assert impatient.process.wait(30) == 0
    assert stored() - before >= statuses.count(201) > 0
    assert answer.status_code == 503
    assert answer.json()["messages"][0]["level"] == "ERROR"
    assert {"x-correlation-id", "retry-after"} <= answer.headers.keys()


def test_a_stuck_worker_does_not_hold_up_a_stop(impatient: Stack) -> None:
    if impatient.process.poll() is not None:  # the test before has stopped it
        impatient.process = start_python("api", impatient.told, impatient.log)
        wait_until(lambda: is_ready(impatient.http), 60, impatient.log.read_text)
    (worker,) = workers(impatient)
    worker.send_signal(signal.SIGSTOP)
    impatient.process.send_signal(signal.SIGTERM)
    assert impatient.process.wait(12) == 0
    assert not worker.is_running()


def fresh_get(stack: Stack, token: dict[str, str]) -> httpx.Response:
    """A request on a connection of its own, so that any worker may get it."""
    return httpx.get(f"{stack.base_url}{TENANTS}", headers=token, timeout=30, verify=False)


def create_user(stack: Stack, tenant: TenantUnderTest, token: dict[str, str], name: str) -> int:
    body = {"username": name, "password": PASSWORD}
    return httpx.post(f"{stack.base_url}{tenant.path('users')}", json=body, headers=token, timeout=30, verify=False).status_code
