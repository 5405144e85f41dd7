"""The store of providers, the catalogue of banks. It belongs to no tenant: every owner sees the same rows."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta
from uuid import UUID

from sqlalchemy import Boolean, delete, extract, func, literal_column, select, tuple_, update
from sqlalchemy.dialects.postgresql import insert

from warehouse.errors import NotFound
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import FetchCount, FetchDay, Provider

STATEMENT_FILES, OWN_ACCOUNTS = UUID(int=2), UUID(int=3)
WITHOUT_BANK = frozenset({STATEMENT_FILES, OWN_ACCOUNTS})
"""Providers that are no bank: their accesses are never fetched, have no consent and no login, and cannot pay."""

FIRST_RETRY, MAX_RETRY_GAP = timedelta(minutes=5), timedelta(hours=1)
"""When a paused provider is tried again for the first time, and the longest time between two attempts."""
KEPT_DAYS = timedelta(days=90)
"""How long the counts of a day are kept."""


@dataclass(frozen=True)
class ProviderEntry:
    """A provider as a catalogue lists it. Whether it is offered is decided by the operator and stored only in the row."""

    id: UUID
    name: str
    connector: str
    group_name: str | None = None
    blz: str | None = None
    bic: str | None = None
    consumer_relevant: bool = True


@dataclass(frozen=True)
class CatalogueChanges:
    new: int
    changed: int
    unchanged: int


def visible(owner: Owner, *, include_disabled: bool = False) -> Sequence[Provider]:
    """The providers by name; disabled ones only on request."""
    statement = select(Provider).order_by(Provider.name, Provider.id)
    return owner.session.scalars(statement if include_disabled else statement.where(Provider.enabled)).all()


def find(owner: Owner, provider_id: UUID) -> Provider:
    """The provider with this id, enabled or not: existing accesses keep using a disabled one."""
    provider = owner.session.get(Provider, provider_id)
    if provider is None:
        raise NotFound("provider")
    return provider


def upsert(owner: Owner, entries: Sequence[ProviderEntry]) -> CatalogueChanges:
    """Adds and updates providers. Deletes none, and does not change which are enabled."""
    if not entries:
        return CatalogueChanges(0, 0, 0)
    statement = insert(Provider)
    new_values = {name: statement.excluded[name] for name in asdict(entries[0]) if name != "id"}
    columns = [getattr(Provider, name) for name in new_values]
    statement = statement.on_conflict_do_update(
        index_elements=[Provider.id],
        set_={**new_values, "updated_at": func.clock_timestamp()},
        where=tuple_(*columns).is_distinct_from(tuple_(*new_values.values())),
    )
    # PostgreSQL returns the rows that it wrote; new ones were never locked for an update, so their `xmax` is 0.
    is_new = literal_column("providers.xmax = 0", Boolean)
    are_new = owner.session.scalars(statement.returning(is_new), [asdict(entry) for entry in entries]).all()
    return CatalogueChanges(new=sum(are_new), changed=len(are_new) - sum(are_new), unchanged=len(entries) - len(are_new))


def set_addresses(owner: Owner, addresses: Mapping[UUID, str]) -> int:
    """Stores the addresses of providers; returns how many are new or others than before."""
    changed = 0
    for provider in owner.session.scalars(select(Provider).where(Provider.id.in_(addresses))):
        if provider.address != addresses[provider.id]:
            provider.address, provider.updated_at = addresses[provider.id], func.clock_timestamp()
            changed += 1
    owner.session.flush()
    return changed


def set_enabled(owner: Owner, provider_id: UUID, enabled: bool) -> Provider:
    """The provider after enabling or disabling it. Repeating it changes nothing."""
    provider = find(owner, provider_id)
    if provider.enabled != enabled:
        provider.enabled = enabled
        provider.updated_at = func.clock_timestamp()
    return provider


def count_fetches(owner: Owner) -> dict[UUID, int]:
    """How often each provider was asked."""
    rows = owner.session.execute(select(FetchCount.provider_id, func.sum(FetchCount.fetches)).group_by(FetchCount.provider_id))
    return {provider_id: int(count) for provider_id, count in rows}


def publish_logins(owner: Owner, provider_id: UUID) -> None:
    """Marks the logins of a provider as published: many use the same one, so that what one does with it must not lock it."""
    find(owner, provider_id).published_logins = True


def version(owner: Owner) -> str:
    """A text that changes whenever a provider does.

    It holds the sum of all times of change, not the latest one: of two concurrent changes, the earlier may be committed last.
    """
    count, times = owner.session.execute(select(func.count(), func.sum(extract("epoch", Provider.updated_at)))).one()
    return f"{count}-{times}"


# Pauses: a provider that fails for everybody is not asked without a customer, but for single attempts.


def pause(owner: Owner, provider_id: UUID, code: str, now: datetime) -> bool:
    """Pauses a provider; False if that is not to be done: it is paused already, disabled, or its logins are published."""
    statement = (
        update(Provider)
        .where(Provider.id == provider_id, Provider.enabled, ~Provider.published_logins, Provider.paused_at.is_(None))
        .values(paused_at=now, pause_code=code, retry_at=now + FIRST_RETRY, updated_at=func.clock_timestamp())
    )
    return owner.session.scalar(statement.returning(Provider.id)) is not None


def resume(owner: Owner, provider_ids: Collection[UUID]) -> list[UUID]:
    """Ends the pauses of providers that have one; returns their ids."""
    if not provider_ids:
        return []
    nothing = dict.fromkeys(("paused_at", "pause_code", "retry_at", "trial_fetch_id"))
    statement = update(Provider).where(Provider.id.in_(provider_ids), Provider.paused_at.is_not(None))
    return list(owner.session.scalars(statement.values(**nothing, updated_at=func.clock_timestamp()).returning(Provider.id)))


def lock_for_trial(owner: Owner, now: datetime) -> Sequence[Provider]:
    """The paused providers that are to be tried again, locked. Those that others have locked are left out. Accesses can be added
    meanwhile.
    """
    statement = select(Provider).where(Provider.retry_at <= now).order_by(Provider.id)
    return owner.session.scalars(statement.with_for_update(skip_locked=True, key_share=True)).all()


def plan_trial(provider: Provider, fetch_id: UUID | None, now: datetime) -> None:
    """Notes the fetch that tries a provider, and when the next one does: the longer the pause, the later."""
    pause_length = now - (provider.paused_at or now)
    provider.trial_fetch_id = fetch_id
    provider.retry_at = now + min(max(pause_length, FIRST_RETRY), MAX_RETRY_GAP)


# Health: how fetches ended at each provider.


@dataclass(frozen=True)
class OutcomeTotal:
    """The fetches at a provider that have ended in one way since a day: their number, the seconds of their sessions, and the end
    of the last one.
    """

    provider: Provider
    outcome: str
    fetches: int
    seconds: float
    last_at: datetime


def outcomes_since(owner: Owner, day: date) -> list[OutcomeTotal]:
    """How fetches have ended from a day on, by the names of the providers."""
    columns = (func.sum(FetchDay.fetches), func.sum(FetchDay.seconds), func.max(FetchDay.last_at))
    rows = owner.session.execute(
        select(Provider, FetchDay.outcome, *columns)
        .join(Provider, Provider.id == FetchDay.provider_id)
        .where(FetchDay.day >= day)
        .group_by(Provider.id, FetchDay.outcome)
        .order_by(Provider.name, Provider.id, FetchDay.outcome)
    )
    return [OutcomeTotal(provider, outcome, int(count), float(seconds), at) for provider, outcome, count, seconds, at in rows]


def paused(owner: Owner) -> Sequence[Provider]:
    """The paused providers by name."""
    return owner.session.scalars(select(Provider).where(Provider.paused_at.is_not(None)).order_by(Provider.name)).all()


def purge_old_days(owner: Owner) -> int:
    """Deletes counts of days that nobody looks at any more; returns how many."""
    is_old = FetchDay.day < func.current_date() - KEPT_DAYS
    return len(owner.session.scalars(delete(FetchDay).where(is_old).returning(FetchDay.day)).all())
