"""Routes for webhooks and the log of their deliveries."""

from datetime import datetime
from enum import Enum
from typing import Annotated, Literal
from urllib.parse import urlencode
from uuid import UUID

from fastapi import Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from docmill.service.store import webhook_deliveries
from docmill.service.store.webhook_deliveries import DeliveryState
from docmill.service.store.webhooks import WebhookState
from docmill.service.webhooks.webhook_registry import LONGEST_OVERLAP_HOURS, OVERLAP_HOURS
from docmill.web.access import Router, needs
from docmill.web.api.shapes import IsoDatetime
from docmill.web.context import TheVault, not_found

_TAGS: list[str | Enum] = ["webhooks"]
router = Router(tags=_TAGS)

EventType = Literal["document.completed", "document.needs_review", "document.failed", "document.matched"]
_Events = Annotated[list[EventType], Field(min_length=1, max_length=10)]
_Url = Annotated[str, Field(max_length=2000)]


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, from_attributes=True)


class _Request(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Webhook(_Shape):
    """A webhook without its secret. reason: why it was disabled. pending, failed: numbers of deliveries.

    failing_since: the first failure since the last success. not_before: the receiver asked to wait.
    previous_until: until when the secret of before signs, too.
    """

    id: UUID
    url: str
    events: list[EventType]
    with_data: bool
    state: WebhookState
    reason: str | None
    failing_since: datetime | None
    not_before: datetime | None
    previous_until: datetime | None
    created_by: UUID
    created_at: datetime
    last_success_at: datetime | None
    pending: int
    failed: int


class WebhookList(_Shape):
    """The webhooks of the organisation, the oldest first."""

    webhooks: list[Webhook]


class WebhookToAdd(_Request):
    """A webhook to make. with_data: messages have the record of the document."""

    url: _Url
    events: _Events
    with_data: bool = False


class WebhookChange(_Request):
    """Changes to a webhook; what is left out stays."""

    url: _Url | None = None
    events: _Events | None = None
    with_data: bool | None = None


class WebhookSecret(_Shape):
    """A new secret, which is shown once."""

    id: UUID
    secret: str


class SecretRotation(_Request):
    """A change of a secret. overlap_hours: for so long, the secret of before signs, too."""

    overlap_hours: Annotated[float, Field(ge=0, le=LONGEST_OVERLAP_HOURS)] = OVERLAP_HOURS


class DeliveryAttempt(_Shape):
    """An attempt. status: of the answer, null without one. error: null for a success."""

    at: datetime
    duration_ms: int
    status: int | None
    error: str | None


class WebhookDelivery(_Shape):
    """A delivery with its attempts, the first one first. next_attempt_at: null once it has ended."""

    id: UUID
    event_id: UUID
    type: str
    document_id: UUID | None
    state: DeliveryState
    created_at: datetime
    ended_at: datetime | None
    next_attempt_at: datetime | None
    attempts: list[DeliveryAttempt] = Field(validation_alias="tries")


class WebhookDeliveries(_Shape):
    """A page of deliveries, the newest first."""

    deliveries: list[WebhookDelivery]
    next: str | None


class FailedDeliveries(_Request):
    """Deliveries that have failed for good, of events since then; null for all."""

    since: IsoDatetime | None = None


class SentAgain(_Shape):
    """The number of deliveries that are sent again."""

    count: int


@router.get("/webhooks")
@needs("administer")
async def list_webhooks(vault: TheVault) -> WebhookList:
    """The webhooks of the organisation."""
    rows = await vault.service.webhooks.page(tenant_id=vault.tenant_id)
    return WebhookList(webhooks=[Webhook.model_validate(row) for row in rows])


@router.post("/webhooks", status_code=201)
@needs("send events")
async def add_webhook(new: WebhookToAdd, response: Response, vault: TheVault) -> WebhookSecret:
    """Make a webhook. Its secret is in this answer and nowhere else."""
    webhook = await vault.service.webhooks.add(
        new.url,
        new.events,
        with_data=new.with_data,
        tenant_id=vault.tenant_id,
        created_by=vault.user_id,
        api_key_id=vault.access.api_key_id,
    )
    vault.audit_details.update({"webhook": str(webhook.id), "events": list(new.events)})
    response.headers["cache-control"] = "no-store"
    return WebhookSecret(id=webhook.id, secret=webhook.secret)


@router.get("/webhooks/{webhook_id}")
@needs("administer")
async def get_webhook(webhook_id: UUID, vault: TheVault) -> Webhook:
    """The webhook."""
    row = await vault.service.webhooks.get(webhook_id, tenant_id=vault.tenant_id)
    if row is None:
        raise not_found("webhook")
    return Webhook.model_validate(row)


@router.patch("/webhooks/{webhook_id}")
@needs("send events")
async def change_webhook(webhook_id: UUID, change: WebhookChange, vault: TheVault) -> Webhook:
    """Change the address of a webhook, its events, or whether it gets data."""
    await vault.service.webhooks.change(
        webhook_id,
        tenant_id=vault.tenant_id,
        api_key_id=vault.access.api_key_id,
        url=change.url,
        events=change.events,
        with_data=change.with_data,
    )
    vault.audit_details["changed"] = list[JsonValue](sorted(change.model_fields_set))
    return await get_webhook(webhook_id, vault)


@router.delete("/webhooks/{webhook_id}", status_code=204)
@needs("administer")
async def remove_webhook(webhook_id: UUID, vault: TheVault) -> None:
    """Remove a webhook, with what waits for it and the log of its deliveries."""
    if not await vault.service.webhooks.remove(webhook_id, tenant_id=vault.tenant_id):
        raise not_found("webhook")


@router.post("/webhooks/{webhook_id}/test")
@needs("send events")
async def test_webhook(webhook_id: UUID, vault: TheVault) -> DeliveryAttempt:
    """Send a message of the type `webhook.test` now, once; what became of it."""
    attempt = await vault.service.webhooks.test(webhook_id, tenant_id=vault.tenant_id)
    if attempt is None:
        raise not_found("webhook")
    return DeliveryAttempt.model_validate(attempt)


@router.post("/webhooks/{webhook_id}/pause", status_code=204)
@needs("administer")
async def pause_webhook(webhook_id: UUID, vault: TheVault) -> None:
    """Send nothing until the webhook is resumed. What happens meanwhile waits."""
    if not await vault.service.webhooks.pause(webhook_id, tenant_id=vault.tenant_id):
        raise not_found("webhook")


@router.post("/webhooks/{webhook_id}/resume", status_code=204)
@needs("send events")
async def resume_webhook(webhook_id: UUID, vault: TheVault) -> None:
    """Send again, also what has waited; after a pause, or after the webhook was disabled."""
    if not await vault.service.webhooks.resume(
        webhook_id, tenant_id=vault.tenant_id, api_key_id=vault.access.api_key_id
    ):
        raise not_found("webhook")


@router.post("/webhooks/{webhook_id}/rotate")
@needs("send events")
async def rotate_webhook_secret(
    webhook_id: UUID, rotation: SecretRotation, response: Response, vault: TheVault
) -> WebhookSecret:
    """Make another secret. Messages are signed by both for a while."""
    webhook = await vault.service.webhooks.rotate(
        webhook_id,
        tenant_id=vault.tenant_id,
        overlap_hours=rotation.overlap_hours,
        api_key_id=vault.access.api_key_id,
    )
    if webhook is None:
        raise not_found("webhook")
    response.headers["cache-control"] = "no-store"
    return WebhookSecret(id=webhook.id, secret=webhook.secret)


@router.get("/webhooks/{webhook_id}/deliveries")
@needs("administer")
async def list_webhook_deliveries(
    request: Request,
    webhook_id: UUID,
    vault: TheVault,
    *,
    state: Annotated[DeliveryState | None, Query(description="only those in this state")] = None,
    after: Annotated[UUID | None, Query(description="the last id of the page before this one")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> WebhookDeliveries:
    """The deliveries that are kept, with all attempts; the newest first."""
    if await vault.service.webhooks.get(webhook_id, tenant_id=vault.tenant_id) is None:
        raise not_found("webhook")
    async with vault.connection() as conn:
        rows = await webhook_deliveries.page(conn, webhook_id, state=state, after=after, limit=limit + 1)
    follow = None
    if len(rows) > limit:
        query = {**request.query_params, "after": str(rows[limit - 1].id)}
        follow = f"{request.url.path}?{urlencode(query)}"
    shown = [WebhookDelivery.model_validate(row) for row in rows[:limit]]
    return WebhookDeliveries(deliveries=shown, next=follow)


@router.post("/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver", status_code=204)
@needs("send events")
async def redeliver_webhook_event(webhook_id: UUID, delivery_id: UUID, vault: TheVault) -> None:
    """Send a delivery again, whatever became of it, with the same id."""
    if not await vault.service.webhooks.send_again(webhook_id, delivery_id, tenant_id=vault.tenant_id):
        raise not_found("delivery")


@router.post("/webhooks/{webhook_id}/redeliver")
@needs("send events")
async def redeliver_failed_webhook_events(
    webhook_id: UUID, failed: FailedDeliveries, vault: TheVault
) -> SentAgain:
    """Send all deliveries again that have failed for good, of events since then."""
    count = await vault.service.webhooks.send_failed_again(
        webhook_id, tenant_id=vault.tenant_id, since=failed.since
    )
    if count is None:
        raise not_found("webhook")
    return SentAgain(count=count)
