"""The store of changes: what was added, changed and removed since a cursor, for clients that keep a copy of a user's data.

Every change of what clients see gets a number, the serial. The transaction that makes the change holds the row of the user from
the moment it takes the serial until it ends, so that serials become visible in their order: whoever has read up to one misses
nothing below it. Triggers set them (migration 0013), so that no writer can forget to. An object carries the serial of its last
change and that of its addition; a removed one leaves a `Removal`. What belongs to a removed access or product goes with it.

A cursor first walks through everything there is (`SyncPhase.STATE`), in an order that no change disturbs, and then through all
changes since the walk began. What is changed meanwhile comes again. `SyncPoint` has all serials at which a cursor may begin:
one that is too old, or that was made before a restore from an older backup, is not among them.
"""

import base64
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from enum import IntEnum
from hashlib import sha256
from itertools import islice
from typing import Any
from uuid import UUID

from psycopg import sql
from sqlalchemy import and_, delete, func, or_, select

from warehouse.errors import CursorTooOld, Invalid
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Access, Product, Removal, SyncPoint, User
from warehouse.stores import accesses, products
from warehouse.stores.transactions import COLUMNS

KEPT_DAYS = 90
"""How long removals are remembered, and so how long a client may stop."""
VERSION = 1
LAYOUT = struct.Struct(">BBqqB16siq8s")
CHECK_BYTES = 8
NO_STATE = bytes(8)
NO_ID = UUID(int=0)
SHOWN = sql.SQL(", ").join(sql.SQL("t.{}").format(sql.Identifier(name)) for name in COLUMNS)
OF_PRODUCT = (
    sql.SQL(
        "SELECT {columns}, t.product_id, t.serial, t.added_serial FROM transactions t WHERE t.product_id = %(product)s "
        "AND (t.booked_on, t.sequence) > (%(day)s, %(sequence)s) ORDER BY t.booked_on, t.sequence LIMIT %(limit)s"
    )
    .format(columns=SHOWN)
    .as_string()
)
SINCE = (
    sql.SQL(
        "SELECT {columns}, t.product_id, t.serial, t.added_serial FROM transactions t "
        "WHERE t.tenant_id = %(tenant)s AND t.user_id = %(user)s AND t.serial > 0 "
        "AND (t.serial, t.sequence) > (%(serial)s, %(sequence)s) AND t.product_id = ANY(%(products)s) "
        "ORDER BY t.serial, t.sequence LIMIT %(limit)s"
    )
    .format(columns=SHOWN)
    .as_string()
)
SEQUENCE, BOOKED_ON = COLUMNS.index("sequence"), COLUMNS.index("booked_on")
PRODUCT, SERIAL, ADDED_SERIAL = len(COLUMNS), len(COLUMNS) + 1, len(COLUMNS) + 2
MAX_SEQUENCE = 2**63 - 1


class SyncPhase(IntEnum):
    """How far a client has come: it reads everything there is, then what has changed meanwhile, then what changes."""

    STATE = 0
    CATCHING_UP = 1
    FOLLOWING = 2


class Kind(IntEnum):
    """The kinds of entries, in their order within a serial; the last stands after all of them."""

    REMOVAL = 0
    ACCESS = 1
    PRODUCT = 2
    BOOKING = 3
    END = 4


@dataclass(frozen=True)
class SyncPlace:
    """A place among the entries of a phase: after this entry."""

    serial: int
    kind: Kind = Kind.END
    id: UUID = NO_ID
    day: date = date.min
    sequence: int = 0


