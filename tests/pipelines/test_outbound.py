"""Calls to strangers: to the address that was checked, for the name that was asked, and to nobody else."""

import asyncio
import ssl
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from pipelines.webhooks.outbound import OutboundPolicy, open_policy, post
from tests.support.receiver import HANG, receiving
from tests.support.stack import free_port
from warehouse.errors import AddressRefused
from warehouse.settings import Settings

PRIVATE = Settings(webhook_private_addresses=True)


def call(url: str, settings: Settings = PRIVATE, **changes: object) -> int:
    """The status of a call through a gate that differs in these parts."""
    with open_policy(settings, 2) as gate:
        return asyncio.run(post(replace(gate, **changes), url, b"{}", {}))  # type: ignore[arg-type]


def leads_to(*addresses: str) -> object:
    async def resolve(_host: str, _port: int) -> Sequence[str]:
        return addresses

    return resolve


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["8.8.8.8", "127.0.0.1"],
        ["::1"],
        ["169.254.169.254"],
        ["::ffff:10.0.0.1"],
        ["fe80::1%1"],
        ["64:ff9b::a00:1"],
    ],
)
def test_a_name_with_an_address_inside_is_refused(addresses: list[str]) -> None:
    with pytest.raises(AddressRefused):
        call("https://receiver.example/", Settings(), resolve=leads_to(*addresses))


def test_the_systems_own_answer_is_checked_too() -> None:
    with open_policy(Settings(), 2) as gate, pytest.raises(AddressRefused):
        asyncio.run(_connect(gate, "localhost"))


async def _connect(gate: OutboundPolicy, host: str) -> None:
    from pipelines.webhooks.outbound import _CheckedNetwork

    await _CheckedNetwork(gate).connect_tcp(host, 443)


def test_a_name_without_an_address_cannot_be_called() -> None:
    with pytest.raises(httpx.ConnectError):
        call("https://receiver.example/", Settings(), resolve=leads_to())


def test_the_next_address_is_tried_when_the_first_does_not_answer() -> None:
    with receiving() as receiver:
        assert call(f"http://receiver.example:{receiver.port}/hook", resolve=leads_to("127.0.0.2", "127.0.0.1")) == 200
    with pytest.raises(httpx.ConnectError):
        call(f"http://receiver.example:{free_port()}/", resolve=leads_to("127.0.0.1"))


@pytest.mark.parametrize("name", ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"])
def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    with receiving() as receiver:
        assert call(receiver.url) == 200


def test_a_redirect_is_an_answer_like_any_other() -> None:
    with receiving(302) as receiver:
        assert call(receiver.url) == 302
        assert len(receiver.calls) == 1


def test_a_call_ends_in_time() -> None:
    with receiving(HANG) as receiver, pytest.raises((TimeoutError, httpx.TimeoutException)):
        call(receiver.url, timeout_seconds=0.1)


def test_tls_is_verified_for_the_name_although_an_address_was_called(tmp_path: Path) -> None:
    server, trusted = certificate_for("receiver.example", tmp_path)
    with receiving(tls=server) as receiver:
        right, wrong = (f"https://{name}:{receiver.port}/hook" for name in ("receiver.example", "other.example"))
        assert call(right, resolve=leads_to("127.0.0.1"), tls=trusted) == 200
        with pytest.raises(httpx.ConnectError, match="Hostname mismatch"):
            call(wrong, resolve=leads_to("127.0.0.1"), tls=trusted)
        with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            call(right, resolve=leads_to("127.0.0.1"))
        assert len(receiver.calls) == 1


def certificate_for(name: str, folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server's side of TLS for a name, and the side of a caller that trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = folder / "certificate.pem"
    secret = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    pem.write_bytes(secret + made.public_bytes(serialization.Encoding.PEM))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pem)
    return server, ssl.create_default_context(cafile=str(pem))
