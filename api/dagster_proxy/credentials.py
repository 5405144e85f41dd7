"""The operator's password and the token of programs: two files in the data directory that only their owner can read.

The password is stored as its argon2id hash. The token must be read by programs, so its file has the token itself.
"""

import secrets
from pathlib import Path

from warehouse.errors import Invalid, NotFound
from warehouse.inputs import passwords
from warehouse.runtime import files
from warehouse.secrets import hashing

PASSWORD_FILE, TOKEN_FILE = "dagster-password", "dagster-token"
MIN_PASSWORD_LENGTH = 12
MAX_PASSWORD_LENGTH = 1000
GROUPS, GROUP_LENGTH = 6, 5
ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
"""Letters and digits that cannot be mistaken for each other; 30 of them have 148 random bits."""
OTHERS = 0o077


def create_password(home: Path) -> str | None:
    """A new password if there is none yet, else nothing: only its hash is stored."""
    return change_password(home) if password_hash(home) is None else None


def change_password(home: Path, password: str | None = None) -> str:
    """Stores a password, or a random one, and returns it. Everybody who is logged in is logged out."""
    if password is None:
        password = "-".join("".join(secrets.choice(ALPHABET) for _ in range(GROUP_LENGTH)) for _ in range(GROUPS))
    elif not MIN_PASSWORD_LENGTH <= len(password) <= MAX_PASSWORD_LENGTH:
        raise Invalid(f"the password must have {MIN_PASSWORD_LENGTH} to {MAX_PASSWORD_LENGTH} characters")
    else:
        passwords.check(password, "kontor", "dagster")
    store_hash(home, hashing.hash_password(password))
    return password


def store_hash(home: Path, password_hash: str) -> None:
    """Replaces the stored hash of the password."""
    files.replace(home / PASSWORD_FILE, password_hash.encode(), private=True)


def password_hash(home: Path) -> str | None:
    """The stored hash of the password, if one was set."""
    try:
        return (home / PASSWORD_FILE).read_text().strip() or None
    except FileNotFoundError:
        return None


def create_token(home: Path) -> None:
    """Writes a new token if there is none, or if others could have read it."""
    path = home / TOKEN_FILE
    if not path.exists() or not path.stat().st_size or path.stat().st_mode & OTHERS:
        files.replace(path, hashing.new_secret().encode(), private=True)


def token(home: Path) -> str:
    """The token with which programs call Dagster."""
    path = home / TOKEN_FILE
    value = path.read_text().strip() if path.exists() else ""
    if not value:
        raise NotFound(f"{path} has no token: the Dagster UI was never started with this data directory")
    return value
