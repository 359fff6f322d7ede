"""A proxy that passes requests on and loses answers: what a network does at the worst moment."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

_CHUNK_BYTES = 1 << 16


class LossyProxy:
    """lost: the number of answers that were lost so far."""

    def __init__(self, port: int, lost_each: int) -> None:
        self.port = 0
        self.lost = 0
        self._server_port = port
        self._lost_each = lost_each
        self._requests = 0
        self.tasks: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until an answer is to be lost: it is closed instead."""
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        with suppress(asyncio.CancelledError, OSError):
            await self._pass_all(reader, writer)
        self.tasks.discard(task)
        writer.close()

    async def _pass_all(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self._server_port)
        loses = asyncio.Event()

        async def pass_on() -> None:
            while request := await reader.read(_CHUNK_BYTES):
                self._requests += 1
                if self._requests % self._lost_each == 0:
                    loses.set()
                server_writer.write(request)

        passing_on = asyncio.create_task(pass_on())
        try:
            while (answer := await server_reader.read(_CHUNK_BYTES)) and not loses.is_set():
                writer.write(answer)
            self.lost += loses.is_set()
        finally:
            passing_on.cancel()
            server_writer.close()


@asynccontextmanager
async def lossy_proxy(port: int, *, lost_each: int) -> AsyncGenerator[LossyProxy]:
    """A proxy for a port of this machine, which loses every so many answers."""
    proxy = LossyProxy(port, lost_each)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        for task in list(proxy.tasks):
            task.cancel()
        await asyncio.gather(*proxy.tasks, return_exceptions=True)
