"""Traces for a collector of OpenTelemetry: how long requests, jobs, calls to banks and runs took, and which of them caused which.

Off unless `KONTOR_TRACES_URL` is set. Nothing personal is sent: names and attributes are those listed here, and their values are
routes, codes and ids of ours. Texts of errors are left out, as in logs. The provider is our own and not that of the process, so
that no library adds spans with addresses or statements to it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from warehouse.settings import Settings

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

Name = Literal["request", "job", "bank call", "run"]
KINDS: dict[Name, SpanKind] = {
    "request": SpanKind.SERVER,
    "job": SpanKind.CONSUMER,
    "bank call": SpanKind.CLIENT,
    "run": SpanKind.INTERNAL,
}
ATTRIBUTES = frozenset(
    {
        "http.request.method",
        "http.response.status_code",
        "http.route",
        "kontor.job",
        "kontor.provider",
        "kontor.run",
        "error.type",
    }
)
CARRIER = "traceparent"
PROPAGATOR = TraceContextTextMapPropagator()


class _Exporting:
    """The provider of this process, None while traces are off."""

    provider: "TracerProvider | None" = None


def configure(settings: Settings, program: str) -> None:
    """Lets this process send its spans, if the settings name a collector."""
    if settings.traces_url is None or _Exporting.provider is not None:
        return
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # loaded only where it is wanted
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

    provider = TracerProvider(
        resource=Resource({"service.name": f"kontor-{program}"}),
        sampler=ParentBased(TraceIdRatioBased(settings.traces_share)),
    )
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=settings.traces_url)))
    _Exporting.provider = provider


def close() -> None:
    """Sends what waits, and ends sending. Processes that end without Python's own end call it."""
    provider, _Exporting.provider = _Exporting.provider, None
    if provider is not None:
        provider.shutdown()


def begin(name: Name, parent: str | None = None, **attributes: str | int) -> Span:
    """A new span, which its caller ends: below the parent that `carried` gave elsewhere, else below the span of the context."""
    provider = _Exporting.provider
    if provider is None:
        return INVALID_SPAN
    context = PROPAGATOR.extract({CARRIER: parent}, Context()) if parent else None
    span = provider.get_tracer("kontor").start_span(name, context, KINDS[name])
    describe(span, **attributes)
    return span


def describe(span: Span, **attributes: str | int) -> None:
    """Adds attributes to a span; a `__` in a name stands for its dot."""
    for key, value in attributes.items():
        name = key.replace("__", ".")
        if name not in ATTRIBUTES:
            raise ValueError(f"{name} is no attribute of a trace")
        span.set_attribute(name, value)


def fail(span: Span, kind: str) -> None:
    """Marks a span as failed, with the kind of the error and without its text."""
    span.set_status(Status(StatusCode.ERROR))
    describe(span, error__type=kind)


@contextmanager
def span(name: Name, parent: str | None = None, **attributes: str | int) -> Iterator[Span]:
    """A span around a block; what begins in the block is below it."""
    new_span = begin(name, parent, **attributes)
    if new_span is INVALID_SPAN:
        yield new_span
        return
    with trace.use_span(new_span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
        try:
            yield new_span
        except BaseException as error:
            fail(new_span, type(error).__qualname__)
            raise


def carried() -> str | None:
    """The span of the context as text, for the job that it causes; None while traces are off."""
    if _Exporting.provider is None:
        return None
    carrier: dict[str, str] = {}
    PROPAGATOR.inject(carrier)
    return carrier.get(CARRIER)
