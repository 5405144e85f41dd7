"""How good all analyses of users are: simulated people from bookings to triggers, every figure that has a gate, and baselines.

Here belongs what brings world, tags, analyses and truths together. Measures stand in the modules whose names end in `_quality`.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import polars as pl

from analytics.analyses.sales_triggers import sales_triggers
from analytics.analyses.suite import Frames, analyse
from analytics.frames import AS_OF
from analytics.tagging.tag import Tagger
from models.evaluation import baselines, gates, tagger
from models.evaluation.contracts import compared, contract_figures, days_off, running
from models.evaluation.disposable_money import before_salaries, disposable_baselines, disposable_figures
from models.evaluation.life import event_figures, stage_baselines, stage_figures
from models.evaluation.metrics import Figure
from models.evaluation.money import affordability_figures, cashflow_baselines, cashflow_figures, forecasts
from models.evaluation.perfect_tags import true_events, true_seen, true_stages
from models.evaluation.sales_triggers import conformity_figures, trigger_figures
from models.experiment import World
from models.simulator import Corpus, simulate
from models.simulator.base.splits import SPLITS
from models.simulator.truth.plain_users import TrueLife, lives
from models.simulator.truth.triggers import trigger_truth
from models.training.train import Progress, silent

TEST_SEED = 4711
"""The world of the figures that we publish. Nothing was ever tuned on it: whoever develops takes another seed."""
EXAMINED = World(users=300, seed=TEST_SEED, splits=SPLITS)


@dataclass(frozen=True)
class Examined:
    """A simulated world with its past as it was tagged and analysed."""

    corpus: Corpus
    tagged: pl.DataFrame
    frames: Frames
    known: list[TrueLife]


@dataclass(frozen=True)
class AnalysesEvaluation:
    """What was found: figures and baselines, and what pictures need."""

    figures: Mapping[str, Figure]
    baselines: Mapping[str, Figure]
    days_off: pl.Series
    """By how many days the next dates of contracts were missed."""
    forecasts: pl.DataFrame
    """The next month of each user: `aggregate`, `cents` as forecast, `next` as it was."""


def examine(brain: Tagger, world: World = EXAMINED, on_progress: Progress = silent, times: int = 1000) -> AnalysesEvaluation:
    """Every figure of the analyses, in a world that nothing was tuned on."""
    return measured(examined(brain, world, on_progress), brain, on_progress, times)


def examined(brain: Tagger, world: World = EXAMINED, on_progress: Progress = silent) -> Examined:
    """The world, tagged and analysed until the as-of date; the catalogue lacks merchants that training has not seen."""
    on_progress("simulate", 0.0)
    corpus = simulate(world.users, world.seed, splits=world.splits)
    on_progress("simulate", 1.0)
    on_progress("tag", 0.0)
    past = ~corpus.truth["future"]
    seen = replace(corpus, **{name: getattr(corpus, name).filter(past) for name in ("transactions", "truth", "texts")})
    tags = tagger.tagged(seen, brain, tagger.without_unseen(brain)).tags
    tagged = seen.transactions.hstack(tags.drop("id", "user", "product"))
    on_progress("tag", 1.0)
    on_progress("analyse", 0.0)
    users = tagged["user"].unique().sort()
    as_of = pl.DataFrame({"user": users, "as_of": [corpus.as_of] * users.len()}, schema=AS_OF)
    found = Examined(corpus, tagged, analyse(tagged, corpus.products, as_of), lives(corpus))
    on_progress("analyse", 1.0)
    return found


def measured(of: Examined, brain: Tagger, on_progress: Progress = silent, times: int = 1000) -> AnalysesEvaluation:
    """The figures of an examined world, and those of simple means."""
    on_progress("measure", 0.0)
    corpus, frames, known = of.corpus, of.frames, of.known
    contracts, predictions = (frames["contracts"], frames["contract_bookings"]), frames["cashflow_predictions"]
    figures = {
        **contract_figures(corpus, *contracts, times),
        **cashflow_figures(corpus, predictions, times),
        **event_figures(corpus, frames["life_events"], known, times),
        **stage_figures(corpus, frames["life_stages"], known, times),
        **affordability_figures(corpus, frames["affordability"], times),
    }
    on_progress("measure", 0.4)
    left = before_salaries(corpus, of.tagged)
    on_progress("measure", 0.7)
    true = trigger_truth(known)
    seen = true_seen(corpus, of.tagged, tagger.partner_of_brands(brain.catalogue))
    by_rule = sales_triggers(seen, true_events(corpus), true_stages(corpus))
    figures |= {
        **disposable_figures(corpus, left, times),
        **conformity_figures(by_rule, true, times),
        **trigger_figures(corpus, frames["sales_triggers"], true, times),
    }
    simple = {
        **baselines.contract_baselines(corpus, of.tagged, *contracts, times),
        **cashflow_baselines(corpus, predictions, times),
        **disposable_baselines(corpus, left, times),
        **stage_baselines(corpus, frames["life_stages"], known, times),
    }
    on_progress("measure", 1.0)
    off = running(compared(corpus, *contracts)).select(days_off().alias("days_off")).to_series()
    return AnalysesEvaluation(figures, simple, off, forecasts(corpus, predictions).select("aggregate", "cents", "next"))


def told(examination: AnalysesEvaluation, model: str, world: World = EXAMINED) -> dict[str, Any]:
    """What was found as plain values: every gate with its figure, and the baseline where there is one."""
    rows = gates.verdicts(examination.figures, gates.ANALYSES)
    simple = examination.baselines
    for row in rows:
        name = row["name"]
        row["baseline"] = {"says": baselines.named(name), **simple[name].as_dict()} if name in simple else None
    return {"about": {"model": model, "examined": asdict(world)}, "gates": rows}
