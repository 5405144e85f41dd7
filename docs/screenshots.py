"""The pictures of the Dagster UI, of the form and of the demo page in `docs/images`, taken anew: `make screenshots`.

    form                     only those of the form
    demo http://…            only that of the demo page, of an API that runs
    http://…                 only those of a Dagster that runs with the data directory KONTOR_HOME

Without an address a house of its own is started, with the demo in it, and stopped at the end. The browser is the system's.
"""

import io
import json
import os
import signal
import subprocess  # our own program
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from PIL import Image
from playwright.sync_api import Browser, Error, Locator, Page, ViewportSize, sync_playwright

from api.dagster_proxy import credentials, runs
from tests.browser.driving import DESKTOP_WITH_SCRIPT, PATIENCE, PHONE_WITH_SCRIPT, Profiles, Way, chromium, running_app
from tests.spec.browsing import Browser as PlainBrowser
from tests.spec.browsing import appended, connecting
from tests.spec.test_webform import connected, fresh, paying
from tests.support.stack import free_port, running_stack
from warehouse.errors import NotFound
from warehouse.settings import Settings
from warehouse.stores import designs

IMAGES = Path(__file__).parent / "images"
COLOURS = 128
PATIENCE_SECONDS = 600
GROUPS = "?expanded=" + "%2C".join(f"global%40global%3A{group}" for group in ("bank_data", "analyses", "training"))
JOBS = "/locations/pipelines.definitions/jobs"
WINDOW = ViewportSize(width=1500, height=860)
UNFINISHED = """query { runsOrError(filter: {statuses: [QUEUED, NOT_STARTED, STARTING, STARTED]}) { ... on Runs { count } } }"""
BUCKETS = """query { assetNodes(assetKeys: [{path: ["transaction_tags"]}]) {
  assetMaterializations(limit: 64) { partition metadataEntries { label } }
} }"""
TRAINING = """ops:
  training_set:
    config: {users: 800, seed: 1, feedback: true}
  categoriser_candidate:
    config: {label: 2026.12.1, looks: 6, hidden_merchants: 0.2}
  categoriser_evaluation:
    config: {users: 300, seed: 2}
"""


def lineage(page: Page) -> None:
    """All assets, with nothing missing, failing or overdue."""
    page.set_viewport_size({"width": 2000, "height": 1240})
    _go(page, f"/asset-groups{GROUPS}")


def freshness(page: Page) -> None:
    """An asset with its checks, freshness, owners and columns; the daemon looks at freshness every half minute."""
    _go(page, "/assets/transaction_tags?view=overview")
    page.get_by_text("Passing").first.wait_for(timeout=120_000)


def partitions(page: Page) -> None:
    """The fullest bucket, which has the picture of the categories."""
    (node,) = page.request.post("/graphql", data={"query": BUCKETS}).json()["data"]["assetNodes"]
    labels = {
        event["partition"]: {entry["label"] for entry in event["metadataEntries"]} for event in node["assetMaterializations"]
    }
    bucket = next(name for name, found in labels.items() if "categories" in found)
    _go(page, f"/assets/transaction_tags?view=partitions&partition={bucket}")


def checks(page: Page) -> None:
    """The checks of the tags."""
    _go(page, "/assets/transaction_tags?view=checks")


def backfill(page: Page) -> None:
    """The dialogue that has all partitions made again."""
    _go(page, "/assets/transaction_tags?view=partitions")
    page.get_by_text("Materialize…").first.click()
    page.get_by_role("button", name="All", exact=True).click()


def evaluation(page: Page) -> None:
    """What was found of a candidate."""
    _go(page, "/assets/categoriser_evaluation")


def confusions(page: Page) -> None:
    """The confusion matrix of a candidate, as it opens by a click."""
    _plot(page, "confusion_matrix")


def reliability(page: Page) -> None:
    """The reliability plot of a candidate."""
    _plot(page, "reliability")


def comparison(page: Page) -> None:
    """A candidate beside the model in use, figure by figure, as it opens by a click."""
    page.set_viewport_size({"width": 1400, "height": 1640})
    _plot(page, "whole_comparison")


def launchpad(page: Page) -> None:
    """A training with settings of one's own, reached as a person does."""
    _go(page, f"{JOBS}/train_job")
    page.get_by_role("button", name="Materialize all").locator("xpath=following::button[1]").click()
    page.get_by_role("menuitem", name="Open launchpad").click()
    box = page.locator(".CodeMirror").last
    box.wait_for()
    _rest(page)
    box.evaluate("(box, text) => box.CodeMirror.setValue(text)", TRAINING)


