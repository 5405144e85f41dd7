"""The only place that knows how loops over columns are compiled, and where the machine code is kept between starts.

Kernels take NumPy arrays and positions in them. With `NUMBA_BOUNDSCHECK=1` every access is checked (`make bounds`).
"""

import hashlib
import os
import re
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

from numba import config, njit

P = ParamSpec("P")
R = TypeVar("R")
_OPTIONS: Any = {"nogil": True, "error_model": "numpy"}
_INNER_OPTIONS: Any = {**_OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
_UNCOUNTED_OPTIONS: Any = {**_INNER_OPTIONS, "_nrt": False}
_SETTINGS: Any = config
_ROOT = Path(__file__).resolve().parents[2]
_IMPORTS = re.compile(r"^from ((?:analytics|models)[\w.]*) import (\([^)]*\)|.*)$", re.M)
_HOME_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
_CACHE_FOLDERS = (
    Path(__file__).parent / "__pycache__" / "kernels",
    _HOME_CACHE / "kontor" / hashlib.sha256(str(_ROOT).encode()).hexdigest()[:16],
)
"""Where machine code is kept: beside the source, or in the home folder if the source lies where nothing can be written."""
_SET_FOLDER = os.environ.get("NUMBA_CACHE_DIR", "")
"""Where machine code is kept instead, if that is set."""


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """The function as machine code, free of the interpreter's lock, and kept on disk between starts where that can be written."""
    folder = _cache_folder(Path(function.__code__.co_filename).resolve())
    if folder is None:  # each process compiles for itself
        return cast("Callable[P, R]", njit(**_OPTIONS)(function))
    default, _SETTINGS.CACHE_DIR = _SETTINGS.CACHE_DIR, str(folder)
    try:
        return cast("Callable[P, R]", njit(cache=True, **_OPTIONS)(function))
    finally:
        _SETTINGS.CACHE_DIR = default


def inner(function: Callable[P, R]) -> Callable[P, R]:
    """A part of compiled functions, which only they can call: it is kept inside them and compiled faster."""
    return cast("Callable[P, R]", njit(**_INNER_OPTIONS)(function))


def uncounted(function: Callable[P, R]) -> Callable[P, R]:
    """A part of compiled functions that makes no arrays: handing it some costs nothing, because references are not counted."""
    return cast("Callable[P, R]", njit(**_UNCOUNTED_OPTIONS)(function))


@cache
def _cache_folder(source: Path) -> Path | None:
    """The folder for the kernels of a file, named by the content of all files they are made of; `None` if none can be written.

    A kernel contains the kernels that it calls, while Numba looks only at the kernel's own file.
    """
    contents = _sources(source, {})
    if not contents:
        return None
    stamp = hashlib.sha256(b"".join(contents[path] for path in sorted(contents))).hexdigest()[:16]
    name = ".".join(source.relative_to(_ROOT).with_suffix("").parts) if source.is_relative_to(_ROOT) else source.stem
    for base in [Path(_SET_FOLDER)] if _SET_FOLDER else _CACHE_FOLDERS:
        folder = base / name / stamp
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            _remove_others(folder)
            return folder
    return None


def _remove_others(folder: Path) -> None:
    """Removes what was compiled from earlier contents of the same files."""
    for other in folder.parent.iterdir():
        if other != folder:
            shutil.rmtree(other, ignore_errors=True)


def _sources(path: Path, contents: dict[Path, bytes]) -> dict[Path, bytes]:
    """The file and all files of ours that it imports from, with their contents."""
    if path not in contents and path.is_file():
        contents[path] = path.read_bytes()
        for module, names in _IMPORTS.findall(contents[path].decode()):
            place = _ROOT.joinpath(*module.split("."))
            imported_names = re.findall(r"\w+", names)
            inside = [place / file for name in imported_names for file in (f"{name}.py", f"{name}/__init__.py")]
            for imported in (place.with_suffix(".py"), place / "__init__.py", *inside):
                _sources(imported, contents)
    return contents
