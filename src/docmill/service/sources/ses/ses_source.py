"""A source whose mails Amazon SES receives: they are taken from the queue of the installation."""

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from docmill.errors import MisconfiguredError
from docmill.service.config.settings import Settings
from docmill.service.sources.item_intake import ItemIntake
from docmill.service.sources.kinds import Connection, Kind, LimitedSettings, OpenedSource
from docmill.service.sources.mail.mail_addresses import AddressToken, SenderList, address_of_source
from docmill.service.store.doc_sources import SourceRow


class SesSettings(LimitedSettings):
    """Mails that are taken. address_token: made by docmill."""

    address_token: AddressToken
    senders: SenderList = Field(
        default=(),
        description="Addresses and domains that may stand in the field From of a mail; empty: any",
    )
    suspicious: Literal["take", "refuse"] = Field(
        default="take", description="Mails that SES takes for spam, or in which it found a virus"
    )


@dataclass(frozen=True, slots=True)
class SesConnection:
    """`Connection` to the queue and the bucket of mails."""

    address: str | None  # None before the source is made
    settings: Settings

    async def test(self) -> str:
        """See `Connection.test`."""
        try:
            from docmill.service.sources.ses.acquisition import open_acquisition  # noqa: PLC0415  an extra
        except ModuleNotFoundError as error:
            raise missing_extra(error) from error
        async with open_acquisition(self.settings):
            return f"mails to {self.address} are taken" if self.address else "mails are taken here"

    async def watch(self, intake: ItemIntake) -> None:
        """Never called: one queue has the mails of all sources."""
        raise NotImplementedError


def missing_extra(error: ModuleNotFoundError) -> MisconfiguredError:
    """The error where what SES needs is not installed."""
    return MisconfiguredError(f"mails from SES need {error.name!r}; run: pip install 'docmill[aws]'")


def _check(_: SesSettings, settings: Settings) -> None:
    if settings.sources.ses_domain is None:
        raise MisconfiguredError(
            "no mails from Amazon SES are taken here: whoever runs this installation can set"
            " sources.ses_domain"
        )


def _open(source: OpenedSource, settings: Settings) -> Connection:
    _check(source.settings, settings)
    domain = settings.sources.ses_domain or ""
    address = address_of_source(source.name, source.settings.address_token, domain) if source.name else None
    return SesConnection(address, settings)


def _address(row: SourceRow, settings: Settings) -> str | None:
    domain = settings.sources.ses_domain
    return domain and address_of_source(row.name, row.settings["address_token"], domain)


SES = Kind(
    "ses",
    SesSettings,
    _open,
    is_watched=False,
    check=_check,
    generated=("address_token",),
    address=_address,
)
