"""Decisions of the receiver: which mails it takes, for which sources, and what it answers."""

import asyncio
import logging
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from aiosmtpd.smtp import SMTP, Session
from pydantic import JsonValue

from docmill.errors import DocmillError, SetupError, TooLargeError, TransientError, ValidationError
from docmill.files import chunks
from docmill.service.sources.item_intake import TakenItem
from docmill.service.sources.mail.mail_addresses import is_sender_in
from docmill.service.sources.mail.mail_item import MailItem, from_addresses, item_of_header
from docmill.service.sources.smtp.mail_data import ReceivedMail
from docmill.service.sources.smtp.mail_protocol import MailEnvelope, MailProtocol
from docmill.service.sources.smtp.recipients import Recipient, Recipients
from docmill.service.sources.smtp.sender_checks import Peer, SenderChecks, SenderResult
from docmill.service.sources.sources import Sources

if TYPE_CHECKING:
    from uuid import UUID

log = logging.getLogger(__name__)

TAKEN = "250 2.0.0 taken"
_LATER = "451 4.3.0 cannot be taken now, try again later"
_LONGEST_WAIT_S = 60.0
"""For the limits of a source: longer than a burst takes, shorter than clients wait for an answer."""
_MOST_RECIPIENTS = 50
_MOST_UNKNOWN = 10
"""Unknown addresses in a session after which it ends: whoever guesses addresses must connect again."""
_MOST_HOPS = 100
_SUCCESS_EVERY_S = 10.0
_RECEIVED = re.compile(rb"^received:", re.IGNORECASE | re.MULTILINE)


