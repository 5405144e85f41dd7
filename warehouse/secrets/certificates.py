"""The RSA key of each tenant: credentials are encrypted with it on their way to us, and decrypted here.

A credential travels as RSA-OAEP ciphertext in Base64. We write OAEP with SHA-256, and also read SHA-1, which existing clients
send. The private key is sealed by the vault.
"""

from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.x509.oid import NameOID
from sqlalchemy import update

from warehouse.errors import Invalid, NotFound
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Certificate
from warehouse.secrets import sealed_values
from warehouse.secrets.vault import Vault

KEY_BITS = 3072
VALIDITY_DAYS = 3650
MAX_PLAINTEXT_BYTES = KEY_BITS // 8 - 2 * 32 - 2
PRIVATE_KEY = "private_key"


def new_key() -> rsa.RSAPrivateKey:
    """A fresh key. It takes most of a second."""
    return rsa.generate_private_key(public_exponent=65537, key_size=KEY_BITS)


def create(owner: Owner, vault: Vault, tenant_name: str, now: datetime) -> Certificate:
    """A new key with a self-signed certificate, which is the current one from now on. Older ones still decrypt earlier values."""
    key = new_key()
    name = x509.Name(
        [x509.NameAttribute(NameOID.COMMON_NAME, tenant_name), x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Kontor")]
    )
    x509_certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now.astimezone(UTC))
        .not_valid_after(now.astimezone(UTC) + timedelta(days=VALIDITY_DAYS))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    owner.session.execute(update(Certificate).where(Certificate.tenant_id == owner.tenant).values(current=False))
    certificate = Certificate(
        tenant_id=owner.tenant, pem=x509_certificate.public_bytes(serialization.Encoding.PEM).decode(), current=True
    )
    owner.session.add(certificate)
    owner.session.flush()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    sealed_values.put(owner, vault, _subject(certificate), PRIVATE_KEY, pem)
    return certificate


def current(owner: Owner) -> Certificate:
    """The current certificate of the tenant."""
    certificate = owner.session.scalar(owner.rows(Certificate).where(Certificate.current))
    if certificate is None:
        raise NotFound("certificate")
    return certificate


def encrypt(pem: str, plaintext: bytes) -> bytes:
    """The plaintext encrypted for the owner of a certificate."""
    if not 1 <= len(plaintext) <= MAX_PLAINTEXT_BYTES:
        raise Invalid(f"a value to encrypt has 1 to {MAX_PLAINTEXT_BYTES} bytes")
    key = x509.load_pem_x509_certificate(pem.encode()).public_key()
    if not isinstance(key, rsa.RSAPublicKey):
        raise Invalid("a certificate must carry an RSA key")
    return key.encrypt(plaintext, _oaep(hashes.SHA256()))


def decrypt(owner: Owner, vault: Vault, ciphertext: bytes) -> bytes:
    """The plaintext of a value that was encrypted for this tenant, with its current or an earlier certificate."""
    for certificate in owner.session.scalars(owner.rows(Certificate).order_by(Certificate.created_at.desc())):
        pem = sealed_values.get(owner, vault, _subject(certificate), PRIVATE_KEY)
        # The seal proves the key unchanged; testing its primes again would take most of a second.
        key = serialization.load_pem_private_key(pem, password=None, unsafe_skip_rsa_key_validation=True)
        if not isinstance(key, rsa.RSAPrivateKey):
            continue
        for algorithm in (hashes.SHA256(), hashes.SHA1()):  # noqa: S303  # OAEP does not rest on collisions
            try:
                return key.decrypt(ciphertext, _oaep(algorithm))
            except ValueError:
                continue
    raise Invalid("the value was not encrypted for this tenant")


def _subject(certificate: Certificate) -> str:
    return f"certificate:{certificate.id}"


def _oaep(algorithm: hashes.HashAlgorithm) -> padding.OAEP:
    return padding.OAEP(mgf=padding.MGF1(algorithm=algorithm), algorithm=algorithm, label=None)
