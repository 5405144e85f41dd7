"""What the roles of the console may do. Every page and every action states one scope, and is refused without it.

Scopes of the interface are used where it has one for the same thing. The others are the console's own: no token carries them.
An operator sees tenants, their programs and the work of the installation; of customers only numbers. An administrator of a tenant
sees the users and accesses of the own tenant by their ids.
"""

from warehouse import scopes
from warehouse.postgres.console_accounts import ConsoleRole

TENANTS_CHANGE = "console/tenants/change"
CLIENTS_CHANGE = "console/clients/change"
ACCOUNTS_CHANGE = "console/accounts/change"
OPERATIONS_READ = "console/operations/read"
PAYMENTS_SETTLE = "console/payments/settle"
AUDIT_READ = "console/audit/read"
OWN_ACCOUNT = "console/account"
BOTH = frozenset({OWN_ACCOUNT, AUDIT_READ, scopes.TENANTS_READ, scopes.CLIENTS_READ, scopes.ROLES_ASSIGN, CLIENTS_CHANGE})
SCOPES = {
    ConsoleRole.OPERATOR: BOTH | {TENANTS_CHANGE, ACCOUNTS_CHANGE, OPERATIONS_READ, PAYMENTS_SETTLE},
    ConsoleRole.TENANT: BOTH | {scopes.USERS_READ, scopes.USERS_CREATE},
}
