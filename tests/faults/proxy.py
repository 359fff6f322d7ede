"""A network in front of PostgreSQL that can be made to fail, down to a single reply."""

import asyncio
import struct
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Literal, Self
from urllib.parse import parse_qs, quote, urlsplit

_HEADER = struct.Struct("!cI")
_LENGTH = struct.Struct("!I")
_SOCKET = ".s.PGSQL.5432"

Loss = Literal["request", "reply"]


@dataclass(frozen=True, slots=True)
class Ambush:
    """What is to be lost once: the commit of a transaction with a statement that contains `text`.

    loss: the `request` to commit never arrives, or it is carried out and the `reply` never comes.
    """

    text: str
    loss: Loss


@dataclass(eq=False)
class _Line:
    """One connection through the proxy."""

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    marked: bool = False
    stranded: bool = False
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    prepared: dict[bytes, bytes] = field(default_factory=dict[bytes, bytes])

    def cut(self) -> None:
        self.gone.set()
        self.client.transport.abort()
        self.server.transport.abort()


class PostgresProxy:
    """Listens as a server of its own and passes everything on to the server at `url`, or not.

    delay_s: by which each message from a client is late.
    """

    def __init__(self, folder: Path, url: str) -> None:
        self._folder = folder
        self._database = urlsplit(url).path
        self._upstream = Path(parse_qs(urlsplit(url).query)["host"][0]) / _SOCKET
        self._lines: set[_Line] = set()
        self._serving: set[asyncio.Task[None]] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._open = True
        self._ambush: Ambush | None = None
        self.sprung = asyncio.Event()
        self.delay_s = 0.0

    @property
    def url(self) -> str:
        """Where to connect."""
        return f"postgresql://postgres@{self._database}?host={quote(str(self._folder), safe='')}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_unix_server(self._accept, self._folder / _SOCKET)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        self.heal()
        while self._serving:
            self.reset()
            await asyncio.wait(self._serving)
        await self._server.wait_closed()

    def lose(self, loss: Loss, *, of: str) -> None:
        """Cut the connection around the next commit of a statement containing `of`."""
        self.sprung.clear()
        self._ambush = Ambush(of, loss)

    def reset(self) -> None:
        """Cut every connection."""
        for line in list(self._lines):
            line.cut()

    def swallow(self) -> None:
        """From now on nothing arrives, in either direction, and nobody is told."""
        self._flowing.clear()

    def strand(self) -> None:
        """From now on nothing arrives on the connections there are, for ever; new ones work."""
        for line in self._lines:
            line.stranded = True

    def refuse(self) -> None:
        """Cut every connection and take no new ones."""
        self._open = False
        self.reset()

    def heal(self) -> None:
        """Work again. What was on its way arrives late."""
        self._open = True
        self.delay_s = 0
        self._flowing.set()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving = asyncio.create_task(self._serve(reader, writer))
        self._serving.add(serving)
        serving.add_done_callback(self._serving.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._open:
            writer.transport.abort()
            return
        try:
            from_server, to_server = await asyncio.open_unix_connection(self._upstream)
        except OSError:
            writer.transport.abort()
            return
        line = _Line(writer, to_server)
        self._lines.add(line)
        pumps = [
            asyncio.create_task(_until_cut(line, self._forth(reader, line))),
            asyncio.create_task(_until_cut(line, self._back(from_server, line))),
        ]
        await asyncio.wait(pumps)
        self._lines.discard(line)

    async def _forth(self, reader: asyncio.StreamReader, line: _Line) -> None:
        length = await reader.readexactly(_LENGTH.size)  # the first message has no type
        line.server.write(length + await reader.readexactly(_LENGTH.unpack(length)[0] - _LENGTH.size))
        while True:
            kind, message = await _message(reader)
            statement = _statement(kind, message, line)
            line.marked |= self._ambush is not None and self._ambush.text.encode() in statement
            await asyncio.sleep(self.delay_s)
            await self._flow(line)
            if line.marked and self._is_lost("request") and statement.startswith(b"COMMIT"):
                self._spring(line)
                return
            line.server.write(message)
            await line.server.drain()

    async def _back(self, reader: asyncio.StreamReader, line: _Line) -> None:
        held = b""
        while True:
            kind, message = await _message(reader)
            await self._flow(line)
            if line.marked and self._is_lost("reply"):
                held += message
                if kind != b"Z":
                    continue
                if message.endswith(b"I"):  # no transaction is open any more: it is committed
                    self._spring(line)
                    return
                message, held = held, b""
            line.client.write(message)
            await line.client.drain()

    async def _flow(self, line: _Line) -> None:
        """Wait while nothing flows."""
        if line.stranded:
            await line.gone.wait()
        await self._flowing.wait()

    def _is_lost(self, loss: Loss) -> bool:
        return self._ambush is not None and self._ambush.loss == loss

    def _spring(self, line: _Line) -> None:
        self._ambush = None
        self.sprung.set()
        line.cut()


async def _until_cut(line: _Line, pump: Coroutine[None, None, None]) -> None:
    try:
        await pump
    except (OSError, asyncio.IncompleteReadError):
        pass
    finally:
        line.cut()


async def _message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """The type of the next message, and all of it."""
    header = await reader.readexactly(_HEADER.size)
    kind, length = _HEADER.unpack(header)
    return kind, header + await reader.readexactly(length - _LENGTH.size)


def _statement(kind: bytes, message: bytes, line: _Line) -> bytes:
    """The SQL that a client's message is about, as far as it says so."""
    body = message[_HEADER.size :]
    match kind:
        case b"Q":
            return body
        case b"P":
            name, text = body.split(b"\0", 2)[:2]
            line.prepared[name] = text
            return text
        case b"B":
            return line.prepared.get(body.split(b"\0", 2)[1], b"")
        case _:
            return b""
