"""The version of the code and tables that decide results.

Results of another version are stale and are computed again for every user. The version therefore follows what the code does, as
the compiler sees it: comments, docstrings and layout do not change it, and neither does code that no result depends on.
"""

import marshal
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import CodeType
from typing import Any

import analytics

ENTRY_POINTS = (
    "analytics.analyses.suite",
    "analytics.tagging.tag",
    "models.categoriser.model",
    "models.categoriser.pipeline_model",
    "models.categoriser.line_features",
    "models.categoriser.by_sign",
    "models.categoriser.temperature",
    "pipelines.results.documents.suite",
)
"""Results are computed by these modules and by all that they import."""
PACKAGES = ("analytics", "models", "pipelines")
ROOT = Path(analytics.__file__).parents[1]
MARSHAL_FORMAT = 2
"""Later formats write equal values in several ways, depending on which objects are shared."""


@cache
def code_version(root: Path = ROOT) -> str:
    """The digest of the modules and tables below `root` that decide results; takes a quarter of a second, once per process."""
    digest = sha256()
    for name, code in sorted(deciding_modules(root).items()):
        digest.update(marshal.dumps((name, _meaning(code)), MARSHAL_FORMAT))
    for table in sorted((root / "analytics").rglob("*.csv")):
        digest.update(table.relative_to(root).as_posix().encode() + b"\0" + table.read_bytes())
    return digest.hexdigest()


def deciding_modules(root: Path = ROOT) -> dict[str, CodeType]:
    """The compiled modules that the entry points reach by imports, by name."""
    paths = {_module_name(path.relative_to(root)): path for package in PACKAGES for path in (root / package).rglob("*.py")}
    codes: dict[str, CodeType] = {}
    names = set(ENTRY_POINTS)
    while names:
        name = names.pop()
        codes[name] = compile(paths[name].read_bytes(), name, "exec", dont_inherit=True, optimize=2)  # without docstrings
        parents = {name.rsplit(".", depth)[0] for depth in range(1, name.count(".") + 1)}
        names |= (parents | set(_imports(codes[name]))) & paths.keys() - codes.keys()
    return codes


def _module_name(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def _imports(code: CodeType) -> Iterator[str]:
    """The names of all modules that the code may import, also within functions, and some that are none: `from a import b` yields
    a and a.b.
    """
    modules = [name for name in code.co_names if name.startswith(PACKAGES)]
    yield from modules
    yield from (f"{module}.{name}" for module in modules for name in code.co_names)
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _imports(part)


def _meaning(code: CodeType) -> tuple[Any, ...]:
    """Everything that decides what the code does; neither its file nor its line numbers."""
    constants = [
        _meaning(value) if isinstance(value, CodeType) else sorted(map(repr, value)) if isinstance(value, frozenset) else value
        for value in code.co_consts
    ]
    arguments = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return code.co_name, code.co_code, code.co_exceptiontable, arguments, names, constants
