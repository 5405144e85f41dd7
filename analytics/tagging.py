"""Every booking with its four tags: distinct lines are judged once, then what only a user's other bookings tell is laid over.

Here belong the order of the steps and who has the last word. What each step knows is its own module's business.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
import polars as pl

from analytics import knowledge, lines, wishes
from analytics.books import dictionary
from analytics.categories import lexicon, structural
from analytics.facts import FACTS, facts
from analytics.frames import LINES, TAGGED, TAGGERS, checked, tag_columns
from analytics.freelancer import freelancer
from analytics.ibans import compared
from analytics.income import income
from analytics.insurance import insurance
from analytics.judgements import Judgements
from analytics.judging import Words, words_of
from analytics.knowledge import FLAGS, Catalogue
from analytics.numbering import Numbering
from analytics.overlays import Bookings
from analytics.partners import resolve
from analytics.returns import refunds, reversals
from analytics.transfers import own_transfers
from analytics.verdicts import assessed, categorised, measured, settled

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
class Brain:
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
    transactions: pl.DataFrame, products: pl.DataFrame, choices: pl.DataFrame, rules: pl.DataFrame, brain: Brain
) -> pl.DataFrame:
    """Every booking with its tags, in the order given."""
    keys = lines.keys(transactions)
    given = transactions.select(lines.READ)
    said = brain.judgements.of(keys, lambda first: judge(lines.read(given[first]), brain))
    rows = transactions.select("id", "user", "product", "booked_on", "amount_cents", "pending").with_columns(
        keys, compared(transactions["counterparty_iban"]), line=pl.Series(said.line)
    )
    tags = said.lines.select(pl.col("channel", "via", "merchant", *TAGS).gather(rows["line"]))
    named = rows.with_row_index("row").hstack(tags).with_columns(counterparty_key=_counterparty())
    tagged = _laid_over(Bookings(named, said.lines), products).with_columns(transactions["user"], transactions["product"])
    return checked(wishes.overlay(tagged.select(TAGGED.names()), transactions, choices, rules), TAGGED)


def judge(found: pl.DataFrame, brain: Brain) -> pl.DataFrame:
    """The tags of lines, by `key`, as far as a line tells them by itself, and what later steps need of it.

    Lines that differ only in what nobody looks at, as the town of a card payment, are judged once.
    """
    number, first = Numbering().of(found.select(pl.struct(CONTENT).hash()).to_series().to_numpy())
    return judge_each(found[first], brain).drop("key")[number].with_columns(found["key"])


def judge_each(found: pl.DataFrame, brain: Brain) -> pl.DataFrame:
    """The same, line by line."""
    words = words_of(found, dictionary())
    known = resolve(found, brain.catalogue).join(brain.partners, on="partner", how="left", maintain_order="left")
    read = assessed(facts(structural(insurance(known, words), words), words), brain.precisions)
    judged = freelancer(categorised(read.hstack(_asked(read, words, brain)), brain.precisions), words)
    flags = [name for name in judged.columns if name.startswith("flag_")]
    default = pl.coalesce(pl.when(pl.col("partner_category") != "").then("partner_category"), "expense_category")
    return judged.with_columns(default_category=default).select(*KEPT, *TAGS, *flags, *FACTS)


def _asked(read: pl.DataFrame, words: Words, brain: Brain) -> pl.DataFrame:
    """What lexicon and model say of the lines that are not settled without them, and nothing of the others."""
    places = (~settled(read)).arg_true()
    asked = lexicon(read[places], words._replace(of=words.of[places]))
    scores = brain.scorer.score(asked, brain.catalogue.priors).drop("key").rename(lambda name: f"model_{name}")
    said = asked.drop(read.columns).hstack(scores)
    place = np.full(read.height, -1, np.int64)
    place[places] = np.arange(said.height)
    return said.select(pl.all().gather(pl.Series(place).replace(-1, None)))


def _counterparty() -> pl.Expr:
    """The name of a counterparty to group by: its IBAN, else the merchant behind the line."""
    return pl.when((pl.col("counterparty_iban") != "") & (pl.col("via") == "")).then("counterparty_iban").otherwise("merchant")


def _laid_over(bookings: Bookings, products: pl.DataFrame) -> pl.DataFrame:
    """The rows after each pass over a user's bookings; the freelancer's category follows where the category has changed.

    The passes compare users and products by their hashes.
    """
    none = pl.lit(None, pl.String)
    owners = pl.col("user", "product").hash()
    held = products.with_columns(owners)
    laid = bookings.rows.with_columns(owners, effective_category="category", refund_of=none, pair_of=none)
    changed = []
    for found in (lambda now: own_transfers(now, held), income, reversals, refunds):
        overlay = found(Bookings(laid, bookings.lines))
        laid = _lay(laid, overlay)
        changed.append(overlay["row"])
    return _freelancer_again(Bookings(laid, bookings.lines), pl.concat(changed).unique().sort())


def _freelancer_again(bookings: Bookings, changed: pl.Series) -> pl.DataFrame:
    """The rows with the freelancer's category of what has another category now than its line."""
    columns = list(tag_columns("freelancer"))
    told = freelancer(bookings.of(changed, *(bookings.columns() - {*columns, "line"}))).select(columns)
    return bookings.rows.with_columns(_put(bookings.rows[name], changed, told[name]) for name in columns)


def _lay(rows: pl.DataFrame, overlay: pl.DataFrame) -> pl.DataFrame:
    """The rows with what a pass has decided; what is no premium any more has no insurance type."""
    decided = {
        "category": overlay["category"],
        "category_confidence": overlay["confidence"],
        "category_source": pl.repeat("RULE", overlay.height, eager=True),
        "category_reason": overlay["reason"],
        "effective_category": overlay["effective_category"],
        "refund_of": overlay["refund_of"],
        "pair_of": overlay["pair_of"],
    }
    insured = rows["insurance"].gather(overlay["row"]) != UNRELATED
    uninsured = overlay.filter(insured & ~overlay["category"].str.starts_with("INSURANCE_"))
    no_premium = {
        "insurance": pl.repeat(UNRELATED, uninsured.height, eager=True),
        "insurance_confidence": uninsured["confidence"],
        "insurance_source": pl.repeat("RULE", uninsured.height, eager=True),
        "insurance_reason": uninsured["reason"],
    }
    laid = [_put(rows[name], overlay["row"], values) for name, values in decided.items()]
    return rows.with_columns(*laid, *(_put(rows[name], uninsured["row"], values) for name, values in no_premium.items()))


def _put(column: pl.Series, at: pl.Series, values: pl.Series) -> pl.Series:
    """The column with these values at these places; where a value is missing, what was there stays."""
    there = values.is_not_null()
    return column.clone().scatter(at.filter(there), values.filter(there))
