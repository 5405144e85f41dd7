"""Compiled functions: where they are kept, and that a checked build refuses what lies outside an array."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from analytics.native import compiling
from analytics.native.compiling import compiled

ROOT = Path(__file__).parents[2]
OUTSIDE = """
import numpy as np
from analytics.native.characters import byte
from analytics.native.compiling import compiled

@compiled
def read(text, i):
    return byte(text, i)

print(read(np.arange(3, dtype=np.uint8), {position}))
"""


@compiled
def _total(numbers: NDArray[np.int64]) -> int:
    total = 0
    for number in numbers:
        total += number
    return total


def test_machine_code_is_kept_in_a_folder_named_by_what_it_is_made_of() -> None:
    assert _total(np.array([1, 2, 3])) == 6
    folder = compiling._cache_folder(Path(__file__).resolve())
    assert folder is not None
    assert any(folder.rglob("*.nbi"))


def test_a_folder_changes_with_the_sources_of_called_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    caller, called = tmp_path / "analytics" / "caller.py", tmp_path / "analytics" / "called.py"
    caller.parent.mkdir()
    caller.write_text("from analytics.called import kernel\n")
    called.write_text("one\n")
    monkeypatch.setattr(compiling, "_ROOT", tmp_path)
    monkeypatch.setattr(compiling, "_CACHE_FOLDERS", (tmp_path / "cache",))
    monkeypatch.setattr(compiling, "_SET_FOLDER", "")
    first = compiling._cache_folder.__wrapped__(caller)
    called.write_text("two\n")
    second = compiling._cache_folder.__wrapped__(caller)
    assert second is not None
    assert first != second
    assert [folder.name for folder in second.parent.iterdir()] == [second.name]


def test_packages_imported_by_name_belong_to_the_sources() -> None:
    sources = compiling._sources(ROOT / "analytics" / "bank_text" / "lines.py", {})
    assert ROOT / "analytics" / "bank_text" / "sepa" / "tags.py" in sources


def test_where_nothing_can_be_written_each_process_compiles_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "_CACHE_FOLDERS", (Path("/proc/none"),))
    monkeypatch.setattr(compiling, "_SET_FOLDER", "")
    assert compiling._cache_folder.__wrapped__(Path(__file__).resolve()) is None


@pytest.mark.parametrize("position", [3, -1])
def test_a_checked_build_refuses_a_position_outside(position: int) -> None:
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "PYTHONPATH": str(ROOT)}
    child = subprocess.run(
        [sys.executable, "-c", OUTSIDE.format(position=position)], capture_output=True, text=True, env=environment, check=False
    )
    assert child.returncode == 1
    assert "IndexError" in child.stderr
