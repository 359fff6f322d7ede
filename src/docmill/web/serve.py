"""Serving the vault inside a running event loop."""

import asyncio
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from docmill.errors import MisconfiguredError
from docmill.service.settings import Settings
from docmill.web.vault import Vault

_BACKLOG = 128

_LAST_WORDS_S = 5
"""How long a request may go on after the end was asked for."""


async def serve(
    app: FastAPI, settings: Settings, stop: asyncio.Event, on_ready: Callable[[str], None]
) -> None:
    """Answer requests until `stop` is set; `on_ready` is called with the address once they are answered.

    Signals are the caller's. Open event streams end at once. Raises MisconfiguredError if the address is
    taken.
    """
    listener = _listen(settings.web.host, settings.web.port)
    server = _Server(
        uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            lifespan="off",
            server_header=False,
            timeout_graceful_shutdown=_LAST_WORDS_S,
        )
    )
    async with asyncio.TaskGroup() as tasks:
        stopping = tasks.create_task(_stop_when(stop, server, app.state.vault))
        serving = tasks.create_task(server.serve([listener]))
        await server.answers.wait()
        on_ready(_address(listener))
        await serving
        stopping.cancel()


async def _stop_when(stop: asyncio.Event, server: uvicorn.Server, vault: Vault) -> None:
    """The server waits for open answers: streams would keep it for ever."""
    await stop.wait()
    vault.closing.set()
    server.should_exit = True


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise MisconfiguredError(
            f"cannot listen on {host!r}, port {port}: {error.strerror}. Is docmill running already? "
            "Otherwise set web.port to a free port"
        ) from error


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


class _Server(uvicorn.Server):
    """Leaves signals alone, and says when it answers."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.answers = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.answers.set()
