"""Settings of the webhooks of tenants."""

from pydantic import Field

from docmill.service.config.section import Section


class TenantWebhooks(Section):
    """Webhooks that owners of an organisation add. limit: of one organisation.

    allow_private_addresses: their addresses may lead into the own network. disable_after_days: so long
    without a success, a webhook is disabled. keep_days: events and the log of their deliveries.
    """

    allow_private_addresses: bool = False
    timeout_s: float = Field(default=15, gt=0, le=60)
    disable_after_days: float = Field(default=5, gt=0)
    keep_days: int = Field(default=30, ge=1)
    limit: int = Field(default=20, ge=1)
