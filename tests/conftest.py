"""The tests: `spec` is the interface over HTTP, `reliability` what breaks around it, `cli` the command line, `house` our own
rules, `bench` the benchmarks, the others one folder per package. No folder has an `__init__.py`: it would hide the packages.

Here are the fixtures for all: one running service, with tenants as the security rules name them.
"""

from collections.abc import Iterator

import httpx
import psutil
import pytest

from tests.stack import Stack, TenantUnderTest, running_stack


@pytest.fixture(scope="session", autouse=True)
def nothing_is_left(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No process that works in a folder of the tests may outlive them."""
    yield
    base = str(tmp_path_factory.getbasetemp())
    commands = [" ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"])]
    assert [command for command in commands if base in command] == []


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The service, with two workers. At the end of all tests, its log must be JSON lines without anything private."""
    with running_stack(tmp_path_factory.mktemp("kontor")) as running:
        yield running
    lines = running.log_lines()
    assert len(lines) > 1
    log = running.log.read_text()
    leaked = [text for text in running.private if text in log]
    assert not leaked, f"{len(leaked)} private texts stand in the log"


@pytest.fixture(scope="session")
def http(stack: Stack) -> httpx.Client:
    return stack.http


@pytest.fixture(scope="session")
def r1(stack: Stack) -> TenantUnderTest:
    """A regulated tenant with two users."""
    tenant = stack.tenant("r1")
    for username in ("anna", "bert"):
        tenant.add_user(username)
    return tenant


@pytest.fixture(scope="session")
def r2(stack: Stack) -> TenantUnderTest:
    """Another regulated tenant."""
    tenant = stack.tenant("r2")
    tenant.add_user("clara")
    return tenant
