"""Searches over the bookings of a customer with more than 50,000, beside a page of 100 of one account.

All are asked in turn, one request at a time, so that what slows the machine slows them alike. What counts is the median over all
kinds of searches: it must be at most three times that of the page.
"""

import analytics  # noqa: F401, I001  before Polars

import statistics
import sys
import time

import httpx
from rich.console import Console
from rich.table import Table

from pipelines.context import Context
from pipelines.results import buckets, export, live, publish, tags
from tests.bench import house, seeding
from tests.bench.cases import HOST, Seed, Server
from warehouse.lake.buckets import bucket_of
from warehouse.stores import users

ROUNDS = 31
WARM_UP = 6
MAX_RATIO = 3
SEARCH = "/customer/v2/kontoumsaetze"
PAGE = "page of 100 of one account"
SEARCHES = {
    "everything": {},
    "a word of some bookings": {"text": "einkauf"},
    "a word that is nowhere": {"text": "gibtesnirgends"},
    "two words and a range of days": {"text": "miete gmbh", "from": "2025-01-01", "to": "2025-12-31"},
    "a range of amounts": {"minAmount": "-60", "maxAmount": "-40"},
    "what came in": {"direction": "in"},
    "one access": {"accessId": seeding.DEMO1},
    "by amount": {"sort": "amount", "order": "asc"},
    "a category": {"category": "LIVING"},
    "a category and a word": {"category": "LIVING", "text": "rewe"},
}
console = Console()


def main() -> None:
    """Measures, shows the medians, and ends with 1 if searches take too long."""
    with house.running() as started:
        with console.status("Fetching what is searched …"), seeding.flows(started.settings) as flows:
            seed, _ = seeding.fill(flows)
            _publish(flows, seed)
            seeding.settle(started.owner_address)
        times = _measure(f"http://{HOST}:{started.ports[Server.API]}", seed)
    medians = {name: statistics.median(values) for name, values in times.items()}
    page = medians.pop(PAGE)
    table = Table("search", "median, ms", "ratio to the page")
    table.add_row(PAGE, f"{page * 1000:.1f}", "1")
    for name, median in medians.items():
        table.add_row(name, f"{median * 1000:.1f}", f"{median / page:.1f}")
    ratio = statistics.median(value for name in medians for value in times[name]) / page
    table.add_row("all searches", f"{ratio * page * 1000:.1f}", f"{ratio:.1f}")
    console.print(table)
    if ratio > MAX_RATIO:
        console.print(f"[red]The median search takes more than {MAX_RATIO} times as long as the page.[/]")
        sys.exit(1)


def _publish(flows: Context, seed: Seed) -> None:
    """Lets the tags of the customer lie ready, as they do some minutes after a fetch."""
    with flows.database.operating() as operator:
        user = next(user.id for user in users.visible(operator) if user.username == seed.user.name)
    count, base_url = flows.settings.buckets, flows.settings.base_url
    bucket = bucket_of(user, count)
    export.export_bucket(flows.database, flows.lake, bucket, count)
    buckets.tag_buckets(flows.lake, [bucket], tags.tagger())
    buckets.analyse_buckets(flows.lake, [bucket], live.version(base_url))
    publish.publish_buckets(flows.database, flows.lake, [bucket], count, base_url)


def _measure(address: str, seed: Seed) -> dict[str, list[float]]:
    """The times of all requests, round by round; the first rounds only fill caches."""
    requests = {PAGE: (seed.long_list, {"limit": "100"})} | {name: (SEARCH, query) for name, query in SEARCHES.items()}
    times: dict[str, list[float]] = {name: [] for name in requests}
    with httpx.Client(base_url=address, headers={"Authorization": f"Bearer {seed.customer}"}, timeout=60) as http:
        for number in range(WARM_UP + ROUNDS):
            for name, (path, query) in requests.items():
                began = time.perf_counter()
                answer = http.get(path, params=query)
                taken = time.perf_counter() - began
                answer.raise_for_status()
                if number >= WARM_UP:
                    times[name].append(taken)
    return times


if __name__ == "__main__":
    main()
