"""Monthly amounts that depend on the person: wages, pensions, rents, taxes. In euros, one entry per user."""

import numpy as np

from models.simulator.base.chance import Floats, lognormal, uniform
from models.simulator.people.people import People
from models.simulator.people.timeline import Timeline

CHILD_BENEFIT_EUROS = ((2022 * 12, 219), (2023 * 12, 250), (2025 * 12, 255), (2026 * 12, 259))
"""Monthly rate per child, in euros, from a month on."""
BASIC_ALLOWANCE_EUROS = 530.0
"""Euros a month that job centres pay besides the rent."""
MEAN_INCOME_EUROS = 3500.0


def monthly_amounts(group: People, lives: Timeline) -> dict[str, Floats]:
    """The amounts by name, in euros a month. A name that ends in 2 is for the second job or home."""
    income, key = group.income, group.key
    two_earners = group.has("COUPLE", "FAMILY")
    main_share = np.where(two_earners, 0.5 + 0.2 * uniform(key, "main share"), 1.0)
    children = (lives.births < group.start[:, None]).sum(1)
    wage = np.maximum(income * main_share - np.where(group.has("SINGLE_PARENT"), 250 * children + 150, 0), 450)
    rent_share = np.clip(0.215 + 0.12 * uniform(key, "rent share"), 0.2, 0.4) * np.clip((income / 2600) ** -0.2, 0.75, 1.25)
    rent = np.clip(income * rent_share, 310, 2400)
    room = lognormal(key, "room", 280, 560)
    pension = income * np.where(group.couple, 0.58, 0.8)
    business = income * (1.55 + 0.5 * uniform(key, "turnover"))
    return {
        "salary": wage,
        "salary2": np.where(
            group.has("STUDENT", "TRAINEE"),
            lognormal(key, "first wage", 1700, 3100),
            wage * (1.0 + 0.16 * uniform(key, "new wage")),
        ),
        "partner_salary": np.maximum(income * (1 - main_share), 420),
        "service": income,
        "training": np.clip(income, 780, 1300),
        "minijob": 180 + 350 * uniform(key, "minijob"),
        "parents": 150 + 500 * uniform(key, "parents"),
        "drv": np.where(group.has("PENSIONER"), pension * 0.82, wage * 0.52),
        "drv_partner": income * 0.3,
        "company_pension": income * (0.06 + 0.22 * uniform(key, "company pension")),
        "official_pension": income * 0.72,
        "alg": wage * 0.6,
        "jobcenter": BASIC_ALLOWANCE_EUROS + rent * 0.75,
        "elterngeld": np.clip(0.65 * income * 0.4 + 250, 300, 1800),
        "rent": np.where(group.has("UNEMPLOYED"), np.minimum(rent, 520), rent),
        "rent2": np.clip(rent * (0.9 + 0.45 * uniform(key, "new rent")), 310, 2600),
        "room": room,
        "room2": room * 1.08,
        "mortgage": np.clip(income * (0.17 + 0.10 * uniform(key, "mortgage")), 520, 2100),
        "maintenance": np.maximum(240 + 0.09 * income * uniform(key, "maintenance"), 200),
        "turnover": business,
        "income_tax": business * 0.11,
        "vat": business * 0.1,
        "trade_tax": business * 0.03,
        "statutory_health": np.clip(income * 0.17, 130, 980),
        "child_benefit": np.full(group.size, float(CHILD_BENEFIT_EUROS[-1][1])),
        "savings_plan": income * (0.02 + 0.06 * uniform(key, "saving")),
    }


def child_benefit(month_number: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
    """The rate per child in a month (counted since year 0)."""
    starts = np.array([start for start, _ in CHILD_BENEFIT_EUROS])
    return np.array([rate for _, rate in CHILD_BENEFIT_EUROS], np.float64)[
        np.maximum(np.searchsorted(starts, month_number, side="right") - 1, 0)
    ]
