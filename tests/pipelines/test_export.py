"""What has changed in the ledger since the last export comes to the lake as if everything had been exported anew."""

import random
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from uuid import UUID, uuid4

import polars as pl
import pytest
from psycopg import Connection, sql
from sqlalchemy import select

from analytics.frames import BOOKINGS
from pipelines.context import Context
from pipelines.results import export
from tests.support.examples import examples
from tests.support.households import Settled, settled
from warehouse.lake import tables
from warehouse.lake.lake import Lake
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Access, Product, User
from warehouse.settings import Settings
from warehouse.stores import accesses, changes, ledger

BUCKETS = 1
EXPORTED = (tables.TRANSACTIONS, tables.PRODUCTS, tables.CATEGORY_CHOICES, tables.CATEGORY_RULES, tables.USERS)
LONG_AGO = date(2000, 1, 1)
Act = Callable[[random.Random, Owner], None]


@pytest.fixture(scope="module")
def households(homes: Path) -> Iterator[Settled]:
    """Without a worker, which would delete what has expired."""
    with settled(homes / "export", 3, 20261119) as house:
        yield house


@pytest.fixture
def house(households: Settled, tmp_path: Path) -> Iterator[Context]:
    """Its lake has all bookings."""
    home = Path(households.told["KONTOR_HOME"])
    settings = Settings(home=home, lake=str(tmp_path / "lake"), database_url=households.where.service, buckets=BUCKETS)
    context = Context.of(settings)
    export.export_bucket(context.database, context.lake, 0, BUCKETS)
    yield context
    context.database.close()


@pytest.fixture
def person(households: Settled, house: Context) -> Owner:
    """Somebody with several accounts, as tenant and user; not in a transaction."""
    products = house.lake.read(tables.PRODUCTS, [0]).group_by("user").len()
    user = products.sort("len", "user")["user"][-1]
    with house.database.operating() as operator:
        tenant = operator.session.scalars(select(User.tenant_id)).first()
        return Owner(operator.session, tenant, UUID(user))


@pytest.fixture
def read_ids(monkeypatch: pytest.MonkeyPatch) -> list[UUID]:
    """The users whose bookings are read as a whole."""
    ids: list[UUID] = []
    read = ledger.of_users

    def watched(owner: Owner, users: list[UUID]) -> pl.DataFrame:
        ids.extend(users)
        return read(owner, users)

    monkeypatch.setattr(ledger, "of_users", watched)
    return ids


def acting(house: Context, person: Owner, act: Callable[[Owner], None]) -> None:
    """Changes data of a person in one transaction, as flows do."""
    with house.database.acting_for(person.tenant, person.user_id) as owner:
        act(owner)
        owner.session.flush()
        accesses.touch(owner)


def some_product(chance: random.Random, owner: Owner) -> Product | None:
    rows = sorted(owner.session.scalars(owner.rows(Product)), key=lambda product: product.id)
    return chance.choice(rows) if rows else None


def new_bookings(chance: random.Random) -> pl.DataFrame:
    rows = [
        {"booked_on": date(2026, 1, 1) + timedelta(chance.randrange(300)), "amount_cents": chance.randrange(-9999, 9999)}
        | {"currency": "EUR", "purpose": chance.choice(["Miete", "Öl, Gas", None]), "pending": chance.random() < 0.3}
        for _ in range(chance.randrange(1, 5))
    ]
    return pl.DataFrame([{name: row.get(name) for name in BOOKINGS} for row in rows], schema=BOOKINGS)


def add(chance: random.Random, owner: Owner) -> None:
    if product := some_product(chance, owner):
        ledger.add(owner, product, new_bookings(chance), chance.choice([None, "batch"]))


def change(chance: random.Random, owner: Owner) -> None:
    if product := some_product(chance, owner):
        rows = ledger.window(owner, product, LONG_AGO)
        some = rows.filter(pl.Series([chance.random() < 0.1 for _ in range(rows.height)], dtype=pl.Boolean))
        ledger.change(owner, product, some.with_columns(purpose=pl.lit(f"anders {chance.random()}")))


def drop(chance: random.Random, owner: Owner) -> None:
    if product := some_product(chance, owner):
        ids = ledger.window(owner, product, LONG_AGO)["id"].to_list()
        ledger.drop(owner, product, chance.sample(ids, min(len(ids), 3)))


def remove_product(chance: random.Random, owner: Owner) -> None:
    if chance.random() < 0.3 and (product := some_product(chance, owner)):
        owner.session.delete(product)


def expire(_chance: random.Random, owner: Owner) -> None:
    """The access expires, or is valid again. No flow does the latter, which takes one from the revision."""
    access = owner.session.scalars(owner.rows(Access)).one()
    accesses.touch(owner)
    access.expires_at = None if access.expires_at else datetime.now(UTC) - timedelta(1)


def forget(_chance: random.Random, owner: Owner) -> None:
    """What was removed, and which serials there were, is remembered for some time only."""
    changes.purge_old(owner, days=-1)


ACTS: tuple[Act, ...] = (add, change, drop, add, change, drop, remove_product, expire, expire, forget)