class MailHandler:
    """Takes mails for sources. Its methods `handle_…` are called by the library, by name."""

    def __init__(self, recipients: Recipients, sources: Sources, checks: SenderChecks) -> None:
        self._recipients = recipients
        self._sources = sources
        self._checks = checks
        self._noted: dict[UUID, float] = {}

    def is_trusted_relay(self, address: str) -> bool:
        """True for a mail server that is trusted."""
        return bool(address) and self._checks.is_trusted_relay(address)

    async def handle_EHLO(  # noqa: N802  its name in the library
        self, server: SMTP, session: Session, envelope: MailEnvelope, host_name: str, answers: list[str]
    ) -> list[str]:
        """Begin a session: without AUTH, which the library offers after STARTTLS."""
        del server, envelope
        session.host_name = host_name
        return [answer for answer in answers if not answer[4:].startswith("AUTH")]

    async def handle_RCPT(  # noqa: N802, PLR0911  its name in the library; an answer for each reason
        self, server: MailProtocol, session: Session, envelope: MailEnvelope, address: str, options: list[str]
    ) -> str:
        """Answer for one recipient."""
        del session
        if server.is_stopping:
            return "421 4.3.2 going down, try again"
        if not self._recipients.is_ours(address):
            return "550 5.7.1 no mail is passed on to other domains"
        if len(envelope.recipients) >= _MOST_RECIPIENTS:
            return "452 4.5.3 too many recipients"
        recipient = await self._recipients.find(address)
        if recipient is None:
            server.unknown_recipients += 1
            if server.unknown_recipients > _MOST_UNKNOWN and server.transport is not None:
                await server.push("421 4.7.0 too many unknown addresses")
                server.transport.close()
            return "550 5.1.1 there is no such address"
        if recipient.row.state != "active":
            return "451 4.2.1 this address takes no mail now"
        if not is_sender_in(envelope_sender(envelope), recipient.settings.envelope_senders):
            return "550 5.7.1 this address takes no mail of this sender"
        envelope.recipients[address] = recipient
        envelope.rcpt_tos.append(address)
        envelope.rcpt_options.extend(options)
        return "250 2.1.5 OK"

    async def handle_exception(self, error: Exception) -> str:
        """Answer for what went wrong meanwhile; a fault of ours is logged with its traceback."""
        log.error(
            "a mail could not be received",
            extra={"reason": type(error).__name__},
            exc_info=None if isinstance(error, DocmillError) else error,
        )
        return _LATER

    async def file_mail(self, server: MailProtocol, envelope: MailEnvelope) -> str:
        """File a mail in each of its sources; the answer to its client."""
        mail, session = envelope.mail, server.session
        assert mail is not None
        assert session is not None
        if mail.is_too_large:
            return "552 5.3.4 the mail is too large"
        if not mail.size:
            return "554 5.6.0 the mail is empty"
        if len(_RECEIVED.findall(mail.header)) > _MOST_HOPS:
            return "554 5.4.6 the mail goes round in a circle"
        peer = Peer(str(session.peer[0]) if session.peer else "", session.host_name or "")
        return await self._file(mail, envelope, peer)

    async def _file(self, mail: ReceivedMail, envelope: MailEnvelope, peer: Peer) -> str:
        authors = from_addresses(mail.header)
        result = await self._checks.check(
            peer,
            envelope_sender=envelope_sender(envelope),
            from_domain=authors[0].rpartition("@")[2] if len(authors) == 1 else "",
            header=mail.header,
            path=mail.path,
        )
        item = item_of_header(mail.header, mail.digest)
        refusals = {
            recipient.row.id: refusal
            for recipient in envelope.recipients.values()
            if (refusal := _refusal(recipient, authors, result)) is not None
        }
        if len(refusals) == len({recipient.row.id for recipient in envelope.recipients.values()}):
            # The client tells the sender. It is not noted, or whoever sends spam would fill the database.
            is_temporary = result is not None and result.may_pass_later
            return f"{'451 4.7.1' if is_temporary else '550 5.7.1'} {next(iter(refusals.values()))}"
        answers: list[str] = []
        for source_id, recipient in {each.row.id: each for each in envelope.recipients.values()}.items():
            metadata = _metadata(item, envelope, recipient, peer, result)
            answers.append(await self._take(recipient, mail, item, metadata, refusals.get(source_id)))
        # Sent again after a temporary failure, the mail is known where it was filed.
        return next((answer for answer in answers if answer.startswith("4")), None) or min(answers)

    async def _take(
        self,
        recipient: Recipient,
        mail: ReceivedMail,
        item: MailItem,
        metadata: dict[str, JsonValue],
        refusal: str | None,
    ) -> str:
        """File a mail in one source; the answer for it."""
        intake = self._sources.item_intake(recipient.row, longest_wait_s=_LONGEST_WAIT_S)
        try:
            if refusal is not None:
                await intake.refuse(item.name, ValidationError(refusal), metadata=metadata)
                return f"550 5.7.1 {refusal}"
            taken = await intake.take(
                item.name, chunks(mail.path), file_name=item.file_name, metadata=metadata
            )
            now = asyncio.get_running_loop().time()
            if now > self._noted.get(recipient.row.id, 0) + _SUCCESS_EVERY_S:
                self._noted[recipient.row.id] = now
                await intake.note_success()
        except (TransientError, SetupError) as error:
            log.warning(
                "a mail could not be filed",
                extra={
                    "source_id": str(recipient.row.id),
                    "tenant_id": str(recipient.row.tenant_id),
                    "code": error.code,
                },
            )
            return _LATER
        return _answer(taken)


def envelope_sender(envelope: MailEnvelope) -> str:
    """The address to which a mail goes back; empty for a mail without one, such as one that came back."""
    return (envelope.mail_from or "").strip("<>")


def _refusal(recipient: Recipient, authors: Sequence[str], result: SenderResult | None) -> str | None:
    """The reason why a source does not take a mail; None if it does."""
    settings = recipient.settings
    if settings.senders and not (
        authors and all(is_sender_in(author, settings.senders) for author in authors)
    ):
        return "this address takes no mail of this sender"
    if settings.require == "spf_or_dkim" and not (result is not None and result.is_genuine):
        return "neither SPF nor DKIM shows that the sender of the field From is genuine"
    return None


def _metadata(
    item: MailItem, envelope: MailEnvelope, recipient: Recipient, peer: Peer, result: SenderResult | None
) -> dict[str, JsonValue]:
    checked = {} if result is None else {"spf": result.spf, "dkim": result.dkim}
    return {
        **item.metadata,
        "envelope_sender": envelope_sender(envelope),
        "envelope_recipient": recipient.address,
        "client": peer.address,
        **checked,
    }


def _answer(taken: TakenItem) -> str:
    match taken:
        case TakenItem(status="refused", error=TooLargeError()):
            return "552 5.3.4 the mail is too large for this address"
        case TakenItem(status="refused"):
            return "554 5.6.0 the mail cannot be taken"
        case _:
            return TAKEN
