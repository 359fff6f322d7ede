"""Settings of the receiver of mails."""

from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from docmill.service.config.section import Section
from docmill.service.config.web import HostName

DnsServer = Annotated[str, Field(pattern=r"^(\d{1,3}(\.\d{1,3}){3}(:\d{1,5})?|[0-9a-f:]*:[0-9a-f:]*)$")]
"""An address; one of IPv4 may have a port."""


class SmtpReceiver(Section):
    """The server to which mails are sent. port: without one there is none.

    domains: of the addresses of sources; the first is shown to people. require_tls: takes no mail before
    STARTTLS. connections: at a time; connections_per_address: of those that come from one address, except
    trusted relays. trusted_relays: mail servers whose results of SPF and DKIM are believed, as they stand in
    the header Authentication-Results under the name `authserv_id`. check_senders: SPF and DKIM are checked
    here, which asks DNS; dns_servers: instead of those of this machine.
    """

    host: str = "127.0.0.1"
    port: int | None = Field(default=None, ge=0, le=65535)
    domains: tuple[HostName, ...] = ()
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    require_tls: bool = False
    connections: int = Field(default=100, ge=1)
    connections_per_address: int = Field(default=20, ge=1)
    trusted_relays: tuple[IPv4Network | IPv6Network, ...] = ()
    authserv_id: str | None = None
    check_senders: bool = False
    dns_servers: tuple[DnsServer, ...] = ()

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if self.port is not None and not self.domains:
            raise ValueError("port needs domains, those of the addresses to which mails are sent")
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise ValueError("tls_certificate and tls_key are given together or not at all")
        if self.require_tls and self.tls_certificate is None:
            raise ValueError("require_tls needs tls_certificate and tls_key")
        if self.authserv_id is not None and not self.trusted_relays:
            raise ValueError("authserv_id needs trusted_relays, the mail servers that are called so")
        return self

    @property
    def knows_senders(self) -> bool:
        """True if it is known of mails, or of some, whether their sender is genuine."""
        return self.check_senders or self.authserv_id is not None
