"""The way from acts to columns: picks each row's line, gathers its words and numbers, writes them and takes the truths."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics.bank_text.channels import Channel
from models.simulator.base.chance import Keys, hashed, uniform
from models.simulator.renderers.engine import finishing, spoiling
from models.simulator.renderers.engine.cases import cases, minutes, purchase_days
from models.simulator.renderers.engine.layout_tables import SLOTS, LayoutTables, layout_tables
from models.simulator.renderers.engine.marks import Mark
from models.simulator.renderers.engine.noise import SHORT_CUTS, Rates, draw_noise
from models.simulator.renderers.engine.templates import WORDS, expression, mixed
from models.simulator.renderers.formats import FORMATS, WITHOUT_INTERMEDIARY
from models.simulator.renderers.intermediaries import INTERMEDIARIES, UNLISTED
from models.simulator.renderers.layouts import CARDS, Case

_RATE_UNIT = 10_000
_TYPING_SALT = 77
NAME_LENGTH, REMITTANCE_LENGTH = 70, 140
"""Characters that SEPA allows."""


class UnknownFormat(ValueError):
    """Acts name a format for which there is no renderer."""


def write(acts: pl.DataFrame, seed: int, rates: Rates) -> pl.DataFrame:
    """Some acts as their banks write them."""
    tables, keys = layout_tables(), hashed(acts["row"].to_numpy().astype(np.uint64), f"written {seed}")
    form, case, account_keys = _formats(acts), cases(acts, keys), _account_keys(acts, seed)
    acts = _with_accounts_of_services(acts.with_columns(via=pl.when(pl.col("via") != "").then("via")))
    noise = draw_noise(
        keys,
        rates,
        capital=tables.capitals[form, case],
        typed=_typed(acts),
        card=np.isin(case, np.array(CARDS)),
        width=tables.widths[form],
    )
    lines = tables.lines[tables.lines_by_slot[form, case, hashed(keys, "line") % np.uint64(SLOTS)]]
    rows = _rows(acts, keys, account_keys, case)
    rows = _with_services(rows, acts, keys)
    rows = rows.with_columns(lines["shape"], width=tables.widths[form], **noise)
    coded = (tables.coded_shares[form] > (uniform(keys, "code") if rates.uncoded else 0)) & (case != Case.PENDING)
    texts = _finished(_written(_spoilt(rows), tables))
    return _frame(acts, lines.with_columns(texts, code=tables.codes[case], told_case=case, coded=coded))


def _frame(acts: pl.DataFrame, lines: pl.DataFrame) -> pl.DataFrame:
    """The columns to give. A line that stands in for another case has the code of that case."""
    code = pl.coalesce(pl.when(pl.col("case") == pl.col("told_case")).then("own_code"), "code")
    booked = pl.col("told_case") != Case.PENDING
    account = booked & pl.col("account")
    return lines.with_columns(acts["row"], acts["party_iban"], acts["party_bic"]).select(
        "row",
        "booking_text",
        pl.when("coded").then(code).alias("gv_code"),
        pl.when(booked).then("primanota"),
        "purpose",
        "counterparty_name",
        pl.when(account).then("party_iban").alias("counterparty_iban"),
        pl.when(account & pl.col("with_bic")).then("party_bic").alias("counterparty_bic"),
        "ultimate_name",
        pl.lit("EUR").alias("currency"),
        "true_eref",
        "true_mref",
        "true_cred",
        "true_remittance",
        "true_merchant",
    )


def _formats(acts: pl.DataFrame) -> NDArray[np.int64]:
    numbers = acts["format"].cast(pl.Enum(list(FORMATS)), strict=False).to_physical()
    if numbers.null_count():
        unknown = acts["format"].filter(numbers.is_null()).unique().fill_null("nothing")
        raise UnknownFormat(f"no renderer for {', '.join(sorted(unknown))}")
    return numbers.cast(pl.Int64).to_numpy()


def _typed(acts: pl.DataFrame) -> NDArray[np.bool_]:
    """Whether a person typed the purpose: transfers without a reference, which programs would give."""
    by_hand = (acts["kind"] == Channel.TRANSFER) & acts["end_to_end"].is_null() & acts["via"].is_null()
    return by_hand.to_numpy()


def _account_keys(acts: pl.DataFrame, seed: int) -> Keys:
    """One key per account: its card stays the same."""
    accounts = acts["user"].to_numpy().astype(np.uint64) * np.uint64(256) + acts["account"].to_numpy().astype(np.uint64)
    return hashed(accounts, f"card {seed}")


def _rows(acts: pl.DataFrame, keys: Keys, account_keys: Keys, case: NDArray[np.int64]) -> pl.DataFrame:
    """The words and numbers of the templates; unknown words are null."""
    amount, original = pl.col("amount_cents").abs(), pl.col("amount_original_cents").fill_null(0).abs()
    words = {name: spoiling.clean(pl.col(name)) for name in ("party", "city", "street", "store", "ultimate")}
    references = {
        "eref": "end_to_end",
        "mref": "mandate",
        "cred": "creditor_id",
        "purp": "purpose_code",
        "iban": "party_iban",
        "bic": "party_bic",
        "currency": "currency_original",
    }
    return acts.select(
        **words,
        text=spoiling.clean(pl.col("purpose")),
        legal=pl.lit(None, pl.String),
        prefix=pl.lit(None, pl.String),
        **{name: pl.when(pl.col(column) != "").then(column) for name, column in references.items()},
        booked="booked_on",
        valued=pl.col("value_on").fill_null(pl.col("booked_on")),
        amount=amount,
        original=original,
        rate=original * _RATE_UNIT // pl.max_horizontal(amount, 1),
    ).with_columns(
        day=pl.Series(purchase_days(acts, keys, case)).cast(pl.Int32).cast(pl.Date),
        minute=minutes(acts, keys),
        row_key=keys,
        account_key=account_keys,
    )


def _at_till() -> pl.Expr:
    """Where a payment service stands before the shop's name, not in its place."""
    return (pl.col("kind") == Channel.CARD) | pl.col("format").is_in(WITHOUT_INTERMEDIARY)


