"""What comes out of a soak: tables to read, and a file to keep."""

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from rich.table import Table
from rich.text import Text

from tests.soak.disturbers import DISABLED_STAYS_OUT, ENABLING_REVIVES_NOTHING, SLOW_READERS_END
from tests.soak.endings import DELIVERIES_PASS
from tests.soak.kills import API_WORKER, FULL_DISK, JOB_WORKER, POSTGRES, STUCK_WORKER, Kill
from tests.soak.leaks import Place
from tests.soak.notes import Loss, Notes
from tests.soak.watching import Life

AFTER_SECONDS = {API_WORKER: 20.0, POSTGRES: 25.0, JOB_WORKER: 75.0, STUCK_WORKER: 30.0, FULL_DISK: 75.0}
"""For how long after a kill answers may be lost: until a new API worker has loaded, for as long as requests wait for the
database, and until a request that waited for a job of a dead worker has timed out."""
EXCUSES = {
    "503": (POSTGRES, FULL_DISK),
    "504": (POSTGRES, JOB_WORKER, FULL_DISK),
    "429": (API_WORKER, STUCK_WORKER, POSTGRES, JOB_WORKER, FULL_DISK),
}
"""What excuses which loss."""
EXCUSES_OF_BROKEN_LINES = (API_WORKER, STUCK_WORKER)
REPLACED_SECONDS = 10.0
BACK_SECONDS = 45.0
FLAT = "memory and handles are flat"
MUST = (
    "accesses as made",
    "all can be read in the end",
    "bookings as written",
    "categories as chosen",
    "rules as made",
    "users as made",
    "ended users stay away",
    "payments as told",
    "ends of payments stay",
    "the bank hears of it once",
    "a webhook's number is one event's",
    "webhooks have no gaps",
    "webhooks are signed",
    "delivered webhooks have arrived",
    "nothing is half or doubled",
    "everything comes to an end",
    "Dagster comes to an end with fresh results",
    SLOW_READERS_END,
    DISABLED_STAYS_OUT,
    ENABLING_REVIVES_NOTHING,
    DELIVERIES_PASS,
)
"""What must have been looked at: a soak in which there was nothing to look at shows nothing."""
WRITES = MUST[:7]
ORDERS = ("payments as told", "ends of payments stay", "the bank hears of it once")
HALF_RESULTS = ("nothing is half or doubled", "Dagster comes to an end with fresh results")


@dataclass(frozen=True)
class Soaked:
    """All that one soak gave."""

    notes: Notes
    kills: Sequence[Kill]
    lives: Sequence[Life]
    places: Sequence[Place]
    restarts: Sequence[tuple[float, str, int]]
    facts: dict[str, Any]

    @property
    def verdicts(self) -> dict[str, list[str]]:
        """What must hold, each with the reasons why it does not."""
        found: dict[str, list[str]] = {
            "no 5xx but 503 and 504": [
                f"{operation}: {status}"
                for operation, status in self.notes.statuses
                if status >= 500 and status not in (503, 504)
            ],
            "answers are lost only after a kill": [
                f"{loss.operation}: {loss.what}" for loss in self.notes.losses if not self._is_excused(loss)
            ],
            "what was killed comes back": [
                f"{kill.kind}: {(kill.back_seconds and round(kill.back_seconds)) or 'never'}"
                for kill in self.kills
                if (kill.back_seconds or 1e9) > BACK_SECONDS
            ],
            "a stuck API worker is replaced within 10 s": [
                f"{(kill.back_seconds and round(kill.back_seconds)) or 'never'}"
                for kill in self.kills
                if kill.kind == STUCK_WORKER and (kill.back_seconds or 1e9) > REPLACED_SECONDS
            ],
            FLAT: [
                f"{life.kind}: {life.rise_mebibytes:+.1f} MiB, {life.rise_handles:+.1f} handles"
                for life in self.lives
                if life.judged and not life.flat
            ],
            "nothing private anywhere": [
                f"{place.name}: {times} × {kind}" for place in self.places for kind, times in place.found.items()
            ],
            "nothing else ends by itself": [f"{name} ended with {code}" for _, name, code in self.restarts if code != -9],
        }
        for what in MUST:
            found.setdefault(what, [] if self.looked_at(what) else ["never looked at"])
        for failure in self.notes.failures:
            found.setdefault(failure.what, []).append(failure.details)
        return found

    def looked_at(self, what: str) -> int:
        """How often something that must hold was looked at."""
        if what == FLAT:
            return sum(life.judged for life in self.lives)
        return self.notes.checked.get(what, 0) if what in MUST else 1  # the others are counted in any case

    @property
    def holds(self) -> bool:
        return not any(self.verdicts.values())

    def _is_excused(self, loss: Loss) -> bool:
        by = EXCUSES.get(loss.what, EXCUSES_OF_BROKEN_LINES)
        return any(
            kill.kind in by and 0 <= loss.at - kill.at <= kill.lasted_seconds + AFTER_SECONDS[kill.kind] for kill in self.kills
        )


