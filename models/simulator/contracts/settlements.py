"""Irregular bookings of contracts: yearly settlements, bonuses, back-pay, and pay-out and early repayment of loans."""

import numpy as np
import polars as pl

from models.simulator.base.chance import Floats, Ints, Keys, hashed, normal, uniform, whole
from models.simulator.base.draft import draft
from models.simulator.contracts.payments import accounts
from models.simulator.contracts.schedule import SALARY_TEMPLATES
from models.simulator.contracts.templates import templates
from models.simulator.people.incomes import child_benefit
from models.simulator.people.people import FAR, MAX_CHILDREN, Flags
from models.simulator.people.scene import Scene

SETTLEMENTS = {
    "energy": (1.15, "energy_settle", "energy_credit", ""),
    "utility": (0.6, "energy_settle", "energy_credit", ""),
    "rent": (0.3, "rent_settle", "rent_credit", "HOUSING_ANCILLARYCOSTS"),
    "owners": (0.8, "owners_settle", "owners_credit", ""),
}
"""Size relative to one payment, wordings of debits and credits, and the category if it differs from the contract's."""
SETTLED_SHARE = 0.85
LOAN_TEMPLATES = ("instalment_loan", "car_loan", "debt_loan")
MONTH_DAYS, MIN_RATES_LEFT = 30.4375, 4
PRINCIPAL_SHARE = 0.93
"""The share of principal in the remaining rates."""


def irregular_payments(scene: Scene, contracts: pl.DataFrame, regular_payments: pl.DataFrame) -> pl.DataFrame:
    """All irregular bookings of contracts."""
    return pl.concat(
        [
            *(_yearly_settlements(scene, contracts, regular_payments, kind) for kind in SETTLEMENTS),
            _bonuses(scene, contracts, "thirteenth", 11, 0.2, 0.55, 0.95),
            _bonuses(scene, contracts, "bonus", 4, 0.16, 0.3, 1.9),
            _back_pay(scene, contracts),
            _loans(scene, contracts),
            _payoffs(scene, contracts),
        ]
    )


def _of_templates(templates_wanted: tuple[str, ...], contracts: pl.DataFrame) -> pl.DataFrame:
    numbers = [t.index for t in templates() if t.name in templates_wanted]
    return contracts.with_row_index("contract_row").filter(pl.col("template").is_in(numbers))


def _yearly(scene: Scene, own: pl.DataFrame, month: Ints, share: float, name: str) -> tuple[Ints, Ints, Keys]:
    """Row, day and key of something that happens once a year in a month of its own, while the contract runs."""
    months = np.arange(scene.grid.months)
    due = (scene.grid.first_month + months[None, :]) % 12 == (month - 1)[:, None]
    row, column = np.nonzero(due)
    number = own["number"].to_numpy()[row]
    key = hashed(number, name, scene.grid.first_month + column)
    day = scene.grid.forward(scene.grid.month_starts[column] + (uniform(key, "day") * 27).astype(np.int64)).astype(np.int64)
    running = (day > own["begin"].to_numpy()[row] + 100) & (day < own["end"].to_numpy()[row] + 40)
    keep = running & (uniform(key, "happens") < share)
    return row[keep], day[keep], key[keep]


def _rows(
    scene: Scene,
    own: pl.DataFrame,
    row: Ints,
    day: Ints,
    key: Keys,
    wording: str,
    cents: Ints,
    kind: str,
) -> pl.DataFrame:
    """Bookings with the counterparties of these contracts."""
    pool = scene.lists.wording(wording)
    picks = pool.pick(uniform(key, "wording"))
    part = own[pl.Series(row, dtype=pl.UInt32)]
    account = accounts(scene, part, np.arange(row.size), day, np.zeros(row.size, bool))
    frame = part.select(
        "who",
        "number",
        "party",
        "brand",
        "iban",
        "bic",
        "creditor",
        "mandate",
        "category",
        "insurance",
        "freelancer",
        "contract",
        "merchant_split",
        "word",
    ).with_columns(
        day=pl.Series(day),
        key=pl.Series(key),
        cents=pl.Series(cents),
        kind=pl.lit(kind),
        account=pl.Series(account),
        regular=pl.lit(False),
        from_day=pl.Series(day - 200),
        to_day=pl.Series(day),
        wording=pool.frame["number"][pl.Series(picks, dtype=pl.UInt32)],
        wording_split=pl.Series(pool.splits[picks], dtype=pl.UInt8),
    )
    debit = kind == "DIRECTDEBIT"
    return draft(
        frame.with_columns(
            creditor=pl.col("creditor") if debit else pl.lit(None), mandate=pl.col("mandate") if debit else pl.lit(None)
        )
    )


