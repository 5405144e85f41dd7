"""Simulated households as users of a tenant: customers of the demo bank, connected and fetched as every other customer is.

They are loaded in blocks by the engine, because a block is simulated at once. A block may be loaded again: households that have
their data are left alone, so that a load that was killed goes on where it ended.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache, partial
from uuid import UUID

from pipelines.banks.connectors import as_bank
from pipelines.banks.demo import simulated
from pipelines.context import Context
from pipelines.demo_tenants import DEMO, PIN
from pipelines.engine import run
from pipelines.engine.run import OnProgress
from pipelines.fetching import connect, refresh
from pipelines.fetching.store import FetchJob
from warehouse.errors import KontorError, NotFound
from warehouse.postgres import jobs
from warehouse.secrets import hashing
from warehouse.settings import Settings
from warehouse.stores import accesses, providers, users

ACCESS = "household"
HOUSEHOLDS_PER_BLOCK = 50
MAX_HOUSEHOLDS = 999_999
"""The largest number of a household at the demo bank."""


class Incomplete(KontorError):
    """The demo bank did not answer for all households of a block."""


@dataclass(frozen=True)
class LoadCounts:
    """The households of a block, and those of them that were loaded now."""

    households: int
    loaded: int


def username(number: int) -> str:
    """The name of the user of a household."""
    return f"household-{number}"


def load(
    tenant: UUID, households: int, since: date | None, settings: Settings, on_progress: OnProgress | None = None
) -> Iterator[LoadCounts]:
    """Loads the households from 1 to this number into a tenant, with bookings since the month of a day; yields the counts of each
    block in turn.
    """
    options = {} if on_progress is None else {"on_progress": on_progress}
    for _, counts in run.run(partial(load_block, tenant, since), blocks(households), settings, **options):
        yield counts


def blocks(households: int) -> list[tuple[int, int]]:
    """The first and last numbers of the blocks of households."""
    firsts = range(1, households + 1, HOUSEHOLDS_PER_BLOCK)
    return [(first, min(first + HOUSEHOLDS_PER_BLOCK - 1, households)) for first in firsts]


def load_block(tenant: UUID, since: date | None, block: tuple[int, int]) -> LoadCounts:
    """Creates the users of a block, connects them to the demo bank and fetches their data, where this was not done before."""
    context, numbers = _context(), range(block[0], block[1] + 1)
    people = _people(context, tenant, numbers)
    due = _without_data(context, tenant, people)
    if due:
        _fetch(context, tenant, due, since, numbers)
    if remaining := _without_data(context, tenant, due):
        raise Incomplete(f"{len(remaining)} of {len(numbers)} households have no data")
    return LoadCounts(len(numbers), len(due))


def _fetch(context: Context, tenant: UUID, due: Mapping[int, UUID], since: date | None, numbers: range) -> None:
    """Connects users by number of their household, and fetches their data."""
    tomorrow = datetime.now(UTC).date() + timedelta(days=1)  # the last day may end meanwhile
    with simulated.simulated_in_advance(numbers, since, tomorrow):
        for number, user in due.items():
            job = _begin(context, tenant, user, simulated.user_id_of(number, since))
            refresh.fetch_access(context, job, datetime.now(UTC))


@cache
def _context() -> Context:
    return Context.of(Settings())


def _people(context: Context, tenant: UUID, numbers: range) -> dict[int, UUID]:
    """The users of households by number; new ones have a password that nobody knows."""
    with context.database.acting_for(tenant) as owner:
        ids = users.ids_by_name(owner, [username(number) for number in numbers])
        missing = [number for number in numbers if username(number) not in ids]
        unknown_password = hashing.hash_password(hashing.new_secret()) if missing else ""  # one for all, since each takes a while
        ids |= {username(number): users.create(owner, username(number), unknown_password).id for number in missing}
    return {number: ids[username(number)] for number in numbers}


def _without_data(context: Context, tenant: UUID, people: Mapping[int, UUID]) -> dict[int, UUID]:
    """Those of these users whose household was not fetched completely."""
    with context.database.acting_for(tenant) as owner:
        complete = accesses.complete_users(owner, ACCESS, people.values())
    return {number: user for number, user in people.items() if user not in complete}


def _begin(context: Context, tenant: UUID, user: UUID, user_id: str) -> FetchJob:
    """The fetch of a household, begun now or by a load that was killed. No worker is told of it: it runs here."""
    with context.database.acting_for(tenant, user) as owner:
        row = providers.find(owner, DEMO)
        offer = context.connectors[row.connector].offer(as_bank(row))
        if offer is None:
            raise NotFound("provider")
        login = connect.login(connect.AccessRequest(ACCESS, DEMO, {}), offer, {"userid": user_id, "pin": PIN})
        fetches = connect.connect(owner, context.vault, context.settings, [login], refresh=True, attended_from=None)
        ((access, fetch),) = fetches.items()
        jobs.remove_waiting(owner, [access])
    return FetchJob(tenant, user, access, fetch)
