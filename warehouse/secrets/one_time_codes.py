"""Codes of a second factor that change every 30 seconds (TOTP, RFC 6238), as all authenticator apps make them."""

import base64
import hmac
import secrets
import struct
from urllib.parse import quote, urlencode

SECRET_BYTES = 20
STEP_SECONDS = 30
DIGITS = 6
TOLERATED_STEPS = 1
"""Clocks of phones differ: the codes before and after the current one count as well."""


def new_secret() -> bytes:
    """A fresh secret of 160 random bits."""
    return secrets.token_bytes(SECRET_BYTES)


def typed_secret(secret: bytes) -> str:
    """The secret as it is typed into an app."""
    return base64.b32encode(secret).decode()


def address(secret: bytes, name: str) -> str:
    """The address by which an app takes up the secret."""
    label = quote(f"Kontor:{name}", safe="")
    return f"otpauth://totp/{label}?{urlencode({'secret': typed_secret(secret), 'issuer': 'Kontor'})}"


def code_at(secret: bytes, step: int) -> str:
    """The code of a time step."""
    digest = hmac.digest(secret, struct.pack(">Q", step), "sha1")
    start = digest[-1] & 0x0F
    number = int.from_bytes(digest[start : start + 4]) & 0x7FFFFFFF
    return f"{number % 10**DIGITS:0{DIGITS}d}"


def step_of(secret: bytes, code: str, now_seconds: float) -> int | None:
    """The time step of a code around now, or None if it is not one of these."""
    typed_code = "".join(code.split()).encode()
    current = int(now_seconds) // STEP_SECONDS
    steps = range(current - TOLERATED_STEPS, current + TOLERATED_STEPS + 1)
    matching = [step for step in steps if hmac.compare_digest(code_at(secret, step).encode(), typed_code)]
    return matching[0] if matching else None
