"""The simulated households spend what German households spend, and are insured like them."""

from datetime import date

import polars as pl
import pytest

from models.simulator import official_figures
from models.simulator.base.banks import FORMATS
from models.simulator.base.calendar import Grid
from models.simulator.base.lists import allowed_lists
from models.simulator.base.splits import SPLITS
from models.simulator.contracts.holdings import holdings
from models.simulator.contracts.payments import with_counterparties
from models.simulator.contracts.schedule import schedule
from models.simulator.contracts.templates import templates
from models.simulator.people.people import Setting
from models.simulator.people.scene import scene_of
from models.simulator.simulation import bookings_of, truth_of, users_of

USERS = 3_000
AT_ONCE = 500


def world(months: int) -> Setting:
    return Setting(2, Grid(date(2024, 1, 1), months), allowed_lists(SPLITS), FORMATS)


@pytest.mark.thorough
def test_spending_is_within_an_eighth_of_the_official_figures() -> None:
    ours = world(12)
    bookings, truths, users = [], [], []
    for first in range(0, USERS, AT_ONCE):
        scene = scene_of(ours, first, AT_ONCE)
        contracts = with_counterparties(scene, holdings(scene))
        rows = bookings_of(scene, contracts, schedule(scene, contracts))
        bookings.append(rows.select("id", amount_cents="cents"))
        truths.append(truth_of(scene, rows).select("id", "user", "effective_category", "brand", "future"))
        users.append(users_of(scene))
    found = official_figures.spending(pl.concat(bookings).lazy(), pl.concat(truths).lazy(), pl.concat(users))
    assert found.filter(~pl.col("ratio").is_between(0.88, 1.12)).to_dicts() == []


@pytest.mark.thorough
def test_insurances_are_held_as_officially_counted() -> None:
    ours = world(39)
    contracts, users = [], []
    names = pl.Series([template.name for template in templates()])
    for first in range(0, USERS, AT_ONCE):
        scene = scene_of(ours, first, AT_ONCE)
        scene_contracts = holdings(scene)
        due = schedule(scene, scene_contracts)
        before, after = (
            set(due.filter(side)["contract_row"]) for side in (pl.col("day") <= ours.grid.as_of, pl.col("day") > ours.grid.as_of)
        )
        active = scene_contracts[sorted(before & after)]
        contracts.append(
            pl.DataFrame(
                {
                    "user": (active["who"] + first).cast(pl.UInt32),
                    "template": names.gather(active["template"].cast(pl.UInt32)),
                    "status": pl.Series(["ACTIVE"]).new_from_index(0, active.height),
                }
            )
        )
        users.append(users_of(scene))
    found = official_figures.holding_rates(pl.concat(contracts), pl.concat(users))
    assert found.filter(pl.col("difference").abs() > 5).to_dicts() == []
