"""Document AI, asked over gRPC as Google is: what it reads, and every way in which it fails."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import grpc
import numpy as np
import pytest
from google.auth import exceptions as auth
from google.cloud import documentai_v1
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status

from docmill.errors import (
    AiQuotaError,
    BadModelOutputError,
    DocmillError,
    MisconfiguredError,
    NetworkError,
    RateLimitedError,
    ServerError,
    TimeLimitError,
    TooLargeError,
    UnauthorizedError,
    ValidationError,
)
from docmill.reading.engines.document_ai import MAX_BYTES, DocumentAiEngine, Processor, translate_errors
from docmill.reading.engines.remote import PageImage

documentai: Any = documentai_v1
statuses: Any = rpc_status
Message: TypeAlias = Any
"""One of Google's, whose types are made at run time."""
PICTURE = PageImage(b"jpeg", 400, 200, 595, 297.5, 0)


def token(start: int, end: int, box: tuple[float, float, float, float], confidence: float = 0.9) -> object:
    x0, y0, x1, y1 = box
    corners = [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
    return documentai.Document.Page.Token(
        layout=documentai.Document.Page.Layout(
            text_anchor={"text_segments": [{"start_index": start, "end_index": end}]},
            confidence=confidence,
            bounding_poly={"normalized_vertices": [{"x": x, "y": y} for x, y in corners]},
        )
    )


def page_with(text: str, *tokens: object, transforms: tuple[object, ...] = ()) -> Message:
    page = documentai.Document.Page(
        dimension={"width": 800, "height": 400}, tokens=list(tokens), transforms=list(transforms)
    )
    return documentai.ProcessResponse(document={"text": text, "pages": [page]})


INVOICE = page_with(
    "Invoice 47,11\n",
    token(0, 8, (0.1, 0.1, 0.3, 0.2), 0.95),
    token(8, 10, (0.5, 0.1, 0.54, 0.2), 0.8),
    token(10, 11, (0.54, 0.1, 0.55, 0.2), 0.6),
    token(11, 14, (0.55, 0.1, 0.6, 0.2), 0.9),
)


@dataclass
class Google:
    """A server that answers as it is told. outcome: an answer, or a status to fail with."""

    outcome: Message = field(default_factory=lambda: INVOICE)
    endpoint: str = ""
    requests: list[Message] = field(default_factory=list[Message])
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    given_up: asyncio.Event = field(default_factory=asyncio.Event)

    async def process(self, request: Message, context: Message) -> Message:
        self.requests.append((request, dict(context.invocation_metadata() or ())))
        self.asked.set()
        if self.outcome is None:
            try:
                await asyncio.Event().wait()
            finally:
                self.given_up.set()
        if isinstance(self.outcome, status_pb2.Status):
            await context.abort_with_status(statuses.to_status(self.outcome))
        return self.outcome


@pytest.fixture
async def google() -> AsyncIterator[Google]:
    google = Google()
    server = grpc.aio.server()
    handler = grpc.unary_unary_rpc_method_handler(
        google.process,  # pyright: ignore[reportArgumentType] - a coroutine, as servers of grpc.aio take
        request_deserializer=documentai.ProcessRequest.deserialize,
        response_serializer=documentai.ProcessResponse.serialize,
    )
    service = "google.cloud.documentai.v1.DocumentProcessorService"
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(service, {"ProcessDocument": handler}),)
    )
    google.endpoint = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    yield google
    await server.stop(None)


@pytest.fixture
async def engine(google: Google) -> AsyncIterator[DocumentAiEngine]:
    engine = DocumentAiEngine(Processor("mill", "eu", "4711", endpoint=google.endpoint), limit_s=10)
    yield engine
    await engine.close()


def failing(code: int, *details: Message) -> status_pb2.Status:
    status = status_pb2.Status(code=code, message="the text of the page")
    for detail in details:
        status.details.add().Pack(detail)
    return status


