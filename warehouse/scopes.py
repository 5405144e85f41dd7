"""The scopes of the API: tokens carry them, routes require them."""

TENANTS_READ = "auth/tenants/read"
CLIENTS_READ = "auth/tenants/clients/read"
ROLES_ASSIGN = "auth/tenants/clients/roles/assign"
USERS_READ = "auth/tenants/users/read"
USERS_CREATE = "auth/tenants/users/create"
PROVIDERS_READ = "http://service/provider/read"
CUSTOMER_READ = "http://service/customer/read"
CUSTOMER_MODIFY = "http://service/customer/modify"
CUSTOMER_TRANSFER = "http://service/customer/ueberweisung"

MANAGEMENT = (TENANTS_READ, CLIENTS_READ, ROLES_ASSIGN, USERS_READ, USERS_CREATE)
CUSTOMER = (PROVIDERS_READ, CUSTOMER_READ, CUSTOMER_MODIFY, CUSTOMER_TRANSFER)
ALL = MANAGEMENT + CUSTOMER
