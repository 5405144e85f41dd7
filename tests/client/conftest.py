"""A client that was generated from our OpenAPI document, as `docs/tenants.md` tells, and a service that it calls."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.client.calling import Generated, block
from tests.support.stack import Stack, running_stack

RETIRED = "list_tag_trees_below_tags"
"""An operation that this service has ended, to see what its callers get."""


@pytest.fixture(scope="module")
def service(homes: Path) -> Iterator[Stack]:
    """A service that calls webhooks on loopback, and has retired an operation."""
    told = {"KONTOR_WEBHOOK_PRIVATE_ADDRESSES": "true", "KONTOR_RETIRED_OPERATIONS": RETIRED, "KONTOR_WORKERS": "1"}
    with running_stack(homes / "client", **told) as running:
        yield running


@pytest.fixture(scope="module")
def environment(service: Stack) -> dict[str, str]:
    """What a tenant's shell knows of the service."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "API": service.base_url}


@pytest.fixture(scope="module")
def kontor(service: Stack, environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Generated]:
    """The generated client, loaded from the folder into which the page's own command has put it; a warning fails."""
    folder = tmp_path_factory.mktemp("tenant")
    run = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block("sh")], env=environment, cwd=folder, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder / "client"))
        yield Generated(folder, service.base_url)
        for name in [name for name in sys.modules if name.split(".")[0] == "kontor_client"]:
            del sys.modules[name]
