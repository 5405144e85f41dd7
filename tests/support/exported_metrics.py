"""All metrics of the house with their labels, as Prometheus sees them, and what an expression of PromQL asks of them."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache

from prometheus_client.parser import text_string_to_metric_families

from api.http import metrics
from pipelines.operations import Survey
from warehouse.postgres.server_state import ServerState
from warehouse.postgres.watched import Watched
from warehouse.postgres.work_state import QUEUES, FetchTotal, PausedBank, QueueState, WorkState
from warehouse.stores.fetches import DataAge, SlotFetches

NOW = datetime(2026, 11, 18, 3, tzinfo=UTC)
OF_PROMETHEUS = frozenset({"job", "instance"})
"""Labels that Prometheus itself gives to everything that it scrapes."""
STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"')
SELECTOR = re.compile(r"([a-zA-Z_:][\w:]*)\s*(\{[^}]*\})?")
GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
DURATIONS = re.compile(r"\[[^\]]*\]|\boffset \w+")
FUNCTIONS = frozenset(
    {"sum", "max", "min", "avg", "count", "topk", "rate", "increase", "histogram_quantile", "predict_linear", "time", "vector"}
)
OPERATORS = frozenset({"or", "and", "unless", "bool", "by", "without", "on", "ignoring", "offset"})


@cache
def exported() -> dict[str, frozenset[str]]:
    """The labels of each metric, by its name."""
    metrics.count_request("GET", "/health", 200, 0.1)
    metrics.TOKENS.labels("password")
    metrics.LOGIN_FAILURES.labels("password")
    metrics.DISK_USED.labels("home").set(0.5)
    work = WorkState(
        1,
        0,
        1.0,
        {queue: QueueState(queue) for queue in QUEUES},
        (FetchTotal("Demo", "fetched", 1, NOW),),
        (PausedBank("Demo", "BA1051", NOW, NOW),),
    )
    survey = Survey(
        SlotFetches(1, 0, 1), DataAge(1, 0, NOW), ServerState(1, 100, 1, 0.0), Watched(1.0, 1.0, 0, 0, 1, 0), {"analysed": NOW}
    )
    text = (metrics.exposition() + metrics.work_exposition({"database": 0}, work, survey)).decode()
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {"up": OF_PROMETHEUS} | {sample.name: frozenset(sample.labels) | OF_PROMETHEUS for sample in samples}


def selected(expression: str) -> Iterator[tuple[str, frozenset[str]]]:
    """The names of the metrics in an expression of PromQL, each with the labels by which it is selected."""
    plain = DURATIONS.sub("", GROUPING.sub("", STRINGS.sub("''", expression)))
    for name, selector in SELECTOR.findall(plain):
        if name not in FUNCTIONS | OPERATORS:
            yield name, frozenset(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", selector))


def grouped(expression: str) -> frozenset[str]:
    """The labels by which an expression of PromQL groups."""
    lists = GROUPING.findall(STRINGS.sub("''", expression))
    return frozenset(name for names in lists for name in re.findall(r"\w+", names))


def faults(expression: str) -> list[str]:
    """What an expression of PromQL asks of metrics that the house does not export."""
    exported_labels = exported()
    selections = list(selected(expression))
    strangers = [name for name, _ in selections if name not in exported_labels]
    if strangers or not selections:
        return strangers or ["no metric"]
    own_labels = frozenset.union(*(exported_labels[name] for name, _ in selections))
    return [
        *(f"{name}{{{label}}}" for name, labels in selections for label in sorted(labels - exported_labels[name])),
        *(f"by ({label})" for label in sorted(grouped(expression) - own_labels)),
        *(["parentheses"] if expression.count("(") != expression.count(")") else []),
    ]
