"""Life stages: how a user earns, lives and saves on the as-of date, and how old the youngest child is. One item per dimension.

In each dimension the first rule that holds decides; without one the stage is unknown. Sensitive bookings are never evidence.
`rules.py` and `saving.py` hold the rules, `signs.py` the signs they look for, `analysis.py` decides.
"""

from analytics.analyses.life_stages.analysis import life_stages

__all__ = ["life_stages"]
