"""What arrived: by which words it is found, also parts of it, and the numbers for operators."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from docmill.errors import CorruptError, NetworkError
from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.probes import Probes
from docmill.service.store import doc_sources, document_list, documents, ingestions, tenants
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.store.doc_sources import SourceRow
from docmill.service.store.document_list import DocumentFilters
from docmill.service.store.ingestions import Origin


@pytest.fixture
def settings(settings: Settings, tmp_path: Path) -> Settings:
    sources = settings.sources.model_copy(update={"folders": (tmp_path,)})
    return settings.model_copy(update={"sources": sources})


@pytest.fixture
async def row(service: Service, tmp_path: Path) -> SourceRow:
    return await service.sources.add(
        "folder",
        "Scans",
        {"path": str(tmp_path)},
        {},
        tenant_id=service.default_tenant_id,
        created_by=DEFAULT_USER_ID,
    )


async def content(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def found(service: Service, tenant_id: UUID, filters: DocumentFilters) -> list[UUID]:
    async with service.database.tenant(tenant_id) as conn:
        return [document.id for document in (await document_list.page(conn, filters)).rows]


async def test_what_was_said_of_an_arrival_stays_among_the_words(service: Service, row: SourceRow) -> None:
    intake, tenant_id = service.sources.item_intake(row), row.tenant_id
    said = {"sender": "Grünwald GmbH <post@gruenwald.example>"}
    first = await intake.take("a", content(b"%PDF-1.7 a"), file_name="a.pdf", metadata=said)
    again = await intake.take(
        "b", content(b"%PDF-1.7 a"), file_name="b.pdf", metadata={"subject": "Reminder of 4711-22"}
    )
    assert again.document_id == first.document_id
    async with service.database.tenant(tenant_id) as conn:
        await conn.execute("UPDATE document SET title = 'A bill'")  # all words are written again
    async with service.database.accounts() as conn:
        elsewhere = await tenants.add(conn, "Elsewhere")

    for query in ("grunwald", "post gruenwald", "reminder", "471122", "bill"):
        assert await found(service, tenant_id, DocumentFilters(query=query)) == [first.document_id], query
        assert await found(service, elsewhere, DocumentFilters(query=query)) == []


async def test_a_part_is_found_as_what_holds_it_arrived(service: Service, row: SourceRow) -> None:
    async with service.database.tenant(row.tenant_id) as conn:
        part, _, _ = await documents.upsert(
            conn,
            tenant_id=row.tenant_id,
            content_hash="0" * 64,
            byte_size=1,
            file_name="attachment.pdf",
            file_path="documents/x",
            is_part=True,
        )
        said = {"sender": "bills@mill.example", "part_of": str(uuid4()), "root_ingestion_id": str(uuid4())}
        origin = Origin(source_id=row.id, metadata=said)
        await ingestions.begin(conn, tenant_id=row.tenant_id, document_id=part, origin=origin)

    assert await found(service, row.tenant_id, DocumentFilters(query="mill.example")) == [part]
    assert await found(service, row.tenant_id, DocumentFilters(from_source=row.id)) == [part]
    assert await found(service, row.tenant_id, DocumentFilters(from_source=uuid4())) == []
    assert await found(service, row.tenant_id, DocumentFilters(query=said["part_of"])) == []


async def test_operators_see_sources_and_items_by_kind(service: Service, row: SourceRow) -> None:
    intake = service.sources.item_intake(row)
    await intake.take("a", content(b"%PDF-1.7 a"), file_name="a.pdf", metadata={})
    await intake.refuse("b", CorruptError("the file is empty"), metadata={})
    probes = Probes.of(service, asyncio.Event())

    working = (await probes.scrape()).decode()
    async with service.database.tenant(row.tenant_id) as conn:
        await doc_sources.note_failure(conn, row.id, NetworkError("no answer"), retry_s=5)
    failing = (await probes.scrape()).decode()

    assert 'docmill_sources{kind="folder",state="working"} 1.0' in working
    assert 'docmill_source_items_total{kind="folder",outcome="taken"} 1.0' in working
    assert 'docmill_source_items_total{kind="folder",outcome="refused"} 1.0' in working
    assert 'docmill_sources{kind="folder",state="failing"} 1.0' in failing
