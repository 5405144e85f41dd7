"""The store of the models in use, by scope: `shared`, the id of a tenant with a model of its own, or `credit_risk:` and the id of
a tenant with a calibration.
"""

from dataclasses import dataclass

from sqlalchemy import func, select, text
from sqlalchemy.dialects.postgresql import insert

from warehouse.postgres.database import Owner
from warehouse.postgres.tables import ModelInUse

SHARED = "shared"
LOCK = 7_001_004
CHANGE = text("SELECT pg_advisory_xact_lock(:lock)")
COPY = text("SELECT pg_try_advisory_xact_lock_shared(:lock)")
ALL_VERSIONS = "SELECT coalesce(jsonb_object_agg(scope, version), '{}') FROM models_in_use"
"""Selects the versions in use, by scope, for an asynchronous connection."""


@dataclass(frozen=True)
class ModelFiles:
    """A version in use with the contents of its files; none for the shipped model."""

    version: str
    model: bytes | None
    report: bytes | None
    log: bytes


def lock_for_change(owner: Owner) -> None:
    """Keeps others from changing or copying models until the end of the transaction."""
    owner.session.execute(CHANGE, {"lock": LOCK})


def lock_for_copying(owner: Owner) -> bool:
    """Whether nobody changes models now; if so, nobody does until the end of the transaction."""
    return bool(owner.session.scalar(COPY, {"lock": LOCK}))


def versions(owner: Owner) -> dict[str, str]:
    """The versions in use, by scope. The owner is the operator."""
    return dict(owner.session.execute(select(ModelInUse.scope, ModelInUse.version)).tuples().all())


def files(owner: Owner, scope: str) -> ModelFiles:
    """The version of a scope with its files."""
    columns = (ModelInUse.version, ModelInUse.model, ModelInUse.report, ModelInUse.log)
    return ModelFiles(*owner.session.execute(select(*columns).where(ModelInUse.scope == scope)).one())


def put(owner: Owner, scope: str, content: ModelFiles) -> None:
    """Puts a version into use for all machines."""
    values = {"version": content.version, "model": content.model, "report": content.report, "log": content.log}
    statement = insert(ModelInUse).values(scope=scope, **values)
    owner.session.execute(statement.on_conflict_do_update(index_elements=["scope"], set_={**values, "changed_at": func.now()}))