def tables(soaked: Soaked) -> list[Table]:
    return [
        _summary(soaked),
        _requests(soaked),
        _writes(soaked),
        _kills(soaked),
        _lives(soaked),
        _places(soaked),
        _verdicts(soaked),
    ]


def summary(soaked: Soaked) -> dict[str, int]:
    """The numbers that a reader asks for first; all but the first and the last must be 0."""
    reasons = Counter({what: len(found) for what, found in soaked.verdicts.items()})
    statuses: Counter[int] = Counter()
    for (_, status), times in soaked.notes.statuses.items():
        statuses[status] += times
    return {
        "kills": len(soaked.kills),
        "acknowledged writes lost": sum(reasons[what] for what in WRITES),
        "orders twice": sum(reasons[what] for what in ORDERS),
        "half results": sum(reasons[what] for what in HALF_RESULTS),
        "queues not drained": reasons["everything comes to an end"],
        "5xx but 503 and 504": sum(times for status, times in statuses.items() if status >= 500 and status not in (503, 504)),
        "504 by the time limit": statuses[504],
    }


def _summary(soaked: Soaked) -> Table:
    shown = _table("Summary", "what", "number")
    for what, number in summary(soaked).items():
        shown.add_row(what, str(number))
    return shown


def _requests(soaked: Soaked) -> Table:
    shown = _table("Requests", "operation", "answers", "p50 ms", "p95 ms", "lost", "statuses")
    lost = Counter(loss.operation for loss in soaked.notes.losses)
    for operation, seconds in sorted(soaked.notes.seconds.items()):
        of_it = {status: times for (name, status), times in soaked.notes.statuses.items() if name == operation}
        statuses = " ".join(f"{status}×{times}" for status, times in sorted(of_it.items()))
        values = (f"{median(seconds) * 1000:.0f}", f"{_p95(seconds) * 1000:.0f}", str(lost[operation]), statuses)
        shown.add_row(operation, str(len(seconds)), *values)
    everything = [second for seconds in soaked.notes.seconds.values() for second in seconds]
    if everything:
        times = (f"{median(everything) * 1000:.0f}", f"{_p95(everything) * 1000:.0f}", str(len(soaked.notes.losses)))
        shown.add_row("all", str(len(everything)), *times, f"{len(everything) / soaked.facts['seconds']:.1f} per second")
    return shown


def _p95(seconds: Sequence[float]) -> float:
    return quantiles(seconds, n=20)[-1] if len(seconds) > 1 else seconds[0]


def _writes(soaked: Soaked) -> Table:
    shown = _table("Writes", "kind", "acknowledged", "answer lost")
    for kind in sorted({*soaked.notes.written, *soaked.notes.unsure}):
        shown.add_row(kind, str(soaked.notes.written[kind]), str(soaked.notes.unsure[kind]))
    return shown


def _kills(soaked: Soaked) -> Table:
    shown = _table("Kills", "kind", "times", "back after s (median)", "at worst")
    for kind, kills in _by_kind(soaked.kills).items():
        back = [kill.back_seconds or float("inf") for kill in kills]
        shown.add_row(kind, str(len(kills)), f"{median(back):.1f}", f"{max(back):.1f}")
    return shown


