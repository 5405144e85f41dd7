"""How the pages of the form look and behave in a real browser: readable for everybody, on small screens, without script."""

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from typing import Any, ClassVar, Literal, cast
from urllib.parse import parse_qs, urlsplit

import pytest
from axe_playwright_python.base import AXE_SCRIPT  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page, Route, ViewportSize, expect

from api.bodies import drawn_logos
from api.webform import colours, flicker
from api.webform.patterns import browser_pattern
from api.webform.render import ROOT, asset, page_response
from pipelines.banks import formats
from tests.browser.samples import CODE, SAMPLES, in_english
from tests.pipelines.test_formats import EXAMPLES

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
PHONE = ViewportSize(width=390, height=844)
DESKTOP = ViewportSize(width=1280, height=800)
SMALL = ViewportSize(width=320, height=640)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
IN_ENGLISH = ("terms", "login_refused", "tan_flicker", "order_editable", "stopped_callback")
GAUDY = ("#ffcc00", "#ffffff", "#000000", "#e2001a")
FIRST_PAGES = ("terms", "terms_transfer", "terms_renewal")
LEAST_TARGET = 44
SHIFTS = """() => new Promise(resolve => {
    let total = 0;
    new PerformanceObserver(list => list.getEntries().forEach(entry => { total += entry.value; }))
        .observe({type: "layout-shift", buffered: true});
    setTimeout(() => resolve(total), 300);
})"""
HINDRANCES = """rules => axe.run({runOnly: rules, resultTypes: ["violations"]})
    .then(found => found.violations.flatMap(each => each.nodes.map(node => `${each.id}: ${node.html}`)))"""
TOO_LOW = """least => [...document.querySelectorAll("button, .button, .option, .zoom label, .switch, footer a, .box input")]
    .filter(target => target.checkVisibility() && target.getBoundingClientRect().height < least)
    .map(target => target.outerHTML)"""


