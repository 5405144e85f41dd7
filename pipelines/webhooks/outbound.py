"""Calls to addresses that others chose: the one way out of the house to a stranger.

A name is resolved here, every address behind it is checked, and the connection goes to exactly what was checked: a name that
means something else a moment later changes nothing. TLS is still verified for the name. Redirects, proxies of the
environment, cookies and the body of an answer play no part.
"""

import asyncio
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address

import httpcore
import httpx

from warehouse.addresses import is_public, receiver_url
from warehouse.errors import AddressRefused
from warehouse.settings import Settings

ADDRESSES_TRIED = 4
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
SocketOptions = Iterable[httpcore.SOCKET_OPTION]


@dataclass(frozen=True)
class OutboundPolicy:
    """How calls leave the house: how names are resolved, whom TLS trusts, where they may go and how long they may take."""

    resolve: Resolve
    tls: ssl.SSLContext
    private: bool
    timeout_seconds: float


@contextmanager
def open_gate(settings: Settings, at_once: int) -> Iterator[OutboundPolicy]:
    """A gate for so many calls at once. Names are resolved in threads of their own: one that takes long delays no other."""
    # The library logs the addresses it calls, and a tenant's address may hold a secret.
    logging.getLogger("httpx").setLevel(logging.WARNING)
    threads = ThreadPoolExecutor(at_once, thread_name_prefix="names")
    tls = httpx.create_ssl_context(trust_env=False)
    try:
        yield OutboundPolicy(
            partial(_resolve, threads), tls, settings.webhook_private_addresses, settings.webhook_timeout_seconds
        )
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


async def post(gate: OutboundPolicy, url: str, body: bytes, headers: dict[str, str]) -> int:
    """The status that an address answers. A connection of its own for each call: nothing of one reaches another."""
    address = receiver_url(url, private=gate.private)
    async with (
        asyncio.timeout(gate.timeout_seconds),
        httpx.AsyncClient(transport=_CheckedTransport(gate), timeout=gate.timeout_seconds, trust_env=False) as client,
        client.stream("POST", address, content=body, headers={**headers, "Connection": "close"}) as response,
    ):
        return response.status_code


class _CheckedTransport(httpx.AsyncHTTPTransport):
    """httpx's transport over connections that were checked; httpx itself has no parameter for where they come from."""

    def __init__(self, gate: OutboundPolicy) -> None:
        super().__init__(verify=gate.tls, trust_env=False)
        self._pool = httpcore.AsyncConnectionPool(ssl_context=gate.tls, network_backend=_CheckedNetwork(gate))


class _CheckedNetwork(httpcore.AsyncNetworkBackend):
    """Connects to addresses that were resolved and checked here."""

    def __init__(self, gate: OutboundPolicy) -> None:
        self._gate = gate
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: SocketOptions | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """A connection to the first address of the host that answers, each within its share of the time."""
        addresses = (await self._addresses(host, port))[:ADDRESSES_TRIED]
        share = timeout / len(addresses) if timeout else None
        for address in addresses[:-1]:
            try:
                return await self._network.connect_tcp(address, port, share, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self._network.connect_tcp(addresses[-1], port, share, local_address, socket_options)

    async def _addresses(self, host: str, port: int) -> Sequence[str]:
        """The addresses of a host; raises `AddressRefused` if one of them is none that we call."""
        try:
            addresses = await self._gate.resolve(host, port)
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError("the name cannot be resolved") from error
        if not addresses:
            raise httpcore.ConnectError("the name has no address")
        if not self._gate.private and not all(is_public(ip_address(address)) for address in addresses):
            raise AddressRefused("the name leads to an address that is not public")
        return addresses


async def _resolve(threads: ThreadPoolExecutor, host: str, port: int) -> Sequence[str]:
    """The addresses behind a name, in the order in which the system would try them."""
    look_up = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    found = await asyncio.get_running_loop().run_in_executor(threads, look_up)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))
