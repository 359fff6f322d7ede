"""The server that receives mails, in the process of a worker: one on a machine."""

import asyncio
import errno
import logging
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from docmill.errors import MisconfiguredError
from docmill.resilience.concurrency import cancel_and_wait
from docmill.service.config.receiver_settings import SmtpReceiver
from docmill.service.config.settings import Settings
from docmill.service.sources.smtp.mail_handler import MailHandler
from docmill.service.sources.smtp.mail_protocol import MailProtocol, ServerOptions, SessionLimits
from docmill.service.sources.smtp.recipients import Recipients
from docmill.service.sources.smtp.sender_checks import open_sender_checks
from docmill.service.sources.sources import Sources
from docmill.service.store.database import Database

log = logging.getLogger(__name__)

_BACKLOG = 256
_AGAIN_S = 5.0
"""Between tries for a port that another worker of this machine has."""
_GRACE_S = 10.0


@asynccontextmanager
async def receiving_mails(
    database: Database, sources: Sources, settings: Settings, folder: Path
) -> AsyncGenerator[asyncio.Future[int]]:
    """Receive mails for the sources of all tenants during the block; the port, once it is ours.

    If another worker has the port, it is tried again and again: so one of them receives as long as any lives.
    At the end, mails that are being received have some seconds. Without a port in the settings nothing is
    done. folder: for mails until they are filed. Raises MisconfiguredError if the settings cannot work.
    """
    receiver = settings.smtp_receiver
    port, taken = receiver.port, asyncio.get_running_loop().create_future()
    if port is None:
        yield taken
        return
    limits = SessionLimits(receiver.connections, receiver.connections_per_address)
    options = ServerOptions(
        receiver.domains[0], settings.limits.file_bytes, folder, _tls(receiver), receiver.require_tls
    )
    async with open_sender_checks(receiver) as checks:
        handler = MailHandler(Recipients(database, sources, receiver.domains), sources, checks)

        async def listen() -> asyncio.Server | None:
            server = await _listen(receiver, port, lambda: MailProtocol(handler, options, limits))
            if server is not None:
                taken.set_result(server.sockets[0].getsockname()[1])
                log.info("receiving mails", extra={"port": taken.result()})
            return server

        listening = asyncio.create_task(_until_free(listen, await listen()))
        try:
            yield taken
        finally:
            await cancel_and_wait([listening])
            if not listening.cancelled():
                listening.result().close()
            await _end_sessions(limits)


async def _until_free(
    listen: Callable[[], Awaitable[asyncio.Server | None]], server: asyncio.Server | None
) -> asyncio.Server:
    """The server that listens; tries again for as long as another program has the port."""
    if server is None:
        log.warning("another program has the port of mails; it is tried again")
    while server is None:
        await asyncio.sleep(_AGAIN_S)
        server = await listen()
    return server


async def _listen(
    receiver: SmtpReceiver, port: int, protocol: Callable[[], MailProtocol]
) -> asyncio.Server | None:
    """The server that listens; None if another program has the port."""
    try:
        return await asyncio.get_running_loop().create_server(protocol, receiver.host, port, backlog=_BACKLOG)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return None
        raise MisconfiguredError(
            f"cannot receive mails at smtp_receiver.host {receiver.host!r}, port {port}: {error.strerror}"
        ) from error


async def _end_sessions(limits: SessionLimits) -> None:
    """End all sessions: those that send a mail when it is filed, or after some seconds."""
    for session in list(limits.sessions):
        session.stop()
    ends_at = asyncio.get_running_loop().time() + _GRACE_S
    while limits.sessions and asyncio.get_running_loop().time() < ends_at:  # noqa: ASYNC110  at the end, once
        await asyncio.sleep(0.05)
    for session in list(limits.sessions):
        if session.transport is not None:
            session.transport.close()


def _tls(receiver: SmtpReceiver) -> ssl.SSLContext | None:
    if receiver.tls_certificate is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(receiver.tls_certificate, receiver.tls_key)
    except (OSError, ssl.SSLError) as error:
        raise MisconfiguredError(
            f"smtp_receiver.tls_certificate {str(receiver.tls_certificate)!r} and smtp_receiver.tls_key"
            f" {str(receiver.tls_key)!r} cannot be used: {error}"
        ) from error
    return context
