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
from models.simulator.renderers.engine.noise import SHORT_CUT_LENGTHS, Rates, draw_noise
from models.simulator.renderers.engine.services import with_service_accounts, with_service_words
from models.simulator.renderers.engine.templates import REMITTANCE_LENGTH, WORDS, expression, mixed
from models.simulator.renderers.formats import FORMATS
from models.simulator.renderers.layouts import CARDS, Case

_RATE_UNIT = 10_000
_TYPING_SALT = 77
NAME_LENGTH = 70
"""Characters that SEPA allows for a name."""


class UnknownFormat(ValueError):
    """Acts name a format for which there is no renderer."""


def write(acts: pl.DataFrame, seed: int, rates: Rates) -> pl.DataFrame:
    """Some acts as their banks write them."""
    tables, keys = layout_tables(), hashed(acts["row"].to_numpy().astype(np.uint64), f"written {seed}")
    form, case, account_keys = _formats(acts), cases(acts, keys), _account_keys(acts, seed)
    acts = with_service_accounts(acts.with_columns(via=pl.when(pl.col("via") != "").then("via")))
    noise = draw_noise(
        keys,
        rates,
        capital=tables.capitals[form, case],
        typed=_is_typed(acts),
        card=np.isin(case, np.array(CARDS)),
        width=tables.widths[form],
    )
    lines = tables.lines[tables.lines_by_slot[form, case, hashed(keys, "line") % np.uint64(SLOTS)]]
    rows = _rows(acts, keys, account_keys, case)
    rows = with_service_words(rows, acts, keys)
    rows = rows.with_columns(lines["shape"], width=tables.widths[form], **noise)
    coded = (tables.coded_shares[form] > (uniform(keys, "code") if rates.uncoded else 0)) & (case != Case.PENDING)
    texts = _finish(_fill_templates(_spoil_words(rows), tables))
    return _frame(acts, lines.with_columns(texts, code=tables.codes[case], act_case=case, coded=coded))


def _frame(acts: pl.DataFrame, lines: pl.DataFrame) -> pl.DataFrame:
    """The columns of the output. A line that stands in for another case has the code of that case."""
    code = pl.coalesce(pl.when(pl.col("case") == pl.col("act_case")).then("own_code"), "code")
    booked = pl.col("act_case") != Case.PENDING
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


def _is_typed(acts: pl.DataFrame) -> NDArray[np.bool_]:
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


def _spoil_words(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with their words spoilt, and the purpose cut and mistyped."""
    rows = rows.with_columns(pl.when("placed").then(name).alias(name) for name in ("city", "street", "store"))
    rows = spoiling.spoil(rows, WORDS)
    text, cut = pl.col("text"), pl.col("cut")
    shortened = [spoiling.shorten(pl.when(cut == length).then(text), length) for length in SHORT_CUT_LENGTHS]
    return _mistype(rows.with_columns(pl.coalesce(*shortened, spoiling.shorten(text, REMITTANCE_LENGTH))))


def _mistype(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with a typing error in the purposes that are `mistyped`."""
    typed = rows.filter("mistyped", pl.col("text").is_not_null()).select(
        "index", "text", draw=mixed(pl.col("row_key"), _TYPING_SALT)
    )
    texts = [spoiling.mistype(text, draw) for text, draw in zip(spoiling.expand(typed["text"]), typed["draw"], strict=True)]
    return rows.update(typed.select("index", text=pl.Series(texts, dtype=pl.String)), on="index")


def _fill_templates(rows: pl.DataFrame, tables: LayoutTables) -> pl.DataFrame:
    """Name, ultimate party and purpose of each row, with marks in them."""
    parts = []
    for (number,), part in rows.partition_by("shape", as_dict=True).items():
        shape = tables.shapes[int(number)]
        templates = {"name": shape.name, "ultimate": shape.ultimate, "purpose": shape.purpose}
        texts = {column: expression(template) for column, template in templates.items()}
        parts.append(part.select("index", "join", "width", "cut", "nameless", **texts))
    return pl.concat(parts).sort("index")


def _finish(rows: pl.DataFrame) -> pl.DataFrame:
    """The texts as the bank shows them, and the truths that they show."""
    is_short = pl.col("cut").is_in(SHORT_CUT_LENGTHS)
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
