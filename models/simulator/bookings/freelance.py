"""Revenues of freelancers: invoices to steady and new clients, pay-outs of platforms, rare sales of assets."""

import numpy as np
import polars as pl

from models.simulator.base.chance import Floats, lognormal, normal
from models.simulator.bookings.single import business_account, by_month, in_span, singles, with_steady
from models.simulator.people.people import FAR
from models.simulator.people.scene import Scene

CLIENTS_PER_USER, PLATFORMS_PER_USER = 6, 2


def freelance_revenues(scene: Scene) -> list[pl.DataFrame]:
    """All revenues of freelancers."""
    works = scene.lives.spans["freelance"][0] < FAR
    invoices = 2 + 10 * scene.group.chance("invoices") ** 1.6
    client_invoices = in_span(scene, "freelance", by_month(scene, "invoice", invoices * 0.9, works))
    who = client_invoices["who"].to_numpy()
    euros = scene.amounts["turnover"][who] / invoices[who] * np.exp(0.7 * _noise(client_invoices) - 0.245)
    client_invoices = client_invoices.with_columns(cents=pl.Series(np.maximum(np.round(euros * 100), 4000).astype(np.int64)))
    sells = works & (scene.group.chance("platform") < 0.22)
    payouts = in_span(scene, "freelance", by_month(scene, "platform", 1.1, sells))
    payouts = payouts.with_columns(
        cents=pl.Series(np.round(lognormal(payouts["key"].to_numpy(), "payout", 25, 900) * 100).astype(np.int64))
    )
    asset_sales = in_span(scene, "freelance", by_month(scene, "asset", 0.012, works))
    asset_sales = asset_sales.with_columns(
        cents=pl.Series(np.round(lognormal(asset_sales["key"].to_numpy(), "asset", 120, 6000) * 100).astype(np.int64))
    )
    client_invoices = with_steady(scene, client_invoices, "client", CLIENTS_PER_USER)
    payouts = with_steady(scene, payouts, "platform", PLATFORMS_PER_USER)
    return [
        _revenue(scene, client_invoices, "client", "client_invoice", "REVENUE"),
        _revenue(scene, payouts, "platform", "platform_payout", "REVENUE"),
        _revenue(scene, asset_sales, "client", "asset_sale", "REVENUE_ASSETSALE"),
    ]


def _noise(frame: pl.DataFrame) -> Floats:
    return np.clip(normal(frame["key"].to_numpy(), "invoice size"), -2.2, 2.6)


def _revenue(scene: Scene, frame: pl.DataFrame, pool: str, wording: str, item: str) -> pl.DataFrame:
    return singles(scene, frame, pool, wording, "INCOME_OTHER", freelancer=item, account=business_account(scene, frame))
