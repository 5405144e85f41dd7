"""The file of a model: a numpy archive (`.npz`) of plain arrays and one JSON text. Reading it runs no code and trusts no header.

Here are bytes and limits. The meaning of the arrays is in `models.categoriser.model`.
"""

import io
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from models.errors import ModelUnreadable

FORMAT = 2
READABLE_FORMATS = (1, FORMAT)
ABOUT = "about"
PIPELINE_ARRAYS = frozenset({"pipeline"})
"""The arrays of a model that is a pipeline of scikit-learn."""
MAX_ARRAY_BYTES = 256 * 1024 * 1024
MAX_TEXT_BYTES = 1024 * 1024
_DTYPES = frozenset({"|i1", "|u1", "<f4"})
_READ_ERRORS = (
    OSError,
    ValueError,
    KeyError,
    EOFError,
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    NotImplementedError,
    RuntimeError,
)


def write(path: Path, about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Writes a model atomically. The same content gives the same bytes."""
    text = json.dumps({"format": FORMAT, **about}, ensure_ascii=False, sort_keys=True).encode()
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **{ABOUT: np.frombuffer(text, np.uint8), **arrays})
    write_atomically(path, buffer.getvalue())


def write_atomically(path: Path, content: bytes) -> None:
    """Replaces a file as a whole: after a crash it has the old content or the new one."""
    for folder in reversed([path.parent, *path.parent.parents]):
        if not folder.is_dir():
            folder.mkdir(mode=0o700, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def names(path: Path) -> frozenset[str]:
    """The names of the arrays in a model file, which tell its kind; none if it is no archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            return frozenset(name.removesuffix(".npy") for name in archive.namelist()) - {ABOUT}
    except _READ_ERRORS:
        return frozenset()


def read(path: Path, arrays_of_kind: frozenset[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The JSON and the arrays of a model file that has exactly these arrays."""
    try:
        with zipfile.ZipFile(path) as archive:
            stored_names = {name.removesuffix(".npy") for name in archive.namelist()}
            if stored_names != arrays_of_kind | {ABOUT} or len(archive.namelist()) != len(stored_names):
                raise ModelUnreadable(f"{path.name}: not the arrays of a model")
            arrays = {name: _array(archive, f"{name}.npy") for name in sorted(stored_names)}
        about = json.loads(arrays.pop(ABOUT).tobytes()[:MAX_TEXT_BYTES])
    except _READ_ERRORS as error:
        raise ModelUnreadable(f"{path.name}: {type(error).__name__} while reading") from error
    if not isinstance(about, dict) or about.get("format") not in READABLE_FORMATS:
        file_format = about.get("format") if isinstance(about, dict) else None
        raise ModelUnreadable(f"{path.name}: format {file_format}, not one of {READABLE_FORMATS}")
    return about, arrays


def _array(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """One array. Its header is checked before memory of the size it claims is allocated."""
    with archive.open(name) as file:
        version = npy.read_magic(file)
        if version != (1, 0):
            raise ModelUnreadable(f"{name}: version {version}")
        shape, by_column, kind = npy.read_array_header_1_0(file, max_header_size=1000)
        size = int(np.prod(shape, dtype=object)) * kind.itemsize
        if kind.str not in _DTYPES or by_column or not 1 <= len(shape) <= 2 or min(shape) < 0 or size > MAX_ARRAY_BYTES:
            raise ModelUnreadable(f"{name}: {kind.str} of {shape}")
        content = file.read(size + 1)
    if len(content) != size:
        raise ModelUnreadable(f"{name}: {len(content)} bytes instead of {size}")
    return np.frombuffer(content, kind).reshape(shape)
