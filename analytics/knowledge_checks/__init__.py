"""What can be wrong in the tables of knowledge, and what to do about it. `problems` finds all of it."""

from analytics.knowledge_checks.tables import problems

__all__ = ["problems"]
