"""Credit risk over HTTP, and its calibration with the outcomes of one tenant: no other tenant ever sees it."""

import csv
import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import httpx
import polars as pl
import pytest
from typer.testing import CliRunner

from analytics.analyses.credit_risk import scorecard
from analytics.analyses.credit_risk.scorecard import version
from api.cli import app
from models.credit_risk import versions
from models.credit_risk.calibration import Calibration
from pipelines.assets.credit_risk import credit_risk_calibration, credit_risk_probability
from pipelines.context import Context
from pipelines.results import calibration
from tests.models.test_credit_risk import outcomes
from tests.support.stack import Customer, Stack, TenantUnderTest
from warehouse.errors import Invalid, KontorError
from warehouse.settings import Settings

PATH = "/ai/credit-risk/"
CARD = scorecard()
DAY = date(2026, 11, 13)
SAID = {"by": "eva", "why": "a test"}


@pytest.fixture(scope="module")
def customer(stack: Stack) -> Customer:
    """A customer of a tenant of its own."""
    found = stack.tenant().customer()
    found.connected("demo1")
    return found


@pytest.fixture
def environment(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in stack.told.items():
        monkeypatch.setenv(name, value)


def kontor(*arguments: str) -> Any:
    result = CliRunner().invoke(app, ["credit-risk", *arguments, "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


def put_into_use(tenant: TenantUnderTest, **change: Any) -> Calibration:
    """A calibration of the tenant that knows a single signal."""
    about: dict[str, Any] = {
        "version": "2026-11-13-made",
        "tenant": str(tenant.tenant_id),
        "calibrated_on": DAY,
        "scorecard": version(),
        "intercept": -1.0,
        "weights": {"seizure_payments": -2.0},
        "max_points": {signal.name: signal.max_points for signal in CARD.signals},
        "left_out": {},
        "outcomes": 1000,
        "defaults": 100,
        "figures": {"auc": {"value": 0.75, "low": 0.7, "high": 0.8}},
        "bins": [],
        "objections": [],
    }
    made = Calibration.model_validate({**about, **change})
    folder = versions.tenant_folder(tenant.stack.home, tenant.tenant_id)
    versions.add(folder, made)
    versions.promote(folder, made.version, by="eva", at=datetime.now(UTC), why="a test")
    return made


def take_out_of_use(tenant: TenantUnderTest) -> None:
    folder = versions.tenant_folder(tenant.stack.home, tenant.tenant_id)
    versions.roll_back(folder, "none", by="eva", at=datetime.now(UTC), why="a test")


def signal_file(path: Path, count: int = 600) -> Path:
    """A file of outcomes with the values of all signals: for each point of `outcomes` a value that gives it."""
    drawn = outcomes(count)
    value_of = {
        signal.name: {
            range_.points: "" if range_ is signal.missing else max(range_.lower, -1.0) for range_ in reversed(signal.all_ranges)
        }
        for signal in CARD.signals
    }
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["outcome", *CARD.names])
        for row in drawn.iter_rows(named=True):
            writer.writerow([row["outcome"], *(value_of[name][row[name]] for name in CARD.names)])
    return path


def test_anonymous_and_the_wrong_scope(http: httpx.Client, r1: TenantUnderTest) -> None:
    assert http.get(f"/customer/v2{PATH}").status_code == 401
    assert http.get(f"/customer/v2{PATH}", headers=r1.bearer()).status_code == 403


def test_the_points_add_up_and_it_is_no_probability(customer: Customer) -> None:
    answer = customer.read(PATH)
    details = answer["details"]
    assert answer["tagTreeItem"]["systemName"] == f"CREDITRISK_{details['riskClass']}"
    assert [signal["signal"] for signal in details["signals"]] == list(CARD.names)
    assert sum(signal["points"] for signal in details["signals"]) == details["score"]
    assert details["calibration"] is None
    assert "keine Ausfallwahrscheinlichkeit" in details["notice"]
    assert details["amountSurplus"] == pytest.approx(details["amountIncome"] - details["amountExpenses"])
    assert details["stress"]["incomeLess20"]["score"] <= details["stress"]["incomeLess10"]["score"] <= details["score"]


def test_the_tree_has_five_classes(http: httpx.Client, customer: Customer) -> None:
    items = http.get("/tags/v1/tags/tag-trees/14/tag-tree-items/", headers=customer.bearer).json()
    assert [item["systemName"] for item in items] == [f"CREDITRISK_{name}" for name in "ABCDE"]


def test_a_calibrated_tenant_gets_a_probability_and_no_other_does(stack: Stack, http: httpx.Client, customer: Customer) -> None:
    other = stack.tenant().customer()
    other.connected("demo1")
    before = customer.get(PATH)
    made = put_into_use(customer.tenant)
    after = customer.get(PATH)
    assert after.headers["ETag"] != before.headers["ETag"]
    assert customer.get(PATH, headers={"If-None-Match": before.headers["ETag"]}).status_code == 200
    assert customer.get(PATH, headers={"If-None-Match": after.headers["ETag"]}).status_code == 304
    told, points = after.json()["details"], {signal["signal"]: signal["points"] for signal in after.json()["details"]["signals"]}
    assert told["calibration"] == {
        "probabilityOfDefault": round(made.probability(points), 4),
        "version": made.version,
        "calibratedOn": "2026-11-13",
        "outcomes": 1000,
        "defaults": 100,
        "auc": 0.75,
    }
    assert {**told, "calibration": None} == before.json()["details"]
    assert other.read(PATH)["details"]["calibration"] is None
    sent = {"user": "a", "provider": "p", "product": "k", "tenant": "t", "verwendungszweck": "Gehalt", "betrag": 2000}
    months = [{**sent, "buchungsdatum": f"2026-{month:02}-01 00:00:00", "id": str(month)} for month in range(1, 11)]
    body = {"asOf": "2026-11-01", "transactions": months}
    analysed = [http.post("/ai/v1/analyses", json=body, headers=who.bearer).json()["creditRisk"] for who in (customer, other)]
    assert [bool(each["details"]["calibration"]) for each in analysed] == [True, False]
    take_out_of_use(customer.tenant)
    assert customer.get(PATH).content == before.content


@pytest.mark.parametrize("change", [{"scorecard": "another"}, {"tenant": "11111111-1111-4111-8111-111111111111"}])
def test_a_calibration_that_does_not_fit_is_not_applied(customer: Customer, change: dict[str, str]) -> None:
    tenant = customer.tenant
    made = put_into_use(tenant, version=f"2026-11-13-{next(iter(change))}")
    path = versions.tenant_folder(tenant.stack.home, tenant.tenant_id) / f"{made.version}.json"
    path.write_text(made.model_copy(update=change).model_dump_json())
    answer = customer.get(PATH)
    assert (answer.status_code, answer.json()["details"]["calibration"]) == (200, None)
    take_out_of_use(tenant)


def test_signals_of_an_outcome_are_those_of_its_day(stack: Stack, customer: Customer) -> None:
    today = date.today()
    days = [today - timedelta(days=45), today - timedelta(days=400)]
    rows = [{"user": name, "observed_on": day, "outcome": 0} for name in (customer.username, "nobody") for day in days]
    rows.append({"user": customer.username, "observed_on": date(2001, 1, 1), "outcome": 1})
    found = calibration.points_of(stack.database, customer.tenant.tenant_id, pl.DataFrame(rows))
    assert (found.unknown_users, found.without_history) == (2, 1)
    assert found.points["person"].to_list() == [str(customer.user_id)] * 2
    for day, points in zip(days, found.points.select(CARD.names).iter_rows(named=True), strict=True):
        details = customer.read(PATH, params={"asOf": str(day)})["details"]
        assert {signal["signal"]: signal["points"] for signal in details["signals"]} == points


def test_users_of_another_tenant_are_unknown(stack: Stack, customer: Customer) -> None:
    rows = [{"user": customer.username, "observed_on": date.today(), "outcome": 0}]
    found = calibration.points_of(stack.database, stack.tenant().tenant_id, pl.DataFrame(rows))
    assert (found.points.height, found.unknown_users) == (0, 1)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("user,outcome\nanna,1\n", "neither the columns"),
        ("user,observed_on,outcome\n", "0 outcomes"),
        ("user,observed_on,outcome\nanna,2026-01-01,2\n", "line 2: outcome is neither"),
        ("user,observed_on,outcome\nanna,2026-01-01,1\nanna,gestern,1\n", "line 3: a day"),
        ("user,observed_on,outcome\nanna,2999-01-01,1\n", "future"),
        ("user,observed_on,outcome\nanna,2026-01-01,1\nanna,2026-01-01,0\n", "two outcomes"),
        ("outcome," + ",".join(CARD.names) + "\n1" + ",x" * len(CARD.names) + "\n", "no number"),
        ("outcome," + ",".join(CARD.names) + "\n1" + "," * len(CARD.names) + "\n", "income_height has no value"),
    ],
)
def test_a_file_that_breaks_a_rule_is_refused_without_naming_anybody(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "outcomes.csv"
    path.write_text(text)
    with pytest.raises(Invalid, match=problem) as refused:
        calibration.read_outcomes(path, DAY)
    assert "anna" not in str(refused.value)


@pytest.mark.usefixtures("environment")
def test_the_command_line_calibrates_promotes_and_rolls_back(stack: Stack, customer: Customer, tmp_path: Path) -> None:
    name = ("--tenant", customer.tenant.name)
    file, picture = signal_file(tmp_path / "outcomes.csv"), tmp_path / "plot.png"
    (made,) = kontor("calibrate", str(file), *name, "--out", str(picture))
    assert (made["outcomes"], made["objections"]) == (600, [])
    assert made["figures"]["auc"]["value"] > 0.65
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert customer.read(PATH)["details"]["calibration"] is None
    kontor("promote", made["version"], *name, "--why", "first one")
    assert [row["version"] for row in kontor("list", *name) if row["in use"]] == [made["version"]]
    assert 0 < customer.read(PATH)["details"]["calibration"]["probabilityOfDefault"] < 1
    kontor("rollback", "none", *name, "--why", "complaints")
    assert customer.read(PATH)["details"]["calibration"] is None
    (few,) = kontor("calibrate", str(signal_file(tmp_path / "few.csv", 60)), *name)
    assert few["objections"]
    with pytest.raises(KontorError, match="PromotionRefused"):
        kontor("promote", few["version"], *name, "--why", "try")


@pytest.mark.usefixtures("environment")
def test_the_scorecard_is_checked_by_a_command(tmp_path: Path) -> None:
    assert "no problems" in kontor("check")["result"]
    with pytest.raises(Invalid):
        kontor("check", str(tmp_path))


@pytest.mark.usefixtures("environment")
def test_dagster_calibrates_and_shows_figures_and_plot(stack: Stack, customer: Customer) -> None:
    folder = stack.home / "outcomes"
    folder.mkdir(mode=0o700, exist_ok=True)
    signal_file(folder / "demo.csv")
    house = Context.of(Settings())
    try:
        run = _run(credit_risk_calibration, house, tenant=customer.tenant.name, file="demo.csv")
        (event,) = run.asset_materializations_for_node("credit_risk_calibration")
        (check,) = run.get_asset_check_evaluations()
        assert check.passed
        assert event.metadata["auc"].value > 0.65  # type: ignore[operator]
        assert "data:image/png" in str(event.metadata["plot"].value)
        found = event.metadata["version"].value
        _run(credit_risk_probability, house, tenant=customer.tenant.name, version=found, **SAID)
        assert customer.read(PATH)["details"]["calibration"]["version"] == found
        _run(credit_risk_probability, house, tenant=customer.tenant.name, version="none", **SAID)
        assert customer.read(PATH)["details"]["calibration"] is None
        with pytest.raises(dg.Failure, match="cannot be read"):
            _run(credit_risk_calibration, house, tenant=customer.tenant.name, file="missing.csv")
    finally:
        house.database.close()


def _run(asset: dg.AssetsDefinition, house: Context, **config: Any) -> dg.ExecuteInProcessResult:
    ops = {asset.key.to_user_string(): {"config": config}}
    with dg.DagsterInstance.ephemeral() as instance:
        return dg.materialize([asset], run_config={"ops": ops}, resources={"kontor": house}, instance=instance)
