"""The rules for names: a name says which thing it holds, and means one thing in the whole house."""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("analytics", "models", "warehouse", "pipelines", "api")
PARTICIPLES = frozenset(
    (
        "asked",
        "awaited",
        "become",
        "begun",
        "brought",
        "built",
        "chosen",
        "counted",
        "done",
        "drawn",
        "found",
        "given",
        "gone",
        "got",
        "had",
        "heard",
        "held",
        "joined",
        "judged",
        "kept",
        "known",
        "laid",
        "looked",
        "made",
        "meant",
        "met",
        "named",
        "paid",
        "placed",
        "said",
        "seen",
        "sent",
        "shown",
        "sought",
        "spent",
        "stored",
        "taken",
        "thought",
        "told",
        "tried",
        "wanted",
        "wished",
        "written",
    )
)
"""Words that say what happened to a thing and not which thing it is."""
STAND_INS = frozenset(("foo", "it", "obj", "stuff", "thing", "things", "tmp", "what", "whatever"))
SHORT_FUNCTION_LINES = 6
"""In so short a function the reader sees what a name holds."""
MAX_SHARE = 0.003
MAX_MODULES = 25
WIDEST = {"warehouse/stores": 30, "api/cli": 32, "api/routes": 30, "pipelines/banks/fints": 26}


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = ast.parse(path.read_text())
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def bindings(node: ast.AST) -> Iterator[str]:
    """The parameters and assigned names in a part of the code."""
    for part in ast.walk(node):
        if isinstance(part, ast.arg):
            yield part.arg
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part.id


def sources(package: str) -> list[Path]:
    return [path for path in sorted((ROOT / package).rglob("*.py")) if "versions" not in path.parts]


@pytest.mark.parametrize("package", PACKAGES)
def test_names_in_longer_functions_say_which_thing_they_hold(package: str) -> None:
    vague = [
        f"{path.relative_to(ROOT)}:{function.lineno} {function.name}: {name}"
        for path in sources(package)
        for function in functions(path)
        if (function.end_lineno or 0) - function.lineno + 1 > SHORT_FUNCTION_LINES
        for name in sorted(set(bindings(function)) & (PARTICIPLES | STAND_INS))
    ]
    assert vague == []


def test_hardly_any_name_is_a_bare_participle() -> None:
    names = Counter(name for package in PACKAGES for path in sources(package) for name in bindings(ast.parse(path.read_text())))
    participles = {name: count for name, count in names.items() if name in PARTICIPLES}
    assert sum(participles.values()) < MAX_SHARE * names.total(), participles


def test_every_public_class_name_means_one_thing() -> None:
    places = defaultdict(list)
    for package in PACKAGES:
        for path in sources(package):
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places[node.name].append(path.relative_to(ROOT).as_posix())
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_the_face_of_a_package_holds_no_code(package: str) -> None:
    """Only its docstring, imports, and the list of what it exports. `analytics` sets what Polars reads when it is loaded."""
    allowed = (ast.Import, ast.ImportFrom, ast.Expr)
    for path in sources(package):
        if path.name != "__init__.py" or path == ROOT / "analytics" / "__init__.py":
            continue
        statements = [node for node in ast.parse(path.read_text()).body if not isinstance(node, allowed)]
        exports = [node for node in statements if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"]
        assert statements == exports, path.relative_to(ROOT)


def test_folders_stay_small_enough_to_look_through() -> None:
    """A folder with more modules holds two subjects. Stores are one file an aggregate, commands one a group: of one subject."""
    folders = [path for package in PACKAGES for path in (ROOT / package).rglob("*") if path.is_dir() and path.name != "versions"]
    modules = {path.relative_to(ROOT).as_posix(): len(list(path.glob("*.py"))) for path in folders}
    assert {folder: count for folder, count in modules.items() if count > WIDEST.get(folder, MAX_MODULES)} == {}
