"""The demo bank: a bank that lives in a folder, with customers of its own and a user id for every fault (`docs/demo-bank.md`).

Nothing here imports Polars before a fetch or a payment begins, because API workers load this package for the login fields alone.
"""

from pipelines.banks.demo.bank import DemoBank
from pipelines.banks.demo.ledger import calls
from pipelines.banks.demo.payments import executed_orders

__all__ = ["DemoBank", "calls", "executed_orders"]
