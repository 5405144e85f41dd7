"""The rules for names of tenants, clients and roles (URL segments), names of users, and addresses that browsers are sent to."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from urllib.parse import unquote, unquote_plus, urlencode

import ada_url

from warehouse import scopes
from warehouse.errors import Invalid
from warehouse.inputs.addresses import MAX_URL_LENGTH

SEGMENT = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?")
MAX_USERNAME_LENGTH = 255
MAX_DECOMPOSED = 4
"""Characters into which one character may be decomposed."""
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
    """The user name in its stored form: composed (NFC), without surrounding blanks."""
    name = unicodedata.normalize("NFC", value[: MAX_USERNAME_LENGTH + 1]).strip()  # of a long text it would take long
    if not name or len(value) > MAX_USERNAME_LENGTH or any(unicodedata.category(char) in CONTROL_CATEGORIES for char in name):
        raise Invalid(f"a user name has 1 to {MAX_USERNAME_LENGTH} characters and no control characters")
    return name


def username_key(value: str) -> str:
    """The form in which user names are compared: case, Unicode form and surrounding blanks make no difference.

    What is too long for a name in any form stays as it is, since no user has it and composing takes quadratic time.
    """
    if len(value) > MAX_USERNAME_LENGTH * MAX_DECOMPOSED:
        return value
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", value).strip().casefold())


def scope_list(values: Iterable[str]) -> list[str]:
    """The scopes in the order of `scopes.ALL`, after checking that all of them exist."""
    requested_scopes = set(values)
    if unknown := requested_scopes.difference(scopes.ALL):
        raise Invalid(f"unknown scope: {', '.join(sorted(unknown))}; there are: {', '.join(scopes.ALL)}")
    return [scope for scope in scopes.ALL if scope in requested_scopes]


def callback_url(value: str) -> str:
    """A callback address for an allow-list, which has no query."""
    address = return_url(value)
    if "?" in address:
        raise Invalid("an address of the allow-list has no query")
    return address


def return_url(value: str) -> str:
    """A callback address, normalised as browsers do: https, or http on loopback, without credentials and fragment."""
    url = _read(value, "a callback address")
    if url.protocol != "https:" and not _is_loopback(url):
        raise Invalid("a callback address must use https (http only on loopback)")
    if "#" in url.href:
        raise Invalid("a callback address has no fragment")
    return str(url.href)


def origin(value: str) -> str:
    """The origin of a page that may open the form, normalised as browsers do: scheme, host and port, and nothing else."""
    url = ada_url.URL(return_url(value))
    if url.href != f"{url.origin}/":
        raise Invalid("an origin has a scheme, a host and a port, and nothing else")
    return str(url.origin)


def is_origin_of(page_origin: str, base: str) -> bool:
    """Whether an address of an allow-list is of this origin; one on loopback without a port stands for all ports."""
    return is_below(f"{page_origin}/", f"{ada_url.URL(base).origin}/")


def page_url(value: str) -> str:
    """The address of a page that is linked for people, normalised as browsers do: https, without credentials."""
    url = _read(value, "the address of a page")
    if url.protocol != "https:":
        raise Invalid("the address of a page must use https")
    return str(url.href)


def is_below(address: str, base: str) -> bool:
    """Whether an address equals a base or lies below it at a slash. Both must be normalised.

    A base on loopback without a port stands for all ports: a program on the customer's machine listens on any free one.
    """
    url, root = ada_url.URL(address), ada_url.URL(base)
    any_port = _is_loopback(root) and not root.port
    same_place = url.hostname == root.hostname and (any_port or url.port == root.port)
    return url.protocol == root.protocol and same_place and _is_path_below(url.pathname, root.pathname)


def with_query(address: str, values: Mapping[str, str]) -> str:
    """An address with these parameters in its query, in place of parameters of the same names."""
    url = ada_url.URL(address)
    other_parts = [part for part in url.search.removeprefix("?").split("&") if part and _parameter_name(part) not in values]
    url.search = "&".join([*other_parts, *(urlencode({name: value}) for name, value in values.items())])
    return str(url.href)


def _read(value: str, subject: str) -> ada_url.URL:
    try:
        url = ada_url.URL(value)
    except ValueError as error:
        raise Invalid(f"{subject} must be an absolute URL") from error
    if url.username or url.password:
        raise Invalid(f"{subject} has no credentials")
    if len(url.href) > MAX_URL_LENGTH:
        raise Invalid(f"{subject} has at most {MAX_URL_LENGTH} characters")
    return url


def _is_loopback(url: ada_url.URL) -> bool:
    return url.protocol == "http:" and url.hostname in LOOPBACK_HOSTS


def _is_path_below(path: str, root: str) -> bool:
    """Whether a path equals a root or lies below it on every server: some decode `%2f` to a slash, and take `..;` for `..`."""
    top = root.removesuffix("/")
    if path == root or not top:
        return True
    steps = [unquote(step) for step in path.removeprefix(top + "/").split("/")]
    is_plain = not any("/" in step or "\\" in step or step.partition(";")[0] in (".", "..") for step in steps)
    return path.startswith(top + "/") and is_plain


def _parameter_name(part: str) -> str:
    """The decoded name of a parameter in a part of a query."""
    return unquote_plus(part.partition("=")[0])
