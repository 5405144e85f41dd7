"""The one way to PostgreSQL: transactions that act for an owner, limited to that owner's rows.

Here belong connections, transactions and the limit on what they see. Every transaction tells PostgreSQL for whom it acts, and
row-level security hides all other tenants' rows, so that a forgotten condition shows nothing instead of everything.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from psycopg.errors import DeadlockDetected, LockNotAvailable, SerializationFailure, UniqueViolation
from sqlalchemy import URL, Connection, Engine, Select, create_engine, make_url, select
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolExhausted
from sqlalchemy.orm import Session

from warehouse import patience
from warehouse.errors import Busy, DatabaseUnavailable, NameTaken
from warehouse.postgres.tables import Base, Tenant

PAUSE_SECONDS = 0.1
SHORT_LOCK_TIMEOUT = "50ms"
CONNECTION_ERRORS = (OperationalError, PoolExhausted)
LOCK_CONFLICTS = (LockNotAvailable, DeadlockDetected, SerializationFailure)
CONNECT_TIMEOUT_SECONDS = 5
ACT_FOR = (
    "SELECT set_config('kontor.tenant', %(tenant)s, true), set_config('kontor.user', %(user)s, true), "
    "set_config('kontor.operator', %(operator)s, true), set_config('lock_timeout', %(lock)s, true)"
)
NO_LOCK_TIMEOUT = "0"
BUCKET_LOCK = 7_001_002
DatabaseFailure = SQLAlchemyError
"""What a transaction raises when a statement fails for a reason that is no fact of `warehouse.errors`."""
Row = TypeVar("Row", bound=Base)


@dataclass(frozen=True)
class Owner:
    """For whom a transaction acts: one user, one tenant, or (tenant_id None) the operator of the whole house."""

    session: Session
    tenant_id: UUID | None
    user_id: UUID | None = None

    @property
    def tenant(self) -> UUID:
        """The tenant's id; the operator has none and must name one first (`for_tenant`)."""
        if self.tenant_id is None:
            raise LookupError("this operation acts for one tenant, not for the operator")
        return self.tenant_id

    def for_tenant(self, tenant_id: UUID) -> "Owner":
        """The same transaction limited to one tenant: how the operator works on a tenant's rows."""
        return Owner(self.session, tenant_id)

    def add(self, row: Row, what: str) -> Row:
        """Stores a new row; raises `NameTaken` if the unique index says that there is one of this name."""
        self.session.add(row)
        try:
            self.session.flush()
        except IntegrityError as error:
            if not isinstance(error.orig, UniqueViolation):
                raise
            raise NameTaken(what) from error
        return row

    def rows(self, table: type[Row]) -> Select[Row]:
        """The statement that every query starts from: the rows of this table that the owner may see."""
        columns: Any = table
        statement = select(table)
        if self.tenant_id is not None:
            statement = statement.where((columns.id if table is Tenant else columns.tenant_id) == self.tenant_id)
        if self.user_id is not None and hasattr(table, "user_id"):
            statement = statement.where(columns.user_id == self.user_id)
        return statement


class Database:
    """A pool of connections, and transactions over it that commit when their block ends well."""

    def __init__(self, url: str, *, pool: int = 10, wait_seconds: float = 10) -> None:
        self.url = service_url(url)
        self._wait_seconds = wait_seconds
        self._engine = create_engine(
            self.url,
            pool_size=pool,
            max_overflow=0,
            pool_timeout=max(wait_seconds, 1),
            hide_parameters=True,
            connect_args={"connect_timeout": CONNECT_TIMEOUT_SECONDS, "application_name": "kontor"},
        )
        self._moments = self._engine.execution_options(isolation_level="REPEATABLE READ")

    @contextmanager
    def acting_for(self, tenant_id: UUID, user_id: UUID | None = None) -> Iterator[Owner]:
        """A transaction that sees one tenant's rows, or only one user's."""
        with self._transaction(self._engine, tenant=str(tenant_id), user=str(user_id or ""), operator="") as session:
            yield Owner(session, tenant_id, user_id)

    @contextmanager
    def changing_for(self, tenant_id: UUID, user_id: UUID | None = None) -> Iterator[Owner]:
        """A transaction on the rows of a user (or of a tenant itself) that waits for nobody: raises `Busy` at once if another one
        holds what it needs.
        """
        whom = {"tenant": str(tenant_id), "user": str(user_id or ""), "operator": "", "lock": SHORT_LOCK_TIMEOUT}
        with self._transaction(self._engine, **whom) as session:
            yield Owner(session, tenant_id, user_id)

    @contextmanager
    def reading_for(self, tenant_id: UUID, user_id: UUID | None = None) -> Iterator[Owner]:
        """A transaction that sees the rows of a user or a tenant as they are at one moment, however many queries it makes."""
        with self._transaction(self._moments, tenant=str(tenant_id), user=str(user_id or ""), operator="") as session:
            yield Owner(session, tenant_id, user_id)

    @contextmanager
    def operating(self) -> Iterator[Owner]:
        """A transaction that sees all rows: for logins, where the tenant is not known yet, and for the operator."""
        with self._transaction(self._engine, tenant="", user="", operator="on") as session:
            yield Owner(session, None)

    @contextmanager
    def surveying(self) -> Iterator[Owner]:
        """The same as they are at one moment, however many queries it makes."""
        with self._transaction(self._moments, tenant="", user="", operator="on") as session:
            yield Owner(session, None)

    @contextmanager
    def alone_with(self, buckets: Iterable[int]) -> Iterator[None]:
        """Nobody else works on the files of buckets while the block runs; who comes later waits."""
        with self.operating() as operator:
            for bucket in sorted(buckets):  # in one order, so that no two wait for each other
                operator.session.connection().exec_driver_sql(
                    "SELECT pg_advisory_xact_lock(%(lock)s, %(bucket)s)", {"lock": BUCKET_LOCK, "bucket": bucket}
                )
            yield

    def ping(self) -> None:
        """Returns if the database answers now; raises `DatabaseUnavailable` if it does not."""
        with self._connect(self._engine, "SELECT 1", {}, wait_seconds=0):
            pass

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def _transaction(self, engine: Engine, **whom: str) -> Iterator[Session]:
        with (
            self._connect(engine, ACT_FOR, {"lock": NO_LOCK_TIMEOUT, **whom}, self._wait_seconds) as connection,
            Session(connection, expire_on_commit=False) as session,
        ):
            try:
                yield session
                session.commit()
                connection.commit()
            except DBAPIError as error:
                if error.connection_invalidated:
                    raise DatabaseUnavailable from error
                if isinstance(error.orig, LOCK_CONFLICTS):
                    raise Busy from error
                raise

    def _connect(self, engine: Engine, first_statement: str, values: dict[str, str], wait_seconds: float) -> Connection:
        """A connection on which the first statement of a transaction has worked.

        A connection that has died, or a server that is just restarting, shows at that statement. Nothing was changed until
        then, so trying again is safe, and no connection needs to be tested beforehand.
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
    """The address with the driver that the service uses, whichever the operator wrote."""
    return make_url(url).set(drivername="postgresql+psycopg")
