"""Life events: what has changed in a user's life, by the contracts and bookings that show it.

Rules stand in a module per group of events; what they rest on is worked out once in `ground`. Nothing sensitive is evidence:
health, religion, unions and parties have no part here.
"""

import polars as pl

from analytics.analyses.life_events.career import career
from analytics.analyses.life_events.evidence import EventEvidence, gather_evidence
from analytics.analyses.life_events.family import family, marriages
from analytics.analyses.life_events.financial import financial
from analytics.analyses.life_events.guards import guarded, spaced
from analytics.analyses.life_events.housing import housing
from analytics.analyses.life_events.months import large_incomes, sums
from analytics.analyses.life_events.streams import streams
from analytics.analyses.snapshot import Snapshot
from analytics.frames import LIFE_EVENTS, checked


def life_events(
    seen: Snapshot, base: EventEvidence | None = None, large: pl.DataFrame | None = None, marriage: bool = False
) -> pl.DataFrame:
    """The events of all users (frame `LIFE_EVENTS`), by user and day; marriage only if it is asked for.

    What is worked out already, the ground and large incomes, can be handed in.
    """
    known = gather_evidence(seen) if base is None else base
    runs = guarded(known)
    large = large_incomes(known, sums(seen)) if large is None else large
    found = [
        *streams(runs),
        *career(known, runs, seen.bookings),
        *housing(known, runs),
        *family(known),
        *financial(known, runs, seen, large),
        *([marriages(seen.bookings)] if marriage else []),
    ]
    return checked(spaced(pl.concat(found)), LIFE_EVENTS)
