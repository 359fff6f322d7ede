"""What a tenant's reviewed documents teach: to that tenant alone, and at once."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.types.json import Jsonb

from docmill.errors import CrashedError
from docmill.model.codec import dumps
from docmill.model.codec import loads as unpacked
from docmill.model.document import Box, Document
from docmill.model.result import Schema
from docmill.schemas.registry import REGISTRY
from docmill.service.app import Service
from docmill.service.review import corrections
from docmill.service.review.corrections import Lessons
from docmill.service.review.review import FieldReview
from docmill.service.store.database import new_id
from docmill.understanding.corrections.from_reviews import Said, precedent
from docmill.understanding.corrections.precedents import loads
from docmill.understanding.pooled import PooledLessons
from docmill.understanding.receipts.extractor import extract_built_in
from docmill.workers.pool import Pool
from teaching import typed_page

RECEIPT = REGISTRY["receipt"]

Reviewed = Callable[..., Awaitable[UUID]]


def receipt(number: int, name: str = "KEDA1 BUKU") -> Document:
    rows = [f"   {name}", "  (123456-X)", "TEL: 07-355 1234", f"Receipt {number:05}", "TOTAL       2.50"]
    return Document(f"{number:064}", "text/plain", [typed_page(rows)])


class Maker:
    """`LessonMaker` in this process. made: the names of the documents that it was given."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.fitted: list[list[str]] = []
        self.error: Exception | None = None

    async def lesson(self, transcription: bytes, schema: Schema, said: Mapping[str, Any]) -> dict[str, Any]:
        self.made.append(said["name"])
        if self.error:
            raise self.error
        document = unpacked(transcription)
        read = extract_built_in(document, schema)
        places = {path: (page, Box(*box)) for path, (page, box) in said["places"].items()}
        made = precedent(document, Said(said["name"], said["values"], places), read)
        return json.loads(json.dumps(made.content()))

    async def anchors(self, schema: Schema, shown: Sequence[tuple[bytes, Mapping[str, Any]]]) -> str:
        assert schema.fields
        self.fitted.append([content["name"] for _, content in shown])
        if self.error:
            raise self.error
        return ""


@pytest.fixture
def maker() -> Maker:
    return Maker()


@pytest.fixture
def lessons(service: Service, maker: Maker) -> Lessons:
    return Lessons(service.database, service.blobs, maker)


@pytest.fixture
async def stranger(database_url: str) -> UUID:
    tenant_id = new_id()
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as owner:
        await owner.execute("INSERT INTO tenant (id, name) VALUES (%s, 'Stranger')", [tenant_id])
    return tenant_id


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data


@pytest.fixture
def reviewed(service: Service) -> Reviewed:
    """Stores a receipt of which a person says the seller's name; its id."""

    async def store_and_review(
        number: int, name: str | None = "Kedai Buku", *, tenant_id: UUID | None = None
    ) -> UUID:
        whose = tenant_id or service.default_tenant_id
        accepted = await service.intake.accept(
            _once(f"{number}".encode()), tenant_id=whose, file_name=f"{number}.txt"
        )
        path = f"transcriptions/{new_id()}"
        await service.blobs.put_once(path, dumps(receipt(number)))
        async with service.database.tenant(whose) as conn:
            await conn.execute(
                """
                UPDATE ingestion
                   SET status = 'completed', completed_at = clock_timestamp(), structured_data = %(data)s,
                       classification = '{"document_type": "receipt", "title": "A receipt"}',
                       evidence = '{}', verdict = '{"failures": []}', valid_structured_data = true,
                       transcription_file_path = %(path)s
                 WHERE id = %(id)s
                """,
                {
                    "id": accepted.ingestion_id,
                    "data": Jsonb({"seller": {"name": "KEDA1 BUKU"}, "number": "7"}),
                    "path": path,
                },
            )
        if name is not None:
            assert accepted.ingestion_id is not None
            await service.reviews.add(
                accepted.document_id,
                [FieldReview("seller.name", "correct", name)],
                tenant_id=whose,
                ingestion_id=accepted.ingestion_id,
            )
        return accepted.document_id

    return store_and_review


async def names(lessons: Lessons, tenant_id: UUID, document_id: UUID | None = None) -> list[str]:
    """The documents that teach something about a receipt of the vendor, the latest reviewed first."""
    teacher = lessons.of(tenant_id, document_id or new_id())
    learned = (await teacher.taught(receipt(99), RECEIPT)).learned
    return [one.name for one in loads(learned).documents] if learned else []


async def test_a_vault_without_reviews_teaches_nothing(lessons: Lessons, service: Service) -> None:
    teacher = lessons.of(service.default_tenant_id, new_id())

    assert await teacher.taught(receipt(1), RECEIPT) is RECEIPT
    assert await teacher.taught(Document("0" * 64, "text/plain", []), RECEIPT) is RECEIPT


