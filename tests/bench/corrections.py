"""A correction of a category on the demo's page, from the press of the button to the page that shows its effect.

It stands beside the same page without a correction, for which everything lies ready. Both are requested in turn, in the service
as it is run: with its worker, which makes the results of the corrected bookings at the same time.
"""

import analytics  # noqa: F401, I001  before Polars

import re
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import httpx
from rich.console import Console
from rich.table import Table

from pipelines import demo_tenants
from tests.support.stack import running_stack, wait_until

ROUNDS, WARM_UP = 15, 3
OVERVIEW = "/demo/overview"
LOGIN = "demo1"
PARTNER, CATEGORIES = "REWE", ("RECREATION_HOBBY", "RECREATION_OTHER")
OWN = {"Sec-Fetch-Site": "same-origin"}
START_SECONDS, FETCH_SECONDS, PAUSE_SECONDS = 180, 60, 3
"""After a pause, the worker has made the results of the correction before."""
console = Console()


def main() -> None:
    """Measures, and shows the medians."""
    with tempfile.TemporaryDirectory(prefix="kontor-bench-") as folder, _visitor(Path(folder) / "home") as visitor:
        pages, corrections = [], []
        for number in range(WARM_UP + ROUNDS):
            time.sleep(PAUSE_SECONDS)
            visitor.get(OVERVIEW)
            pages.append(_seconds(visitor, "GET", OVERVIEW, {}))
            booking = _booking(visitor.get(f"{OVERVIEW}?all=1").text)
            category = CATEGORIES[number % len(CATEGORIES)]
            corrections.append(_seconds(visitor, "POST", f"/demo/bookings/{booking}", {"category": category}))
    page, correction = (statistics.median(times[WARM_UP:]) for times in (pages, corrections))
    table = Table("request", "median, ms", "fastest, ms", "ratio of the medians")
    table.add_row("the page, all of it ready", f"{page * 1000:.0f}", f"{min(pages[WARM_UP:]) * 1000:.0f}", "1")
    table.add_row(
        "a correction",
        f"{correction * 1000:.0f}",
        f"{min(corrections[WARM_UP:]) * 1000:.0f}",
        f"{correction / page:.1f}",
    )
    console.print(table)


@contextmanager
def _visitor(home: Path) -> Iterator[httpx.Client]:
    """The browser of a visitor who is a person of the demo bank, in a running service."""
    home.mkdir()
    environment = {"KONTOR_WARM_UP": "true", "KONTOR_RESULTS_AT_ONCE": "true", "KONTOR_WORKERS": "1"}
    with (
        console.status("Starting the service …"),
        running_stack(home, **environment) as stack,
        httpx.Client(base_url=stack.base_url, timeout=START_SECONDS) as visitor,
    ):
        demo_tenants.seed(stack.database, stack.vault, stack.base_url, stack.home / "demo.json", datetime.now(UTC))
        visitor.post("/demo/people", headers=OWN, data={"person": LOGIN})
        wait_until(lambda: PARTNER in visitor.get(OVERVIEW).text, FETCH_SECONDS)
        yield visitor


def _booking(page: str) -> str:
    """The id of the latest booking with the partner."""
    match = re.search(rf'id="b-([0-9a-f-]{{36}})">(?:(?!</summary>).)*<span class="row-name">{PARTNER}</span>', page, re.DOTALL)
    if match is None:
        raise LookupError(f"no booking of {PARTNER}")
    return match[1]


def _seconds(visitor: httpx.Client, method: str, path: str, data: dict[str, str]) -> float:
    headers = {**OWN, "X-Live": "1"}
    began_at = time.perf_counter()
    answer = visitor.request(method, path, headers=headers, data=data or None)
    seconds = time.perf_counter() - began_at
    if answer.status_code != httpx.codes.OK or "data-part" not in answer.text:
        raise RuntimeError(f"{method} {path}: no page came back")
    return seconds


if __name__ == "__main__":
    main()
