"""Transactions on PostgreSQL that act for an owner, limited to the rows of that owner.

Here belong connections, transactions and the limit on what they see. Every transaction tells PostgreSQL for whom it acts, and
row-level security hides the rows of all other tenants, so that a forgotten condition shows too little and never too much.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from uuid import UUID

from psycopg.errors import (
    DeadlockDetected,
    DiskFull,
    InsufficientResources,
    IoError,
    LockNotAvailable,
    OutOfMemory,
    SerializationFailure,
    UniqueViolation,
)
from sqlalchemy import URL, Connection, Engine, Select, create_engine, make_url, select
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolExhausted
from sqlalchemy.orm import Session

from warehouse.errors import Busy, DatabaseUnavailable, NameTaken
from warehouse.postgres.tables import Base, Tenant
from warehouse.runtime import patience

APPLICATION = "kontor"
"""The name of our connections in the lists of the server."""
PAUSE_SECONDS = 0.1
SHORT_LOCK_TIMEOUT = "50ms"
CONNECTION_ERRORS = (OperationalError, PoolExhausted)
DATABASE_ERRORS = (DatabaseUnavailable, Busy, SQLAlchemyError)
"""All errors that a transaction raises when the database fails."""
NO_ROOM = (DiskFull, InsufficientResources, IoError, OutOfMemory)
"""What the server lacks for a moment: nothing of the transaction is stored, and it can be repeated later."""
LOCK_CONFLICTS = (LockNotAvailable, DeadlockDetected, SerializationFailure)
CONNECT_TIMEOUT_SECONDS = 5
ACT_FOR = (
    "SELECT set_config('kontor.tenant', %(tenant)s, true), set_config('kontor.user', %(user)s, true), "
    "set_config('kontor.operator', %(operator)s, true), set_config('lock_timeout', %(lock)s, true)"
)
NO_LOCK_TIMEOUT = "0"
BUCKET_LOCK = 7_001_002
Row = TypeVar("Row", bound=Base)


@dataclass(frozen=True)
class Owner:
    """For whom a transaction acts: one user, one tenant, or (without a tenant) the operator of the service. A request also comes
    through a client, and perhaps through an API key; what it begins ends with them.
    """

    session: Session
    tenant_id: UUID | None
    user_id: UUID | None = None
    client_id: UUID | None = None
    api_key_id: UUID | None = None

    @property
    def tenant(self) -> UUID:
        """The id of the tenant. The operator has none and must choose one first (`for_tenant`)."""
        if self.tenant_id is None:
            raise LookupError("this operation acts for one tenant, not for the operator")
        return self.tenant_id

    def for_tenant(self, tenant_id: UUID) -> "Owner":
        """The same transaction for one tenant: the operator needs it to work on rows of a tenant."""
        return Owner(self.session, tenant_id)

    def through(self, client_id: UUID | None, api_key_id: UUID | None) -> "Owner":
        """The same transaction for work that was begun through this client and API key, or through none."""
        return replace(self, client_id=client_id, api_key_id=api_key_id)

    def add(self, row: Row, description: str) -> Row:
        """Stores a new row; raises `NameTaken` with the description if a unique index has one of this name."""
        self.session.add(row)
        try:
            self.session.flush()
        except IntegrityError as error:
            if not isinstance(error.orig, UniqueViolation):
                raise
            raise NameTaken(description) from error
        return row

    def rows(self, table: type[Row]) -> Select[Row]:
        """The statement that every query starts from: all rows of a table that the owner may see."""
        columns: Any = table
        statement = select(table)
        if self.tenant_id is not None:
            statement = statement.where((columns.id if table is Tenant else columns.tenant_id) == self.tenant_id)
        if self.user_id is not None and hasattr(table, "user_id"):
            statement = statement.where(columns.user_id == self.user_id)
        return statement


class Database:
    """A pool of connections. Its transactions commit when their block ends without an error."""

    def __init__(self, url: str, *, pool: int = 10, wait_seconds: float = 10, options: str = "") -> None:
        """`options` are those of the server for each connection, as in `-c statement_timeout=1000`."""
        self.url = service_url(url)
        self._wait_seconds = wait_seconds
        self._engine = create_engine(
            self.url,
            pool_size=pool,
            max_overflow=0,
            pool_timeout=max(wait_seconds, 1),
            hide_parameters=True,
            connect_args={"connect_timeout": CONNECT_TIMEOUT_SECONDS, "application_name": APPLICATION, "options": options},
        )
        self._snapshot_engine = self._engine.execution_options(isolation_level="REPEATABLE READ")

    @contextmanager
    def acting_for(self, tenant_id: UUID, user_id: UUID | None = None) -> Iterator[Owner]:
        """A transaction that sees one tenant's rows, or only one user's."""
        with self._transaction(self._engine, tenant=str(tenant_id), user=str(user_id or ""), operator="") as session:
            yield Owner(session, tenant_id, user_id)

    @contextmanager
    def changing_for(self, tenant_id: UUID, user_id: UUID | None = None) -> Iterator[Owner]:
        """A transaction on the rows of a user (or of a tenant itself) that waits for no other one: raises `Busy` if a row that it
        needs is locked.
        """
        settings = {"tenant": str(tenant_id), "user": str(user_id or ""), "operator": "", "lock": SHORT_LOCK_TIMEOUT}
        with self._transaction(self._engine, **settings) as session:
            yield Owner(session, tenant_id, user_id)

    @contextmanager
    def reading_for(self, tenant_id: UUID, user_id: UUID | None = None) -> Iterator[Owner]:
        """A transaction whose queries all see the rows of a user or a tenant as they are at one moment."""
        with self._transaction(self._snapshot_engine, tenant=str(tenant_id), user=str(user_id or ""), operator="") as session:
            yield Owner(session, tenant_id, user_id)

    @contextmanager
    def operating(self) -> Iterator[Owner]:
        """A transaction that sees the rows of all tenants: for the operator, and for logins, before the tenant is known."""
        with self._transaction(self._engine, tenant="", user="", operator="on") as session:
            yield Owner(session, None)

    @contextmanager
    def surveying(self) -> Iterator[Owner]:
        """The same; all of its queries see one moment."""
        with self._transaction(self._snapshot_engine, tenant="", user="", operator="on") as session:
            yield Owner(session, None)

    @contextmanager
    def locking_buckets(self, buckets: Iterable[int]) -> Iterator[None]:
        """Keeps others from working on the files of buckets while the block runs; they wait."""
        with self.operating() as operator:
            for bucket in sorted(buckets):  # in one order, so that no two transactions wait for each other
                operator.session.connection().exec_driver_sql(
                    "SELECT pg_advisory_xact_lock(%(lock)s, %(bucket)s)", {"lock": BUCKET_LOCK, "bucket": bucket}
                )
            yield

    def ping(self) -> None:
        """Raises `DatabaseUnavailable` if the database does not answer."""
        with self._connect(self._engine, "SELECT 1", {}, self._wait_seconds):
            pass

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def _transaction(self, engine: Engine, **settings: str) -> Iterator[Session]:
        try:
            with (
                self._connect(engine, ACT_FOR, {"lock": NO_LOCK_TIMEOUT, **settings}, self._wait_seconds) as connection,
                Session(connection, expire_on_commit=False) as session,
            ):
                yield session
                session.commit()
                connection.commit()
        except DBAPIError as error:  # also one of the rollback, after an error of the block itself
            if error.connection_invalidated or isinstance(error.orig, NO_ROOM):
                raise DatabaseUnavailable from error
            if isinstance(error.orig, LOCK_CONFLICTS):
                raise Busy from error
            raise

    def _connect(self, engine: Engine, first_statement: str, values: dict[str, str], wait_seconds: float) -> Connection:
        """A connection on which the first statement of a transaction has succeeded.

        That statement fails on a dead connection or while the server restarts. Nothing was changed before it, so a retry is safe,
        and no connection needs to be tested beforehand.
        """

        def begin() -> Connection:
            connection = engine.connect()
            try:
                connection.exec_driver_sql(first_statement, values)
            except BaseException:
                connection.close()
                raise
            return connection

        try:
            return patience.retry(begin, CONNECTION_ERRORS, patience.pauses_until(wait_seconds, PAUSE_SECONDS))
        except CONNECTION_ERRORS as error:
            raise DatabaseUnavailable from error


def service_url(url: str) -> URL:
    """The address with the driver of the service, whichever driver the operator wrote."""
    return make_url(url).set(drivername="postgresql+psycopg")
