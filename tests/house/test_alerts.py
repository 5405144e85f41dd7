"""The alerts are about metrics that exist, and somebody who is woken by one finds its section in the runbook."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from tests.support.exported_metrics import faults

ROOT = Path(__file__).parents[2]
RULES = [
    rule
    for group in yaml.safe_load((ROOT / "deploy" / "prometheus" / "rules.yaml").read_text())["groups"]
    for rule in group["rules"]
]
HEADINGS = re.findall(r"^## (\S+)$", (ROOT / "docs" / "runbook.md").read_text(), re.MULTILINE)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule["alert"]))
def test_an_alert_is_complete_and_about_metrics_that_exist(rule: dict[str, Any]) -> None:
    assert rule.keys() == {"alert", "expr", "for", "labels", "annotations"}
    assert rule["labels"]["severity"] in ("page", "ticket")
    assert rule["annotations"]["runbook"] == f"docs/runbook.md#{rule['alert'].lower()}"
    assert faults(rule["expr"]) == []


def test_every_alert_has_a_section_in_the_runbook_and_every_section_an_alert() -> None:
    assert sorted(HEADINGS) == sorted(rule["alert"] for rule in RULES)