def automation(page: Page) -> None:
    """Schedules and sensors."""
    page.set_viewport_size({"width": 1400, "height": 480})
    _go(page, "/automation")


PICTURES = (
    lineage,
    freshness,
    partitions,
    checks,
    backfill,
    evaluation,
    comparison,
    confusions,
    reliability,
    launchpad,
    automation,
)


def course(page: Page) -> None:
    """How a search narrowed its trials down."""
    _plot(page, "course", "categoriser_search")


def learning(page: Page) -> None:
    """What more lines to learn from would bring."""
    _plot(page, "learning_curve", "categoriser_search")


def corrections(page: Page) -> None:
    """A tenant's own model, and what the corrections of its users changed."""
    page.set_viewport_size({"width": 1500, "height": 1240})
    _go(page, "/assets/tenant_categoriser_candidate")
    page.get_by_text("right_before", exact=True).evaluate("row => row.scrollIntoView({block: 'start'})")


LEARNING = (course, learning, corrections)
"""The pictures that need a search and a tenant's own model."""
TRIALS: dict[str, dict[str, object]] = {"categoriser_search": {"trials": 8, "lines": 4_000}}
IN_USE: dict[str, dict[str, object]] = {
    "categoriser": {"override": True, "by": "Ada Lovelace", "why": "quick to train, for pictures"}
}
OWN_MODEL: dict[str, dict[str, object]] = {"tenant_categoriser_candidate": {"tenant": "demo", "users": 20}}
CORRECTED = "RECREATION_HOBBY"
"""To this the demo's user corrects what the model has decided; a merchant of the catalogue would keep its category."""


ON_PHONE = ("banks", "login", "tan")
MARGIN = 24
PERSON, MERCHANT, CATEGORY = "Erika Muster", "Amazon", "Hobby"
"""Who is chosen in the demo, and which booking is corrected to what."""


def form(browser: Browser) -> None:
    """The pages of the form as a tenant's customers see them: those of a new access, and a transfer; three also on a phone."""
    with (
        tempfile.TemporaryDirectory(prefix="kontor-") as home,
        running_stack(Path(home) / "stack") as stack,
        running_app() as app,
    ):
        tenant = stack.tenant(regulated=False)
        with stack.database.acting_for(tenant.tenant_id) as owner:
            designs.change(owner, name="Haushaltsbuch Nord")
        pages: dict[str, bytes] = {}
        profiles = Profiles(browser, stack.base_url)
        for kind in (DESKTOP_WITH_SCRIPT, PHONE_WITH_SCRIPT):
            customer = tenant.customer()
            way = Way(profiles, kind, stack, app).open(appended(connecting(customer), app.back("docs"))).at("terms")
            pages[f"terms-{kind.name}"] = _page(way)
            pages[f"banks-{kind.name}"] = _page(way.send("accept").at("banks"))
            pages[f"login-{kind.name}"] = _page(way.send("bank").at("login"))
            pages[f"tan-{kind.name}"] = _page(way.log_in(fresh("test_sca_method_media")).to_tan())
            way.send("cancel").context.close()
        way = Way(profiles, DESKTOP_WITH_SCRIPT, stack, app).open(appended(connecting(customer), app.back("docs"))).at("banks")
        pages["accounts-desktop"] = _page(way.send("bank").at("login").log_in("demo1").at("accounts"))
        pages["summary-desktop"] = _page(way.send("accounts").at("summary"))
        way.send("cancel")
        key = connected(customer, PlainBrowser(stack), "demo1")
        pages["order-desktop"] = _page(way.open(appended(paying(customer, key), app.back("docs"))).at("order"))
        way.context.close()
    for name in ("terms", "banks", "login", "tan", "accounts", "summary", "order"):
        _keep(Image.open(io.BytesIO(pages[f"{name}-desktop"])), f"form-{name}")
    _keep(_beside([Image.open(io.BytesIO(pages[f"{name}-phone"])) for name in ON_PHONE]), "form-phone")


def _page(way: Way) -> bytes:
    """A page from its top, as high as the window."""
    return way.page.screenshot(animations="disabled")


