"""The pictures of the Dagster UI in `docs/images`, taken anew: `make screenshots`, or with the address of a Dagster that runs.

Without an address a house of its own is started, with the demo in it, and stopped at the end. The browser is the system's.
"""

import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from PIL import Image
from playwright.sync_api import Error, Page, sync_playwright

from api.cli import runs
from tests.stack import free_port

IMAGES = Path(__file__).parent / "images"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
COLOURS = 128
PATIENCE_SECONDS = 600
GROUPS = "?expanded=" + "%2C".join(f"global%40global%3A{group}" for group in ("bank_data", "analyses", "training"))
JOBS = "/locations/pipelines.definitions/jobs"
UNFINISHED = """query { runsOrError(filter: {statuses: [QUEUED, NOT_STARTED, STARTING, STARTED]}) { ... on Runs { count } } }"""
BUCKETS = """query { assetNodes(assetKeys: [{path: ["transaction_tags"]}]) {
  assetMaterializations(limit: 64) { partition metadataEntries { label } }
} }"""
TRAINING = """ops:
  training_set:
    config: {users: 800, seed: 1, feedback: true}
  categoriser_candidate:
    config: {label: 2026.12.1, epochs: 6, hidden_merchants: 0.2}
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


def launchpad(page: Page) -> None:
    """A training with settings of one's own."""
    _go(page, f"{JOBS}/train_job/playground")
    page.locator(".CodeMirror").first.evaluate("(box, text) => box.CodeMirror.setValue(text)", TRAINING)


def automation(page: Page) -> None:
    """Schedules and sensors."""
    page.set_viewport_size({"width": 1400, "height": 480})
    _go(page, "/automation")


PICTURES = (lineage, freshness, partitions, checks, backfill, evaluation, confusions, reliability, launchpad, automation)


def main(address: str | None) -> None:
    with _house() if address is None else _running(address) as found, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_browser(), args=["--no-sandbox"])
        for picture in PICTURES:
            page = browser.new_page(viewport={"width": 1400, "height": 860}, base_url=found, timezone_id="Europe/Berlin")
            page.add_init_script("localStorage.setItem('dagster-nav-collapsed', 'true')")
            _take(page, picture)
            page.close()


def _take(page: Page, picture: Callable[[Page], None]) -> None:
    picture(page)
    _rest(page)
    small = Image.open(io.BytesIO(page.screenshot())).convert("RGB").quantize(COLOURS)
    IMAGES.mkdir(exist_ok=True)
    path = IMAGES / f"dagster-{picture.__name__}.png"
    small.save(path, optimize=True)
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
    page.wait_for_timeout(3_000)


def _plot(page: Page, name: str) -> None:
    _go(page, "/assets/categoriser_evaluation")
    row = page.locator("tr", has=page.get_by_text(name, exact=True))
    row.get_by_text("Show Markdown").click()


@contextmanager
def _running(address: str) -> Iterator[str]:
    yield address.rstrip("/")


@contextmanager
def _house() -> Iterator[str]:
    """A house with the demo in it whose first runs are done."""
    address = f"http://127.0.0.1:{(port := free_port())}"
    with tempfile.TemporaryDirectory(prefix="kontor-") as home:
        told = {"KONTOR_HOME": home, "KONTOR_PORT": str(free_port()), "KONTOR_DAGSTER_PORT": str(port)}
        command = [str(Path(sys.executable).with_name("kontor")), "up"]
        process = subprocess.Popen(command, env={**os.environ, **told})  # noqa: S603 (our own program)
        try:
            deadline = time.monotonic() + PATIENCE_SECONDS
            while not _complete(address):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit("the house did not get ready")
                time.sleep(2)
            yield address
        finally:
            process.send_signal(signal.SIGINT)
            process.wait()


def _complete(address: str) -> bool:
    try:
        return runs.is_made(address, "categoriser_evaluation") and runs.ask(address, UNFINISHED)["runsOrError"]["count"] == 0
    except httpx.HTTPError:
        return False


def _browser() -> str:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise SystemExit("no Chromium on this machine: install one, for example with apt install chromium")
    return found


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
