"""Affordability: monthly income and expenses by need and regularity, what is left of them, and signs of risk.

Credit decisions rest on it, so there are rules only, no model: the same bookings give the same answer, and every flag names its
bookings and says in German why. Users with fewer than three full months of history get no result.

Each subject is a module: amounts, flags, cards, financial literacy. `analysis.py` puts their results together.
"""

from analytics.analyses.affordability.analysis import Affordability, affordability
from analytics.analyses.affordability.literacy import purchases_since

__all__ = ["Affordability", "affordability", "purchases_since"]
