"""Requests to the GraphQL interface of the running Dagster, so that the command line does not load Dagster."""

from collections.abc import Mapping
from typing import Any

import httpx

from warehouse.errors import KontorError

TIMEOUT_SECONDS = 60
ASSET_JOB = {"repositoryLocationName": "pipelines.definitions", "repositoryName": "__repository__", "jobName": "__ASSET_JOB"}
MATERIALIZATIONS = """query Materializations($key: AssetKeyInput!) {
  assetOrError(assetKey: $key) { ... on Asset { assetMaterializations(limit: 1) { runId } } }
}"""
LAUNCH = """mutation Launch($parameters: ExecutionParams!) {
  launchRun(executionParams: $parameters) { __typename ... on LaunchRunSuccess { run { runId } } }
}"""


def is_materialized(address: str, asset: str) -> bool:
    """Whether an asset was ever materialised."""
    return bool(ask(address, MATERIALIZATIONS, key={"path": [asset]})["assetOrError"].get("assetMaterializations"))


def launch(address: str, assets: Mapping[str, Any]) -> str:
    """Queues a run of assets, given with their configurations; returns the address of the run's page."""
    selector = {**ASSET_JOB, "assetSelection": [{"path": [asset]} for asset in assets]}
    config = {"ops": {asset: {"config": config} for asset, config in assets.items()}}
    result = ask(address, LAUNCH, parameters={"selector": selector, "runConfigData": config})["launchRun"]
    if "run" not in result:
        raise KontorError(f"Dagster refused a run of {', '.join(assets)}: {result['__typename']}")
    return f"{address}/runs/{result['run']['runId']}"


def ask(address: str, query: str, **variables: Any) -> dict[str, Any]:
    """The data of Dagster's response to a query."""
    response = httpx.post(
        f"{address}/graphql", json={"query": query, "variables": variables}, timeout=TIMEOUT_SECONDS, trust_env=False
    )
    data: dict[str, Any] = response.raise_for_status().json()["data"]
    return data
