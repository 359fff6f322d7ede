"""A local mail server that takes mails and keeps them."""

import socket
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

from docmill.service.config.web import Smtp


@dataclass
class Postbox:
    """mails: that the server has taken. refusals: answers to addresses for which it takes none.

    refused: the addresses that got such an answer, in their order.
    """

    port: int = 0
    mails: list[Envelope] = field(default_factory=list[Envelope])
    refusals: dict[str, str] = field(default_factory=dict[str, str])
    refused: list[str] = field(default_factory=list[str])

    @property
    def smtp(self) -> Smtp:
        """The settings by which a vault sends through the server."""
        return Smtp(host="127.0.0.1", port=self.port, security="none", sender="vault@example.org")

    @property
    def recipients(self) -> list[str]:
        """The addresses of all mails, in their order."""
        return [address for mail in self.mails for address in mail.rcpt_tos]

    async def handle_RCPT(  # noqa: N802  its name
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        del server, session, options
        if address in self.refusals:
            self.refused.append(address)
            return self.refusals[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802  its name
        del server, session
        self.mails.append(envelope)
        return "250 OK"


@contextmanager
def taking_mails() -> Generator[Postbox]:
    """A mail server that runs during the block."""
    postbox = Postbox()
    with socket.create_server(("127.0.0.1", 0)) as free:
        postbox.port = free.getsockname()[1]  # the controller connects to the port it is told: not 0
    controller = Controller(postbox, hostname="127.0.0.1", port=postbox.port)
    controller.start()
    try:
        yield postbox
    finally:
        controller.stop()
