"""Contracts: what a user pays or receives regularly, since when, how much, and when next.

`analysis.py` calls the steps in order; each step is a module of its own. No step reads a clock: every user has an as-of date.
"""

from analytics.analyses.contracts.analysis import Contracts, contracts

__all__ = ["Contracts", "contracts"]
