"""The tests: `spec` is the interface over HTTP, `client` a tenant's story with a generated client, `reliability` what breaks
around it, `cli` the command line, `house` our own rules, `bench` the benchmarks, `soak` what runs for minutes (`make soak`,
`make fuzz`), the others one folder per package. No folder has an `__init__.py`: it would hide the packages.

Here are the fixtures for all: one running service, with tenants as the security rules name them.
"""

import gc
import ssl
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from hypothesis import settings

from tests.support import forge
from tests.support.examples import ALL
from tests.support.stack import Stack, TenantUnderTest, running_stack
from warehouse.secrets import certificates

gc.disable()  # until all tests are collected, since nothing of it is garbage
EXAMPLES = 30 if ALL else 10
"""Of properties that say nothing else."""
settings.register_profile("house", deadline=None, max_examples=EXAMPLES)  # a busy machine is no failure
settings.load_profile("house")
LONG = (
    "cli/test_up",
    "pipelines/test_erasure",
    "pipelines/test_training",
    "browser/test_form",
    "reliability/test_restart",
    "spec/test_accesses",
    "pipelines/test_dialogue_machine",
    "spec/test_webform",
    "pipelines/test_tenant_models",
    "pipelines/test_buckets",
    "browser/test_demo",
    "spec/test_openapi",
    "reliability/test_fetches",
    "reliability/test_dialogues",
    "pipelines/test_assets",
    "house/test_docs",
    "reliability/test_fints_payments",
    "pipelines/test_backfills",
    "reliability/test_full_disk",
    "reliability/test_standstill",
    "simulator/test_simulation",
    "analytics/test_suite_properties",
    "pipelines/test_engine",
    "client/test_story",
    "models/test_shipped",
    "simulator/test_calibration",
    "pipelines/test_at_once",
    "pipelines/test_simulated_users",
)
"""Files that take longest, by processor time: whoever begins with them does not wait for one of them at the end."""


SERVICES = frozenset({"homes", "browser", "everywhere", "elsewhere"})
"""Fixtures that start a database, a service, a cluster or a browser. `make check` leaves out every test that uses one."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests that need a running service, before any is chosen by its mark, and orders the files: first those that do
    not use the service that all others share, since it costs processor time from its start to the end; then the longest.
    """
    for item in items:
        if SERVICES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("service")
    paths = {item.path for item in items}
    served_paths = {item.path for item in items if "stack" in getattr(item, "fixturenames", ())}
    ranks = {path: next((rank for rank, name in enumerate(LONG) if name in path.as_posix()), len(LONG)) for path in paths}
    items.sort(key=lambda item: (item.path in served_paths, ranks[item.path]))


def pytest_collection_finish() -> None:
    """Lets garbage be looked for only in what tests make from here on."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    """Lets libraries take leave of what they have made; DuckDB would report it as lost."""
    gc.unfreeze()


@pytest.fixture(scope="session")
def homes() -> Iterator[Path]:
    """A folder for data directories. Not pytest's own: under root, the user that runs the database cannot enter that one.

    No process that works in it may outlive the tests.
    """
    with tempfile.TemporaryDirectory(prefix="kontor-test-") as folder:
        yield Path(folder)
        commands = [" ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"])]
        assert [command for command in commands if folder in command] == []
        assert forge.left_running() == []


@pytest.fixture(scope="session", autouse=True)
def tenant_keys() -> Iterator[None]:
    """Two RSA keys that tenants made in this process get by turns: a fresh one takes most of a second, and there are hundreds."""
    fresh = certificates.new_key
    keys: list[rsa.RSAPrivateKey] = []

    def reused() -> rsa.RSAPrivateKey:
        if len(keys) < 2:
            keys.append(fresh())
        else:
            keys.reverse()
        return keys[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(certificates, "new_key", reused)
        yield


@pytest.fixture(scope="session", autouse=True)
def client_certificates() -> Iterator[None]:
    """The certificates that a client trusts by default, read once in this process: there are more than a thousand clients, and to
    read them takes longer than most requests.
    """
    defaults = httpx.create_ssl_context()
    read = httpx.create_ssl_context

    def shared(verify: ssl.SSLContext | str | bool = True, cert: Any = None, trust_env: bool = True) -> ssl.SSLContext:
        return defaults if verify is True and cert is None else read(verify, cert, trust_env)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("httpx._transports.default.create_ssl_context", shared)
        yield


@pytest.fixture(scope="session")
def stack(homes: Path) -> Iterator[Stack]:
    """The service, with two workers. At the end of all tests, its logs must be JSON lines without anything private."""
    with running_stack(homes / "stack") as running:
        yield running
    assert len(running.log_lines()) > 1
    log = running.log.read_text() + running.worker_log.read_text()
    leaked = [text for text in running.private if text in log]
    assert not leaked, f"{len(leaked)} private texts stand in the log"


@pytest.fixture(scope="session")
def http(stack: Stack) -> httpx.Client:
    return stack.http


@pytest.fixture(scope="session")
def regulated_tenants(stack: Stack) -> tuple[TenantUnderTest, TenantUnderTest]:
    """Two regulated tenants, made one after the other, so that they have different keys (`tenant_keys`)."""
    return stack.tenant("r1"), stack.tenant("r2")


@pytest.fixture(scope="session")
def r1(regulated_tenants: tuple[TenantUnderTest, TenantUnderTest]) -> TenantUnderTest:
    """A regulated tenant with two users."""
    for username in ("anna", "bert"):
        regulated_tenants[0].add_user(username)
    return regulated_tenants[0]


@pytest.fixture(scope="session")
def r2(regulated_tenants: tuple[TenantUnderTest, TenantUnderTest]) -> TenantUnderTest:
    """Another regulated tenant."""
    regulated_tenants[1].add_user("clara")
    return regulated_tenants[1]
