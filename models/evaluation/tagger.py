"""How good the whole tagger is: simulated people that it has not learned from, real lines, and every figure that has a gate.

Here belongs what brings the tagger, the truth and the real lines together. Measures are the business of `models.evaluation`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from analytics.bank_text import canonical, lines, sepa
from analytics.frames import CHOICES, LINES, PRODUCTS, RULES, TRANSACTIONS, checked
from analytics.knowledge import UNKNOWN, Catalogue
from analytics.tagging import partners, tag
from analytics.tagging.tag import Tagger
from models.evaluation import tables
from models.evaluation.labelled import LabelledEvaluation, examine_tags
from models.evaluation.metrics import Figure, figure, ratio
from models.experiment import EXAMINED, World, simulated
from models.simulator import Corpus
from models.simulator.base.lists import merchants, parties
from models.training.train import Progress, silent

REALITY = Path(__file__).parent / "reality" / "lines.csv"
FIELDS = {"true_eref": "eref", "true_mref": "mref", "true_cred": "cred", "true_remittance": "remittance"}
LABEL = "Buchungstext:"
"""One bank writes this before the text of card payments; the simulator counts it as text, we do not."""
WISHES = (CHOICES.to_frame(), RULES.to_frame())


@dataclass(frozen=True)
class TaggedWorld:
    """A simulated world with its tags."""

    transactions: pl.DataFrame
    truth: pl.DataFrame
    texts: pl.DataFrame
    tags: pl.DataFrame


def examine(brain: Tagger, world: World = EXAMINED, on_progress: Progress = silent, times: int = 1000) -> LabelledEvaluation:
    """Every figure of the tagger, on a world that nothing of it was written or trained for."""
    strange = without_unseen(brain)
    found = _joined(tagged(part, brain, strange) for part in simulated(world, on_progress=on_progress))
    on_progress("examine", 0.0)
    whole = examine_tags(found.tags, found, times=times)
    figures = (
        dict(whole.figures)
        | partner_figures(found, brain.catalogue, times)
        | sepa_figures(found, times)
        | unwrapping_figures(found, times)
        | reality_figures(brain, times)
    )
    on_progress("examine", 1.0)
    return LabelledEvaluation(whole.judged, figures, _baselines(found, whole, times))


def tagged(part: Corpus, brain: Tagger, strange: Tagger) -> TaggedWorld:
    """The tags of a part of the world; merchants that training has not seen are missing from the catalogue as well."""
    known = tag.tag(part.transactions, part.products, *WISHES, brain)
    unseen = tag.tag(part.transactions, part.products, *WISHES, strange)
    seen = part.truth["merchant_split"] == "train"
    tags = pl.concat([known.filter(seen), unseen.filter(~seen)])
    order = part.truth.select("id").join(tags, on="id", how="left", maintain_order="left")
    return TaggedWorld(part.transactions, part.truth, part.texts, order.select(known.columns))


def partner_of_brands(catalogue: Catalogue) -> dict[str, str]:
    """The partner of our catalogue that each brand of the simulator is, `UNKNOWN` where there is none."""
    brands = pl.concat([merchants()["brand"], parties()["brand"]]).unique().sort()
    brands = brands.filter(brands != "")
    plain = canonical.plain(brands)
    empty = {name: pl.lit("", pl.String) for name, kind in LINES.items() if kind == pl.String}
    read = pl.DataFrame({"merchant": plain}).with_columns(
        **{**empty, "merchant": pl.col("merchant"), "name": pl.col("merchant"), "channel": pl.lit("CARD")},
        key=pl.int_range(pl.len(), dtype=pl.UInt64),
        positive=pl.lit(value=False),
        amount_bin=pl.lit(3, pl.UInt8),
    )
    resolved = partners.add_partners(checked(read.select(LINES.names()), LINES), catalogue)
    return dict(zip(brands, resolved["partner"], strict=True))


def without_unseen(brain: Tagger) -> Tagger:
    """A brain that does not know the partners whose brands training has not seen."""
    unseen = _unseen(partner_of_brands(brain.catalogue))
    return Tagger(brain.scorer, brain.catalogue.reduced(lambda partner: partner not in unseen), brain.precisions)


def partner_figures(found: TaggedWorld, catalogue: Catalogue, times: int = 1000) -> dict[str, Figure]:
    """Precision and recall of partners on bookings of seen brands that our catalogue has; another brand of the group is right.

    Bookings whose brand the simulator does not tell cannot be judged.
    """
    named = partner_of_brands(catalogue)
    known = pl.col("brand").replace_strict(named, default=UNKNOWN, return_dtype=pl.String)
    families = {row["partner"]: row["group"] or row["display_name"] for row in catalogue.frame.iter_rows(named=True)}
    rows = found.truth.select("brand", "merchant_split", user=pl.col("user").cast(pl.String), true=known).with_columns(
        partner=found.tags["partner"]
    )
    judged = rows.filter(pl.col("merchant_split") == "train", pl.col("true") != UNKNOWN)
    family = [pl.col(name).replace_strict(families, default="", return_dtype=pl.String) for name in ("true", "partner")]
    right = (pl.col("true") == pl.col("partner")) | ((family[0] == family[1]) & (family[0] != ""))
    told = judged.with_columns(true_partner="true", partner=pl.when(right).then("true").otherwise("partner"))
    return tables.partner_figures(told, times=times)


def sepa_figures(found: TaggedWorld, times: int = 1000) -> dict[str, Figure]:
    """The share of SEPA fields that are read exactly, blanks aside."""
    fields = sepa.fields(found.transactions["purpose"])
    pairs = [
        pl.DataFrame({"user": found.transactions["user"], "truth": found.texts[true], "found": fields[name]}).filter(
            pl.col("truth").is_not_null() & (pl.col("truth") != "")
        )
        for true, name in FIELDS.items()
    ]
    bare = [pl.col(name).fill_null("").str.replace_all(" ", "", literal=True) for name in ("truth", "found")]
    bare[0] = bare[0].str.strip_prefix(LABEL)
    return {"sepa_fields": figure(pl.concat(pairs), ratio(bare[0] == bare[1]), "user", times)}


def unwrapping_figures(found: TaggedWorld, times: int = 1000) -> dict[str, Figure]:
    """The share of payments through an intermediary whose merchant was found."""
    through = found.truth["via"].fill_null("") != ""
    shown = found.texts["true_merchant"].is_not_null()
    rows = found.transactions.filter(through & shown)
    truth = canonical.plain(found.texts["true_merchant"].filter(through & shown))
    read = lines.read(rows)
    squeezed = {"true_merchant": truth, "merchant": read["merchant"]}
    frame = pl.DataFrame(squeezed).with_columns(pl.all().str.replace_all(" ", "", literal=True), user=rows["user"])
    return tables.unwrapping_figures(frame.filter(pl.col("true_merchant") != ""), times=times)


def reality_lines() -> pl.DataFrame:
    """Lines in genuine formats with the category that a person gave them; nothing was ever trained or tuned on them."""
    return pl.read_csv(REALITY, infer_schema=False).fill_null("")


def reality_tags(brain: Tagger) -> pl.DataFrame:
    """The real lines with `truth` and `prediction`, each tagged as if its user had no other booking."""
    given = reality_lines()
    numbered = given.with_row_index("row").with_columns(pl.col("row").cast(pl.String))
    rows = numbered.select(
        id="row",
        user="row",
        product="row",
        booked_on=pl.lit("2026-05-04").str.to_date(),
        value_on=pl.lit("2026-05-04").str.to_date(),
        amount_cents=(pl.col("amount").cast(pl.Float64) * 100).round().cast(pl.Int64),
        currency=pl.lit("EUR"),
        purpose=_filled("purpose"),
        booking_text=_filled("booking_text"),
        gv_code=_filled("gv_code"),
        primanota=pl.lit(None, pl.String),
        counterparty_name=_filled("name"),
        counterparty_iban=pl.lit(None, pl.String),
        counterparty_bic=pl.lit(None, pl.String),
        ultimate_name=_filled("ultimate"),
        pending=pl.lit(value=False),
    )
    tags = tag.tag(checked(rows, TRANSACTIONS), PRODUCTS.to_frame(), *WISHES, brain)
    return given.with_columns(
        truth="category", prediction=tags["category"], source=tags["category_source"], reason=tags["category_reason"]
    )


def reality_figures(brain: Tagger, times: int = 1000) -> dict[str, Figure]:
    """Accuracy on the real lines."""
    return tables.reality_figures(reality_tags(brain).select("truth", "prediction"), times)


def _filled(name: str) -> pl.Expr:
    return pl.when(pl.col(name) != "").then(pl.col(name))


def _unseen(named: Mapping[str, str]) -> set[str]:
    """Partners of brands that training has not seen; a partner of which it has seen one brand is known."""
    both = pl.concat([merchants().select("brand", "split"), parties().select("brand", "split")]).filter(pl.col("brand") != "")
    seen = {named[brand] for brand in both.filter(pl.col("split") == 0)["brand"]}
    return {named[brand] for brand in both.filter(pl.col("split") != 0)["brand"]} - seen - {UNKNOWN}


def _joined(parts: Iterator[TaggedWorld]) -> TaggedWorld:
    kept = list(parts)
    return TaggedWorld(
        *(pl.concat([getattr(part, name) for part in kept]) for name in ("transactions", "truth", "texts", "tags"))
    )


def _baselines(found: TaggedWorld, whole: LabelledEvaluation, times: int) -> dict[str, Figure]:
    """What the most frequent category of the sign would reach."""
    positive = found.transactions["amount_cents"] >= 0
    said = tables.majority(whole.judged["truth"], positive, positive)
    right = whole.judged.with_columns(prediction=said)
    return {"majority": figure(right, ratio(pl.col("truth") == pl.col("prediction")), "merchant", times)}