def _by_kind(kills: Sequence[Kill]) -> dict[str, list[Kill]]:
    found = defaultdict(list)
    for kill in sorted(kills, key=lambda kill: kill.kind):
        found[kill.kind].append(kill)
    return found


def _lives(soaked: Soaked) -> Table:
    shown = _table("Memory and handles after warm-up", "process", "seconds", "MiB", "rise MiB", "… late", "handles", "rise", "")
    for life in soaked.lives:
        memory = (f"{life.mebibytes:.0f}", f"{life.rise_mebibytes:+.1f}", f"{life.rise_late_mebibytes:+.1f}")
        handles = (f"{life.handles:.0f}", f"{life.rise_handles:+.1f}")
        verdict = ("flat" if life.flat else "RISES") if life.judged else "not judged"
        shown.add_row(life.kind, f"{life.seconds:.0f}", *memory, *handles, verdict)
    return shown


def _places(soaked: Soaked) -> Table:
    count = sum(map(len, soaked.notes.private.values()))
    shown = _table(f"Searched for {count:,} private texts", "place", "characters", "found")
    for place in soaked.places:
        found = ", ".join(f"{times} × {kind}" for kind, times in place.found.items())
        shown.add_row(place.name, f"{place.characters:,}", found or "nothing")
    return shown


def _verdicts(soaked: Soaked) -> Table:
    shown = _table("What must hold", "what", "looked at", "")
    for what, reasons in sorted(soaked.verdicts.items()):
        several = Counter(reasons).most_common(4)
        told = "\n".join(f"{reason} ({times} times)" if times > 1 else reason for reason, times in several)
        looked = soaked.looked_at(what)
        good = "holds" if looked else "not judged: too short"
        shown.add_row(
            what,
            f"{looked:,}" if what in soaked.notes.checked else "",
            f"[red]no: {len(reasons)}[/]\n{told}" if reasons else good,
        )
    return shown


def _table(title: str, *columns: str) -> Table:
    shown = Table(title=title, title_justify="left", padding=(0, 0))
    for number, name in enumerate(columns):
        shown.add_column(name, justify="left" if number in (0, len(columns) - 1) else "right", overflow="fold")
    return shown


def _markdown(table: Table) -> str:
    """A table as the documentation shows it."""
    columns = [
        [str(column.header) or " ", *(Text.from_markup(str(cell)).plain for cell in column.cells)] for column in table.columns
    ]
    head, *lines = [
        "| " + " | ".join(cell.replace("\n", "; ").replace("|", "/") for cell in row) + " |" for row in zip(*columns, strict=True)
    ]
    return "\n".join([f"**{table.title}**", "", head, "|---" * len(columns) + "|", *lines, ""])


def write(path: Path, soaked: Soaked) -> None:
    """The same as a file to compare, and beside it as tables for the documentation."""
    path.parent.mkdir(exist_ok=True)
    path.with_suffix(".md").write_text("\n".join(map(_markdown, tables(soaked))))
    notes = soaked.notes
    contents = {
        **soaked.facts,
        "holds": soaked.holds,
        "summary": summary(soaked),
        "verdicts": soaked.verdicts,
        "requests": {
            operation: {"answers": len(seconds), "p50_ms": round(median(seconds) * 1000), "p95_ms": round(_p95(seconds) * 1000)}
            for operation, seconds in notes.seconds.items()
        },
        "statuses": {f"{operation} {status}": times for (operation, status), times in notes.statuses.items()},
        "losses": [{**asdict(loss), "at": round(loss.at - notes.began, 1)} for loss in notes.losses],
        "written": notes.written,
        "unsure": notes.unsure,
        "checked": notes.checked,
        "kills": [{**asdict(kill), "at": round(kill.at - notes.began, 1)} for kill in soaked.kills],
        "lives": [{**asdict(life), "flat": life.flat} for life in soaked.lives],
        "searched": [asdict(place) for place in soaked.places],
    }
    path.write_text(json.dumps(contents, indent=1, ensure_ascii=False))
