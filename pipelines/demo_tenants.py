"""The demo: two tenants with users whose credentials lie in a file of the data directory, connected to the demo bank."""

import json
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from pipelines.banks.base import CatalogueBank, Connector
from pipelines.banks.connectors import connectors
from pipelines.fetching import connect
from warehouse.errors import Invalid, NotFound
from warehouse.postgres.database import Database, Owner
from warehouse.postgres.tables import Tenant
from warehouse.secrets import hashing
from warehouse.secrets.vault import Vault, write_private
from warehouse.settings import Settings
from warehouse.stores import accesses, api_keys, clients, designs, fetches, naming, providers, tenants, users
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
"""The demo's users, and the customer of the demo bank that each is connected to: the last one to none."""
USERNAMES = tuple(CUSTOMERS)
TRIAL: dict[str, dict[str, Any]] = {
    "training_set": {"users": 30},
    "categoriser_candidate": {"label": "trial"},
    "categoriser_evaluation": {"users": 20},
    "categoriser": {"version": "active", "by": "kontor up", "why": "a trial model decides nothing"},
}
"""A training that takes a minute and shows the whole way; it has too few people to learn from, and its evaluation says so."""
SHOWN_NAME, COLOUR = "Kontor-Demo", "#0e6b5c"
"""How customers know the redirect tenant: as the demo's own pages look."""
ACCESS = "demo"
PIN = "demo"


def seed(database: Database, vault: Vault, base_url: str, path: Path, now: datetime) -> dict[str, Any]:
    """The demo's credentials: those of the file if they still work, else fresh ones. A second run changes nothing."""
    known = json.loads(path.read_text()) if path.exists() else {}
    with database.operating() as owner:
        fits = bool(known) and all(_works(owner, entry) for entry in known["tenants"])
        entries = known["tenants"] if fits else [_renewed(owner, vault, now, **tenant) for tenant in TENANTS]
        _furnish(owner, base_url)
    content = {"base_url": base_url, "tenants": entries}
    if content != known:
        write_private(path, json.dumps(content, indent=2))
    return content


def connect_customers(database: Database, vault: Vault, settings: Settings, content: dict[str, Any]) -> None:
    """Connects the demo's users to the demo bank and begins to fetch; users that are connected already stay as they are."""
    bank = connectors(settings)["demo"]
    for tenant in content["tenants"]:
        for user in tenant["users"]:
            with database.operating() as operator:
                tenant_id = tenants.find(operator, tenant["name"]).id
            with database.acting_for(tenant_id, UUID(user["userReference"])) as owner:
                _connect(owner, vault, settings, bank, CUSTOMERS.get(user["username"]))


def pending(database: Database) -> int:
    """How many of the demo's accesses are still being fetched for the first time."""
    with database.operating() as operator:
        return fetches.first_ones(operator, ACCESS)


def _connect(owner: Owner, vault: Vault, settings: Settings, bank: Connector, customer: str | None) -> None:
    if customer is None or any(access.key == ACCESS for access in accesses.visible(owner)):
        return
    row = providers.find(owner, DEMO)
    offer = bank.offer(CatalogueBank(row.id, row.name, row.connector))
    if offer is not None and row.enabled:
        login = connect.login(connect.AccessRequest(ACCESS, DEMO, {}), offer, {"userid": customer, "pin": PIN})
        connect.connect(owner, vault, settings, [login], refresh=False, attended_from=None)


def _furnish(operator: Owner, base_url: str) -> None:
    """Lets the redirect form lead back to the demo's own pages, which lie on the service itself, and look like them."""
    for name in (str(tenant["name"]) for tenant in TENANTS if not tenant["regulated"]):
        owner = operator.for_tenant(tenants.find(operator, name).id)
        address = f"{base_url}/"
        with suppress(Invalid):  # http on another machine, to which no form leads back
            if not any(naming.is_below(naming.return_url(address), base) for base in tenants.callbacks(owner)):
                tenants.add_callback(owner, address)
        if designs.find(owner) is None:
            designs.change(owner, name=SHOWN_NAME, colour=COLOUR)


def _works(owner: Owner, entry: dict[str, Any]) -> bool:
    """Whether the clients of a remembered tenant still have the remembered secrets."""
    found = [(clients.find_for_login(owner, client["username"]), client["secret"]) for client in entry["clients"].values()]
    return all(login is not None and clients.has_secret(owner, login[0], secret) for login, secret in found)


def _renewed(owner: Owner, vault: Vault, now: datetime, **wanted: Any) -> dict[str, Any]:
    """A demo tenant with fresh secrets, made if it is missing."""
    try:
        tenant = tenants.find(owner, wanted["name"])
        own = owner.for_tenant(tenant.id)
        secrets = {name: clients.rotate_secret(own, name) for name in (ADMIN, APP)}
    except NotFound:
        new = create_tenant(owner, vault, wanted.pop("name"), now, **wanted)
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
            key.active = False
    user = users.find_by_name(owner, USERNAMES[0])
    if user is None:
        raise NotFound(f"user {USERNAMES[0]} of {tenant.name}")
    return api_keys.create(owner, clients.find(owner, APP), user, description="demo")[1]
