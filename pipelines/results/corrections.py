"""Corrections by customers: the category of one booking, or of all bookings with the same counterparty, set and taken back."""

from dataclasses import replace
from uuid import UUID

import polars as pl

from analytics.tagging.corrections import alike, counterparties, fits
from pipelines.results import tags
from pipelines.results.tags import RecentTags, StateChange, TaggedState
from warehouse.errors import NoCounterparty, NotFound, SignDiffers
from warehouse.postgres.database import Owner
from warehouse.stores import choices, ledger, results, revisions, rules, users


def choose(
    owner: Owner,
    booking: UUID,
    item: str,
    *,
    product: UUID | None = None,
    change_existing: bool = False,
    create_rule: bool = False,
    recent: RecentTags | None = None,
) -> StateChange:
    """Sets the category of a booking; with `change_existing` also that of all stored bookings with the same counterparty, and
    with `create_rule` that of future ones.

    Bookings whose sign does not fit the category are left out. A repeated call changes nothing. Gives the states for
    `RecentTags.carry`, once the transaction is committed.
    """
    users.lock_corrections(owner)
    state = tags.tagged_state(owner, tags.version(owner.tenant))
    remembered = _remembered_bookings(owner, recent, state)
    bookings = _bookings(owner, booking, product, alone=not (change_existing or create_rule), remembered=remembered)
    is_booking = bookings["id"] == str(booking)
    fitting = bookings.select(fits(pl.lit(item), pl.col("amount_cents"))).to_series()
    if not (fitting & is_booking).any():
        raise SignDiffers(item)
    if create_rule:
        _create_rule(owner, bookings, booking, item)
    corrected = alike(bookings, str(booking)) if change_existing else is_booking
    choices.put(owner, _ids(bookings.filter(corrected & fitting)), item)
    return _changed(owner, state)


def retract(owner: Owner, booking: UUID, *, change_existing: bool = False, recent: RecentTags | None = None) -> StateChange:
    """Removes the choice for a booking, or for all bookings with the same counterparty: rules and recognition apply again.

    Gives the states for `RecentTags.carry`, once the transaction is committed.
    """
    users.lock_corrections(owner)
    state = tags.tagged_state(owner, tags.version(owner.tenant))
    bookings = _bookings(owner, booking, None, alone=not change_existing, remembered=_remembered_bookings(owner, recent, state))
    choices.remove(owner, _ids(bookings.filter(alike(bookings, str(booking)))))
    return _changed(owner, state)


def _changed(owner: Owner, before: TaggedState) -> StateChange:
    """Lets results be made anew. No bookings have changed since the state before: the row of the user is locked."""
    results.request(owner)
    return StateChange(before, replace(before, revision=revisions.user_state(owner).revision))


def _remembered_bookings(owner: Owner, recent: RecentTags | None, state: TaggedState) -> pl.DataFrame | None:
    uncorrected = recent.find_uncorrected(owner.user_id, state) if recent and owner.user_id else None
    return None if uncorrected is None else uncorrected.bookings


def _bookings(owner: Owner, booking: UUID, product: UUID | None, *, alone: bool, remembered: pl.DataFrame | None) -> pl.DataFrame:
    """All bookings of the user, or just this one. Raises `NotFound` if it does not exist or belongs to another product."""
    bookings = ledger.whole(owner, booking if alone else None) if remembered is None else remembered
    own_row = bookings.filter(pl.col("id") == str(booking))
    if own_row.is_empty() or (product is not None and own_row["product"][0] != str(product)):
        raise NotFound("transaction")
    return own_row if alone else bookings


def _create_rule(owner: Owner, bookings: pl.DataFrame, booking: UUID, item: str) -> None:
    """Creates a rule for future bookings with the counterparty of a booking."""
    own_row = bookings.filter(pl.col("id") == str(booking))
    counterparty = counterparties(own_row).row(0, named=True)
    if not any(counterparty.values()):
        raise NoCounterparty("booking")
    name = own_row["counterparty_name"][0] if counterparty["name_key"] else ""
    latest = int(bookings.select(pl.col("sequence").max()).item())
    rules.put(owner, item, iban=counterparty["iban"], name=name, name_key=counterparty["name_key"], after=latest)


def _ids(bookings: pl.DataFrame) -> list[UUID]:
    return [UUID(value) for value in bookings["id"]]
