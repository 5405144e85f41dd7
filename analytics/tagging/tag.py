"""Every booking with its four tags: distinct lines are judged once, then what only a user's other bookings tell is laid over.

Here belong the order of the steps and who has the last word. What each step knows is its own module's business.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import polars as pl

from analytics import knowledge
from analytics.bank_text import lines
from analytics.bank_text.ibans import compared
from analytics.frames import LINES, TAGGED, TAGGERS, beside, checked, looked_up, tag_columns
from analytics.knowledge import FLAGS, Catalogue
from analytics.native.dense_ids import Numbering
from analytics.tagging import corrections
from analytics.tagging.categories import lexicon, structural
from analytics.tagging.decision import assessed, categorised, measured, settled
from analytics.tagging.freelancer import freelancer
from analytics.tagging.insurance import insurance
from analytics.tagging.layers import Layer, LayeredBookings, counterparty, numbered
from analytics.tagging.line_cache import Judgements, TaggedLines
from analytics.tagging.line_facts import FACTS, facts
from analytics.tagging.own_transfers import own_transfers
from analytics.tagging.partners import resolve
from analytics.tagging.refunds import refunds, reversals
from analytics.tagging.rule_matching import Words, looked_at, words_of
from analytics.tagging.rulebooks import books, dictionary
from analytics.tagging.wages import income

UNRELATED = "UNRELATED_OTHER"
CONTENT = [name for name in LINES if name not in ("key", "city")]
TAGS = [name for tagger in TAGGERS for name in tag_columns(tagger)]
KEPT = (
    "key",
    "positive",
    "amount_bin",
    "channel",
    "name",
    "merchant",
    "via",
    "purpose",
    "purpose_code",
    "booking_text",
    "rule_category",
    "default_category",
    "decider",
)
"""What later steps need of a line beside its tags."""


class Scorer(Protocol):
    """A learned categoriser."""

    version: str

    def score(self, lines: pl.DataFrame, priors: pl.DataFrame | None = None) -> pl.DataFrame:
        """In the order of the lines: `key`, `category`, `confidence` and the `words` that decided, as `a|b|c`.

        Priors are by the lines' column `partner`.
        """


@dataclass(frozen=True)
class Tagger:
    """Everything that tagging knows and that is the same for all users; what it has judged once it remembers."""

    scorer: Scorer
    catalogue: Catalogue = field(default_factory=knowledge.partners)
    precisions: pl.DataFrame = field(default_factory=measured, compare=False)
    judgements: Judgements = field(default_factory=Judgements, compare=False)

    @property
    def version(self) -> str:
        """Of the model and of the knowledge files."""
        return f"{self.scorer.version}-{knowledge.version()}"

    @cached_property
    def partners(self) -> pl.DataFrame:
        """What follows from a partner: its flags, its only category, and the insurance that it mostly sells."""
        flags = {f"flag_{flag}": pl.col(flag) for flag in FLAGS}
        return self.catalogue.frame.select("partner", partner_category="category", partner_insurance="insurance", **flags)


def tag(
    transactions: pl.DataFrame, products: pl.DataFrame, choices: pl.DataFrame, rules: pl.DataFrame, brain: Tagger
) -> pl.DataFrame:
    """Every booking with its tags, in the order given."""
    transactions = transactions.rechunk()  # columns in several pieces would be put together again at every step
    keys = lines.keys(transactions)
    given = transactions.select(lines.READ)
    said = brain.judgements.of(keys, lambda first: _judged(given[first], brain))
    line = pl.Series("line", said.line, pl.UInt32)
    named = _counterparties(transactions, said.lines, line)
    rows = transactions.select("id", "booked_on", "amount_cents", "pending", numbered()).with_columns(
        *named.with_columns(counterparty_key=counterparty()), line
    )
    laid, links = _laid_over(LayeredBookings(rows.with_row_index("row"), said.lines, _layers(said.lines, line)), products)
    tags = laid.of(None, "channel", *TAGS, "effective_category")
    tagged = transactions.select("id", "user", "product").with_columns(keys, named["counterparty_key"], *tags, *links)
    return checked(corrections.overlay(tagged.select(TAGGED.names()), transactions, choices, rules), TAGGED)


def _judged(bookings: pl.DataFrame, brain: Tagger) -> TaggedLines:
    """What is said about the lines of bookings that have distinct keys; what says the same is judged once."""
    found, number = lines.contents(bookings)
    return TaggedLines(judge_each(found, brain), number)


def judge(found: pl.DataFrame, brain: Tagger) -> pl.DataFrame:
    """The tags of lines, by `key`, as far as a line tells them by itself, and what later steps need of it.

    Lines that differ only in what nobody looks at, as the town of a card payment, are judged once.
    """
    number, first = Numbering().of(found.select(pl.struct(CONTENT).hash()).to_series().to_numpy())
    return judge_each(found[first], brain).drop("key")[number].with_columns(found["key"])


def judge_each(found: pl.DataFrame, brain: Tagger) -> pl.DataFrame:
    """The same, line by line."""
    words = words_of(found, dictionary())
    known = looked_up(resolve(found, brain.catalogue), brain.partners, "partner")
    read = assessed(facts(structural(insurance(known, words), words), words), brain.precisions)
    judged = freelancer(categorised(_asked(read, words, brain), brain.precisions), words)
    flags = [name for name in judged.columns if name.startswith("flag_")]
    default = pl.coalesce(pl.when(pl.col("partner_category") != "").then("partner_category"), "expense_category")
    return judged.with_columns(default_category=default).select(*KEPT, *TAGS, *flags, *FACTS)


def _asked(read: pl.DataFrame, words: Words, brain: Tagger) -> pl.DataFrame:
    """The lines with what lexicon and model say of those that are not settled without them, and nothing of the others."""
    places = (~settled(read)).arg_true()
    asked = lexicon(read[places], words._replace(of=words.of[places]))
    scores = brain.scorer.score(asked, brain.catalogue.priors).drop("key").rename(lambda name: f"model_{name}")
    return beside(read, asked.drop(read.columns).hstack(scores).with_columns(line=places))


def _counterparties(transactions: pl.DataFrame, said: pl.DataFrame, line: pl.Series) -> pl.DataFrame:
    """The IBAN of each counterparty, and its name to group by: the IBAN, else the merchant behind the line."""
    told = said.select("merchant", direct=pl.col("via") == "")[line]
    itself = (pl.col("counterparty_iban") != "") & pl.col("direct")
    return told.with_columns(compared(transactions["counterparty_iban"])).select(
        "counterparty_iban", counterparty_key=pl.when(itself).then("counterparty_iban").otherwise("merchant")
    )


def _layers(said: pl.DataFrame, line: pl.Series) -> tuple[Layer, Layer, Layer]:
    """What the passes over a user's bookings may change."""
    category, insurance, freelancer = (said.select(*tag_columns(tagger)) for tagger in ("category", "insurance", "freelancer"))
    return (
        Layer(category.with_columns(effective_category="category"), line),
        Layer(insurance, line),
        Layer(freelancer, line),
    )


