"""Models that see, asked by function and over HTTP."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from pydantic_ai import BinaryContent, exceptions
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RequestUsage

from docmill.errors import (
    AiContentBlockedError,
    AiQuotaError,
    BadModelOutputError,
    ContextTooLongError,
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
from docmill.llm import model_of, translated, usage_of
from docmill.model.document import Page, Usage, Words
from docmill.reading.engines.engine import PageReader, PageRequest, UsageMeter
from docmill.reading.engines.remote import PageImage, RemoteCaller, TranscribingReader, Transcript
from docmill.reading.engines.vision import (
    INSTRUCTIONS,
    MAX_CHARACTERS,
    VisionModel,
    transcript_lines,
)
from docmill.reading.files.options import ReadingOptions
from docmill.resilience.time_limits import Slots
from docmill.workers.pool import Pool

PICTURE = PageImage(b"jpeg", 400, 200, 595, 297.5, 0)
ANSWER = {
    "id": "1", "object": "chat.completion", "created": 1, "model": "gpt-4o",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "Invoice 4711\nTotal"},
        }
    ],
    "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100},
}  # fmt: skip


def answering(text: str) -> ModelResponse:
    return ModelResponse(parts=[TextPart(text)], model_name="own", usage=RequestUsage())


async def test_lines_come_as_they_were_written() -> None:
    model = VisionModel(TestModel(custom_output_text="Invoice 4711\n\n  Total\t12.50  \n"))

    reading = await model.transcribe(PICTURE)

    assert reading.lines == ["Invoice 4711", "Total 12.50"]
    assert reading.usage.cost == 0


async def test_the_model_is_shown_the_picture_and_told_that_its_text_orders_nothing() -> None:
    asked: list[ModelMessage] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del info
        asked.extend(messages)
        return answering("[empty]")

    assert (await VisionModel(FunctionModel(answer)).transcribe(PICTURE)).lines == []

    (request,) = asked
    assert isinstance(request, ModelRequest)
    assert request.instructions == INSTRUCTIONS
    (part,) = request.parts
    assert isinstance(part, UserPromptPart)
    assert part.content[1] == BinaryContent(b"jpeg", media_type="image/jpeg")


def test_an_answer_is_text_and_nothing_else_however_long() -> None:
    assert transcript_lines(answering("```\nTotal\x1b[31m 5\x00\n```")) == ["Total [31m 5"]
    assert sum(len(line) for line in transcript_lines(answering("word\n" * 10**5))) <= MAX_CHARACTERS
    with pytest.raises(BadModelOutputError):
        transcript_lines(answering(" \n"))


def test_a_refusal_of_the_filter_is_final() -> None:
    def refuse(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del messages, info
        return replace(answering(""), finish_reason="content_filter")

    with pytest.raises(AiContentBlockedError):
        asyncio.run(VisionModel(FunctionModel(refuse)).transcribe(PICTURE))


def test_an_unknown_model_has_no_price() -> None:
    assert usage_of(replace(answering("x"), usage=RequestUsage(input_tokens=5))).cost == 0
    assert usage_of(replace(answering("x"), model_name=None)).model is None


@dataclass
class Server:
    """Speaks OpenAI's language on this machine, as far as it is told."""

    status: int = 200
    body: Any = field(default_factory=lambda: ANSWER)
    headers: dict[str, str] = field(default_factory=dict[str, str])
    url: str = ""
    requests: list[bytes] = field(default_factory=list[bytes])

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line.partition(b":")[2])
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"content-length")
        )
        self.requests.append(head + await reader.readexactly(length))
        body = self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()
        more = "".join(f"{name}: {value}\r\n" for name, value in self.headers.items())
        writer.write(
            f"HTTP/1.1 {self.status} X\r\nContent-Type: application/json\r\nConnection: close\r\n"
            f"Content-Length: {len(body)}\r\n{more}\r\n".encode()
            + body
        )
        await writer.drain()
        writer.close()
        await writer.wait_closed()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    server = Server()
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
    yield server
    listening.close()


async def ask(server: Server) -> Transcript:
    model = model_of("openai", "gpt-4o", base_url=server.url, api_key="key-1")
    return await VisionModel(model, limit_s=10).transcribe(PICTURE)


