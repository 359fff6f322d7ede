"""The derived state, and how a result reaches its document."""

from dataclasses import dataclass
from uuid import UUID

import pytest

from docmill.service.app import Service
from docmill.service.store import dead_letters, document_list, documents, ingestions
from docmill.service.store.database import DEFAULT_USER_ID, new_id
from docmill.service.store.document_list import DocumentFilters
from docmill.service.store.documents import DocumentRow

FINISHED = {
    "completed": ("Invoice 7", True, False, "ready"),
    "completed without a title": (None, True, False, "needs_classification"),
    "completed with failed checks": ("Invoice 7", False, True, "needs_review"),
    "completed without checks": ("film.mp4", None, False, "ready"),
}


@dataclass
class Archive:
    """Rows as the tests want them."""

    service: Service

    async def document(self, number: int = 0) -> UUID:
        async with self.service.database.tenant(self.service.default_tenant_id) as conn:
            document_id, *_ = await documents.upsert(
                conn,
                tenant_id=self.service.default_tenant_id,
                content_hash=f"{number:064x}",
                byte_size=1,
                file_name=f"file {number}.pdf",
                file_path="a",
            )
        return document_id

    async def ingestion(
        self,
        document_id: UUID,
        status: str,
        *,
        title: str | None = None,
        valid: bool | None = None,
        idle_minutes: float = 0,
        age_minutes: float = 0,
        lease_minutes: float | None = None,
    ) -> UUID:
        async with self.service.database.tenant(self.service.default_tenant_id) as conn:
            cur = await conn.execute(
                """
                INSERT INTO ingestion (id, tenant_id, document_id, uploaded_by, status, classification,
                                       structured_data, valid_structured_data, progress_at, created_at,
                                       completed_at, lease_until)
                VALUES (%(id)s, %(tenant_id)s, %(document_id)s, %(user_id)s, %(status)s,
                        jsonb_build_object('title', %(title)s::text, 'document_type', 'invoice',
                                           'document_date', '2026-11-21'),
                        jsonb_build_object('number', %(title)s::text), %(valid)s,
                        now() - make_interval(mins => 1) * %(idle)s,
                        now() - make_interval(mins => 1) * %(age)s,
                        CASE WHEN %(status)s <> 'in-progress' THEN now() END,
                        now() + make_interval(mins => 1) * %(lease)s)
                RETURNING id
                """,
                {
                    "id": new_id(),
                    "tenant_id": self.service.default_tenant_id,
                    "document_id": document_id,
                    "user_id": DEFAULT_USER_ID,
                    "status": status,
                    "title": title,
                    "valid": valid,
                    "idle": idle_minutes,
                    "age": age_minutes,
                    "lease": lease_minutes,
                },
            )
            (ingestion_id,) = await cur.fetchone() or (None,)
        assert ingestion_id
        return ingestion_id

    async def end(self, ingestion_id: UUID, status: str, *, title: str | None, valid: bool | None) -> None:
        async with self.service.database.tenant(self.service.default_tenant_id) as conn:
            await conn.execute(
                """
                UPDATE ingestion
                   SET status = %(status)s,
                       completed_at = now(),
                       classification = jsonb_build_object('title', %(title)s::text),
                       valid_structured_data = %(valid)s
                 WHERE id = %(id)s
                """,
                {"id": ingestion_id, "status": status, "title": title, "valid": valid},
            )

    async def seen(self, document_id: UUID) -> DocumentRow:
        async with self.service.database.tenant(self.service.default_tenant_id) as conn:
            found = await documents.get(conn, document_id)
        assert found is not None
        return found


@pytest.fixture
def archive(service: Service) -> Archive:
    return Archive(service)


@pytest.mark.parametrize(("title", "valid", "needs_review", "state"), FINISHED.values(), ids=FINISHED)
async def test_a_completed_ingestion_gives_its_document_its_result(
    archive: Archive, *, title: str | None, valid: bool | None, needs_review: bool, state: str
) -> None:
    document_id = await archive.document()

    await archive.ingestion(document_id, "completed", title=title, valid=valid)

    document = await archive.seen(document_id)
    assert (document.state, document.title, document.needs_human_review) == (state, title, needs_review)
    assert document.structured_data == {"number": title}
    assert (document.document_type, str(document.document_date)) == ("invoice", "2026-11-21")


