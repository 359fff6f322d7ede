"""Serving the vault inside a running event loop."""

import asyncio
import socket
import ssl
from collections.abc import Callable, Generator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from docmill.errors import MisconfiguredError
from docmill.service.config.settings import Settings
from docmill.web.request_limits import RequestLimits, limited_protocol

_BACKLOG = 128

_GRACE_S = 5
"""Time for running requests after the server was told to stop."""


async def serve(
    app: FastAPI,
    settings: Settings,
    stop: asyncio.Event,
    on_ready: Callable[[str], None],
    abort: asyncio.Event | None = None,
) -> None:
    """Serve the vault until `stop` is set; `on_ready` is called with the address once it answers.

    The caller handles signals. Open event streams end at once; other requests have some seconds to finish, or
    none when `abort` is set. Raises MisconfiguredError if the address is taken.
    """
    closing: asyncio.Event = app.state.vault.closing
    tls = settings.web.tls_certificate, settings.web.tls_key
    with listen(settings.web.host, settings.web.port, setting="web.port") as listener:
        # The server waits for open answers: streams would keep it for ever.
        limits = RequestLimits.of(settings.web)
        await answer(app, listener, stop, on_ready, abort=abort, on_stop=closing.set, tls=tls, limits=limits)


async def answer(
    app: FastAPI,
    listener: socket.socket,
    stop: asyncio.Event,
    on_ready: Callable[[str], None],
    *,
    abort: asyncio.Event | None = None,
    on_stop: Callable[[], None] = lambda: None,
    tls: tuple[Path | None, Path | None] = (None, None),
    limits: RequestLimits | None = None,
) -> None:
    """Answer requests on `listener` with `app`, as `serve` does.

    on_stop: called when the end begins. tls: the files of certificate and key. Raises MisconfiguredError if
    they cannot be used.
    """
    certificate, key = tls
    config = uvicorn.Config(
        app,
        http=limited_protocol(limits or RequestLimits()),
        log_config=None,
        access_log=False,
        lifespan="off",
        server_header=False,
        proxy_headers=False,  # uvicorn believes every program on this machine; see TrustedRequestsOnly
        timeout_graceful_shutdown=_GRACE_S,
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )
    try:
        config.load()
    except (OSError, ssl.SSLError) as error:
        raise MisconfiguredError(
            f"web.tls_certificate {str(certificate)!r} and web.tls_key {str(key)!r} cannot be used: {error}"
        ) from error
    server = _Server(config)

    async def ending() -> None:
        await stop.wait()
        on_stop()
        server.should_exit = True
        if abort is not None:
            await abort.wait()
            server.force_exit = True

    async with asyncio.TaskGroup() as tasks:
        stopping = tasks.create_task(ending())
        serving = tasks.create_task(server.serve([listener]))
        await server.answers.wait()
        host, port = listener.getsockname()[:2]
        if ip_address(host).is_unspecified:
            host = "localhost"
        on_ready(f"{'https' if certificate else 'http'}://{f'[{host}]' if ':' in host else host}:{port}/")
        await serving
        stopping.cancel()


def listen(host: str, port: int, *, setting: str) -> socket.socket:
    """Open a socket for connections; port 0 is any free one. Raises MisconfiguredError if it is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        why = str(error.strerror).partition(" (while")[0]  # what follows repeats the address
        raise MisconfiguredError(
            f"cannot listen on {host!r}, port {port}: {why}. Is docmill running already? "
            f"Otherwise give a free port: --port, or {setting} in the settings"
        ) from error
    # Its connections inherit it. asyncio sets it if a socket names its protocol, which this one does not: the
    # second packet of an answer waited 40 ms for the client to acknowledge the first.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


class _Server(uvicorn.Server):
    """A server without signal handlers, and with an event for when it answers."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.answers = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.answers.set()
