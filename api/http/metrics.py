"""Prometheus metrics: counts, durations and failures. Labels are path templates and fixed names, never ids."""

import os
from collections.abc import Iterator, Mapping
from functools import cache

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from pipelines.operations import Survey
from warehouse.postgres.work_state import WorkState

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


def work_exposition(severities: Mapping[str, int], work: WorkState | None, survey: Survey | None) -> bytes:
    """The metrics of checks (0 ok, 1 degraded, 2 unavailable), of the work of all workers, and of the freshness of data and
    results, in Prometheus' text format. They are those of the whole installation, whichever process is asked.
    """
    registry = CollectorRegistry()
    registry.register(_WorkCollector(severities, work, survey))
    return generate_latest(registry)


class _WorkCollector(Collector):
    """Metrics that are read from the database at the moment they are asked for."""

    def __init__(self, severities: Mapping[str, int], work: WorkState | None, survey: Survey | None) -> None:
        self._severities = severities
        self._work = work
        self._survey = survey

    def collect(self) -> Iterator[Metric]:
        checks = GaugeMetricFamily("kontor_check_severity", "Checks of /ready: 0 ok, 1 degraded, 2 unavailable", labels=["check"])
        for name, severity in self._severities.items():
            checks.add_metric([name], severity)
        yield checks
        if self._work is not None:
            yield from _work_metrics(self._work)
        if self._survey is not None:
            yield from _survey_metrics(self._survey)


def _work_metrics(work: WorkState) -> Iterator[Metric]:
    workers = GaugeMetricFamily("kontor_workers", "Workers that give signs of life, and those that have died", labels=["state"])
    workers.add_metric(["alive"], work.workers)
    workers.add_metric(["lost"], work.lost_workers)
    yield workers
    if work.heartbeat_seconds is not None:
        text = "Time since the latest sign of life of any worker"
        yield GaugeMetricFamily("kontor_worker_heartbeat_age_seconds", text, work.heartbeat_seconds)
    depth = GaugeMetricFamily("kontor_queue_depth", "Jobs and webhook events in a queue", labels=["queue", "state"])
    age = GaugeMetricFamily("kontor_queue_age_seconds", "How long the oldest of a queue has waited", labels=["queue"])
    for queue in work.queues.values():
        depth.add_metric([queue.queue, "waiting"], queue.waiting)
        depth.add_metric([queue.queue, "running"], queue.running)
        age.add_metric([queue.queue], queue.oldest_seconds)
    yield depth
    yield age
    fetches = CounterMetricFamily(
        "kontor_fetches", "Fetches that have ended, by bank and outcome", labels=["provider", "outcome"]
    )
    for total in work.fetches:
        fetches.add_metric([total.provider, total.outcome], total.fetches)
    yield fetches
    paused = GaugeMetricFamily(
        "kontor_bank_paused", "1 while a bank is paused, because it fails for everybody", labels=["provider"]
    )
    for bank in work.paused_banks:
        paused.add_metric([bank.provider], 1)
    yield paused


def _survey_metrics(survey: Survey) -> Iterator[Metric]:
    slot, age, server, watched = survey.slot_fetches, survey.data_age, survey.server, survey.watched
    yield _gauge(
        "kontor_slot_accesses",
        "Accesses that the refresh of the current slot has tried: all, those still being fetched, those with data of the slot",
        "state",
        {"tried": slot.accesses, "running": slot.unended, "fetched": slot.fetched},
    )
    yield _gauge(
        "kontor_data_accesses",
        "Accesses that may be fetched without their customers: all, and those whose data are older than a day",
        "state",
        {"all": age.accesses, "outdated": age.outdated},
    )
    if age.oldest_at is not None:
        text = "Time of the oldest data of such an access"
        yield GaugeMetricFamily("kontor_data_oldest_timestamp_seconds", text, age.oldest_at.timestamp())
    moments = {table: moment.timestamp() for table, moment in survey.written_at.items()}
    text = "Time at which the pipelines have last written a file of a table of the lake"
    yield _gauge("kontor_lake_written_timestamp_seconds", text, "table", moments)
    yield GaugeMetricFamily("kontor_database_bytes", "Size of the database on the server", server.database_bytes)
    yield _gauge(
        "kontor_database_connections",
        "Connections to the server of the database, whoever has opened them, and those that it allows",
        "state",
        {"open": server.open_connections, "allowed": server.allowed_connections},
    )
    text = "Age of the oldest transaction of the service's role"
    yield GaugeMetricFamily("kontor_database_oldest_transaction_seconds", text, server.oldest_transaction_seconds)
    ages = {"certificate": watched.certificate_seconds, "vault_key": watched.vault_key_seconds}
    text = "Age of the oldest certificate that an active tenant uses, and since when the active vault key has been in use"
    yield _gauge("kontor_secret_age_seconds", text, "kind", {name: age for name, age in ages.items() if age is not None})
    text = "Consents and payments that should have ended five minutes ago"
    yield GaugeMetricFamily("kontor_stuck_dialogues", text, watched.stuck_dialogues)
    text = "Payments with unknown outcome about which workers no longer ask the bank"
    yield GaugeMetricFamily("kontor_unknown_payments", text, watched.unknown_payments)
    yield _gauge(
        "kontor_tagged_bookings",
        "Bookings when their buckets were last tagged: all, and those whose category is unsure",
        "state",
        {"all": watched.tagged_bookings, "unsure": watched.unsure_bookings},
    )


def _gauge(name: str, text: str, label: str, values: Mapping[str, float]) -> GaugeMetricFamily:
    """A metric with one label, by whose values the values of the metric are given."""
    gauge = GaugeMetricFamily(name, text, labels=[label])
    for key, value in values.items():
        gauge.add_metric([key], value)
    return gauge
