"""Addresses of others that the service itself calls: which ones it may, before and after their names are resolved.

Here belong the rules alone; `webhooks/outbound.py` keeps them when it connects. Without them, a tenant could let the service
call what only the service can reach.
"""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import ada_url

from warehouse.errors import AddressRefused

MAX_URL_LENGTH = 2048
GLOBAL_UNICAST = ip_network("2000::/3")
NAT64 = ip_network("64:ff9b::/96")  # NAT64: the last 32 bits are an IPv4 address
SPECIAL_BLOCKS = tuple(ip_network(block) for block in ("192.0.0.0/24", "192.88.99.0/24", "3fff::/20"))


def receiver_url(value: str, *, private: bool) -> str:
    """An address to call, as a browser reads it: https on its own port at a public host; `private` lets everything http pass.

    A name says nothing yet of the address behind it: that is checked at each call.
    """
    try:
        url = ada_url.URL(value)
    except ValueError as error:
        raise AddressRefused("an address must be an absolute URL") from error
    if url.username or url.password or url.hash:
        raise AddressRefused("an address has no credentials and no fragment")
    if len(url.href) > MAX_URL_LENGTH:
        raise AddressRefused(f"an address has at most {MAX_URL_LENGTH} characters")
    if url.protocol != "https:" and not (private and url.protocol == "http:"):
        raise AddressRefused("an address must use https")
    if not private:
        _require_public(url)
    return str(url.href)


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether an IP address is one of the public internet, also inside an IPv6 address that stands for an IPv4 one.

    IPv6 is held to the one block that is given out: Python takes some local addresses, such as `fec0::1`, for global ones.
    """
    if isinstance(address, IPv6Address):
        if address in NAT64:
            return is_public(IPv4Address(int(address) & 0xFFFFFFFF))
        if address not in GLOBAL_UNICAST or (address.sixtofour is not None and not is_public(address.sixtofour)):
            return False
    return address.is_global and not address.is_multicast and not any(address in block for block in SPECIAL_BLOCKS)


def _require_public(url: ada_url.URL) -> None:
    """Refuses ports and hosts that no public receiver has. The dot at the end of a full name goes: certificates have none."""
    if url.port:
        raise AddressRefused("an address must use port 443")
    url.hostname = url.hostname.removesuffix(".")
    if not _may_be_public(url.hostname):
        raise AddressRefused("an address must name a public host")


def _may_be_public(host: str) -> bool:
    """Whether a host is a public IP address or could be a public name: one with a dot, since the others are local ones."""
    try:
        return is_public(ip_address(host.strip("[]")))
    except ValueError:
        return "." in host and not host.endswith(".localhost")
