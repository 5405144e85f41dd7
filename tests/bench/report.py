"""What comes out: the summary of each case, as tables to read and as a file to compare.

Only ratios within one run are claims: machines differ, and the same machine differs from minute to minute. Even ratios are
none while other programs want the same cores: a case with more processes, as those with a database, then gets a larger share.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median, quantiles

from rich.table import Table

from tests.bench import analyses, lists, memory, tagging, work
from tests.bench.seeding import LONG_LIST


@dataclass(frozen=True)
class Result:
    """A case over all rounds: the median of its ratio, and the quartiles between which half of the ratios lie."""

    name: str
    ratio: float
    ratio_low: float
    ratio_high: float


@dataclass(frozen=True)
class Requests(Result):
    """A case, beside the bare route."""

    requests_per_second: float


@dataclass(frozen=True)
class Rows(Result):
    """A work, beside the reading of what is stored."""

    rows_per_second: float
    rows_written: int
    growth_mebibytes: float


@dataclass(frozen=True)
class Lists(Result):
    """Long lists at the same time, beside one alone. Memory is that of the first round: later ones find what it left behind."""

    rows_per_second: float
    first_byte_ms: float
    answer_mebibytes: float
    growth_mebibytes: float
    ratio_growth_to_answers: float
    health_worst_ms: float
    ratio_health_to_quiet: float


@dataclass(frozen=True)
class Tagging(Result):
    """Tagging beside another tool: how many times as fast, per second of processor time."""

    rows_per_cpu_second: float


@dataclass(frozen=True)
class Analysed(Result):
    """An analysis beside something else, both in bookings per second."""

    rows_per_second: float
    other_rows_per_second: float


@dataclass(frozen=True)
class Results:
    """All that one run gives."""

    cases: list[Requests]
    ready: list[Requests]
    lists: list[Lists]
    work: list[Rows]
    tagging: list[Tagging]
    tagged: dict[str, float]
    analyses: list[Analysed]
    analysed: dict[str, float]


def summarise_requests(rates: Mapping[str, Sequence[float]], bare: str) -> list[Requests]:
    """The results of all cases from their rates in each round."""
    return [
        Requests(*_compared(name, values, rates[bare]), requests_per_second=round(median(values), 1))
        for name, values in rates.items()
    ]


def summarise_lists(found: Sequence[lists.Measured]) -> list[Lists]:
    """The results of long lists; the first is one alone."""
    return [_list(one, found[0]) for one in found]


def summarise_work(found: Sequence[work.Measured]) -> list[Rows]:
    """The results of all works; the first is what they are compared with."""
    return [
        Rows(
            *_compared(one.work.name, one.rows_per_second, found[0].rows_per_second),
            rows_per_second=round(median(one.rows_per_second)),
            rows_written=one.work.writes,
            growth_mebibytes=round(one.growth_mebibytes, 1),
        )
        for one in found
    ]


def summarise_tagging(found: tagging.Measured) -> list[Tagging]:
    """Every pair of one of our ways and one of the other tools."""
    ours, others = (tagging.COLD, tagging.COLD_TWICE, tagging.CACHED), (tagging.IMPORTER, tagging.PIPELINE)
    return [
        Tagging(
            *_compared(f"{way} to {other}", found.rates[way], found.rates[other]),
            rows_per_cpu_second=round(median(found.rates[way])),
        )
        for way in ours
        for other in others
    ]


def summarise_tagged(found: tagging.Measured) -> dict[str, float]:
    """What was tagged, and what it took."""
    return {
        "rows": found.rows,
        "distinct_lines": found.distinct,
        "ratio_rows_to_distinct_lines": round(found.rows / found.distinct, 2),
        "growth_mebibytes": round(found.growth_mebibytes, 1),
    }


def summarise_analyses(found: analyses.Measured) -> list[Analysed]:
    """Every pair of which both were measured."""
    rates = found.rates
    return [
        Analysed(
            *_compared(f"{case} to {other}", rates[case], rates[other]),
            rows_per_second=round(median(rates[case])),
            other_rows_per_second=round(median(rates[other])),
        )
        for case, other in analyses.PAIRS
        if case in rates and other in rates
    ]


def spread(rates: Sequence[float]) -> float:
    """How far the quartiles of these rates lie apart, as a share of their median."""
    low, middle, high = quantiles(rates, n=4, method="inclusive")
    return round((high - low) / middle, 4)


def tables(results: Results) -> list[Table]:
    """The results to read."""
    return [
        _requests_table(results.cases, "the bare route"),
        _requests_table(results.ready, "a bare route of our app that checks the token"),
        _lists_table(results.lists),
        _work_table(results.work),
        _tagging_table(results.tagging, results.tagged),
        _analyses_table(results.analyses, results.analysed),
    ]


def write(path: Path, results: Results, facts: Mapping[str, object]) -> None:
    """Writes the results to a file, with the facts under which they were measured."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({**facts, **asdict(results)}, indent=2) + "\n")


