"""Requests to the GraphQL interface of the running Dagster, so that the command line does not load Dagster."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from api.dagster_proxy import credentials, sites
from warehouse.errors import KontorError
from warehouse.settings import Settings

TIMEOUT_SECONDS = 60
ASSET_JOB = {"repositoryLocationName": "pipelines.definitions", "repositoryName": "__repository__", "jobName": "__ASSET_JOB"}
MATERIALIZATIONS = """query Materializations($key: AssetKeyInput!) {
  assetOrError(assetKey: $key) { ... on Asset { assetMaterializations(limit: 1) { runId } } }
}"""
LAUNCH = """mutation Launch($parameters: ExecutionParams!) {
  launchRun(executionParams: $parameters) { __typename ... on LaunchRunSuccess { run { runId } } }
}"""


@dataclass(frozen=True)
class DagsterServer:
    """The address of the Dagster UI, and the token with which programs pass its login."""

    address: str
    token: str = field(repr=False)


def server_of(settings: Settings) -> DagsterServer:
    """The Dagster that runs on this machine with these settings."""
    return DagsterServer(sites.local_address(settings), credentials.token(settings.home))


def is_materialized(server: DagsterServer, asset: str) -> bool:
    """Whether an asset was ever materialised."""
    return bool(ask(server, MATERIALIZATIONS, key={"path": [asset]})["assetOrError"].get("assetMaterializations"))


def launch(server: DagsterServer, assets: Mapping[str, Any]) -> str:
    """Queues a run of assets, given with their configurations; returns the address of the run's page."""
    selector = {**ASSET_JOB, "assetSelection": [{"path": [asset]} for asset in assets]}
    config = {"ops": {asset: {"config": config} for asset, config in assets.items() if config}}
    result = ask(server, LAUNCH, parameters={"selector": selector, "runConfigData": config})["launchRun"]
    if "run" not in result:
        raise KontorError(f"Dagster refused a run of {', '.join(assets)}: {result['__typename']}")
    return f"{server.address}/runs/{result['run']['runId']}"


def ask(server: DagsterServer, query: str, **variables: Any) -> dict[str, Any]:
    """The data of Dagster's response to a query."""
    response = httpx.post(
        f"{server.address}/graphql",
        json={"query": query, "variables": variables},
        headers={"Authorization": f"Bearer {server.token}"},
        timeout=TIMEOUT_SECONDS,
        trust_env=False,
    )
    data: dict[str, Any] = response.raise_for_status().json()["data"]
    return data
