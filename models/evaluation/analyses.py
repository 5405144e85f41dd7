"""How good all analyses of users are: a simulated world is tagged and analysed, and every figure with a gate is measured.

Here the world, its tags, analyses and truths come together. The measures of one analysis are in the module of its name.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import polars as pl

from analytics.analyses.sales_triggers import sales_triggers
from analytics.analyses.suite import Frames, analyse
from analytics.frames import AS_OF
from analytics.tagging.tag import Tagger
from models.evaluation import baselines, gates
from models.evaluation.affordability import affordability_figures
from models.evaluation.cashflow import cashflow_baselines, cashflow_figures, forecasts
from models.evaluation.contracts import active_contracts, compare_contracts, contract_figures, days_off
from models.evaluation.credit_risk import credit_risk_figures
from models.evaluation.disposable_money import before_salaries, disposable_baselines, disposable_figures
from models.evaluation.life_events import UNSEEN_DAYS, event_figures
from models.evaluation.life_stages import stage_baselines, stage_figures
from models.evaluation.metrics import Figure
from models.evaluation.perfect_tags import true_events, true_snapshot, true_stages
from models.evaluation.sales_triggers import conformity_figures, trigger_figures
from models.evaluation.tagger import partner_of_brands, tag_corpus, without_unseen_partners
from models.progress import Progress, silent
from models.simulator import Corpus, simulate
from models.simulator.base.splits import SPLITS
from models.simulator.truth.plain_users import TrueLife, true_lives
from models.simulator.truth.sales_triggers import trigger_truth
from models.simulator.worlds import World

TEST_SEED = 4711
"""The world of the published figures. Nothing was ever tuned on it: develop on another seed."""
TEST_WORLD = World(users=300, seed=TEST_SEED, splits=SPLITS)


@dataclass(frozen=True)
class AnalysedWorld:
    """A simulated world whose bookings until the as-of date are tagged and analysed."""

    corpus: Corpus
    tagged_bookings: pl.DataFrame
    frames: Frames
    lives: list[TrueLife]


@dataclass(frozen=True)
class AnalysesEvaluation:
    """Figures and baselines of the analyses, and the data of the charts."""

    figures: Mapping[str, Figure]
    baselines: Mapping[str, Figure]
    days_off: pl.Series
    """Days from the true next date of each contract to the predicted one."""
    forecasts: pl.DataFrame
    """The next month of each user: `aggregate`, the forecast `cents`, and the true ones in `next`."""


def evaluate(tagger: Tagger, world: World = TEST_WORLD, on_progress: Progress = silent, times: int = 1000) -> AnalysesEvaluation:
    """Every figure of the analyses in a simulated world, with intervals from `times` resamples of users."""
    return measure(analyse_world(tagger, world, on_progress), tagger, on_progress, times)


def analyse_world(tagger: Tagger, world: World = TEST_WORLD, on_progress: Progress = silent) -> AnalysedWorld:
    """The world, tagged and analysed until the as-of date; merchants unseen in training are missing from the catalogue."""
    on_progress("simulate", 0.0)
    corpus = simulate(world.users, world.seed, splits=world.splits)
    on_progress("simulate", 1.0)
    on_progress("tag", 0.0)
    past = ~corpus.truth["future"]
    past_corpus = replace(corpus, **{name: getattr(corpus, name).filter(past) for name in ("transactions", "truth", "texts")})
    tags = tag_corpus(past_corpus, tagger, without_unseen_partners(tagger)).tags
    tagged_bookings = past_corpus.transactions.hstack(tags.drop("id", "user", "product"))
    on_progress("tag", 1.0)
    on_progress("analyse", 0.0)
    users = tagged_bookings["user"].unique().sort()
    as_of = pl.DataFrame({"user": users, "as_of": [corpus.as_of] * users.len()}, schema=AS_OF)
    frames = analyse(tagged_bookings, corpus.products, as_of)
    analysed_world = AnalysedWorld(corpus, tagged_bookings, frames, true_lives(corpus))
    on_progress("analyse", 1.0)
    return analysed_world


def measure(world: AnalysedWorld, tagger: Tagger, on_progress: Progress = silent, times: int = 1000) -> AnalysesEvaluation:
    """The figures of an analysed world, and those of the baselines."""
    on_progress("measure", 0.0)
    corpus, frames, lives = world.corpus, world.frames, world.lives
    contracts, predictions = (frames["contracts"], frames["contract_bookings"]), frames["cashflow_predictions"]
    figures = {
        **contract_figures(corpus, *contracts, times),
        **cashflow_figures(corpus, predictions, times),
        **event_figures(corpus, frames["life_events"], lives, times),
        **stage_figures(corpus, frames["life_stages"], lives, times),
        **affordability_figures(corpus, frames["affordability"], times),
    }
    on_progress("measure", 0.4)
    disposable = before_salaries(corpus, world.tagged_bookings)
    on_progress("measure", 0.7)
    true_triggers = trigger_truth(lives)
    snapshot = true_snapshot(corpus, world.tagged_bookings, partner_of_brands(tagger.catalogue))
    triggers_of_truth = sales_triggers(snapshot, true_events(corpus), true_stages(corpus))
    figures |= {
        **disposable_figures(corpus, disposable, times),
        **conformity_figures(triggers_of_truth, true_triggers, times),
        **trigger_figures(corpus, frames["sales_triggers"], trigger_truth(lives, UNSEEN_DAYS), times),
        **credit_risk_figures(corpus, frames["credit_risk"], frames["credit_risk_signals"], snapshot, times),
    }
    baseline_figures = {
        **baselines.contract_baselines(corpus, world.tagged_bookings, *contracts, times),
        **cashflow_baselines(corpus, predictions, times),
        **disposable_baselines(corpus, disposable, times),
        **stage_baselines(corpus, frames["life_stages"], lives, times),
    }
    on_progress("measure", 1.0)
    off = active_contracts(compare_contracts(corpus, *contracts)).select(days_off().alias("days_off")).to_series()
    months = forecasts(corpus, predictions).select("aggregate", "cents", "next")
    return AnalysesEvaluation(figures, baseline_figures, off, months)


def report(evaluation: AnalysesEvaluation, model: str, world: World = TEST_WORLD) -> dict[str, Any]:
    """The evaluation as plain values: every gate with its figure, and with its baseline where there is one."""
    rows = gates.verdicts(evaluation.figures, gates.ANALYSES)
    for row in rows:
        name = row["name"]
        baseline = evaluation.baselines.get(name)
        row["baseline"] = {"says": baselines.description(name), **baseline.as_dict()} if baseline else None
    return {"about": {"model": model, "examined": asdict(world)}, "gates": rows}