async def test_a_server_of_ones_own_is_asked_and_its_tokens_are_counted(server: Server) -> None:
    reading = await ask(server)

    assert reading.lines == ["Invoice 4711", "Total"]
    assert (reading.usage.input_tokens, reading.usage.output_tokens) == (1000, 100)
    (request,) = server.requests
    assert b"Bearer key-1" in request
    assert b"data:image/jpeg;base64,anBlZw==" in request


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (401, UnauthorizedError),
        (404, MisconfiguredError),
        (429, RateLimitedError),
        (500, ServerError),
        (503, ServerError),
        (400, ValidationError),
    ],
)
async def test_each_status_has_its_error_and_is_tried_once(
    status: int, error: type[DocmillError], server: Server
) -> None:
    server.status, server.body = status, {"error": {"message": "the text of the page"}}

    with pytest.raises(error) as raised:
        await ask(server)

    assert "the text of the page" not in raised.value.message
    assert len(server.requests) == 1


async def test_the_wait_that_a_server_asks_for_is_kept(server: Server) -> None:
    server.status, server.body, server.headers = 429, {"error": {"message": "slow"}}, {"retry-after": "7"}

    with pytest.raises(RateLimitedError) as raised:
        await ask(server)

    assert raised.value.retry_after_s == 7


@pytest.mark.parametrize("body", [b"{}", b'{"choices": []}'])
async def test_an_answer_in_no_known_form_is_bad(body: bytes, server: Server) -> None:
    server.body = body

    with pytest.raises(BadModelOutputError):
        await ask(server)


async def test_nobody_there_is_a_matter_of_the_network() -> None:
    model = model_of("openai", "gpt-4o", base_url="http://127.0.0.1:9/v1")

    with pytest.raises(NetworkError):
        await VisionModel(model).transcribe(PICTURE)


@pytest.mark.parametrize(
    ("refusal", "error"),
    [
        (exceptions.ContentFilterError("x"), AiContentBlockedError),
        (exceptions.ModelContextWindowExceededError("m", "x"), ContextTooLongError),
        (exceptions.ModelQuotaExceededError("m", "x"), AiQuotaError),
        (exceptions.ModelTimeoutError("m", "x"), TimeLimitError),
        (exceptions.UserError("x"), MisconfiguredError),
    ],
)
def test_what_a_provider_says_has_its_error(refusal: Exception, error: type[DocmillError]) -> None:
    with pytest.raises(error), translated("m", "page", remedy="give up"):
        raise refusal


def test_every_provider_has_its_model() -> None:
    assert isinstance(model_of("anthropic", "claude-x", api_key="k"), AnthropicModel)
    assert isinstance(model_of("google", "gemini-x", api_key="k"), GoogleModel)


class Typist:
    """`Transcriber` that reads what it is told, at a price."""

    def __init__(self, *lines: str) -> None:
        self.lines = list(lines)
        self.asked = 0

    async def transcribe(self, image: PageImage) -> Transcript:
        del image
        self.asked += 1
        return Transcript(
            self.lines, Usage(input_tokens=9, output_tokens=4, model="own", cost=Decimal("0.3"))
        )


class Local:
    """`PageReader` that finds one word."""

    name, at_once = "local", 1

    async def read(self, request: PageRequest, so_far: Page | None) -> Page:
        assert so_far is None
        zeros = np.zeros(1, np.int32)
        box = np.array([[0.1, 0.1, 0.3, 0.2]], np.float32)
        words = Words(["lnvoice"], box, np.array([0.6], np.float32), zeros, zeros)
        return Page(request.number, 595, 842, words, source="ocr", quality=0.6, engine="local")


@asynccontextmanager
async def unguarded() -> AsyncGenerator[None]:
    yield


async def test_a_page_is_read_by_both_and_paid_until_the_budget_is_spent(tmp_path: Path) -> None:
    Image.new("RGB", (40, 20), "white").save(tmp_path / "scan.png")
    meter, typist = UsageMeter(), Typist("Invoice")
    request = PageRequest(tmp_path / "scan.png", "image/png", 1, meter)
    async with Pool(1) as pool:
        caller = RemoteCaller(pool, ReadingOptions(quality_threshold=0), unguarded, Slots(2))
        reader = TranscribingReader("vision", typist, Local(), caller=caller, budget=Decimal("0.5"))

        page = await reader.read(request, None)
        await reader.read(request, page)
        with pytest.raises(TooLargeError, match=r"llm\.budget_usd"):
            await reader.read(request, page)

    assert (page.words.texts, page.engine, reader.at_once) == (["Invoice"], "vision", 2)
    assert typist.asked == 2
    assert meter.usage == Usage(input_tokens=18, output_tokens=8, model="own", cost=Decimal("0.6"))


