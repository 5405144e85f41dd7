"""The login to the Dagster UI in a real browser, and what pages of others can do while the operator is logged in: nothing."""

import json
from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page, expect
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route

from tests.support.door import MUTATION, Door, running_door, serving
from tests.support.stack import free_port

ATTACKS = """<!doctype html><title>waiting</title>
<img src="TARGET/graphql?query=MUTATION"><img src="TARGET/graphql?query=MUTATION&amp;operationName=Launch">
<script src="TARGET/server_info"></script>
<iframe src="TARGET/runs"></iframe>
<iframe name="hole"></iframe>
<form method="post" action="TARGET/graphql?query=MUTATION" enctype="text/plain" target="hole"><input name='BODY' value=""></form>
<script>
  const body = BODY_JSON, tries = [];
  const send = (path, options) => tries.push(fetch("TARGET" + path, {credentials: "include", ...options}));
  document.forms[0].submit();
  for (const type of ["text/plain", "text/plain; application/json", "application/x-www-form-urlencoded"])
    send("/graphql", {method: "POST", mode: "no-cors", headers: {"Content-Type": type}, body});
  send("/graphql", {method: "POST", headers: {"Content-Type": "application/json"}, body});
  send("/report_asset_materialization/landing", {method: "POST", mode: "no-cors"});
  send("/runs", {mode: "no-cors"});
  tries.push(new Promise(resolve => {
    const socket = new WebSocket("TARGET/graphql".replace("http", "ws"), "graphql-ws");
    socket.onerror = socket.onopen = resolve;
  }));
  addEventListener("load", () => Promise.allSettled(tries).then(() => document.title = "tried"));
</script>"""


@pytest.fixture(scope="module")
def door(browser: Browser) -> Iterator[Door]:
    with running_door() as running:
        yield running


@pytest.fixture
def page(browser: Browser, door: Door) -> Iterator[Page]:
    """A page on which the operator has logged in."""
    with browser.new_context(base_url=door.origin) as context:
        page = context.new_page()
        page.goto("/runs?x=1")
        expect(page).to_have_title("Log in to Dagster – Kontor")
        page.get_by_label("Password").fill(door.password)
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url("**/runs?x=1")
        yield page


def test_a_visitor_logs_in_and_out(page: Page, door: Door) -> None:
    assert json.loads(page.inner_text("body"))["data"] == "done"
    page.goto("/kontor/login")
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_label("Password")).to_be_focused()
    assert Axe().run(page).response["violations"] == []
    page.get_by_label("Password").fill("falsch")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_have_text("This password is wrong.")
    assert Axe().run(page).response["violations"] == []


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_a_page_of_others_can_do_nothing(page: Page, door: Door, name: str) -> None:
    """Another port of the same name is the same site: the browser sends the cookie along."""
    port, body = free_port(), json.dumps(MUTATION)
    values = {"TARGET": door.origin, "BODY_JSON": json.dumps(body), "BODY": body, "MUTATION": MUTATION["query"]}
    html = ATTACKS
    for word, value in values.items():
        html = html.replace(word, value)
    door.played.calls.clear()
    with serving(Starlette(routes=[Route("/", lambda _: HTMLResponse(html))]), host="127.0.0.1", port=port, log_level="warning"):
        page.goto(f"http://{name}:{port}/")
        expect(page).to_have_title("tried")
    assert (reached(door), door.played.subscriptions) == ([], 0)
    page.goto("/runs")
    assert reached(door) == ["/runs"], "the operator is still logged in"


def reached(door: Door) -> list[str]:
    """The paths that Dagster was asked for, without the icon that the browser wants for every page."""
    return [path for _, path, _, _ in door.played.calls if path != "/favicon.ico"]
