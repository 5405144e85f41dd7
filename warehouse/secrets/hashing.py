"""Passwords and random secrets, and the one-way forms of them that are stored.

A secret that a machine made has 256 random bits: a plain hash is enough, and quick. A password that a person chose may be weak:
it gets argon2id, which is slow on purpose, so callers run it off the event loop and few at a time.
"""

import hashlib
import hmac
import secrets
from functools import cache

from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher

SECRET_BYTES = 32
_argon2 = PasswordHash((Argon2Hasher(memory_cost=19456, time_cost=2, parallelism=1),))


def new_secret() -> str:
    """A fresh secret of 256 random bits, safe in URLs and headers."""
    return secrets.token_urlsafe(SECRET_BYTES)


def digest(secret: str) -> bytes:
    """The form in which a machine-made secret is stored and looked up."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def matches(secret: str, stored: bytes) -> bool:
    """Whether a machine-made secret is the stored one."""
    return hmac.compare_digest(digest(secret), stored)


def hash_password(password: str) -> str:
    """The argon2id hash of a password. Slow."""
    return _argon2.hash(password)


def check_password(password: str, stored: str) -> tuple[bool, str | None]:
    """Whether the password fits, and a new hash to store if the parameters have changed since. Slow."""
    return _argon2.verify_and_update(password, stored)


@cache
def decoy() -> str:
    """A hash that no password fits: checking it makes an unknown name take as long as a known one."""
    return hash_password(new_secret())
