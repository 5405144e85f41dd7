"""What freelancers earn: invoices to steady and new clients, pay-outs of platforms, now and then an asset sold."""

import numpy as np
import polars as pl

from models.simulator.base.chance import Floats, lognormal, normal
from models.simulator.bookings.single import business_account, by_month, in_span, singles, with_steady
from models.simulator.people.people import FAR
from models.simulator.people.scene import Scene

CLIENTS, PLATFORMS = 6, 2


def business(scene: Scene) -> list[pl.DataFrame]:
    """The revenues of those who work on their own."""
    works = scene.lives.spans["freelance"][0] < FAR
    invoices = 2 + 10 * scene.group.chance("invoices") ** 1.6
    sent = in_span(scene, "freelance", by_month(scene, "invoice", invoices * 0.9, works))
    who = sent["who"].to_numpy()
    euros = scene.laws["turnover"][who] / invoices[who] * np.exp(0.7 * _noise(sent) - 0.245)
    sent = sent.with_columns(cents=pl.Series(np.maximum(np.round(euros * 100), 4000).astype(np.int64)))
    sells = works & (scene.group.chance("platform") < 0.22)
    paid = in_span(scene, "freelance", by_month(scene, "platform", 1.1, sells))
    paid = paid.with_columns(
        cents=pl.Series(np.round(lognormal(paid["key"].to_numpy(), "payout", 25, 900) * 100).astype(np.int64))
    )
    sold = in_span(scene, "freelance", by_month(scene, "asset", 0.012, works))
    sold = sold.with_columns(
        cents=pl.Series(np.round(lognormal(sold["key"].to_numpy(), "asset", 120, 6000) * 100).astype(np.int64))
    )
    sent = with_steady(scene, sent, "client", CLIENTS)
    paid = with_steady(scene, paid, "platform", PLATFORMS)
    return [
        _revenue(scene, sent, "client", "client_invoice", "REVENUE"),
        _revenue(scene, paid, "platform", "platform_payout", "REVENUE"),
        _revenue(scene, sold, "client", "asset_sale", "REVENUE_ASSETSALE"),
    ]


def _noise(frame: pl.DataFrame) -> Floats:
    return np.clip(normal(frame["key"].to_numpy(), "invoice size"), -2.2, 2.6)


def _revenue(scene: Scene, frame: pl.DataFrame, pool: str, wording: str, item: str) -> pl.DataFrame:
    return singles(scene, frame, pool, wording, "INCOME_OTHER", freelancer=item, account=business_account(scene, frame))
