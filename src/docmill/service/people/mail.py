"""Mails to people, by the server of the settings."""

import asyncio
import smtplib
import ssl
from email.message import EmailMessage

from docmill.errors import NetworkError
from docmill.service.config.web import Smtp

_LIMIT_S = 30


class Mailer:
    """Sends mails through an SMTP server."""

    def __init__(self, smtp: Smtp) -> None:
        self._smtp = smtp

    @property
    def is_set_up(self) -> bool:
        """Whether there is a server."""
        return self._smtp.host is not None

    async def send(self, to: str, subject: str, text: str) -> None:
        """Send a mail. Raises NetworkError if the server cannot be reached or refuses it."""
        message = EmailMessage()
        message["From"], message["To"], message["Subject"] = self._smtp.sender, to, subject
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(text)
        try:
            await asyncio.to_thread(self._send, message)
        except (OSError, smtplib.SMTPException) as error:
            raise NetworkError(
                f"the mail server {self._smtp.host!r} took no mail ({type(error).__name__}); see the "
                "settings of smtp"
            ) from error

    def _send(self, message: EmailMessage) -> None:
        smtp, context = self._smtp, ssl.create_default_context()
        host = smtp.host or ""
        if smtp.security == "tls":
            server = smtplib.SMTP_SSL(host, smtp.port, timeout=_LIMIT_S, context=context)
        else:
            server = smtplib.SMTP(host, smtp.port, timeout=_LIMIT_S)
        with server:
            if smtp.security == "starttls":
                server.starttls(context=context)
            if smtp.user is not None and smtp.password is not None:
                server.login(smtp.user, smtp.password.get_secret_value())
            server.send_message(message)