def _with_accounts_of_services(acts: pl.DataFrame) -> pl.DataFrame:
    """The acts with creditor id and account of the payment service where the act tells none."""
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


def _with_services(rows: pl.DataFrame, acts: pl.DataFrame, keys: Keys) -> pl.DataFrame:
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
    debits, refunds = (_chosen([expression(text) for text in texts]) for texts in (service.debits, service.refunds))
    prefix = _chosen([pl.lit(prefix) for prefix in service.prefixes])
    in_place, at_till = ~_at_till(), _at_till() & (pl.col("format") != "paypal_wallet")
    return rows.with_columns(original_text="text", text=pl.col("text").str.head(REMITTANCE_LENGTH)).select(
        "index",
        text=pl.when(~in_place).then("original_text").when(pl.col("amount_cents") < 0).then(debits).otherwise(refunds),
        legal=pl.when(in_place).then(pl.lit(service.legal)),
        prefix=pl.when(at_till, prefix != "").then(prefix),
        mref=pl.when(in_place, pl.col("kind") == Channel.DIRECTDEBIT).then(pl.col("mref").fill_null(pl.format("5{}J", mandates))),
    )


def _chosen(choices: list[pl.Expr]) -> pl.Expr:
    """One of the choices for each row, by its draw."""
    choice = choices[0]
    for number, text in enumerate(choices[1:], 1):
        choice = pl.when(pl.col("draw") % len(choices) == number).then(text).otherwise(choice)
    return choice


def _spoilt(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with their words spoilt, and the purpose cut and mistyped."""
    rows = rows.with_columns(pl.when("placed").then(name).alias(name) for name in ("city", "street", "store"))
    rows = spoiling.spoil(rows, WORDS)
    text, cut = pl.col("text"), pl.col("cut")
    shortened = [spoiling.shorten(pl.when(cut == length).then(text), length) for length in SHORT_CUTS]
    return _mistyped(rows.with_columns(pl.coalesce(*shortened, spoiling.shorten(text, REMITTANCE_LENGTH))))


def _mistyped(rows: pl.DataFrame) -> pl.DataFrame:
    typed = rows.filter("mistyped", pl.col("text").is_not_null()).select(
        "index", "text", draw=mixed(pl.col("row_key"), _TYPING_SALT)
    )
    texts = [spoiling.mistype(text, draw) for text, draw in zip(spoiling.expand(typed["text"]), typed["draw"], strict=True)]
    return rows.update(typed.select("index", text=pl.Series(texts, dtype=pl.String)), on="index")


def _written(rows: pl.DataFrame, tables: LayoutTables) -> pl.DataFrame:
    """Name, ultimate party and purpose of each row, with marks in them."""
    parts = []
    for (number,), part in rows.partition_by("shape", as_dict=True).items():
        shape = tables.shapes[int(number)]
        templates = {"name": shape.name, "ultimate": shape.ultimate, "purpose": shape.purpose}
        texts = {column: expression(template) for column, template in templates.items()}
        parts.append(part.select("index", "join", "width", "cut", "nameless", **texts))
    return pl.concat(parts).sort("index")


def _finished(rows: pl.DataFrame) -> pl.DataFrame:
    """The texts as the bank shows them, and the truths that they show."""
    is_short = pl.col("cut").is_in(SHORT_CUTS)
    lengths = rows.select(
        name=pl.when(is_short).then("cut").otherwise(NAME_LENGTH), purpose=pl.when(pl.col("cut") == REMITTANCE_LENGTH).then("cut")
    )
    rows = rows.with_columns(pl.when(~pl.col("nameless")).then("name").alias("name"))
    name, ultimate, purpose = (spoiling.expand(rows[column]) for column in ("name", "ultimate", "purpose"))
    purpose = finishing.wrap(purpose, rows["join"], rows["width"])
    texts = pl.DataFrame(
        [
            finishing.cut(finishing.settle(name), lengths["name"]),
            finishing.cut(finishing.settle(ultimate), lengths["name"]),
            finishing.cut(finishing.settle(purpose), lengths["purpose"]),
        ]
    )
    return texts.select(
        counterparty_name=finishing.finish(pl.col("name")),
        ultimate_name=finishing.finish(pl.col("ultimate")),
        purpose=finishing.finish(pl.col("purpose")),
        true_eref=finishing.reference(pl.col("purpose"), Mark.EREF),
        true_mref=finishing.reference(pl.col("purpose"), Mark.MREF),
        true_cred=finishing.reference(pl.col("purpose"), Mark.CRED),
        true_remittance=finishing.remittance(pl.col("purpose")),
        true_merchant=finishing.merchant(texts),
    )
