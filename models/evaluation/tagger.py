"""How good the whole tagger is: every figure with a gate, on simulated people it was not trained on and on real lines.

Here the tagger, the truth and the real lines come together. The figures themselves are in `models.evaluation.tables`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from analytics.bank_text import canonical, lines, sepa
from analytics.frames import LINES, checked
from analytics.knowledge import UNKNOWN, Catalogue
from analytics.tagging import partners, tag
from analytics.tagging.tag import Tagger
from models.categoriser.no_model import NoModel
from models.evaluation import tables
from models.evaluation.labelled import LabelledEvaluation, evaluate_tags
from models.evaluation.metrics import Figure, accuracy, figure, ratio
from models.evaluation.single_lines import NO_CORRECTIONS, tag_single_lines
from models.progress import Progress, silent
from models.simulator import Corpus
from models.simulator.base.lists import merchants, parties
from models.simulator.worlds import World, simulate_parts

REALITY = Path(__file__).parent / "reality" / "lines.csv"
SEPA_FIELDS = {"true_eref": "eref", "true_mref": "mref", "true_cred": "cred", "true_remittance": "remittance"}
TEST_WORLD = World(users=300, seed=2, splits=("train", "calibration", "test"))
"""The world that the tagger is evaluated on: nothing was written, tuned or trained on it."""
BOOKING_TEXT_LABEL = "Buchungstext:"
"""One bank writes this before the text of card payments; the simulator counts it as text, the parser does not."""


@dataclass(frozen=True)
class TaggedWorld:
    """A simulated world with its tags."""

    transactions: pl.DataFrame
    truth: pl.DataFrame
    texts: pl.DataFrame
    tags: pl.DataFrame


def evaluate(tagger: Tagger, world: World = TEST_WORLD, on_progress: Progress = silent, times: int = 1000) -> LabelledEvaluation:
    """Every figure of the tagger in a simulated world and on real lines, with intervals from `times` resamples."""
    (evaluation,) = evaluate_each([tagger], world, on_progress, times)
    return evaluation


def evaluate_each(
    taggers: Sequence[Tagger], world: World, on_progress: Progress = silent, times: int = 1000
) -> list[LabelledEvaluation]:
    """The same of several taggers; simulating the world, which takes longer than tagging it, is done once.

    What the first one reaches without its model stands beside all of them: they have the same rules, partners and words.
    """
    all_taggers = [*taggers, without_model(taggers[0])]
    reduced_taggers = [without_unseen_partners(tagger) for tagger in all_taggers]
    parts = [
        [tag_corpus(part, tagger, reduced) for tagger, reduced in zip(all_taggers, reduced_taggers, strict=True)]
        for part in simulate_parts(world, on_progress=on_progress)
    ]
    worlds = [_concat(parts_of_tagger) for parts_of_tagger in zip(*parts, strict=True)]
    evaluations: list[LabelledEvaluation] = []
    for tagged_world, tagger in zip(worlds, all_taggers, strict=True):
        on_progress("examine", len(evaluations) / len(all_taggers))
        evaluations.append(_examine(tagged_world, tagger, times))
    on_progress("examine", 1.0)
    *examined, rules_alone = evaluations
    return [replace(evaluation, without_model=rules_alone.figures) for evaluation in examined]


def _examine(tagged_world: TaggedWorld, tagger: Tagger, times: int) -> LabelledEvaluation:
    evaluation = evaluate_tags(tagged_world.tags, tagged_world, times=times)
    figures = (
        dict(evaluation.figures)
        | partner_figures(tagged_world, tagger.catalogue, times)
        | sepa_figures(tagged_world, times)
        | unwrapping_figures(tagged_world, times)
        | reality_figures(tagger, times)
    )
    return LabelledEvaluation(evaluation.bookings, figures, _baselines(tagged_world, evaluation, times))


def tag_corpus(corpus: Corpus, tagger: Tagger, reduced_tagger: Tagger) -> TaggedWorld:
    """The tags of a corpus; merchants unseen in training are tagged by `reduced_tagger`, whose catalogue lacks them."""
    tags = tag.tag_bookings(corpus.transactions, corpus.products, *NO_CORRECTIONS, tagger)
    reduced_tags = tag.tag_bookings(corpus.transactions, corpus.products, *NO_CORRECTIONS, reduced_tagger)
    in_training = corpus.truth["merchant_split"] == "train"
    both = pl.concat([tags.filter(in_training), reduced_tags.filter(~in_training)])
    ordered = corpus.truth.select("id").join(both, on="id", how="left", maintain_order="left")
    return TaggedWorld(corpus.transactions, corpus.truth, corpus.texts, ordered.select(tags.columns))


def partner_of_brands(catalogue: Catalogue) -> dict[str, str]:
    """The catalogue's partner of each brand of the simulator, `UNKNOWN` where there is none."""
    brands = pl.concat([merchants()["brand"], parties()["brand"]]).unique().sort()
    brands = brands.filter(brands != "")
    empty = {name: pl.lit("", pl.String) for name, kind in LINES.items() if kind == pl.String}
    brand_lines = pl.DataFrame({"merchant": canonical.plain(brands)}).with_columns(
        **{**empty, "merchant": pl.col("merchant"), "name": pl.col("merchant"), "channel": pl.lit("CARD")},
        key=pl.int_range(pl.len(), dtype=pl.UInt64),
        positive=pl.lit(value=False),
        amount_bin=pl.lit(3, pl.UInt8),
    )
    resolved = partners.add_partners(checked(brand_lines.select(LINES.names()), LINES), catalogue)
    return dict(zip(brands, resolved["partner"], strict=True))


