"""The way from acts to columns: picks each row's line, gathers words and numbers for the kernels, frames what they write."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics.bank_text.channels import Channel
from models.simulator.base.chance import Keys, hashed, uniform
from models.simulator.renderers.engine.cases import cases, minutes, purchase_days
from models.simulator.renderers.engine.fill import Numbers
from models.simulator.renderers.engine.layout_tables import SLOTS, LayoutTables, house
from models.simulator.renderers.engine.memory import Memory, column
from models.simulator.renderers.engine.noise import Rates, spoil
from models.simulator.renderers.engine.vocabulary import FACTS, Fact, Sink, Word
from models.simulator.renderers.engine.wrap import SPACE, composed, written
from models.simulator.renderers.formats import FORMATS, WITHOUT_INTERMEDIARY
from models.simulator.renderers.intermediaries import INTERMEDIARIES
from models.simulator.renderers.layouts import CARDS, Case

_WORDS = {
    Word.PARTY: "party",
    Word.CITY: "city",
    Word.STREET: "street",
    Word.STORE: "store",
    Word.ULTIMATE: "ultimate",
    Word.TEXT: "purpose",
    Word.EREF: "end_to_end",
    Word.MREF: "mandate",
    Word.CRED: "creditor_id",
    Word.PURP: "purpose_code",
    Word.IBAN: "party_iban",
    Word.BIC: "party_bic",
    Word.CURRENCY: "currency_original",
}
_COLUMNS = {
    Sink.NAME: "counterparty_name",
    Sink.ULTIMATE: "ultimate_name",
    Sink.PURPOSE: "purpose",
    Sink.EREF: "true_eref",
    Sink.MREF: "true_mref",
    Sink.CRED: "true_cred",
    Sink.REMITTANCE: "true_remittance",
    Sink.MERCHANT: "true_merchant",
}
_RATE_UNIT = 10_000


class UnknownFormat(ValueError):
    """Acts name a format for which there is no renderer."""


def write(acts: pl.DataFrame, seed: int, rates: Rates) -> pl.DataFrame:
    """Some acts as their banks write them."""
    banks, keys = house(), hashed(acts["row"].to_numpy().astype(np.uint64), f"written {seed}")
    form, case, accounts = _formats(acts), cases(acts, keys), _account_keys(acts, seed)
    acts = _with_accounts_of_services(acts.with_columns(via=pl.when(pl.col("via") != "").then("via")))
    facts, memory = _facts(acts, keys, case), Memory()
    facts[Fact.LINE] = banks.picks[form, case, hashed(keys, "line") % np.uint64(SLOTS)]
    facts[Fact.WIDTH] = banks.widths[form]
    memory.keep(banks.literals)
    _hold_words(memory, facts, acts)
    _hold_services(memory, facts, acts, keys, banks)
    _hold_mandates(memory, facts, acts, accounts, banks)
    spoil(facts, keys, rates, capital=banks.capitals[form, case], typed=_typed(acts), card=np.isin(case, np.array(CARDS)))
    sinks, ends = written(memory.whole(SPACE), banks.lines, banks.steps, facts, keys, accounts)
    told = {name: column(sinks[sink], ends[sink]) for sink, name in _COLUMNS.items()}
    coded = (banks.coded[form] > (uniform(keys, "code") if rates.uncoded else 0)) & (case != Case.PENDING)
    return _frame(acts, banks.facts[facts[Fact.LINE]].with_columns(code=banks.codes[case], told_case=case, coded=coded, **told))


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
    places = acts["format"].cast(pl.Enum(list(FORMATS)), strict=False).to_physical()
    if places.null_count():
        unknown = acts["format"].filter(places.is_null()).unique().fill_null("nothing")
        raise UnknownFormat(f"no renderer for {', '.join(sorted(unknown))}")
    return places.cast(pl.Int64).to_numpy()


def _typed(acts: pl.DataFrame) -> NDArray[np.bool_]:
    """Whether a person typed the purpose: transfers without a reference, which programs would give."""
    by_hand = (acts["kind"] == Channel.TRANSFER) & acts["end_to_end"].is_null() & acts["via"].is_null()
    return by_hand.to_numpy()


def _account_keys(acts: pl.DataFrame, seed: int) -> Keys:
    """One key per account: its card stays the same."""
    accounts = acts["user"].to_numpy().astype(np.uint64) * np.uint64(256) + acts["account"].to_numpy().astype(np.uint64)
    return hashed(accounts, f"card {seed}")


def _facts(acts: pl.DataFrame, keys: Keys, case: NDArray[np.int64]) -> Numbers:
    facts = np.zeros((FACTS, acts.height), np.int64)
    facts[Fact.DAY] = purchase_days(acts, keys, case)
    facts[Fact.BOOKED] = acts["booked_on"].to_physical()
    facts[Fact.VALUED] = acts["value_on"].fill_null(acts["booked_on"]).to_physical()
    facts[Fact.MINUTE] = minutes(acts, keys)
    facts[Fact.AMOUNT] = acts["amount_cents"].abs()
    facts[Fact.ORIGINAL] = acts["amount_original_cents"].fill_null(0).abs()
    facts[Fact.RATE] = facts[Fact.ORIGINAL] * _RATE_UNIT // np.maximum(facts[Fact.AMOUNT], 1)
    facts[Fact.PLACE] = 1
    return facts


def _hold_words(memory: Memory, facts: Numbers, acts: pl.DataFrame) -> None:
    for word, name in _WORDS.items():
        _place(facts, word, slice(None), *memory.hold(acts[name]))


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


def _hold_services(memory: Memory, facts: Numbers, acts: pl.DataFrame, keys: Keys, banks: LayoutTables) -> None:
    """Gives the rows with a payment service its name and its wording, or its mark before the shop."""
    rows = np.flatnonzero(acts["via"].is_not_null().to_numpy())
    if not rows.size:
        return
    services, some, drawn = banks.services, acts[rows], hashed(keys[rows], "via")
    who = _places(some["via"], banks)
    at_till, marked = some.select(_at_till(), marked=pl.col("format") != "paypal_wallet").to_numpy().T
    debits, refunds = services.debits.pick(who, drawn), services.refunds.pick(who, drawn)
    templates = np.where((some["amount_cents"] < 0).to_numpy()[:, None], debits, refunds)
    sinks, ends = composed(memory.whole(SPACE), templates, banks.steps, np.ascontiguousarray(facts[:, rows]), keys[rows])
    base = memory.keep(sinks[0, : ends[0, -1]])
    _place(facts, Word.TEXT, rows[~at_till], base + ends[0, :-1][~at_till], base + ends[0, 1:][~at_till])
    for word, strings, where in (
        (Word.LEGAL, services.legal[who], ~at_till),
        (Word.PREFIX, services.prefixes.pick(who, drawn), at_till & marked),
    ):
        begins, stops = memory.hold(pl.Series(strings, dtype=pl.String))
        _place(facts, word, rows[where], begins[where], stops[where])


def _places(via: pl.Series, banks: LayoutTables) -> NDArray[np.int64]:
    """The places of payment services in the house; unknown ones share the last."""
    places = banks.services.places
    return via.replace_strict(places, default=len(places), return_dtype=pl.Int64).to_numpy()


def _hold_mandates(memory: Memory, facts: Numbers, acts: pl.DataFrame, accounts: Keys, banks: LayoutTables) -> None:
    """Gives debits of a payment service a mandate where the act has none: one for all shops, as these services do it."""
    without = acts.select(
        pl.col("via").is_not_null() & ~_at_till() & (pl.col("kind") == Channel.DIRECTDEBIT) & pl.col("mandate").is_null()
    )
    rows = np.flatnonzero(without.to_series().to_numpy())
    if not rows.size:
        return
    numbers = hashed(accounts[rows], "mandate", _places(acts["via"][rows], banks)) % np.uint64(10**12)
    _place(facts, Word.MREF, rows, *memory.hold(pl.select(pl.format("5{}J", pl.Series(numbers))).to_series()))


def _place(facts: Numbers, word: Word, rows: NDArray[np.int64] | slice, begins: Numbers, ends: Numbers) -> None:
    facts[Fact.BEGIN + word, rows], facts[Fact.END + word, rows] = begins, ends
    facts[Fact.KNOWN, rows] = facts[Fact.KNOWN, rows] & ~(1 << word) | (ends > begins).astype(np.int64) << word
