"""Months, working days and day rules."""

from datetime import date, timedelta

import numpy as np
import pytest

from models.simulator.base.calendar import EPOCH, Grid, easter


def days(rule: str, grid: Grid, count: int) -> list[str]:
    return [(EPOCH + timedelta(int(day))).isoformat() for day in grid.rule_dates(rule)[:count]]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("F1", ["2024-03-01", "2024-04-02", "2024-05-02"]),  # Easter Monday and Labour Day roll on
        ("B30", ["2024-03-28", "2024-04-30", "2024-05-30"]),  # Good Friday rolls back
        ("E1", ["2024-03-28", "2024-04-30", "2024-05-31"]),
        ("S2", ["2024-03-04", "2024-04-03", "2024-05-03"]),
        ("F31", ["2024-04-02", "2024-04-30", "2024-05-31"]),
    ],
)
def test_day_rules_know_weekends_and_holidays(rule: str, expected: list[str]) -> None:
    assert days(rule, Grid(date(2024, 3, 1), 12), 3) == expected


def test_easter_is_on_its_sunday() -> None:
    assert [easter(year) for year in (2023, 2024, 2025, 2026)] == [
        date(2023, 4, 9),
        date(2024, 3, 31),
        date(2025, 4, 20),
        date(2026, 4, 5),
    ]


def test_so_many_working_days_later_skips_weekends() -> None:
    grid = Grid(date(2024, 3, 1), 12)
    friday = np.array([(date(2024, 3, 8) - EPOCH).days])
    assert EPOCH + timedelta(int(grid.later(friday, np.array([1]))[0])) == date(2024, 3, 11)
