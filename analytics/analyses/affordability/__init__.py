"""Affordability: monthly income and expenses by need and regularity, what is left of them, and signs of risk.

The rules are in the modules by subject: amounts, flags, cards, financial literacy. `analysis.py` puts their results together.
"""

from analytics.analyses.affordability.analysis import Affordability, affordability

__all__ = ["Affordability", "affordability"]
