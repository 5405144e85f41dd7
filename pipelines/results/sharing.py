"""Sharing the lake with tenants: `kontor lake share`, `kontor lake unshare`, and how programs read what is shared.

Runs keep shares up to date when they publish (`pipelines/results/tasks.py`), erasures reach them (`pipelines/erase.py`).
"""

from typing import Any
from uuid import UUID

from warehouse.errors import NotFound
from warehouse.lake import shares
from warehouse.lake.lake import Lake
from warehouse.lake.storage import OBJECT_STORE
from warehouse.postgres.database import Database
from warehouse.settings import Settings

READ_FOLDER = {
    "duckdb": """import duckdb
print(duckdb.sql("SELECT count(*), sum(amount_cents) FROM read_parquet('{location}/transactions/*/part.parquet')"))""",
    "polars": """import polars as pl
print(pl.scan_parquet("{location}/transactions/*/part.parquet").select(pl.len(), pl.sum("amount_cents")).collect())""",
    "pyarrow": """import pyarrow.dataset
print(pyarrow.dataset.dataset("{location}/transactions", partitioning="hive").to_table().num_rows)""",
}
"""Programs that read the bookings of a share on this machine."""
_ARROW_DATASET = """import os
import pyarrow.dataset
from pyarrow.fs import FileSelector, S3FileSystem
store = S3FileSystem(endpoint_override=os.environ.get("AWS_ENDPOINT_URL"))
files = store.get_file_info(FileSelector("{path}/transactions", recursive=True))
transactions = pyarrow.dataset.dataset([file.path for file in files if file.is_file], filesystem=store, partitioning="hive")
"""
READ_STORE = {
    "duckdb": """{dataset}import duckdb
print(duckdb.sql("SELECT count(*), sum(amount_cents) FROM transactions"))""",
    "polars": READ_FOLDER["polars"],
    "pyarrow": "{dataset}print(transactions.to_table().num_rows)",
}
"""The same in an object store. Credentials and place come from the environment."""


def share(database: Database, lake: Lake, settings: Settings, tenant: UUID, name: str) -> Lake:
    """Shares the rows of a tenant's users, or brings the share up to date, one bucket after the other."""
    share_lake = shares.begin(lake, str(tenant), name)
    for bucket in range(settings.buckets):
        with database.locking_buckets([bucket]):  # under the lock, since the share may have been ended meanwhile
            standing = {id_: one for id_, one in shares.shares(lake).items() if id_ == str(tenant)}
            shares.refresh(lake, bucket, standing, settings.piece_bookings)
    return share_lake


def unshare(database: Database, lake: Lake, settings: Settings, tenant: UUID) -> None:
    """Removes the share of a tenant, while nobody writes into it."""
    with database.locking_buckets(range(settings.buckets)):
        shares.end(lake, str(tenant))


def reading(lake: Lake, tenant: UUID) -> dict[str, Any]:
    """How programs of a tenant read its share: where it lies, the rights of its reader, and a program for each library."""
    own = shares.shares(lake).get(str(tenant))
    if own is None:
        raise NotFound("nothing of the lake is shared with this tenant: use 'kontor lake share'")
    location, path = own.storage.address, own.storage.root
    in_store = location.startswith(OBJECT_STORE)
    programs, dataset = READ_STORE if in_store else READ_FOLDER, _ARROW_DATASET.format(path=path)
    return {
        "location": location,
        "policy": reader_policy(path) if in_store else None,
        "programs": {library: text.format(location=location, dataset=dataset) for library, text in programs.items()},
    }


def reader_policy(path: str) -> dict[str, Any]:
    """The policy of a reader who may list and read what lies below a path (`bucket/folder/…`), and nothing else."""
    bucket, _, folder = path.partition("/")
    return {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Action": "s3:GetObject", "Resource": f"arn:aws:s3:::{bucket}/{folder}/*"},
            {
                "Effect": "Allow",
                "Action": "s3:ListBucket",
                "Resource": f"arn:aws:s3:::{bucket}",
                "Condition": {"StringLike": {"s3:prefix": f"{folder}/*"}},
            },
        ],
    }
