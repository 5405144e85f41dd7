"""The console in a real browser: usable by everybody, on a phone and on a desk, by day and by night, and without script."""

import uuid
from collections.abc import Iterator

import pytest
from axe_playwright_python.base import AXE_SCRIPT  # type: ignore[import-untyped]
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect

from tests.browser.driving import DESKTOP, PATIENCE, PHONE, TELL_POLICY
from tests.browser.test_form_design import HINDRANCES, LEAST_TARGET, RULES, SMALL
from tests.spec.test_console import HASH, with_webhook
from tests.support.stack import PASSWORD, Stack, TenantUnderTest
from warehouse.postgres import console_accounts
from warehouse.postgres.console_accounts import ConsoleRole
from warehouse.postgres.tables import Tenant

TOO_LOW = """least => [...document.querySelectorAll("button, .button, summary, nav li a, .switch, input:not([type=hidden])")]
    .filter(target => target.checkVisibility() && !["radio", "checkbox"].includes(target.type))
    .filter(target => target.getBoundingClientRect().height < least).map(target => target.outerHTML)"""
OF_OPERATORS = ("", "/tenants", "/tenants/{t}", "/tenants/{t}/clients", "/banks", "/jobs", "/freshness", "/payments", "/accounts")
OF_TENANTS = (
    "",
    *(f"/tenants/{{t}}{tab}" for tab in ("", "/clients", "/keys", "/users", "/accesses", "/webhooks/app")),
    "/audit",
)


@pytest.fixture(scope="module")
def tenant(browser: Browser, stack: Stack) -> TenantUnderTest:
    """A tenant with something on every page."""
    tenant = stack.tenant()
    customer = tenant.customer()
    customer.connected()
    failing, _ = customer.add("test_pin", "falsch")
    customer.wait_idle(failing)
    tenant.add_api_key(customer.username)
    with_webhook(tenant, customer.username, events=2)
    return tenant


@pytest.fixture(scope="module")
def names(stack: Stack, tenant: TenantUnderTest) -> dict[ConsoleRole, str]:
    """An account of each role."""
    names = {role: f"{role.value}-{uuid.uuid4().hex[:6]}" for role in ConsoleRole}
    with stack.database.operating() as operator:
        row = operator.session.get_one(Tenant, tenant.tenant_id)
        for role, name in names.items():
            console_accounts.add(operator, name, role, HASH, row if role is ConsoleRole.TENANT else None)
    return names


def logged_in(browser: Browser, stack: Stack, name: str, viewport: ViewportSize, **options: object) -> BrowserContext:
    context = browser.new_context(base_url=stack.base_url, viewport=viewport, locale="de-DE", **options)  # type: ignore[arg-type]
    context.set_default_timeout(PATIENCE)
    context.add_init_script(TELL_POLICY)
    page = context.new_page()
    page.goto("/console")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Passwort").fill(PASSWORD)
    page.get_by_role("button", name="Anmelden").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Übersicht")
    stack.private |= {str(cookie["value"]) for cookie in context.cookies()}
    return context


@pytest.fixture(params=[(PHONE, "dark"), (DESKTOP, "light")], ids=["phone-by-night", "desktop-by-day"])
def look(request: pytest.FixtureRequest) -> tuple[ViewportSize, str]:
    view: tuple[ViewportSize, str] = request.param
    return view


@pytest.fixture
def context(
    browser: Browser, stack: Stack, names: dict[ConsoleRole, str], look: tuple[ViewportSize, str], role: ConsoleRole
) -> Iterator[BrowserContext]:
    context = logged_in(browser, stack, names[role], look[0], color_scheme=look[1])
    yield context
    context.close()


def check(page: Page) -> None:
    """Nobody is hindered, nothing leaves the screen, and everything can be hit with a finger."""
    page.evaluate(AXE_SCRIPT)
    assert page.evaluate(HINDRANCES, RULES) == [], page.url
    assert page.evaluate(TOO_LOW, LEAST_TARGET) == [], page.url
    width = page.viewport_size["width"] if page.viewport_size else 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width, page.url


@pytest.mark.parametrize("role", list(ConsoleRole))
def test_everybody_can_use_the_pages(context: BrowserContext, tenant: TenantUnderTest, role: ConsoleRole) -> None:
    page, complaints = context.new_page(), []
    page.on("console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None)
    for path in OF_OPERATORS if role is ConsoleRole.OPERATOR else OF_TENANTS:
        page.goto(f"/console{path.format(t=tenant.name)}")
        for part in page.locator("details.deed").all()[:2]:
            part.evaluate("part => part.open = true")
        check(page)
    page.goto("/console/account")
    check(page)
    page.set_viewport_size(SMALL)
    page.goto("/console")
    check(page)
    assert complaints == []


def test_the_login_is_usable_by_everybody(browser: Browser, stack: Stack) -> None:
    with browser.new_context(base_url=stack.base_url, viewport=PHONE, locale="en-GB") as context:
        page = context.new_page()
        page.goto("/console/login")
        check(page)
        page.get_by_label("Name").fill("nobody")
        page.get_by_label("Password").fill("wrong password")
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("alert")).to_contain_text("are wrong")
        check(page)


def test_actions_work_without_script(
    browser: Browser, stack: Stack, tenant: TenantUnderTest, names: dict[ConsoleRole, str]
) -> None:
    """A click on the disclosure, a choice, and the button in it: the secret is shown, and the log tells of it."""
    context = logged_in(browser, stack, names[ConsoleRole.TENANT], PHONE, java_script_enabled=False)
    page = context.new_page()
    page.goto(f"/console/tenants/{tenant.name}/clients")
    row = page.get_by_role("row").filter(has_text=f"{tenant.name}/admin")
    row.locator("summary", has_text="Geheimnis erneuern").click()
    row.get_by_label("einen Tag").check()
    row.get_by_role("button", name="Geheimnis erneuern").click()
    expect(page.locator(".secret code")).to_have_count(1)
    stack.private.add(page.locator(".secret code").inner_text())
    page.get_by_role("link", name="Protokoll").click()
    expect(page.get_by_role("row").nth(1)).to_contain_text("Geheimnis des Clients erneuert")
    page.get_by_role("button", name="Abmelden").click()
    expect(page.get_by_role("status")).to_contain_text("abgemeldet")
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("Anmelden")
    context.close()
