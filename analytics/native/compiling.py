"""Compiled loops over columns: where one pass over the bytes replaces dozens of expressions.

Here belong the compiler's decorator and the reading and writing of memory by address: handing arrays from function to function
costs more than the work on a word, because each hand-over counts references. An address is good as long as the caller holds
the array; nothing here checks it. A part of a kernel takes addresses whole: the sum of an address and a multiple of a number
that turns out to be the constant 0 may be taken for an address beside null, and what is read from there for nothing.
"""

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
from llvmlite import ir
from numba import config, njit, types
from numba.core.caching import InTreeCacheLocator, UserWideCacheLocator
from numba.extending import intrinsic, typeof_impl

P = ParamSpec("P")
R = TypeVar("R")
_LOCATORS = "CACHE_LOCATOR_CLASSES"
_INSIDE: Any = {"nogil": True, "error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """The function as machine code, free of the interpreter's lock, and kept on disk between starts where that can be written."""
    usual = getattr(config, _LOCATORS)
    setattr(config, _LOCATORS, f"{__name__}.BesideSource,{__name__}.InHome")
    try:
        return cast("Callable[P, R]", njit(cache=True, nogil=True, error_model="numpy")(function))
    except RuntimeError:  # nowhere to write: each process compiles for itself
        return cast("Callable[P, R]", njit(nogil=True, error_model="numpy")(function))
    finally:
        setattr(config, _LOCATORS, usual)


def inner(function: Callable[P, R]) -> Callable[P, R]:
    """A part of compiled functions, which only they can call: it is kept inside them and compiled faster."""
    return cast("Callable[P, R]", njit(**_INSIDE)(function))


_usual_type = typeof_impl.dispatch(np.ndarray)


@typeof_impl.register(np.ndarray)
def _array_type(array: Any, context: Any) -> Any:
    """The type of an array, whether it may be written or not: Polars gives both for the same column, and each would have a
    machine code of its own. A kernel writes only to what its caller has made for it.
    """
    return _usual_type(array, context).copy(readonly=False)


def _reader(kind: types.Type, result: types.Type) -> Callable[[int], int]:
    def read(context: Any, address: Any) -> Any:  # noqa: ARG001
        def code(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
            integer = target.get_value_type(kind)
            value = builder.load(builder.inttoptr(arguments[0], integer.as_pointer()), typ=integer, align=1)
            return builder.zext(value, target.get_value_type(result))

        return result(types.int64), code

    return cast("Callable[[int], int]", intrinsic(read))


def _writer(kind: types.Type) -> Callable[[int, int], None]:
    def write(context: Any, address: Any, value: Any) -> Any:  # noqa: ARG001
        def code(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
            integer = target.get_value_type(kind)
            builder.store(arguments[1], builder.inttoptr(arguments[0], integer.as_pointer()), align=1)
            return ir.Constant(ir.IntType(8).as_pointer(), None)

        return types.void(types.int64, kind), code

    return cast("Callable[[int, int], None]", intrinsic(write))


peek, peek32, peek64 = (_reader(kind, types.int64) for kind in (types.uint8, types.uint32, types.int64))
peek_word = cast("Callable[[int], np.uint64]", _reader(types.uint64, types.uint64))
poke, poke64 = _writer(types.uint8), _writer(types.int64)


class _Stamped:
    """A kernel contains the kernels that it calls, so what is kept holds only while none of their files has changed."""

    _py_file: str

    def get_source_stamp(self) -> str:
        sources = _sources(Path(self._py_file).resolve(), {})
        return hashlib.sha256(b"".join(sources[path] for path in sorted(sources))).hexdigest()


class BesideSource(_Stamped, InTreeCacheLocator):
    """Kept beside the source."""


class InHome(_Stamped, UserWideCacheLocator):
    """Kept in the home folder, where the source lies in a folder that cannot be written."""


def _sources(path: Path, found: dict[Path, bytes]) -> dict[Path, bytes]:
    """The file and all files of ours that it imports from, with their contents."""
    if path not in found and path.is_file():
        found[path] = path.read_bytes()
        for module, names in _IMPORTS.findall(found[path].decode()):
            place = _ROOT.joinpath(*module.split("."))
            inside = [place / f"{name}.py" for name in re.findall(r"\w+", names)]
            for imported in (place.with_suffix(".py"), place / "__init__.py", *inside):
                _sources(imported, found)
    return found


_ROOT = Path(__file__).resolve().parents[2]
_IMPORTS = re.compile(r"^from ((?:analytics|models)[\w.]*) import (\([^)]*\)|.*)$", re.M)
