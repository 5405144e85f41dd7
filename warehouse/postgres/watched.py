"""The store of what people on call watch beside work: ages of secrets, dialogues that do not end, and how sure tags are."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import func, text
from sqlalchemy.dialects.postgresql import insert

from warehouse.postgres.database import Owner
from warehouse.postgres.tables import TagState, VaultKey

STUCK_MINUTES = 5
STATE = text(
    "SELECT (SELECT extract(epoch FROM now() - min(c.created_at)) FROM certificates c JOIN tenants t ON t.id = c.tenant_id "
    "WHERE c.current AND t.active), "
    "(SELECT extract(epoch FROM now() - first_used_at) FROM vault_keys WHERE key_id = :key), "
    "(SELECT count(*) FROM dialogues WHERE phase IN ('ASKED', 'CALLING', 'OPEN') "
    "AND ends_at < now() - make_interval(mins => :minutes)), "
    "(SELECT count(*) FROM dialogues WHERE phase = 'UNKNOWN' AND look_at IS NULL), "
    "(SELECT coalesce(sum(bookings), 0) FROM tag_states), (SELECT coalesce(sum(unsure), 0) FROM tag_states)"
)


@dataclass(frozen=True)
class Watched:
    """Ages in seconds, and counts."""

    certificate_seconds: float | None
    """Age of the oldest certificate that an active tenant encrypts with."""
    vault_key_seconds: float | None
    """For how long the active vault key has been in use."""
    stuck_dialogues: int
    """Dialogues that should have ended minutes ago."""
    unknown_payments: int
    """Payments with unknown outcome that only an operator can settle."""
    tagged_bookings: int
    unsure_bookings: int


def read(owner: Owner, active_key: str) -> Watched:
    """The state now. The owner is the operator."""
    row = owner.session.execute(STATE, {"key": active_key, "minutes": STUCK_MINUTES}).one()
    certificate, vault_key, stuck, unknown, bookings, unsure = row
    certificate_seconds, key_seconds = (None if age is None else float(age) for age in (certificate, vault_key))
    return Watched(certificate_seconds, key_seconds, int(stuck), int(unknown), int(bookings), int(unsure))


def note_key(owner: Owner, key_id: str) -> None:
    """Notes that a vault key is in use, the first time."""
    owner.session.execute(insert(VaultKey).values(key_id=key_id).on_conflict_do_nothing())


def put_tag_states(owner: Owner, states: Mapping[int, tuple[int, int]]) -> None:
    """Stores bookings and unsure ones of buckets that were tagged."""
    if not states:
        return
    rows = [{"bucket": bucket, "bookings": bookings, "unsure": unsure} for bucket, (bookings, unsure) in sorted(states.items())]
    statement = insert(TagState).values(rows)
    new = {"bookings": statement.excluded.bookings, "unsure": statement.excluded.unsure, "tagged_at": func.now()}
    owner.session.execute(statement.on_conflict_do_update(index_elements=["bucket"], set_=new))