@pytest.mark.parametrize("valid", [False, None])
async def test_a_failed_ingestion_needs_a_person_whatever_is_known_of_its_data(
    archive: Archive, *, valid: bool | None
) -> None:
    document_id = await archive.document()
    ingestion_id = await archive.ingestion(document_id, "in-progress")

    await archive.end(ingestion_id, "failed", title=None, valid=valid)

    document = await archive.seen(document_id)
    assert (document.state, document.needs_human_review) == ("failed", True)


async def test_a_failure_does_not_take_back_that_an_earlier_result_needs_a_person(archive: Archive) -> None:
    document_id = await archive.document()
    await archive.ingestion(document_id, "completed", title="First", valid=False)
    ingestion_id = await archive.ingestion(document_id, "in-progress")

    await archive.end(ingestion_id, "failed", title=None, valid=True)

    assert (await archive.seen(document_id)).needs_human_review


async def test_an_ingestion_under_way_is_processing(archive: Archive) -> None:
    document_id = await archive.document()
    await archive.ingestion(document_id, "in-progress", idle_minutes=9.9, lease_minutes=-1)

    assert (await archive.seen(document_id)).state == "processing"


@pytest.mark.parametrize("lease_minutes", [-5, 1])
async def test_ten_minutes_without_progress_are_stale(archive: Archive, lease_minutes: float) -> None:
    document_id = await archive.document()
    await archive.ingestion(document_id, "in-progress", idle_minutes=10.1, lease_minutes=lease_minutes)

    document = await archive.seen(document_id)
    assert (document.state, document.is_waiting) == ("stale", False)


async def test_what_waits_for_its_turn_is_never_stale(archive: Archive) -> None:
    document_id = await archive.document()
    await archive.ingestion(document_id, "in-progress", idle_minutes=600, age_minutes=600)

    document = await archive.seen(document_id)
    assert (document.state, document.is_waiting) == ("processing", True)


async def test_progress_counts_and_not_the_upload(archive: Archive) -> None:
    document_id = await archive.document()
    await archive.ingestion(document_id, "in-progress", idle_minutes=1, age_minutes=300, lease_minutes=4)

    assert (await archive.seen(document_id)).state == "processing"


async def test_processing_anew_shows_until_it_ends(archive: Archive) -> None:
    document_id = await archive.document()
    await archive.ingestion(document_id, "completed", title="Old", valid=True, age_minutes=5)
    again = await archive.ingestion(document_id, "in-progress")
    during = await archive.seen(document_id)

    await archive.end(again, "completed", title="New", valid=True)

    after = await archive.seen(document_id)
    assert (during.state, during.title) == ("processing", "Old")
    assert (after.state, after.title, after.ingestion_id) == ("ready", "New", again)


@pytest.mark.parametrize(("status", "valid"), [("completed", False), ("failed", None)])
async def test_an_older_ingestion_that_ends_late_changes_nothing(
    archive: Archive, *, status: str, valid: bool | None
) -> None:
    document_id = await archive.document()
    late = await archive.ingestion(document_id, "in-progress", age_minutes=60)
    await archive.ingestion(document_id, "completed", title="New", valid=True)

    await archive.end(late, status, title="Old", valid=valid)

    document = await archive.seen(document_id)
    assert (document.state, document.title, document.needs_human_review) == ("ready", "New", False)


async def test_a_result_counts_though_the_clock_was_an_hour_ahead_before(
    archive: Archive, service: Service
) -> None:
    document_id = await archive.document()
    old = await archive.ingestion(document_id, "completed", title="Old", valid=True, age_minutes=-60)
    new = await archive.ingestion(document_id, "in-progress")
    during = await archive.seen(document_id)

    await archive.end(new, "completed", title="New", valid=True)

    after = await archive.seen(document_id)
    async with service.database.tenant(service.default_tenant_id) as conn:
        rows = await ingestions.of_document(conn, document_id)
        newest = await ingestions.newest(conn, document_id)
    assert newest is not None
    assert newest.root_id == new
    assert (during.state, during.ingestion_id) == ("processing", new)
    assert (after.state, after.title, after.ingestion_id) == ("ready", "New", new)
    assert [row.id for row in rows] == [new, old]


