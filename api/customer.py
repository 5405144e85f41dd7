"""What the routes of the customer interface share: the scopes they need, common parameters, and the customer's transactions."""

import ipaddress
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Annotated
from uuid import UUID

from fastapi import Header, Path, Query
from pydantic import AfterValidator

from api.http.authorization import TokenKind, needs
from api.http.errors import Problem, wrong
from api.http.mistakes import IDENTIFIER, missing
from api.schemas.accesses import NewAccess
from api.schemas.base import Flag
from api.schemas.languages import Text
from api.services import Services
from pipelines.fetching.connect import AccessOptions, AccessRequest
from warehouse import scopes
from warehouse.errors import Deactivated, NotFound
from warehouse.postgres.database import Owner
from warehouse.stores import activity
from warehouse.stores.callers import Caller

EMPTY_SELECTION = Text("ist leer", "is empty")

NOT_PUBLIC = tuple(
    ipaddress.ip_network(network)
    for network in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"),
        *("198.18.0.0/15", "224.0.0.0/3", "::/127", "64:ff9b::/96", "2002::/16", "fc00::/7", "fe80::/10", "ff00::/8"),
    )
)


def _public_address(value: str | None) -> str | None:
    """The normalised IP address of an end user; raises `ValueError` for one that cannot be on the internet."""
    if value is None:
        return None
    try:
        address = ipaddress.ip_address(value)
    except ValueError as error:
        raise ValueError("not a public address") from error
    address = getattr(address, "ipv4_mapped", None) or address
    has_zone = "%" in value  # it belongs to one machine only
    if has_zone or any(address.version == network.version and address in network for network in NOT_PUBLIC):
        raise ValueError("not a public address")
    return str(address)


Reads = Annotated[Caller, needs(scopes.CUSTOMER_READ, TokenKind.USER)]
Modifies = Annotated[Caller, needs(scopes.CUSTOMER_MODIFY, TokenKind.USER)]
AccessKey = Annotated[str, Path(examples=["0d0f6a4e-6f0e-4b0e-9a55-0f0c5d1f7a10"])]
ProductKey = Annotated[str, Path(examples=["DE02120300000000202051"])]
IP_HEADER = Header(
    alias="Customer-IP-Address",
    description="public IP address of the end user who waits for the answer",
    examples=["84.112.10.7"],
)
CustomerIp = Annotated[str | None, AfterValidator(_public_address), IP_HEADER]
RequiredIp = Annotated[str, AfterValidator(_public_address), IP_HEADER]
CallbackUrl = Annotated[
    str | None,
    Query(
        alias="callbackUrl",
        max_length=2048,
        description="where the customer comes back to from the bank's own pages; regulated tenants must say it",
        examples=["https://app.example.de/back"],
    ),
]
QueryTanSettings = Annotated[
    Flag, Query(alias="queryTanSettings", description="ask for method and medium, whatever was chosen the last time")
]


@contextmanager
def changing_for(services: Services, caller: Caller) -> Iterator[Owner]:
    """A transaction that changes the caller's own rows; to be run by `services.changes.insist`.

    Raises `Deactivated` if the token has ended since it was checked: nothing begins beside a deactivation.
    """
    with services.database.changing_for(caller.tenant_id, user_of(caller)) as owner:
        asker = owner.through(caller.client_id, caller.api_key_id)
        if not activity.lock_active(asker):
            raise Deactivated
        yield asker


def reading_for(services: Services, caller: Caller) -> AbstractContextManager[Owner]:
    """A snapshot of the caller's own rows, so that balances and status belong to one publication."""
    return services.database.reading_for(caller.tenant_id, user_of(caller))


def user_of(caller: Caller) -> UUID:
    """The user behind a token of the customer interface, which accepts no others."""
    if caller.user_id is None:
        raise NotFound("user")
    return caller.user_id


def access_request(key: str, entry: NewAccess) -> AccessRequest:
    """The access that a regulated tenant asks to connect."""
    if entry.provider_id is None or entry.credentials is None:
        fields = {f"{key}.providerId": entry.provider_id, f"{key}.credentials": entry.credentials}
        raise Problem(400, mistakes=missing(*(name for name, value in fields.items() if value is None)))
    require_selection(entry)
    try:
        provider_id = UUID(entry.provider_id)
    except ValueError as error:
        raise wrong(f"{key}.providerId", IDENTIFIER, sent_value=entry.provider_id) from error
    return AccessRequest(key, provider_id, entry.credentials, access_options(entry))


def access_options(entry: NewAccess) -> AccessOptions:
    """How the access is to be kept up to date, and with which products. An empty list counts as absent."""
    return AccessOptions(entry.sync, "selected" in entry.model_fields_set and entry.selected != [], entry.selected)


def require_selection(entry: NewAccess) -> None:
    """Raises if a regulated tenant selects no product at all. For redirect tenants, empty fields count as absent."""
    if entry.selected == []:
        raise wrong("selectedBankProducts", EMPTY_SELECTION, sent_value=[])
