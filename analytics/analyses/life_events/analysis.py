"""The analysis of life events: applies the rules of all groups to the evidence, and spaces the events."""

import polars as pl

from analytics.analyses.life_events.career import career
from analytics.analyses.life_events.contract_events import contract_events
from analytics.analyses.life_events.evidence import EventEvidence, gather_evidence
from analytics.analyses.life_events.family import family, marriages
from analytics.analyses.life_events.financial import financial
from analytics.analyses.life_events.guards import apply_guards, space_events
from analytics.analyses.life_events.housing import housing
from analytics.analyses.life_events.months import large_incomes, sum_months
from analytics.analyses.life_events.studies import beginnings, studies, study_starts
from analytics.analyses.snapshot import Snapshot
from analytics.frames import LIFE_EVENTS, checked


def life_events(
    snapshot: Snapshot,
    evidence: EventEvidence | None = None,
    large_income_rows: pl.DataFrame | None = None,
    marriage: bool = False,
) -> pl.DataFrame:
    """The events of all users (frame `LIFE_EVENTS`), by user and day; marriages only if `marriage` is set.

    Evidence and large incomes are computed if they are not passed.
    """
    evidence = gather_evidence(snapshot) if evidence is None else evidence
    runs = apply_guards(evidence)
    large_income_rows = large_incomes(evidence, sum_months(snapshot)) if large_income_rows is None else large_income_rows
    starts = study_starts(evidence, runs)
    young_users = beginnings(runs, starts)
    event_parts = [
        *contract_events(runs),
        *career(evidence, runs, snapshot.bookings, young_users),
        *studies(evidence, runs, starts),
        *housing(evidence, runs, young_users),
        *family(evidence),
        *financial(evidence, runs, snapshot, large_income_rows),
        *([marriages(snapshot.bookings)] if marriage else []),
    ]
    spaced_events = space_events(pl.concat(event_parts)).join(evidence.histories, on="user", how="left", maintain_order="left")
    known_since = pl.min_horizontal("known_since", "as_of")
    return checked(spaced_events.with_columns(known_since=known_since).select(LIFE_EVENTS.names()), LIFE_EVENTS)
