"""Who stands behind a line: the business partner, found by creditor id or by its spellings in merchant, name and purpose.

The steps run in the order of their trust, each on the lines that those before left open. Where a payment service only passed
the money on, the partner is the merchant behind it; the service itself if no merchant is told. Catalogue IBANs are not looked at:
lines have none.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

from analytics.bank_text.channels import Channel
from analytics.knowledge import UNKNOWN, Catalogue, given_names
from analytics.knowledge.everyday import everyday
from analytics.native.alias_scan import AliasMatches, Flags, Ints, LineKinds, find, find_squeezed
from analytics.native.dense_ids import Numbering
from analytics.native.similarity import most_alike
from analytics.tagging import partner_index
from analytics.tagging.partner_index import LEAST_NAME, PartnerNumbers

NOBODY, BRAND, CREDITOR, MERCHANT, NAME, PART, ULTIMATE, PURPOSE, WRAPPED, ALIKE, CARRIER = range(11)
CONFIDENCE = np.array([0.5, 0.98, 0.99, 0.96, 0.95, 0.90, 0.85, 0.80, 0.80, 0.75, 0.90])
"""Starting values by step."""
LEAST_IN_PURPOSE = 5
LEAST_WRAPPED = 6
LEAST_WRAPPED_IN_SHOP = 4
LEAST_LIKENESS = 0.82
TRANSFERS = (Channel.TRANSFER, Channel.STANDINGORDER)
"""Here people write to each other: a brand in the purpose is not the partner, and a single word in a name may be somebody's."""
READ = ("creditor_id", "merchant", "name", "ultimate", "purpose", "channel", "via")
"""Lines that differ in nothing else, as in their amounts, have the same partner."""
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Hits:
    """What one step found on some rows: the partner of each (or -1), and the place in one of the line's texts that says so."""

    step: int
    rows: Rows
    partner: Ints
    text: str = ""
    found: AliasMatches | None = None


@dataclass
class PartnerMatch:
    """What is known so far."""

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
        """The rows that nobody has claimed yet."""
        return np.flatnonzero(self.partner < 0)

    def take(self, hits: Hits) -> None:
        """Gives lines that are still open to the partners found."""
        hit = (hits.partner >= 0) & (self.partner[hits.rows] < 0)
        rows = hits.rows[hit]
        self.partner[rows], self.step[rows] = hits.partner[hit], hits.step
        if hits.found is not None and len(rows):
            place = {"start": hits.found.start[hit], "length": hits.found.length[hit]}
            places = pl.DataFrame({"text": self.lines[hits.text][rows], **place})
            self.quote = self.quote.scatter(rows, places.select(pl.col("text").str.slice("start", "length")).to_series())


def resolve(lines: pl.DataFrame, catalogue: Catalogue) -> pl.DataFrame:
    """The lines with `partner`, `partner_confidence`, `partner_source` and `partner_reason`."""
    number, first = Numbering().of(lines.select(pl.struct(READ).hash()).to_series().to_numpy())
    known = partner_index.known(catalogue)
    verdict = PartnerMatch(lines.select(READ)[first])
    for hits in _steps(verdict, known) if len(catalogue.frame) else ():
        verdict.take(hits)
    return lines.hstack(pl.DataFrame(_columns(verdict, known))[number])


