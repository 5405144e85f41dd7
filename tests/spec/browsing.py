"""A browser without script, as far as the redirect form needs one: it keeps the cookie, follows, and fills in forms."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx

from tests.support.stack import Customer, Stack

WEBFORM = "/customer/v2/webform"
BACK = "https://app.tenant.example/zurück?kunde=4711"
IP = {"Customer-IP-Address": "84.112.10.7"}


@dataclass
class Form:
    action: str
    method: str
    fields: dict[str, str] = field(default_factory=dict)
    choices: dict[str, list[str]] = field(default_factory=dict)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self.text: list[str] = []
        self.refresh: str | None = None
        self.heading: list[str] = []
        self._inside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag in ("h1", "title", "script", "style"):
            self._inside.append(tag)
        if tag == "form":
            self.forms.append(Form(given.get("action", ""), given.get("method", "get")))
        elif tag in ("input", "button") and self.forms and "name" in given:
            form, name, value = self.forms[-1], given["name"], given.get("value", "")
            if given.get("type") in ("radio", "checkbox") or tag == "button":
                form.choices.setdefault(name, []).append(value)
                if "checked" in given:
                    form.fields[name] = value
            else:
                form.fields[name] = value
        elif tag == "meta" and given.get("http-equiv") == "refresh" and "url=" in given.get("content", ""):
            self.refresh = given["content"].split("url=", 1)[1]

    def handle_endtag(self, tag: str) -> None:
        if self._inside and tag == self._inside[-1]:
            self._inside.pop()

    def handle_data(self, data: str) -> None:
        if "h1" in self._inside:
            self.heading.append(data)
        if not self._inside or self._inside == ["h1"]:
            self.text.append(data)


@dataclass
class Browser:
    """One browser of one customer."""

    stack: Stack
    cookie: str | None = None
    shown: httpx.Response | None = None
    language: str | None = None
    """What it sends as `Accept-Language`."""

    @property
    def page(self) -> httpx.Response:
        assert self.shown is not None
        return self.shown

    @property
    def complains(self) -> bool:
        """Whether the page says that something must be mended."""
        return 'id="trouble"' in self.page.text

    def open(self, address: str) -> "Browser":
        """Opens an address and follows within the service."""
        return self._go("GET", address)

    def form(self, action: str) -> Form:
        """The form of the page that makes this move."""
        for form in self.read.forms:
            if form.fields.get("action") == action or action in form.choices.get("action", []):
                return Form(form.action, form.method, {**form.fields, "action": action}, form.choices)
        raise AssertionError(f"no form for {action} on: {self.words[:400]}")

    def send(self, action: str, **values: str) -> "Browser":
        """Fills in a form and sends it."""
        form = self.form(action)
        return self._go("POST", form.action, {**form.fields, **values})

    def post(self, fields: dict[str, str]) -> "Browser":
        """Sends fields as they are."""
        return self._go("POST", f"{WEBFORM}/form", fields)

    def log_in(self, userid: str, pin: str | None = None) -> "Browser":
        typed = {"field.userid": userid, "field.pin": pin or ("demo" if userid.startswith("demo") else userid)}
        return self.send("login", **typed)

    @property
    def read(self) -> _Reader:
        reader = _Reader()
        reader.feed(self.page.text)
        return reader

    @property
    def words(self) -> str:
        """What a person reads."""
        return " ".join(" ".join(self.read.text).split())

    @property
    def place(self) -> str:
        """The name of the page."""
        found = self.page.text.split('data-place="', 1)
        return found[1].split('"', 1)[0] if len(found) == 2 else ""

    @property
    def moves(self) -> set[str]:
        found = {form.fields.get("action", "") for form in self.read.forms}
        return {name for name in found | {name for form in self.read.forms for name in form.choices.get("action", [])} if name}

    @property
    def returned(self) -> dict[str, str]:
        """What the tenant is told when the customer comes back."""
        address = self.read.refresh
        assert address is not None, self.words
        assert address.startswith("https://app.tenant.example/zur%C3%BCck?kunde=4711"), address
        return dict(parse_qsl(urlsplit(address).query))

    def _go(self, method: str, address: str, fields: dict[str, str] | None = None) -> "Browser":
        content = None if fields is None else urlencode(fields)
        for _ in range(5):
            headers = {"Cookie": f"__Host-kontor-form={self.cookie}"} if self.cookie else {}
            if self.language is not None:
                headers["Accept-Language"] = self.language
            if content is not None:
                headers["Content-Type"] = "application/x-www-form-urlencoded"
            self.shown = self.stack.http.request(method, address, headers=headers, content=content)
            self._keep_cookie()
            if self.page.status_code != 303:
                return self
            method, address, content = "GET", self.page.headers["location"], None
        raise AssertionError("led around in circles")

    def _keep_cookie(self) -> None:
        for line in self.page.headers.get_list("set-cookie"):
            name, _, value = line.split(";", 1)[0].partition("=")
            if name == "__Host-kontor-form":
                self.cookie = value
                self.stack.private.add(value)
        self.stack.http.cookies.clear()


def location(answer: httpx.Response, stack: Stack) -> str:
    """The address of the form in an answer of 451."""
    assert answer.status_code == 451, answer.text
    assert answer.content == b""
    address = answer.headers["location"]
    stack.private.add(dict(parse_qsl(urlsplit(address).query))["session"])
    return str(address)


def appended(address: str, callback: str = BACK) -> str:
    return f"{address}&{urlencode({'callbackUrl': callback})}"


def connecting(customer: Customer, key: str = "bank") -> str:
    """The address of the form for a new access."""
    return location(customer.call("POST", "/bankzugaenge", json={key: {}}), customer.tenant.stack)


def renewing(customer: Customer, key: str, **query: Any) -> str:
    """The address of the form for a new consent."""
    answer = customer.call("POST", f"/bankzugaenge/{key}/consent", headers=IP, params=query)
    return location(answer, customer.tenant.stack)