async def test_the_latest_reviewed_come_first_and_a_document_does_not_teach_itself(
    lessons: Lessons, service: Service, reviewed: Reviewed
) -> None:
    tenant_id = service.default_tenant_id
    first = await reviewed(1)
    await reviewed(2)
    await reviewed(3, None)

    assert await names(lessons, tenant_id) == ["2.txt", "1.txt"]
    assert await names(lessons, tenant_id, first) == ["2.txt"]


async def test_a_document_unlike_all_others_is_taught_nothing(
    lessons: Lessons, service: Service, reviewed: Reviewed
) -> None:
    await reviewed(1)
    stranger = replace(receipt(9), pages=[typed_page(["Bakery by the river", "Bread  4.50"])])
    wordless = replace(receipt(9), pages=[typed_page(["12", "4.50"])])

    teacher = lessons.of(service.default_tenant_id, new_id())

    assert await teacher.taught(stranger, RECEIPT) is RECEIPT
    assert await teacher.taught(wordless, RECEIPT) is RECEIPT


async def test_nobody_learns_from_another_tenant(
    lessons: Lessons, service: Service, reviewed: Reviewed, stranger: UUID
) -> None:
    await reviewed(1)

    assert await names(lessons, stranger) == []
    assert await names(lessons, service.default_tenant_id) == ["1.txt"]

    await reviewed(1, "Somebody else", tenant_id=stranger)

    assert await names(lessons, stranger) == ["1.txt"]
    learned = (await lessons.of(service.default_tenant_id, new_id()).taught(receipt(9), RECEIPT)).learned
    assert "Somebody" not in learned


async def test_a_word_said_or_taken_back_reaches_every_worker_with_its_next_document(
    lessons: Lessons, service: Service, reviewed: Reviewed, maker: Maker
) -> None:
    tenant_id = service.default_tenant_id
    other_worker = Lessons(service.database, service.blobs, Maker())
    document_id = await reviewed(1)
    assert await names(lessons, tenant_id) == await names(other_worker, tenant_id) == ["1.txt"]
    standing = await service.reviews.of(document_id, tenant_id=tenant_id)
    assert standing is not None

    await service.reviews.undo_last(
        document_id, tenant_id=tenant_id, ingestion_id=standing.result.ingestion_id
    )

    assert await names(lessons, tenant_id) == await names(other_worker, tenant_id) == []
    await reviewed(2)
    assert await names(other_worker, tenant_id) == await names(lessons, tenant_id) == ["2.txt"]
    assert maker.made == ["1.txt"]


async def test_a_lesson_is_made_once_for_all_workers(
    lessons: Lessons, service: Service, reviewed: Reviewed, maker: Maker
) -> None:
    await reviewed(1)
    for _ in range(2):
        await names(lessons, service.default_tenant_id)
        await names(Lessons(service.database, service.blobs, maker), service.default_tenant_id)

    assert maker.made == ["1.txt"]


async def test_another_word_on_a_document_makes_its_lesson_anew(
    lessons: Lessons, service: Service, reviewed: Reviewed, maker: Maker
) -> None:
    tenant_id = service.default_tenant_id
    document_id = await reviewed(1)
    await names(lessons, tenant_id)
    standing = await service.reviews.of(document_id, tenant_id=tenant_id)
    assert standing is not None

    await service.reviews.add(
        document_id,
        [FieldReview("number", "confirm")],
        tenant_id=tenant_id,
        ingestion_id=standing.result.ingestion_id,
    )

    learned = (await lessons.of(tenant_id, new_id()).taught(receipt(9), RECEIPT)).learned
    assert set(loads(learned).documents[0].values) == {"seller.name", "number"}
    assert maker.made == ["1.txt", "1.txt"]


async def test_a_document_that_is_deleted_teaches_nothing_any_more(
    lessons: Lessons, service: Service, reviewed: Reviewed, database_url: str
) -> None:
    document_id = await reviewed(1)
    assert await names(lessons, service.default_tenant_id) == ["1.txt"]

    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as owner:
        await owner.execute("UPDATE document SET result_ingestion_id = NULL WHERE id = %s", [document_id])
        await owner.execute("DELETE FROM ingestion WHERE document_id = %s", [document_id])
        await owner.execute("DELETE FROM document WHERE id = %s", [document_id])

    assert await names(lessons, service.default_tenant_id) == []


async def test_a_document_that_is_read_anew_teaches_anew(
    lessons: Lessons, service: Service, reviewed: Reviewed, maker: Maker
) -> None:
    tenant_id = service.default_tenant_id
    document_id = await reviewed(1)
    await names(lessons, tenant_id)

    await service.reviews.settle(document_id, tenant_id=tenant_id)

    assert await names(lessons, tenant_id) == ["1.txt"]
    assert maker.made == ["1.txt", "1.txt"]


async def test_only_the_latest_documents_teach(service: Service, reviewed: Reviewed, maker: Maker) -> None:
    lessons = Lessons(service.database, service.blobs, maker, most=2)
    for number in (1, 2, 3):
        await reviewed(number)
        await names(lessons, service.default_tenant_id)

    assert await names(lessons, service.default_tenant_id) == ["3.txt", "2.txt"]
    async with service.database.tenant(service.default_tenant_id) as conn:
        cur = await conn.execute("SELECT count(*) FROM lesson")
        assert await cur.fetchone() == (2,)


