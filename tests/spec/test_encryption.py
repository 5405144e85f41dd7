"""Encryption of credentials on their way to the service."""

import base64

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from tests.support.stack import Stack, TenantUnderTest
from warehouse.errors import Invalid
from warehouse.secrets import certificates

TYPE = {"Content-Type": "application/octet-stream+base64"}


def encrypt(http: httpx.Client, token: dict[str, str], plaintext: bytes) -> httpx.Response:
    return http.put("/encrypt", content=base64.b64encode(plaintext), headers={**token, **TYPE})


def test_anonymous(http: httpx.Client) -> None:
    assert encrypt(http, {}, b"x").status_code == 401
    assert http.get("/encrypt/certificate").status_code == 401


def test_what_is_encrypted_can_be_opened_for_this_tenant_alone(
    http: httpx.Client, stack: Stack, r1: TenantUnderTest, r2: TenantUnderTest
) -> None:
    for token in (r1.bearer("admin"), r1.bearer("app", "anna")):
        answer = encrypt(http, token, "Geheimnis mit ü".encode())
        assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/octet-stream+base64")
        assert b"\n" not in answer.content
        ciphertext = base64.b64decode(answer.content, validate=True)
        assert len(ciphertext) == 384
        with stack.database.acting_for(r1.tenant_id) as owner:
            assert certificates.decrypt(owner, stack.vault, ciphertext).decode() == "Geheimnis mit ü"
        with stack.database.acting_for(r2.tenant_id) as owner, pytest.raises(Invalid):
            certificates.decrypt(owner, stack.vault, ciphertext)


@pytest.mark.parametrize("algorithm", [hashes.SHA1(), hashes.SHA256()])
def test_values_encrypted_with_the_certificate_are_opened(
    http: httpx.Client, stack: Stack, r1: TenantUnderTest, algorithm: hashes.HashAlgorithm
) -> None:
    pem = http.get("/encrypt/certificate", headers=r1.bearer("app", "anna")).content
    key = x509.load_pem_x509_certificate(pem).public_key()
    assert isinstance(key, rsa.RSAPublicKey)
    assert key.key_size == 3072
    ciphertext = key.encrypt(b"pin", padding.OAEP(padding.MGF1(algorithm), algorithm, None))
    with stack.database.acting_for(r1.tenant_id) as owner:
        assert certificates.decrypt(owner, stack.vault, ciphertext) == b"pin"


@pytest.mark.parametrize(
    "content", [b"", b"not base64!", b"YQ", b"YQ==\n", base64.b64encode(b"x" * 319), base64.b64encode(b"x" * 4096)]
)
def test_bad_values_are_refused(http: httpx.Client, r1: TenantUnderTest, content: bytes) -> None:
    answer = http.put("/encrypt", content=content, headers={**r1.bearer("admin"), **TYPE})
    assert (answer.status_code, answer.json()["messages"][0]["code"]) == (400, "BA400")


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "application/octet-stream", ""])
def test_other_content_types_are_refused(http: httpx.Client, r1: TenantUnderTest, content_type: str) -> None:
    answer = http.put("/encrypt", content=b"YQ==", headers={**r1.bearer("admin"), "Content-Type": content_type})
    assert answer.status_code == 415


def test_put_encrypt_accepts_application_json(http: httpx.Client, r1: TenantUnderTest) -> None:
    headers = {**r1.bearer("admin"), "Content-Type": "application/octet-stream+base64", "Accept": "application/json"}
    answer = http.put("/encrypt", content=b"YQ==", headers=headers)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/octet-stream+base64")
    assert len(base64.b64decode(answer.content)) >= 256


def test_the_largest_value_that_fits(http: httpx.Client, r1: TenantUnderTest) -> None:
    assert encrypt(http, r1.bearer("admin"), b"x" * 318).status_code == 200


def test_a_renewed_certificate_is_used_and_the_old_one_still_opens(http: httpx.Client, stack: Stack) -> None:
    from datetime import UTC, datetime

    tenant = stack.tenant()
    before = http.get("/encrypt/certificate", headers=tenant.bearer("admin")).text
    old = base64.b64decode(encrypt(http, tenant.bearer("admin"), b"old").content)
    with stack.database.acting_for(tenant.tenant_id) as owner:
        certificates.create(owner, stack.vault, tenant.name, datetime.now(UTC))
    assert http.get("/encrypt/certificate", headers=tenant.bearer("admin")).text != before
    new = base64.b64decode(encrypt(http, tenant.bearer("admin"), b"new").content)
    with stack.database.acting_for(tenant.tenant_id) as owner:
        assert [certificates.decrypt(owner, stack.vault, value) for value in (old, new)] == [b"old", b"new"]
