"""Checks of the tables of knowledge. `problems` lists everything that is wrong in them, and what to do about it; `own_problems`
does so for the rows that an operator adds.
"""

from analytics.knowledge_checks.own import problems as own_problems
from analytics.knowledge_checks.tables import problems

__all__ = ["own_problems", "problems"]
