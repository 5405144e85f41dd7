"""Files that are replaced as a whole."""

import os
from pathlib import Path

import pytest

from warehouse import files


def test_a_file_is_made_with_its_folders_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "note"
    files.replace(path, b"old")
    files.replace(path, b"new")
    assert path.read_bytes() == b"new"
    assert [entry.name for entry in path.parent.iterdir()] == ["note"]


def test_a_private_file_is_its_owners_alone(tmp_path: Path) -> None:
    files.replace(tmp_path / "keys", b"secret", private=True)
    files.replace(tmp_path / "note", b"public")
    assert (tmp_path / "keys").stat().st_mode & 0o777 == 0o600
    umask = os.umask(0)
    os.umask(umask)
    assert (tmp_path / "note").stat().st_mode & 0o777 == 0o666 & ~umask


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_root_writes_belongs_to_the_owner_of_the_folder_or_the_old_file(tmp_path: Path) -> None:
    os.chown(tmp_path, 4711, 4712)
    path = tmp_path / "keys"
    files.replace(path, b"1", private=True)
    assert (path.stat().st_uid, path.stat().st_gid) == (4711, 4712)
    os.chown(path, 4713, 4714)
    files.replace(path, b"2", private=True)
    assert (path.stat().st_uid, path.stat().st_gid) == (4713, 4714)


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    files.replace(tmp_path / "note", b"old")
    with pytest.raises(TypeError):
        files.replace(tmp_path / "note", "no bytes")  # type: ignore[arg-type]
    assert [(entry.name, entry.read_bytes()) for entry in tmp_path.iterdir()] == [("note", b"old")]
