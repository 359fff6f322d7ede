"""Pages of an organisation's owners about its webhooks."""

from datetime import UTC, datetime, timedelta
from typing import Annotated
from uuid import UUID

from fastapi import Form, Request
from starlette.responses import RedirectResponse, Response

from docmill.errors import DocmillError, ValidationError
from docmill.service.store import webhook_deliveries
from docmill.service.store.webhook_deliveries import AttemptRow
from docmill.service.store.webhooks import WebhookRow
from docmill.service.webhooks.webhook_registry import EVENTS, OVERLAP_HOURS, NewWebhook
from docmill.web.access import Router, needs
from docmill.web.context import TheVault, Vault, not_found, parse_id
from docmill.web.languages import gettext_noop

router = Router(include_in_schema=False)

_Typed = Annotated[str, Form(max_length=3000)]
_PAGE = 30


@router.get("/webhooks")
@needs("administer")
async def show_webhooks(request: Request, vault: TheVault) -> Response:
    """The webhooks of the organisation."""
    return await _webhooks_page(request, vault)


async def _webhooks_page(
    request: Request,
    vault: Vault,
    *,
    message: str = "",
    url: str = "",
    events: tuple[str, ...] = EVENTS[:1],
    with_data: bool = False,
) -> Response:
    return vault.templates.page(
        request,
        "webhooks.html",
        review_count=await vault.review_count(),
        status_code=422 if message else 200,
        webhooks=await vault.service.webhooks.page(tenant_id=vault.tenant_id),
        all_events=EVENTS,
        message=message,
        url=url,
        events=events,
        with_data=with_data,
    )


@router.post("/webhooks")
@needs("send events")
async def add_webhook(
    request: Request,
    vault: TheVault,
    *,
    url: _Typed = "",
    event: Annotated[list[str], Form()] = [],  # noqa: B006  FastAPI copies it
    with_data: Annotated[str, Form(max_length=10)] = "",
) -> Response:
    """Make a webhook, and show its secret once."""
    try:
        webhook = await vault.service.webhooks.add(
            url,
            event,
            with_data=bool(with_data),
            tenant_id=vault.tenant_id,
            created_by=vault.user_id,
            api_key_id=vault.access.api_key_id,
        )
    except DocmillError as error:
        return await _webhooks_page(
            request, vault, message=error.message, url=url, events=tuple(event), with_data=bool(with_data)
        )
    vault.audit_details.update({"webhook": str(webhook.id), "events": list(event)})
    return await _webhook_page(request, vault, webhook.id, secret_of=webhook)


@router.get("/webhooks/{webhook_id}")
@needs("administer")
async def show_webhook(request: Request, webhook_id: UUID, vault: TheVault, *, after: str = "") -> Response:
    """A webhook, and the log of its deliveries."""
    return await _webhook_page(request, vault, webhook_id, after=parse_id(after))


async def _webhook_page(
    request: Request,
    vault: Vault,
    webhook_id: UUID,
    *,
    secret_of: NewWebhook | None = None,
    tested: AttemptRow | None = None,
    message: str = "",
    after: UUID | None = None,
) -> Response:
    webhook = await _existing(vault, webhook_id)
    async with vault.connection() as conn:
        rows = await webhook_deliveries.page(conn, webhook_id, after=after, limit=_PAGE + 1)
    follow = f"/webhooks/{webhook_id}?after={rows[_PAGE - 1].id}" if len(rows) > _PAGE else None
    return vault.templates.page(
        request,
        "webhook.html",
        review_count=await vault.review_count(),
        status_code=422 if message else 200,
        webhook=webhook,
        deliveries=rows[:_PAGE],
        follow=follow,
        all_events=EVENTS,
        secret=secret_of.secret if secret_of else "",
        tested=tested,
        message=message,
        overlap_hours=OVERLAP_HOURS,
        keep_days=vault.settings.webhooks.keep_days,
    )


