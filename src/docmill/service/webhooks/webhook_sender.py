"""One attempt to send an event to a webhook, and what follows from its outcome."""

import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal
from uuid import UUID

from docmill.errors import DocmillError
from docmill.service.config.webhook_settings import TenantWebhooks
from docmill.service.notify.guarded_http import GuardedHttp, HttpAnswer
from docmill.service.notify.webhook_signing import signed_headers, signing_key
from docmill.service.observe.metrics import Metrics
from docmill.service.secret_box import SecretBox
from docmill.service.store import notifications, webhook_deliveries, webhooks
from docmill.service.store.database import Database
from docmill.service.store.notifications import Notification
from docmill.service.store.webhook_deliveries import AttemptRow, ClaimedDelivery, DeliveryState
from docmill.service.store.webhooks import SendingWebhook
from docmill.service.webhooks.webhook_message import WebhookMessages

log = logging.getLogger(__name__)

DELAYS_S = tuple(minutes * 60.0 for minutes in (5 / 60, 5, 30, 120, 300, 600, 840, 1200, 1440))
"""The waits after the first attempt and those that follow, by the specification; three days in all."""

_LONGEST_WAIT_S = 24 * 3600.0
"""Nobody waits longer, whatever a receiver asks for."""
_GONE = 410
RECEIVER_GONE = "The receiver answered with HTTP 410: it is gone."
_BUSY = (429, 503)
"""Answers whose `Retry-After` holds for all messages to a receiver."""
_EXCERPT_BYTES = 1000
_EXCERPT_CHARACTERS = 200
_DAY_S = 24 * 3600.0
_SECRET = re.compile(r"whsec_\S*|[A-Za-z0-9+/_=.-]{20,}")
"""Whatever may be a key, a signature or a token."""
_HEADERS = {"Content-Type": "application/json", "User-Agent": "docmill"}
_WHAT = "the receiver"
_COUNTED: Mapping[DeliveryState, Literal["sent", "failed", "given_up"]] = {
    "succeeded": "sent",
    "pending": "failed",
    "failed": "given_up",
}
"""Outcomes of attempts in the metrics, by the state of the delivery after it."""

DisabledNotice = Callable[[UUID, UUID, str], Awaitable[None]]
"""Tells the owners of a tenant that a webhook was disabled, by the ids of both and the reason."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The outcome of an attempt. wait_s: as long the receiver asks for no message at all."""

    attempt: AttemptRow
    retry_after_s: float | None = None
    wait_s: float | None = None

    @property
    def is_success(self) -> bool:
        return self.attempt.error is None


