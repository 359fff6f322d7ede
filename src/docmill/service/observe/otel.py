"""`Tracer` for OpenTelemetry, the only module that imports it."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from importlib.metadata import version

import requests
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Link, SpanKind, Status, StatusCode, get_current_span
from opentelemetry.trace import Span as OpenTelemetrySpan
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from docmill.service.observe.tracing import NO_ATTRIBUTES, Attributes, Tracer, TraceSpan, failure_code
from docmill.service.observe.tracing import SpanKind as Kind

_PATH = "/v1/traces"
_EXPORT_S = 5.0
"""Time limit of an export, also of the last one when the process ends."""

_KINDS = {
    "internal": SpanKind.INTERNAL,
    "server": SpanKind.SERVER,
    "client": SpanKind.CLIENT,
    "producer": SpanKind.PRODUCER,
    "consumer": SpanKind.CONSUMER,
}
_PROPAGATOR = TraceContextTextMapPropagator()
_HEADER = "traceparent"


class OtelTracer:
    """`Tracer` whose spans go to a provider of OpenTelemetry's SDK."""

    enabled = True

    def __init__(self, provider: TracerProvider) -> None:
        self._tracer = provider.get_tracer("docmill", version("docmill"))

    @contextmanager
    def span(
        self,
        name: str,
        *,
        kind: Kind = "internal",
        attributes: Attributes = NO_ATTRIBUTES,
        parent: str | None = None,
    ) -> Generator[TraceSpan]:
        """See `Tracer.span`. One that goes on from a message is also linked to where that was sent."""
        context, links = None, []
        if parent is not None:
            context = _PROPAGATOR.extract({_HEADER: parent}, context=Context())
            sent = get_current_span(context).get_span_context()
            links = [Link(sent)] if kind == "consumer" and sent.is_valid else []
        with self._tracer.start_as_current_span(
            name,
            context=context,
            kind=_KINDS[kind],
            attributes=attributes,
            links=links,
            # What an exception says may quote a document: only its code is told.
            record_exception=False,
            set_status_on_exception=False,
        ) as made:
            span = _Span(made)
            try:
                yield span
            except BaseException as error:
                if code := failure_code(error):
                    span.fail(code)
                raise

    def traceparent(self) -> str | None:
        """See `Tracer.traceparent`."""
        headers: dict[str, str] = {}
        _PROPAGATOR.inject(headers)
        return headers.get(_HEADER)


class _Span:
    """`TraceSpan` of OpenTelemetry."""

    def __init__(self, span: OpenTelemetrySpan) -> None:
        self._span = span

    def describe(self, attributes: Attributes, *, name: str | None = None) -> None:
        """See `TraceSpan.describe`."""
        self._span.set_attributes(attributes)
        if name is not None:
            self._span.update_name(name)

    def fail(self, code: str) -> None:
        """See `TraceSpan.fail`."""
        self._span.set_attribute("error.type", code)
        self._span.set_status(Status(StatusCode.ERROR))


@asynccontextmanager
async def exporting_tracer(endpoint: str) -> AsyncGenerator[Tracer]:
    """A tracer that sends spans to an OTLP/HTTP receiver and to nobody else.

    endpoint: its base address, or the whole one of its traces. A receiver that is away costs spans and
    nothing else.
    """
    session = requests.Session()
    session.trust_env = False  # no proxy, no password of a .netrc: the settings say where spans go
    address = endpoint if endpoint.endswith(_PATH) else endpoint.rstrip("/") + _PATH
    provider = TracerProvider(
        resource=Resource.create({"service.name": "docmill", "service.version": version("docmill")}),
        shutdown_on_exit=False,
    )
    exporter = OTLPSpanExporter(address, timeout=_EXPORT_S, session=session)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    try:
        yield OtelTracer(provider)
    finally:
        # In a thread that dies with the process: it waits for a receiver that may be away.
        ending = threading.Thread(target=provider.shutdown, daemon=True)
        ending.start()
        await asyncio.to_thread(ending.join, _EXPORT_S)