class Site(BaseHTTPRequestHandler):
    """The samples under `/page/<name>`, and all that they load. `posts` is what forms have sent."""

    protocol_version = "HTTP/1.1"
    posts: ClassVar[list[dict[str, list[str]]]] = []
    state: ClassVar[dict[str, Any]] = {}
    colour: ClassVar[str | None] = None
    seconds_left: ClassVar[int] = 290
    searches: ClassVar[bool] = False
    """Whether the form is at the search of a bank."""

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        self._send(*self.found(url.path, parse_qs(url.query)))

    def _send(self, kind: str, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(200)
        for name, value in {**headers, "content-type": kind, "content-length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        Site.posts.append(parse_qs(body, keep_blank_values=True))
        if self.path == f"{ROOT}/extend":
            self._send("application/json", b'{"seconds": 290}', {})
            return
        self.send_response(204)
        self.end_headers()

    def found(self, path: str, query: dict[str, list[str]]) -> tuple[str, bytes, dict[str, str]]:
        if path == "/page/ending":
            frame, page = SAMPLES["login"]
            answer = page_response(replace(frame, seconds_left=Site.seconds_left), page)
            return "text/html; charset=utf-8", bytes(answer.body), dict(answer.headers)
        if path == f"{ROOT}/form" and ("q" in query or Site.searches):
            name = "banks_found" if "q" in query else "banks"
            return "text/html; charset=utf-8", bytes(page_response(*SAMPLES[name]).body), {}
        if path.startswith("/page/"):
            sample = SAMPLES[path.removeprefix("/page/")]
            answer = page_response(*(in_english(sample) if query.get("lang") == ["en"] else sample))
            return "text/html; charset=utf-8", bytes(answer.body), dict(answer.headers)
        if found := asset(path.removeprefix(f"{ROOT}/static/")):
            return found.media_type, found.content, {}
        if path == f"{ROOT}/design.css":
            return "text/css", colours.stylesheet(Site.colour).encode(), {}
        if path == f"{ROOT}/state":
            return "application/json", json.dumps(Site.state).encode(), {}
        if path == f"{ROOT}/form":
            return "text/html", b"<title>next</title>", {}
        return "image/svg+xml", (flicker.svg(CODE) if "flicker" in path else drawn_logos.draw("Demo-Bank", None)).encode(), {}

    def log_message(self, *_: Any) -> None:
        """Nothing: the tests say what they saw."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with ThreadingHTTPServer(("localhost", 0), Site) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}"
        server.shutdown()


def opened(browser: Browser, address: str, **settings: Any) -> Page:
    """A tab of the browser, with settings of its own."""
    context = browser.new_context(base_url=address, viewport=PHONE, **settings)
    context.set_default_timeout(60_000)  # a busy machine is no failure
    return context.new_page()


@pytest.fixture(scope="module")
def shared(browser: Browser, address: str) -> tuple[Page, list[str]]:
    """A tab for all tests, and what it complains about: broken policies, errors of the script, what is loaded from elsewhere."""
    tab, complaints = opened(browser, address), []
    tab.on("console", lambda message: complaints.append(message.text))
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("request", lambda request: None if request.url.startswith(address) else complaints.append(request.url))
    tab.route("**/page/return", stay)
    return tab, complaints


@pytest.fixture
def tab(shared: tuple[Page, list[str]]) -> Iterator[Page]:
    """The tab, as it is at the beginning; nothing may be complained about."""
    page, complaints = shared
    Site.posts.clear()
    Site.state, Site.colour = {"turn": 3, "place": "app"}, None
    Site.seconds_left, Site.searches = 290, False
    by_day(page)
    yield page
    assert complaints == []


def by_day(page: Page) -> None:
    page.set_viewport_size(PHONE)
    page.emulate_media(color_scheme="light")


def by_night(page: Page) -> None:
    page.set_viewport_size(DESKTOP)
    page.emulate_media(color_scheme="dark")


def stay(route: Route) -> None:
    """Without the refresh, so that there is something to look at."""
    answer = route.fetch()
    route.fulfill(response=answer, body=answer.text().replace('http-equiv="refresh"', ""))


def hindrances(page: Page) -> list[str]:
    """What keeps people from using a page, as axe finds it."""
    return cast(list[str], page.evaluate(HINDRANCES, RULES))


LOOKED_AT = [name for name in SAMPLES if name != "return_to_opener"]
"""All but the page that leaves at once, which looks like the way back of others."""


@pytest.mark.parametrize("path", [*LOOKED_AT, *(f"{name}?lang=en" for name in IN_ENGLISH)])
def test_everybody_can_use_a_page(tab: Page, path: str) -> None:
    tab.goto(f"/page/{path}")
    tab.evaluate(AXE_SCRIPT)
    assert hindrances(tab) == []
    by_night(tab)
    assert hindrances(tab) == []
    tab.set_viewport_size(SMALL)
    assert tab.evaluate("document.documentElement.scrollWidth") <= SMALL["width"]
    assert tab.evaluate(TOO_LOW, LEAST_TARGET) == []


@pytest.mark.thorough
@pytest.mark.parametrize("name", LOOKED_AT)
def test_everybody_can_use_a_page_in_every_look(tab: Page, name: str) -> None:
    for language in ("de", "en"):
        tab.goto(f"/page/{name}?lang={language}")
        tab.evaluate(AXE_SCRIPT)
        for viewport, scheme in product((PHONE, DESKTOP), SCHEMES):
            tab.set_viewport_size(viewport)
            tab.emulate_media(color_scheme=scheme)
            assert hindrances(tab) == [], (language, viewport, scheme)


@pytest.mark.parametrize("path", [f"{name}{query}" for name in FIRST_PAGES for query in ("", "?lang=en")])
def test_the_first_page_fits_a_phone(tab: Page, path: str) -> None:
    tab.goto(f"/page/{path}")
    assert tab.evaluate("document.documentElement.scrollHeight") <= PHONE["height"]
    assert tab.locator("button.primary:visible").count() == 1
    assert not tab.locator(".prose").is_visible()
    tab.locator("summary").click()
    assert tab.locator(".prose").is_visible()


@pytest.mark.parametrize("name", ["terms", "banks", "login", "ending", "tan_transfer", "accounts", "order"])
@pytest.mark.parametrize("viewport", [PHONE, pytest.param(DESKTOP, marks=pytest.mark.thorough)], ids=["phone", "desktop"])
def test_nothing_moves_while_a_page_loads_or_warns(browser: Browser, address: str, name: str, viewport: ViewportSize) -> None:
    Site.seconds_left, Site.searches = 59, False
    page = opened(browser, address)
    page.set_viewport_size(viewport)
    page.goto(f"/page/{name}")
    page.wait_for_load_state("networkidle")
    assert page.evaluate(SHIFTS) == 0
    page.context.close()


def test_banks_are_found_while_typing(tab: Page) -> None:
    Site.searches = True
    tab.goto("/page/banks")
    tab.locator("#q").press_sequentially("Spar")
    tab.get_by_role("heading", name="Gefunden für „Spar“").wait_for()
    assert tab.locator("#results button").count() == 1
    assert tab.evaluate("document.activeElement.id") == "q"
    assert tab.url.endswith(f"{ROOT}/form?q=Spar")
    tab.locator("#q").fill("")
    tab.get_by_role("heading", name="Häufig gewählt").wait_for()
    assert tab.locator("#results button").count() == 4


def test_a_page_warns_before_its_session_ends_and_can_extend_it(tab: Page) -> None:
    Site.seconds_left = 59
    tab.goto("/page/ending")
    notice = tab.locator("#ending")
    expect(notice).to_be_visible()
    tab.evaluate(AXE_SCRIPT)
    assert hindrances(tab) == []
    with tab.expect_response(f"**{ROOT}/extend"):
        tab.get_by_role("button", name="Sitzung verlängern").click()
    expect(notice).to_be_hidden()
    assert Site.posts == [{"token": ["t" * 43], "turn": ["2"]}]
    tab.goto("/page/login")
    assert tab.locator("#ending").count() == 0


def test_an_ended_session_is_shown_as_ended(tab: Page) -> None:
    Site.seconds_left = -4
    tab.goto("/page/ending")
    tab.wait_for_url(f"**{ROOT}/form")


@pytest.mark.parametrize("colour", GAUDY)
def test_everybody_can_use_a_page_in_any_colour(tab: Page, colour: str) -> None:
    Site.colour = colour
    tab.goto("/page/login_refused")
    tab.evaluate(AXE_SCRIPT)
    assert hindrances(tab) == []
    by_night(tab)
    assert hindrances(tab) == []


def test_a_double_click_sends_a_form_once(tab: Page) -> None:
    tab.goto("/page/order")
    tab.evaluate("const button = document.querySelector('.primary'); button.click(); button.click()")
    button = tab.locator(".primary")
    tab.wait_for_function("document.querySelector('.primary').disabled")
    assert tab.locator("#busy").inner_text() == "Einen Moment bitte …"
    button.dispatch_event("click")
    assert [post["action"] for post in Site.posts] == [["pay"]]


def test_the_button_that_was_pressed_is_sent(tab: Page) -> None:
    for name, button, sent in [("terms", "Ablehnen", ("action", "decline")), ("banks", "Direktbank", ("bank", "d"))]:
        Site.posts.clear()
        tab.goto(f"/page/{name}")
        with tab.expect_response(f"**{ROOT}/form"):
            tab.get_by_role("button", name=button).click()
        assert Site.posts[0][sent[0]] == [sent[1]]


def test_a_waiting_page_goes_on_when_the_state_changes(tab: Page) -> None:
    tab.goto("/page/app")
    with tab.expect_response("**/state"):
        pass
    assert tab.title() != "next"
    Site.state = {"turn": 4, "place": "accounts"}
    tab.wait_for_url("**/form")
    assert tab.title() == "next"


def test_the_way_back_is_gone_by_itself(browser: Browser, address: str) -> None:
    page = opened(browser, address, java_script_enabled=False)
    page.route("https://haushaltsbuch.example/**", lambda route: route.fulfill(body="back"))
    page.goto("/page/return")
    page.wait_for_url("https://haushaltsbuch.example/zurueck?a=1&baReentry=DONE")


def test_a_trouble_has_the_focus_and_leads_to_the_field(tab: Page) -> None:
    tab.goto("/page/login_unfit")
    assert tab.evaluate("document.activeElement.id") == "trouble"
    tab.locator("#trouble a").click()
    assert tab.evaluate("document.activeElement.id") == "field-0"


def test_a_secret_can_be_looked_at(tab: Page) -> None:
    tab.goto("/page/login")
    tab.locator("#field-1").fill("12345")
    tab.get_by_role("button", name="Anzeigen PIN").click()
    assert tab.locator("#field-1").get_attribute("type") == "text"
    tab.get_by_role("button", name="Verbergen PIN").click()
    assert tab.locator("#field-1").get_attribute("type") == "password"


def test_everything_works_without_script(browser: Browser, address: str) -> None:
    page = opened(browser, address, java_script_enabled=False)
    Site.posts.clear()
    page.goto("/page/login")
    page.get_by_label("Anmeldename").fill("erika")
    page.get_by_label("PIN").fill("12345")
    with page.expect_response(f"**{ROOT}/form"):
        page.get_by_role("button", name="Anmelden").click()
    (sent,) = Site.posts
    assert sent == {"token": ["t" * 43], "turn": ["2"], "action": ["login"], "field.user": ["erika"], "field.pin": ["12345"]}
    page.goto("/page/tan_flicker")
    picture = page.locator(".picture img")
    widths = []
    for size in (60, 100, 120):
        page.get_by_text(f"{size} %").click()
        box = picture.bounding_box()
        assert box is not None
        widths.append(round(box["width"] / 96 * 2.54, 1))
    assert widths == [3.6, 6.0, 7.2]
    page.get_by_text("Aus", exact=True).click()
    assert not picture.is_visible()


def test_the_flicker_code_flickers(tab: Page) -> None:
    tab.goto("/page/tan_flicker")
    assert tab.locator(".picture img").evaluate("image => image.complete && image.naturalWidth > 0")
    tab.goto(f"{ROOT}/flicker.svg")
    at = "([second]) => { const svg = document.documentElement; svg.pauseAnimations(); svg.setCurrentTime(second); \
        return [...document.querySelectorAll('rect')].slice(1).map(bar => getComputedStyle(bar).fill === 'rgb(255, 255, 255)') }"
    for number, frame in enumerate(flicker.frames(CODE)[:12]):
        assert tab.evaluate(at, [(number + 0.5) * flicker.FRAME_SECONDS]) == list(frame), number


def test_a_browser_checks_formats_as_we_do(tab: Page) -> None:
    tab.goto("/page/login")
    fits = "([pattern, value]) => new RegExp(`^(?:${pattern})$`, 'v').test(value)"
    for notation, good, bad in EXAMPLES:
        pattern = browser_pattern(formats.pattern(notation))
        for value in (value for value in [*good, *bad] if pattern is not None and 0 < len(value) < 500 and "\n" not in value):
            assert tab.evaluate(fits, [pattern, value]) == formats.matches(notation, value), (notation, value)