class WebhookSender:
    """Sends claimed deliveries. tell: is called when a webhook is disabled."""

    def __init__(
        self,
        database: Database,
        http: GuardedHttp,
        box: SecretBox,
        messages: WebhookMessages,
        settings: TenantWebhooks,
        *,
        tell: DisabledNotice,
    ) -> None:
        self._database = database
        self._http = http
        self._box = box
        self._messages = messages
        self._settings = settings
        self._tell = tell

    async def send(
        self,
        delivery: ClaimedDelivery,
        *,
        tenant_id: UUID,
        is_test: bool = False,
        metrics: Metrics | None = None,
    ) -> AttemptRow | None:
        """Make an attempt, and note its outcome; None if the webhook was removed meanwhile.

        is_test: it is not tried again, and tells nothing about the receiver's health. metrics: where the
        attempt is counted.
        """
        async with self._database.tenant(tenant_id) as conn:
            webhook = await webhooks.sending(conn, delivery.webhook_id)
        if webhook is None:
            return None
        outcome = await self._attempt(delivery, webhook, tenant_id)
        state, delay_s = _next(outcome, 0 if is_test else len(DELAYS_S), delivery.attempts)
        reason = await self._note(delivery, outcome, state, delay_s, tenant_id=tenant_id, is_test=is_test)
        self._log(delivery, outcome, tenant_id)
        if metrics is not None:
            metrics.webhook_attempt_ended(_COUNTED[state])
        if reason is not None:
            log.error("webhook disabled", extra={"webhook_id": str(webhook.id), "tenant_id": str(tenant_id)})
            await self._tell(tenant_id, webhook.id, reason)
        return outcome.attempt

    async def _note(
        self,
        delivery: ClaimedDelivery,
        outcome: _Outcome,
        state: DeliveryState,
        delay_s: float | None,
        *,
        tenant_id: UUID,
        is_test: bool,
    ) -> str | None:
        """Store an outcome; the reason for which the webhook was disabled by it, None if it was not."""
        async with self._database.tenant(tenant_id) as conn:
            is_held = await webhook_deliveries.note_attempt(
                conn, delivery, tenant_id=tenant_id, attempt=outcome.attempt, state=state, delay_s=delay_s
            )
            if outcome.is_success:
                await webhooks.note_success(conn, delivery.webhook_id)
                return None
            if is_test or not is_held:
                return None
            is_gone = outcome.attempt.status == _GONE
            days = self._settings.disable_after_days
            reason = RECEIVER_GONE if is_gone else f"The receiver has taken no message for {days:g} days."
            is_disabled = await webhooks.note_failure(
                conn,
                delivery.webhook_id,
                wait_s=outcome.wait_s,
                disable_after_s=0 if is_gone else days * _DAY_S,
                reason=reason,
            )
            if not is_disabled:
                return None
            link = f"/webhooks/{delivery.webhook_id}"
            await notifications.add(
                conn,
                Notification("webhook_disabled", tenant_id, None, reason, link=link),
            )
        return reason

    async def _attempt(self, delivery: ClaimedDelivery, webhook: SendingWebhook, tenant_id: UUID) -> _Outcome:
        at, started = datetime.now(UTC), time.monotonic()
        answer: HttpAnswer | None = None
        error: str | None = None
        try:
            keys = [
                signing_key(self._box.open(secret, owner=webhook.id).decode(), what="the webhook's secret")
                for secret in webhook.secrets
            ]
            body = await self._messages.body(delivery, tenant_id=tenant_id, with_data=webhook.with_data)
            signed = signed_headers(
                keys, message_id=f"msg_{delivery.event_id.hex}", sent_at=int(time.time()), body=body
            )
            answer = await self._http.exchange(
                webhook.url, body, {**_HEADERS, **signed}, what=_WHAT, excerpt_bytes=_EXCERPT_BYTES
            )
        except DocmillError as failure:
            error = failure.message
        if answer is not None and not answer.is_success:
            error = _error_of(answer)
        attempt = AttemptRow(
            at, round((time.monotonic() - started) * 1000), answer.status if answer else None, error
        )
        if answer is None or answer.retry_after_s is None:
            return _Outcome(attempt)
        wait_s = min(answer.retry_after_s, _LONGEST_WAIT_S)
        return _Outcome(attempt, wait_s, wait_s if answer.status in _BUSY else None)

    def _log(self, delivery: ClaimedDelivery, outcome: _Outcome, tenant_id: UUID) -> None:
        extra = {
            "webhook_id": str(delivery.webhook_id),
            "delivery_id": str(delivery.id),
            "tenant_id": str(tenant_id),
            "type": delivery.type,
            "status": outcome.attempt.status,
            "duration_ms": outcome.attempt.duration_ms,
        }
        if outcome.is_success:
            log.info("webhook delivered", extra=extra)
        else:
            log.warning("webhook not delivered", extra={**extra, "attempt": delivery.attempts + 1})


def _next(outcome: _Outcome, retries: int, attempts_before: int) -> tuple[DeliveryState, float | None]:
    """The state of a delivery after an attempt, and the wait until the next one."""
    if outcome.is_success:
        return "succeeded", None
    if outcome.attempt.status == _GONE or attempts_before >= retries:
        return "failed", None
    return "pending", max(DELAYS_S[attempts_before], outcome.retry_after_s or 0.0)


def _error_of(answer: HttpAnswer) -> str:
    """A sentence about a refusal, with the beginning of the answer, without what may be secret."""
    message = f"the receiver answered with HTTP {answer.status}"
    if 300 <= answer.status < 400:  # noqa: PLR2004 - the redirects of HTTP
        return f"{message}; redirects are not followed"
    words = _SECRET.sub("…", answer.excerpt.decode("utf-8", "replace")).split()
    text = " ".join(filter(str.isprintable, words))[:_EXCERPT_CHARACTERS]
    return f"{message}: {text}" if text else message
