"""The key of a Dask cluster on several machines: one certificate, which is its own authority, for scheduler, workers and clients.

Whoever has the key can submit tasks to the cluster, and a task can run any code. It is in the data directory, which the machines
of an installation share, and only the service can read it.
"""

import ssl
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from warehouse.errors import KontorError
from warehouse.runtime import files

FILE = "dask.pem"
VALIDITY_DAYS = 3650


def create(home: Path, now: datetime) -> Path:
    """The file with the key and its certificate, which is made if there is none. Only the scheduler creates it: there is one."""
    path = home / FILE
    if not path.exists():
        files.replace(path, _pem(now), private=True)
    return require(home)


def find(home: Path) -> Path | None:
    """The file with the key and its certificate; None if this data directory has none."""
    return require(home) if (home / FILE).exists() else None


def require(home: Path) -> Path:
    """The file with the key and its certificate. An error says what to do where it is missing or cannot be read."""
    path = home / FILE
    try:
        ssl.create_default_context(cafile=path).load_cert_chain(path)
    except FileNotFoundError as error:
        raise KontorError(f"{path} is missing: `kontor dask scheduler` makes it, all machines of the cluster need it") from error
    except OSError as error:  # of a damaged file as well
        raise KontorError(f"{path} cannot be read ({error}): remove it, and start the cluster again") from error
    return path


def _pem(now: datetime) -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Kontor's Dask cluster")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))  # the clocks of machines differ
        .not_valid_after(now + timedelta(days=VALIDITY_DAYS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return private + certificate.public_bytes(serialization.Encoding.PEM)
