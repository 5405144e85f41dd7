"""The connection to a FinTS bank: base64 by HTTPS, one connection for each call of the connector.

Certificates are checked against the roots of the system, redirects are refused, and an answer has a limit. Without TLS nothing is
sent to any machine but this one.
"""

import base64
import binascii
import ipaddress
import ssl
from functools import cache
from types import TracebackType
from urllib.parse import urlsplit

import httpx

from pipelines.banks.base import LoginFate, NoAnswer, Unreachable, Unusable

MAX_ANSWER_BYTES = 20 * 1024 * 1024
TIMEOUT = httpx.Timeout(60, connect=10)
BROKEN = frozenset((httpx.codes.INTERNAL_SERVER_ERROR, httpx.codes.BAD_GATEWAY, httpx.codes.GATEWAY_TIMEOUT))
"""Statuses behind which the bank may have worked on the message."""
HEADERS = {"Content-Type": "application/octet-stream", "User-Agent": "Kontor", "Accept-Encoding": "identity"}


class InsecureAddress(ValueError):
    """An address to which no PIN may be sent."""


def check_address(url: str) -> str:
    """The address, if it is https, or http on this machine."""
    parts = urlsplit(url)
    if parts.scheme == "https" and parts.hostname:
        return url
    if parts.scheme == "http" and _is_loopback(parts.hostname or ""):
        return url
    raise InsecureAddress("must be https, or http on a loopback address")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@cache
def _certificates() -> ssl.SSLContext:
    """The roots of the system. They are read once: that takes longer than a whole login."""
    return ssl.create_default_context()


class Connection:
    """A connection for one dialogue. Use it in a `with` block."""

    def __init__(self, url: str, transport: httpx.BaseTransport | None = None) -> None:
        self._url = check_address(url)
        verify = _certificates() if url.startswith("https:") else False
        self._client = httpx.Client(
            verify=verify, timeout=TIMEOUT, follow_redirects=False, trust_env=False, transport=transport, headers=HEADERS
        )

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._client.close()

    def post(self, message: bytes) -> bytes:
        """The bank's answer to a message. Raises `Unreachable` if the bank has not taken it, `NoAnswer` if nobody knows, and
        `Unusable` for something else than an answer. Each says what became of the login in the message.
        """
        try:
            with self._client.stream("POST", self._url, content=base64.b64encode(message)) as response:
                if response.status_code != httpx.codes.OK:
                    raise turned_away(LoginFate.LOST if response.status_code in BROKEN else LoginFate.TURNED_AWAY)
                content = self._limited(response)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.UnsupportedProtocol) as error:
            raise Unreachable from error
        except httpx.HTTPError as error:
            raise NoAnswer from error
        return _decoded(content)

    def _limited(self, response: httpx.Response) -> bytes:
        content = bytearray()
        for chunk in response.iter_bytes():
            content += chunk
            if len(content) > MAX_ANSWER_BYTES:
                raise Unusable
        return bytes(content)


def turned_away(fate: LoginFate = LoginFate.TURNED_AWAY) -> Unreachable:
    """The fault of a bank whose door answers instead of it."""
    fault = Unreachable()
    fault.login_fate = fate
    return fault


def _decoded(content: bytes) -> bytes:
    """The message in base64, with line breaks or without; a page of maintenance is no answer."""
    if content.lstrip()[:1] == b"<":
        raise turned_away()
    if content.startswith(b"HNHBK:"):  # some banks answer errors in clear
        return content
    try:
        decoded = base64.b64decode(b"".join(content.split()), validate=True)
    except binascii.Error as error:
        raise Unusable from error
    if not decoded.startswith(b"HNHBK:"):
        raise Unusable
    return decoded
