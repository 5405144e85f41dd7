"""Prometheus metrics: counts, durations and failures. Labels are path templates and fixed names, never ids."""

import os
from functools import cache

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

REQUESTS = Counter("kontor_requests", "Requests answered", ["method", "route", "status"])
SECONDS = Histogram(
    "kontor_request_seconds",
    "Time to answer",
    ["route"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180),
)
TOKENS = Counter("kontor_tokens_issued", "Access tokens issued", ["grant"])
MODEL_STANDS_IN = Gauge(
    "kontor_model_stands_in",
    "1 while the model in use cannot be read and another one stands in for it",
    multiprocess_mode="mostrecent",
)
DISK_USED = Gauge(
    "kontor_disk_used_share", "Share of the disk of a place with data that is used", ["place"], multiprocess_mode="mostrecent"
)
LOGIN_FAILURES = Counter("kontor_login_failures", "Logins refused", ["grant"])


def count_request(method: str, route: str, status: int, seconds: float) -> None:
    """Counts a finished request (status 0: the caller disconnected before)."""
    requests, times = _counters(method, route, status)
    requests.inc()
    times.observe(seconds)


@cache
def _counters(method: str, route: str, status: int) -> tuple[Counter, Histogram]:
    """The counters of one kind of request, cached: there are only as many kinds as routes and statuses."""
    return REQUESTS.labels(method, route, str(status)), SECONDS.labels(route)


def note_model(*, stands_in: bool) -> None:
    """Notes whether another model stands in for the one in use."""
    MODEL_STANDS_IN.set(stands_in)


def exposition() -> bytes:
    """All metrics in Prometheus' text format, summed over the workers of this service."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return generate_latest(REGISTRY)
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry)
