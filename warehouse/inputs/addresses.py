"""Which addresses of others the service itself may call, before and after their names are resolved.

Here belong the rules alone; `pipelines/webhooks/outbound.py` applies them when it connects. Without them, a tenant could make the
service call hosts that only the service can reach.
"""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import ada_url

from warehouse.errors import AddressRefused

MAX_URL_LENGTH = 2048
GLOBAL_UNICAST = ip_network("2000::/3")
NAT64 = ip_network("64:ff9b::/96")  # NAT64: the last 32 bits are an IPv4 address
SPECIAL_BLOCKS = tuple(ip_network(block) for block in ("192.0.0.0/24", "192.88.99.0/24", "3fff::/20"))


def receiver_url(value: str, *, private: bool) -> str:
    """An address to call, normalised as browsers do: https on port 443 at a public host. `private` also allows http and any host.

    The IP address behind the name is checked at each call, not here.
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
    """Whether an IP address belongs to the public internet; of an IPv6 address that embeds an IPv4 one, both must.

    IPv6 is limited to the block that is assigned: Python takes some local addresses, such as `fec0::1`, for global ones.
    """
    if isinstance(address, IPv6Address):
        if address in NAT64:
            return is_public(IPv4Address(int(address) & 0xFFFFFFFF))
        if address not in GLOBAL_UNICAST or (address.sixtofour is not None and not is_public(address.sixtofour)):
            return False
    return address.is_global and not address.is_multicast and not any(address in block for block in SPECIAL_BLOCKS)


def _require_public(url: ada_url.URL) -> None:
    """Refuses ports and hosts that no public receiver has. Removes the trailing dot of a name, which certificates do not have."""
    if url.port:
        raise AddressRefused("an address must use port 443")
    url.hostname = url.hostname.removesuffix(".")
    if not _may_be_public(url.hostname):
        raise AddressRefused("an address must name a public host")


def _may_be_public(host: str) -> bool:
    """Whether a host is a public IP address, or a name that could be public: names without a dot are local."""
    try:
        return is_public(ip_address(host.strip("[]")))
    except ValueError:
        return "." in host and not host.endswith(".localhost")
