"""The business partner of a line, by creditor id or by its spellings in merchant, name and purpose.

The steps run in the order of their trust, each on the lines that the steps before left open. Where a payment service only passed
the money on, the partner is the merchant behind it, or the service itself if no merchant is named. The IBANs of the catalogue
are not used: lines have none.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

from analytics.bank_text.channels import Channel
from analytics.knowledge import UNKNOWN, Catalogue, given_names
from analytics.knowledge.everyday import everyday
from analytics.native.alias_scan import AliasMatches, Flags, Ints, LineKinds, Spellings, find, find_squeezed
from analytics.native.dense_ids import Numbering
from analytics.native.similarity import most_alike
from analytics.tagging.partner_index import MIN_GLUED_ALIAS_LETTERS, MIN_NAME_LETTERS, PartnerIndex, index_partners
from analytics.tagging.quotation import written

NO_PARTNER, BRAND, CREDITOR, MERCHANT, NAME, PART, ULTIMATE, PURPOSE, WRAPPED, ALIKE, INTERMEDIARY = range(11)
STEP_CONFIDENCE = np.array([0.5, 0.98, 0.99, 0.96, 0.95, 0.90, 0.85, 0.80, 0.80, 0.75, 0.90])
"""The confidence of each step, in the order of the constants, before any measurement."""
MIN_PURPOSE_ALIAS_LETTERS = 5
MIN_WRAPPED_ALIAS_LETTERS = 6
MIN_WRAPPED_SHOP_LETTERS = 4
MIN_SIMILARITY = 0.82
TRANSFERS = (Channel.TRANSFER, Channel.STANDINGORDER)
"""Here people write to each other: a brand in the purpose is not the partner, and a single word may be a surname."""
PARTNER_TEXTS = ("creditor_id", "merchant", "name", "ultimate", "purpose", "channel", "via")
"""Lines that are equal in these columns have the same partner."""
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class StepHits:
    """The hits of one step on some rows: the partner of each (or -1), and where in one of the line's texts its alias stands."""

    step: int
    rows: Rows
    partner: Ints
    text: str = ""
    matches: AliasMatches | None = None


@dataclass
class PartnerSearch:
    """The partners found so far, with the step and the quoted text of each."""

    lines: pl.DataFrame
    partner: Ints = field(init=False)
    step: npt.NDArray[np.uint8] = field(init=False)
    quote: pl.Series = field(init=False)

    def __post_init__(self) -> None:
        self.partner = np.full(len(self.lines), -1, np.int32)
        self.step = np.zeros(len(self.lines), np.uint8)
        self.quote = pl.Series("quote", [""]).new_from_index(0, len(self.lines))

    @property
    def open(self) -> Rows:
        """The rows without a partner so far."""
        return np.flatnonzero(self.partner < 0)

    def add(self, hits: StepHits) -> None:
        """Gives rows that are still open the partners of a step."""
        hit = (hits.partner >= 0) & (self.partner[hits.rows] < 0)
        rows = hits.rows[hit]
        self.partner[rows], self.step[rows] = hits.partner[hit], hits.step
        if hits.matches is not None and len(rows):
            columns = {"start": hits.matches.start[hit], "length": hits.matches.length[hit]}
            spans = pl.DataFrame({"text": self.lines[hits.text][rows], **columns})
            self.quote = self.quote.scatter(rows, spans.select(pl.col("text").str.slice("start", "length")).to_series())


def add_partners(lines: pl.DataFrame, catalogue: Catalogue) -> pl.DataFrame:
    """The lines with `partner`, `partner_confidence`, `partner_source` and `partner_reason`."""
    number, first = Numbering().of(lines.select(pl.struct(PARTNER_TEXTS).hash()).to_series().to_numpy())
    index = index_partners(catalogue)
    search = PartnerSearch(lines.select(PARTNER_TEXTS)[first])
    for hits in _steps(search, index) if len(catalogue.frame) else ():
        search.add(hits)
    return lines.hstack(pl.DataFrame(_columns(search, index))[number])


