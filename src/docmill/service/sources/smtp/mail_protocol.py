"""SMTP as far as a receiver needs it, and the limits of its sessions."""

import asyncio
import logging
import ssl
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from aiosmtpd.smtp import SMTP, Envelope

from docmill.errors import DocmillError
from docmill.service.sources.smtp.mail_data import (
    LONGEST_LINE,
    EndlessMailError,
    ReceivedMail,
    received_mail,
)

if TYPE_CHECKING:
    from docmill.service.sources.smtp.mail_handler import MailHandler
    from docmill.service.sources.smtp.recipients import Recipient

# The library logs commands, with the addresses in them.
logging.getLogger("mail.log").addHandler(logging.NullHandler())
logging.getLogger("mail.log").propagate = False

_COMMAND_S = 60.0
"""Without a command for so long, a session ends."""
_DATA_S = 600.0
"""For the content of one mail, and until it is filed."""
_MOST_COMMANDS = {"*": 1000, "EHLO": 10, "HELO": 10, "NOOP": 20, "RSET": 200, "STARTTLS": 2}


@dataclass(slots=True)
class SessionLimits:
    """Counts sessions: at a time, and of one address except where that is a relay that is trusted."""

    most: int
    most_of_address: int
    sessions: "set[MailProtocol]" = field(default_factory=set["MailProtocol"])
    of_address: Counter[str] = field(default_factory=Counter[str])

    def admit(self, session: "MailProtocol", address: str, *, is_trusted: bool) -> bool:
        """Count a session, if there may be one more."""
        if len(self.sessions) >= self.most or (
            self.of_address[address] >= self.most_of_address and not is_trusted
        ):
            return False
        self.sessions.add(session)
        self.of_address[address] += 1
        return True

    def leave(self, session: "MailProtocol", address: str) -> None:
        """A session that was counted is over."""
        if session in self.sessions:
            self.sessions.remove(session)
            self.of_address -= Counter([address])


class MailEnvelope(Envelope):
    """A mail that is being sent to us. content: None until it was received."""

    def __init__(self) -> None:
        super().__init__()
        self.recipients: dict[str, Recipient] = {}
        self.mail: ReceivedMail | None = None


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """The server, as its clients see it. folder: for mails until they are filed."""

    host_name: str
    max_bytes: int
    folder: Path
    tls: ssl.SSLContext | None = None
    require_tls: bool = False


class MailProtocol(SMTP):
    """A session with a client: SMTP with STARTTLS, SIZE, 8BITMIME and SMTPUTF8, without AUTH and relaying."""

    line_length_limit = LONGEST_LINE
    smtp_AUTH = None  # noqa: N815  # pyright: ignore[reportAssignmentType] - takes the command away
    smtp_VRFY = None  # noqa: N815  # pyright: ignore[reportAssignmentType]

    def __init__(self, handler: "MailHandler", options: ServerOptions, limits: SessionLimits) -> None:
        super().__init__(
            handler,
            data_size_limit=options.max_bytes,
            enable_SMTPUTF8=True,
            hostname=options.host_name,
            ident="ESMTP docmill",
            tls_context=options.tls,
            require_starttls=options.require_tls,
            timeout=_COMMAND_S,
            command_call_limit=_MOST_COMMANDS,
            loop=asyncio.get_running_loop(),
        )
        self._handler = handler
        self._options = options
        self._limits = limits
        self._address = ""
        self._is_refused = False
        self.is_stopping = False
        self.unknown_recipients = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin a session, or go on with one after STARTTLS."""
        if self.transport is None:
            assert isinstance(transport, asyncio.WriteTransport)
            self._address = str((transport.get_extra_info("peername") or ("",))[0])
            is_trusted = self._handler.is_trusted_relay(self._address)
            if not self._limits.admit(self, self._address, is_trusted=is_trusted):
                self._is_refused = True
                transport.write(b"421 4.7.0 too many connections, try again later\r\n")
                transport.close()
                return
        super().connection_made(transport)
        assert self._handler_coroutine is not None
        self._handler_coroutine.add_done_callback(_retrieve)

    def connection_lost(self, error: Exception | None) -> None:
        """End a session."""
        if not self._is_refused:
            self._limits.leave(self, self._address)
            super().connection_lost(error)

    def eof_received(self) -> bool | None:
        """End a session whose client says no more."""
        return None if self._is_refused else super().eof_received()

    def data_received(self, data: bytes) -> None:
        """Pass on what the client says."""
        if not self._is_refused:
            super().data_received(data)

    def stop(self) -> None:
        """End the session; a mail that is being received is finished."""
        self.is_stopping = True
        if not (isinstance(self.envelope, MailEnvelope) and self.envelope.recipients) and self.transport:
            self.transport.close()

    def _create_envelope(self) -> MailEnvelope:
        return MailEnvelope()

    async def smtp_DATA(self, arg: str | None) -> None:  # noqa: N802  its name in the library
        """Receive a mail and file it, and say so only then."""
        envelope = self.envelope
        if await self.check_helo_needed():
            return
        assert isinstance(envelope, MailEnvelope)
        if not envelope.recipients:
            await self.push("503 5.5.1 need RCPT command")
            return
        if arg:
            await self.push("501 5.5.4 Syntax: DATA")
            return
        self._reset_timeout(_DATA_S)
        await self.push("354 End data with <CR><LF>.<CR><LF>")
        try:
            async with received_mail(
                self._reader, self._options.folder, max_bytes=self._options.max_bytes
            ) as mail:
                envelope.mail = mail
                answer = await self._handler.file_mail(self, envelope)
        except EndlessMailError:
            answer = "552 5.3.4 the mail is too large"
            self.is_stopping = True
        except DocmillError as error:
            # The rest of the mail is not read, so the session cannot go on.
            answer = f"451 4.3.0 {error.code}"
            self.is_stopping = True
        self._reset_timeout()
        self._set_post_data_state()
        await self.push(answer)
        if self.is_stopping and self.transport is not None:
            self.transport.close()


def _retrieve(task: asyncio.Task[None]) -> None:
    """Look at the error of a session that ended: a client that went away is no fault."""
    if not task.cancelled():
        task.exception()
