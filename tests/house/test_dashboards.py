"""Every panel of the dashboards asks for metrics and labels that the house exports, and Grafana finds what is provisioned."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from tests.support.exported_metrics import exported, faults, selected

DEPLOY = Path(__file__).parents[2] / "deploy"
GRAFANA = DEPLOY / "grafana"
BOARDS = {path.stem: json.loads(path.read_text()) for path in sorted((GRAFANA / "dashboards").glob("*.json"))}
GRID_COLUMNS = 24


def panels(board: dict[str, Any]) -> list[dict[str, Any]]:
    return [panel for panel in board["panels"] if panel["type"] != "row"]


def expressions() -> Iterator[tuple[str, str]]:
    """The expressions of all panels, with a name for each."""
    for name, board in BOARDS.items():
        for panel in panels(board):
            for target in panel["targets"]:
                yield f"{name}: {panel['title']} {target['refId']}", target["expr"]


EXPRESSIONS = dict(expressions())


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_a_panel_asks_for_metrics_and_labels_that_exist(name: str) -> None:
    expression = EXPRESSIONS[name]
    assert faults(expression) == []
    assert all("job" in labels for _, labels in selected(expression)), "of one installation alone"


@pytest.mark.parametrize(
    ("expression", "fault"),
    [
        ("sum(kontor_request_total)", "kontor_request_total"),
        ('max(kontor_workers{mood="alive"})', "kontor_workers{mood}"),
        ("max by (provider) (kontor_workers)", "by (provider)"),
        ("rate(process_cpu_secnds_total[5m])", "process_cpu_secnds_total"),
        ("sum(kontor_workers", "parentheses"),
        ("vector(0)", "no metric"),
    ],
)
def test_an_expression_about_anything_else_is_noticed(expression: str, fault: str) -> None:
    assert faults(expression) == [fault]


def test_every_metric_is_on_a_dashboard() -> None:
    shown = {metric for expression in EXPRESSIONS.values() for metric, _ in selected(expression)}
    own = {metric for metric in exported() if metric.startswith("kontor_")}
    assert {metric for metric in own - shown if not metric.endswith("_created")} == set()


@pytest.mark.parametrize("name", BOARDS)
def test_a_dashboard_is_complete_and_no_panel_covers_another(name: str) -> None:
    board = BOARDS[name]
    assert (board["uid"], board["tags"]) == (f"kontor-{name}", ["kontor"])
    assert [variable["name"] for variable in board["templating"]["list"]] == ["datasource", "job"]
    ids = [panel["id"] for panel in board["panels"]]
    assert len(ids) == len(set(ids))
    cells: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= GRID_COLUMNS
        own_cells = {(place["x"] + column, place["y"] + row) for column in range(place["w"]) for row in range(place["h"])}
        assert not cells & own_cells, panel["title"]
        cells |= own_cells
    for panel in panels(board):
        assert panel["description"], panel["title"]
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        assert {target["datasource"]["uid"] for target in panel["targets"]} == {"${datasource}"}


def test_every_alert_is_named_by_a_panel_that_shows_its_metrics() -> None:
    rules = yaml.safe_load((DEPLOY / "prometheus" / "rules.yaml").read_text())
    alerts = {rule["alert"]: rule["expr"] for group in rules["groups"] for rule in group["rules"]}
    described = [
        (word.strip(".,:"), panel)
        for board in BOARDS.values()
        for panel in panels(board)
        for word in panel["description"].split()
        if word.startswith("Kontor")
    ]
    assert {alert for alert, _ in described} == set(alerts), "every alert has a panel that shows why"
    for alert, panel in described:
        shown = {metric for target in panel["targets"] for metric, _ in selected(target["expr"])}
        assert {metric for metric, _ in selected(alerts[alert])} <= shown, (alert, panel["title"])


def test_grafana_and_prometheus_find_what_they_are_given() -> None:
    services = yaml.safe_load((DEPLOY / "compose.monitoring.yaml").read_text())["services"]
    volumes = [volume.split(":") for service in services.values() for volume in service["volumes"]]
    places = {target: DEPLOY / source for source, target, *_ in volumes if source.startswith("./")}
    assert all(folder.is_dir() for folder in places.values())
    assert all(port.startswith("127.0.0.1:") for service in services.values() for port in service["ports"])
    provisioning = places["/etc/grafana/provisioning"]
    (provider,) = yaml.safe_load((provisioning / "dashboards" / "kontor.yaml").read_text())["providers"]
    assert places[provider["options"]["path"]] == GRAFANA / "dashboards"
    (source,) = yaml.safe_load((provisioning / "datasources" / "prometheus.yaml").read_text())["datasources"]
    assert source["url"] == "http://prometheus:9090"
    scrape = yaml.safe_load((places["/etc/prometheus"] / "prometheus.yaml").read_text())
    assert [config["job_name"] for config in scrape["scrape_configs"]] == ["kontor"]
    assert all((places["/etc/prometheus"] / name).exists() for name in scrape["rule_files"])
    (targets,) = scrape["scrape_configs"][0]["static_configs"]
    assert targets["targets"] == ["api:8000"], "the name of the service in deploy/compose.yaml"


@pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool on this machine")
def test_prometheus_itself_finds_no_fault(tmp_path: Path) -> None:
    """The rules, and all expressions of the dashboards as rules."""
    rules = [
        {"record": f"panel_{number}", "expr": expression.replace("$job", "kontor")}
        for number, expression in enumerate(EXPRESSIONS.values())
    ]
    path = tmp_path / "panels.yaml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    for command in (["rules", str(path)], ["config", str(DEPLOY / "prometheus" / "prometheus.yaml")]):
        run = subprocess.run(["promtool", "check", *command], capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
