"""Traces at a collector on loopback: a request, its job and the call to the bank are one trace, and nothing personal is in it."""

import itertools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from pipelines.assets.resources import ContextResource
from tests.support.receiver import Call, receiving
from tests.support.stack import DEMO, running_stack, wait_until
from warehouse.runtime import traces
from warehouse.settings import Settings

IP = "84.112.10.7"


def spans(calls: Iterable[Call]) -> Iterator[Span]:
    """All spans that a collector got."""
    for call in calls:
        for resource in ExportTraceServiceRequest.FromString(call.body).resource_spans:
            assert [attribute.key for attribute in resource.resource.attributes] == ["service.name"]
            for scope in resource.scope_spans:
                yield from scope.spans


def attributes(span: Span) -> dict[str, str | int]:
    return {one.key: one.value.string_value or one.value.int_value for one in span.attributes}


def test_a_request_its_job_and_the_bank_call_are_one_trace_without_personal_data(homes: Path) -> None:
    with receiving() as collector:
        environment = {"KONTOR_TRACES_URL": f"http://127.0.0.1:{collector.port}/v1/traces"}
        with running_stack(homes / "traced", **environment) as stack:
            customer = stack.tenant().customer()
            key = customer.connected("demo1", ip=IP)
            stack.http.get("/customer/v2/Erika-Mustermann", params={"iban": "DE02120300000000202051"})
            other, _ = customer.add("test_wrong_pin", ip=IP)
            wait_until(lambda: customer.codes(other) == ["BA1011"], 30, lambda: str(customer.codes(other)))
            told = {*stack.private, key, str(customer.user_id), IP, "Erika-Mustermann", "DE02120300000000202051"}
    sent = list(spans(collector.calls))
    by_id = {span.span_id: span for span in sent}

    bodies = b"".join(call.body for call in collector.calls)
    assert [text for text in told if text.encode() in bodies] == []
    assert {span.name for span in sent} == {"request", "job", "bank call"}
    assert set(itertools.chain.from_iterable(map(attributes, sent))) <= traces.ATTRIBUTES
    assert not any(span.events or span.links or span.status.message or span.trace_state for span in sent)

    fetches = [span for span in sent if attributes(span).get("kontor.job") == "fetch_access"]
    calls = [span for span in sent if span.name == "bank call"]
    assert {attributes(call)["kontor.provider"] for call in calls} == {DEMO}
    assert {call.parent_span_id for call in calls} == {fetch.span_id for fetch in fetches}
    for fetch in fetches:
        request = by_id[fetch.parent_span_id]
        assert request.trace_id == fetch.trace_id
        assert attributes(request)["http.request.method"] == "POST"
        assert attributes(request)["http.route"] == "/customer/v2/bankzugaenge"
    assert [attributes(call)["error.type"] for call in calls if call.status.code] == ["WrongCredentials"]


def test_a_run_is_a_trace_whose_jobs_are_below_it(homes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    below: list[str | None] = []

    @dg.op
    def enqueue(kontor: dg.ResourceParam[object]) -> None:
        below.append(traces.carried())

    @dg.job(executor_def=dg.in_process_executor, resource_defs={"kontor": ContextResource().get_resource_definition()})
    def traced_job() -> None:
        enqueue()

    with receiving() as collector:
        monkeypatch.setenv("KONTOR_TRACES_URL", f"http://127.0.0.1:{collector.port}/v1/traces")
        monkeypatch.setenv("KONTOR_HOME", str(homes / "run"))
        monkeypatch.setenv("KONTOR_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/nothing")
        outcome = traced_job.execute_in_process()
    (run,) = spans(collector.calls)
    assert attributes(run) == {"kontor.run": outcome.run_id, "kontor.job": "traced_job"}
    (parent,) = below
    assert str(parent).startswith(f"00-{run.trace_id.hex()}-{run.span_id.hex()}-")


@contextmanager
def tracing(url: str, share: float = 1.0) -> Iterator[None]:
    traces.configure(Settings(traces_url=url, traces_share=share), "test")
    try:
        yield
    finally:
        traces.close()


def test_an_error_is_sent_by_its_kind_alone() -> None:
    with receiving() as collector, tracing(collector.url), pytest.raises(ValueError), traces.span("job", kontor__job="move"):
        raise ValueError("Erika Mustermann")
    (span,) = spans(collector.calls)
    assert attributes(span) == {"kontor.job": "move", "error.type": "ValueError"}
    assert b"Mustermann" not in collector.calls[0].body


def test_an_attribute_that_is_not_listed_is_refused() -> None:
    with receiving() as collector, tracing(collector.url), pytest.raises(ValueError, match="no attribute"):
        traces.begin("job", kontor__user="erika")


def test_nothing_is_sent_of_a_share_of_zero_and_without_an_address() -> None:
    with receiving() as collector:
        with tracing(collector.url, share=0), traces.span("run"):
            pass
        traces.configure(Settings(), "test")
        with traces.span("run") as span:
            assert traces.carried() is None
    assert collector.calls == []
    assert not span.is_recording()


def test_a_collector_that_is_away_disturbs_nobody() -> None:
    with tracing("http://127.0.0.1:1/v1/traces"), traces.span("run") as span:
        span.set_attribute("kontor.job", "any")
    assert traces.carried() is None
