"""Checks of the tables of knowledge. `problems` lists everything that is wrong in them, and what to do about it."""

from analytics.knowledge_checks.tables import problems

__all__ = ["problems"]