def exported(house: Context, tmp_path: Path, name: str) -> list[pl.DataFrame]:
    """What a new lake has after an export."""
    lake = Lake(str(tmp_path / name))
    lake.prepare(BUCKETS)
    export.export_bucket(house.database, lake, 0, BUCKETS)
    return rows_of(lake)


def rows_of(lake: Lake) -> list[pl.DataFrame]:
    return [lake.read(table, [0]).drop("serial", strict=False) for table in EXPORTED]


def same(frames: list[pl.DataFrame], others: list[pl.DataFrame]) -> bool:
    return all(frame.equals(other) for frame, other in zip(frames, others, strict=True))


@pytest.mark.parametrize("seed", range(3))
def test_changes_come_as_everything_would(house: Context, person: Owner, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    for turn in range(examples(24)):
        for act in chance.choices(ACTS, k=chance.randrange(1, 4)):
            acting(house, person, partial(act, chance))
        export.export_bucket(house.database, house.lake, 0, BUCKETS)
        assert same(rows_of(house.lake), exported(house, tmp_path, str(turn)))


def test_only_changed_bookings_are_read(house: Context, person: Owner, read_ids: list[UUID]) -> None:
    acting(house, person, lambda owner: change(random.Random(1), owner))
    assert export.export_bucket(house.database, house.lake, 0, BUCKETS).changed == 1
    assert read_ids == []
    acting(house, person, lambda owner: forget(random.Random(1), owner))
    assert export.export_bucket(house.database, house.lake, 0, BUCKETS).changed == 1
    assert read_ids == []  # the last serial is the current one
    acting(house, person, lambda owner: add(random.Random(1), owner))
    acting(house, person, lambda owner: forget(random.Random(1), owner))
    assert export.export_bucket(house.database, house.lake, 0, BUCKETS).changed == 1
    assert read_ids == [person.user_id]


def test_users_with_a_new_account_are_read_as_a_whole(
    house: Context, person: Owner, tmp_path: Path, read_ids: list[UUID]
) -> None:
    acting(house, person, lambda owner: owner.session.add(_copy_of(some_product(random.Random(1), owner))))
    export.export_bucket(house.database, house.lake, 0, BUCKETS)
    assert read_ids == [person.user_id]
    assert same(rows_of(house.lake), exported(house, tmp_path, "new"))


def _copy_of(product: Product | None) -> Product:
    assert product is not None
    columns = {column.key: getattr(product, column.key) for column in Product.__table__.columns}
    return Product(**columns | {"id": uuid4(), "key": "new", "ordinal": 99, "serial": 0, "added_serial": 0})


@pytest.mark.parametrize("files", [1, 2, 3])
def test_after_a_killed_export_users_are_read_as_a_whole(
    house: Context, person: Owner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_ids: list[UUID], files: int
) -> None:
    """An access had expired at the killed export, and is valid again: its bookings are not in the file any more."""
    acting(house, person, lambda owner: expire(random.Random(), owner))
    written = 0
    put = house.lake.storage.put

    def dying(path: str, content: bytes) -> None:
        nonlocal written
        if written == files:
            raise KeyboardInterrupt
        written += 1
        put(path, content)

    with monkeypatch.context() as patched:
        patched.setattr(type(house.lake.storage), "put", lambda _storage, path, content: dying(path, content))
        with pytest.raises(KeyboardInterrupt):
            export.export_bucket(house.database, house.lake, 0, BUCKETS)
    acting(house, person, lambda owner: expire(random.Random(), owner))
    read_ids.clear()
    export.export_bucket(house.database, house.lake, 0, BUCKETS)
    assert read_ids == [person.user_id]
    assert same(rows_of(house.lake), exported(house, tmp_path, "anew"))


def test_with_an_older_database_users_are_read_as_a_whole(
    house: Context, person: Owner, households: Settled, read_ids: list[UUID]
) -> None:
    """A backup of before the last export has other serials than the lake."""
    acting(house, person, lambda owner: add(random.Random(1), owner))
    export.export_bucket(house.database, house.lake, 0, BUCKETS)
    with households.admin() as connection:
        connection.execute("UPDATE users SET serial = serial - 1, revision = revision + 1 WHERE id = %s", (person.user_id,))
    read_ids.clear()
    export.export_bucket(house.database, house.lake, 0, BUCKETS)
    assert read_ids == [person.user_id]


def test_changes_are_looked_up_user_by_user(house: Context, households: Settled) -> None:
    """Row security makes PostgreSQL guess that hardly any row can be seen: it once read all bookings of everybody instead."""
    query = sql.SQL("EXPLAIN ") + ledger.CHANGED_SINCE
    with house.database.surveying() as operator:
        connection = operator.session.connection().connection.driver_connection
        assert isinstance(connection, Connection)
        plan = connection.execute(query, {"users": households.people, "serials": [0] * len(households.people)}).fetchall()
    lookups = [line for (line,) in plan if "Index Cond: ((user_id = since.user_id) AND (serial > since.serial))" in line]
    assert len(lookups) == 1, "\n".join(line for (line,) in plan)
