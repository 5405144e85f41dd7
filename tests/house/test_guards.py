"""What must not stand in the code, the settings or the repository. What `make lint` finds (ruff) has no second test here."""

import math
import re
import subprocess
from collections import Counter
from ipaddress import ip_address
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

from warehouse.settings import Settings

ROOT = Path(__file__).parents[2]
CLOCKS = re.compile(r"datetime\.(utc)?now\(|date\.today\(|\btime\.time\(")
SHAPES = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----\s*(?:\\n)?[A-Za-z0-9+/]"  # a key, not only the words that mark one
    r"|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{36}|\bxox[abprs]-[A-Za-z0-9-]{10}|\bglpat-[A-Za-z0-9_-]{20}"
    r"|\bwhsec_[A-Za-z0-9+/]{32}|\beyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}\."
    r"|://[a-z_]+:[^@\s/{}$<*'\"]{6,}@(?!.*\.example)"
)
KEY = "PRIVATE KEY-----"
MARKS = ("AKIA", "gh", "xox", "glpat", "whsec_", "eyJ", "://")
KNOWN = {
    "whsec_ZGFzIGlzdCBlaW4gQmVpc3BpZWwgbWl0": "the example of the documentation, which says so in Base64",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz": "an alphabet",
    "KREF+": "texts of banks",
    "EREF+": "texts of banks",
}
WORD = re.compile(r"[A-Za-z0-9+/_-]{40,}={0,2}")
RANDOM_BITS = 4.6  # per character: what 256 random bits in Base64 have, and words of a language never
TEXTS = {".py", ".md", ".toml", ".yaml", ".yml", ".json", ".cfg", ".ini", ".sh", ".txt", ".html", ".css", ".js", ".csv", ""}


def tracked() -> list[Path]:
    """The files of the repository that are texts, without the locks, whose hashes look like secrets."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    paths = [ROOT / name for name in listed.stdout.splitlines()]
    return [path for path in paths if path.is_file() and path.suffix in TEXTS and not path.is_symlink()]


def bits(word: str) -> float:
    """How much chance lies in each character."""
    counts = Counter(word).values()
    return -sum(count / len(word) * math.log2(count / len(word)) for count in counts)


def is_random(word: str) -> bool:
    kinds = (r"[a-z]", r"[A-Z]", r"[0-9]")
    return all(re.search(kind, word) for kind in kinds) and bits(word) > RANDOM_BITS


def test_no_secret_lies_in_the_repository() -> None:
    found = []
    for path in tracked():
        text = path.read_text(errors="replace")
        marked = [line for line in text.splitlines() if any(mark in line for mark in MARKS)]
        secrets = SHAPES.findall(text if KEY in text else "\n".join(marked)) + [
            word for word in WORD.findall(text) if is_random(word)
        ]
        found += [(path.name, secret[:6]) for secret in secrets if not secret.startswith(tuple(KNOWN))]
    assert found == []


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("-----BEGIN " + "PRIVATE KEY-----\nMIIEvQIBADANBg", True),
        ("b'-----BEGIN PRIVATE KEY-----' in row", False),
        ("whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", True),
        ("postgresql://kontor:" + "geheim1234@db/kontor", True),
        ("postgresql://user:secret@db.example/kontor", False),
    ],
)
def test_secrets_are_known_by_their_shape(text: str, secret: bool) -> None:
    assert bool(SHAPES.search(text)) == secret


def test_chance_is_told_from_words() -> None:
    assert is_random("kQ3v9ZrT1xLw8Yb5Nc7H" + "s2Jd4Fg6Pm0AeRuIoVtXyBz")
    assert not is_random("0123456789abcdef" * 4)
    assert not is_random("test_a_secret_that_is_a_long_name_of_a_test_2026_A")


def test_no_store_asks_the_clock_of_its_process() -> None:
    """Machines differ by minutes: the clock of the database decides what has ended."""
    assert [path.name for path in (ROOT / "warehouse").rglob("*.py") if CLOCKS.search(path.read_text())] == []


def test_nothing_listens_beyond_this_machine_unless_told() -> None:
    settings = Settings()
    assert ip_address(settings.host).is_loopback
    assert ip_address(settings.dagster_host).is_loopback


def test_a_run_of_dagster_whose_process_died_is_noticed_and_tried_again() -> None:
    told = yaml.safe_load((ROOT / "dagster.yaml").read_text())
    assert told["run_monitoring"]["enabled"] is True
    assert told["run_monitoring"]["free_slots_after_run_end_seconds"] > 0
    assert (told["run_retries"]["enabled"], told["run_retries"]["max_retries"]) == (True, 2)
    assert told["telemetry"]["enabled"] is False
