"""Asking the running Dagster over its own interface, so that the command line loads nothing of it."""

from collections.abc import Mapping
from typing import Any

import httpx

from warehouse.errors import KontorError

SECONDS = 60
WHERE = {"repositoryLocationName": "pipelines.definitions", "repositoryName": "__repository__", "jobName": "__ASSET_JOB"}
MADE = """query Made($key: AssetKeyInput!) {
  assetOrError(assetKey: $key) { ... on Asset { assetMaterializations(limit: 1) { runId } } }
}"""
LAUNCH = """mutation Launch($parameters: ExecutionParams!) {
  launchRun(executionParams: $parameters) { __typename ... on LaunchRunSuccess { run { runId } } }
}"""


def is_made(address: str, asset: str) -> bool:
    """Whether an asset was ever materialised."""
    return bool(ask(address, MADE, key={"path": [asset]})["assetOrError"].get("assetMaterializations"))


def launch(address: str, assets: Mapping[str, Any]) -> str:
    """Puts a run of some assets, each with its configuration, into the queue; returns where it can be watched."""
    selector = {**WHERE, "assetSelection": [{"path": [asset]} for asset in assets]}
    config = {"ops": {asset: {"config": config} for asset, config in assets.items()}}
    launched = ask(address, LAUNCH, parameters={"selector": selector, "runConfigData": config})["launchRun"]
    if "run" not in launched:
        raise KontorError(f"Dagster did not take a run of {', '.join(assets)}: {launched['__typename']}")
    return f"{address}/runs/{launched['run']['runId']}"


def ask(address: str, query: str, **variables: Any) -> dict[str, Any]:
    """What Dagster says to a query."""
    answer = httpx.post(f"{address}/graphql", json={"query": query, "variables": variables}, timeout=SECONDS, trust_env=False)
    found: dict[str, Any] = answer.raise_for_status().json()["data"]
    return found
