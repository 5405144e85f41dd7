"""A real browser on its way through the form: how it is found and driven, and what is watched while it goes.

Whatever a way does, its browser must not complain, ask a foreign house or show a secret in an address. What each way is about is
in `test_form.py`; pages with made-up values are in `samples.py`.
"""

import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, Request, ViewportSize, WebError, expect

from tests.spec import browsing
from tests.spec.browsing import WEBFORM
from tests.support.stack import DEMO, Stack

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
COOKIE = "__Host-kontor-form"
PATIENCE = 60_000
"""Milliseconds: a busy machine is no failure."""
LONG = 8
"""Shorter secrets are parts of other words."""
TELL_POLICY = "addEventListener('securitypolicyviolation', told => console.error(`refused: ${told.violatedDirective}`))"


OPENER = """<!doctype html><title>app</title><meta name="referrer" content="no-referrer">
<script src="HOUSE/customer/v2/webform/static/embed.js"></script><button>connect</button>
<script>
  window.events = [];
  document.querySelector("button").addEventListener("click", async () => {
    window.form = Kontor.open(window.address, { callbackUrl: window.callback, onEvent: (event) => window.events.push(event) });
    window.result = await window.form.result;
  });
</script>"""


@dataclass(frozen=True)
class Kind:
    """A kind of browser."""

    name: str
    viewport: ViewportSize
    touch: bool
    script: bool

    def __str__(self) -> str:
        return f"{self.name}-{'script' if self.script else 'plain'}"


PHONE = ViewportSize(width=390, height=844)
DESKTOP = ViewportSize(width=1280, height=900)
KINDS = tuple(
    Kind(name, viewport, name == "phone", script)
    for name, viewport in (("phone", PHONE), ("desktop", DESKTOP))
    for script in (False, True)
)
PLAIN_PHONE, PHONE_WITH_SCRIPT, PLAIN_DESKTOP, DESKTOP_WITH_SCRIPT = KINDS


def chromium() -> str | None:
    """The system's Chromium, if it has one; rather the one without windows, whose pages take a fifth of the processor time."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


@dataclass
class App:
    """The tenant's app: where customers come back to. It keeps the queries and headers that came in."""

    base_url: str
    calls: list[tuple[str, dict[str, str], dict[str, str]]] = field(default_factory=list)

    def back(self, name: str) -> str:
        """An address to come back to."""
        return f"{self.base_url}/back/{name}?kunde=4711"


