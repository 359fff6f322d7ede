"""A proxy that passes all on until it falls silent: a connection that has died, and nobody was told."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

_CHUNK_BYTES = 1 << 16


class SilentProxy:
    """is_silent: nothing is passed on any more, and no connection is closed."""

    def __init__(self, port: int) -> None:
        self.port = 0
        self.is_silent = False
        self._server_port = port

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self._server_port)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._pass(reader, server_writer))
            tasks.create_task(self._pass(server_reader, writer))

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while chunk := await reader.read(_CHUNK_BYTES):
                if not self.is_silent:
                    writer.write(chunk)
        except OSError:
            pass
        finally:
            writer.close()


@asynccontextmanager
async def silent_proxy(port: int) -> AsyncGenerator[SilentProxy]:
    """A proxy for a port of this machine."""
    proxy = SilentProxy(port)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