async def test_words_come_with_their_places_and_confidence(engine: DocumentAiEngine, google: Google) -> None:
    found = await engine.recognise(PICTURE)

    assert found.texts == ["Invoice", "47,11"]
    assert found.scores.tolist() == pytest.approx([0.95, 0.6])
    assert found.corners[0].ravel().tolist() == pytest.approx([40, 20, 120, 20, 120, 40, 40, 40])
    assert found.corners[1].ravel().tolist() == pytest.approx([200, 20, 240, 20, 240, 40, 200, 40])
    ((request, headers),) = google.requests
    assert request.name == "projects/mill/locations/eu/processors/4711"
    assert (request.raw_document.content, request.raw_document.mime_type) == (b"jpeg", "image/jpeg")
    assert list(request.field_mask.paths) == [
        "text", "pages.dimension", "pages.transforms", "pages.tokens.layout"
    ]  # fmt: skip
    assert "authorization" not in headers


async def test_a_page_without_words_is_empty(engine: DocumentAiEngine, google: Google) -> None:
    google.outcome = page_with("")

    found = await engine.recognise(PICTURE)

    assert (list(found.texts), found.corners.shape, found.scores.shape) == ([], (0, 4, 2), (0,))


def matrix(values: list[float], *, rows: int = 2, columns: int = 3, kind: int = 6) -> object:
    data = np.array(values, np.float64 if kind == 6 else np.float32).tobytes()
    return documentai.Document.Page.Matrix(rows=rows, cols=columns, type_=kind, data=data)


@pytest.mark.parametrize("kind", [5, 6])
async def test_places_are_told_in_the_picture_that_was_sent(
    kind: int, engine: DocumentAiEngine, google: Google
) -> None:
    turned = matrix([0, -1, 800, 1, 0, 0], kind=kind)  # a quarter clockwise
    google.outcome = page_with("up", token(0, 2, (0.5, 0.25, 0.75, 0.5)), transforms=(turned,))

    found = await engine.recognise(PICTURE)

    assert found.corners[0].tolist() == [[100, 400], [100, 200], [200, 200], [200, 400]]


@pytest.mark.parametrize(
    "transforms",
    [
        (matrix([0, 0, 0, 0, 0, 0]),),
        (matrix([1, 0, 0, 0, 1, 0], kind=5, columns=4),),
        (matrix([1, 0, 0]),),
        (matrix([1, 0, float("nan"), 0, 1, 0]),),
        (documentai.Document.Page.Matrix(rows=2, cols=3, type_=6, data=b"odd"),),
        (documentai.Document.Page.Matrix(rows=2, cols=3, type_=0, data=b"123456"),),
    ],
)
async def test_a_turning_that_makes_no_sense_is_a_bad_answer(
    transforms: tuple[object, ...], engine: DocumentAiEngine, google: Google
) -> None:
    google.outcome = page_with("up", token(0, 2, (0, 0, 1, 1)), transforms=transforms)

    with pytest.raises(BadModelOutputError):
        await engine.recognise(PICTURE)


def without_size() -> Message:
    answer = page_with("up", token(0, 2, (0, 0, 1, 1)))
    answer.document.pages[0].dimension.width = 0
    return answer


@pytest.mark.parametrize(
    "answer",
    [
        documentai.ProcessResponse(),
        page_with("up", token(1, 9, (0, 0, 1, 1))),
        page_with("up", token(0, 2, (0, 0, float("inf"), 1))),
        page_with("up", token(0, 2, (0, 0, 1, 1), float("nan"))),
        page_with("up", documentai.Document.Page.Token()),
        without_size(),
    ],
    ids=["no page", "outside the text", "infinite", "no number", "nowhere", "no size"],
)
async def test_answers_that_make_no_sense_are_bad(
    answer: Message, engine: DocumentAiEngine, google: Google
) -> None:
    google.outcome = answer

    with pytest.raises(BadModelOutputError):
        await engine.recognise(PICTURE)


