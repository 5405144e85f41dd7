"""Life events: changes in a user's life, recognised by the contracts and bookings that show them.

Each group of events has a module of rules; the frames that all rules read are computed once in `evidence.py`. Bookings about
health, religion, unions and parties are never used as evidence.
"""

from analytics.analyses.life_events.analysis import life_events
from analytics.analyses.life_events.evidence import EventEvidence, gather_evidence
from analytics.analyses.life_events.months import large_incomes, sum_months

__all__ = ["EventEvidence", "gather_evidence", "large_incomes", "life_events", "sum_months"]
