"""A bank that says the same again: nothing is read, landed or merged a second time, and whatever is lost comes back."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from pipelines.banks import catalogue
from pipelines.banks.fints.bank import FINTS
from pipelines.context import Context
from pipelines.fetching import connect, refresh
from pipelines.fetching.store import FetchJob
from tests.support.databases import migrated_database
from tests.support.fints_line import connector
from warehouse.lake import landing
from warehouse.lake.core_tables import LANDING
from warehouse.postgres.tables import Access, Product
from warehouse.secrets.vault import create_ring
from warehouse.settings import Settings
from warehouse.stores import accesses, ledger, users
from warehouse.stores.provisioning import create_tenant

NOW = datetime(2026, 11, 18, 9, tzinfo=UTC)


@dataclass
class Household:
    """A user with one access at the simulated FinTS bank."""

    context: Context
    tenant: UUID
    user: UUID
    access: UUID

    def fetch(self, now: datetime) -> None:
        with self.context.database.acting_for(self.tenant, self.user) as owner:
            access = owner.session.get_one(Access, self.access)
            fetch = accesses.begin_fetch(owner, access, is_awaited=False, attended_from="84.112.10.7")  # as often as we like
            job = FetchJob(self.tenant, self.user, self.access, fetch)
        refresh.fetch_access(self.context, job, now)
        with self.context.database.acting_for(self.tenant, self.user) as owner:
            access = owner.session.get_one(Access, self.access)
            assert (access.issues, access.fetched_at) == ([], now)

    def digest(self) -> str | None:
        with self.context.database.acting_for(self.tenant, self.user) as owner:
            return owner.session.scalars(owner.rows(Product)).one().answer_digest

    def ids(self) -> list[str]:
        with self.context.database.acting_for(self.tenant, self.user) as owner:
            return ledger.whole(owner)["id"].to_list()

    def drop_last(self) -> None:
        with self.context.database.acting_for(self.tenant, self.user) as owner:
            product = owner.session.scalars(owner.rows(Product)).one()
            ledger.drop(owner, product, ledger.window(owner, product, date(2000, 1, 1))["id"].to_list()[-1:])

    def landed(self) -> int:
        """The number of fetches of which something has landed."""
        lake = self.context.lake
        rows = landing.read_pieces(lake, LANDING, landing.list_pieces(lake, LANDING))
        return rows.filter(user=str(self.user))["fetch"].n_unique()


@pytest.fixture(scope="module")
def context(homes: Path) -> Iterator[Context]:
    base = Settings(_env_file=None, home=homes / "same-answers")
    with migrated_database(base) as where:
        create_ring(base.keys_path)
        context = Context.of(base.model_copy(update={"database_url": where.service}))
        context = replace(context, connectors={FINTS: connector(base.home / "bank", NOW)})
        with context.database.operating() as operator:
            catalogue.add_simulated_bank(operator)
        yield context
        context.database.close()


@pytest.fixture
def household(context: Context) -> Household:
    name = uuid4().hex
    with context.database.operating() as operator:
        tenant = create_tenant(operator, context.vault, name, NOW, regulated=True).tenant.id
    with context.database.acting_for(tenant) as owner:
        user = users.create(owner, "user", "no password").id
    with context.database.acting_for(tenant, user) as owner:
        access = accesses.add(owner, "bank", catalogue.SIMULATED_BANK.id, name.encode(), sync=True)
        login = {"userid": f"test_many_one_step_400_{name[:6]}", "pin": "12345"}
        connect.take_login(owner, context.vault, access, login, name.encode())
        return Household(context, tenant, user, access.id)


def test_the_same_answer_is_stored_once_and_what_is_lost_comes_back(household: Household) -> None:
    household.fetch(NOW)
    household.fetch(NOW + timedelta(minutes=1))  # which asks for fewer days than the first fetch
    digest, ids, landed = household.digest(), household.ids(), household.landed()
    assert digest is not None
    assert (len(ids) > 10, landed) == (True, 2)
    household.fetch(NOW + timedelta(hours=1))
    assert (household.digest(), household.ids(), household.landed()) == (digest, ids, landed)
    household.drop_last()
    assert (household.digest(), household.ids()) == (None, ids[:-1])
    household.fetch(NOW + timedelta(hours=2))
    assert (household.digest(), len(household.ids())) == (digest, len(ids))
    household.fetch(NOW + timedelta(days=1))  # the first day to ask for follows the last fetch
    assert household.digest() == digest
    household.fetch(NOW + timedelta(days=1, hours=1))
    assert household.digest() not in (None, digest)
    assert household.ids()[: len(ids) - 1] == ids[:-1]


def test_an_answer_that_could_not_land_is_not_recognised(household: Household, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError

    household.fetch(NOW)
    with monkeypatch.context() as patch:
        patch.setattr(landing, "append", fail)
        household.fetch(NOW + timedelta(minutes=1))
    assert (household.digest(), household.landed()) == (None, 1)
    household.fetch(NOW + timedelta(minutes=2))
    assert household.digest() is not None
    assert household.landed() == 2
