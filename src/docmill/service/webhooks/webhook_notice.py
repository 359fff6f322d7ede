"""Mails to the owners of a tenant when a webhook of theirs was disabled."""

import logging
from uuid import UUID

from docmill.errors import DocmillError
from docmill.service.people.mail import Mailer
from docmill.service.store import memberships, webhooks
from docmill.service.store.database import Database

log = logging.getLogger(__name__)


class OwnerMails:
    """Tells owners by mail, where a mail server is set up. The page of the webhook tells it anyway."""

    def __init__(self, database: Database, mailer: Mailer, *, public_url: str | None, keep_days: int) -> None:
        self._database = database
        self._mailer = mailer
        self._keep_days = keep_days
        self._public_url = (public_url or "").rstrip("/")

    async def tell(self, tenant_id: UUID, webhook_id: UUID, reason: str) -> None:
        """Tell the owners that a webhook was disabled, and why. A mail that fails is in the log."""
        if not self._mailer.is_set_up:
            return
        async with self._database.accounts(tenant_id) as conn:
            people = await memberships.members(conn, tenant_id)
        async with self._database.tenant(tenant_id) as conn:
            webhook = await webhooks.get(conn, webhook_id)
        if webhook is None:
            return
        text = (
            f"docmill sends no more messages to a webhook of your organisation.\n\n{reason}\n\n"
            f"What happens to documents from now on waits, for {self._keep_days} days. When the receiver "
            f"works again, resume it: {self._public_url}/webhooks/{webhook_id}\n"
        )
        for person in people:
            if person.role != "owner":
                continue
            try:
                await self._mailer.send(person.email, "A webhook of docmill was disabled", text)
            except DocmillError as error:
                log.warning("an owner is not told of a disabled webhook", extra={"code": error.code})
