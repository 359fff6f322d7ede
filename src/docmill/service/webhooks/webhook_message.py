"""The body of a message to a webhook."""

import asyncio
import json
from typing import Any
from uuid import UUID

from docmill.service.exports.records import Record, vault_record
from docmill.service.review.reviews import Reviews
from docmill.service.store import documents, exported_results
from docmill.service.store.database import Database
from docmill.service.store.webhook_deliveries import ClaimedDelivery


class WebhookMessages:
    """Makes the bodies of messages. public_url: of the vault's pages; links are paths without it."""

    def __init__(self, database: Database, reviews: Reviews, *, public_url: str | None) -> None:
        self._database = database
        self._reviews = reviews
        self._public_url = (public_url or "").rstrip("/")

    async def body(self, delivery: ClaimedDelivery, *, tenant_id: UUID, with_data: bool) -> bytes:
        """The body as UTF-8. with_data: with the document's record as it is now, null if it was deleted."""
        data: dict[str, Any] = dict(delivery.content)
        if delivery.document_id is not None:
            data["link"] = f"{self._public_url}/docs/{delivery.document_id}"
            if with_data:
                data["record"] = await self._record(delivery.document_id, tenant_id)
        message = {"type": delivery.type, "timestamp": delivery.happened_at.isoformat(), "data": data}
        return await asyncio.to_thread(_as_json, message)

    async def _record(self, document_id: UUID, tenant_id: UUID) -> Record | None:
        async with self._database.tenant(tenant_id) as conn:
            row = await documents.get(conn, document_id)
            if row is None:
                return None
            result = (await exported_results.of_documents(conn, [document_id]))[document_id]
        reviewed = await self._reviews.of(document_id, tenant_id=tenant_id) if result.reviews else None
        return vault_record(row, result, source=row.file_name, reviewed=reviewed, sources={})


def _as_json(message: dict[str, Any]) -> bytes:
    return json.dumps(message, ensure_ascii=False).encode("utf-8", "backslashreplace")
