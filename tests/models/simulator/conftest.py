"""A small simulated world that several tests look at."""

import pytest

from models.simulator import Corpus, simulate


@pytest.fixture(scope="session")
def corpus() -> Corpus:
    """Enough users and months that every persona, category and division occurs."""
    return simulate(350, seed=5, months=24)