class Twice:
    """`Transcriber` that reads one thing in the first picture and another in the second."""

    def __init__(self, first: list[str], second: list[str]) -> None:
        self.readings = [first, second]
        self.drawn: list[PageImage] = []

    async def transcribe(self, image: PageImage) -> Transcript:
        self.drawn.append(image)
        usage = Usage(input_tokens=9, output_tokens=4, model="own", cost=Decimal("0.3"))
        return Transcript(self.readings[len(self.drawn) - 1], usage)


async def asked(
    transcriber: Twice, tmp_path: Path, *, budget: str = "1", local: PageReader | None = None
) -> tuple[Page, PageRequest]:
    Image.new("RGB", (400, 200), "white").save(tmp_path / "scan.png")
    request = PageRequest(tmp_path / "scan.png", "image/png", 1)
    async with Pool(1) as pool:
        caller = RemoteCaller(pool, ReadingOptions(keep_preprocessed=True), unguarded, Slots(2))
        reader = TranscribingReader(
            "vision", transcriber, local or Local(), caller=caller, budget=Decimal(budget)
        )
        return await reader.read(request, None), request


async def test_a_page_on_which_both_hardly_agree_is_preprocessed_and_asked_about_once_more(
    tmp_path: Path,
) -> None:
    transcriber = Twice(["Something else altogether"], ["Invoice"])

    page, request = await asked(transcriber, tmp_path)

    assert (page.words.texts, page.engine) == (["Invoice"], "vision")
    assert page.words.boxes[0].tolist() == pytest.approx([0.1, 0.1, 0.3, 0.2])
    assert [drawn.width_px for drawn in transcriber.drawn] == [400, 800]
    assert request.meter.usage.cost == Decimal("0.6")
    kept = request.scans.of(page)
    assert kept is not None
    assert (kept.width_px, kept.height_px) == (800, 400)


async def test_a_worse_second_reading_is_paid_and_not_kept(tmp_path: Path) -> None:
    transcriber = Twice(["Invoice"], ["Something else altogether"])

    page, request = await asked(transcriber, tmp_path)

    assert (page.words.texts, request.scans.of(page)) == (["Invoice"], None)
    assert request.meter.usage.cost == Decimal("0.6")


async def test_a_budget_that_is_spent_leaves_the_first_reading(tmp_path: Path) -> None:
    transcriber = Twice(["Invoice"], ["never asked"])

    page, request = await asked(transcriber, tmp_path, budget="0.2")

    assert (page.words.texts, len(transcriber.drawn), request.meter.usage.cost) == (
        ["Invoice"],
        1,
        Decimal("0.3"),
    )


class Blank:
    """`PageReader` that finds nothing."""

    name, at_once = "local", 1

    async def read(self, request: PageRequest, so_far: Page | None) -> Page:
        del so_far
        return Page(request.number, 595, 842, Words.none(), source="ocr", quality=0.0, engine="local")


async def test_a_page_on_which_nobody_sees_a_word_is_asked_about_once(tmp_path: Path) -> None:
    transcriber = Twice([], ["never asked"])

    page, _ = await asked(transcriber, tmp_path, local=Blank())

    assert (page.words.texts, len(transcriber.drawn)) == ([], 1)


class Turned(Local):
    """`PageReader` for a page that lies on its side."""

    async def read(self, request: PageRequest, so_far: Page | None) -> Page:
        return replace(await super().read(request, so_far), rotation=90)


async def test_the_preprocessed_picture_is_shown_as_the_page_stands(tmp_path: Path) -> None:
    transcriber = Twice(["Something else altogether"], ["Invoice"])

    await asked(transcriber, tmp_path, local=Turned())

    assert [(drawn.width_px, drawn.height_px) for drawn in transcriber.drawn] == [(400, 200), (400, 800)]