def _steps(search: PartnerSearch, index: PartnerIndex) -> Iterator[StepHits]:
    """The hits of each step. A payment service is the partner only in the last steps, if nothing names another merchant."""
    lines, rows = search.lines, np.arange(len(search.lines))
    kinds = _line_kinds(lines)
    creditor = index.by_creditor(lines["creditor_id"])
    merchant = find(lines["merchant"], index.spellings, kinds)
    name = find(lines["name"], index.spellings, kinds)
    in_merchant, in_name = _owners(merchant, index.owners), _owners(name, index.owners)
    in_name = np.where(_elsewhere(lines), _without(in_name, index.money_handlers), in_name)
    shop, shop_name = _without(in_merchant, index.intermediaries), _without(in_name, index.intermediaries)

    owner = np.where(creditor >= 0, creditor, np.where(shop >= 0, shop, shop_name))
    in_group = np.flatnonzero((owner >= 0) & index.grouped[owner])
    for text, matches, brand in (("merchant", merchant, shop), ("name", name, shop_name)):
        yield StepHits(BRAND, rows, _brands(brand, creditor, index), text, matches)
    by_purpose = _in_purpose(lines[in_group], index.free, in_group, kinds[in_group])
    yield StepHits(BRAND, in_group, _brands(by_purpose.partner, owner[in_group], index), "purpose", by_purpose.matches)
    yield StepHits(CREDITOR, rows, _without(creditor, index.intermediaries))
    yield StepHits(MERCHANT, rows, np.where(merchant.whole, shop, -1), "merchant", merchant)
    yield StepHits(NAME, rows, np.where(name.whole, shop_name, -1), "name", name)
    yield StepHits(PART, rows, np.where((shop_name >= 0) & (name.length > merchant.length), -1, shop), "merchant", merchant)
    yield StepHits(PART, rows, shop_name, "name", name)
    yield _in_ultimate(lines[search.open], index, search.open, kinds[search.open])
    yield _in_purpose(lines[search.open], index.in_purpose, search.open, kinds[search.open])
    yield _behind_service(lines[search.open], index, search.open, kinds[search.open])
    yield _glued(lines[search.open], index, search.open)
    for text in ("merchant", "name"):
        yield _in_pieces(lines[search.open], index, search.open, kinds[search.open], text)
    yield _alike(lines[search.open], index, search.open)
    alone = ((lines["merchant"] == "") | (lines["via"] == "")).to_numpy() | (in_merchant >= 0)
    yield StepHits(CREDITOR, rows, np.where(alone, creditor, -1))
    yield StepHits(MERCHANT, rows, in_merchant, "merchant", merchant)
    yield StepHits(NAME, rows, np.where(alone, in_name, -1), "name", name)
    yield StepHits(INTERMEDIARY, rows, np.where(alone, index.by_name(lines["via"]), -1))


def _line_kinds(lines: pl.DataFrame) -> LineKinds:
    first, last = pl.col("name").str.extract(r"^(\S+)"), pl.col("name").str.extract(r"(\S+)$")
    people = given_names().implode()
    private = pl.col("channel").is_in(TRANSFERS) & (pl.col("via") == "")
    flags = lines.select(
        shop=(pl.col("channel") == Channel.CARD) | (pl.col("via") != ""),
        private=private,
        person=private & (first.is_in(people) | last.is_in(people)).fill_null(False),
    )
    return LineKinds(*(flag.to_numpy() for flag in flags))


def _brands(brand: Ints, owner: Ints, index: PartnerIndex) -> Ints:
    """The brand where it belongs to the same group as the owner, since a brand says more than its group; else -1."""
    same = (brand >= 0) & (owner >= 0) & (brand != owner) & (index.families[brand] == index.families[owner])
    return np.where(same & ~index.intermediaries[owner] & ~index.heads[brand], brand, -1)


def _in_ultimate(lines: pl.DataFrame, index: PartnerIndex, rows: Rows, kinds: LineKinds) -> StepHits:
    matches = find(lines["ultimate"], index.spellings, kinds)
    return StepHits(ULTIMATE, rows, _without(_owners(matches, index.owners), index.money_handlers), "ultimate", matches)


def _in_purpose(lines: pl.DataFrame, searched: tuple[Spellings, Ints], rows: Rows, kinds: LineKinds) -> StepHits:
    spellings, owners = searched
    free_text = kinds.private & (lines["name"] != "").to_numpy()
    matches = find(lines["purpose"], spellings, kinds, MIN_PURPOSE_ALIAS_LETTERS)
    return StepHits(PURPOSE, rows, np.where(free_text, -1, _owners(matches, owners)), "purpose", matches)


def _behind_service(lines: pl.DataFrame, index: PartnerIndex, rows: Rows, kinds: LineKinds) -> StepHits:
    """Partners in the purpose of payment services: the service writes it and names the shop, so every spelling counts."""
    served = (lines["via"] != "").to_numpy() & ~kinds.private
    served_rows = np.flatnonzero(served)
    matches = find(lines["purpose"][served_rows], index.spellings, kinds[served_rows], MIN_WRAPPED_ALIAS_LETTERS)
    partner = _without(_owners(matches, index.owners), index.money_handlers)
    return StepHits(PURPOSE, rows[served_rows], partner, "purpose", matches)


def _glued(lines: pl.DataFrame, index: PartnerIndex, rows: Rows) -> StepHits:
    """Partners with whose spelling the one word of a payment service begins: it glues and cuts names (`zooplusse`)."""
    merchant = pl.col("merchant")
    served = lines.select(
        (pl.col("via") != "") & ~merchant.str.contains(" ", literal=True) & (merchant.str.len_bytes() > MIN_GLUED_ALIAS_LETTERS)
    )
    served_rows = np.flatnonzero(served.to_series().to_numpy())
    texts = lines["merchant"][served_rows]
    spans = [_glued_length(text, index.glued) for text in texts]
    partner = np.array([index.glued.get(text[:span], -1) for text, span in zip(texts, spans, strict=True)], np.int32)
    lengths = np.array(spans, np.int32)
    matches = AliasMatches(partner, np.zeros_like(lengths), lengths, np.zeros(len(lengths), np.bool_))
    return StepHits(WRAPPED, rows[served_rows], _without(partner, index.money_handlers), "merchant", matches)


