"""Secrets at rest: AES-256-GCM with keys of the operator. A sealed value can be opened only in its own context.

Here belong the key ring, and sealing and opening bytes. Where sealed values are stored is the business of `sealed_values.py`. The
key id is stored with each value, so that old and new keys work side by side while keys are rotated.
"""

import base64
import hmac
import json
import re
import secrets
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from warehouse.errors import Invalid, KeysMissing, SealBroken
from warehouse.runtime import files
from warehouse.settings import Settings

KEY_BYTES = 32
NONCE_BYTES = 12
KEY_ID = re.compile(r"[A-Za-z0-9_-]{1,32}")


@dataclass(frozen=True)
class KeyRing:
    """The vault's keys by id, and the id of the one that seals."""

    active: str
    keys: dict[str, bytes]

    def with_new_key(self) -> "KeyRing":
        """The same ring with one more key, which is the active one."""
        key_id = f"k{max((int(key[1:]) for key in self.keys if re.fullmatch(r'k[0-9]{1,9}', key)), default=0) + 1}"
        return KeyRing(key_id, {**self.keys, key_id: secrets.token_bytes(KEY_BYTES)})

    def without(self, key_ids: set[str]) -> "KeyRing":
        """The same ring without these keys; the active one always stays."""
        return KeyRing(self.active, {key: value for key, value in self.keys.items() if key not in key_ids or key == self.active})


class Vault:
    """Seals and opens values. The key file is read again when it changes, so that running services follow a rotation."""

    def __init__(self, settings: Settings) -> None:
        self.from_environment = settings.vault_keys is not None
        self.path = settings.keys_path
        self._ring = _parse_ring(settings.vault_keys) if settings.vault_keys is not None else None
        self._stamp: tuple[int, int] | None = None

    def seal(self, plaintext: bytes, *context: str) -> tuple[str, bytes]:
        """The id of the active key, and the sealed bytes, which can be opened only with the same context."""
        ring = self.ring()
        nonce = secrets.token_bytes(NONCE_BYTES)
        return ring.active, nonce + AESGCM(ring.keys[ring.active]).encrypt(nonce, plaintext, _associated_data(context))

    def open(self, key_id: str, sealed: bytes, *context: str) -> bytes:
        """The plaintext that was sealed in this context."""
        key = self.ring().keys.get(key_id)
        if key is None:
            raise KeysMissing(f"vault key {key_id} is not in the key ring")
        try:
            return AESGCM(key).decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], _associated_data(context))
        except (InvalidTag, ValueError) as error:  # ValueError if it was truncated
            raise SealBroken("a sealed value was altered or moved") from error

    def keyed_hash(self, purpose: str, value: bytes) -> bytes:
        """A hash that only the holder of the keys can compute, for recognising a value without storing it.

        It uses the oldest key, so that a rotation does not change it; removing that key (`kontor keys prune`) does.
        """
        keys = self.ring().keys
        purpose_key = hmac.digest(keys[min(keys, key=lambda key_id: (len(key_id), key_id))], purpose.encode(), "sha256")
        return hmac.digest(purpose_key, value, "sha256")

    def ring(self) -> KeyRing:
        """The key ring as it is now."""
        if self.from_environment and self._ring is not None:
            return self._ring
        try:
            status = self.path.stat()
        except FileNotFoundError as error:
            raise KeysMissing(
                f"no vault keys: set KONTOR_VAULT_KEYS or run 'kontor keys create' (looked for {self.path})"
            ) from error
        stamp = (status.st_mtime_ns, status.st_ino)
        if self._ring is None or stamp != self._stamp:
            self._ring, self._stamp = _read_ring(self.path), stamp
        return self._ring


def create_ring(path: Path) -> bool:
    """Creates a key file with one new key; returns False if there is a file already, which is never overwritten."""
    if path.exists():
        return False
    write_ring(path, KeyRing("", {}).with_new_key())
    return True


def write_ring(path: Path, ring: KeyRing) -> None:
    """Replaces the key file in one step, readable by its owner alone."""
    keys = {key: base64.b64encode(value).decode() for key, value in ring.keys.items()}
    files.replace(path, json.dumps({"active": ring.active, "keys": keys}, indent=2).encode(), private=True)


def _read_ring(path: Path) -> KeyRing:
    try:
        content = json.loads(path.read_bytes())
        ring = KeyRing(content["active"], {key: base64.b64decode(value) for key, value in content["keys"].items()})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise KeysMissing(f"{path} holds no vault keys: restore it from a backup") from error
    if ring.active not in ring.keys:
        raise KeysMissing(f"{path} lacks the active vault key: restore it from a backup")
    return ring


def _parse_ring(value: str) -> KeyRing:
    """The ring of `id:base64,id:base64`; the first key is the active one."""
    keys: dict[str, bytes] = {}
    for entry in value.split(","):
        key_id, _, encoded = entry.strip().partition(":")
        try:
            key = base64.b64decode(encoded, validate=True)
        except ValueError:
            key = b""
        if not KEY_ID.fullmatch(key_id) or len(key) != KEY_BYTES:
            raise Invalid("KONTOR_VAULT_KEYS must be id:base64 pairs of 32-byte keys, separated by commas")
        keys[key_id] = key
    return KeyRing(next(iter(keys)), keys)


def _associated_data(context: tuple[str, ...]) -> bytes:
    """The context as bytes. Each part is preceded by its length, so that no two contexts give the same bytes."""
    return b"".join(len(part.encode()).to_bytes(4, "big") + part.encode() for part in context)
