"""Compiling once after an installation or update."""

import os
from pathlib import Path

import pytest

from pipelines import warm_up
from pipelines.results import live


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[None]:
    """One entry for each time that everything was compiled, in an installation of one source file."""
    times: list[None] = []
    source = tmp_path / "analytics" / "native.py"
    source.parent.mkdir()
    source.write_text("x = 1")
    monkeypatch.setattr(warm_up, "ROOT", tmp_path)
    monkeypatch.setattr(warm_up, "__file__", str(tmp_path / "warm_up.py"))
    monkeypatch.setattr(live, "prepare", lambda: times.append(None))
    return times


def test_it_compiles_once_and_again_after_an_update(compilations: list[None], tmp_path: Path) -> None:
    assert [warm_up.warm_up(), warm_up.warm_up()] == [True, False]
    os.utime(tmp_path / "analytics" / "native.py", ns=(0, 0))
    assert [warm_up.warm_up(), warm_up.warm_up()] == [True, False]
    assert len(compilations) == 2


def test_another_folder_of_compiled_code_is_filled_too(compilations: list[None], monkeypatch: pytest.MonkeyPatch) -> None:
    warm_up.warm_up()
    monkeypatch.setenv("NUMBA_CACHE_DIR", "elsewhere")
    assert warm_up.warm_up()
    assert len(compilations) == 2
