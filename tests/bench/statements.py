"""Reading a CAMT file of 100,000 lines, beside `lxml` that parses the same file and walks over its elements.

Both are measured in one process, in turns, in seconds of the processor. The rows that were read are checked.
"""

import json
import os
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Annotated

import typer
from lxml import etree
from rich.console import Console

from pipelines.statements.reading import read
from tests.bench import memory
from tests.pipelines.statements.rendering import Line, camt, german_iban

RESULTS = Path(__file__).resolve().parents[2] / "bench" / "statements.json"
MAX_RATIO = 10.0
"""At most so many times the seconds of walking."""
console = Console()


class OutputDiffers(Exception):
    """Something else was read than was written: no result."""


def main(
    lines: Annotated[int, typer.Option(min=1000, help="Lines of the file.")] = 100_000,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds; each gives one ratio.")] = 3,
) -> None:
    """Measure reading a CAMT file as a ratio to walking it."""
    history = [_line(number) for number in range(lines)]
    content = camt(history, "08")
    read(camt(history[:100], "08"))
    ratios, rates, growths = [], [], []
    for _ in range(rounds):
        walking = _seconds(lambda: _walk(content))
        before = memory.held(os.getpid())
        with memory.peak(os.getpid()) as peak:
            reading = _seconds(lambda: _check(content, history))
        ratios.append(reading / walking)
        rates.append(lines / reading)
        growths.append(peak.mebibytes - before)
    facts = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "lines": lines,
        "megabytes": round(len(content) / 1e6, 1),
        "ratio_reading_to_walking": round(median(ratios), 2),
        "lines_per_second": round(median(rates)),
        "growth_mebibytes": round(max(growths), 1),
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(facts, indent=2) + "\n")
    console.print(facts)
    if facts["ratio_reading_to_walking"] > MAX_RATIO:  # type: ignore[operator]
        raise typer.Exit(1)


def _line(number: int) -> Line:
    """One of many payments, no two of them equal."""
    day = date(2026, 1, 1) + timedelta(days=number // 300)
    other = german_iban(f"370400440{number % 1000:09}")
    text, reference = f"Rechnung {number} vom {day}", f"E{number:012}"
    name, mandate = f"Beispiel und Söhne GmbH {number % 1000}", f"M{number % 1000}"
    cents = -(number % 99_991) - 1
    return Line(day, day, cents, name, other, "COBADEFFXXX", text, reference, mandate, "", "LASTSCHRIFT", "105", "9248")


def _walk(content: bytes) -> None:
    count = sum(1 for _ in etree.fromstring(content, etree.XMLParser(huge_tree=True)).iter())
    if count == 0:
        raise OutputDiffers


def _check(content: bytes, history: list[Line]) -> None:
    (statement,) = read(content, max_bytes=len(content))
    if statement.bookings.height != len(history) or statement.differences:
        raise OutputDiffers


def _seconds(work: Callable[[], None]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


if __name__ == "__main__":
    typer.run(main)
