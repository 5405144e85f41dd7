"""Hashes of passwords and of random secrets.

A generated secret has 122 random bits or more: a plain hash is enough, and fast. A password may be weak: it gets argon2id, which
is slow on purpose, so callers run it off the event loop and few at a time.
"""

import hashlib
import hmac
import secrets
from enum import StrEnum
from functools import cache
from uuid import uuid4

from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher

SECRET_BYTES = 32
_argon2 = PasswordHash((Argon2Hasher(memory_cost=19456, time_cost=2, parallelism=1),))


def new_secret() -> str:
    """A fresh secret of 256 random bits, safe in URLs and headers."""
    return secrets.token_urlsafe(SECRET_BYTES)


class TokenFormat(StrEnum):
    """What an access token looks like: a random text, or a random UUID for clients that read it as one."""

    OPAQUE = "opaque"
    UUID = "uuid"


def new_token(form: TokenFormat) -> str:
    """A fresh access token: 256 random bits, or the 122 of a UUID of version 4."""
    return str(uuid4()) if form is TokenFormat.UUID else new_secret()


def digest(secret: str) -> bytes:
    """The hash under which a generated secret is stored and looked up."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def matches(secret: str, stored_digest: bytes) -> bool:
    """Whether a generated secret has the stored digest."""
    return hmac.compare_digest(digest(secret), stored_digest)


def hash_password(password: str) -> str:
    """The argon2id hash of a password. Slow."""
    return _argon2.hash(password)


def check_password(password: str, stored_hash: str) -> tuple[bool, str | None]:
    """Whether the password has the stored hash, and a new hash to store if the parameters have changed since. Slow."""
    return _argon2.verify_and_update(password, stored_hash)


@cache
def decoy() -> str:
    """A hash that no password has: checking it makes an unknown name take as long as a known one."""
    return hash_password(new_secret())
