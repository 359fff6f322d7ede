"""A source to whose address mails are sent."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from docmill.errors import MisconfiguredError, NetworkError
from docmill.service.config.receiver_settings import SmtpReceiver
from docmill.service.config.settings import Settings
from docmill.service.sources.item_intake import ItemIntake
from docmill.service.sources.kinds import RARELY, Kind, LimitedSettings, OpenedSource
from docmill.service.sources.mail.mail_addresses import AddressToken, SenderList, address_of_source
from docmill.service.store.doc_sources import SourceRow

_ANSWER_S = 10
_LOCAL = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  looked up, not listened at


class SmtpSettings(LimitedSettings):
    """Mails that are taken. address_token: made by docmill."""

    address_token: AddressToken
    senders: SenderList = Field(
        default=(),
        description="Addresses and domains that may stand in the field From of a mail; empty: any",
    )
    envelope_senders: SenderList = Field(
        default=(),
        description="Addresses and domains to which mails that cannot be delivered go back (Return-Path);"
        " empty: any",
        json_schema_extra=RARELY,
    )
    require: Literal["none", "spf_or_dkim"] = Field(
        default="none",
        description="Proof that the sender of a mail is genuine; mails without it are refused",
    )


@dataclass(frozen=True, slots=True)
class SmtpConnection:
    """`Connection` to the receiver of this installation. address: None before the source is made."""

    address: str | None
    receiver: SmtpReceiver

    async def test(self) -> str:
        """See `Connection.test`."""
        host, port = _LOCAL.get(self.receiver.host, self.receiver.host), self.receiver.port
        try:
            async with asyncio.timeout(_ANSWER_S):
                reader, writer = await asyncio.open_connection(host, port)
                greeting = await reader.readline()
                writer.write(b"QUIT\r\n")
                with suppress(OSError):
                    await writer.drain()
                writer.close()
        except (OSError, TimeoutError) as error:
            raise NetworkError(
                f"no mail is received at port {port} now; `docmill up` or `docmill worker` does that"
            ) from error
        if not greeting.startswith(b"220"):
            raise NetworkError("the receiver of mails takes no connection now; try again soon")
        return f"mails to {self.address} are taken" if self.address else "mails are taken here"

    async def watch(self, intake: ItemIntake) -> None:
        """Never called: senders come to us."""
        raise NotImplementedError


def _open(source: OpenedSource, settings: Settings) -> SmtpConnection:
    check_receiver(settings)
    token = source.settings.address_token
    domain = settings.smtp_receiver.domains[0]
    address = address_of_source(source.name, token, domain) if source.name else None
    return SmtpConnection(address, settings.smtp_receiver)


def _address(row: SourceRow, settings: Settings) -> str | None:
    domains = settings.smtp_receiver.domains
    return address_of_source(row.name, row.settings["address_token"], domains[0]) if domains else None


def check_receiver(settings: Settings) -> None:
    """Raises MisconfiguredError where no mail is received."""
    if settings.smtp_receiver.port is None:
        raise MisconfiguredError(
            "no mail is received here: whoever runs this installation can set smtp_receiver.port and"
            " smtp_receiver.domains"
        )


def _check(chosen: SmtpSettings, settings: Settings) -> None:
    check_receiver(settings)
    if chosen.require != "none" and not settings.smtp_receiver.knows_senders:
        raise MisconfiguredError(
            "nobody checks SPF and DKIM here: set smtp_receiver.check_senders, or"
            " smtp_receiver.trusted_relays with smtp_receiver.authserv_id"
        )


SMTP = Kind(
    "smtp",
    SmtpSettings,
    _open,
    is_watched=False,
    check=_check,
    generated=("address_token",),
    address=_address,
)
