"""Mails to people, by the server of the settings."""

import asyncio
import smtplib
import ssl
from email.message import EmailMessage

from docmill.errors import NetworkError
from docmill.service.config.web import Smtp

_LIMIT_S = 30
_PERMANENT = 500
"""From this code on, a server's refusal is for good."""


class RecipientRefusedError(NetworkError):
    """The server takes no mail for this address. is_permanent: whether it will not do so later either."""

    def __init__(self, message: str, *, is_permanent: bool) -> None:
        super().__init__(message)
        self.is_permanent = is_permanent


class Mailer:
    """Sends mails through an SMTP server."""

    def __init__(self, smtp: Smtp) -> None:
        self._smtp = smtp

    @property
    def is_set_up(self) -> bool:
        """Whether there is a server."""
        return self._smtp.host is not None

    async def send(self, to: str, subject: str, text: str) -> None:
        """Send a mail. Raises NetworkError if the server cannot be reached or refuses it.

        That is RecipientRefusedError if it takes no mail for this address, while it may for others.
        """
        message = EmailMessage()
        message["From"], message["To"], message["Subject"] = self._smtp.sender, to, subject
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(text)
        try:
            await asyncio.to_thread(self._send, message)
        except (OSError, smtplib.SMTPException) as error:
            if (code := _refusal_of(error)) is not None:
                raise RecipientRefusedError(
                    f"the mail server {self._smtp.host!r} took no mail for {_masked(to)} (SMTP {code}); "
                    "check the address",
                    is_permanent=code >= _PERMANENT,
                ) from error
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


def _refusal_of(error: Exception) -> int | None:
    """The code with which the server refused the recipient, or the mail to the only one that it has."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return max((code for code, _ in error.recipients.values()), default=None)
    return error.smtp_code if isinstance(error, smtplib.SMTPDataError) else None


def _masked(address: str) -> str:
    """An address as logs may have it: one letter, and the domain."""
    name, _, domain = address.rpartition("@")
    return f"{name[:1]}…@{domain}"
