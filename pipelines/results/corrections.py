"""What a customer says about the category of a booking, and of all others like it: said, and taken back."""

from uuid import UUID

import polars as pl

from analytics.tagging.corrections import alike, counterparties, fits
from warehouse.errors import NoCounterparty, NotFound, SignDiffers
from warehouse.postgres.database import Owner
from warehouse.stores import choices, ledger, rules, users


def choose(
    owner: Owner,
    booking: UUID,
    item: str,
    *,
    product: UUID | None = None,
    change_existing: bool = False,
    create_rule: bool = False,
) -> None:
    """Makes an item the category of a booking, of all that the same counterparty has now, and of all that are to come.

    Those whose sign it does not fit are left out. Saying it again changes nothing.
    """
    users.lock_corrections(owner)
    bookings = _bookings(owner, booking, product, alone=not (change_existing or create_rule))
    itself = bookings["id"] == str(booking)
    fitting = bookings.select(fits(pl.lit(item), pl.col("amount_cents"))).to_series()
    if not (fitting & itself).any():
        raise SignDiffers(item)
    if create_rule:
        _create_rule(owner, bookings, booking, item)
    wanted = alike(bookings, str(booking)) if change_existing else itself
    choices.put(owner, _ids(bookings.filter(wanted & fitting)), item)


def retract(owner: Owner, booking: UUID, *, change_existing: bool = False) -> None:
    """Takes a choice back, or all for bookings of the same counterparty: what is recognised, or what a rule says, holds again."""
    users.lock_corrections(owner)
    bookings = _bookings(owner, booking, None, alone=not change_existing)
    choices.remove(owner, _ids(bookings.filter(alike(bookings, str(booking)))))


def _bookings(owner: Owner, booking: UUID, product: UUID | None, *, alone: bool) -> pl.DataFrame:
    """All bookings of the user, or just this one, which must be there, and in this product if one is named."""
    found = ledger.whole(owner, booking if alone else None)
    itself = found.filter(pl.col("id") == str(booking))
    if itself.is_empty() or (product is not None and itself["product"][0] != str(product)):
        raise NotFound("transaction")
    return found


def _create_rule(owner: Owner, bookings: pl.DataFrame, booking: UUID, item: str) -> None:
    """A rule for the bookings of a counterparty that come after those that there are."""
    given = bookings.filter(pl.col("id") == str(booking))
    named = counterparties(given).row(0, named=True)
    if not any(named.values()):
        raise NoCounterparty("booking")
    name = given["counterparty_name"][0] if named["name_key"] else ""
    latest = int(bookings.select(pl.col("sequence").max()).item())
    rules.put(owner, item, iban=named["iban"], name=name, name_key=named["name_key"], after=latest)


def _ids(bookings: pl.DataFrame) -> list[UUID]:
    return [UUID(value) for value in bookings["id"]]