def without_unseen_partners(tagger: Tagger) -> Tagger:
    """The tagger without the partners whose brands were not seen in training."""
    unseen = _unseen_partners(partner_of_brands(tagger.catalogue))
    return Tagger(tagger.scorer, tagger.catalogue.reduced(lambda partner: partner not in unseen), tagger.precisions)


def without_model(tagger: Tagger) -> Tagger:
    """The tagger with the same partners and precisions, and no model: what it lacks is what the model adds."""
    return Tagger(NoModel(), tagger.catalogue, tagger.precisions)


def partner_figures(world: TaggedWorld, catalogue: Catalogue, times: int = 1000) -> dict[str, Figure]:
    """Precision and recall of partners on bookings of seen brands that the catalogue has; another brand of the group is right.

    Bookings for which the simulator names no brand are left out.
    """
    true_partner = pl.col("brand").replace_strict(partner_of_brands(catalogue), default=UNKNOWN, return_dtype=pl.String)
    groups = {row["partner"]: row["group"] or row["display_name"] for row in catalogue.frame.iter_rows(named=True)}
    rows = world.truth.select("brand", "merchant_split", user=pl.col("user").cast(pl.String), true=true_partner).with_columns(
        partner=world.tags["partner"]
    )
    measurable = rows.filter(pl.col("merchant_split") == "train", pl.col("true") != UNKNOWN)
    group = [pl.col(name).replace_strict(groups, default="", return_dtype=pl.String) for name in ("true", "partner")]
    right = (pl.col("true") == pl.col("partner")) | ((group[0] == group[1]) & (group[0] != ""))
    by_group = measurable.with_columns(true_partner="true", partner=pl.when(right).then("true").otherwise("partner"))
    return tables.partner_figures(by_group, times=times)


def sepa_figures(world: TaggedWorld, times: int = 1000) -> dict[str, Figure]:
    """The share of SEPA fields that are read exactly, blanks aside."""
    fields = sepa.fields(world.transactions["purpose"])
    pairs = [
        pl.DataFrame({"user": world.transactions["user"], "truth": world.texts[true], "found": fields[name]}).filter(
            pl.col("truth").is_not_null() & (pl.col("truth") != "")
        )
        for true, name in SEPA_FIELDS.items()
    ]
    truth, value = (pl.col(name).fill_null("").str.replace_all(" ", "", literal=True) for name in ("truth", "found"))
    exact = truth.str.strip_prefix(BOOKING_TEXT_LABEL) == value
    return {"sepa_fields": figure(pl.concat(pairs), ratio(exact), "user", times)}


def unwrapping_figures(world: TaggedWorld, times: int = 1000) -> dict[str, Figure]:
    """The share of payments through an intermediary whose merchant was found."""
    through_intermediary = world.truth["via"].fill_null("") != ""
    measurable = through_intermediary & world.texts["true_merchant"].is_not_null()
    rows = world.transactions.filter(measurable)
    merchants_of_lines = {
        "true_merchant": canonical.plain(world.texts["true_merchant"].filter(measurable)),
        "merchant": lines.read(rows)["merchant"],
    }
    frame = pl.DataFrame(merchants_of_lines).with_columns(pl.all().str.replace_all(" ", "", literal=True), user=rows["user"])
    return tables.unwrapping_figures(frame.filter(pl.col("true_merchant") != ""), times=times)


def reality_lines() -> pl.DataFrame:
    """Lines in genuine formats with categories assigned by a person; nothing was ever trained or tuned on them."""
    return pl.read_csv(REALITY, infer_schema=False).fill_null("")


def reality_tags(tagger: Tagger) -> pl.DataFrame:
    """The real lines with `truth` and `prediction`, each tagged as if its user had no other booking."""
    real_lines = reality_lines()
    tags = tag_single_lines(real_lines, tagger)
    return real_lines.with_columns(
        truth="category", prediction=tags["category"], source=tags["category_source"], reason=tags["category_reason"]
    )


def reality_figures(tagger: Tagger, times: int = 1000) -> dict[str, Figure]:
    """Accuracy of categories and main categories on the real lines."""
    return tables.reality_figures(reality_tags(tagger).select("truth", "prediction"), times)


def _unseen_partners(partner_of: Mapping[str, str]) -> set[str]:
    """Partners of which training has seen no brand."""
    brands = pl.concat([merchants().select("brand", "split"), parties().select("brand", "split")]).filter(pl.col("brand") != "")
    in_training = {partner_of[brand] for brand in brands.filter(pl.col("split") == 0)["brand"]}
    return {partner_of[brand] for brand in brands.filter(pl.col("split") != 0)["brand"]} - in_training - {UNKNOWN}


def _concat(parts: Sequence[TaggedWorld]) -> TaggedWorld:
    return TaggedWorld(
        *(pl.concat([getattr(part, name) for part in parts]) for name in ("transactions", "truth", "texts", "tags"))
    )


def _baselines(world: TaggedWorld, evaluation: LabelledEvaluation, times: int) -> dict[str, Figure]:
    """The accuracy of always predicting the most frequent category of the sign."""
    positive = world.transactions["amount_cents"] >= 0
    prediction = tables.majority(evaluation.bookings["truth"], positive, positive)
    return {"majority": figure(evaluation.bookings.with_columns(prediction=prediction), accuracy, "merchant", times)}