def _glued_length(text: str, spellings: Mapping[str, int]) -> int:
    """The length of the longest spelling with which a word begins; 0 if there is none."""
    return next((length for length in range(len(text), MIN_GLUED_ALIAS_LETTERS - 1, -1) if text[:length] in spellings), 0)


def _in_pieces(lines: pl.DataFrame, index: PartnerIndex, rows: Rows, kinds: LineKinds, text: str) -> StepHits:
    """Partners whose alias a line break has cut: a long one anywhere, a short one only as the whole merchant of a shop."""
    matches = find_squeezed(lines[text], index.spellings, kinds, MIN_WRAPPED_SHOP_LETTERS)
    length = np.where(matches.alias >= 0, index.spellings.squeezed.lengths[matches.alias], 0)
    accepted = (length >= MIN_WRAPPED_ALIAS_LETTERS) | (matches.whole & kinds.shop)
    if text == "name":
        accepted &= ~_elsewhere(lines)
    return StepHits(
        WRAPPED, rows, np.where(accepted, _without(_owners(matches, index.owners), index.money_handlers), -1), text, matches
    )


def _alike(lines: pl.DataFrame, index: PartnerIndex, rows: Rows) -> StepHits:
    """Partners whose spelling differs from the merchant by a slip or a cut."""
    names, owners = index.names
    merchant = lines["merchant"]
    distinct = merchant.filter(merchant.str.len_bytes() >= MIN_NAME_LETTERS).unique(maintain_order=True)
    alias, _ = most_alike(distinct, names, MIN_SIMILARITY)
    partner = np.where(_misspelt(distinct, names.names.gather(alias)), _owners(alias, owners), -1).astype(np.int32)
    by_text = merchant.replace_strict(distinct, pl.Series(partner), default=-1, return_dtype=pl.Int32).to_numpy()
    whole = AliasMatches(by_text, np.zeros_like(by_text), merchant.str.len_bytes().cast(pl.Int32).to_numpy(), by_text >= 0)
    return StepHits(ALIKE, rows, _without(by_text, index.intermediaries), "merchant", whole)


def _misspelt(texts: pl.Series, aliases: pl.Series) -> Flags:
    """Whether the differing words are no everyday words: another town or trade is not a misspelling."""
    words = pl.DataFrame({"text": texts.str.split(" "), "alias": aliases.str.split(" ")})
    other = pl.col("text").list.set_difference("alias").list.set_intersection(everyday().implode())
    return words.select(other.list.len() == 0).to_series().to_numpy()


def _elsewhere(lines: pl.DataFrame) -> Flags:
    """Whether the merchant of each line was found elsewhere than in its name."""
    merchant = pl.col("merchant")
    return lines.select((merchant != "") & ~pl.col("name").str.contains(merchant, literal=True)).to_series().to_numpy()


def _owners(matches: AliasMatches | Ints, owners: Ints) -> Ints:
    alias = matches.alias if isinstance(matches, AliasMatches) else matches
    return np.where(alias >= 0, owners[alias], -1).astype(np.int32) if len(owners) else np.full(len(alias), -1, np.int32)


def _without(partner: Ints, excluded: Flags) -> Ints:
    return np.where((partner >= 0) & excluded[partner], -1, partner)


def _columns(search: PartnerSearch, index: PartnerIndex) -> list[pl.Series]:
    names = pl.concat([index.catalogue.frame["partner"], pl.Series([UNKNOWN])])
    display_names = pl.concat([index.catalogue.frame["display_name"], pl.Series([""])])
    quotes, owners = written(search.quote, with_first_names=True), display_names[search.partner % len(display_names)]
    table = pl.DataFrame({"step": search.step, "quote": quotes, "display_name": owners})
    source = pl.when(pl.col("step") == NO_PARTNER).then(pl.lit("FALLBACK")).otherwise(pl.lit("PARTNER"))
    return [
        names[search.partner % len(names)].alias("partner"),
        pl.Series("partner_confidence", STEP_CONFIDENCE[search.step]),
        *table.select(partner_source=source, partner_reason=_reason()),
    ]


def _reason() -> pl.Expr:
    step, display_name = pl.col("step"), pl.col("display_name")
    quote = pl.coalesce("quote", "display_name")
    texts = {
        NO_PARTNER: pl.lit("kein bekannter Partner"),
        BRAND: pl.format("Gruppe und »{}« = {}", quote, display_name),
        CREDITOR: pl.format("Gläubiger-ID von {}", display_name),
        INTERMEDIARY: pl.format("bezahlt über {}", display_name),
        PURPOSE: pl.format("»{}« im Verwendungszweck = {}", quote, display_name),
        ULTIMATE: pl.format("abweichender Name »{}« = {}", quote, display_name),
        ALIKE: pl.format("Name »{}« ähnelt {}", quote, display_name),
    }
    reason = pl.format("Name »{}« = {}", quote, display_name)
    for number, text in texts.items():
        reason = pl.when(step == number).then(text).otherwise(reason)
    return reason
