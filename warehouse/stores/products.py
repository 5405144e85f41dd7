"""The store of products and positions that a bank reports for a customer."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

import polars as pl
from psycopg import sql
from sqlalchemy import delete, func, select

from analytics.frames import PRODUCTS
from warehouse.errors import NotFound
from warehouse.postgres import frames
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Access, Position, Product

SELECTED = sql.SQL(
    "SELECT p.user_id, p.id, p.category, p.iban, p.owner_name, CASE WHEN p.currency = 'EUR' THEN p.balance_cents END "
    "FROM products p JOIN accesses a ON a.id = p.access_id "
    "WHERE (a.expires_at IS NULL OR a.expires_at > now())"
)
OF_USER = SELECTED + sql.SQL(" AND p.tenant_id = %(tenant)s AND p.user_id = %(user)s ORDER BY p.id")
OF_USERS = SELECTED + sql.SQL(" AND p.user_id = ANY(%(users)s) ORDER BY p.user_id, p.id")


def visible(owner: Owner, accesses: Iterable[Access]) -> dict[UUID, list[Product]]:
    """The products of accesses, in the bank's order, by the id of the access."""
    by_access: dict[UUID, list[Product]] = {access.id: [] for access in accesses}
    rows = owner.rows(Product).where(Product.access_id.in_(by_access)).order_by(Product.ordinal, Product.key)
    for product in owner.session.scalars(rows):
        by_access[product.access_id].append(product)
    return by_access


def whole(owner: Owner) -> pl.DataFrame:
    """All products of a user (frame `PRODUCTS`)."""
    return frames.read_frame(owner, OF_USER, {"tenant": owner.tenant, "user": owner.user_id}, PRODUCTS)


def of_users(owner: Owner, users: Sequence[UUID]) -> pl.DataFrame:
    """All products of many users, by user."""
    return frames.read_frame(owner, OF_USERS, {"users": list(users)}, PRODUCTS)


def find(owner: Owner, access: Access, key: str, *, lock: bool = False) -> Product:
    """One product of an access."""
    statement = owner.rows(Product).where(Product.access_id == access.id, Product.key == key)
    product = owner.session.scalar(statement.with_for_update() if lock else statement)
    if product is None:
        raise NotFound("product")
    return product


def put(owner: Owner, access: Access, stored_products: Mapping[str, Product], key: str, **values: Any) -> tuple[Product, bool]:
    """Creates a product, or updates the stored one; returns it and whether anything but its times has changed."""
    product = stored_products.get(key)
    if product is None:
        product = Product(tenant_id=owner.tenant, user_id=access.user_id, access_id=access.id, key=key, **values)
        owner.session.add(product)
        owner.session.flush()
        return product, True
    differs = any(getattr(product, name) != value for name, value in values.items() if name not in ("fetched_at", "balance_at"))
    for name, value in values.items():
        setattr(product, name, value)
    return product, differs


def add(owner: Owner, access: Access, key: str, **values: Any) -> Product:
    """A new product; raises `NameTaken` if the access has one of this key."""
    product = Product(tenant_id=owner.tenant, user_id=access.user_id, access_id=access.id, key=key, **values)
    return owner.add(product, "product")


def count(owner: Owner, access: Access) -> int:
    """The number of products of an access."""
    statement = select(func.count()).where(Product.tenant_id == owner.tenant, Product.access_id == access.id)
    return owner.session.scalar(statement) or 0


def remove(owner: Owner, product: Product) -> None:
    """Deletes a product with its bookings and positions."""
    owner.session.delete(product)
    owner.session.flush()


def keep_only(owner: Owner, access: Access, keys: Sequence[str]) -> bool:
    """Deletes the products of an access that are not among the keys; returns whether there were any."""
    condition = (Product.tenant_id == owner.tenant, Product.access_id == access.id, Product.key.not_in(keys))
    return bool(owner.session.scalars(delete(Product).where(*condition).returning(Product.id)).all())


def positions(owner: Owner, product: Product) -> Sequence[Position]:
    """The positions of a depot in the bank's order."""
    rows = owner.rows(Position).where(Position.product_id == product.id).order_by(Position.ordinal)
    return owner.session.scalars(rows).all()


def put_positions(owner: Owner, product: Product, values: Sequence[Mapping[str, Any]]) -> bool:
    """Replaces the positions of a depot; returns whether they have changed."""
    stored_positions = positions(owner, product)
    if len(stored_positions) == len(values) and all(
        getattr(row, name) == value
        for row, position in zip(stored_positions, values, strict=True)
        for name, value in position.items()
    ):
        return False
    owner.session.execute(delete(Position).where(Position.tenant_id == owner.tenant, Position.product_id == product.id))
    for row in stored_positions:
        owner.session.expunge(row)  # otherwise the session takes the new row of this key for the deleted one
    owner.session.add_all(
        Position(tenant_id=owner.tenant, user_id=product.user_id, product_id=product.id, ordinal=ordinal, **position)
        for ordinal, position in enumerate(values)
    )
    owner.session.flush()
    return True