@dataclass(frozen=True)
class SyncCursor:
    """Where a client goes on: the serial at which its last complete copy ended (or its first one began), the place that it has
    reached since, and the state of the analyses that it knows.
    """

    phase: SyncPhase
    base: int
    place: SyncPlace
    analyses: bytes = NO_STATE

    def encode(self, user_id: UUID) -> str:
        """The cursor as text. It ends with a checksum over itself and the user, so that it fits nobody else."""
        place = self.place
        position = (place.serial, place.kind, place.id.bytes, place.day.toordinal(), place.sequence)
        content = LAYOUT.pack(VERSION, self.phase, self.base, *position, self.analyses)
        return base64.urlsafe_b64encode(content + _checksum(user_id, content)).decode().rstrip("=")

    @classmethod
    def decode(cls, text: str, user_id: UUID) -> "SyncCursor":
        """The cursor of a text. Raises `Invalid` if it is none of this user, `CursorTooOld` for the form of another version."""
        try:
            whole = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        except ValueError as error:
            raise Invalid("cursor") from error
        content, checksum = whole[:-CHECK_BYTES], whole[-CHECK_BYTES:]
        if not content or checksum != _checksum(user_id, content):
            raise Invalid("cursor")
        if content[0] != VERSION or len(content) != LAYOUT.size:
            raise CursorTooOld
        _, phase, base, serial, kind, id_, day, sequence, analyses = LAYOUT.unpack(content)
        return cls(
            SyncPhase(phase), base, SyncPlace(serial, Kind(kind), UUID(bytes=id_), date.fromordinal(day), sequence), analyses
        )


@dataclass(frozen=True)
class Entry:
    """An object that is there, or the removal of one, at its place."""

    place: SyncPlace
    content: Any
    added_serial: int = 0


@dataclass(frozen=True)
class ChangePage:
    """A page of entries, the objects that they belong to, and where to go on."""

    entries: Sequence[Entry]
    cursor: SyncCursor
    has_more: bool
    accesses: Mapping[UUID, Access]
    products: Mapping[UUID, Product]
    expired: Sequence[UUID] = ()
    """Accesses that have expired and are not deleted yet: for clients they are removed."""


def first_cursor(owner: Owner) -> SyncCursor:
    """The cursor of a client that has nothing yet."""
    serial = _current_serial(owner)
    return SyncCursor(SyncPhase.STATE, serial, SyncPlace(serial, Kind.REMOVAL))


def read_page(owner: Owner, cursor: SyncCursor, limit: int) -> ChangePage:
    """The entries after a cursor, at most so many. All is read in the owner's transaction, which must see one moment.

    Raises `CursorTooOld` if it is not certain that nothing is missing after this cursor.
    """
    serial = _current_serial(owner)
    if cursor.base != serial and not _is_point(owner, cursor.base):
        raise CursorTooOld
    rows = accesses.visible(owner)
    of_user = (
        {access.id: access for access in rows},
        {product.id: product for of_access in products.visible(owner, rows).values() for product in of_access},
    )
    entries: list[Entry] = []
    if cursor.phase is SyncPhase.STATE:
        entries += islice(_state(owner, *of_user, cursor.place, limit + 1), limit + 1)
        if len(entries) > limit:
            return ChangePage(entries[:limit], replace(cursor, place=entries[limit - 1].place), True, *of_user)
        cursor = replace(cursor, phase=SyncPhase.CATCHING_UP, place=SyncPlace(cursor.base))
    entries += _since(owner, *of_user, cursor.place, limit + 1 - len(entries))
    if len(entries) > limit:
        reached = max(entries[limit - 1].place.serial, cursor.base)
        place = SyncPlace(cursor.base) if reached == cursor.base else entries[limit - 1].place
        return ChangePage(entries[:limit], replace(cursor, place=place), True, *of_user)
    complete = SyncCursor(SyncPhase.FOLLOWING, serial, SyncPlace(serial), cursor.analyses)
    return ChangePage(entries, complete, False, *of_user, _expired(owner))


def is_added(entry: Entry, since: SyncCursor) -> bool:
    """Whether a client at this cursor cannot have the object of an entry yet."""
    return since.phase is not SyncPhase.FOLLOWING or entry.added_serial > since.base


def purge_old(owner: Owner, days: int = KEPT_DAYS) -> int:
    """Deletes what nobody may ask for any more; returns how many removals. A serial is the time of its change."""
    limit = func.extract("epoch", func.now() - timedelta(days=days)) * 1_000_000
    owner.session.execute(delete(SyncPoint).where(SyncPoint.next_serial < limit))
    return len(owner.session.scalars(delete(Removal).where(Removal.serial < limit).returning(Removal.object_id)).all())