def _compared(name: str, rates: Sequence[float], measure: Sequence[float]) -> tuple[str, float, float, float]:
    """A name, and the ratios of its rates to what they are measured by, round by round."""
    ratios = [rate / beside for rate, beside in zip(rates, measure, strict=True)]
    low, _, high = quantiles(ratios, n=4, method="inclusive")
    return name, round(median(ratios), 4), round(low, 4), round(high, 4)


def _list(one: lists.Measured, alone: lists.Measured) -> Lists:
    answer, growth, worst = one.answer_bytes / memory.MEBIBYTE, one.growth_mebibytes[0], max(one.worst_seconds)
    return Lists(
        *_compared(f"{one.at_once} at once", one.rows_per_second, alone.rows_per_second),
        rows_per_second=round(median(one.rows_per_second)),
        first_byte_ms=round(median(one.first_byte_seconds) * 1000, 1),
        answer_mebibytes=round(answer, 1),
        growth_mebibytes=round(growth, 1),
        ratio_growth_to_answers=round(growth / (answer * one.at_once), 3),
        health_worst_ms=round(worst * 1000, 1),
        ratio_health_to_quiet=round(worst / median(one.quiet_seconds), 1),
    )


def _requests_table(results: Sequence[Requests], measure: str) -> Table:
    shown = _table(f"Requests per second, and their ratio to {measure}", "requests/s", "ratio", "IQR of the ratio")
    for result in results:
        shown.add_row(result.name, f"{result.requests_per_second:,.1f}", f"{result.ratio:.4f}", _quartiles(result))
    return shown


def _lists_table(results: Sequence[Lists]) -> Table:
    columns = (
        "rows/s",
        "ratio",
        "first\nbyte",
        "an\nanswer",
        "peak\nmemory",
        "… to\nanswers",
        "/health\nat worst",
        "… to\nquiet",
    )
    shown = _table(f"Lists of {LONG_LIST:,} bookings: rows per second, and their ratio to one alone", *columns)
    for result in results:
        shown.add_row(
            result.name,
            f"{result.rows_per_second:,}",
            f"{result.ratio:.2f}",
            f"{result.first_byte_ms} ms",
            f"{result.answer_mebibytes} MiB",
            f"+{result.growth_mebibytes} MiB",
            f"{result.ratio_growth_to_answers:.3f}",
            f"{result.health_worst_ms} ms",
            f"{result.ratio_health_to_quiet:.1f}",
        )
    return shown


def _work_table(results: Sequence[Rows]) -> Table:
    columns = ("rows/s", "ratio", "IQR of the ratio", "rows\nwritten", "peak\nmemory")
    shown = _table("Work: rows per second, and their ratio to reading what is stored", *columns)
    for result in results:
        values = (f"{result.rows_per_second:,}", f"{result.ratio:.3f}", _quartiles(result, 3), f"{result.rows_written:,}")
        shown.add_row(result.name, *values, f"+{result.growth_mebibytes} MiB")
    return shown


def _tagging_table(results: Sequence[Tagging], tagged: Mapping[str, float]) -> Table:
    title = (
        f"Tagging {tagged['rows']:,} bookings ({tagged['ratio_rows_to_distinct_lines']} for each distinct line, "
        "twice as many where it says so, "
        f"peak memory +{tagged['growth_mebibytes']:,} MiB): rows per second of processor time, and how many times the other's"
    )
    shown = _table(title, "rows/s/core", "times", "IQR of the times")
    for result in results:
        shown.add_row(result.name, f"{result.rows_per_cpu_second:,}", f"{result.ratio:.0f}", _quartiles(result, 0))
    return shown


def _analyses_table(results: Sequence[Analysed], facts: Mapping[str, float]) -> Table:
    about = ", ".join(f"{name.replace('_', ' ')} {value:,}" for name, value in facts.items())
    shown = _table(f"Analyses: bookings per second, and their ratio to the other ({about})", "rows/s", "other", "ratio", "IQR")
    for result in results:
        rates = (f"{result.rows_per_second:,}", f"{result.other_rows_per_second:,}", f"{result.ratio:.4g}")
        shown.add_row(result.name, *rates, _quartiles(result))
    return shown


def _table(title: str, *columns: str) -> Table:
    shown = Table(title=title, title_justify="left", padding=(0, 0))
    shown.add_column("case")
    for name in columns:
        shown.add_column(name, justify="right")
    return shown


def _quartiles(result: Result, digits: int = 4) -> str:
    return f"{result.ratio_low:.{digits}f} to {result.ratio_high:.{digits}f}"
