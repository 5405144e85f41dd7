"""How long-running steps report their progress: the callback's type, and one that ignores the reports."""

from collections.abc import Callable

Progress = Callable[[str, float], None]
"""Receives the name of a step and the share of it that is done, from 0 to 1."""


def silent(_step: str, _share: float) -> None:
    """Ignores the report."""
