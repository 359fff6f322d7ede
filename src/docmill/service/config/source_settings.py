"""Settings of the sources from which documents arrive by themselves."""

from pathlib import Path

from pydantic import Field

from docmill.service.config.section import Section


class SourceSettings(Section):
    """Bounds of sources, which people of a tenant make, and the way they are watched.

    allow_private_addresses: mail servers and web addresses may lie in the own network. folders: those that
    may be watched, with all that is in them; without any, none may. buckets, queues: those that sources may
    reach as the installation, and not with keys of their own. ses_domain: of the addresses whose mails Amazon
    SES writes to `buckets.emails`; None if none are taken. lease_s: after which another worker watches the
    sources of one that died. starts_per_s: items that all sources of a tenant may take, together.
    documents_per_day: that they may take within any 24 hours.
    """

    allow_private_addresses: bool = False
    folders: tuple[Path, ...] = ()
    buckets: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    ses_domain: str | None = Field(default=None, pattern=r"^[a-z0-9-]+(\.[a-z0-9-]+)+$")
    lease_s: float = Field(default=30, gt=0)
    concurrency: int = Field(default=50, ge=1)
    starts_per_s: float = Field(default=20, gt=0)
    documents_per_day: int | None = Field(default=None, ge=1)
