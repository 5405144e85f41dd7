"""Where a live answer spends its time: the same steps as in `live`, timed one by one.

Nothing is stored, and stored results are not used. What two steps share is counted for the first of them.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date

import polars as pl

from analytics.analyses import suite
from analytics.analyses.snapshot import snapshot
from analytics.analyses.suite import SuiteCache
from analytics.tagging import tag
from pipelines.results import live, tags
from pipelines.results.documents.suite import GROUPS, documents
from pipelines.results.documents.tags import tag_writer
from pipelines.results.live import UserInputs
from warehouse.postgres.database import Owner
from warehouse.stores import revisions

READING, TAGGING, SNAPSHOT, FRAMES = "read bookings", "tags", "contracts", "check frames"
"""The names of steps besides the analyses and their documents."""


@dataclass(frozen=True)
class Step:
    """A step of a live answer: how long the fastest of some runs took, and how many rows came out of it; a document is one."""

    name: str
    seconds: float
    rows: int


@dataclass
class _Watch:
    """The steps of one run, in their order."""

    steps: list[Step] = field(default_factory=list)

    @contextmanager
    def step(self, name: str) -> Iterator[Callable[[int], None]]:
        """Times a step, which tells its number of rows."""
        counts: list[int] = []
        began_at = time.perf_counter()
        yield counts.append
        self.steps.append(Step(name, time.perf_counter() - began_at, sum(counts)))


def profile(owner: Owner, base_url: str, runs: int) -> list[Step]:
    """The steps of a live answer about the user, each as in the fastest of these runs after a first one that is not counted.
    Empty for a user without bookings.
    """
    as_of = revisions.user_state(owner).as_of
    if as_of is None:
        return []
    all_runs = [_run(owner, base_url, as_of) for _ in range(runs + 1)][1:]
    return [min(steps, key=lambda step: step.seconds) for steps in zip(*all_runs, strict=True)]


def _run(owner: Owner, base_url: str, as_of: date) -> list[Step]:
    watch = _Watch()
    with watch.step(READING) as count:
        inputs = UserInputs.whole(owner)
        count(inputs.bookings.height)
    if inputs.bookings.is_empty():
        return watch.steps
    with watch.step(TAGGING) as count:
        new_tags = tag.tag_bookings(
            inputs.bookings, inputs.products, inputs.choices, inputs.rules, tags.tagger(owner.tenant)
        ).select(tags.SERVED)
        tagged_bookings = inputs.bookings.hstack(new_tags.drop("id"))
        count(tagged_bookings.height)
    day = live.as_of_frame(str(owner.user_id), as_of)
    with watch.step(SNAPSHOT) as count:
        suite_cache = SuiteCache(snapshot(tagged_bookings.rechunk(), inputs.products, day))
        count(suite_cache.snapshot.contracts.height)
    for name in suite.STEPS:
        with watch.step(name.replace("_", " ")) as count:
            count(_rows(getattr(suite_cache, name)))
    with watch.step(FRAMES) as count:
        frames = dict(suite.FramesOnDemand(suite_cache))
        count(sum(frame.height for frame in frames.values()))
    for group in GROUPS:
        with watch.step(f"document {group.names[0]}") as count:
            count(sum(len(bodies) for _, bodies in documents(tag_writer(base_url), frames, day, group.names)))
    return watch.steps


def _rows(result: object) -> int:
    """The rows of a frame, or of all frames of a result that has several."""
    if isinstance(result, pl.DataFrame):
        return result.height
    parts = result if isinstance(result, tuple) else vars(result).values()
    return sum(part.height for part in parts if isinstance(part, pl.DataFrame))
