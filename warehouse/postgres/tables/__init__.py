"""The PostgreSQL tables, one file per aggregate. Importing this package registers all of them in the metadata.

Here belong columns, keys and indexes. Queries belong to the stores.
"""

from warehouse.postgres.tables.banks import (
    Access,
    BankSession,
    FetchCount,
    FetchDay,
    LoginAttempt,
    Position,
    Product,
    Provider,
    RefusedLogin,
    Transaction,
    UnattendedSessions,
)
from warehouse.postgres.tables.base import Base
from warehouse.postgres.tables.changes import Removal, SyncPoint
from warehouse.postgres.tables.console import AuditEntry, ConsoleAccount, ConsoleSession
from warehouse.postgres.tables.dialogues import Dialogue
from warehouse.postgres.tables.forms import FormDesign, RedirectSession
from warehouse.postgres.tables.models import ModelInUse, TagState
from warehouse.postgres.tables.results import Result, Tombstone
from warehouse.postgres.tables.secrets import Certificate, SealedValue, VaultKey
from warehouse.postgres.tables.tags import CategoryChoice, CategoryRule
from warehouse.postgres.tables.tenants import ApiKey, CallbackUrl, Client, ClientRole, RoleUser, Tenant
from warehouse.postgres.tables.throttles import Throttle
from warehouse.postgres.tables.tokens import Token
from warehouse.postgres.tables.users import User
from warehouse.postgres.tables.webhooks import Webhook, WebhookEvent

__all__ = [
    "Access",
    "ApiKey",
    "AuditEntry",
    "BankSession",
    "Base",
    "CallbackUrl",
    "CategoryChoice",
    "CategoryRule",
    "Certificate",
    "Client",
    "ClientRole",
    "ConsoleAccount",
    "ConsoleSession",
    "Dialogue",
    "FetchCount",
    "FetchDay",
    "FormDesign",
    "LoginAttempt",
    "ModelInUse",
    "Position",
    "Product",
    "Provider",
    "RedirectSession",
    "RefusedLogin",
    "Removal",
    "Result",
    "RoleUser",
    "SealedValue",
    "SyncPoint",
    "TagState",
    "Tenant",
    "Throttle",
    "Token",
    "Tombstone",
    "Transaction",
    "UnattendedSessions",
    "User",
    "VaultKey",
    "Webhook",
    "WebhookEvent",
]
