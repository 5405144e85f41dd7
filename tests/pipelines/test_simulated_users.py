"""Simulated households as users of a tenant, and the measurement that loads many of them, in small."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from api.cli import app
from pipelines import simulated_users
from pipelines.banks.demo import simulated
from pipelines.context import Context
from pipelines.fetching import refresh
from pipelines.fetching.store import FetchJob
from pipelines.results import tasks
from tests.bench import scale
from tests.support.households import Settled, settled
from warehouse.errors import Invalid

TENANT = "bench"
HOUSEHOLDS, BUCKETS, SEED = 4, 3, 20261118
MONTH = "2026-06"


@pytest.fixture(scope="module")
def house(homes: Path) -> Iterator[Settled]:
    """A house with a tenant that has a single user yet."""
    with settled(homes / "loaded", 1, SEED, KONTOR_BUCKETS=str(BUCKETS)) as settled_house:
        yield settled_house


@pytest.fixture(autouse=True)
def environment(house: Settled, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Commands work on the house, in blocks of two households."""
    for name, value in house.told.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(simulated_users, "HOUSEHOLDS_PER_BLOCK", 2)
    forget()
    yield
    forget()


def forget() -> None:
    """Lets tasks read the settings anew."""
    for context in (simulated_users._context, tasks._context):
        if context.cache_info().currsize:
            context().database.close()
        context.cache_clear()


def simulate(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["simulate", *arguments, "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return str(json.loads(result.stdout.splitlines()[-1])["result"])


def rows(house: Settled) -> list[tuple[object, ...]]:
    """Each household with its number of bookings, the first day of them, the state of its access, and its waiting jobs."""
    with house.admin() as connection:
        return connection.execute(
            "SELECT u.username, count(t.id), min(t.booked_on), a.status, "
            "(SELECT count(*) FROM procrastinate_jobs j WHERE j.args ->> 'access' = a.id::text) "
            "FROM users u JOIN accesses a ON a.user_id = u.id LEFT JOIN transactions t ON t.user_id = u.id "
            "WHERE u.username LIKE 'household-%' GROUP BY u.id, u.username, a.id, a.status ORDER BY 1"
        ).fetchall()


def test_households_become_users_with_their_bookings_and_a_killed_load_goes_on(
    house: Settled, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch, jobs = refresh.fetch_access, []

    def killed(context: Context, job: FetchJob, now: datetime) -> None:
        jobs.append(job)
        if len(jobs) == 2:
            raise KeyboardInterrupt
        fetch(context, job, now)

    with monkeypatch.context() as patches:
        patches.setattr(refresh, "fetch_access", killed)
        stopped = CliRunner().invoke(app, ["simulate", "--into", TENANT, "--users", str(HOUSEHOLDS), "--since", MONTH])
    assert stopped.exit_code != 0
    assert [status for _, _, _, status, _ in rows(house)] == ["COMPLETE", "STARTED"]

    told = simulate("--into", TENANT, "--users", str(HOUSEHOLDS), "--since", MONTH)
    assert told == f"3 households were loaded into {TENANT}; 1 were there."
    loaded = rows(house)
    assert [name for name, *_ in loaded] == [f"household-{number}" for number in range(1, HOUSEHOLDS + 1)]
    for _, bookings, first, status, waiting in loaded:
        assert (status, waiting) == ("COMPLETE", 0)
        assert int(str(bookings)) > 20
        assert date.fromisoformat(str(first)) >= date(2026, 6, 1)

    assert simulate("--into", TENANT, "--users", str(HOUSEHOLDS), "--since", MONTH).startswith("0 households were loaded")
    assert rows(house) == loaded


def test_households_that_are_simulated_together_are_the_same_as_alone() -> None:
    first, last = date(2026, 3, 10), date(2026, 9, 20)
    with simulated.simulated_in_advance(range(3, 6), first, last):
        together = {number: simulated._life(number) for number in range(3, 6)}
    worded = pl.col("booked_on").is_between(first, last)
    for number, life in together.items():
        alone = simulated._life(number)
        assert alone is not life
        assert alone.products.equals(life.products)
        alone_bookings, bookings = alone.transactions.drop("id"), life.transactions.drop("id")
        assert bookings.filter(worded).equals(alone_bookings.filter(worded))
        numbers = ("product", "booked_on", "amount_cents")
        assert bookings.select(numbers).equals(alone_bookings.select(numbers))


@pytest.mark.parametrize("arguments", [(), ("--out", "folder", "--into", TENANT), ("--into", TENANT, "--users", "1000000")])
def test_a_folder_or_a_tenant_is_named(arguments: tuple[str, ...]) -> None:
    with pytest.raises(Invalid):
        CliRunner().invoke(app, ["simulate", *arguments], catch_exceptions=False)


def test_the_measurement_tells_the_cost_of_each_size_and_what_has_grown(homes: Path, tmp_path: Path) -> None:
    sizes = list(scale.measure(homes / "scale", [2, 4], months=2, buckets=BUCKETS))
    assert [size.users for size in sizes] == [2, 4]
    assert [[step.users for step in size.steps.values()] for size in sizes] == [[2, 2, 2, 2, 2], [2, 4, 4, 4, 4]]
    assert 0 < sizes[0].bookings < sizes[1].bookings
    scale.draw(sizes, 2, tmp_path / "scale.png")
    assert (tmp_path / "scale.png").read_bytes().startswith(b"\x89PNG")
    first = scale.Size(10, 100, dict.fromkeys(scale.STEPS, scale.Step(10, 1.0, 1.0, 500.0)))
    last = scale.Size(20, 200, dict.fromkeys(scale.STEPS, scale.Step(20, 2.5, 2.0, 3000.0)))
    assert scale.misses_of([first, first]) == []
    assert len(scale.misses_of([first, last])) == 2
    shares = {"processes": 0.5, "dask": 0.7}
    others = [
        replace(first, steps=dict.fromkeys(scale.STEPS, scale.Step(10, t, t, 500.0)), engine=name) for name, t in shares.items()
    ]
    assert scale.misses_of([first, *others]) == ["10 users: dask takes 0.70 of the time of inline"]
