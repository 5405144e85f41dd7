"""The store of providers, the catalogue of banks. It belongs to no tenant: every owner sees the same rows."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from uuid import UUID

from sqlalchemy import Boolean, extract, func, literal_column, select, text, tuple_
from sqlalchemy.dialects.postgresql import insert

from warehouse.errors import NotFound
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import FetchCount, Provider

STATEMENT_FILES, OWN_ACCOUNTS = UUID(int=2), UUID(int=3)
WITHOUT_BANK = frozenset({STATEMENT_FILES, OWN_ACCOUNTS})
"""Providers that are no bank: their accesses are never fetched, have no consent and no login, and cannot pay."""

ANSWERS = ("fetched", "incomplete")
"""The outcomes of fetches to which a provider has answered."""
DISTURBANCE_TIME = text("interval '1 hour'")


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
class FetchTrace:
    """How much a provider is used, and whether its last answers within the hour were faults."""

    fetches: int
    is_away: bool


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


def set_enabled(owner: Owner, provider_id: UUID, enabled: bool) -> Provider:
    """The provider after enabling or disabling it. Repeating it changes nothing."""
    provider = find(owner, provider_id)
    if provider.enabled != enabled:
        provider.enabled = enabled
        provider.updated_at = func.clock_timestamp()
    return provider


def fetch_traces(owner: Owner, faults: Collection[str]) -> dict[UUID, FetchTrace]:
    """What fetches tell of each provider. `faults` are the outcomes that mean that the provider is away."""
    fetches = func.sum(FetchCount.fetches)
    answered_at = func.max(FetchCount.last_at).filter(FetchCount.outcome.in_(ANSWERS))
    failed_at = func.max(FetchCount.last_at).filter(FetchCount.outcome.in_(faults))
    is_recent = failed_at > func.now() - DISTURBANCE_TIME
    is_away = func.coalesce(is_recent & (answered_at.is_(None) | (failed_at > answered_at)), False)
    rows = owner.session.execute(select(FetchCount.provider_id, fetches, is_away).group_by(FetchCount.provider_id))
    return {provider_id: FetchTrace(int(count), away) for provider_id, count, away in rows}


def publish_logins(owner: Owner, provider_id: UUID) -> None:
    """Marks the logins of a provider as published: many use the same one, so that what one does with it must not lock it."""
    find(owner, provider_id).published_logins = True


def version(owner: Owner) -> str:
    """A text that changes whenever a provider does.

    It holds the sum of all times of change, not the latest one: of two concurrent changes, the earlier may be committed last.
    """
    count, times = owner.session.execute(select(func.count(), func.sum(extract("epoch", Provider.updated_at)))).one()
    return f"{count}-{times}"
