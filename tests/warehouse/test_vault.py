"""The vault: sealed values open only where they belong, and keys rotate while the service runs."""

import base64
import json
import os
import stat
from pathlib import Path

import pytest
from sqlalchemy import select

from tests.support.stack import Stack
from warehouse.errors import Invalid, KeysMissing, NotFound, SealBroken
from warehouse.postgres.tables import SealedValue
from warehouse.secrets import certificates, sealed_values
from warehouse.secrets.vault import Vault, create_ring, write_ring
from warehouse.settings import Settings

PLACE = ("tenant", "access:1", "pin")


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    settings = Settings(home=tmp_path)
    create_ring(settings.keys_path)
    return Vault(settings)


def test_a_sealed_value_opens_for_its_place_alone(vault: Vault) -> None:
    key_id, sealed = vault.seal(b"12345", *PLACE)
    assert vault.open(key_id, sealed, *PLACE) == b"12345"
    assert b"12345" not in sealed
    for other in (
        ("tenant", "access:2", "pin"),
        ("tenant", "access:1", "tan"),
        ("other", "access:1", "pin"),
        ("tenanta", "ccess:1", "pin"),
    ):
        with pytest.raises(SealBroken):
            vault.open(key_id, sealed, *other)


def test_an_altered_value_does_not_open(vault: Vault) -> None:
    key_id, sealed = vault.seal(b"12345", *PLACE)
    for position in (0, 12, len(sealed) - 1):
        altered = bytearray(sealed)
        altered[position] ^= 1
        with pytest.raises(SealBroken):
            vault.open(key_id, bytes(altered), *PLACE)


def test_equal_values_are_sealed_differently(vault: Vault) -> None:
    assert vault.seal(b"x", *PLACE)[1] != vault.seal(b"x", *PLACE)[1]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can write for others")
def test_keys_that_root_has_rotated_can_still_be_read_by_the_service(vault: Vault) -> None:
    os.chown(vault.path, 65534, 65534)
    write_ring(vault.path, vault.ring().with_new_key())
    assert (vault.path.stat().st_uid, stat.S_IMODE(vault.path.stat().st_mode)) == (65534, 0o600)


def test_a_running_vault_follows_a_rotation_and_still_opens_old_values(vault: Vault) -> None:
    old_id, old = vault.seal(b"x", *PLACE)
    write_ring(vault.path, vault.ring().with_new_key())
    new_id, new = vault.seal(b"y", *PLACE)
    assert (old_id, new_id) == ("k1", "k2")
    assert (vault.open(old_id, old, *PLACE), vault.open(new_id, new, *PLACE)) == (b"x", b"y")
    write_ring(vault.path, vault.ring().without({"k1", "k2"}))
    assert set(vault.ring().keys) == {"k2"}, "the active key is never dropped"
    with pytest.raises(KeysMissing):
        vault.open(old_id, old, *PLACE)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'{"active": "k1"}', b'{"active": "k1", "keys": {}}'])
def test_a_damaged_key_file_says_what_to_do(vault: Vault, content: bytes) -> None:
    vault.path.write_bytes(content)
    with pytest.raises(KeysMissing, match="restore it from a backup"):
        vault.ring()


@pytest.mark.parametrize("length", [0, 3, 12, 20])
def test_a_truncated_value_is_a_broken_seal(vault: Vault, length: int) -> None:
    key_id, sealed = vault.seal(b"x", *PLACE)
    with pytest.raises(SealBroken):
        vault.open(key_id, sealed[:length], *PLACE)


def test_the_key_file_is_private_and_never_overwritten(vault: Vault) -> None:
    assert stat.S_IMODE(vault.path.stat().st_mode) == 0o600
    before = vault.path.read_text()
    assert create_ring(vault.path) is False
    assert vault.path.read_text() == before
    assert len(base64.b64decode(json.loads(before)["keys"]["k1"])) == 32


def test_keys_can_come_from_the_environment(tmp_path: Path) -> None:
    first, second = (base64.b64encode(bytes([number]) * 32).decode() for number in (1, 2))
    vault = Vault(Settings(home=tmp_path, vault_keys=f"new:{first}, old:{second}"))
    assert vault.seal(b"x", *PLACE)[0] == "new"
    assert not (tmp_path / "keys.json").exists()
    for wrong in ("", "x", f"a:{first[:-4]}", "a:not base64", f"a b:{first}"):
        with pytest.raises(Invalid):
            Vault(Settings(home=tmp_path, vault_keys=wrong))


def test_without_a_key_nothing_is_sealed(tmp_path: Path) -> None:
    with pytest.raises(KeysMissing, match="kontor keys create"):
        Vault(Settings(home=tmp_path)).seal(b"x", *PLACE)


def test_private_keys_lie_sealed_and_rotation_reseals_every_value(stack: Stack) -> None:
    tenant = stack.tenant()
    vault = stack.vault
    before = vault.ring().active
    with stack.database.acting_for(tenant.tenant_id) as owner:
        ciphertext = certificates.encrypt(certificates.current(owner).pem, b"pin")
        sealed_values.put(owner, vault, "access:1", "pin", b"12345")
        rows = owner.session.scalars(owner.rows(SealedValue)).all()
        assert len(rows) == 2
        assert not any(b"PRIVATE KEY" in row.sealed or b"12345" in row.sealed for row in rows)
    write_ring(vault.path, vault.ring().with_new_key())
    with stack.database.operating() as operator:
        while sealed_values.reseal_some(operator, vault):
            pass
        assert set(operator.session.scalars(select(SealedValue.key_id))) == {vault.ring().active} != {before}
    with stack.database.acting_for(tenant.tenant_id) as owner:
        assert sealed_values.get(owner, vault, "access:1", "pin") == b"12345"
        assert certificates.decrypt(owner, vault, ciphertext) == b"pin"
        sealed_values.remove(owner, "access:1")
        with pytest.raises(NotFound):
            sealed_values.get(owner, vault, "access:1", "pin")


def test_a_value_copied_to_another_row_does_not_open(stack: Stack) -> None:
    mine, other = stack.tenant(), stack.tenant()
    for tenant in (mine, other):
        with stack.database.acting_for(tenant.tenant_id) as owner:
            sealed_values.put(owner, stack.vault, "access:1", "pin", str(tenant.tenant_id).encode())
    stack.sql(
        "UPDATE sealed_values s SET sealed = o.sealed FROM sealed_values o "
        "WHERE s.tenant_id = :mine AND o.tenant_id = :other AND s.subject = 'access:1' AND o.subject = 'access:1'",
        mine=mine.tenant_id,
        other=other.tenant_id,
    )
    with stack.database.acting_for(mine.tenant_id) as owner, pytest.raises(SealBroken):
        sealed_values.get(owner, stack.vault, "access:1", "pin")
    with stack.database.acting_for(mine.tenant_id) as owner:  # a rotation of keys in another test would meet it
        sealed_values.remove(owner, "access:1")
