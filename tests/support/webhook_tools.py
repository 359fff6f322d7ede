"""Webhooks of the default tenant, what was written for them, and documents to which something happens."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from docmill.errors import CorruptError
from docmill.service.app import Service
from docmill.service.intake.accept import Accepted
from docmill.service.processing.claim_writer import ClaimWriter
from docmill.service.store import webhook_deliveries
from docmill.service.store.claims import Claim
from docmill.service.store.database import DEFAULT_TENANT_ID, DEFAULT_USER_ID
from docmill.service.store.result_columns import StoredResult
from docmill.service.store.webhook_deliveries import DeliveryRow
from docmill.service.webhooks.webhook_registry import EVENTS, NewWebhook
from support.http_receiver import Receiver
from support.scripted_steps import once

NOWHERE = "https://hook.invalid/"


def result_of(*, is_valid: bool = True, title: str | None = "Invoice 7", number: str = "7") -> StoredResult:
    """The result of an invoice."""
    failures = [] if is_valid else [{"check": "sum", "message": "x", "fields": ["gross_total"]}]
    return StoredResult(
        media_type="application/pdf",
        classification={"document_type": "invoice", "title": title},
        structured_data={"number": number},
        verdict={"failures": failures},
        valid_structured_data=is_valid,
        pipeline_fingerprint="",
    )


@dataclass
class WebhookTools:
    """See above."""

    service: Service
    count: int = 0

    async def add(
        self,
        url: str = NOWHERE,
        events: Sequence[str] = EVENTS,
        *,
        with_data: bool = False,
        tenant_id: UUID = DEFAULT_TENANT_ID,
    ) -> NewWebhook:
        """A new webhook."""
        return await self.service.webhooks.add(
            url, events, with_data=with_data, tenant_id=tenant_id, created_by=DEFAULT_USER_ID
        )

    async def upload(self, tenant_id: UUID = DEFAULT_TENANT_ID) -> Accepted:
        """A new document."""
        self.count += 1
        return await self.service.intake.accept(
            once(b"%%PDF %d" % self.count), tenant_id=tenant_id, file_name="a.pdf"
        )

    async def claim(self, ingestion_id: UUID | None) -> tuple[ClaimWriter, Claim]:
        """A claim on a document, and the writer that ends it."""
        writer = ClaimWriter(
            self.service.database,
            "reader",
            lease_s=300,
            max_attempts=3,
            matching=self.service.matching_requests,
        )
        assert ingestion_id
        claim = await writer.claim(ingestion_id)
        assert isinstance(claim, Claim)
        return writer, claim

    async def read(self, result: StoredResult | None = None, ingestion_id: UUID | None = None) -> UUID:
        """A document that was read. ingestion_id: of one that is there already."""
        writer, claim = await self.claim(ingestion_id or (await self.upload()).ingestion_id)
        assert await writer.finish(claim, result or result_of())
        return claim.document_id

    async def fail(self) -> UUID:
        """A document that has failed."""
        writer, claim = await self.claim((await self.upload()).ingestion_id)
        assert await writer.fail(claim, CorruptError("the file is damaged"), receive_count=1)
        return claim.document_id

    async def events(
        self, document_id: UUID | None = None, tenant_id: UUID = DEFAULT_TENANT_ID
    ) -> list[tuple[str, dict[str, Any]]]:
        """The events of a document, or all; the oldest first."""
        async with self.service.database.tenant(tenant_id) as conn:
            cur = await conn.execute(
                """
                SELECT type, content FROM webhook_event
                 WHERE %(id)s::uuid IS NULL OR document_id = %(id)s
                 ORDER BY created_at
                """,
                {"id": document_id},
            )
            return await cur.fetchall()

    async def types(self, document_id: UUID | None = None) -> list[str]:
        """The types of the events of a document, or of all; the oldest first."""
        return [kind.removeprefix("document.") for kind, _ in await self.events(document_id)]

    async def log(self, webhook: NewWebhook, tenant_id: UUID = DEFAULT_TENANT_ID) -> list[DeliveryRow]:
        """The deliveries to a webhook, the newest first."""
        async with self.service.database.tenant(tenant_id) as conn:
            return await webhook_deliveries.page(conn, webhook.id)

    async def let_pass(self, by: timedelta) -> None:
        """Let time pass for all that waits."""
        async with self.service.database.tenant(DEFAULT_TENANT_ID) as conn:
            await conn.execute(
                """
                UPDATE webhook_delivery
                   SET next_attempt_at = next_attempt_at - %(by)s, lease_until = lease_until - %(by)s
                """,
                {"by": by},
            )
            await conn.execute(
                """
                UPDATE webhook
                   SET failing_since = failing_since - %(by)s, not_before = not_before - %(by)s,
                       previous_until = previous_until - %(by)s
                """,
                {"by": by},
            )


def bodies(receiver: Receiver) -> list[dict[str, Any]]:
    """The messages that a receiver got."""
    return [json.loads(body) for _, _, body in receiver.requests]
