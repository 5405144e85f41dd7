"""Single bookings of life events: deposits, movers, notaries, pay-outs, tax refunds, weddings."""

import numpy as np
import polars as pl

from models.simulator.base.chance import Ints, hashed, lognormal, uniform, whole
from models.simulator.base.draft import draft
from models.simulator.bookings.single import (
    business_account,
    by_month,
    in_span,
    main_account,
    on_days,
    round_to,
    singles,
)
from models.simulator.contracts.templates import templates
from models.simulator.people.people import FAR
from models.simulator.people.scene import Scene

DEPOSIT_SHARE = 0.85


def life_event_bookings(scene: Scene, contracts: pl.DataFrame) -> list[pl.DataFrame]:
    """All bookings of life events that belong to no contract."""
    return [
        *_moves(scene, contracts),
        *_homes(scene),
        *_cars(scene),
        *_refunds_and_payouts(scene),
        *_rare(scene),
    ]


def _moves(scene: Scene, contracts: pl.DataFrame) -> list[pl.DataFrame]:
    """A deposit for the new home, one back from the old landlord, movers, furniture."""
    rent = contracts.filter(pl.col("template").is_in([t.index for t in templates() if t.name in ("rent", "room")]))
    new_homes = rent.filter((pl.col("contract") % 8) >= 2, pl.col("begin") > scene.grid.first_day)
    old_homes = rent.filter((pl.col("contract") % 8) < 2, pl.col("end") < scene.grid.end_day)
    arrived = np.minimum(scene.lives.days["move"], scene.lives.days["first_home"]).astype(np.int64)
    deposits = _of_contract(
        scene,
        new_homes,
        "deposit",
        new_homes["begin"].to_numpy() - whole(new_homes["number"].to_numpy(), "deposit before", 0, 14),
        -2.4,
    )
    deposits_back = _of_contract(
        scene,
        old_homes,
        "deposit_back",
        old_homes["end"].to_numpy() + whole(old_homes["number"].to_numpy(), "deposit after", 35, 150),
        2.2,
    )
    deposits = deposits.with_columns(category=pl.lit("HOUSING_OTHER"), effective=pl.lit("HOUSING_OTHER"))
    deposits_back = deposits_back.with_columns(category=pl.lit("TRANSFER_REFUND"), effective=pl.lit("HOUSING_OTHER"))
    mover = on_days(scene, "mover", np.where(scene.group.chance("mover") < 0.45, arrived + 3, FAR))
    mover = mover.with_columns(cents=pl.Series(-round_to(lognormal(mover["key"].to_numpy(), "mover", 280, 1300), 5)))
    return [
        deposits,
        deposits_back,
        singles(scene, mover, "mover", "moving", "HOUSING_SERVICES", account=main_account(scene, mover)),
    ]


def _of_contract(scene: Scene, contracts: pl.DataFrame, wording: str, day: Ints, rent_factor: float) -> pl.DataFrame:
    """A booking with the counterparty of a contract, `rent_factor` times its amount."""
    number = contracts["number"].to_numpy()
    key = hashed(number, wording)
    pool = scene.lists.wording(wording)
    picks = pool.pick(uniform(key, "wording"))
    amount = round_to(np.abs(contracts["euros"].to_numpy() * rent_factor), 10) * int(np.sign(rent_factor))
    frame = contracts.select("who", "number", "party", "brand", "iban", "bic", "merchant_split").with_columns(
        day=pl.Series(scene.grid.forward(day)),
        key=pl.Series(key),
        cents=pl.Series(amount),
        wording=pool.frame["number"][pl.Series(picks, dtype=pl.UInt32)],
        wording_split=pl.Series(pool.splits[picks], dtype=pl.UInt8),
        kind=pl.lit("TRANSFER"),
    )
    return draft(frame.filter(pl.Series(uniform(key, "happens") < DEPOSIT_SHARE)))


def _homes(scene: Scene) -> list[pl.DataFrame]:
    """Buying a home: notary, tax, agent."""
    purchase_day = scene.lives.days["purchase"].astype(np.int64)
    price = scene.amounts["mortgage"] * 230
    rows = []
    for name, after, share, pool, wording, category, freelancer in (
        ("notary", 12, 0.012, "notary_office", "notary", "HOUSING_OTHER", ""),
        ("registry", 45, 0.005, "notary_office", "notary", "HOUSING_OTHER", ""),
        ("transfer tax", 38, 0.05, "tax_office", "transfer_tax", "TAXES", "PRIVATE"),
        ("agent", 20, 0.03, "estate_agent", "broker_fee", "HOUSING_OTHER", ""),
    ):
        happens = (name != "agent") | (scene.group.chance("agent") < 0.6)
        frame = on_days(scene, name, np.where(happens & (purchase_day < FAR), purchase_day + after, FAR))
        amount = -np.round(price[frame["who"].to_numpy()] * share * 100).astype(np.int64)
        frame = frame.with_columns(cents=pl.Series(amount))
        rows.append(singles(scene, frame, pool, wording, category, freelancer=freelancer, account=main_account(scene, frame)))
    return rows