@contextmanager
def running_app() -> Iterator[App]:
    """An app that runs while the block does. Under `/frame` it tries to show the form inside a page of its own; under `/opener`
    it opens the form in a window, with the script of the service that the query names.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            content = b"<!doctype html><title>app</title><p>app"
            if url.path == "/frame":
                content += b'<iframe src="%s" width="600" height="600"></iframe>' % url.query.encode()
            elif url.path == "/opener":
                content = OPENER.replace("HOUSE", url.query).encode()
            elif url.path.startswith("/back/"):
                app.calls.append((url.path, dict(parse_qsl(url.query)), {k.lower(): v for k, v in self.headers.items()}))
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Nothing: the tests say what they saw."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        app = App(f"http://localhost:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield app
        server.shutdown()
        thread.join()


@dataclass
class Watch:
    """Everything that goes over the wires of a browser, and what it complains about."""

    stack: Stack
    app: App
    requests: list[Request] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    secrets: set[str] = field(default_factory=set)
    """What was typed, and names and cookies of sessions."""

    def begin(self, context: BrowserContext) -> None:
        """Watches all tabs."""
        context.on("request", self._keep)
        context.on("console", self._hear)
        context.on("weberror", self._complain)

    def end(self, context: BrowserContext) -> None:
        """Watches no longer."""
        context.remove_listener("request", self._keep)
        context.remove_listener("console", self._hear)
        context.remove_listener("weberror", self._complain)

    def _keep(self, request: Request) -> None:
        self.requests.append(request)

    def _complain(self, complaint: WebError) -> None:
        self.complaints.append(str(complaint.error))

    def _hear(self, message: ConsoleMessage) -> None:
        """Browsers also complain about pages that say truly that something was wrong; that is no fault."""
        said = urlsplit(message.location.get("url", ""))
        truly = "status of 400" in message.text and said.path.startswith(WEBFORM) and "/static/" not in said.path
        if message.type in ("error", "warning") and not truly:
            self.complaints.append(message.text)

    @property
    def moves(self) -> list[str]:
        """How pages were asked for, in order."""
        return [request.method for request in self.requests if request.is_navigation_request()]

    def faults(self) -> list[str]:
        """What must not be."""
        return [*self.complaints, *filter(None, map(self._fault, self.requests))]

    def _fault(self, request: Request) -> str | None:
        url, inside = urlsplit(request.url), request.url.startswith(f"{self.stack.base_url}/")
        if not inside and not (request.is_navigation_request() and request.url.startswith(f"{self.app.base_url}/")):
            return f"asks a foreign house: {request.url}"
        if "referer" in request.headers and not inside:
            return f"says where it comes from: {request.url}"
        entrance = inside and url.path == WEBFORM
        return None if entrance else self.leak(request.url)

    def leak(self, address: str) -> str | None:
        """Says so, if there is a secret in an address."""
        words = set(re.split(r"[^0-9A-Za-z]+", address))
        shown = [secret for secret in self.secrets if (secret in address if len(secret) >= LONG else secret in words)]
        return f"shows a secret: {address}" if shown else None


@dataclass
class Profiles:
    """One profile of the browser for each kind, used again by one test after the other: to make one takes over a second."""

    browser: Browser
    base_url: str
    idle: dict[str, BrowserContext] = field(default_factory=dict)

    def take(self, kind: Kind) -> BrowserContext:
        """A profile without cookies and tabs."""
        return self.idle.pop(str(kind), None) or self._new(kind)

    def give_back(self, kind: Kind, context: BrowserContext) -> None:
        """Closes the tabs of a profile, and keeps it."""
        for page in context.pages[1:]:
            page.close()
        context.clear_cookies()
        if str(kind) in self.idle:
            context.close()
        else:
            self.idle[str(kind)] = context

    def _new(self, kind: Kind) -> BrowserContext:
        context = self.browser.new_context(
            base_url=self.base_url,
            viewport=kind.viewport,
            has_touch=kind.touch,
            is_mobile=kind.touch,
            java_script_enabled=kind.script,
            locale="de-DE",
            timezone_id="Europe/Berlin",
        )
        context.set_default_timeout(PATIENCE)
        context.add_init_script(TELL_POLICY)
        context.new_page()  # stays open: with the last page, the process of all pages would end
        return context


class Way:
    """A tab of a customer's browser in the form."""

    def __init__(self, profiles: Profiles, kind: Kind, stack: Stack, app: App, watch: Watch | None = None) -> None:
        self.profiles, self.kind, self.stack, self.app = profiles, kind, stack, app
        self.context = profiles.take(kind)
        self.watch = watch or Watch(stack, app)
        self.watch.begin(self.context)
        self.page = self.context.new_page()
        self._chrome = self.context.new_cdp_session(self.page)

    def forget_files(self) -> None:
        """Loads everything anew, as in a browser that was never here."""
        self._chrome.send("Network.setCacheDisabled", {"cacheDisabled": True})

    def close(self) -> None:
        """Closes all tabs of the browser."""
        self.watch.end(self.context)
        self.profiles.give_back(self.kind, self.context)

    def open(self, address: str) -> "Way":
        """Follows the tenant's link into the form."""
        self.watch.secrets |= {value for name, value in parse_qsl(urlsplit(address).query) if name == "session"}
        self.page.goto(address)
        self._keep_cookie()
        return self

    def take_over(self, other: browsing.Browser) -> "Way":
        """Goes on where a browser without a window is."""
        assert other.cookie is not None
        address = self.stack.base_url.replace("http:", "https:")  # a cookie with this prefix is only taken as one of https
        self.context.add_cookies(
            [{"name": COOKIE, "value": other.cookie, "url": address, "secure": True, "httpOnly": True, "sameSite": "Lax"}]
        )
        self._keep_cookie()
        self.page.goto(f"{WEBFORM}/form")
        return self

    def another_tab(self) -> "Way":
        """A second tab of the same browser, at the form."""
        tab = object.__new__(Way)
        tab.__dict__ |= self.__dict__
        tab.page = self.context.new_page()
        tab._chrome = self.context.new_cdp_session(tab.page)
        tab.page.goto(f"{WEBFORM}/form")
        return tab

    def in_window(self, page: Page) -> "Way":
        """The same browser in a window that a page has opened."""
        window = object.__new__(Way)
        window.__dict__ |= self.__dict__
        window.page = page
        window._chrome = self.context.new_cdp_session(page)
        self._keep_cookie()
        return window

    def at(self, place: str) -> "Way":
        """Waits for a page; looks that no secret is in the addresses that the browser keeps."""
        expect(self.page.locator(f'main[data-place="{place}"]')).to_be_attached(timeout=PATIENCE)
        assert self.shown_secrets == []
        if self.kind.script:
            assert self.page.evaluate("document.referrer") == ""
        return self

    @property
    def place(self) -> str:
        """The name of the page."""
        return self.page.locator("main[data-place]").get_attribute("data-place") or ""

    @property
    def words(self) -> str:
        """What a person reads."""
        return " ".join(self.page.locator("main").inner_text().split())

    @property
    def entries(self) -> list[str]:
        """The addresses that the back button leads to."""
        return [entry["url"] for entry in self._chrome.send("Page.getNavigationHistory")["entries"]]

    @property
    def shown_secrets(self) -> list[str]:
        """Which of these addresses have a secret in them."""
        return [entry for entry in self.entries if self.watch.leak(entry)]

    def button(self, action: str) -> Locator:
        """What makes a move."""
        if action == "bank":
            return self.page.locator(f'button[name=bank][value="{DEMO}"]')
        named = self.page.locator(f'button[name=action][value="{action}"]')
        sent = self.page.locator(f'form:has(input[name=action][value="{action}"]) button:not([type=button])')
        return named.or_(sent)

    def press(self, target: Locator) -> None:
        """A click, or with a finger."""
        if self.kind.touch:
            target.tap()
        else:
            target.click()

    def send(self, action: str, **values: str) -> "Way":
        """Fills in a form and sends it."""
        self.fill(**values)
        with self.page.expect_navigation(wait_until="load"):
            self.press(self.button(action))
        return self

    def fill(self, **values: str) -> "Way":
        """Types into fields, and chooses where there are choices."""
        for name, value in values.items():
            target = self.page.locator(f'input[name="{name}"]')
            if target.first.get_attribute("type") == "radio":
                self.press(self.page.locator(f'label:has(input[name="{name}"][value="{value}"])'))
            else:
                target.fill(value)
        if "tan" in values:
            self.watch.secrets.add(values["tan"])
        return self

    def log_in(self, userid: str, pin: str | None = None) -> "Way":
        return self.type_login(userid, pin).send("login")

    def type_login(self, userid: str, pin: str | None = None) -> "Way":
        typed = pin or ("demo" if userid.startswith("demo") else userid)
        self.watch.secrets |= {userid, typed}
        return self.fill(**{"field.userid": userid, "field.pin": typed})

    def to_tan(self) -> "Way":
        """Chooses pushTAN and the first medium, where there is a choice."""
        expect(self.page.locator(PLACES_BEFORE_TAN)).to_be_attached(timeout=PATIENCE)
        if self.place == "methods":
            self.send("method", method="942")
            expect(self.page.locator(PLACES_BEFORE_TAN)).to_be_attached(timeout=PATIENCE)
        if self.place == "media":
            self.send("medium", medium=self.page.locator("input[name=medium]").first.get_attribute("value") or "")
        return self.at("tan")

    @property
    def returned(self) -> dict[str, str]:
        """What the tenant's app is told when the customer is back. The browser must not say where it comes from."""
        self.page.wait_for_url(f"{self.app.base_url}/back/**")
        told = dict(parse_qsl(urlsplit(self.page.url).query))
        path, query, headers = next(call for call in reversed(self.app.calls) if call[0] == urlsplit(self.page.url).path)
        assert query == told, path
        assert told.pop("kunde") == "4711"
        assert "referer" not in headers
        assert "cookie" not in headers
        return told

    def _keep_cookie(self) -> None:
        self.watch.secrets |= {cookie["value"] for cookie in self.context.cookies(self.stack.base_url)}
        self.stack.private |= {secret for secret in self.watch.secrets if len(secret) >= LONG}


PLACES_BEFORE_TAN = 'main[data-place="methods"], main[data-place="media"], main[data-place="tan"]'
