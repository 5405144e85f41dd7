"""The calibration of credit risk: the probability of default that a tenant's own outcomes give to the points of the scorecard.

`calibration.py` is the value that is stored and applied, `fitting.py` makes it, `gate.py` judges it, `plots.py` draws it,
`versions.py` keeps the versions of each tenant and says which is in use. The scorecard is in `analytics.analyses.credit_risk`.
"""
