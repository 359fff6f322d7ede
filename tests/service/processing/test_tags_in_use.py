from dataclasses import dataclass
from uuid import UUID

import psycopg
import pytest
from psycopg.types.json import Jsonb

from docmill.errors import NetworkError
from docmill.service.app import Service
from docmill.service.processing.process import FRESH_S, TagsInUse
from docmill.service.store import documents
from docmill.service.store.database import DEFAULT_USER_ID, Database, new_id
from docmill.service.store.tags import in_use


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


class Away(Database):
    def tenant(self, tenant_id: UUID) -> object:  # type: ignore[override]
        raise NetworkError(f"no {tenant_id}")


async def filed(service: Service, tenant_id: UUID, number: int, tags: object) -> None:
    """A finished document with these tags."""
    async with service.database.tenant(tenant_id) as conn:
        document_id, *_ = await documents.upsert(
            conn,
            tenant_id=tenant_id,
            content_hash=f"{number:064x}",
            byte_size=1,
            file_name=f"{number}.pdf",
            file_path="a",
        )
        await conn.execute(
            """
            INSERT INTO ingestion
                   (id, tenant_id, document_id, uploaded_by, status, classification, completed_at)
            VALUES (%(id)s, %(tenant_id)s, %(document_id)s, %(user_id)s, 'completed', %(said)s, now())
            """,
            {
                "id": new_id(),
                "user_id": DEFAULT_USER_ID,
                "tenant_id": tenant_id,
                "document_id": document_id,
                "said": Jsonb({"title": "x", "tags": tags}),
            },
        )


@pytest.fixture
async def other_tenant(service: Service) -> UUID:
    tenant_id = new_id()
    async with await psycopg.AsyncConnection.connect(service.owner_url) as owner:
        await owner.execute("INSERT INTO tenant (id, name) VALUES (%s, 'Stranger')", [tenant_id])
    return tenant_id


async def test_a_tenants_own_tags_are_offered_the_most_used_first(
    service: Service, other_tenant: UUID
) -> None:
    own = service.default_tenant_id
    for number, tags in enumerate((["rent"], ["paper", "rent"], None, "no list")):
        await filed(service, own, number, tags)
    await filed(service, other_tenant, 9, ["secret", "rent"])

    offered = TagsInUse(service.database)

    assert await offered.of(own) == ["rent", "paper"]
    assert await offered.of(other_tenant) == ["rent", "secret"]


async def test_only_so_many_tags_of_so_many_documents_are_counted(service: Service) -> None:
    own = service.default_tenant_id
    for number in range(4):
        await filed(service, own, number, ["old"] if number < 2 else [f"new {number}", f"x {number}"])

    async with service.database.tenant(own) as conn:
        assert await in_use(conn, documents=2, limit=3) == ["new 2", "new 3", "x 2"]


async def test_tags_are_asked_for_once_a_minute(service: Service) -> None:
    clock = Clock()
    offered = TagsInUse(service.database, clock)
    assert await offered.of(service.default_tenant_id) == []
    await filed(service, service.default_tenant_id, 1, ["rent"])

    assert await offered.of(service.default_tenant_id) == []
    clock.now += FRESH_S
    assert await offered.of(service.default_tenant_id) == ["rent"]


async def test_tags_that_cannot_be_had_hold_nothing_up(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    offered = TagsInUse(Away(service.database.url))

    assert list(await offered.of(service.default_tenant_id)) == []
    assert "not known" in caplog.text


async def test_not_more_tenants_than_that_are_remembered(
    service: Service, other_tenant: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("docmill.service.processing.process._TENANTS", 1)
    offered = TagsInUse(service.database)

    await offered.of(service.default_tenant_id)
    await offered.of(other_tenant)
    await filed(service, service.default_tenant_id, 1, ["rent"])

    assert await offered.of(service.default_tenant_id) == ["rent"]
