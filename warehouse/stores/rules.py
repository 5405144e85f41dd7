"""The store of rules for counterparties: rules of a user, and rules of a tenant for all its users.

An owner has one rule for each counterparty; a new one replaces it. Every change raises the revision of the owner.
"""

from collections.abc import Sequence
from uuid import UUID

import polars as pl
from psycopg import sql
from sqlalchemy import Select, func

from warehouse.errors import NotFound, TooMany
from warehouse.postgres import frames
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import CategoryRule
from warehouse.stores import accesses, tenants, users

MAX_RULES = 5_000
WHOLE = pl.Schema(
    {
        "tenant": pl.String,
        "user": pl.String,
        "item": pl.String,
        "iban": pl.String,
        "name": pl.String,
        "rank": pl.Int64,
        "after": pl.Int64,
    }
)
"""Rules with the names as written: the comparison of names may change with the knowledge."""
SELECTED = sql.SQL("SELECT tenant_id, user_id, item, counterparty_iban, counterparty_name, rank, after FROM category_rules")
OF_USER = SELECTED + sql.SQL(" WHERE tenant_id = %(tenant)s AND (user_id = %(user)s OR user_id IS NULL) ORDER BY user_id, rank")
OF_USERS = SELECTED + sql.SQL(
    " WHERE user_id = ANY(%(users)s) OR user_id IS NULL AND tenant_id IN (SELECT tenant_id FROM users WHERE id = ANY(%(users)s))"
    " ORDER BY tenant_id, user_id, rank"
)
OF_CONSENTING_TENANTS = sql.SQL(
    "SELECT coalesce(r.user_id::text, ''), r.item, r.counterparty_name FROM category_rules r "
    "JOIN tenants o ON o.id = r.tenant_id "
    "WHERE o.learns AND o.active AND r.counterparty_name <> '' AND (%(tenant)s::uuid IS NULL OR o.id = %(tenant)s::uuid) "
    "ORDER BY r.tenant_id, r.user_id, r.rank DESC"
)
LABELLED_NAMES = pl.Schema({"user": pl.String, "category": pl.String, "counterparty_name": pl.String})
"""Names of counterparties with the category of their rule; without a user, the rule is the tenant's."""


def visible(owner: Owner) -> Sequence[CategoryRule]:
    """The rules of the owner, newest first."""
    return owner.session.scalars(_own(owner).order_by(CategoryRule.rank.desc())).all()


def find(owner: Owner, rule_id: UUID) -> CategoryRule:
    """One rule of the owner."""
    rule = owner.session.scalar(_own(owner).where(CategoryRule.id == rule_id))
    if rule is None:
        raise NotFound("rule")
    return rule


def put(owner: Owner, item: str, *, iban: str, name: str, name_key: str, after: int = 0) -> CategoryRule:
    """The newest rule of the owner, which assigns this item to the bookings of a counterparty.

    It also applies to all bookings that an earlier rule for the counterparty applied to, so that repeating it undoes nothing.
    """
    _lock(owner)
    rule = owner.session.scalar(_own(owner).where(CategoryRule.counterparty_iban == iban, CategoryRule.name_key == name_key))
    count, newest = owner.session.execute(
        _own(owner).with_only_columns(func.count(), func.coalesce(func.max(CategoryRule.rank), 0))
    ).one()
    if rule is not None and rule.rank == newest and rule.item == item and rule.after <= after:
        return rule
    if rule is None:
        if count >= MAX_RULES:
            raise TooMany("rules")
        rule = CategoryRule(tenant_id=owner.tenant, user_id=owner.user_id, counterparty_iban=iban, name_key=name_key, after=after)
        owner.session.add(rule)
    rule.item, rule.counterparty_name, rule.after, rule.rank = item, name, min(after, rule.after), newest + 1
    owner.session.flush()
    _touch(owner)
    return rule


def remove(owner: Owner, rule_id: UUID) -> None:
    """Deletes a rule: its bookings are categorised without it."""
    _lock(owner)
    owner.session.delete(find(owner, rule_id))
    owner.session.flush()
    _touch(owner)


def whole(owner: Owner) -> pl.DataFrame:
    """All rules that apply to a user: its own and, without a user, those of the tenant."""
    return frames.read_frame(owner, OF_USER, {"tenant": owner.tenant, "user": owner.user_id}, WHOLE)


def of_users(owner: Owner, users: Sequence[UUID]) -> pl.DataFrame:
    """All rules that apply to any of these users."""
    return frames.read_frame(owner, OF_USERS, {"users": list(users)}, WHOLE)


def of_consenting_tenants(owner: Owner, tenant: UUID | None = None) -> pl.DataFrame:
    """The rules with a name of all active tenants that consent to learning, or of one of them (`LABELLED_NAMES`)."""
    return frames.read_frame(owner, OF_CONSENTING_TENANTS, {"tenant": tenant}, LABELLED_NAMES)


def _own(owner: Owner) -> Select[CategoryRule]:
    rows = owner.rows(CategoryRule)
    return rows if owner.user_id is not None else rows.where(CategoryRule.user_id.is_(None))


def _lock(owner: Owner) -> None:
    (tenants.lock_corrections if owner.user_id is None else users.lock_corrections)(owner)


def _touch(owner: Owner) -> None:
    (tenants.touch if owner.user_id is None else accesses.touch)(owner)
