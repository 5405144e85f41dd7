"""Payment services between a shop and its customer: what they change in an act and in the words of its row."""

import numpy as np
import polars as pl

from analytics.bank_text.channels import Channel
from models.simulator.base.chance import Keys, hashed
from models.simulator.renderers.engine.templates import REMITTANCE_LENGTH, expression
from models.simulator.renderers.formats import WITHOUT_INTERMEDIARY
from models.simulator.renderers.intermediaries import INTERMEDIARIES, UNLISTED


def with_service_accounts(acts: pl.DataFrame) -> pl.DataFrame:
    """The acts with creditor id and account of the payment service where the act has none."""
    for name, each in INTERMEDIARIES.items():
        if each.iban:
            between = (pl.col("via") == name) & ~_at_till()
            debit = between & (pl.col("kind") == Channel.DIRECTDEBIT)
            acts = acts.with_columns(
                pl.col("creditor_id").fill_null(pl.when(debit).then(pl.lit(each.creditor_id))),
                pl.col("party_iban").fill_null(pl.when(between).then(pl.lit(each.iban))),
                pl.col("party_bic").fill_null(pl.when(between).then(pl.lit(each.bic))),
            )
    return acts


def with_service_words(rows: pl.DataFrame, acts: pl.DataFrame, keys: Keys) -> pl.DataFrame:
    """The rows in which a payment service has its name and wording in place of the shop's, or its mark before the shop."""
    rows = rows.with_row_index("index")
    flags = acts.select("via", "kind", "format", "amount_cents").with_columns(draw=hashed(keys, "via"), loss=pl.lit(0))
    between = pl.concat([rows, flags], how="horizontal").filter(pl.col("via").is_not_null())
    parts = [_service_words(part, str(via)) for (via,), part in between.partition_by("via", as_dict=True).items()]
    return rows.update(pl.concat(parts), on="index") if parts else rows


def _service_words(rows: pl.DataFrame, via: str) -> pl.DataFrame:
    """The words of the rows with one payment service. Debits without a mandate get one for all shops."""
    names = list(INTERMEDIARIES)
    service, number = INTERMEDIARIES.get(via, UNLISTED), names.index(via) if via in names else len(names)
    mandates = pl.Series(hashed(rows["account_key"].to_numpy(), "mandate", number) % np.uint64(10**12))
    debits, refunds = (_choose([expression(text) for text in texts]) for texts in (service.debits, service.refunds))
    prefix = _choose([pl.lit(prefix) for prefix in service.prefixes])
    in_place, at_till = ~_at_till(), _at_till() & (pl.col("format") != "paypal_wallet")
    return rows.with_columns(original_text="text", text=pl.col("text").str.head(REMITTANCE_LENGTH)).select(
        "index",
        text=pl.when(~in_place).then("original_text").when(pl.col("amount_cents") < 0).then(debits).otherwise(refunds),
        legal=pl.when(in_place).then(pl.lit(service.legal)),
        prefix=pl.when(at_till, prefix != "").then(prefix),
        mref=pl.when(in_place, pl.col("kind") == Channel.DIRECTDEBIT).then(pl.col("mref").fill_null(pl.format("5{}J", mandates))),
    )


def _at_till() -> pl.Expr:
    """Where a payment service stands before the shop's name, not in its place."""
    return (pl.col("kind") == Channel.CARD) | pl.col("format").is_in(WITHOUT_INTERMEDIARY)


def _choose(choices: list[pl.Expr]) -> pl.Expr:
    """One of the choices for each row, by its draw."""
    choice = choices[0]
    for number, text in enumerate(choices[1:], 1):
        choice = pl.when(pl.col("draw") % len(choices) == number).then(text).otherwise(choice)
    return choice
