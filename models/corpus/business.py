"""What freelancers earn: invoices to steady and new clients, pay-outs of platforms, now and then an asset sold."""

import numpy as np
import polars as pl

from models.corpus.chance import Floats, lognormal, normal
from models.corpus.people import FAR, People, World
from models.corpus.single import business_account, by_month, in_span, singles
from models.corpus.timeline import Timeline

CLIENTS = 6


def business(world: World, group: People, lives: Timeline, laws: dict[str, Floats]) -> list[pl.DataFrame]:
    """The revenues of those who work on their own."""
    works = lives.spans["freelance"][0] < FAR
    invoices = 2 + 10 * group.chance("invoices") ** 1.6
    sent = in_span(lives, "freelance", by_month(world, group, "invoice", invoices * 0.9, works))
    who = sent["who"].to_numpy()
    euros = laws["turnover"][who] / invoices[who] * np.exp(0.7 * _noise(sent) - 0.245)
    sent = sent.with_columns(cents=pl.Series(np.maximum(np.round(euros * 100), 4000).astype(np.int64)))
    sells = works & (group.chance("platform") < 0.22)
    paid = in_span(lives, "freelance", by_month(world, group, "platform", 1.1, sells))
    paid = paid.with_columns(cents=pl.Series(np.round(lognormal(paid["key"].to_numpy(), "payout", 25, 900) * 100).astype(np.int64)))
    sold = in_span(lives, "freelance", by_month(world, group, "asset", 0.012, works))
    sold = sold.with_columns(cents=pl.Series(np.round(lognormal(sold["key"].to_numpy(), "asset", 120, 6000) * 100).astype(np.int64)))
    return [
        _revenue(world, group, sent, "client", "client_invoice", "REVENUE", CLIENTS),
        _revenue(world, group, paid, "platform", "platform_payout", "REVENUE", 2),
        _revenue(world, group, sold, "client", "asset_sale", "REVENUE_ASSETSALE", 0),
    ]


def _noise(frame: pl.DataFrame) -> Floats:
    return np.clip(normal(frame["key"].to_numpy(), "invoice size"), -2.2, 2.6)


def _revenue(world: World, group: People, frame: pl.DataFrame, pool: str, wording: str, item: str, clients: int) -> pl.DataFrame:
    return singles(world, group, frame, pool, wording, "INCOME_OTHER", friends=clients, freelancer=item, account=business_account(group, frame))
