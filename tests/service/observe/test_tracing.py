"""What is seen of a document from outside: one trace from its upload to the last call of a model."""

import asyncio
import json
import logging
import threading
import traceback
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
import structlog
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from docmill.errors import ContextTooLongError, CorruptError, MisconfiguredError, ServerError
from docmill.model.document import Document
from docmill.ports import Original
from docmill.resilience.breaker import Breaker, guarded
from docmill.service.app import Service, open_service
from docmill.service.config.settings import ChosenModel, Llm, Otel, Settings
from docmill.service.config.settings import UnderstandingSettings as Chosen
from docmill.service.intake.accept import Accepted
from docmill.service.observe.metrics import Metrics
from docmill.service.observe.otel import OtelTracer
from docmill.service.observe.tracing import NO_TRACER, Tracer, open_tracer, traced_calls
from docmill.service.ports.matching import DocumentToMatch
from docmill.service.protocol.pause import Pauses
from docmill.service.steps import models_of
from docmill.service.worker import matching_poller, run_worker
from docmill.testing.matching import ScriptedMatcher
from docmill.testing.steps import FakeExtractor, PaintedPages
from docmill.understanding.gate import RuleGate
from docmill.web.app import create_app
from support.llm_server import serving, spoken
from support.nested_documents import NestedDocuments
from support.papers_to_match import PapersToMatch
from support.scripted_steps import AtOnceError, Observer, RunWorker, ScriptedSteps, Upload

UPLOADS = "/api/v1/documents"
STEPS = ["read", "transcribe", "classify", "extract", "export"]
CALLER = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.fixture
def spans() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def tracer(spans: InMemorySpanExporter) -> Tracer:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(spans))
    return OtelTracer(provider)


@pytest.fixture
def boxes(make_document: Callable[..., Document]) -> NestedDocuments:
    return NestedDocuments(make_document("Total 1.00"))


@pytest.fixture
async def service(settings: Settings, tracer: Tracer) -> AsyncIterator[Service]:
    async with open_service(settings, tracer) as service:
        await asyncio.wait_for(service.wakeups.listening(), 10)
        yield service


@asynccontextmanager
async def client_of(service: Service) -> AsyncGenerator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(
        create_app(service, PaintedPages(), service.settings), raise_app_exceptions=False
    )
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        yield client


async def sent(service: Service, name: str = "Muster bill.pdf", trace: str | None = None) -> Accepted:
    """The document of an upload through the API."""
    headers = {"traceparent": trace} if trace else {}
    async with client_of(service) as client:
        answer = await client.post(UPLOADS, files={"file": (name, b"%PDF-1.7")}, headers=headers)
    assert answer.status_code < 300, answer.text
    document_id = UUID(answer.json()["results"][0]["document_id"])
    return Accepted(document_id, None, is_new=True)


