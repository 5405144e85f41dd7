"""A simulated world of German households: people, their payments and incomes, and the truth about every booking.

Here belong personas, contracts, habits, life events, the lists they draw from, and the truths. How a bank words a booking is the
business of `renderers`. Nothing here reads the product's own knowledge: the two are written apart, so that one can examine the
other.
"""

from models.simulator.base.corpus import Corpus
from models.simulator.simulation import simulate, simulate_banks

__all__ = ["Corpus", "simulate", "simulate_banks"]
