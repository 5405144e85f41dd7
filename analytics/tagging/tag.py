"""The whole way of tagging, step by step. The order of the steps belongs here, the knowledge of each step in its own module.

Steps 1 to 8 work on distinct lines: bookings whose texts say the same share a line, and a line is tagged once per process.

1. `bank_text.lines`: the key of every booking's line, and the plain texts of new lines. `line_cache` has the known ones.
2. `rule_matching`: the words of all rulebooks in these texts, found in one pass.
3. `partners`: the business partner, with its flags and its only category.
4. `insurance`: the insurance type.
5. `categories`: the category by structural rule.
6. `line_facts`: facts that only decide together with a user's other bookings.
7. `decision`: the precision of rule and partner, then the category. Lexicon and model are asked only where these are not sure.
8. `freelancer`: the category of the tax statement.

Steps 9 to 14 work on the bookings of each user and overlay the tags of their lines (`layers`).

9. `merchants`: one category for the card payments at one merchant.
10. `own_transfers`: money between a user's own accounts.
11. `wages`: wages among the credits.
12. `refunds`: reversals with their counter-bookings, refunds with their purchases.
13. `freelancer` again, where the category has changed, and `business_accounts`: meals paid from them.
14. `corrections`: the choices and rules of users and tenants overrule everything.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import polars as pl

from analytics import knowledge
from analytics.bank_text import lines
from analytics.bank_text.ibans import compared
from analytics.frames import LINES, TAG_KINDS, TAGGED, add_columns_by_key, add_columns_by_row, checked, tag_columns
from analytics.knowledge import FLAGS, Catalogue
from analytics.native.dense_ids import Numbering
from analytics.tagging.business_accounts import business_meals
from analytics.tagging.categories import add_lexicon_category, add_rule_category
from analytics.tagging.corrections import apply_corrections
from analytics.tagging.decision import add_precisions, decide_category, is_settled, measured_precisions
from analytics.tagging.freelancer import add_freelancer
from analytics.tagging.insurance import UNRELATED, add_insurance
from analytics.tagging.layers import Layer, LayeredBookings, counterparty_number, user_and_product_numbers
from analytics.tagging.line_cache import LineCache, TaggedLines
from analytics.tagging.line_facts import add_facts
from analytics.tagging.merchants import one_category
from analytics.tagging.own_transfers import own_transfers
from analytics.tagging.partners import add_partners
from analytics.tagging.refunds import refunds, reversals
from analytics.tagging.rule_matching import LineWords, find_words, rule_columns
from analytics.tagging.rulebooks import FACTS, rulebooks, shared_dictionary
from analytics.tagging.wages import wages

CONTENT_COLUMNS = [name for name in LINES if name not in ("key", "city")]
TAG_COLUMNS = [name for kind in TAG_KINDS for name in tag_columns(kind)]
LINE_COLUMNS = (
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
"""The columns of a line that the passes over bookings need besides its tags."""


class Scorer(Protocol):
    """A learned categoriser."""

    version: str

    def score(self, lines: pl.DataFrame, priors: pl.DataFrame | None = None) -> pl.DataFrame:
        """`key`, `category`, `confidence` and the deciding `words` (`a|b|c`) of each line, in the order of the lines.

        Priors are by the lines' column `partner`.
        """


@dataclass(frozen=True)
class Tagger:
    """The knowledge of tagging that is the same for all users, with a cache of tagged lines."""

    scorer: Scorer
    catalogue: Catalogue = field(default_factory=knowledge.partners)
    precisions: pl.DataFrame = field(default_factory=measured_precisions, compare=False)
    line_cache: LineCache = field(default_factory=LineCache, compare=False)

    @property
    def version(self) -> str:
        """The versions of the model and of the knowledge files."""
        return f"{self.scorer.version}-{knowledge.version()}"

    @cached_property
    def partners(self) -> pl.DataFrame:
        """What follows from a partner: its flags, its only category, and the insurance that it mainly sells."""
        flags = {f"flag_{flag}": pl.col(flag) for flag in FLAGS}
        return self.catalogue.frame.select("partner", partner_category="category", partner_insurance="insurance", **flags)


def tag_bookings(
    transactions: pl.DataFrame, products: pl.DataFrame, choices: pl.DataFrame, rules: pl.DataFrame, tagger: Tagger
) -> pl.DataFrame:
    """The tags of all bookings (frame `TAGGED`), in the order of the transactions."""
    return checked(apply_corrections(recognise(transactions, products, tagger), transactions, choices, rules), TAGGED)


def recognise(transactions: pl.DataFrame, products: pl.DataFrame, tagger: Tagger) -> pl.DataFrame:
    """The same without the last step: the tags of bookings (frame `TAGGED`) that nobody has corrected."""
    transactions = transactions.rechunk()  # columns in several chunks would be merged again at every step
    keys = lines.keys(transactions)
    texts = transactions.select(lines.READ)
    tagged_lines = tagger.line_cache.look_up(keys, lambda first: _tag_first_bookings(texts[first], tagger))
    line = pl.Series("line", tagged_lines.line, pl.UInt32)
    counterparties = _counterparties(transactions, tagged_lines.lines, line)
    bookings = _layered_bookings(transactions, counterparties, tagged_lines.lines, line)
    links = _run_passes(bookings, products)
    tags = bookings.select(None, "channel", *TAG_COLUMNS, "effective_category", "category_guess")
    tagged_bookings = transactions.select("id", "user", "product").with_columns(
        keys, counterparties["counterparty_key"], *tags, *links
    )
    return checked(tagged_bookings, TAGGED)


def tag_lines(read_lines: pl.DataFrame, tagger: Tagger) -> pl.DataFrame:
    """The tags of lines (frame `LINES`) by `key`, as far as a line decides them alone, with `LINE_COLUMNS`, flags and facts.

    Lines that differ only in columns that no step reads, as the town of a card payment, are tagged once.
    """
    number, first = Numbering().of(read_lines.select(pl.struct(CONTENT_COLUMNS).hash()).to_series().to_numpy())
    return tag_each_line(read_lines[first], tagger).drop("key")[number].with_columns(read_lines["key"])


def tag_each_line(read_lines: pl.DataFrame, tagger: Tagger) -> pl.DataFrame:
    """The same as `tag_lines`, without looking for equal lines."""
    words = find_words(read_lines, shared_dictionary())
    partner_lines = add_columns_by_key(add_partners(read_lines, tagger.catalogue), tagger.partners, "partner")
    insured_lines = add_insurance(partner_lines, words)
    fact_lines = add_facts(add_rule_category(insured_lines, words), words)
    assessed_lines = add_precisions(fact_lines, tagger.precisions)
    categorised_lines = decide_category(_add_lexicon_and_model(assessed_lines, words, tagger), tagger.precisions)
    tagged_lines = add_freelancer(categorised_lines, words)
    flags = [name for name in tagged_lines.columns if name.startswith("flag_")]
    default = pl.coalesce(pl.when(pl.col("partner_category") != "").then("partner_category"), "expense_category")
    return tagged_lines.with_columns(default_category=default).select(
        *LINE_COLUMNS, *TAG_COLUMNS, "category_guess", *flags, *FACTS
    )


def _tag_first_bookings(bookings: pl.DataFrame, tagger: Tagger) -> TaggedLines:
    """The tagged lines of bookings with distinct keys. Different keys can still have the same contents."""
    distinct_lines, number = lines.contents(bookings)
    return TaggedLines(tag_each_line(distinct_lines, tagger), number)


def _add_lexicon_and_model(assessed_lines: pl.DataFrame, words: LineWords, tagger: Tagger) -> pl.DataFrame:
    """The lines with the answers of lexicon and model; null where the category is settled without them."""
    rows = (~is_settled(assessed_lines)).arg_true()
    open_lines = add_lexicon_category(assessed_lines[rows], words._replace(text_of_line=words.text_of_line[rows]))
    scores = tagger.scorer.score(open_lines, tagger.catalogue.priors).drop("key").rename(lambda name: f"model_{name}")
    return add_columns_by_row(assessed_lines, open_lines.drop(assessed_lines.columns).hstack(scores).with_columns(line=rows))


def _counterparties(transactions: pl.DataFrame, tagged_lines: pl.DataFrame, line: pl.Series) -> pl.DataFrame:
    """The IBAN of each counterparty, and the key to group by: the IBAN, else the merchant behind the line."""
    merchants = tagged_lines.select("merchant", direct=pl.col("via") == "")[line]
    by_iban = (pl.col("counterparty_iban") != "") & pl.col("direct")
    return merchants.with_columns(compared(transactions["counterparty_iban"])).select(
        "counterparty_iban", counterparty_key=pl.when(by_iban).then("counterparty_iban").otherwise("merchant")
    )


def _layered_bookings(
    transactions: pl.DataFrame, counterparties: pl.DataFrame, tagged_lines: pl.DataFrame, line: pl.Series
) -> LayeredBookings:
    """The bookings with the tags of their lines; the passes may overlay all tags but the partner."""
    rows = transactions.select("id", "booked_on", "amount_cents", "pending", user_and_product_numbers()).with_columns(
        *counterparties.with_columns(counterparty_key=counterparty_number()), line
    )
    category, insurance, freelancer = (
        tagged_lines.select(*tag_columns(kind)) for kind in ("category", "insurance", "freelancer")
    )
    category = category.with_columns(tagged_lines["category_guess"], effective_category="category")
    layers = (
        Layer(category, line),
        Layer(insurance, line),
        Layer(freelancer, line),
    )
    return LayeredBookings(rows.with_row_index("row"), tagged_lines, layers)


def _run_passes(bookings: LayeredBookings, products: pl.DataFrame) -> list[pl.Series]:
    """Overlays the tags of bookings, pass by pass, and returns their links: `refund_of` and `pair_of`."""
    overlays = [one_category(bookings)]
    _apply_overlay(bookings, overlays[0], "MODEL")
    for run_pass in (lambda bookings: own_transfers(bookings, products), wages, reversals, refunds):
        overlays.append(run_pass(bookings))
        _apply_overlay(bookings, overlays[-1])
    overlay = pl.concat(overlays)
    _update_freelancer(bookings, overlay["row"].unique())
    meals = business_meals(bookings, products)
    bookings.layers[2].overlay(meals["row"], meals)
    return [_links(overlay, name, bookings.rows.height) for name in ("refund_of", "pair_of")]


def _apply_overlay(bookings: LayeredBookings, overlay: pl.DataFrame, source_name: str = "RULE") -> None:
    """Overlays the categories of a pass; a booking that is no premium any more loses its insurance type."""
    category, insurance, _ = bookings.layers
    source = pl.lit(source_name)
    insured = insurance.select(overlay["row"], ["insurance"]).to_series() != UNRELATED
    category.overlay(
        overlay["row"],
        overlay.select(
            "category",
            "effective_category",
            category_confidence="confidence",
            category_source=source,
            category_reason="reason",
            category_guess=pl.lit(None, pl.String),
        ),
    )
    uninsured_rows = overlay.filter(insured & ~overlay["category"].str.starts_with("INSURANCE_"))
    insurance.overlay(
        uninsured_rows["row"],
        uninsured_rows.select(
            insurance=pl.lit(UNRELATED), insurance_confidence="confidence", insurance_source=source, insurance_reason="reason"
        ),
    )


def _update_freelancer(bookings: LayeredBookings, rows: pl.Series) -> None:
    """Overlays the freelancer category of rows with a new category; rows of equal line and tags are looked at once."""
    contents = bookings.select(rows, "line", "category", "insurance").select(pl.struct(pl.all()).hash()).to_series().to_numpy()
    number, first = Numbering().of(contents)
    columns = bookings.columns() & rule_columns(rulebooks()["freelancer"])
    tagged_rows = add_freelancer(bookings.select(rows[first], *columns))
    bookings.layers[2].overlay(rows, tagged_rows.select(list(tag_columns("freelancer")))[number])


def _links(overlay: pl.DataFrame, name: str, height: int) -> pl.Series:
    """The linked booking of each row, null without one; the last pass that links a row counts."""
    linked_rows = overlay.filter(pl.col(name).is_not_null())
    return pl.repeat(None, height, dtype=pl.String, eager=True).alias(name).scatter(linked_rows["row"], linked_rows[name])
