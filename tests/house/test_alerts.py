"""The alerts are about metrics that exist, and somebody who is woken by one finds its section in the runbook."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from tests.support.exported_metrics import faults

ROOT = Path(__file__).parents[2]
RULES_FILE = ROOT / "deploy" / "prometheus" / "rules.yaml"
RULES = [rule for group in yaml.safe_load(RULES_FILE.read_text())["groups"] for rule in group["rules"]]
CASES = yaml.safe_load((ROOT / "tests" / "house" / "alerts.yaml").read_text())
SLOW = "KontorModelDrifts"
HEADINGS = re.findall(r"^## (\S+)$", (ROOT / "docs" / "runbook.md").read_text(), re.MULTILINE)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule["alert"]))
def test_an_alert_is_complete_and_about_metrics_that_exist(rule: dict[str, Any]) -> None:
    assert rule.keys() == {"alert", "expr", "for", "labels", "annotations"}
    assert rule["labels"]["severity"] in ("page", "ticket")
    assert rule["annotations"]["runbook"] == f"docs/runbook.md#{rule['alert'].lower()}"
    assert faults(rule["expr"]) == []


def test_every_alert_has_a_section_in_the_runbook_and_every_section_an_alert() -> None:
    assert sorted(HEADINGS) == sorted(rule["alert"] for rule in RULES)


def test_every_alert_has_a_case() -> None:
    assert sorted(CASES["fires"]) == sorted(rule["alert"] for rule in RULES)


@pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool on this machine")
def test_each_alert_fires_in_its_case_and_none_where_all_is_well(tmp_path: Path) -> None:
    names = [rule["alert"] for rule in RULES]
    quiet = [{"eval_time": "540m", "alertname": name, "exp_alerts": []} for name in names]
    tests: list[dict[str, Any]] = [{"interval": "1m", "input_series": CASES["well"], "alert_rule_test": quiet}]
    tests += [
        {
            "name": name,
            "interval": "10m" if name == SLOW else "1m",
            "input_series": [{"series": series, "values": values} for series, values in CASES["fires"][name].items()],
            "promql_expr_test": [
                {
                    "expr": f'count(ALERTS{{alertname="{name}", alertstate="firing"}})',
                    "eval_time": "10800m" if name == SLOW else "540m",
                    "exp_samples": [{"labels": "{}", "value": 1}],
                }
            ],
        }
        for name in names
    ]
    path = tmp_path / "alerts.yaml"
    path.write_text(yaml.safe_dump({"rule_files": [str(RULES_FILE)], "evaluation_interval": "10m", "tests": tests}))
    run = subprocess.run(["promtool", "test", "rules", str(path)], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
