"""Results become stale when what decides them changes, and by nothing else."""

from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

from analytics import knowledge
from pipelines.results.version import PACKAGES, ROOT, code_version, deciding_modules

UNCHANGED = [
    ("analytics/tagging/tag.py", '"""', '"""Another first sentence. '),
    ("analytics/tagging/tag.py", "\ndef ", "\n# Another comment.\n\n\ndef "),
    ("analytics/tagging/tag.py", "\n    return ", "\n    # Another comment.\n\n    return "),
    ("pipelines/results/documents/suite.py", '    """', '    """Another first sentence. '),
    ("analytics/knowledge_checks/rules.py", "import ", "import sys, "),
    ("models/simulator/simulation.py", "import ", "import sys, "),
]
CHANGED = [
    ("analytics/tagging/tag.py", "return ", "return not "),
    ("analytics/analyses/suite.py", "return ", "return not "),
    ("models/categoriser/scoring.py", "return ", "return not "),
    ("pipelines/results/documents/json_text.py", "return ", "return not "),
    ("analytics/trees/tables/categories.csv", "\n", "\nx"),
    ("analytics/analyses/contracts/period_priors.csv", "\n", "\nx"),
    ("analytics/knowledge/tables/rules.csv", "\n", "\nx"),
]


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("code")
    for package in PACKAGES:
        copytree(ROOT / package, root / package, ignore=ignore_patterns("__pycache__"))
    return root


def version_with(root: Path, path: str, old: str, new: str) -> str:
    """The version while the first occurrence of a text in a file is another one."""
    file = root / path
    text = file.read_text()
    assert old in text
    try:
        file.write_text(text.replace(old, new, 1))
        code_version.cache_clear()
        return code_version(root)
    finally:
        file.write_text(text)


def test_the_same_code_has_the_same_version_wherever_it_lies(copied: Path) -> None:
    assert code_version(copied) == code_version()


@pytest.mark.parametrize(("path", "old", "new"), UNCHANGED)
def test_descriptions_and_code_that_decides_nothing_change_no_version(copied: Path, path: str, old: str, new: str) -> None:
    assert version_with(copied, path, old, new) == code_version()


@pytest.mark.parametrize(("path", "old", "new"), CHANGED)
def test_expressions_and_rows_change_the_version(copied: Path, path: str, old: str, new: str) -> None:
    assert version_with(copied, path, old, new) != code_version()


def test_everything_that_writes_documents_decides_results() -> None:
    documents = (ROOT / "pipelines/results/documents").glob("[!_]*.py")
    assert {f"pipelines.results.documents.{path.stem}" for path in documents} <= deciding_modules().keys()


def test_the_version_of_knowledge_follows_its_tables(copied: Path) -> None:
    folder = copied / "analytics" / "knowledge"
    before = knowledge.version(folder)
    assert before == knowledge.version()
    (folder / "catalogue.py").write_text("")
    knowledge.version.cache_clear()
    assert knowledge.version(folder) == before
    for table in (folder / "tables" / "rules.csv", folder / "measured" / "measured.csv"):
        table.write_text(table.read_text() + "x\n")
        knowledge.version.cache_clear()
        assert knowledge.version(folder) != before
        before = knowledge.version(folder)