def _cars(scene: Scene) -> list[pl.DataFrame]:
    """A new car is bought, an old one sold."""
    new = np.minimum(scene.lives.days["car_new"], scene.lives.days["car_first"]).astype(np.int64)
    cash = scene.group.chance("car in cash") < 0.5
    frame = on_days(scene, "car", np.where(cash & (new < FAR), new - 4, FAR))
    euros = (
        lognormal(frame["key"].to_numpy(), "car price", 3500, 21000) * (scene.group.income[frame["who"].to_numpy()] / 3500) ** 0.4
    )
    frame = frame.with_columns(cents=pl.Series(-round_to(euros, 50)))
    purchases = singles(
        scene, frame, "car_buyer", "invoice_car", "MOBILITY_VEHICLEACQUISITION", account=main_account(scene, frame)
    )
    sold_on = np.minimum(scene.lives.days["car_new"], scene.lives.days["car_sold"]).astype(np.int64)
    sale = on_days(scene, "car sale", np.where((scene.group.chance("car sale") < 0.6) & (sold_on < FAR), sold_on + 6, FAR))
    sale = sale.with_columns(cents=pl.Series(round_to(lognormal(sale["key"].to_numpy(), "sale price", 900, 9000), 50)))
    return [
        purchases,
        singles(scene, sale, "car_buyer", "sale_car", "OTHER_INCOME", account=main_account(scene, sale)),
    ]


def _refunds_and_payouts(scene: Scene) -> list[pl.DataFrame]:
    """Tax refunds, insurance payments, sickness benefit."""
    rows = []
    files_taxes = scene.group.has("SINGLE", "COUPLE", "FAMILY", "CIVIL_SERVANT", "SINGLE_PARENT", "FREELANCER", "TRAINEE")
    tax = by_month(scene, "tax refund", 0.048, files_taxes)
    private = scene.lives.spans["private_patient"][0] < FAR
    for frame, low, high, pool, wording, freelancer in (
        (tax, 150, 2200, "tax_office", "tax_refund", "INCOME_TAX"),
        (by_month(scene, "health claim", 0.45, private), 35, 900, "insurer_health", "insurance_payout", "PRIVATE"),
        (by_month(scene, "damage claim", 0.018), 90, 1800, "insurer_pc", "insurance_payout", "PRIVATE"),
        (
            by_month(scene, "sick pay", 0.012, scene.group.has("SINGLE", "COUPLE", "FAMILY", "SINGLE_PARENT")),
            250,
            1900,
            "krankenkasse",
            "sick_pay",
            "PRIVATE",
        ),
        (
            in_span(scene, "freelance", by_month(scene, "vat refund", 0.07)),
            80,
            1900,
            "tax_office",
            "vat_refund",
            "VAT_REFUND",
        ),
    ):
        amount = np.round(lognormal(frame["key"].to_numpy(), "payout", low, high) * 100).astype(np.int64)
        frame = frame.with_columns(cents=pl.Series(amount))
        account = business_account(scene, frame) if wording == "vat_refund" else main_account(scene, frame)
        kind = "PUBLIC" if pool == "tax_office" else "TRANSFER"
        rows.append(singles(scene, frame, pool, wording, "INCOME_OTHER", kind=kind, freelancer=freelancer, account=account))
    return rows


def _rare(scene: Scene) -> list[pl.DataFrame]:
    """Large incomes, inheritances, top-ups of policies, weddings."""
    large = on_days(scene, "large", scene.lives.days["large_income"])
    income = scene.group.income[large["who"].to_numpy()]
    large = large.with_columns(cents=pl.Series(round_to(income * lognormal(large["key"].to_numpy(), "large", 2.6, 12), 1)))
    estate = by_month(scene, "estate", 0.0022)
    estate = estate.with_columns(cents=pl.Series(round_to(lognormal(estate["key"].to_numpy(), "estate", 1500, 40000), 100)))
    topup = by_month(scene, "top up policy", 0.006, scene.group.income > 1700)
    topup = topup.with_columns(cents=pl.Series(-round_to(lognormal(topup["key"].to_numpy(), "top up", 150, 2500), 50)))
    return [
        singles(
            scene,
            large,
            "insurer_life",
            "life_payout",
            "INCOME_OTHER",
            freelancer="PRIVATE",
            account=main_account(scene, large),
        ),
        singles(scene, estate, "relative", "inheritance", "OTHER_INCOME", account=main_account(scene, estate)),
        singles(scene, topup, "insurer_life", "life_topup", "SAVINGS_LIFEINSURANCE", account=main_account(scene, topup)),
        *_weddings(scene),
    ]


def _weddings(scene: Scene) -> list[pl.DataFrame]:
    """Rings and dresses, the feast, the registry office."""
    days = scene.lives.days["marriage"].astype(np.int64)
    rows = []
    for pool, before, category, low, high in (
        ("wedding_shop", 60, "SHOPPING_CLOTHINGACCESSORIES", 300, 2600),
        ("wedding_party", 24, "RECREATION_ENTERTAINMENTFOOD", 700, 5500),
        ("wedding_office", 9, "SERVICES_OFFLINE", 60, 900),
    ):
        frame = on_days(scene, pool, np.where(days < FAR, days - before, FAR))
        frame = frame.with_columns(cents=pl.Series(-round_to(lognormal(frame["key"].to_numpy(), "wedding", low, high), 5)))
        rows.append(singles(scene, frame, pool, "wedding", category, account=main_account(scene, frame)))
    return rows