def _laid_over(bookings: LayeredBookings, products: pl.DataFrame) -> tuple[LayeredBookings, list[pl.Series]]:
    """The bookings after each pass over a user's bookings, and which belong to which.

    The freelancer's category follows where the category has changed.
    """
    overlays = []
    for found in (lambda now: own_transfers(now, products), income, reversals, refunds):
        overlays.append(found(bookings))
        _lay(bookings, overlays[-1])
    decided = pl.concat(overlays)
    _freelancer_again(bookings, decided["row"].unique())
    return bookings, [_linked(decided, name, bookings.rows.height) for name in ("refund_of", "pair_of")]


def _freelancer_again(bookings: LayeredBookings, changed: pl.Series) -> None:
    """Lays over the freelancer's category of what has another category now than its line; what is alike is asked about once."""
    alike = bookings.of(changed, "line", "category", "insurance").select(pl.struct(pl.all()).hash()).to_series().to_numpy()
    number, first = Numbering().of(alike)
    columns = list(tag_columns("freelancer"))
    told = freelancer(bookings.of(changed[first], *(bookings.columns() & looked_at(books()["freelancer"]))))
    bookings.layers[2].lay(changed, told.select(columns)[number])


def _lay(bookings: LayeredBookings, overlay: pl.DataFrame) -> None:
    """Lays over what a pass has decided; what is no premium any more has no insurance type."""
    category, insurance, _ = bookings.layers
    rule = pl.lit("RULE")
    insured = insurance.of(overlay["row"], ["insurance"]).to_series() != UNRELATED
    category.lay(
        overlay["row"],
        overlay.select(
            "category",
            "effective_category",
            category_confidence="confidence",
            category_source=rule,
            category_reason="reason",
        ),
    )
    uninsured = overlay.filter(insured & ~overlay["category"].str.starts_with("INSURANCE_"))
    insurance.lay(
        uninsured["row"],
        uninsured.select(
            insurance=pl.lit(UNRELATED), insurance_confidence="confidence", insurance_source=rule, insurance_reason="reason"
        ),
    )


def _linked(decided: pl.DataFrame, name: str, height: int) -> pl.Series:
    """The bookings to which bookings belong; the last pass that knows one says it."""
    known = decided.filter(pl.col(name).is_not_null())
    return pl.repeat(None, height, dtype=pl.String, eager=True).alias(name).scatter(known["row"], known[name])
