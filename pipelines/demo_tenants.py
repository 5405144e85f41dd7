"""The demo: two tenants with users who are connected to the demo bank; their credentials are in a file of the data directory."""

import json
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from pipelines.banks import catalogue
from pipelines.banks.base import CatalogueBank, Connector
from pipelines.banks.connectors import connectors
from pipelines.fetching import connect
from warehouse.errors import Invalid, NotFound
from warehouse.inputs import naming
from warehouse.postgres.database import Database, Owner
from warehouse.postgres.tables import Tenant
from warehouse.runtime import files
from warehouse.secrets import hashing
from warehouse.secrets.hashing import TokenFormat
from warehouse.secrets.vault import Vault
from warehouse.settings import Settings
from warehouse.stores import accesses, api_keys, clients, designs, fetches, providers, tenants, users
from warehouse.stores.provisioning import ADMIN, APP, create_tenant

DEMO = UUID(int=0)
TENANTS = (
    {"name": "demo", "regulated": True, "description": "Regulated demo tenant", "callback_urls": ()},
    {
        "name": "demo-redirect",
        "regulated": False,
        "description": "Demo tenant that uses the redirect form",
        "callback_urls": ("http://127.0.0.1/", "http://localhost/"),
    },
)
CUSTOMERS = {"erika": "demo1", "max": "demo2", "neu": None}
"""The demo's users with their customer of the demo bank; the last one has none."""
USERNAMES = tuple(CUSTOMERS)
TRIAL: dict[str, dict[str, Any]] = {
    "labelled_lines": {},
    "training_set": {"users": 12},
    "categoriser_candidate": {"label": "trial"},
    "categoriser_evaluation": {"users": 10},
    "categoriser": {"version": "active", "by": "kontor up", "why": "a trial model decides nothing"},
}
"""The configuration of a training that takes half a minute and shows every step. Its evaluation fails for lack of people."""
DISPLAY_NAME, COLOUR = "Kontor-Demo", "#0e6b5c"
"""The design of the redirect form for the demo tenant, like the demo's own pages."""
ACCESS = "demo"
PIN = "demo"


def seed(database: Database, vault: Vault, base_url: str, path: Path, now: datetime) -> dict[str, Any]:
    """The demo's credentials: those of the file if they still work, else new ones. A second run changes nothing."""
    stored_content = json.loads(path.read_text()) if path.exists() else {}
    with database.operating() as owner:
        fits = bool(stored_content) and all(_has_valid_secrets(owner, entry) for entry in stored_content["tenants"])
        entries = stored_content["tenants"] if fits else [_renew_tenant(owner, vault, now, **tenant) for tenant in TENANTS]
        for entry in entries:
            tenant = tenants.find(owner, entry["name"])
            tenant.token_form = tenant.token_form or TokenFormat.UUID
        _set_up_redirects(owner, base_url)
        catalogue.add_simulated_bank(owner)
    content = {"base_url": base_url, "tenants": entries}
    if content != stored_content:
        files.replace(path, json.dumps(content, indent=2).encode(), private=True)
    return content


def connect_customers(database: Database, vault: Vault, settings: Settings, content: dict[str, Any]) -> None:
    """Connects the demo's users to the demo bank and begins to fetch; connected users stay as they are."""
    bank = connectors(settings)["demo"]
    for tenant in content["tenants"]:
        for user in tenant["users"]:
            with database.operating() as operator:
                tenant_id = tenants.find(operator, tenant["name"]).id
            with database.acting_for(tenant_id, UUID(user["userReference"])) as owner:
                _connect(owner, vault, settings, bank, CUSTOMERS.get(user["username"]))


def count_pending(database: Database) -> int:
    """The number of demo accesses whose first fetch is running."""
    with database.operating() as operator:
        return fetches.count_first_fetches(operator, ACCESS)


def _connect(owner: Owner, vault: Vault, settings: Settings, bank: Connector, customer: str | None) -> None:
    if customer is None or any(access.key == ACCESS for access in accesses.visible(owner)):
        return
    row = providers.find(owner, DEMO)
    offer = bank.offer(CatalogueBank(row.id, row.name, row.connector))
    if offer is not None and row.enabled:
        login = connect.login(connect.AccessRequest(ACCESS, DEMO, {}), offer, {"userid": customer, "pin": PIN})
        connect.connect(owner, vault, settings, [login], refresh=False, attended_from=None)


def _set_up_redirects(operator: Owner, base_url: str) -> None:
    """Allows the redirect form to return to the demo's own pages, and gives it their design."""
    for name in (str(tenant["name"]) for tenant in TENANTS if not tenant["regulated"]):
        owner = operator.for_tenant(tenants.find(operator, name).id)
        address = f"{base_url}/"
        with suppress(Invalid):  # an http address of another machine, to which forms may not return
            if not any(naming.is_below(naming.return_url(address), base) for base in tenants.callbacks(owner)):
                tenants.add_callback(owner, address)
        if designs.find(owner) is None:
            designs.change(owner, name=DISPLAY_NAME, colour=COLOUR)


def _has_valid_secrets(owner: Owner, entry: dict[str, Any]) -> bool:
    """Whether the stored secrets of a tenant's clients are still valid."""
    logins = [(clients.find_for_login(owner, client["username"]), client["secret"]) for client in entry["clients"].values()]
    return all(login is not None and clients.has_secret(owner, login[0], secret) for login, secret in logins)


def _renew_tenant(owner: Owner, vault: Vault, now: datetime, **tenant_facts: Any) -> dict[str, Any]:
    """A demo tenant with new secrets; creates it if it is missing."""
    try:
        tenant = tenants.find(owner, tenant_facts["name"])
        own = owner.for_tenant(tenant.id)
        secrets = {name: clients.rotate_secret(own, name) for name in (ADMIN, APP)}
    except NotFound:
        new = create_tenant(owner, vault, tenant_facts.pop("name"), now, **tenant_facts)
        tenant, secrets = new.tenant, new.secrets
        own = owner.for_tenant(tenant.id)
    people = [_user(own, username) for username in USERNAMES]
    return {
        "name": tenant.name,
        "regulated": tenant.regulated,
        "clients": {name: {"username": f"{tenant.name}/{name}", "secret": secret} for name, secret in secrets.items()},
        "apiKey": _api_key(own, tenant),
        "users": people,
    }


def _user(owner: Owner, username: str) -> dict[str, str]:
    password = hashing.new_secret()
    user = users.find_by_name(owner, username)
    if user is None:
        user = users.create(owner, username, hashing.hash_password(password))
    else:
        user.active, user.password_hash = True, hashing.hash_password(password)
    return {"username": username, "password": password, "userReference": str(user.id)}


def _api_key(owner: Owner, tenant: Tenant) -> str:
    for key, _, _ in api_keys.visible(owner):
        if key.description == "demo":
            api_keys.disable(owner, key.id)
    user = users.find_by_name(owner, USERNAMES[0])
    if user is None:
        raise NotFound(f"user {USERNAMES[0]} of {tenant.name}")
    return api_keys.create(owner, clients.find(owner, APP), user, description="demo")[1]