def _state(
    owner: Owner, of_user: Mapping[UUID, Access], with_products: Mapping[UUID, Product], place: SyncPlace, limit: int
) -> Iterator[Entry]:
    """Everything there is after a place: accesses and products by their ids, then bookings by product, day and sequence.

    An object that is added behind the place, or moves there, has a greater serial than the walk began with.
    """
    for kind, objects in ((Kind.ACCESS, of_user), (Kind.PRODUCT, with_products)):
        for id_ in sorted(objects):
            if (kind, id_) > (place.kind, place.id):
                yield Entry(SyncPlace(place.serial, kind, id_), objects[id_], objects[id_].added_serial)
    left = limit
    for id_ in sorted(with_products):
        begin = place if (place.kind, place.id) == (Kind.BOOKING, id_) else SyncPlace(place.serial)
        if left <= 0 or (Kind.BOOKING, id_) < (place.kind, place.id):
            continue
        values = {"product": id_, "day": begin.day, "sequence": begin.sequence, "limit": left}
        for row in owner.session.connection().exec_driver_sql(OF_PRODUCT, values):
            left -= 1
            yield Entry(SyncPlace(place.serial, Kind.BOOKING, id_, row[BOOKED_ON], row[SEQUENCE]), tuple(row), row[ADDED_SERIAL])


def _since(
    owner: Owner, of_user: Mapping[UUID, Access], with_products: Mapping[UUID, Product], place: SyncPlace, limit: int
) -> list[Entry]:
    """The entries with a serial after a place, at most so many, by serial. Removals come first: what was added again stays."""
    entries = [*_removals(owner, place, limit), *_bookings(owner, list(with_products), place, limit)]
    for kind, objects in ((Kind.ACCESS, of_user), (Kind.PRODUCT, with_products)):
        entries += [
            Entry(SyncPlace(row.serial, kind, row.id), row, row.added_serial)
            for row in objects.values()
            if (row.serial, kind, row.id) > (place.serial, place.kind, place.id)
        ]
    entries.sort(key=lambda entry: (entry.place.serial, entry.place.kind, entry.place.id, entry.place.sequence))
    return entries[:limit]


def _removals(owner: Owner, place: SyncPlace, limit: int) -> Iterator[Entry]:
    reached = Removal.serial > place.serial
    if place.kind is Kind.REMOVAL:
        reached = or_(reached, and_(Removal.serial == place.serial, Removal.object_id > place.id))
    statement = owner.rows(Removal).where(reached).order_by(Removal.serial, Removal.object_id).limit(limit)
    for row in owner.session.scalars(statement):
        yield Entry(SyncPlace(row.serial, Kind.REMOVAL, row.object_id), row)


def _bookings(owner: Owner, of_products: Sequence[UUID], place: SyncPlace, limit: int) -> Iterator[Entry]:
    sequence = place.sequence if place.kind is Kind.BOOKING else -1 if place.kind < Kind.BOOKING else MAX_SEQUENCE
    values = {"tenant": owner.tenant, "user": owner.user_id, "serial": place.serial, "sequence": sequence}
    rows = owner.session.connection().exec_driver_sql(SINCE, {**values, "products": of_products, "limit": limit})
    for row in rows:
        yield Entry(SyncPlace(row[SERIAL], Kind.BOOKING, NO_ID, date.min, row[SEQUENCE]), tuple(row), row[ADDED_SERIAL])


def _current_serial(owner: Owner) -> int:
    statement = select(User.serial).where(User.tenant_id == owner.tenant, User.id == owner.user_id)
    return owner.session.execute(statement).scalar_one()


def _is_point(owner: Owner, serial: int) -> bool:
    return owner.session.scalar(owner.rows(SyncPoint).where(SyncPoint.serial == serial)) is not None


def _expired(owner: Owner) -> Sequence[UUID]:
    return owner.session.scalars(owner.rows(Access).with_only_columns(Access.id).where(Access.expires_at <= func.now())).all()


def _checksum(user_id: UUID, content: bytes) -> bytes:
    return sha256(user_id.bytes + content).digest()[:CHECK_BYTES]
