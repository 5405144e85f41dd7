"""The store of providers: the catalogue of banks. It is the house's, not a tenant's, so every owner sees the same rows."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from uuid import UUID

from sqlalchemy import Boolean, extract, func, literal_column, select, tuple_
from sqlalchemy.dialects.postgresql import insert

from warehouse.errors import NotFound
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Provider


@dataclass(frozen=True)
class ProviderEntry:
    """What a source of banks says of one. Whether it is offered is the operator's to say, and stands only in the row."""

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
    """The providers by name; those that the operator disabled only if asked for."""
    statement = select(Provider).order_by(Provider.name, Provider.id)
    return owner.session.scalars(statement if include_disabled else statement.where(Provider.enabled)).all()


def find(owner: Owner, provider_id: UUID) -> Provider:
    """The provider with this id, enabled or not: an access outlives the offer that it was made from."""
    provider = owner.session.get(Provider, provider_id)
    if provider is None:
        raise NotFound("provider")
    return provider


def upsert(owner: Owner, entries: Sequence[ProviderEntry]) -> CatalogueChanges:
    """Adds and updates providers. Deletes none, and leaves it to the operator which are enabled."""
    if not entries:
        return CatalogueChanges(0, 0, 0)
    statement = insert(Provider)
    given = {name: statement.excluded[name] for name in asdict(entries[0]) if name != "id"}
    stored = [getattr(Provider, name) for name in given]
    statement = statement.on_conflict_do_update(
        index_elements=[Provider.id],
        set_={**given, "updated_at": func.clock_timestamp()},
        where=tuple_(*stored).is_distinct_from(tuple_(*given.values())),
    )
    # PostgreSQL names the rows that it wrote; those that are new were never locked for a change, so their `xmax` is 0.
    is_new = literal_column("providers.xmax = 0", Boolean)
    written = owner.session.scalars(statement.returning(is_new), [asdict(entry) for entry in entries]).all()
    return CatalogueChanges(new=sum(written), changed=len(written) - sum(written), unchanged=len(entries) - len(written))


def set_enabled(owner: Owner, provider_id: UUID, enabled: bool) -> Provider:
    """The provider, offered from now on or no longer. Saying it again changes nothing."""
    provider = find(owner, provider_id)
    if provider.enabled != enabled:
        provider.enabled = enabled
        provider.updated_at = func.clock_timestamp()
    return provider


def version(owner: Owner) -> str:
    """A text that changes whenever a provider does.

    The sum of all times, not the latest one: of two changes at once, the earlier one may be committed last.
    """
    count, times = owner.session.execute(select(func.count(), func.sum(extract("epoch", Provider.updated_at)))).one()
    return f"{count}-{times}"
