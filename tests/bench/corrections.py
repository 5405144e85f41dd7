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
from tests.support.stack import Stack, running_stack, start_python, wait_until

ROUNDS, WARM_UP = 20, 3
OVERVIEW = "/demo/overview"
LOGINS = ("demo1", "demo2", "demo4")
CATEGORIES = ("RECREATION_HOBBY", "RECREATION_OTHER")
OWN = {"Sec-Fetch-Site": "same-origin"}
START_SECONDS, FETCH_SECONDS, PAUSE_SECONDS = 180, 60, 3
"""After a pause, the worker has made the results of the correction before."""
BOOKING = re.compile(r'<span class="amount">(?:(?!</details>).)*href="/demo/bookings/([0-9a-f-]{36})" data-fetch', re.DOTALL)
"""A booking of money that went out, and that is booked."""
console = Console()


def main() -> None:
    """Measures, and shows the medians of each person."""
    table = Table("person", "request", "median, ms", "95 %, ms", "fastest, ms", "ratio of the medians")
    with tempfile.TemporaryDirectory(prefix="kontor-bench-") as folder, _service(Path(folder) / "home") as stack:
        for login in LOGINS:
            pages, corrections = _measure(stack, login)
            page = statistics.median(pages)
            for request, times in (("the page, all of it ready", pages), ("a correction", corrections)):
                median, late = statistics.median(times), statistics.quantiles(times, n=20)[-1]
                figures = (median * 1000, late * 1000, min(times) * 1000)
                table.add_row(login, request, *(f"{value:.0f}" for value in figures), f"{median / page:.1f}")
    console.print(table)


def _measure(stack: Stack, login: str) -> tuple[list[float], list[float]]:
    """The seconds of pages and of corrections of one person, in turn."""
    pages, corrections = [], []
    with _visitor(stack, login) as visitor:
        for number in range(WARM_UP + ROUNDS):
            time.sleep(PAUSE_SECONDS)
            visitor.get(OVERVIEW)
            pages.append(_seconds(visitor, "GET", OVERVIEW, {}))
            booking = _booking(visitor.get(f"{OVERVIEW}?all=1").text)
            category = CATEGORIES[number % len(CATEGORIES)]
            corrections.append(_seconds(visitor, "POST", f"/demo/bookings/{booking}", {"category": category}))
    return pages[WARM_UP:], corrections[WARM_UP:]


@contextmanager
def _service(home: Path) -> Iterator[Stack]:
    """The running service with the demo's tenants."""
    home.mkdir()
    environment = {"KONTOR_WARM_UP": "true", "KONTOR_RESULTS_AT_ONCE": "true", "KONTOR_WORKERS": "1"}
    with console.status("Starting the service …"), running_stack(home, start_python, **environment) as stack:
        demo_tenants.seed(stack.database, stack.vault, stack.base_url, stack.home / "demo.json", datetime.now(UTC))
        yield stack


@contextmanager
def _visitor(stack: Stack, login: str) -> Iterator[httpx.Client]:
    """The browser of a visitor who is this person of the demo bank."""
    with httpx.Client(base_url=stack.base_url, timeout=START_SECONDS) as visitor:
        visitor.post("/demo/people", headers=OWN, data={"person": login})
        wait_until(lambda: BOOKING.search(visitor.get(OVERVIEW).text), FETCH_SECONDS)
        yield visitor


def _booking(page: str) -> str:
    """The id of the latest booking of money that went out."""
    match = BOOKING.search(page)
    if match is None:
        raise LookupError("no booking of money that went out")
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
