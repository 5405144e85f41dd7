"""`kontor up` with its lake in an object store, brought to its end: all assets are made there, answers come from them, and who is
erased is in no file of the store.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.cli.test_up import BUCKETS, everything_is_materialised, logged_in
from tests.support.kontor_up import running
from tests.support.object_store import new_bucket, object_store, require_moto
from warehouse.lake.lake import Lake
from warehouse.lake.tables import LANDING, TABLES, TOMBSTONES, TRANSACTIONS

pytestmark = pytest.mark.thorough


def users_of(lake: Lake) -> dict[str, set[str]]:
    """The users who have rows in each table of the lake."""
    tables = [table for table in TABLES if "user" in table.schema]
    return {table.name: set(lake.read(table, range(BUCKETS), ["user"])["user"].to_list()) for table in tables}


def test_everything_is_made_served_and_erased_there(homes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_moto()
    home = homes / "up-on-store"
    with object_store(tmp_path) as variables:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        address = f"s3://{new_bucket(variables)}/kontor"
        settings = {"KONTOR_WORKERS": "1", "KONTOR_WARM_UP": "false", "KONTOR_BUCKETS": str(BUCKETS), "KONTOR_LAKE": address}
        with running(home, **settings) as (output, api, dagster):
            requests = [line.strip() for line in output.read_text().splitlines() if line.startswith("  curl ")]
            token, customer, _ = (
                subprocess.run(["bash", "-c", line], capture_output=True, text=True).stdout for line in requests
            )
            with logged_in(output, dagster) as ui:
                everything_is_materialised(ui)
            assert not (home / "lake").exists(), "nothing of the lake is in the data directory"
            lake = Lake(address)
            assert lake.all_files(LANDING)
            assert lake.read(TRANSACTIONS, range(BUCKETS)).height > 0

            access = json.loads(customer)["bankzugaenge"]["demo"]["bankprodukte"][0]["id"]
            bookings = f"http://127.0.0.1:{api}/customer/v2/bankzugaenge/demo/{access}/kontoumsaetze"
            bearer = {"Authorization": f"Bearer {json.loads(token)['access_token']}"}
            answer = httpx.get(bookings, params={"tag": "true"}, headers=bearer, timeout=60)
            assert answer.headers["X-Analysis-Source"] == "precomputed"

            erika = json.loads(token)["additionalData"]["username"]
            before = users_of(lake)
            command = [str(Path(sys.executable).with_name("kontor")), "user", "erase", "demo", erika, "--yes"]
            environment = {**os.environ, **settings, "KONTOR_HOME": str(home)}
            told = subprocess.run(command, env=environment, capture_output=True, text=True)
            assert told.returncode == 0, told.stderr
            after = users_of(lake)
    (gone,) = before["users"] - after["users"]
    assert gone in before["landing"]
    assert [name for name, users in after.items() if gone in users and name != TOMBSTONES.name] == []
