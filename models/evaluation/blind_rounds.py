"""Blind rounds: how good tags are on lines that others have written.

The writers of a round know the definitions of the categories and the formats of the banks, but neither rules nor catalogue nor
model. A round is scored once, before anybody who works on the tagger has read it. This first score is recorded in
`blind/first_scores.csv` and is the figure that counts. Afterwards its faults are worked on, and its lines become tests: today's
score only shows that nothing is lost again.
"""

from collections.abc import Mapping
from datetime import date
from pathlib import Path

import polars as pl

from analytics.bank_text import canonical
from analytics.knowledge import Catalogue
from analytics.tagging.insurance import UNRELATED
from analytics.tagging.tag import Tagger
from analytics.trees import tree
from models.evaluation.metrics import Figure, accuracy, calibration_error, figure, macro_f1, ratio
from models.evaluation.single_lines import tag_single_lines
from models.training.train import from_text_alone

FOLDER = Path(__file__).parent / "blind"
FIRST_SCORES = "first_scores.csv"
SCORE_COLUMNS = ("round", "scored_on", "figure", "value", "low", "high", "rows")
FIRST_COLUMNS = ("first score", "of")
INSURANCE_WORDS = r"versicher|police|praemie|prämie|schutz|beitrag|vorsorge|haftpflicht|kasko|assekuranz"
"""Lines that are no insurance and have one of these words only sound like insurance."""
LEAST_PARTNER_LETTERS = 3


def rounds(folder: Path = FOLDER) -> dict[str, pl.DataFrame]:
    """The lines of each round, by its name."""
    return {path.stem: read_round(path) for path in sorted(folder.glob("round-*.csv"))}


def read_round(path: Path) -> pl.DataFrame:
    """The lines of a file, all columns as text, empty cells as empty strings."""
    return pl.read_csv(path, infer_schema=False).fill_null("")


def tagged_lines(lines: pl.DataFrame, tagger: Tagger) -> pl.DataFrame:
    """The lines with `truth`, `prediction`, `confidence`, `tagged_partner`, `tagged_insurance` and the reason of the category."""
    tags = tag_single_lines(lines, tagger)
    return lines.with_row_index("line").with_columns(
        truth="category",
        prediction=tags["category"],
        confidence=tags["category_confidence"],
        source=tags["category_source"],
        reason=tags["category_reason"],
        tagged_partner=tags["partner"],
        tagged_insurance=tags["insurance"],
    )


def score(lines: pl.DataFrame, tagger: Tagger, times: int = 1000) -> dict[str, Figure]:
    """The figures of a round, with intervals over its lines. Transfers between own accounts are left out: only a user's other
    bookings and products show them.
    """
    tagged = tagged_lines(lines.filter(from_text_alone(pl.col("category"))), tagger)
    parents = {item.system_name: item.parent or item.system_name for item in tree("CATEGORIES").items}
    main = tagged.with_columns(pl.col("truth", "prediction").replace(parents))
    expected = tagged.filter(pl.col("partner") != "")
    is_insured = pl.col("insurance").is_in(["", UNRELATED]).not_()
    sounding = tagged.filter(~is_insured, _text().str.contains(INSURANCE_WORDS))
    divisions = tagged.filter(is_insured).select("line", truth=_division("insurance"), prediction=_division("tagged_insurance"))
    return {
        "accuracy": figure(tagged, accuracy, "line", times),
        "main_accuracy": figure(main, accuracy, "line", times),
        "hard_accuracy": figure(tagged.filter(pl.col("hard") == "yes"), accuracy, "line", times),
        "partner_accuracy": figure(
            expected.with_columns(right=_same_partner(expected, tagger.catalogue)), ratio(pl.col("right")), "line", times
        ),
        "false_insurance": figure(sounding, ratio(pl.col("tagged_insurance") != UNRELATED), "line", times),
        "division_macro_f1": figure(divisions, macro_f1(), "line", times),
        "calibration_error": figure(tagged, calibration_error(), "line", times),
    }


