"""Fixtures of tests with a real browser: one for each file, and the app that sends customers into the form."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.driving import DESKTOP_WITH_SCRIPT, App, Profiles, Way, chromium, running_app
from tests.support.stack import Customer, Stack, TenantUnderTest

FEW_PROCESSES = ("--renderer-process-limit=1", "--disable-site-isolation-trials")
"""Each process of a page takes a second of the processor to start."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's Chromium."""
    path = chromium()
    if path is None:
        pytest.skip("no Chromium on this machine: nothing was tested in a real browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", *FEW_PROCESSES])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def app() -> Iterator[App]:
    with running_app() as running:
        yield running


@pytest.fixture(scope="module")
def n1(browser: Browser, stack: Stack) -> TenantUnderTest:
    """A redirect tenant."""
    return stack.tenant(regulated=False)


@pytest.fixture
def customer(n1: TenantUnderTest) -> Customer:
    return n1.customer()


@pytest.fixture(scope="module")
def profiles(browser: Browser, stack: Stack) -> Profiles:
    return Profiles(browser, stack.base_url)


@pytest.fixture
def way(profiles: Profiles, stack: Stack, app: App, request: pytest.FixtureRequest) -> Iterator[Way]:
    """A browser of the kind that a test asks for; at the end, nothing may have been complained about or shown to others."""
    way = Way(profiles, getattr(request, "param", DESKTOP_WITH_SCRIPT), stack, app)
    yield way
    way.close()
    assert way.watch.faults() == []
