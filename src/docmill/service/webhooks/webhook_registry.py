"""The webhooks of a tenant: made, changed, tried, paused and removed."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import urlsplit
from uuid import UUID

from docmill.errors import ValidationError
from docmill.service.config.webhook_settings import TenantWebhooks
from docmill.service.events.wakeups import TOPIC, Wakeups
from docmill.service.notify.webhook_signing import new_signing_secret
from docmill.service.secret_box import SecretBox
from docmill.service.store import api_keys, handovers, webhook_deliveries, webhooks
from docmill.service.store.database import Conn, Database, new_id
from docmill.service.store.webhook_deliveries import AttemptRow
from docmill.service.store.webhooks import WebhookRow
from docmill.service.webhooks.webhook_sender import WebhookSender

EVENTS = ("document.completed", "document.needs_review", "document.failed", "document.matched")
"""Types of events, in the order in which they are shown."""

TEST_EVENT = "webhook.test"
OVERLAP_HOURS = 24
"""For so long after a rotation, the secret of before signs, too."""

LONGEST_OVERLAP_HOURS = 24 * 30
_LONGEST_URL = 2000
_TEST_LEASE_S = 120.0


@dataclass(frozen=True, slots=True)
class NewWebhook:
    """A webhook that was just made, or got another secret. secret: shown once; it cannot be read again."""

    id: UUID
    secret: str = field(repr=False)


class WebhookRegistry:
    """Makes, changes and tries the webhooks of a tenant."""

    def __init__(
        self,
        database: Database,
        wakeups: Wakeups,
        box: SecretBox,
        sender: WebhookSender,
        settings: TenantWebhooks,
    ) -> None:
        self._database = database
        self._wakeups = wakeups
        self._box = box
        self._sender = sender
        self._settings = settings

    async def page(self, *, tenant_id: UUID) -> list[WebhookRow]:
        """The webhooks of a tenant, the oldest first."""
        async with self._database.tenant(tenant_id) as conn:
            return await webhooks.page(conn)

    async def get(self, webhook_id: UUID, *, tenant_id: UUID) -> WebhookRow | None:
        """The webhook; None if the tenant has none of that id."""
        async with self._database.tenant(tenant_id) as conn:
            return await webhooks.get(conn, webhook_id)

    async def add(
        self,
        url: str,
        events: Collection[str],
        *,
        with_data: bool,
        tenant_id: UUID,
        created_by: UUID,
        api_key_id: UUID | None = None,
    ) -> NewWebhook:
        """Make a webhook. api_key_id: the key that makes it, and with which it ends.

        Raises ValidationError, MisconfiguredError if no secret can be kept.
        """
        url, chosen = check_url(url), check_events(events)
        webhook = NewWebhook(new_id(), new_signing_secret())
        async with self._database.tenant(tenant_id) as conn:
            await api_keys.check_lasting(conn, api_key_id, "a webhook")
            if await webhooks.lock_tenant(conn) >= self._settings.limit:
                raise ValidationError(
                    f"There are {self._settings.limit} webhooks, which is the limit. Remove one first."
                )
            await webhooks.add(
                conn,
                webhook.id,
                tenant_id=tenant_id,
                url=url,
                events=chosen,
                with_data=with_data,
                secret=self._box.seal(webhook.secret.encode(), owner=webhook.id),
                created_by=created_by,
            )
            if api_key_id is not None:
                await webhooks.bind_to_key(conn, webhook.id, api_key_id)
        return webhook

    async def change(
        self,
        webhook_id: UUID,
        *,
        tenant_id: UUID,
        url: str | None = None,
        events: Collection[str] | None = None,
        with_data: bool | None = None,
        api_key_id: UUID | None = None,
    ) -> bool:
        """Change what is given. False if the tenant has none of that id.

        api_key_id: the key that changes it, and with which it ends. Raises ValidationError.
        """
        async with self._database.tenant(tenant_id) as conn:
            await _check_may_go_on(conn, webhook_id, api_key_id)
            return await webhooks.change(
                conn,
                webhook_id,
                url=None if url is None else check_url(url),
                events=None if events is None else check_events(events),
                with_data=with_data,
            )

    async def rotate(
        self,
        webhook_id: UUID,
        *,
        tenant_id: UUID,
        overlap_hours: float = OVERLAP_HOURS,
        api_key_id: UUID | None = None,
    ) -> NewWebhook | None:
        """Give a webhook another secret; None if the tenant has none of that id. Raises ValidationError.

        overlap_hours: for so long, messages are signed by the secret of before, too. api_key_id: as `change`.
        """
        if not 0 <= overlap_hours <= LONGEST_OVERLAP_HOURS:
            raise ValidationError(f"The overlap must be from 0 to {LONGEST_OVERLAP_HOURS} hours.")
        webhook = NewWebhook(webhook_id, new_signing_secret())
        async with self._database.tenant(tenant_id) as conn:
            if await webhooks.get(conn, webhook_id) is None:
                return None
            await _check_may_go_on(conn, webhook_id, api_key_id)
            sealed = self._box.seal(webhook.secret.encode(), owner=webhook_id)
            is_done = await webhooks.rotate(conn, webhook_id, secret=sealed, overlap_s=overlap_hours * 3600)
        return webhook if is_done else None

    async def pause(self, webhook_id: UUID, *, tenant_id: UUID) -> bool:
        """Send nothing until `resume`; what happens meanwhile waits. False as `change`."""
        async with self._database.tenant(tenant_id) as conn:
            return await webhooks.pause(conn, webhook_id)

    async def resume(self, webhook_id: UUID, *, tenant_id: UUID, api_key_id: UUID | None = None) -> bool:
        """Send again, also after the webhook was disabled. False as `change`; raises as `change`."""
        async with self._database.tenant(tenant_id) as conn:
            await _check_may_go_on(conn, webhook_id, api_key_id)
            is_done = await webhooks.resume(conn, webhook_id)
        self._wakeups.announce(TOPIC)
        return is_done

    async def remove(self, webhook_id: UUID, *, tenant_id: UUID) -> bool:
        """Remove a webhook and the log of its deliveries. False as `change`."""
        async with self._database.tenant(tenant_id) as conn:
            return await webhooks.remove(conn, webhook_id)

    async def test(self, webhook_id: UUID, *, tenant_id: UUID) -> AttemptRow | None:
        """Send a test once, in whatever state the webhook is; None if the tenant has none of that id."""
        async with self._database.tenant(tenant_id) as conn:
            if await webhooks.get(conn, webhook_id) is None:
                return None
            delivery_id = await webhook_deliveries.add_test(
                conn, webhook_id, tenant_id=tenant_id, kind=TEST_EVENT, lease_s=_TEST_LEASE_S
            )
            (delivery,) = await webhook_deliveries.claimed(conn, [delivery_id])
        return await self._sender.send(delivery, tenant_id=tenant_id, is_test=True)

    async def send_again(self, webhook_id: UUID, delivery_id: UUID, *, tenant_id: UUID) -> bool:
        """Send a delivery again, whatever became of it. False if the webhook has none of that id."""
        async with self._database.tenant(tenant_id) as conn:
            is_done = await webhook_deliveries.send_again(conn, webhook_id, delivery_id)
        self._wakeups.announce(TOPIC)
        return is_done

    async def send_failed_again(
        self, webhook_id: UUID, *, tenant_id: UUID, since: datetime | None = None
    ) -> int | None:
        """Send deliveries again that have failed for good, of events since then; their number.

        None if the tenant has no webhook of that id.
        """
        async with self._database.tenant(tenant_id) as conn:
            if await webhooks.get(conn, webhook_id) is None:
                return None
            count = await webhook_deliveries.send_failed_again(conn, webhook_id, since=since)
        self._wakeups.announce(TOPIC)
        return count


async def _check_may_go_on(conn: Conn, webhook_id: UUID, api_key_id: UUID | None) -> None:
    """Check that somebody answers for a webhook, and that a key which changes it has no end.

    The webhook ends with that key from now on. Raises ValidationError.
    """
    await handovers.check_kept(conn, "webhook", webhook_id)
    await api_keys.check_lasting(conn, api_key_id, "a change of a webhook")
    if api_key_id is not None:
        await webhooks.bind_to_key(conn, webhook_id, api_key_id)


def check_url(url: str) -> str:
    """The address of a receiver. Raises ValidationError for what is none."""
    url = url.strip()
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in {"https", "http"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_valid = False
        parts = urlsplit("")
    if not is_valid or len(url) > _LONGEST_URL or not url.isascii() or any(map(str.isspace, url)):
        raise ValidationError("Give the address of a receiver, such as https://example.com/hooks/docmill.")
    if parts.username is not None or parts.password is not None:
        raise ValidationError(
            "Give the address without a user and password. The receiver knows messages by their signature."
        )
    return url.partition("#")[0]


def check_events(events: Collection[str]) -> Sequence[str]:
    """Types of events in their order. Raises ValidationError for none, and for others than there are."""
    chosen = [kind for kind in EVENTS if kind in events]
    if not chosen or set(events) - set(EVENTS):
        raise ValidationError(f"Choose at least one event of {', '.join(EVENTS)}.")
    return chosen
