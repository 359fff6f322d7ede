"""Traces from an upload to the last call of a model. Off unless `otel.endpoint` is set.

The rest of the service knows this port only; `docmill.service.observe.otel` is its adapter to OpenTelemetry.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager
from types import MappingProxyType, TracebackType
from typing import Literal, Protocol, Self, TypeAlias
from uuid import UUID

from docmill.errors import DocmillError, InternalError, MisconfiguredError, UnsupportedFileTypeError
from docmill.resilience.time_limits import Guard
from docmill.service.config.settings import Settings
from docmill.service.protocol.claim_rules import ClaimLostError

Attributes: TypeAlias = Mapping[str, str | int | float | bool]
SpanKind = Literal["internal", "server", "client", "producer", "consumer"]

NO_ATTRIBUTES: Attributes = MappingProxyType({})

# As OpenTelemetry's semantic conventions for messaging name them.
_QUEUE = {"messaging.destination.name": "ingestion"}
SENDING: Attributes = MappingProxyType(
    {**_QUEUE, "messaging.operation.name": "send", "messaging.operation.type": "send"}
)
MATCHING_DOCUMENT: Attributes = MappingProxyType(
    {
        "messaging.destination.name": "matching",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
    }
)
PROCESSING: Attributes = MappingProxyType(
    {**_QUEUE, "messaging.operation.name": "process", "messaging.operation.type": "process"}
)


class TraceSpan(Protocol):
    """A timed operation in a trace. Its attributes hold no text of a document, file name or secret."""

    def describe(self, attributes: Attributes, *, name: str | None = None) -> None:
        """Add attributes, and rename it if a name is given."""
        ...

    def fail(self, code: str) -> None:
        """Mark it as failed. code: of the error."""
        ...


class Tracer(Protocol):
    """Makes spans."""

    @property
    def enabled(self) -> bool:
        """True if spans are exported; costly attributes need not be computed otherwise."""
        ...

    def span(
        self,
        name: str,
        *,
        kind: SpanKind = "internal",
        attributes: Attributes = NO_ATTRIBUTES,
        parent: str | None = None,
    ) -> AbstractContextManager[TraceSpan]:
        """A span for the length of the block, below the one of the block around it.

        parent: below this one instead, which may be another process's; as `traceparent` gave it. An error
        that leaves the block marks the span as failed.
        """
        ...

    def traceparent(self) -> str | None:
        """The span of this block, to go on from elsewhere, as W3C Trace Context writes it; None without."""
        ...


class _NoSpan:
    """A span that is not recorded."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def describe(self, attributes: Attributes, *, name: str | None = None) -> None:
        """See `TraceSpan.describe`."""

    def fail(self, code: str) -> None:
        """See `TraceSpan.fail`."""


class NoTracer:
    """`Tracer` that records nothing."""

    enabled = False
    _span = _NoSpan()

    def span(
        self,
        name: str,
        *,
        kind: SpanKind = "internal",
        attributes: Attributes = NO_ATTRIBUTES,
        parent: str | None = None,
    ) -> _NoSpan:
        """See `Tracer.span`."""
        del name, kind, attributes, parent
        return self._span

    def traceparent(self) -> None:
        """See `Tracer.traceparent`."""
        return


NO_TRACER = NoTracer()


@asynccontextmanager
async def open_tracer(settings: Settings) -> AsyncGenerator[Tracer]:
    """The tracer that the settings ask for; at the end of the block it has sent what it holds.

    Raises MisconfiguredError if its library is not installed.
    """
    if settings.otel.endpoint is None:
        yield NO_TRACER
        return
    try:
        from docmill.service.observe.otel import (  # noqa: PLC0415  an extra that most do without
            exporting_tracer,
        )
    except ModuleNotFoundError as error:
        raise MisconfiguredError(
            f"otel.endpoint needs {error.name!r}; run: pip install 'docmill[otel]'"
        ) from error
    async with exporting_tracer(settings.otel.endpoint) as tracer:
        yield tracer


def traced_calls(tracer: Tracer, guard: Guard, name: str, attributes: Attributes = NO_ATTRIBUTES) -> Guard:
    """`guard` with a span around every call of a remote provider."""
    if not tracer.enabled:
        return guard

    @asynccontextmanager
    async def call() -> AsyncGenerator[None]:
        with tracer.span(name, kind="client", attributes=attributes):
            async with guard():
                yield

    return call


def document_attributes(tenant_id: UUID, document_id: UUID, ingestion_id: UUID | None = None) -> Attributes:
    """Attributes of a span: tenant, document, and ingestion if it is one."""
    ids = {"docmill.tenant_id": str(tenant_id), "docmill.document_id": str(document_id)}
    return ids if ingestion_id is None else {**ids, "docmill.ingestion_id": str(ingestion_id)}


def model_attributes(provider: str, model: str) -> Attributes:
    """Attributes of a span of a language model's call, named by the semantic conventions of OpenTelemetry."""
    provider = {"google": "gcp.gemini"}.get(provider, provider)
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": model,
    }


def failure_code(error: BaseException | None) -> str | None:
    """The code of the error that made a step or an attempt fail; None if it did not fail.

    An unsupported type is a result; who lost the claim or was told to stop has not failed.
    """
    match error:
        case None | UnsupportedFileTypeError() | ClaimLostError():
            return None
        case DocmillError():
            return error.code
        case Exception():
            return InternalError.code
        case _:
            return None