def _steps(verdict: PartnerMatch, known: PartnerNumbers) -> Iterator[Hits]:
    lines, rows = verdict.lines, np.arange(len(verdict.lines))
    setting = _setting(lines)
    creditor = known.by_creditor(lines["creditor_id"])
    merchant = find(lines["merchant"], known.spellings, setting)
    name = find(lines["name"], known.spellings, setting)
    in_merchant, in_name = _owners(merchant, known.owners), _owners(name, known.owners)
    in_name = np.where(_elsewhere(lines), _without(in_name, known.money_houses), in_name)
    shop, shop_name = _without(in_merchant, known.carriers), _without(in_name, known.carriers)

    owner = np.where(creditor >= 0, creditor, np.where(shop >= 0, shop, shop_name))
    in_group = np.flatnonzero((owner >= 0) & known.grouped[owner])
    for text, found, brand in (("merchant", merchant, shop), ("name", name, shop_name)):
        yield Hits(BRAND, rows, _brands(brand, creditor, known), text, found)
    by_purpose = _in_purpose(lines[in_group], known, in_group, setting[in_group])
    yield Hits(BRAND, in_group, _brands(by_purpose.partner, owner[in_group], known), "purpose", by_purpose.found)
    yield Hits(CREDITOR, rows, _without(creditor, known.carriers))
    yield Hits(MERCHANT, rows, np.where(merchant.whole, shop, -1), "merchant", merchant)
    yield Hits(NAME, rows, np.where(name.whole, shop_name, -1), "name", name)
    yield Hits(PART, rows, np.where((shop_name >= 0) & (name.length > merchant.length), -1, shop), "merchant", merchant)
    yield Hits(PART, rows, shop_name, "name", name)
    yield _in_ultimate(lines[verdict.open], known, verdict.open, setting[verdict.open])
    yield _in_purpose(lines[verdict.open], known, verdict.open, setting[verdict.open])
    for text in ("merchant", "name"):
        yield _in_pieces(lines[verdict.open], known, verdict.open, setting[verdict.open], text)
    yield _alike(lines[verdict.open], known, verdict.open)
    silent = ((lines["merchant"] == "") | (lines["via"] == "")).to_numpy() | (in_merchant >= 0)
    yield Hits(CREDITOR, rows, np.where(silent, creditor, -1))
    yield Hits(MERCHANT, rows, in_merchant, "merchant", merchant)
    yield Hits(NAME, rows, np.where(silent, in_name, -1), "name", name)
    yield Hits(CARRIER, rows, np.where(silent, known.by_name(lines["via"]), -1))


def _setting(lines: pl.DataFrame) -> LineKinds:
    first, last = pl.col("name").str.extract(r"^(\S+)"), pl.col("name").str.extract(r"(\S+)$")
    people = given_names().implode()
    private = pl.col("channel").is_in(TRANSFERS) & (pl.col("via") == "")
    flags = lines.select(
        shop=(pl.col("channel") == Channel.CARD) | (pl.col("via") != ""),
        private=private,
        person=private & (first.is_in(people) | last.is_in(people)).fill_null(False),
    )
    return LineKinds(*(flag.to_numpy() for flag in flags))


def _brands(brand: Ints, owner: Ints, known: PartnerNumbers) -> Ints:
    """Brands of the same group as who collects: more telling than the group."""
    same = (brand >= 0) & (owner >= 0) & (brand != owner) & (known.families[brand] == known.families[owner])
    return np.where(same & ~known.carriers[owner], brand, -1)


def _in_ultimate(lines: pl.DataFrame, known: PartnerNumbers, rows: Rows, setting: LineKinds) -> Hits:
    found = find(lines["ultimate"], known.spellings, setting)
    return Hits(ULTIMATE, rows, _without(_owners(found, known.owners), known.money_houses), "ultimate", found)


def _in_purpose(lines: pl.DataFrame, known: PartnerNumbers, rows: Rows, setting: LineKinds) -> Hits:
    spellings, owners = known.in_purpose
    free_text = setting.private & (lines["name"] != "").to_numpy()
    found = find(lines["purpose"], spellings, setting, LEAST_IN_PURPOSE)
    return Hits(PURPOSE, rows, np.where(free_text, -1, _owners(found, owners)), "purpose", found)


def _in_pieces(lines: pl.DataFrame, known: PartnerNumbers, rows: Rows, setting: LineKinds, text: str) -> Hits:
    """Names that a line break has cut: anywhere if the alias is long, as the whole merchant of a shop if it is short."""
    found = find_squeezed(lines[text], known.spellings, setting, LEAST_WRAPPED_IN_SHOP)
    length = np.where(found.alias >= 0, known.spellings.squeezed.lengths[found.alias], 0)
    trusted = (length >= LEAST_WRAPPED) | (found.whole & setting.shop)
    if text == "name":
        trusted &= ~_elsewhere(lines)
    return Hits(WRAPPED, rows, np.where(trusted, _without(_owners(found, known.owners), known.money_houses), -1), text, found)


