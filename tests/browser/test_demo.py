"""The demo in a real browser: usable by everybody, on a phone and on a desk, with and without script, in both languages."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import product

import pytest
from axe_playwright_python.base import AXE_SCRIPT  # type: ignore[import-untyped]
from playwright.sync_api import Browser, BrowserContext, Locator, Page, ViewportSize, expect

from pipelines import demo_tenants
from tests.browser.driving import DESKTOP, PATIENCE, PHONE, TELL_POLICY
from tests.browser.test_form_design import HINDRANCES, RULES
from tests.support.stack import Stack

SMALL = ViewportSize(width=320, height=640)
WATCH_SHIFTS = """() => { window.shifts = []; new PerformanceObserver(list => window.shifts.push(
    ...list.getEntries().map(entry => entry.value))).observe({type: "layout-shift"}); }"""
REPEATED = {("phone", True, False), ("phone", False, True), ("desktop", False, False), ("desktop", True, True)}
"""Looks whose parts are seen in the others."""
MAX_SHIFT = 0.1
"""What browsers call good (Core Web Vitals); the number of shifted pixels as a share of the window."""


@pytest.fixture(scope="module")
def visitor(browser: Browser, stack: Stack) -> Iterator[BrowserContext]:
    """The cookies of a visitor who is the first person of the demo bank, by one press."""
    demo_tenants.seed(stack.database, stack.vault, stack.base_url, stack.home / "demo.json", datetime.now(UTC))
    context = new_context(browser, stack, PHONE)
    page = context.new_page()
    page.goto("/demo")
    page.get_by_role("button", name="Erika Muster").tap()
    page.wait_for_url("**/demo/overview*")
    expect(page.locator("[data-pending]")).to_have_count(0, timeout=PATIENCE)
    stack.private |= {str(cookie["value"]) for cookie in context.cookies() if cookie["name"] == "kontor-demo"}
    yield context
    context.close()


def new_context(
    browser: Browser, stack: Stack, viewport: ViewportSize, *, dark: bool = False, english: bool = False, script: bool = True
) -> BrowserContext:
    context = browser.new_context(
        base_url=stack.base_url,
        viewport=viewport,
        has_touch=True,
        is_mobile=viewport != DESKTOP,
        java_script_enabled=script,
        color_scheme="dark" if dark else "light",
        locale="en-GB" if english else "de-DE",
        timezone_id="Europe/Berlin",
    )
    context.set_default_timeout(PATIENCE)
    context.add_init_script(TELL_POLICY)
    return context


def watched(page: Page) -> list[str]:
    """What the browser complains about, as it comes."""
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    return complaints


def hindrances(page: Page) -> list[str]:
    page.evaluate(AXE_SCRIPT)
    found_by_axe: list[str] = page.evaluate(HINDRANCES, RULES)
    return found_by_axe


LOOKS = [
    pytest.param(
        *(viewport, dark, english),
        id=f"{name}-{'dark' if dark else 'light'}-{'english' if english else 'german'}",
        marks=[pytest.mark.thorough] if (name, dark, english) in REPEATED else [],
    )
    for (name, viewport), dark, english in product((("phone", PHONE), ("desktop", DESKTOP)), (False, True), (False, True))
]


@pytest.mark.parametrize(("viewport", "dark", "english"), LOOKS)
def test_everybody_can_use_the_pages(
    browser: Browser, stack: Stack, visitor: BrowserContext, viewport: ViewportSize, *, dark: bool, english: bool
) -> None:
    context = new_context(browser, stack, viewport, dark=dark, english=english)
    context.add_cookies([cookie for cookie in visitor.cookies() if cookie["name"] == "kontor-demo"])  # type: ignore[misc]
    page = context.new_page()
    complaints = watched(page)
    page.goto("/demo/overview")
    booking_page = page.locator("a[data-fetch]").first.get_attribute("href") or ""
    for address in ("/demo", "/demo/overview", "/demo/overview?view=tenant", booking_page, "/demo/back?baReentry=USER_CANCELLED"):
        page.goto(address)
        for part in page.locator("details.booking").all()[:2]:
            part.evaluate("part => part.open = true")
        assert hindrances(page) == [], address
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= viewport["width"], address
    assert page.locator("html").get_attribute("lang") == ("en" if english else "de")
    assert complaints == []
    context.close()


def test_nothing_leaves_a_small_screen(browser: Browser, stack: Stack, visitor: BrowserContext) -> None:
    context = new_context(browser, stack, SMALL)
    context.add_cookies([cookie for cookie in visitor.cookies() if cookie["name"] == "kontor-demo"])  # type: ignore[misc]
    page = context.new_page()
    for address in ("/demo", "/demo/overview", "/demo/overview?view=tenant"):
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") <= SMALL["width"], address
    context.close()


def page_of_visitor(
    browser: Browser, stack: Stack, visitor: BrowserContext, viewport: ViewportSize, *, dark: bool, english: bool
) -> Page:
    """A page of the visitor in a browser of this look."""
    context = new_context(browser, stack, viewport, dark=dark, english=english)
    context.add_cookies([cookie for cookie in visitor.cookies() if cookie["name"] == "kontor-demo"])  # type: ignore[misc]
    return context.new_page()


LIVE_LOOKS = [
    pytest.param(PHONE, False, False, id="phone-light-german"),
    pytest.param(DESKTOP, True, True, id="desktop-dark-english"),
    *(
        pytest.param(viewport, dark, english, id=name, marks=pytest.mark.thorough)
        for name, viewport, dark, english in (
            ("phone-dark-english", PHONE, True, True),
            ("phone-light-english", PHONE, False, True),
            ("desktop-light-german", DESKTOP, False, False),
            ("desktop-dark-german", DESKTOP, True, False),
        )
    ),
]
NECESSARY, PLEASANT = "LIVING_DRUGSTORE", "RECREATION_HOBBY"


def booked_at(page: Page, partner: str) -> Locator:
    """The latest booking at a partner that can be corrected: on some days, the latest of all is pending.

    It is found by its id, which it still has when a form has taken the place of the link.
    """
    bookings = page.locator("#buchungen-teil details.booking", has=page.get_by_text(partner, exact=True))
    return page.locator(f"[id='{bookings.filter(has=page.locator('a[data-fetch]')).first.get_attribute('id')}']")


def chosen_correction(page: Page) -> tuple[Locator, str]:
    """A booking, not a pending one, with another category chosen in its open form, and the name of that category."""
    page.goto("/demo/overview?all=1")
    booking = booked_at(page, "REWE")
    booking.locator("summary").tap()
    booking.locator("a[data-fetch]").tap()
    category = NECESSARY if booking.locator("select").input_value() == PLEASANT else PLEASANT
    name = booking.locator(f"option[value={category}]").text_content() or ""
    booking.locator("select").select_option(category)
    return booking, name


@pytest.mark.parametrize(("viewport", "dark", "english"), LIVE_LOOKS)
def test_a_correction_shows_its_effect_at_once_and_moves_nothing(
    browser: Browser, stack: Stack, visitor: BrowserContext, viewport: ViewportSize, *, dark: bool, english: bool
) -> None:
    """The visitor is the same for all looks, so that what was necessary becomes pleasant, and necessary again."""
    page = page_of_visitor(browser, stack, visitor, viewport, dark=dark, english=english)
    complaints = watched(page)
    booking, name = chosen_correction(page)
    today = page.locator("#frei-teil line.today").first
    today_at = today.get_attribute("x1")
    page.evaluate(WATCH_SHIFTS)
    booking.locator(".correction button").tap()
    changed = page.locator("#toast").get_attribute("data-changed") or ""
    expect(page.locator("#toast")).to_contain_text(changed, timeout=PATIENCE)
    expect(booking.locator(".changed")).to_have_text(name, timeout=PATIENCE)
    expect(page.locator("#haushalt-teil .changed").first).to_be_visible(timeout=PATIENCE)
    assert today.get_attribute("x1") == today_at
    assert sum(page.evaluate("window.shifts")) < MAX_SHIFT
    assert hindrances(page) == []
    assert complaints == []
    page.context.close()


def test_a_correction_whose_later_effects_do_not_come_loads_the_page_anew(
    browser: Browser, stack: Stack, visitor: BrowserContext
) -> None:
    page = page_of_visitor(browser, stack, visitor, PHONE, dark=False, english=False)
    booking, name = chosen_correction(page)
    page.route("**/demo/overview**", lambda route: route.abort() if route.request.headers.get("x-live") else route.continue_())
    with page.expect_event("load", timeout=PATIENCE):
        booking.locator(".correction button").tap()
    expect(booking.locator("summary")).to_contain_text(name, timeout=PATIENCE)
    page.context.close()


@pytest.mark.parametrize("viewport", [PHONE, pytest.param(DESKTOP, marks=pytest.mark.thorough)], ids=["phone", "desktop"])
def test_an_assumption_moves_nothing(browser: Browser, stack: Stack, visitor: BrowserContext, viewport: ViewportSize) -> None:
    page = page_of_visitor(browser, stack, visitor, viewport, dark=False, english=False)
    page.goto("/demo/overview")
    page.get_by_label("… eine neue Rate käme dazu").fill("250")
    page.evaluate(WATCH_SHIFTS)
    page.get_by_role("button", name="Rechnen").tap()
    expect(page.locator("table.compare")).to_be_visible(timeout=PATIENCE)
    assert sum(page.evaluate("window.shifts")) < MAX_SHIFT
    assert hindrances(page) == []
    page.context.close()


def test_assumptions_and_the_tenants_view_come_without_a_new_page(visitor: BrowserContext) -> None:
    page = visitor.new_page()
    complaints = watched(page)
    page.goto("/demo/overview")
    page.evaluate("window.same = true")
    page.get_by_label("… eine neue Rate käme dazu").fill("250")
    page.get_by_role("button", name="Rechnen").tap()
    expect(page.locator("table.compare")).to_contain_text("\N{MINUS SIGN}250", timeout=PATIENCE)
    page.get_by_role("link", name="Das bekommt der Mandant").tap()
    expect(page.locator("#vertraege-teil .api")).to_contain_text("/customer/v2/ai/contracts", timeout=PATIENCE)
    assert page.evaluate("window.same") is True
    assert complaints == []
    page.close()


def test_all_ways_work_without_script(browser: Browser, stack: Stack, visitor: BrowserContext) -> None:
    context = new_context(browser, stack, PHONE, script=False)
    context.add_cookies([cookie for cookie in visitor.cookies() if cookie["name"] == "kontor-demo"])  # type: ignore[misc]
    page = context.new_page()
    page.goto("/demo/overview")
    page.get_by_label("… eine neue Miete käme dazu").fill("400")
    page.get_by_role("button", name="Rechnen").tap()
    expect(page.locator("table.compare")).to_contain_text("\N{MINUS SIGN}400", timeout=PATIENCE)
    page.goto("/demo/overview?all=1")
    booking = booked_at(page, "Netflix")
    booking.locator("summary").tap()
    booking.get_by_role("link", name="Kategorie ändern").tap()
    page.locator("select[name=category]").select_option("EDUCATION_TRAINING")
    page.get_by_role("button", name="Übernehmen").tap()
    page.wait_for_url("**/demo/overview?corrected=1*")
    expect(page.get_by_text("Danke, gemerkt.")).to_be_visible(timeout=PATIENCE)
    page.get_by_role("link", name="Das bekommt der Mandant").tap()
    expect(page.locator(".api").first).to_be_visible(timeout=PATIENCE)
    page.get_by_role("link", name="English").tap()
    expect(page.get_by_role("heading", name="Hello, Erika Muster")).to_be_visible(timeout=PATIENCE)
    context.close()
