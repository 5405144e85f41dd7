"""Credit risk: a class from A to E and a score from 0 to 100, with the points, evidence and reason of every signal.

A scorecard decides, no model: `tables/` holds it for people to read and edit, and it is checked when it is read. The score is no
probability of default. A tenant with outcomes of its own can calibrate it; that happens elsewhere (`models.credit_risk`).

Each subject is a module: the scorecard, the values of signals, balances, stress and instalment. `analysis.py` puts them together.
"""

from analytics.analyses.credit_risk.analysis import CreditRisk, credit_risk
from analytics.analyses.credit_risk.scorecard import Scorecard, ScorecardBroken, scorecard

__all__ = ["CreditRisk", "Scorecard", "ScorecardBroken", "credit_risk", "scorecard"]
