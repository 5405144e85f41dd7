"""The alerts are about metrics that exist, and somebody who is woken by one finds its section in the runbook."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from api.http import metrics
from warehouse.postgres.work_state import QUEUES, FetchTotal, QueueState, WorkState

ROOT = Path(__file__).parents[2]
RULES = [
    rule
    for group in yaml.safe_load((ROOT / "deploy" / "prometheus" / "rules.yaml").read_text())["groups"]
    for rule in group["rules"]
]
WORDS = re.compile(r"kontor_[a-z_]+")
HEADINGS = re.findall(r"^## (\S+)$", (ROOT / "docs" / "runbook.md").read_text(), re.MULTILINE)


def names() -> set[str]:
    """The names of all metrics, as Prometheus sees them."""
    queues = {queue: QueueState(queue) for queue in QUEUES}
    work = WorkState(1, 0, 1.0, queues, (FetchTotal("Demo", "fetched", 1, datetime.now(UTC)),))
    text = (metrics.exposition() + metrics.work_exposition({"database": 0}, work)).decode()
    declared = re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE)
    return {f"{name}_bucket" if kind == "histogram" else name for name, kind in declared}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule["alert"]))
def test_an_alert_is_complete_and_about_metrics_that_exist(rule: dict[str, Any]) -> None:
    assert rule.keys() == {"alert", "expr", "for", "labels", "annotations"}
    assert rule["labels"]["severity"] in ("page", "ticket")
    assert rule["annotations"]["runbook"] == f"docs/runbook.md#{rule['alert'].lower()}"
    assert set(WORDS.findall(rule["expr"])) <= names()
    assert rule["expr"].count("(") == rule["expr"].count(")")


def test_every_alert_has_a_section_in_the_runbook_and_every_section_an_alert() -> None:
    assert sorted(HEADINGS) == sorted(rule["alert"] for rule in RULES)