async def test_a_document_waits_for_few_lessons_and_others_make_the_rest(
    lessons: Lessons, service: Service, reviewed: Reviewed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corrections, "_AT_ONCE", 2)
    for number in (1, 2, 3):
        await reviewed(number)

    assert await names(lessons, service.default_tenant_id) == ["3.txt", "2.txt"]
    assert await names(lessons, service.default_tenant_id) == ["3.txt", "2.txt", "1.txt"]


async def test_making_lessons_ends_before_the_documents_time_does(
    lessons: Lessons, service: Service, reviewed: Reviewed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corrections, "_MAKING_S", -1.0)
    for number in (1, 2):
        await reviewed(number)

    assert await names(lessons, service.default_tenant_id) == ["2.txt"]
    assert await names(lessons, service.default_tenant_id) == ["2.txt", "1.txt"]


async def test_workers_that_read_otherwise_make_lessons_of_their_own(
    lessons: Lessons, service: Service, reviewed: Reviewed, maker: Maker
) -> None:
    await reviewed(1)
    other = replace(RECEIPT, labels={"number": ("Beleg",)})
    for _ in range(2):
        await lessons.of(service.default_tenant_id, new_id()).taught(receipt(9), RECEIPT)
        await lessons.of(service.default_tenant_id, new_id()).taught(receipt(9), other)
    assert maker.made == ["1.txt", "1.txt"]

    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("UPDATE lesson SET made_at = made_at - interval '8 days'")
    await reviewed(2)
    await names(lessons, service.default_tenant_id)

    async with service.database.tenant(service.default_tenant_id) as conn:
        cur = await conn.execute("SELECT count(*) FROM lesson")
        assert await cur.fetchone() == (2,)


async def test_what_nothing_can_be_learned_from_is_passed_by(
    lessons: Lessons, service: Service, reviewed: Reviewed, maker: Maker
) -> None:
    await reviewed(1)
    maker.error = CrashedError("died")
    assert await names(lessons, service.default_tenant_id) == []
    maker.error = None
    await reviewed(2)
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("UPDATE ingestion SET transcription_file_path = 'gone' WHERE completed_at < now()")
    assert await names(lessons, service.default_tenant_id) == []

    await reviewed(3)

    assert await names(lessons, service.default_tenant_id) == ["3.txt"]
    assert maker.made == ["1.txt", "3.txt"]


async def test_places_are_looked_for_once_where_people_had_to_correct_them(
    lessons: Lessons, service: Service, reviewed: Reviewed, maker: Maker
) -> None:
    tenant_id = service.default_tenant_id
    for number in (1, 2):
        document_id = await reviewed(number)
        standing = await service.reviews.of(document_id, tenant_id=tenant_id)
        assert standing is not None
        await service.reviews.add(
            document_id,
            [FieldReview("number", "correct", f"{number:05}")],
            tenant_id=tenant_id,
            ingestion_id=standing.result.ingestion_id,
        )
    for _ in range(2):
        await names(lessons, tenant_id)
    assert maker.fitted == [["2.txt", "1.txt"]]

    again = Lessons(service.database, service.blobs, maker)
    maker.error = CrashedError("died")
    assert await names(again, tenant_id) == ["2.txt", "1.txt"]
    maker.error = None
    assert await names(again, tenant_id) == ["2.txt", "1.txt"]


async def test_shelves_that_nobody_used_for_long_are_cleared(
    lessons: Lessons, service: Service, reviewed: Reviewed, monkeypatch: pytest.MonkeyPatch, stranger: UUID
) -> None:
    monkeypatch.setattr(corrections, "_HELD", 0)
    monkeypatch.setattr(corrections, "_ANCHORS_BYTES", -1)
    await reviewed(1)

    assert await names(lessons, service.default_tenant_id) == ["1.txt"]
    assert await names(lessons, stranger) == []
    assert await names(lessons, service.default_tenant_id) == ["1.txt"]


async def test_a_pools_child_makes_lessons(service: Service, reviewed: Reviewed) -> None:
    document_id = await reviewed(1)
    standing = await service.reviews.of(document_id, tenant_id=service.default_tenant_id)
    assert standing is not None
    await service.reviews.add(
        document_id,
        [FieldReview("number", "correct", "00001")],
        tenant_id=service.default_tenant_id,
        ingestion_id=standing.result.ingestion_id,
    )
    async with Pool(1) as pool:
        lessons = Lessons(service.database, service.blobs, PooledLessons(pool))
        learned = await lessons.of(service.default_tenant_id, new_id()).taught(receipt(2), RECEIPT)

    precedents = loads(learned.learned)
    assert precedents.documents[0].values["seller.name"].value == "Kedai Buku"
    assert precedents.sources in ({"number": "1.txt"}, {})