def _beside(images: list[Image.Image]) -> Image.Image:
    """Images in one row, with white between them."""
    width = sum(image.width for image in images) + MARGIN * (len(images) - 1)
    row = Image.new("RGB", (width, max(image.height for image in images)), "white")
    left = 0
    for image in images:
        row.paste(image, (left, 0))
        left += image.width + MARGIN
    return row


FRAME_MILLISECONDS = 2600
GIF_COLOURS = 48
PORTRAIT = ViewportSize(width=360, height=640)


def demo(browser: Browser, address: str) -> None:
    """The demo page as a moving picture: a person is chosen, a category corrected, its effect seen, and what the tenant gets."""
    context = browser.new_context(
        base_url=address, viewport=PORTRAIT, is_mobile=True, has_touch=True, locale="de-DE", timezone_id="Europe/Berlin"
    )
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    frames: list[Image.Image] = []

    def keep(at: Locator | None = None) -> None:
        if at is not None:
            at.evaluate("item => window.scrollTo(0, item.getBoundingClientRect().top + window.scrollY - 16)")
        frames.append(Image.open(io.BytesIO(page.screenshot(animations="disabled"))).convert("RGB"))

    page.goto("/demo")
    keep()
    page.get_by_role("button", name=PERSON).tap()
    page.wait_for_url("**/demo/overview*")
    page.locator("[data-pending]").wait_for(state="detached")
    _rest(page)
    page.goto("/demo/overview?all=1")
    keep()
    booking = page.locator("#buchungen-teil details.booking", has=page.get_by_text(MERCHANT, exact=True)).first
    booking.locator("summary").tap()
    keep(booking)
    booking.get_by_role("link", name="Kategorie ändern").tap()
    booking.locator("select").select_option(label=CATEGORY)
    keep(booking)
    booking.get_by_role("button", name="Übernehmen").tap()
    page.locator(".changed").first.wait_for()
    page.locator("#toast").get_by_text("Geändert").wait_for()
    keep(booking)
    page.get_by_role("button", name="Schließen").tap()
    keep(page.locator("#frei-teil"))
    page.get_by_role("link", name="Das bekommt der Mandant").tap()
    page.locator("#frei-teil .api").wait_for()
    keep(page.locator("#frei-teil .api"))
    context.close()
    _move(frames, "demo")


def _move(frames: list[Image.Image], name: str) -> None:
    """Stores frames as one moving picture with few colours, which is all that a page of this kind has."""
    palette = _stacked(frames).quantize(GIF_COLOURS)
    first, *others = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    path = IMAGES / f"{name}.gif"
    first.save(path, save_all=True, append_images=others, duration=FRAME_MILLISECONDS, loop=0, optimize=True)
    print(f"{path.name}: {path.stat().st_size // 1000} kB")


def _stacked(frames: list[Image.Image]) -> Image.Image:
    """Frames of one size below each other."""
    width, height = frames[0].size
    column = Image.new("RGB", (width, height * len(frames)))
    for number, frame in enumerate(frames):
        column.paste(frame, (0, number * height))
    return column


def main(told: list[str]) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_browser(), args=["--no-sandbox"])
        match told:
            case ["form"]:
                form(browser)
            case ["learning"]:
                with _house() as (api, server, home):
                    learned(browser, api, server, home)
            case ["demo", address]:
                demo(browser, address)
            case [address]:
                dagster(browser, runs.DagsterServer(address.rstrip("/"), credentials.token(Settings().home)))
            case _:
                form(browser)
                with _house() as (api, server, home):
                    demo(browser, api)
                    dagster(browser, server)
                    learned(browser, api, server, home)


def learned(browser: Browser, api: str, server: runs.DagsterServer, home: Path) -> None:
    """The pages of a search and of a model that learned from corrections, both of which happen here first."""
    _correct(api, json.loads((home / "demo.json").read_text())["tenants"][0])
    command = [str(Path(sys.executable).with_name("kontor")), "tenant", "learn", "demo", "--on"]
    subprocess.run(command, env={**os.environ, "KONTOR_HOME": str(home)}, check=True)  # noqa: S603  # our own program
    for assets in (TRIALS, IN_USE, OWN_MODEL):
        runs.launch(server, assets)
        _wait_for(lambda: _is_idle(server))
    dagster(browser, server, LEARNING)


