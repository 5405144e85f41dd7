"""Calls to addresses that tenants chose: the only calls to hosts that we do not know.

A name is resolved here, all of its addresses are checked, and the connection goes to exactly a checked address: a name that
resolves to something else a moment later has no effect. TLS is still verified for the name. Redirects, proxies of the
environment, cookies and response bodies are ignored.
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

from warehouse.errors import AddressRefused
from warehouse.inputs.addresses import is_public, receiver_url
from warehouse.settings import Settings

MAX_ADDRESSES = 4
THREADS_PER_CALL = 4
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
SocketOptions = Iterable[httpcore.SOCKET_OPTION]


@dataclass(frozen=True)
class OutboundPolicy:
    """How calls are made: how names are resolved, which certificates TLS trusts, whether private addresses are allowed, and the
    time limit.
    """

    resolve: Resolve
    tls: ssl.SSLContext
    private: bool
    timeout_seconds: float


@contextmanager
def open_policy(settings: Settings, at_once: int) -> Iterator[OutboundPolicy]:
    """A policy for up to `at_once` calls. Names are resolved in separate threads, so that a slow one delays no other.

    There are more threads than calls: one that waits for a dead name server outlasts its call.
    """
    # The library logs the addresses it calls, and a tenant's address may hold a secret.
    logging.getLogger("httpx").setLevel(logging.WARNING)
    threads = ThreadPoolExecutor(at_once * THREADS_PER_CALL, thread_name_prefix="names")
    tls = httpx.create_ssl_context(trust_env=False)
    try:
        yield OutboundPolicy(
            partial(_resolve, threads), tls, settings.webhook_private_addresses, settings.webhook_timeout_seconds
        )
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


async def post(policy: OutboundPolicy, url: str, body: bytes, headers: dict[str, str]) -> int:
    """The status of an address's response. Each call has a connection of its own."""
    address = receiver_url(url, private=policy.private)
    async with (
        asyncio.timeout(policy.timeout_seconds),
        httpx.AsyncClient(transport=_CheckedTransport(policy), timeout=policy.timeout_seconds, trust_env=False) as client,
        client.stream("POST", address, content=body, headers={**headers, "Connection": "close"}) as response,
    ):
        return response.status_code


class _CheckedTransport(httpx.AsyncHTTPTransport):
    """The transport of httpx with checked connections; httpx itself has no parameter for them."""

    def __init__(self, policy: OutboundPolicy) -> None:
        super().__init__(verify=policy.tls, trust_env=False)
        self._pool = httpcore.AsyncConnectionPool(ssl_context=policy.tls, network_backend=_CheckedNetwork(policy))


class _CheckedNetwork(httpcore.AsyncNetworkBackend):
    """Connects to addresses that were resolved and checked here."""

    def __init__(self, policy: OutboundPolicy) -> None:
        self._policy = policy
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: SocketOptions | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """A connection to the first address of the host that answers; each address gets an equal share of the time."""
        addresses = (await self._addresses(host, port))[:MAX_ADDRESSES]
        share = timeout / len(addresses) if timeout else None
        for address in addresses[:-1]:
            try:
                return await self._network.connect_tcp(address, port, share, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self._network.connect_tcp(addresses[-1], port, share, local_address, socket_options)

    async def _addresses(self, host: str, port: int) -> Sequence[str]:
        """The addresses of a host; raises `AddressRefused` if we may not call one of them."""
        try:
            addresses = await self._policy.resolve(host, port)
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError("the name cannot be resolved") from error
        if not addresses:
            raise httpcore.ConnectError("the name has no address")
        if not self._policy.private and not all(is_public(ip_address(address)) for address in addresses):
            raise AddressRefused("the name leads to an address that is not public")
        return addresses


async def _resolve(threads: ThreadPoolExecutor, host: str, port: int) -> Sequence[str]:
    """The addresses of a name, in the system's order of preference."""
    look_up = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    addresses = await asyncio.get_running_loop().run_in_executor(threads, look_up)
    return list(dict.fromkeys(str(address[0]) for *_, address in addresses))
