"""Where private texts might have got to: logs, metrics, everything that Dagster keeps, and the addresses that we give out."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import httpx

from tests.soak.house import House
from tests.soak.notes import Notes
from tests.support.searching import OF_THE_SERVER, SERVER_LOG, rows

RUN = re.compile(r"[a-z0-9]{8,}")
KEY = 8
ADDRESSES = "addresses that we gave out"
MEANT = {(ADDRESSES, "session"), (ADDRESSES, "own IBAN")}
"""The address of the form carries its session: that is how a browser comes to it. The id of a product is the bank's, and banks
take the IBAN: the address of a product carries it, to the tenant whose customer it belongs to.
"""


@dataclass(frozen=True)
class Place:
    """Somewhere that was searched: how much of it there was, and which kinds of private texts stand in it how often."""

    name: str
    characters: int
    found: Mapping[str, int]


def searched(house: House, notes: Notes) -> list[Place]:
    """All places, each with what was found; nothing is as it should be."""
    index = _index(notes.private)
    return [_place(name, content, index) for name, content in _places(house, notes)]


def _index(private: Mapping[str, set[str]]) -> dict[str, list[tuple[str, str]]]:
    """The last long word of each private text, which is its own, by its first letters: thousands are found in one pass."""
    index = defaultdict(list)
    for kind, texts in private.items():
        for text in texts:
            for word in RUN.findall(text.lower())[-1:]:
                index[word[:KEY]].append((word, kind))
    return index


def _place(name: str, content: str, index: Mapping[str, list[tuple[str, str]]]) -> Place:
    found: dict[str, int] = defaultdict(int)
    for run in RUN.findall(content.lower()):
        for start in range(len(run) - KEY + 1):
            for word, kind in index.get(run[start : start + KEY], ()):
                found[kind] += run.startswith(word, start) and (name, kind) not in MEANT
    return Place(name, len(content), {kind: times for kind, times in found.items() if times})


def _places(house: House, notes: Notes) -> Iterator[tuple[str, str]]:
    for log in sorted((house.home / "logs").glob("*.log")):
        yield f"log of {log.stem}", log.read_text(errors="replace")
    yield "log of PostgreSQL", (house.home / OF_THE_SERVER / SERVER_LOG).read_text(errors="replace")
    yield "metrics", httpx.get(f"{house.settings.base_url}/metrics", timeout=30, trust_env=False).text
    yield "Dagster's tables", "\n".join(content for _, content in rows(house.where.dagster))
    files = [path for path in (house.home / "dagster").rglob("*") if path.is_file()]
    yield "Dagster's files", "\n".join(path.read_text(errors="replace") for path in files)
    yield ADDRESSES, "\n".join(notes.addresses)
