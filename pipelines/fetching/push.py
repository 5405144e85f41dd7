"""Bookings that a tenant pushes into a product, beside those of the bank, and deletes again. A repeated batch adds nothing."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any
from uuid import UUID

import polars as pl

from analytics.frames import BOOKINGS
from pipelines.fetching import merge
from warehouse.errors import FromBank, NotFound
from warehouse.postgres.database import Owner
from warehouse.stores import accesses, ledger, products, results


def push(owner: Owner, access_key: str, product_key: str, batches: Mapping[str, Sequence[Mapping[str, Any]]], today: date) -> int:
    """Stores the new bookings of the batches (rows of `BOOKINGS` by name of the batch); returns their number."""
    product = products.find(owner, accesses.find(owner, access_key), product_key, lock=True)
    added = 0
    for batch, rows in batches.items():
        new = merge.missing_bookings(ledger.batch(owner, product, batch), pl.DataFrame(rows, schema=BOOKINGS, orient="row"))
        ledger.add(owner, product, new, batch)
        added += new.height
    if added:
        accesses.touch(owner)
        accesses.record_refresh_day(owner, today)
        results.request(owner)
    return added


def remove(owner: Owner, access_key: str, product_key: str, booking: UUID) -> None:
    """Deletes a pushed booking; raises `FromBank` for one that a bank delivered."""
    product = products.find(owner, accesses.find(owner, access_key), product_key, lock=True)
    if ledger.find_batch(owner, product, booking) is None:
        raise FromBank
    ledger.drop(owner, product, [str(booking)])
    accesses.touch(owner)
    results.request(owner)


def remove_batch(owner: Owner, access_key: str, product_key: str, batch: str) -> None:
    """Deletes all bookings of a product that were pushed in a batch; raises `NotFound` if there are none."""
    product = products.find(owner, accesses.find(owner, access_key), product_key, lock=True)
    ids = ledger.batch(owner, product, batch)["id"].to_list()
    if not ids:
        raise NotFound("batch")
    ledger.drop(owner, product, ids)
    accesses.touch(owner)
    results.request(owner)
