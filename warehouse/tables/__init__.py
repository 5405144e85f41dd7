"""The PostgreSQL tables, one file per aggregate. Importing this package makes all of them known to the metadata.

Here belong columns, keys and indexes. Here does not belong a query: those are in the stores beside this folder.
"""

from warehouse.tables.banks import Access, BankSession, Position, Product, Provider, Transaction
from warehouse.tables.base import Base
from warehouse.tables.dialogues import Dialogue
from warehouse.tables.forms import FormDesign, RedirectSession
from warehouse.tables.results import Result, Tombstone
from warehouse.tables.secrets import Certificate, SealedValue
from warehouse.tables.tags import CategoryChoice, CategoryRule
from warehouse.tables.tenants import ApiKey, CallbackUrl, Client, ClientRole, RoleUser, Tenant
from warehouse.tables.throttles import Throttle
from warehouse.tables.tokens import Token
from warehouse.tables.users import User
from warehouse.tables.webhooks import Webhook, WebhookEvent

__all__ = [
    "Access",
    "ApiKey",
    "BankSession",
    "Base",
    "CallbackUrl",
    "CategoryChoice",
    "CategoryRule",
    "Certificate",
    "Client",
    "ClientRole",
    "Dialogue",
    "FormDesign",
    "Position",
    "Product",
    "Provider",
    "RedirectSession",
    "Result",
    "RoleUser",
    "SealedValue",
    "Tenant",
    "Throttle",
    "Token",
    "Tombstone",
    "Transaction",
    "User",
    "Webhook",
    "WebhookEvent",
]
