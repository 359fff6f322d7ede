from collections.abc import AsyncIterator

from docmill.service.stack import Service
from docmill.service.store import documents


async def once(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def test_an_upload_becomes_a_document_in_progress(service: Service) -> None:
    tenant = service.default_tenant_id

    accepted = await service.intake.accept(once(b"%PDF-1.7"), tenant_id=tenant, file_name="a/b/bill.pdf")

    async with service.database.tenant(tenant) as conn:
        document = await documents.get(conn, accepted.document_id)
    assert document is not None
    assert (document.state, document.file_name, document.byte_size) == ("processing", "bill.pdf", 8)
    assert document.ingestion_id == accepted.ingestion_id
    assert await service.blobs.get(document.file_path) == b"%PDF-1.7"
    (message,) = await service.queue.receive(limit=10, wait_s=5)
    assert message.body == str(accepted.ingestion_id)