async def test_what_was_processed_anew_is_not_reopened_though_the_clock_was_ahead(
    archive: Archive, service: Service
) -> None:
    document_id = await archive.document()
    failed = await archive.ingestion(document_id, "failed", age_minutes=-60)
    again = await archive.ingestion(document_id, "failed")

    async with service.database.tenant(service.default_tenant_id) as conn:
        reopened = await dead_letters.reopen(conn, [failed, again])

    assert reopened == [again]


async def test_a_failure_keeps_the_result_there_was(archive: Archive) -> None:
    document_id = await archive.document()
    await archive.ingestion(document_id, "completed", title="Good", valid=True, age_minutes=5)

    await archive.ingestion(document_id, "failed")

    document = await archive.seen(document_id)
    assert (document.state, document.title, document.needs_human_review) == ("failed", "Good", True)


async def test_states_are_counted(archive: Archive, service: Service) -> None:
    for number, (title, valid, _, _) in enumerate(FINISHED.values()):
        await archive.ingestion(await archive.document(number), "completed", title=title, valid=valid)
    kept = await archive.ingestion(await archive.document(len(FINISHED)), "completed", title="film.mp4")

    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute(
            "UPDATE ingestion SET error_message = 'It is a film.' WHERE id = %(kept)s", {"kept": kept}
        )
    async with service.database.tenant(service.default_tenant_id) as conn:
        counts = await documents.counts(conn)

    assert counts == {
        "processing": 0,
        "stale": 0,
        "needs_classification": 1,
        "needs_review": 1,
        "failed": 0,
        "ready": 2,
        "not_read": 1,
        "rejected": 0,
    }


async def test_pages_go_from_the_newest_to_the_oldest(archive: Archive, service: Service) -> None:
    ids = [await archive.document(number) for number in range(5)]

    async with service.database.tenant(service.default_tenant_id) as conn:
        first = await document_list.page(conn, limit=3)
        second = await document_list.page(conn, limit=3, after=first.follow)

    assert [document.id for document in [*first.rows, *second.rows]] == ids[::-1]


async def test_pages_are_narrowed_by_state_type_and_words(archive: Archive, service: Service) -> None:
    ready, unclear = await archive.document(1), await archive.document(2)
    await archive.ingestion(ready, "completed", title="Rechnung ÄRZTE 100%", valid=True)
    await archive.ingestion(unclear, "in-progress")
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("UPDATE document SET text = 'Summe 119,00' WHERE id = %s", [ready])

        async def found(
            *, state: str | None = None, document_type: str | None = None, query: str | None = None
        ) -> list[UUID]:
            filters = DocumentFilters(state=state, document_type=document_type, query=query)
            return [document.id for document in (await document_list.page(conn, filters)).rows]

        assert await found(state="ready") == [ready]
        assert await found(document_type="invoice") == [ready]
        assert await found(query="ärzte 100%") == [ready]
        assert await found(query="summe 119") == [ready]
        assert await found(query="FILE 2") == [unclear]
        assert await found(query="1%9") == []
        assert await found(query="file") == [unclear, ready]


async def test_a_documents_ingestions_come_newest_first(archive: Archive, service: Service) -> None:
    document_id = await archive.document()
    old = await archive.ingestion(document_id, "completed", title="a", valid=True, age_minutes=5)
    new = await archive.ingestion(document_id, "in-progress")

    async with service.database.tenant(service.default_tenant_id) as conn:
        rows = await ingestions.of_document(conn, document_id)

    assert [row.id for row in rows] == [new, old]
    assert rows[1].classification is not None
    assert rows[1].classification["title"] == "a"


async def test_the_version_grows_with_each_visible_change(archive: Archive) -> None:
    document_id = await archive.document()
    versions = [(await archive.seen(document_id)).version]
    ingestion_id = await archive.ingestion(document_id, "in-progress")
    versions.append((await archive.seen(document_id)).version)
    await archive.end(ingestion_id, "completed", title="a", valid=True)
    versions.append((await archive.seen(document_id)).version)

    assert versions == sorted(set(versions))