def _alike(lines: pl.DataFrame, known: PartnerNumbers, rows: Rows) -> Hits:
    """Merchants that differ from a known spelling by a slip or a cut."""
    names, owners = known.names
    merchant = lines["merchant"]
    distinct = merchant.filter(merchant.str.len_bytes() >= LEAST_NAME).unique(maintain_order=True)
    alias, _ = most_alike(distinct, names, LEAST_LIKENESS)
    partner = np.where(_misspelt(distinct, names.names.gather(alias)), _owners(alias, owners), -1).astype(np.int32)
    by_text = merchant.replace_strict(distinct, pl.Series(partner), default=-1, return_dtype=pl.Int32).to_numpy()
    whole = AliasMatches(by_text, np.zeros_like(by_text), merchant.str.len_bytes().cast(pl.Int32).to_numpy(), by_text >= 0)
    return Hits(ALIKE, rows, _without(by_text, known.carriers), "merchant", whole)


def _misspelt(texts: pl.Series, aliases: pl.Series) -> Flags:
    """Where the words that differ are no words: another town or trade is no slip of the pen."""
    words = pl.DataFrame({"text": texts.str.split(" "), "alias": aliases.str.split(" ")})
    other = pl.col("text").list.set_difference("alias").list.set_intersection(everyday().implode())
    return words.select(other.list.len() == 0).to_series().to_numpy()


def _elsewhere(lines: pl.DataFrame) -> Flags:
    """Lines whose merchant was found somewhere else than in the name."""
    merchant = pl.col("merchant")
    return lines.select((merchant != "") & ~pl.col("name").str.contains(merchant, literal=True)).to_series().to_numpy()


def _owners(found: AliasMatches | Ints, owners: Ints) -> Ints:
    alias = found.alias if isinstance(found, AliasMatches) else found
    return np.where(alias >= 0, owners[alias], -1).astype(np.int32) if len(owners) else np.full(len(alias), -1, np.int32)


def _without(partner: Ints, excluded: Flags) -> Ints:
    return np.where((partner >= 0) & excluded[partner], -1, partner)


def _columns(verdict: PartnerMatch, known: PartnerNumbers) -> list[pl.Series]:
    names = pl.concat([known.catalogue.frame["partner"], pl.Series([UNKNOWN])])
    shown = pl.concat([known.catalogue.frame["display_name"], pl.Series([""])])
    table = pl.DataFrame({"step": verdict.step, "quote": verdict.quote, "shown": shown[verdict.partner % len(shown)]})
    told = pl.when(pl.col("step") == NOBODY).then(pl.lit("FALLBACK")).otherwise(pl.lit("PARTNER"))
    return [
        names[verdict.partner % len(names)].alias("partner"),
        pl.Series("partner_confidence", CONFIDENCE[verdict.step]),
        *table.select(partner_source=told, partner_reason=_reason()),
    ]


def _reason() -> pl.Expr:
    step, quote, shown = pl.col("step"), pl.col("quote"), pl.col("shown")
    texts = {
        NOBODY: pl.lit("kein bekannter Partner"),
        BRAND: pl.format("Gruppe und »{}« = {}", quote, shown),
        CREDITOR: pl.format("Gläubiger-ID von {}", shown),
        CARRIER: pl.format("bezahlt über {}", shown),
        PURPOSE: pl.format("»{}« im Verwendungszweck = {}", quote, shown),
        ULTIMATE: pl.format("abweichender Name »{}« = {}", quote, shown),
        ALIKE: pl.format("Name »{}« ähnelt {}", quote, shown),
    }
    reason = pl.format("Name »{}« = {}", quote, shown)
    for number, text in texts.items():
        reason = pl.when(step == number).then(text).otherwise(reason)
    return reason
