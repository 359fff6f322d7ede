"""A server on this machine that speaks the languages of the providers, as far as it is told."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

Provider = Literal["openai", "anthropic", "google"]
MODELS: dict[Provider, str] = {
    "openai": "gpt-4o",
    "anthropic": "claude-sonnet-4-6",
    "google": "gemini-2.5-flash",
}
KEY = "sk-very-secret-0815"


@dataclass
class Reply:
    """body: bytes as they are, anything else as JSON."""

    body: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict[str, str])


def spoken(provider: Provider, answer: object, *, blocked: bool = False) -> Reply:
    """An answer as the provider puts it; text as it is, anything else as the object asked for."""
    text = answer if isinstance(answer, str) else json.dumps(answer)
    if provider == "openai":
        message = {"role": "assistant", "content": text}
        reason = "content_filter" if blocked else "stop"
        return Reply(
            {
                "id": "1", "object": "chat.completion", "created": 1, "model": MODELS[provider],
                "choices": [{"index": 0, "finish_reason": reason, "message": message}],
                "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100},
            }
        )  # fmt: skip
    if provider == "anthropic":
        call = {"type": "tool_use", "id": "t1", "name": "answer", "input": answer}
        part = {"type": "text", "text": text} if isinstance(answer, str) else call
        return Reply(
            {
                "id": "1", "type": "message", "role": "assistant", "model": MODELS[provider],
                "content": [] if blocked else [part],
                "stop_reason": "refusal" if blocked else "tool_use", "stop_sequence": None,
                "usage": {"input_tokens": 1000, "output_tokens": 100},
            }
        )  # fmt: skip
    content = {"role": "model", "parts": [{"text": text}]}
    candidate = {"content": content, "finishReason": "SAFETY" if blocked else "STOP", "index": 0}
    if blocked:
        candidate.pop("content")
    counted = {"promptTokenCount": 1000, "candidatesTokenCount": 100, "totalTokenCount": 1100}
    return Reply({"candidates": [candidate], "usageMetadata": counted, "modelVersion": MODELS[provider]})


def too_long(provider: Provider) -> Reply:
    """How the provider says that a text does not fit its model."""
    match provider:
        case "openai":
            error = {"message": "maximum context length is 8192", "code": "context_length_exceeded"}
            return Reply({"error": {**error, "type": "invalid_request_error", "param": "messages"}}, 400)
        case "anthropic":
            error = {"type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000"}
            return Reply({"type": "error", "error": error}, 400)
        case "google":
            words = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
            return Reply({"error": {"code": 400, "message": words, "status": "INVALID_ARGUMENT"}}, 400)


@dataclass
class Server:
    """Gives the replies one after the other, the last one again and again; `silent` it says nothing."""

    replies: list[Reply] = field(default_factory=list[Reply])
    answer: Callable[[dict[str, Any]], Reply] | None = None
    silent: bool = False
    port: int = 0
    requests: list[str] = field(default_factory=list[str])
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """What was asked, as JSON."""
        return [json.loads(request.partition("\r\n\r\n")[2]) for request in self.requests]

    def url(self, provider: Provider) -> str:
        """Where the provider's client finds it."""
        return f"http://127.0.0.1:{self.port}{'/v1' if provider == 'openai' else ''}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line.partition(b":")[2])
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"content-length")
        )
        body = await reader.readexactly(length)
        self.requests.append((head + body).decode())
        self.asked.set()
        if self.silent:
            await self.over.wait()
        elif self.answer is not None:
            await _send(writer, self.answer(json.loads(body)))
        else:
            await _send(writer, self.replies.pop(0) if len(self.replies) > 1 else self.replies[0])
        writer.close()


async def _send(writer: asyncio.StreamWriter, reply: Reply) -> None:
    body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
    more = "".join(f"{name}: {value}\r\n" for name, value in reply.headers.items())
    writer.write(
        f"HTTP/1.1 {reply.status} X\r\nContent-Type: application/json\r\nConnection: close\r\n"
        f"Content-Length: {len(body)}\r\n{more}\r\n".encode()
        + body
    )
    await writer.drain()


@asynccontextmanager
async def serving() -> AsyncGenerator[Server]:
    """A server for the length of the block."""
    server = Server()
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        server.over.set()
        listening.close()
