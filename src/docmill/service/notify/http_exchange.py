"""One request by HTTP/1.1 over a connection, and its answer piece by piece."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import SplitResult

import h11

from docmill.errors import NetworkError, TimeLimitError, TooLargeError

_CHUNK_BYTES = 1 << 16
_MOST_HEAD_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class AnswerHead:
    """The beginning of an answer. headers: by their names in lower case."""

    status: int
    headers: Mapping[str, str]

    @property
    def is_success(self) -> bool:
        """True for the successes of HTTP."""
        return 200 <= self.status < 300  # noqa: PLR2004


class HttpExchange:
    """A request and its answer over a connection of its own. To be closed, best by `contextlib.closing`.

    Every method raises OSError for a lost connection, ConnectionResetError if it ends too early, and
    `h11.ProtocolError` for an answer that is none of HTTP/1.1; `network_errors` turns these into ours.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._protocol = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MOST_HEAD_BYTES)

    async def ask(
        self, method: str, parts: SplitResult, headers: Mapping[str, str], body: bytes | None = None
    ) -> AnswerHead:
        """Send a request to the path and query of an address; the beginning of its answer."""
        fields = [
            ("Host", parts.netloc.rpartition("@")[2]),
            *([] if body is None else [("Content-Length", str(len(body)))]),
            ("Connection", "close"),
            *headers.items(),
        ]
        target = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
        request = h11.Request(method=method, target=target, headers=fields)
        for event in (request, h11.Data(data=body or b""), h11.EndOfMessage()):
            self._writer.write(self._protocol.send(event) or b"")
        await self._writer.drain()
        while not isinstance(event := await self._next_event(), h11.Response):
            pass  # a server may say first that it goes on
        named = {name.decode("latin-1"): value.decode("latin-1") for name, value in event.headers}
        return AnswerHead(event.status_code, named)

    async def next_piece(self) -> bytes:
        """The next piece of the answer's body; empty at its end."""
        event = await self._next_event()
        return bytes(event.data) if isinstance(event, h11.Data) else b""

    async def body(self, max_bytes: int) -> bytes:
        """The rest of the answer's body. Raises TooLargeError beyond `max_bytes`."""
        content = bytearray()
        while piece := await self.next_piece():
            content += piece
            if len(content) > max_bytes:
                raise TooLargeError(f"the answer has more than {max_bytes} bytes")
        return bytes(content)

    async def _next_event(self) -> h11.Event:
        while (event := self._protocol.next_event()) is h11.NEED_DATA:
            self._protocol.receive_data(await self._reader.read(_CHUNK_BYTES))
        if isinstance(event, h11.ConnectionClosed) or not isinstance(event, h11.Event):
            raise ConnectionResetError
        return event

    def close(self) -> None:
        """End the connection, without waiting for the other side."""
        self._writer.transport.abort()


@asynccontextmanager
async def network_errors(what: str, limit_s: float) -> AsyncGenerator[None]:
    """Give a block so long, and turn what the network raises in it into TimeLimitError and NetworkError.

    what: names the other side in messages.
    """
    try:
        async with asyncio.timeout(limit_s):
            yield
    except TimeoutError as error:
        raise TimeLimitError(f"{what} did not answer within {limit_s:g} s") from error
    except (OSError, h11.ProtocolError, UnicodeError) as error:
        raise NetworkError(f"{what} cannot be reached ({type(error).__name__})") from error