def named(spans: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    return [span for span in spans.get_finished_spans() if span.name == name]


def only(spans: InMemorySpanExporter, name: str) -> ReadableSpan:
    (span,) = named(spans, name)
    return span


def parent_of(span: ReadableSpan, spans: InMemorySpanExporter) -> str | None:
    """The name of the span above."""
    names = {made.context.span_id: made.name for made in spans.get_finished_spans() if made.context}
    return names.get(span.parent.span_id) if span.parent else None


def trace_ids(spans: InMemorySpanExporter) -> set[int]:
    """The traces of what was uploaded; each matching has one of its own."""
    contexts = {(span.context.trace_id, span.name) for span in spans.get_finished_spans() if span.context}
    return {id_ for id_, _ in contexts} - {id_ for id_, name in contexts if name == "process matching"}


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


async def test_upload_queue_worker_steps_and_model_calls_are_one_trace(
    service: Service, script: ScriptedSteps, tracer: Tracer, observer: Observer, spans: InMemorySpanExporter
) -> None:
    async with serving() as server:
        server.replies = [spoken("openai", {"number": "7", "gross_total": "119.00"})]
        asked = Settings(
            llm=Llm(base_url=server.url("openai")),
            understanding=Chosen(small=ChosenModel(model="own")),
            data_dir=service.settings.data_dir,
        )
        router = models_of(asked, tracer).router(RuleGate())
        steps, stop = replace(script.steps(), extractor=FakeExtractor(), router=router), asyncio.Event()
        accepted = await sent(service)
        working = asyncio.create_task(run_worker(service, steps, stop))
        await observer.when(accepted, lambda document: document.state != "processing")
        stop.set()
        await working

    upload = only(spans, f"POST {UPLOADS}")
    sending, attempt = only(spans, "send ingestion"), only(spans, "process ingestion")
    assert (upload.kind, sending.kind, attempt.kind) == (
        SpanKind.SERVER,
        SpanKind.PRODUCER,
        SpanKind.CONSUMER,
    )
    assert len(trace_ids(spans)) == 1
    assert upload.parent is None
    assert parent_of(sending, spans) == upload.name
    assert parent_of(attempt, spans) == sending.name
    assert [link.context.span_id for link in attempt.links] == [sending.context and sending.context.span_id]
    assert {parent_of(only(spans, step), spans) for step in STEPS} == {attempt.name}
    call = named(spans, "chat own")[0]
    assert (call.kind, parent_of(call, spans)) == (SpanKind.CLIENT, "extract")
    assert attributes(call)["gen_ai.request.model"] == "own"


async def test_spans_name_whom_they_are_about_and_nothing_that_the_document_says(
    service: Service, working: RunWorker, observer: Observer, spans: InMemorySpanExporter
) -> None:
    accepted = await sent(service, "Muster bill.pdf")
    async with working():
        await observer.until(accepted, "ready")
    async with client_of(service) as client:
        await client.get("/", params={"q": "Muster"})

    ingestion = await observer.ingestion(accepted)
    about = {
        "docmill.tenant_id": str(service.default_tenant_id),
        "docmill.document_id": str(accepted.document_id),
        "docmill.ingestion_id": str(ingestion.id),
    }
    assert attributes(only(spans, "send ingestion")).items() >= about.items()
    attempt = attributes(only(spans, "process ingestion"))
    assert attempt.items() >= about.items()
    assert (attempt["docmill.attempt"], attempt["docmill.outcome"]) == (1, "completed")
    assert attempt["gen_ai.usage.input_tokens"] == 10
    everything = " ".join(span.to_json() for span in spans.get_finished_spans())
    assert named(spans, "GET /")
    assert [word for word in ("Muster", "Invoice 7", "119.00", "bill") if word in everything] == []


async def test_a_retry_is_another_attempt_of_the_same_trace(
    service: Service,
    script: ScriptedSteps,
    working: RunWorker,
    observer: Observer,
    spans: InMemorySpanExporter,
) -> None:
    script.extract_errors = [AtOnceError("words of the document")]
    accepted = await sent(service)

    async with working():
        await observer.until(accepted, "ready")

    first, second = named(spans, "process ingestion")
    assert len(trace_ids(spans)) == 1
    assert [attributes(attempt)["docmill.outcome"] for attempt in (first, second)] == ["retried", "completed"]
    assert (first.status.status_code, attributes(first)["error.type"]) == (StatusCode.ERROR, "server_error")
    assert second.status.status_code is StatusCode.UNSET
    failed, _ = named(spans, "extract")
    assert attributes(failed)["error.type"] == "server_error"
    assert not failed.events
    assert "words" not in failed.to_json()


async def test_a_fault_of_ours_keeps_its_place_for_the_log(
    service: Service,
    script: ScriptedSteps,
    working: RunWorker,
    observer: Observer,
    spans: InMemorySpanExporter,
    caplog: pytest.LogCaptureFixture,
) -> None:
    script.extract_errors = [ZeroDivisionError("words of the document")]
    accepted = await sent(service)

    async with working():
        await observer.when(accepted, lambda document: document.error_code is not None)

    assert attributes(only(spans, "extract"))["error.type"] == "internal"
    (fault,) = [record for record in caplog.records if record.message == "a fault in docmill"]
    assert fault.exc_info
    places = [frame.name for frame in traceback.extract_tb(fault.exc_info[2])]
    assert {"process", "extract"} <= set(places)


async def test_a_document_that_fails_says_where(
    service: Service,
    script: ScriptedSteps,
    working: RunWorker,
    observer: Observer,
    spans: InMemorySpanExporter,
) -> None:
    async def convert(_original: Original) -> None:
        raise CorruptError("words of the document")

    script.convert = convert
    accepted = await sent(service)

    async with working():
        await observer.until(accepted, "failed")

    assert attributes(only(spans, "transcribe"))["error.type"] == "corrupt"
    assert attributes(only(spans, "process ingestion"))["docmill.outcome"] == "failed"
    assert named(spans, "classify") == []


async def test_a_caller_that_traces_sees_the_document_in_its_own_trace(
    service: Service, working: RunWorker, observer: Observer, spans: InMemorySpanExporter
) -> None:
    accepted = await sent(service, trace=CALLER)

    async with working():
        await observer.until(accepted, "ready")

    assert trace_ids(spans) == {int(CALLER.split("-")[1], 16)}


async def test_what_an_archive_holds_belongs_to_the_trace_of_the_whole(
    service: Service, boxes: NestedDocuments, spans: InMemorySpanExporter
) -> None:
    content = json.dumps({"x/b.pdf": "b", "c.zip": {"d.pdf": "d"}}).encode()
    async with client_of(service) as client:
        await client.post(UPLOADS, files={"file": ("a.zip", content)})
    stop = asyncio.Event()

    working = asyncio.create_task(run_worker(service, boxes.steps(), stop))
    finished = 0
    async with asyncio.timeout(20):
        async for events in service.feed.follow(service.default_tenant_id, 0):
            finished += sum(event.kind == "finished" for event in events)
            if finished == 4:
                break
    stop.set()
    await working

    assert len(named(spans, "process ingestion")) == 4
    assert len(trace_ids(spans)) == 1
    parents = sorted(str(parent_of(span, spans)) for span in named(spans, "send ingestion"))
    assert parents == [f"POST {UPLOADS}", "unpack", "unpack", "unpack"]


async def test_calls_of_every_provider_are_spans_and_say_why_they_failed(
    tracer: Tracer, spans: InMemorySpanExporter
) -> None:
    breaker = Breaker("provider", threshold=1)
    call = traced_calls(tracer, partial(guarded, breaker), "chat own")

    for _ in range(2):
        with pytest.raises(ServerError):
            async with call():
                raise ServerError("words of the document")

    first, refused = named(spans, "chat own")
    assert [attributes(span)["error.type"] for span in (first, refused)] == ["server_error", "server_error"]
    assert "words" not in first.to_json()


def test_without_a_tracer_a_guard_is_left_as_it_is() -> None:
    guard = partial(guarded, Breaker("provider"))

    assert traced_calls(NO_TRACER, guard, "chat own") is guard


async def test_what_is_logged_during_an_attempt_names_its_trace(
    service: Service,
    script: ScriptedSteps,
    working: RunWorker,
    observer: Observer,
    spans: InMemorySpanExporter,
) -> None:
    bound: list[dict[str, object]] = []

    async def convert(_original: Original) -> None:
        bound.append(structlog.contextvars.get_contextvars())

    script.convert = convert
    accepted = await sent(service)

    async with working():
        await observer.until(accepted, "ready")

    (trace_id,) = trace_ids(spans)
    assert bound[0]["trace_id"] == f"{trace_id:032x}"


async def test_matching_is_a_trace_of_its_own_whose_phases_have_counts(
    service: Service, spans: InMemorySpanExporter, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "docmill.service.processing.matching_phases")
    papers = PapersToMatch(service)
    document_id = await papers.read()
    stop = asyncio.Event()
    poller = matching_poller(service, "w", Metrics(), pauses=Pauses(0.05))
    assert poller is not None

    working = asyncio.create_task(poller.run(stop, asyncio.Event()))
    await papers.until(document_id, lambda state: state.status == "succeeded")
    stop.set()
    await working

    whole = only(spans, "process matching")
    assert attributes(whole)["docmill.document_id"] == str(document_id)
    assert attributes(whole)["docmill.outcome"] == "succeeded"
    phases = [only(spans, name) for name in ("prepare", "decide", "write")]
    assert [parent_of(span, spans) for span in phases] == ["process matching"] * 3
    assert [attributes(span) for span in phases] == [
        {"docmill.records": 1},
        {"docmill.pairs": 0},
        {"docmill.records": 1, "docmill.links": 0, "docmill.suggestions": 0},
    ]
    lines = [record.__dict__ for record in caplog.records if record.message == "matching phase ended"]
    assert [(line["step"], line["counts"]) for line in lines] == [
        ("prepare", {"records": 1}),
        ("decide", {"pairs": 0}),
        ("write", {"records": 1, "links": 0, "suggestions": 0}),
    ]


async def test_a_phase_of_matching_that_fails_has_the_code_of_its_error(
    settings: Settings, tracer: Tracer, spans: InMemorySpanExporter
) -> None:
    async def fail(_document: DocumentToMatch) -> None:
        raise ContextTooLongError("secret words")

    async with open_service(settings, tracer, matcher=ScriptedMatcher(deciding=fail)) as service:
        papers = PapersToMatch(service)
        document_id = await papers.read()
        stop = asyncio.Event()
        poller = matching_poller(service, "w", Metrics(), pauses=Pauses(0.05))
        assert poller is not None
        working = asyncio.create_task(poller.run(stop, asyncio.Event()))
        await papers.until(document_id, lambda state: state.status == "failed")
        stop.set()
        await working

    for name in ("decide", "process matching"):
        assert only(spans, name).status.status_code is StatusCode.ERROR
        assert attributes(only(spans, name))["error.type"] == "context_too_long"
    assert named(spans, "write") == []
    assert "secret words" not in str([attributes(span) for span in spans.get_finished_spans()])


async def test_a_message_carries_the_id_and_nothing_else(service: Service, upload: Upload) -> None:
    accepted = await upload()

    (message,) = await service.queue.receive(limit=1, wait_s=0)

    assert message.body == str(accepted.ingestion_id)


async def test_probes_and_scrapes_are_not_traced(service: Service, spans: InMemorySpanExporter) -> None:
    async with client_of(service) as client:
        for path in ("/healthz", "/readyz", "/metrics"):
            await client.get(path)

    assert spans.get_finished_spans() == ()


class Receiver(HTTPServer):
    """An OTLP/HTTP receiver on this machine."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.paths: list[str] = []
        self.bodies: list[bytes] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def names(self) -> set[str]:
        """Of the spans that came."""
        return {
            span.name
            for body in self.bodies
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        }


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Receiver)
        self.server.paths.append(self.path)
        self.server.bodies.append(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the library's name
        del format, args


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        serving = threading.Thread(target=receiver.serve_forever)
        serving.start()
        yield receiver
        receiver.shutdown()
        serving.join()


def with_endpoint(settings: Settings, endpoint: str) -> Settings:
    return settings.model_copy(update={"otel": Otel(endpoint=endpoint)})


async def test_spans_go_by_otlp_to_the_receiver_that_the_settings_name_and_to_no_proxy(
    settings: Settings,
    script: ScriptedSteps,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "OTEL_EXPORTER_OTLP_ENDPOINT"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    stop = asyncio.Event()

    async with open_service(with_endpoint(settings, receiver.address)) as service:
        await asyncio.wait_for(service.wakeups.listening(), 10)
        accepted = await sent(service)
        working = asyncio.create_task(run_worker(service, script.steps(), stop))
        await Observer(service).until(accepted, "ready")
        stop.set()
        await working

    assert set(receiver.paths) == {"/v1/traces"}
    assert receiver.names >= {f"POST {UPLOADS}", "send ingestion", "process ingestion", *STEPS}
    assert b"docmill" in receiver.bodies[0]
    assert [body for body in receiver.bodies if b"Muster" in body or b"119.00" in body] == []


async def test_a_receiver_that_is_away_costs_spans_and_no_document(
    settings: Settings, script: ScriptedSteps
) -> None:
    stop = asyncio.Event()

    async with open_service(with_endpoint(settings, "http://127.0.0.1:9")) as service:
        await asyncio.wait_for(service.wakeups.listening(), 10)
        accepted = await sent(service)
        working = asyncio.create_task(run_worker(service, script.steps(), stop))
        await Observer(service).until(accepted, "ready")
        stop.set()
        await working


async def test_the_standard_variables_of_the_environment_switch_nothing_on(
    settings: Settings, upload_without_traces: Upload, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"):
        monkeypatch.setenv(name, receiver.address)
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")

    async with open_tracer(settings) as tracer:
        await upload_without_traces()

    assert tracer is NO_TRACER
    assert receiver.bodies == []


@pytest.fixture
async def upload_without_traces(settings: Settings) -> AsyncIterator[Upload]:
    async def once() -> AsyncIterator[bytes]:
        yield b"%PDF-1.7"

    async with open_service(settings) as service:

        async def accept() -> Accepted:
            accepted = await service.intake.accept(
                once(), tenant_id=service.default_tenant_id, file_name="bill.pdf"
            )
            async with service.database.tenant(service.default_tenant_id) as conn:
                cur = await conn.execute("SELECT traceparent FROM ingestion")
                assert await cur.fetchall() == [(None,)]
            return accepted

        yield accept


def test_an_address_with_a_password_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOCMILL_OTEL__ENDPOINT", "https://user:secret@host")

    with pytest.raises(MisconfiguredError, match=r"otel\.endpoint") as refused:
        Settings.load()

    assert "secret" not in refused.value.message