async def test_vertices_in_pixels_do_as_well(engine: DocumentAiEngine, google: Google) -> None:
    corners = [(80, 40), (160, 40), (160, 80), (80, 80)]
    layout = {
        "text_anchor": {"text_segments": [{"end_index": 2}]},
        "bounding_poly": {"vertices": [{"x": x, "y": y} for x, y in corners]},
    }
    google.outcome = page_with("up", documentai.Document.Page.Token(layout=layout))

    found = await engine.recognise(PICTURE)

    assert found.corners[0].tolist() == [[40, 20], [80, 20], [80, 40], [40, 40]]


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (code_pb2.RESOURCE_EXHAUSTED, AiQuotaError),
        (code_pb2.UNAUTHENTICATED, UnauthorizedError),
        (code_pb2.PERMISSION_DENIED, UnauthorizedError),
        (code_pb2.NOT_FOUND, MisconfiguredError),
        (code_pb2.FAILED_PRECONDITION, MisconfiguredError),
        (code_pb2.UNIMPLEMENTED, MisconfiguredError),
        (code_pb2.INVALID_ARGUMENT, ValidationError),
        (code_pb2.DEADLINE_EXCEEDED, TimeLimitError),
        (code_pb2.UNAVAILABLE, NetworkError),
        (code_pb2.CANCELLED, NetworkError),
        (code_pb2.INTERNAL, ServerError),
        (code_pb2.UNKNOWN, ServerError),
    ],
)
async def test_each_way_to_fail_has_its_error(
    code: int, error: type[DocmillError], engine: DocumentAiEngine, google: Google
) -> None:
    google.outcome = failing(code)

    with pytest.raises(error) as raised:
        await engine.recognise(PICTURE)

    assert type(raised.value) is error
    assert "the text of the page" not in raised.value.message


async def test_the_wait_that_google_asks_for_is_kept(engine: DocumentAiEngine, google: Google) -> None:
    wait = error_details_pb2.RetryInfo()
    wait.retry_delay.FromMilliseconds(7500)
    reason = error_details_pb2.ErrorInfo(reason="RATE_LIMIT_EXCEEDED")
    google.outcome = failing(code_pb2.RESOURCE_EXHAUSTED, reason, wait)

    with pytest.raises(RateLimitedError) as raised:
        await engine.recognise(PICTURE)

    assert raised.value.retry_after_s == 7.5


async def test_a_server_that_is_not_there_is_a_matter_of_the_network() -> None:
    engine = DocumentAiEngine(Processor("mill", "eu", "4711", endpoint="http://127.0.0.1:9"))

    with pytest.raises(NetworkError):
        await engine.recognise(PICTURE)

    await engine.close()


async def test_cancelling_ends_the_call(engine: DocumentAiEngine, google: Google) -> None:
    google.outcome = None
    asking = asyncio.create_task(engine.recognise(PICTURE))
    await google.asked.wait()

    asking.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asking
    await asyncio.wait_for(google.given_up.wait(), 5)


async def test_a_picture_above_the_limit_is_not_sent(engine: DocumentAiEngine, google: Google) -> None:
    with pytest.raises(TooLargeError):
        await engine.recognise(PICTURE._replace(jpeg=bytes(MAX_BYTES + 1)))

    assert google.requests == []


async def test_without_credentials_nothing_is_sent_and_a_person_is_told() -> None:
    engine = DocumentAiEngine(Processor("mill", "eu", "4711"))

    with pytest.raises(MisconfiguredError, match=r"documentai\.credentials_file"):
        await engine.recognise(PICTURE)

    await engine.close()


@pytest.mark.parametrize("content", [None, "no json", json.dumps({"private_key": "hush"})])
async def test_a_key_that_cannot_be_used_is_not_repeated(content: str | None, tmp_path: Path) -> None:
    path = tmp_path / "key.json"
    if content is not None:
        path.write_text(content)
    engine = DocumentAiEngine(Processor("mill", "eu", "4711"), credentials_file=path)

    with pytest.raises(MisconfiguredError, match=r"key\.json") as raised:
        await engine.recognise(PICTURE)

    assert "hush" not in f"{raised.value}{raised.value.__cause__}"


@pytest.mark.parametrize(
    ("refusal", "error"),
    [
        (auth.DefaultCredentialsError("x"), UnauthorizedError),
        (auth.TransportError("x"), NetworkError),
        (auth.RefreshError("x"), UnauthorizedError),
    ],
)
def test_errors_of_signing_in_have_theirs(refusal: Exception, error: type[DocmillError]) -> None:
    with pytest.raises(error), translate_errors(Processor("mill", "eu", "4711")):
        raise refusal


def test_a_processor_knows_its_name_and_where_it_is_asked() -> None:
    plain = Processor("mill", "eu", "4711")
    pinned = Processor("mill", "us", "4711", version="v2", endpoint="https://proxy.example:8443/")

    assert (plain.host, plain.encrypted) == ("eu-documentai.googleapis.com", True)
    assert (pinned.host, pinned.encrypted) == ("proxy.example:8443", True)
    assert pinned.name.endswith("/processors/4711/processorVersions/v2")
