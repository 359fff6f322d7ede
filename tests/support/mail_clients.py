"""Clients that send mails by SMTP, in threads."""

import asyncio
import smtplib
import ssl
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from docmill.service.store.doc_sources import SourceRow

MAIL = b"From: Anna <anna@example.com>\r\nTo: invoices@in.example.org\r\nSubject: Invoice 7\r\n\r\nHello\r\n"

_THREADS = ThreadPoolExecutor(32, "mail client")
"""Not those of the event loop, for which the server waits."""


@dataclass(frozen=True)
class Mailbox:
    """A source, and its address."""

    row: SourceRow
    address: str


@dataclass
class MailClient:
    """Sends mails to a server, each over a connection of its own."""

    port: int
    trust: ssl.SSLContext | None = field(default=None, repr=False)

    def connect(self) -> smtplib.SMTP:
        smtp = smtplib.SMTP("127.0.0.1", self.port, timeout=30)
        smtp.ehlo("client.example.com")
        return smtp

    async def send(
        self,
        to: str | Sequence[str],
        mail: bytes = MAIL,
        *,
        sender: str = "anna@example.com",
        tls: bool = False,
        options: Sequence[str] = (),
    ) -> tuple[int, str]:
        """The last answer of the server: of the first refusal, or of DATA."""

        def run() -> tuple[int, str]:
            with self.connect() as smtp:
                if tls:
                    smtp.starttls(context=self.trust)
                    smtp.ehlo("client.example.com")
                code, answer = smtp.mail(sender, options)
                for address in [to] if isinstance(to, str) else to:
                    if code == 250:
                        code, answer = smtp.rcpt(address)
                if code == 250:
                    code, answer = smtp.data(mail)
                return code, answer.decode()

        return await asyncio.get_running_loop().run_in_executor(_THREADS, run)