def _yearly_settlements(scene: Scene, contracts: pl.DataFrame, regular_payments: pl.DataFrame, kind: str) -> pl.DataFrame:
    """Yearly settlements: higher usage is debited or transferred, lower usage is refunded against the latest payment."""
    size, owed, credit, category = SETTLEMENTS[kind]
    own = _of_templates(tuple(t.name for t in templates() if t.settle == kind), contracts)
    row, day, key = _yearly(scene, own, whole(own["number"].to_numpy(), "settled in", 1, 12), SETTLED_SHARE, "settlement")
    euros = np.clip(normal(key, "settlement") * size + 0.1, -2.6, 2.2) * own["euros"].to_numpy()[row]
    cents = -np.round(euros * 100).astype(np.int64)
    more: Flags = cents < -300
    less: Flags = cents > 300
    debits = own["kind"].to_numpy().astype(str)[row] == "DIRECTDEBIT"
    parts = [
        _rows(scene, own, row[mask], day[mask], key[mask], owed, cents[mask], way)
        for mask, way in ((more & debits, "DIRECTDEBIT"), (more & ~debits, "TRANSFER"))
    ]
    parts = [part.with_columns(category=pl.lit(category)) if category else part for part in parts]
    credit_bookings = _rows(scene, own, row[less], day[less], key[less], credit, cents[less], "TRANSFER")
    return pl.concat([*parts, _as_refunds(credit_bookings, regular_payments)])


def _as_refunds(credit_bookings: pl.DataFrame, regular_payments: pl.DataFrame) -> pl.DataFrame:
    """Credits as refunds of the contract's last payment before them, if that was not smaller."""
    latest = (
        regular_payments.filter(pl.col("contract").is_not_null())
        .select("contract", "day", earlier="key", spent="cents")
        .sort("day")
    )
    with_latest = (
        credit_bookings.with_row_index("at")
        .sort("day")
        .join_asof(latest, on="day", by="contract", allow_exact_matches=False, check_sortedness=False)
        .sort("at")
    )
    return draft(
        with_latest.with_columns(
            effective="category",
            category=pl.lit("TRANSFER_REFUND"),
            refund=pl.when(-pl.col("spent") >= pl.col("cents")).then("earlier"),
        ).drop("at", "earlier", "spent")
    )


def _bonuses(
    scene: Scene,
    contracts: pl.DataFrame,
    wording: str,
    month: int,
    share: float,
    low: float,
    high: float,
) -> pl.DataFrame:
    own = _of_templates(SALARY_TEMPLATES, contracts)
    number = own["number"].to_numpy()
    has = uniform(number, f"has {wording}") < share
    own = own.filter(pl.Series(has))
    row, day, key = _yearly(scene, own, np.full(own.height, month), 0.95, wording)
    euros = own["euros"].to_numpy()[row] * (low + (high - low) * uniform(key, "size"))
    return _rows(scene, own, row, day, key, wording, np.round(euros * 100).astype(np.int64), "SALARY").with_columns(
        code=pl.lit("BONU")
    )


def _back_pay(scene: Scene, contracts: pl.DataFrame) -> pl.DataFrame:
    """Child benefit for the months between a birth and the first payment."""
    own = _of_templates(("child_benefit",), contracts)
    who = own["who"].to_numpy()
    birth = scene.lives.days["birth"].astype(np.int64)[who]
    order = scene.lives.days["birth_order"][who]
    start = np.stack([scene.lives.spans[f"benefit_child{child}"][0] for child in range(MAX_CHILDREN)], 1)[who, order].astype(
        np.int64
    )
    row = np.flatnonzero((birth < FAR) & (start < scene.grid.end_day))
    day = scene.grid.forward(start[row] + 2).astype(np.int64)
    months = np.maximum(np.round((start[row] - birth[row]) / 30.4), 1)
    rate: Floats = child_benefit(scene.grid.month_of(day) + scene.grid.first_month)
    cents = np.round(months * rate * 100).astype(np.int64)
    key = hashed(own["number"].to_numpy()[row], "back pay")
    return _rows(scene, own, row, day, key, "child_backpay", cents, "PUBLIC")


def _loans(scene: Scene, contracts: pl.DataFrame) -> pl.DataFrame:
    """The money of a loan that begins in the simulated time."""
    own = _of_templates(LOAN_TEMPLATES, contracts)
    own = own.filter(pl.col("begin") > scene.grid.first_day)
    number = own["number"].to_numpy()
    rate = (0.025 + 0.09 * uniform(number, "credit rate")) / 12
    euros = own["euros"].to_numpy() * (1 - (1 + rate) ** -own["terms"].to_numpy()) / rate
    day = scene.grid.forward(own["begin"].to_numpy() - whole(number, "paid out before", 3, 20)).astype(np.int64)
    cents = (np.round(euros / 10) * 1000).astype(np.int64)
    frame = _rows(scene, own, np.arange(own.height), day, hashed(number, "pay out"), "loan_payout", cents, "TRANSFER")
    return frame.with_columns(category=pl.lit("BANKFINANCE_CREDITINCOME"))


def _payoffs(scene: Scene, contracts: pl.DataFrame) -> pl.DataFrame:
    """The remaining debt of loans that are repaid early."""
    own = _of_templates(LOAN_TEMPLATES, contracts).with_columns(paid=(pl.col("end") - pl.col("start")) / MONTH_DAYS)
    own = own.filter(pl.col("end") < scene.grid.end_day, pl.col("terms") - pl.col("paid") >= MIN_RATES_LEFT)
    rest = (own["terms"] - own["paid"]).to_numpy() * PRINCIPAL_SHARE
    cents = -np.round(own["euros"].to_numpy() * rest * 100).astype(np.int64)
    day = scene.grid.forward(own["end"].to_numpy()).astype(np.int64)
    key = hashed(own["number"].to_numpy(), "pay off")
    return _rows(scene, own, np.arange(own.height), day, key, "loan_payoff", cents, "TRANSFER")
