"""The connectors by name. A new bank is a file beside this one, a line in this table, and its golden files.

The workers of the API load this module: nothing here may load Polars or Dagster before it is needed.
"""

from collections.abc import Mapping

from pipelines.banks.base import CatalogueBank, Connector
from pipelines.banks.demo import DemoBank
from pipelines.banks.fints.bank import FINTS, FintsConnector
from pipelines.banks.without_bank import OWN_ACCOUNTS, STATEMENT_FILES, own_accounts, statement_files
from warehouse.postgres.tables import Provider
from warehouse.settings import Settings


def connectors(settings: Settings) -> Mapping[str, Connector]:
    """Every connector by the name that stands in the rows of its providers."""
    return {
        "demo": DemoBank(settings.home / "demo-bank"),
        FINTS: FintsConnector(settings.fints_product_id, settings.fints_demo_url),
        STATEMENT_FILES: statement_files(),
        OWN_ACCOUNTS: own_accounts(),
    }


def as_bank(row: Provider) -> CatalogueBank:
    """A row of the catalogue as a value for connectors."""
    return CatalogueBank(row.id, row.name, row.connector, row.blz, row.bic, row.address)
