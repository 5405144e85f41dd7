"""The rules for names: of tenants, clients and roles (they are URL segments), of users, and of pages where browsers are sent."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from urllib.parse import unquote, unquote_plus, urlencode

import ada_url

from warehouse import scopes
from warehouse.addresses import MAX_URL_LENGTH
from warehouse.errors import Invalid

SEGMENT = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?")
MAX_USERNAME_LENGTH = 255
CONTROL_CATEGORIES = ("Cc", "Cs", "Zl", "Zp")
LOOPBACK_HOSTS = {"localhost", "127.0.0.1", "[::1]"}


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
    if not name or len(value) > MAX_USERNAME_LENGTH or any(unicodedata.category(char) in CONTROL_CATEGORIES for char in name):
        raise Invalid(f"a user name has 1 to {MAX_USERNAME_LENGTH} characters and no control characters")
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
    if "?" in address:
        raise Invalid("an address of the allow-list has no query")
    return address


def return_url(value: str) -> str:
    """A callback address as a browser reads it: https, or http on loopback, without credentials and fragment."""
    url = _read(value, "a callback address")
    if url.protocol != "https:" and not _is_loopback(url):
        raise Invalid("a callback address must use https (http only on loopback)")
    if "#" in url.href:
        raise Invalid("a callback address has no fragment")
    return str(url.href)


def page_url(value: str) -> str:
    """The address of a page that people are shown a link to, as a browser reads it: https, without credentials."""
    url = _read(value, "the address of a page")
    if url.protocol != "https:":
        raise Invalid("the address of a page must use https")
    return str(url.href)


def is_below(address: str, base: str) -> bool:
    """Whether an address is a base itself, or below it at a slash; both as browsers read them.

    A base on loopback without a port stands for all ports: a program on the customer's machine takes one that is free.
    """
    url, root = ada_url.URL(address), ada_url.URL(base)
    any_port = _is_loopback(root) and not root.port
    same_place = url.hostname == root.hostname and (any_port or url.port == root.port)
    return url.protocol == root.protocol and same_place and _is_path_below(url.pathname, root.pathname)


def with_query(address: str, values: Mapping[str, str]) -> str:
    """An address with more parameters in its query, in place of those that it has of the same names."""
    url = ada_url.URL(address)
    kept = [part for part in url.search.removeprefix("?").split("&") if part and _parameter_name(part) not in values]
    url.search = "&".join([*kept, *(urlencode({name: value}) for name, value in values.items())])
    return str(url.href)


def _read(value: str, what: str) -> ada_url.URL:
    try:
        url = ada_url.URL(value)
    except ValueError as error:
        raise Invalid(f"{what} must be an absolute URL") from error
    if url.username or url.password:
        raise Invalid(f"{what} has no credentials")
    if len(url.href) > MAX_URL_LENGTH:
        raise Invalid(f"{what} has at most {MAX_URL_LENGTH} characters")
    return url


def _is_loopback(url: ada_url.URL) -> bool:
    return url.protocol == "http:" and url.hostname in LOOPBACK_HOSTS


def _is_path_below(path: str, root: str) -> bool:
    """Whether a path is a root or below it, for every server: some read `%2f` as a slash, and `..;` as a way up."""
    top = root.removesuffix("/")
    if path == root or not top:
        return True
    steps = [unquote(step) for step in path.removeprefix(top + "/").split("/")]
    plain = not any("/" in step or "\\" in step or step.partition(";")[0] in (".", "..") for step in steps)
    return path.startswith(top + "/") and plain


def _parameter_name(part: str) -> str:
    """The name in a part of a query, as whoever reads that query sees it."""
    return unquote_plus(part.partition("=")[0])