@router.post("/webhooks/{webhook_id}")
@needs("send events")
async def change_webhook(
    request: Request,
    webhook_id: UUID,
    vault: TheVault,
    *,
    url: _Typed = "",
    event: Annotated[list[str], Form()] = [],  # noqa: B006  FastAPI copies it
    with_data: Annotated[str, Form(max_length=10)] = "",
) -> Response:
    """Change the address of a webhook, its events, or whether it gets data."""
    await _existing(vault, webhook_id)
    try:
        await vault.service.webhooks.change(
            webhook_id,
            tenant_id=vault.tenant_id,
            api_key_id=vault.access.api_key_id,
            url=url,
            events=event,
            with_data=bool(with_data),
        )
    except ValidationError as error:
        return await _webhook_page(request, vault, webhook_id, message=error.message)
    return _back_to(webhook_id)


@router.post("/webhooks/{webhook_id}/test")
@needs("send events")
async def test_webhook(request: Request, webhook_id: UUID, vault: TheVault) -> Response:
    """Send a test, and show what became of it."""
    tested = await vault.service.webhooks.test(webhook_id, tenant_id=vault.tenant_id)
    return await _webhook_page(request, vault, webhook_id, tested=tested)


@router.post("/webhooks/{webhook_id}/pause")
@needs("administer")
async def pause_webhook(webhook_id: UUID, vault: TheVault) -> Response:
    """Send nothing until the webhook is resumed."""
    if not await vault.service.webhooks.pause(webhook_id, tenant_id=vault.tenant_id):
        raise not_found("webhook")
    return _back_to(webhook_id)


@router.post("/webhooks/{webhook_id}/resume")
@needs("send events")
async def resume_webhook(webhook_id: UUID, vault: TheVault) -> Response:
    """Send again, also what has waited."""
    if not await vault.service.webhooks.resume(
        webhook_id, tenant_id=vault.tenant_id, api_key_id=vault.access.api_key_id
    ):
        raise not_found("webhook")
    return _back_to(webhook_id)


@router.post("/webhooks/{webhook_id}/rotate")
@needs("send events")
async def rotate_webhook_secret(request: Request, webhook_id: UUID, vault: TheVault) -> Response:
    """Make another secret, and show it once."""
    webhook = await vault.service.webhooks.rotate(
        webhook_id, tenant_id=vault.tenant_id, api_key_id=vault.access.api_key_id
    )
    if webhook is None:
        raise not_found("webhook")
    return await _webhook_page(request, vault, webhook_id, secret_of=webhook)


@router.post("/webhooks/{webhook_id}/remove")
@needs("administer")
async def remove_webhook(webhook_id: UUID, vault: TheVault) -> Response:
    """Remove a webhook and the log of its deliveries."""
    if not await vault.service.webhooks.remove(webhook_id, tenant_id=vault.tenant_id):
        raise not_found("webhook")
    return RedirectResponse("/webhooks", 303)


@router.post("/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver")
@needs("send events")
async def redeliver_webhook_event(webhook_id: UUID, delivery_id: UUID, vault: TheVault) -> Response:
    """Send a delivery again, whatever became of it."""
    if not await vault.service.webhooks.send_again(webhook_id, delivery_id, tenant_id=vault.tenant_id):
        raise not_found("delivery")
    return _back_to(webhook_id)


@router.post("/webhooks/{webhook_id}/redeliver")
@needs("send events")
async def redeliver_failed_webhook_events(
    request: Request, webhook_id: UUID, vault: TheVault, *, days: Annotated[str, Form(max_length=4)] = ""
) -> Response:
    """Send all deliveries again that have failed for good. days: of events within so many days."""
    await _existing(vault, webhook_id)
    since = None
    if days.strip():
        if not (days.strip().isascii() and days.strip().isdigit()):
            message = gettext_noop("Give the number of days, or nothing for all.")
            return await _webhook_page(request, vault, webhook_id, message=message)
        since = datetime.now(UTC) - timedelta(days=int(days))
    await vault.service.webhooks.send_failed_again(webhook_id, tenant_id=vault.tenant_id, since=since)
    return _back_to(webhook_id)


async def _existing(vault: Vault, webhook_id: UUID) -> WebhookRow:
    webhook = await vault.service.webhooks.get(webhook_id, tenant_id=vault.tenant_id)
    if webhook is None:
        raise not_found("webhook")
    return webhook


def _back_to(webhook_id: UUID) -> Response:
    return RedirectResponse(f"/webhooks/{webhook_id}", 303)