def _correct(api: str, tenant: dict[str, Any]) -> None:
    """Corrects bookings of the demo's first user as an app does."""
    client, user = tenant["clients"]["app"], tenant["users"][0]
    login = {"grant_type": "password", "username": user["username"], "password": user["password"]}
    with httpx.Client(base_url=api, trust_env=False, timeout=60) as http:
        tokens = (
            http.post("/auth/oauth2/token", data=login, auth=(client["username"], client["secret"])).raise_for_status().json()
        )
        http.headers["Authorization"] = f"Bearer {tokens['access_token']}"
        access = http.get("/customer/v2/bankzugaenge/demo").raise_for_status().json()
        for product in access["bankprodukte"]:
            address = f"/customer/v2/bankzugaenge/demo/{product['id']}/kontoumsaetze"
            for booking in http.get(address, params={"tag": "categories"}).raise_for_status().json():
                if booking["tags"][0]["details"]["source"] == "MODEL" and booking["betrag"] < 0:
                    wish = {"tags": {"systemName": CORRECTED, "tagTree": {"systemName": "CATEGORIES"}}}
                    http.put(f"/ai/v1/transactions/{booking['id']}", json=wish).raise_for_status()


def dagster(browser: Browser, server: runs.DagsterServer, pictures: tuple[Callable[[Page], None], ...] = PICTURES) -> None:
    """The pages of the Dagster UI."""
    for picture in pictures:
        page = browser.new_page(
            viewport=WINDOW,
            base_url=server.address,
            timezone_id="Europe/Berlin",
            bypass_csp=True,
            extra_http_headers={"Authorization": f"Bearer {server.token}"},
        )
        page.set_default_timeout(PATIENCE)
        page.add_init_script("localStorage.setItem('dagster-nav-collapsed', 'true')")
        _take(page, picture)
        page.close()


def _take(page: Page, picture: Callable[[Page], None]) -> None:
    picture(page)
    _rest(page)
    _keep(Image.open(io.BytesIO(page.screenshot())), f"dagster-{picture.__name__}")


def _keep(image: Image.Image, name: str) -> None:
    """Stores an image with few colours, which keeps it small."""
    IMAGES.mkdir(exist_ok=True)
    path = IMAGES / f"{name}.png"
    image.convert("RGB").quantize(COLOURS).save(path, optimize=True)
    print(f"{path.name}: {path.stat().st_size // 1000} kB")


def _go(page: Page, path: str) -> None:
    page.goto(path)
    _rest(page)


def _rest(page: Page) -> None:
    """Waits until nothing moves: the UI asks for more when it has drawn what it has."""
    try:
        page.wait_for_load_state("networkidle", timeout=15_000)
    except Error:
        print("the page goes on asking", file=sys.stderr)
    page.wait_for_function("!document.body.innerText.includes('Loading')")
    page.wait_for_timeout(3_000)


def _plot(page: Page, name: str, asset: str = "categoriser_evaluation") -> None:
    _go(page, f"/assets/{asset}")
    row = page.locator("tr", has=page.get_by_text(name, exact=True))
    row.get_by_text("Show Markdown").click()


@contextmanager
def _house() -> Iterator[tuple[str, runs.DagsterServer, Path]]:
    """A house with the demo in it whose first runs are done: the address of its API, its Dagster, and its data directory."""
    ports = (free_port(), free_port())
    with tempfile.TemporaryDirectory(prefix="kontor-") as home:
        told = {"KONTOR_HOME": home, "KONTOR_PORT": str(ports[0]), "KONTOR_DAGSTER_PORT": str(ports[1])}
        command = [str(Path(sys.executable).with_name("kontor")), "up"]
        process = subprocess.Popen(command, env={**os.environ, **told})  # noqa: S603  # our own program
        try:
            settings = Settings(home=Path(home), dagster_port=ports[1])
            _wait_for(lambda: process.poll() is not None or _complete(settings))
            if process.poll() is not None:
                raise SystemExit("the house did not get ready")
            yield f"http://127.0.0.1:{ports[0]}", runs.server_of(settings), Path(home)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait()


def _wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit("the house takes too long")
        time.sleep(2)


def _is_idle(server: runs.DagsterServer) -> bool:
    return bool(runs.ask(server, UNFINISHED)["runsOrError"]["count"] == 0)


def _complete(settings: Settings) -> bool:
    try:
        server = runs.server_of(settings)
        return _is_idle(server) and runs.is_materialized(server, "categoriser_evaluation")
    except (httpx.HTTPError, NotFound):
        return False


def _browser() -> str:
    found = chromium()
    if found is None:
        raise SystemExit("no Chromium on this machine: install one, for example with apt install chromium")
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
