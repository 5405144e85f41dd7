"""The addresses of the Dagster UI: the names under which it is reached, and the origin that its own pages have under each.

A page of another name must not reach it: a name of an attacker that leads to this machine is not among them.
"""

import re
from dataclasses import dataclass
from ipaddress import ip_address

from warehouse.settings import Settings

OWN_ROOT = "/kontor"
"""Paths below it are answered by the proxy itself; Dagster has none there."""
READY = f"{OWN_ROOT}/ready"
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
HOST = re.compile(r"(\[[0-9a-f:.]{2,45}\]|[a-z0-9._-]{1,253})(?::[0-9]{1,5})?")


@dataclass(frozen=True)
class Sites:
    """The host names that are served by plain HTTP on any port, and the origins of proxies in front."""

    names: frozenset[str]
    origins: frozenset[str]

    def origin(self, host: str) -> str | None:
        """The origin of our own pages for the `Host` of a request, or none if this name is not served."""
        host = host.lower()
        match = HOST.fullmatch(host)
        if match is None:
            return None
        configured = next((origin for scheme in ("https", "http") if (origin := f"{scheme}://{host}") in self.origins), None)
        return configured or (f"http://{host}" if match[1] in self.names else None)


def sites_of(settings: Settings) -> Sites:
    """The loopback names, the address it listens on, and the configured origins."""
    return Sites(LOOPBACK_NAMES | _listening_name(settings.dagster_host), frozenset(settings.dagster_origins))


def local_address(settings: Settings) -> str:
    """The address under which this machine reaches the Dagster UI."""
    return f"http://{min(_listening_name(settings.dagster_host), default='127.0.0.1')}:{settings.dagster_port}"


def _listening_name(host: str) -> frozenset[str]:
    """The name of an address to listen on; none for all addresses of the machine."""
    try:
        address = ip_address(host)
    except ValueError:
        return frozenset({host.lower()})
    if address.is_unspecified:
        return frozenset()
    return frozenset({f"[{address}]" if address.version == 6 else str(address)})