def first_scores(folder: Path = FOLDER) -> pl.DataFrame:
    """The recorded first scores (`SCORE_COLUMNS`)."""
    return pl.read_csv(folder / FIRST_SCORES, try_parse_dates=True).select(SCORE_COLUMNS)


def record(file: Path, figures: Mapping[str, Figure], scored_on: date, folder: Path = FOLDER) -> None:
    """Keeps the lines of a round and its first score; a round has only one."""
    scores_file = folder / FIRST_SCORES
    earlier = [first_scores(folder)] if scores_file.exists() else []
    if any(file.stem in scores["round"] for scores in earlier):
        raise ValueError(f"{file.stem} has been scored before: only the first score counts")
    rows = [
        (file.stem, scored_on, name, *(round(number, 4) for number in value.bounds), value.rows)
        for name, value in figures.items()
    ]
    score_rows = pl.DataFrame(rows, schema=list(SCORE_COLUMNS), orient="row")
    folder.mkdir(exist_ok=True)
    (folder / file.name).write_bytes(file.read_bytes())
    pl.concat([*earlier, score_rows]).write_csv(scores_file)


def comparison(figures: Mapping[str, Mapping[str, Figure]], folder: Path = FOLDER) -> list[dict[str, str]]:
    """The first score of each figure of each round, with its day, beside the score of today."""
    recorded = first_scores(folder) if (folder / FIRST_SCORES).exists() else pl.DataFrame(schema=list(SCORE_COLUMNS))
    first = {
        (row["round"], row["figure"]): dict(zip(FIRST_COLUMNS, (f"{row['value']:.4f}", str(row["scored_on"])), strict=True))
        for row in recorded.iter_rows(named=True)
    }
    return [
        {
            "round": name,
            "figure": figure_name,
            "lines": str(value.rows),
            **(first.get((name, figure_name)) or dict.fromkeys(FIRST_COLUMNS, "")),
            "today": f"{value.value:.4f}",
        }
        for name, round_figures in figures.items()
        for figure_name, value in round_figures.items()
    ]


def _division(name: str) -> pl.Expr:
    return pl.col(name).str.split("_").list.first()


def _text() -> pl.Expr:
    return pl.concat_str(pl.col("name", "ultimate", "purpose", "booking_text"), separator=" ").str.to_lowercase()


def _same_partner(lines: pl.DataFrame, catalogue: Catalogue) -> pl.Series:
    """Whether the tagged partner is the one that the writer named: by a spelling of the catalogue, or because one plain name, of
    the partner or its group, contains the other.
    """
    names = catalogue.frame.select(tagged_partner="partner", display_name="display_name", group="group")
    pairs = lines.select("partner", "tagged_partner").join(names, on="tagged_partner", how="left", maintain_order="left")
    plain_names = pl.DataFrame([_letters(pairs[name]) for name in ("partner", "display_name", "group")])
    spellings = catalogue.spellings.select(tagged_partner="partner", letters=_letters(catalogue.spellings["alias"])).unique()
    named_pairs = pairs.select("tagged_partner", letters=plain_names["partner"]).with_row_index("pair")
    spelt_pairs = named_pairs.join(spellings, on=["tagged_partner", "letters"], how="semi")["pair"]
    contained = plain_names.select(
        pl.any_horizontal(
            (pl.col(name).str.len_bytes() >= LEAST_PARTNER_LETTERS)
            & (
                pl.col("partner").str.contains(pl.col(name), literal=True)
                | pl.col(name).str.contains(pl.col("partner"), literal=True)
            )
            for name in ("display_name", "group")
        )
    ).to_series()
    return contained | named_pairs["pair"].is_in(spelt_pairs.implode())


def _letters(names: pl.Series) -> pl.Series:
    """The names in plain letters, without blanks."""
    return canonical.plain(names.fill_null("")).str.replace_all(" ", "", literal=True).alias(names.name)
