"""What the service loads is what its lock installs: the development packages of this environment must not hide a missing one."""

import ast
import re
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("analytics", "models", "warehouse", "pipelines", "api")
OPTIONAL = {"dask", "distributed"}
"""What an extra brings, and what is loaded only where it is wanted."""


def locked(name: str) -> set[str]:
    """The distributions of a lock."""
    lines = (ROOT / name).read_text().splitlines()
    return {_normal(line.split("==")[0].split("[")[0]) for line in lines if "==" in line and not line.startswith((" ", "#"))}


def loaded() -> dict[str, str]:
    """The modules of others that our own load, each with a file that does."""
    found: dict[str, str] = {}
    for path in (path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                names = [node.module]
            found |= {name.split(".")[0]: str(path.relative_to(ROOT)) for name in names}
    return {name: where for name, where in found.items() if name not in {*PACKAGES, *sys.stdlib_module_names}}


def test_what_the_service_loads_is_in_its_lock() -> None:
    installed, lock = packages_distributions(), locked("requirements.lock")
    missing = {
        name: where
        for name, where in loaded().items()
        if name not in OPTIONAL and lock.isdisjoint(_normal(distribution) for distribution in installed.get(name, [name]))
    }
    assert missing == {}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.strip()).lower()
