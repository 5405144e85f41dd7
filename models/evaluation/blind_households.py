"""Blind households: how good tags and analyses are on whole households that others have written.

The writers know the definitions of categories, events and stages and the formats of the banks, but neither rules nor catalogue
nor model nor analyses. A round is scored once, before anybody who works on them has read it. This first score is recorded in
`blind/first_household_scores.csv` and is the figure that counts. Afterwards its faults are worked on, and the round becomes a
test: today's score only shows that nothing is lost again.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import polars as pl

from analytics.tagging.tag import Tagger
from models.evaluation.blind_rounds import FIRST_COLUMNS, FOLDER, SCORE_COLUMNS
from models.evaluation.households.documents import DIMENSIONS, LANDLORD, Document, read_documents, write_documents
from models.evaluation.households.frames import BlindHouseholds, households
from models.evaluation.households.outcomes import (
    AnalysedHouseholds,
    amount_outcomes,
    analyse_households,
    category_outcomes,
    compared_contracts,
    contract_outcomes,
    event_outcomes,
    flag_outcomes,
    measured_days,
    stage_outcomes,
)
from models.evaluation.metrics import RIGHT, Figure, Measure, accuracy, f1, figure, median, ratio, value_share

FIRST_SCORES = "first_household_scores.csv"
ENDING = ".json.gz"
ROUND_NAME = re.compile(r"households-(\d+)")
BASIS_POINTS = 10_000
"""The median of relative errors is taken of whole basis points."""


@dataclass(frozen=True)
class Bar:
    """The value that a figure of households is to reach."""

    value: float
    higher_is_better: bool = True

    def is_reached(self, value: float, tolerance: float = 0.0) -> bool:
        """Whether a value is at least as good, or worse by no more than the tolerance."""
        return value >= self.value - tolerance if self.higher_is_better else value <= self.value + tolerance

    def __str__(self) -> str:
        return f"{'≥' if self.higher_is_better else '≤'} {self.value:g}"


BARS = {
    "contract_f1": Bar(0.98),
    "contract_period": Bar(0.99),
    "contract_status": Bar(0.98),
    "contract_next_date": Bar(0.98),
    "event_recall": Bar(0.93),
    "event_false_a_year": Bar(0.1, higher_is_better=False),
    "stage_accuracy": Bar(0.95),
    "flag_accuracy": Bar(0.98),
    "income_error_median": Bar(0.005, higher_is_better=False),
    "income_error_mean": Bar(0.005, higher_is_better=False),
    "expenses_error_median": Bar(0.015, higher_is_better=False),
    "expenses_error_mean": Bar(0.015, higher_is_better=False),
}
"""Figures without a bar are for information."""


def rounds(folder: Path = FOLDER) -> dict[str, list[Document]]:
    """The documents of each kept round, by its name."""
    return {round_name(path, folder): read_documents(path) for path in sorted(folder.glob(f"households-*{ENDING}"))}


def round_name(path: Path, folder: Path = FOLDER) -> str:
    """The name of a file or folder of households if it is one of a round, else the next name that is free."""
    own_name = path.name.split(".")[0]
    if ROUND_NAME.fullmatch(own_name):
        return own_name
    numbers = [int(match[1]) for file in folder.glob(f"households-*{ENDING}") if (match := ROUND_NAME.match(file.name))]
    return f"households-{max(numbers, default=0) + 1}"


def analysed_round(documents: Sequence[Document], tagger: Tagger) -> tuple[BlindHouseholds, AnalysedHouseholds]:
    """The frames of a round with its truth, and what the platform makes of its bookings."""
    blind_households = households(documents)
    return blind_households, analyse_households(blind_households, tagger)


def score(truth: BlindHouseholds, analysed: AnalysedHouseholds, times: int = 1000) -> dict[str, Figure]:
    """The figures of households, with intervals over resampled households. Figures without a single case are left out."""
    measures: dict[str, tuple[pl.DataFrame, Measure]] = {
        **_category_measures(truth, analysed),
        **_contract_measures(truth, analysed),
        **_event_measures(truth, analysed),
        **_stage_measures(truth, analysed),
        "flag_accuracy": (flag_outcomes(truth, analysed), ratio(RIGHT.fill_null(value=False))),
        **_amount_measures(truth, analysed),
    }
    return {name: figure(frame, measure, "user", times) for name, (frame, measure) in measures.items() if frame.height}


def _category_measures(truth: BlindHouseholds, analysed: AnalysedHouseholds) -> dict[str, tuple[pl.DataFrame, Measure]]:
    """Of all bookings, with those between own accounts."""
    bookings = category_outcomes(truth, analysed)
    return {"category_accuracy": (bookings, accuracy), "category_value_share": (bookings, value_share)}


def _contract_measures(truth: BlindHouseholds, analysed: AnalysedHouseholds) -> dict[str, tuple[pl.DataFrame, Measure]]:
    compared = compared_contracts(truth, analysed)
    parts = {
        "contract_category": "category_right",
        "contract_period": "period_right",
        "contract_status": "status_right",
        "contract_next_date": "next_right",
        "contract_next_amount": "amount_right",
    }
    return {
        "contract_f1": (contract_outcomes(truth, analysed), f1(pl.col("there"), pl.col("recognised"))),
        **{name: (compared.filter(pl.col(right).is_not_null()), ratio(pl.col(right))) for name, right in parts.items()},
    }


def _event_measures(truth: BlindHouseholds, analysed: AnalysedHouseholds) -> dict[str, tuple[pl.DataFrame, Measure]]:
    events = event_outcomes(truth, analysed)
    false_counts = events.filter(~pl.col("there")).group_by("user").len("wrong")
    years = measured_days(truth).join(false_counts, on="user", how="left").with_columns(pl.col("wrong").fill_null(0))
    return {
        "event_recall": (events.filter("there"), ratio(pl.col("recognised"))),
        "event_false_a_year": (years, ratio(pl.col("wrong"), pl.col("years"))),
    }


def _stage_measures(truth: BlindHouseholds, analysed: AnalysedHouseholds) -> dict[str, tuple[pl.DataFrame, Measure]]:
    """All dimensions together, and each alone. Few households let: that stands alone too."""
    stages, right = stage_outcomes(truth, analysed), ratio(RIGHT.fill_null(value=False))
    dimensions = {f"stage_{name.lower()}": pl.col("dimension") == name for name in (*DIMENSIONS, LANDLORD)}
    return {
        "stage_accuracy": (stages.filter(pl.col("dimension") != LANDLORD), right),
        **{name: (stages.filter(rows), right) for name, rows in dimensions.items()},
    }


def _amount_measures(truth: BlindHouseholds, analysed: AnalysedHouseholds) -> dict[str, tuple[pl.DataFrame, Measure]]:
    amounts = amount_outcomes(truth, analysed)
    return {
        f"{name}_error_{kind}": (amounts, measure(pl.col(f"{name}_error")))
        for name in ("income", "expenses")
        for kind, measure in (("median", _median_error), ("mean", ratio))
    }


def _median_error(error: pl.Expr) -> Measure:
    basis_points = median((error * BASIS_POINTS).round(), BASIS_POINTS)
    return Measure(basis_points.tally, lambda sums: basis_points.formula(sums) / BASIS_POINTS)


def first_scores(folder: Path = FOLDER) -> pl.DataFrame:
    """The recorded first scores (`SCORE_COLUMNS`), none before the first round."""
    file = folder / FIRST_SCORES
    return pl.read_csv(file, try_parse_dates=True).select(SCORE_COLUMNS) if file.exists() else pl.DataFrame(schema=SCORE_COLUMNS)


def record(
    name: str, documents: Sequence[Document], figures: Mapping[str, Figure], scored_on: date, folder: Path = FOLDER
) -> Path:
    """Keeps the households of a round and its first score; a round has only one, and so has a household. Returns its file."""
    earlier = first_scores(folder)
    repeated_names = [
        document["household"] for kept_round in rounds(folder).values() for document in kept_round if document in documents
    ]
    if name in earlier["round"] or repeated_names:
        repeated = ", ".join(repeated_names) or name
        raise ValueError(f"{repeated}: scored before, and only the first score counts")
    rows = [
        (name, scored_on, part, *(round(number, 4) for number in value.bounds), value.rows) for part, value in figures.items()
    ]
    scores = pl.DataFrame(rows, schema=list(SCORE_COLUMNS), orient="row")
    folder.mkdir(exist_ok=True)
    file = folder / f"{name}{ENDING}"
    write_documents(documents, file)
    pl.concat([*([earlier] if earlier.height else []), scores]).write_csv(folder / FIRST_SCORES)
    return file


def comparison(figures: Mapping[str, Mapping[str, Figure]], folder: Path = FOLDER) -> list[dict[str, str]]:
    """The first score of each figure of each round, with its day, beside the score of today with its interval, and the bar."""
    first = {
        (row["round"], row["figure"]): dict(zip(FIRST_COLUMNS, (f"{row['value']:.4f}", str(row["scored_on"])), strict=True))
        for row in first_scores(folder).iter_rows(named=True)
    }
    return [
        {
            "round": name,
            "figure": part,
            "count": str(value.rows),
            **(first.get((name, part)) or dict.fromkeys(FIRST_COLUMNS, "")),
            "today": f"{value.value:.4f}",
            "95 %": f"{value.low:.3f} to {value.high:.3f}",
            "bar": str(BARS[part]) if part in BARS else "",
            "verdict": _verdict(part, value),
        }
        for name, round_figures in figures.items()
        for part, value in round_figures.items()
    ]


def _verdict(part: str, value: Figure) -> str:
    if part not in BARS:
        return ""
    return "reached" if BARS[part].is_reached(value.value) else "missed"
