"""Settings of the web server, and of how people sign in."""

from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, SecretStr, model_validator

from docmill.service.config.section import Section

HostName = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?$", max_length=259)]


class Web(Section):
    """The address at which the vault listens, and how long people stay signed in.

    hosts: names besides those of this machine under which it answers, with their ports; without one, `port`
    and that of the scheme. trusted_proxies: addresses or networks whose X-Forwarded headers are believed.
    session_idle_h, session_days: after so long without a request, and so long after the sign-in, a person has
    to sign in again. app_key_idle_days: after so long without use, the key of a scanner's or phone's app
    ends; app_keys: the most that a person has. public_url: the address at which people open the vault: all
    links to it that are given to others begin with it, and it is answered. head_s, body_s, slowest_bytes_s: a
    request is given up if its head takes longer, or if its body is slower for so long.
    """

    host: str = "127.0.0.1"
    port: int = Field(default=8080, ge=0, le=65535)
    hosts: tuple[HostName, ...] = ()
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    session_idle_h: float = Field(default=24, gt=0)
    session_days: float = Field(default=30, gt=0)
    app_key_idle_days: float = Field(default=90, gt=0)
    app_keys: int = Field(default=20, ge=1)
    head_s: float = Field(default=20, gt=0)
    body_s: float = Field(default=30, gt=0)
    slowest_bytes_s: float = Field(default=500, ge=0)
    public_url: str | None = Field(default=None, pattern=r"^https?://[^/@?#\s]+(/[^@?#\s]*[^/@?#\s])?$")

    @model_validator(mode="after")
    def _certificate_with_key(self) -> Self:
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise ValueError("tls_certificate and tls_key are given together or not at all")
        return self


class Smtp(Section):
    """The mail server that sends links for new passwords. host: without one no mail is sent."""

    host: str | None = None
    port: int = Field(default=587, ge=1, le=65535)
    security: Literal["starttls", "tls", "none"] = "starttls"
    user: str | None = None
    password: SecretStr | None = None
    sender: str | None = None

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if self.host is not None and self.sender is None:
            raise ValueError("host needs a sender, the address from which mails come")
        if (self.user is None) != (self.password is None):
            raise ValueError("user and password are given together or not at all")
        return self


class Oidc(Section):
    """The OpenID provider through which people sign in. issuer: its address; without one there is none.

    label: of the button on the sign-in page.
    """

    issuer: str | None = Field(default=None, pattern=r"^https?://[^/?#]+(/[^?#]*)?$")
    client_id: str | None = None
    client_secret: SecretStr | None = None
    label: str = "Single sign-on"
    scopes: tuple[str, ...] = ("openid", "email", "profile")

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if (self.issuer is None) != (self.client_id is None):
            raise ValueError("issuer and client_id are given together or not at all")
        return self
