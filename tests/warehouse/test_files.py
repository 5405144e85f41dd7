"""Files that are replaced as a whole."""

import os
from pathlib import Path

import pytest

from models.categoriser.file import write_atomically
from tests.support.stack import Stack
from warehouse.lake.storage import Storage
from warehouse.runtime import files


def test_a_file_is_made_with_its_folders_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "note"
    files.replace(path, b"old")
    files.replace(path, b"new")
    assert path.read_bytes() == b"new"
    assert [entry.name for entry in path.parent.iterdir()] == ["note"]


def test_a_folder_is_its_owners_alone_and_one_that_exists_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir(mode=0o755)
    (tmp_path / "shared").chmod(0o755)
    umask = os.umask(0)
    try:
        files.make_folder(tmp_path / "shared" / "a" / "b")
        write_atomically(tmp_path / "models" / "deep" / "active", b"1")
        Storage.of(str(tmp_path / "lake" / "of")).prepare()
    finally:
        os.umask(umask)
    made = ("shared/a", "shared/a/b", "models", "models/deep", "lake", "lake/of")
    assert {name: oct((tmp_path / name).stat().st_mode & 0o777) for name in made} == dict.fromkeys(made, "0o700")
    assert (tmp_path / "shared").stat().st_mode & 0o777 == 0o755


def test_all_folders_of_a_running_service_are_its_owners_alone(stack: Stack) -> None:
    folders = [Path(where) for where, _, _ in os.walk(stack.home) if not Path(where).is_relative_to(stack.home / "postgres")]
    assert "lake" in {folder.name for folder in folders}
    modes = {str(folder): oct(folder.stat().st_mode & 0o777) for folder in folders if folder.parent == stack.home}
    assert modes == dict.fromkeys(modes, "0o700")
    passing = 0o011 if os.geteuid() == 0 else 0  # then the server of the database is another user's, who passes through
    assert stack.home.stat().st_mode & 0o777 == 0o700 | passing


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
    files.make_folder(tmp_path / "lake" / "part")
    assert {(folder.stat().st_uid, folder.stat().st_gid) for folder in (tmp_path / "lake", tmp_path / "lake" / "part")} == {
        (4711, 4712)
    }
    os.chown(path, 4713, 4714)
    files.replace(path, b"2", private=True)
    assert (path.stat().st_uid, path.stat().st_gid) == (4713, 4714)


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    files.replace(tmp_path / "note", b"old")
    with pytest.raises(TypeError):
        files.replace(tmp_path / "note", "no bytes")  # type: ignore[arg-type]
    assert [(entry.name, entry.read_bytes()) for entry in tmp_path.iterdir()] == [("note", b"old")]
