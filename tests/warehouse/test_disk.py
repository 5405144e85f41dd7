"""How full disks are, and what a full one must not break."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from warehouse.runtime import disk, logs
from warehouse.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(_env_file=None, home=tmp_path)


def test_every_place_with_data_is_looked_at(settings: Settings) -> None:
    usages = disk.usages(settings)
    assert [usage.place for usage in usages] == ["home", "lake", "postgres"]
    assert all(0 < usage.share_used < 1 and usage.free <= usage.total for usage in usages)


def test_a_database_elsewhere_has_its_own_watch(tmp_path: Path) -> None:
    settings = Settings(_env_file=None, home=tmp_path, database_url="postgresql://elsewhere/kontor")
    assert "postgres" not in disk.places(settings)


def test_the_embedded_database_is_watched_by_processes_that_know_only_its_address(tmp_path: Path) -> None:
    (tmp_path / "postgres").mkdir()
    settings = Settings(_env_file=None, home=tmp_path, database_url="postgresql:///kontor?host=/folder")
    assert disk.places(settings)["postgres"] == tmp_path / "postgres"


def test_a_place_without_room_is_named(settings: Settings) -> None:
    assert disk.full_places(settings) == []
    assert disk.full_places(settings.model_copy(update={"disk_reserve_bytes": 2**62})) == ["home", "lake", "postgres"]


def test_a_place_with_little_room_is_warned_of(settings: Settings) -> None:
    assert disk.warnings(settings.model_copy(update={"disk_warning_share": 1.0})) == []
    (home, *_) = disk.warnings(settings.model_copy(update={"disk_warning_share": 0.0001}))
    assert home.startswith("home: ")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no disk that is always full")
def test_a_log_line_that_cannot_be_written_fails_nothing() -> None:
    with open("/dev/full", "wb", buffering=0) as full:
        with pytest.raises(OSError) as failed:
            full.write(b"line")
        assert failed.value.errno == errno.ENOSPC
        logs.Lines(full.fileno()).write(b"line")


def test_after_half_a_line_a_new_one_begins(tmp_path: Path) -> None:
    """A limit on the size of files stands in for the last bytes of a disk: both write a part and say how much it was."""
    script = (
        "import os, resource, signal, sys; from warehouse.runtime.logs import Lines\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND); lines = Lines(file)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (8, resource.RLIM_INFINITY))\n"
        "lines.write(b'one line\\n'); lines.write(b'none\\n')\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2); lines.write(b'another\\n')\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "log")], check=True)
    assert (tmp_path / "log").read_bytes().splitlines() == [b"one line", b"another"]
