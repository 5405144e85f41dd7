"""The rules for names: of tenants, clients and roles (they are URL segments), and of users."""

import re
import unicodedata
from collections.abc import Iterable

import ada_url

from warehouse import scopes
from warehouse.errors import Invalid

SEGMENT = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?")
USERNAME_LENGTH = 255
CONTROLS = ("Cc", "Cs", "Zl", "Zp")
LOOPBACK = {"localhost", "127.0.0.1", "[::1]"}


def segment(name: str) -> str:
    """The name of a tenant, client or role, after checking that it can stand in a URL."""
    if not SEGMENT.fullmatch(name):
        raise Invalid(
            "a name has 1 to 64 characters of a-z, 0-9, dot, underscore and hyphen, and starts and ends with a letter or digit"
        )
    return name


def username(value: str) -> str:
    """The user name as it is stored: composed (NFC), without blanks around it."""
    name = unicodedata.normalize("NFC", value).strip()
    if not name or len(value) > USERNAME_LENGTH or any(unicodedata.category(char) in CONTROLS for char in name):
        raise Invalid(f"a user name has 1 to {USERNAME_LENGTH} characters and no control characters")
    return name


def username_key(value: str) -> str:
    """The form in which user names are compared: names that differ in case, Unicode form or blanks around them are the same."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", value).strip().casefold())


def scope_list(values: Iterable[str]) -> list[str]:
    """The scopes in the order of the interface, after checking that all of them exist."""
    wanted = set(values)
    if unknown := wanted.difference(scopes.ALL):
        raise Invalid(f"unknown scope: {', '.join(sorted(unknown))}; there are: {', '.join(scopes.ALL)}")
    return [scope for scope in scopes.ALL if scope in wanted]


def callback_url(value: str) -> str:
    """An address for an allow-list: that of a callback, without a query."""
    address = return_url(value)
    if ada_url.URL(address).search:
        raise Invalid("an address of the allow-list has no query")
    return address


def return_url(value: str) -> str:
    """A callback address as a browser reads it: https, or http on loopback, without credentials and fragment."""
    try:
        url = ada_url.URL(value)
    except ValueError as error:
        raise Invalid("a callback address must be an absolute URL") from error
    if url.protocol != "https:" and not (url.protocol == "http:" and url.hostname in LOOPBACK):
        raise Invalid("a callback address must use https (http only on loopback)")
    if url.username or url.password or url.hash:
        raise Invalid("a callback address has no credentials and no fragment")
    return str(url.href)


def is_below(address: str, base: str) -> bool:
    """Whether an address is a base itself, or below it at a slash; both as browsers read them."""
    url, root = ada_url.URL(address), ada_url.URL(base)
    below = url.pathname == root.pathname or url.pathname.startswith(root.pathname.rstrip("/") + "/")
    return (url.protocol, url.host) == (root.protocol, root.host) and below
