"""What a tenant's reviewed documents teach: to that tenant alone, and at once."""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from uuid import UUID

import psycopg
import pytest
from psycopg.types.json import Jsonb

from docmill.errors import CrashedError
from docmill.model.codec import dumps
from docmill.model.codec import loads as unpacked
from docmill.model.corrections import Correction, Corrections, LayoutWeights, ReviewedValues
from docmill.model.document import Document
from docmill.model.result import Schema
from docmill.schemas.registry import REGISTRY
from docmill.service.app import Service
from docmill.service.review import corrections
from docmill.service.review.corrections import CorrectionFinder
from docmill.service.review.review import FieldReview
from docmill.service.store.database import DEFAULT_USER_ID, new_id
from docmill.understanding.corrections.apply import make_correction
from docmill.understanding.pooled import PooledCorrectionMaker
from docmill.understanding.receipts.extractor import extract_built_in
from docmill.workers.pool import Pool
from support.learning_steps import typed_page
from support.scripted_steps import once

RECEIPT = REGISTRY["receipt"]

Reviewed = Callable[..., Awaitable[UUID]]


def receipt(number: int, name: str = "KEDA1 BUKU") -> Document:
    rows = [f"   {name}", "  (123456-X)", "TEL: 07-355 1234", f"Receipt {number:05}", "TOTAL       2.50"]
    return Document(f"{number:064}", "text/plain", [typed_page(rows)])


class Maker:
    """`CorrectionMaker` in this process. made: the names of the documents that it was given."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.fitted: list[list[str]] = []
        self.error: Exception | None = None

    async def correction(self, transcription: bytes, schema: Schema, reviewed: ReviewedValues) -> Correction:
        self.made.append(reviewed.name)
        if self.error:
            raise self.error
        document = unpacked(transcription)
        read = extract_built_in(document, schema)
        made = make_correction(document, reviewed, read)
        return Correction.of_content(json.loads(json.dumps(made.content())))

    async def layout(self, schema: Schema, documents: Sequence[tuple[bytes, Correction]]) -> LayoutWeights:
        assert schema.fields
        self.fitted.append([correction.name for _, correction in documents])
        if self.error:
            raise self.error
        return LayoutWeights()


@pytest.fixture
def maker() -> Maker:
    return Maker()


@pytest.fixture
def finder(service: Service, maker: Maker) -> CorrectionFinder:
    return CorrectionFinder(service.database, service.blobs, maker)


@pytest.fixture
def reviewed(service: Service) -> Reviewed:
    """Stores a receipt of which a person says the seller's name; its id."""

    async def store_and_review(
        number: int, name: str | None = "Kedai Buku", *, tenant_id: UUID | None = None
    ) -> UUID:
        whose = tenant_id or service.default_tenant_id
        accepted = await service.intake.accept(
            once(f"{number}".encode()), tenant_id=whose, file_name=f"{number}.txt"
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
                reviewed_by=DEFAULT_USER_ID,
            )
        return accepted.document_id

    return store_and_review


async def names(finder: CorrectionFinder, tenant_id: UUID, document_id: UUID | None = None) -> list[str]:
    """The documents that teach something about a receipt of the vendor, the latest reviewed first."""
    corrections = await finder.of(tenant_id, document_id or new_id()).find(receipt(99), RECEIPT)
    return [one.name for one in corrections.documents]


async def test_a_vault_without_reviews_teaches_nothing(finder: CorrectionFinder, service: Service) -> None:
    source = finder.of(service.default_tenant_id, new_id())

    assert await source.find(receipt(1), RECEIPT) == Corrections()
    assert await source.find(Document("0" * 64, "text/plain", []), RECEIPT) == Corrections()


async def test_the_latest_reviewed_come_first_and_a_document_does_not_teach_itself(
    finder: CorrectionFinder, service: Service, reviewed: Reviewed
) -> None:
    tenant_id = service.default_tenant_id
    first = await reviewed(1)
    await reviewed(2)
    await reviewed(3, None)

    assert await names(finder, tenant_id) == ["2.txt", "1.txt"]
    assert await names(finder, tenant_id, first) == ["2.txt"]


async def test_a_document_unlike_all_others_is_taught_nothing(
    finder: CorrectionFinder, service: Service, reviewed: Reviewed
) -> None:
    await reviewed(1)
    stranger = replace(receipt(9), pages=[typed_page(["Bakery by the river", "Bread  4.50"])])
    wordless = replace(receipt(9), pages=[typed_page(["12", "4.50"])])

    source = finder.of(service.default_tenant_id, new_id())

    assert not await source.find(stranger, RECEIPT)
    assert not await source.find(wordless, RECEIPT)


async def test_nobody_learns_from_another_tenant(
    finder: CorrectionFinder, service: Service, reviewed: Reviewed, stranger: UUID
) -> None:
    await reviewed(1)

    assert await names(finder, stranger) == []
    assert await names(finder, service.default_tenant_id) == ["1.txt"]

    await reviewed(1, "Somebody else", tenant_id=stranger)

    assert await names(finder, stranger) == ["1.txt"]
    found = await finder.of(service.default_tenant_id, new_id()).find(receipt(9), RECEIPT)
    assert "Somebody" not in repr(found)


async def test_a_word_said_or_taken_back_reaches_every_worker_with_its_next_document(
    finder: CorrectionFinder, service: Service, reviewed: Reviewed, maker: Maker
) -> None:
    tenant_id = service.default_tenant_id
    other_worker = CorrectionFinder(service.database, service.blobs, Maker())
    document_id = await reviewed(1)
    assert await names(finder, tenant_id) == await names(other_worker, tenant_id) == ["1.txt"]
    standing = await service.reviews.of(document_id, tenant_id=tenant_id)
    assert standing is not None

    await service.reviews.undo_last(
        document_id,
        tenant_id=tenant_id,
        ingestion_id=standing.result.ingestion_id,
        reviewed_by=DEFAULT_USER_ID,
    )

    assert await names(finder, tenant_id) == await names(other_worker, tenant_id) == []
    await reviewed(2)
    assert await names(other_worker, tenant_id) == await names(finder, tenant_id) == ["2.txt"]
    assert maker.made == ["1.txt"]


async def test_a_lesson_is_made_once_for_all_workers(
    finder: CorrectionFinder, service: Service, reviewed: Reviewed, maker: Maker
) -> None:
    await reviewed(1)
    for _ in range(2):
        await names(finder, service.default_tenant_id)
        await names(CorrectionFinder(service.database, service.blobs, maker), service.default_tenant_id)

    assert maker.made == ["1.txt"]


async def test_another_word_on_a_document_makes_its_lesson_anew(
    finder: CorrectionFinder, service: Service, reviewed: Reviewed, maker: Maker
) -> None:
    tenant_id = service.default_tenant_id
    document_id = await reviewed(1)
    await names(finder, tenant_id)
    standing = await service.reviews.of(document_id, tenant_id=tenant_id)
    assert standing is not None

    await service.reviews.add(
        document_id,
        [FieldReview("number", "confirm")],
        tenant_id=tenant_id,
        ingestion_id=standing.result.ingestion_id,
        reviewed_by=DEFAULT_USER_ID,
    )

    found = await finder.of(tenant_id, new_id()).find(receipt(9), RECEIPT)
    assert set(found.documents[0].values) == {"seller.name", "number"}
    assert maker.made == ["1.txt", "1.txt"]


async def test_a_document_that_is_deleted_teaches_nothing_any_more(
    finder: CorrectionFinder, service: Service, reviewed: Reviewed, database_url: str
) -> None:
    document_id = await reviewed(1)
    assert await names(finder, service.default_tenant_id) == ["1.txt"]

    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as owner:
        await owner.execute("UPDATE document SET result_ingestion_id = NULL WHERE id = %s", [document_id])
        await owner.execute("DELETE FROM ingestion WHERE document_id = %s", [document_id])
        await owner.execute("DELETE FROM document WHERE id = %s", [document_id])

    assert await names(finder, service.default_tenant_id) == []


async def test_a_document_that_is_read_anew_teaches_anew(
    finder: CorrectionFinder, service: Service, reviewed: Reviewed, maker: Maker
) -> None:
    tenant_id = service.default_tenant_id
    document_id = await reviewed(1)
    await names(finder, tenant_id)

    await service.reviews.settle(document_id, tenant_id=tenant_id)

    assert await names(finder, tenant_id) == ["1.txt"]
    assert maker.made == ["1.txt", "1.txt"]


async def test_only_the_latest_documents_teach(service: Service, reviewed: Reviewed, maker: Maker) -> None:
    finder = CorrectionFinder(service.database, service.blobs, maker, most=2)
    for number in (1, 2, 3):
        await reviewed(number)
        await names(finder, service.default_tenant_id)

    assert await names(finder, service.default_tenant_id) == ["3.txt", "2.txt"]
    async with service.database.tenant(service.default_tenant_id) as conn:
        cur = await conn.execute("SELECT count(*) FROM lesson")
        assert await cur.fetchone() == (2,)


async def test_a_document_waits_for_few_lessons_and_others_make_the_rest(
    finder: CorrectionFinder, service: Service, reviewed: Reviewed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corrections, "_AT_ONCE", 2)
    for number in (1, 2, 3):
        await reviewed(number)

    assert await names(finder, service.default_tenant_id) == ["3.txt", "2.txt"]
    assert await names(finder, service.default_tenant_id) == ["3.txt", "2.txt", "1.txt"]


async def test_making_lessons_ends_before_the_documents_time_does(
    finder: CorrectionFinder, service: Service, reviewed: Reviewed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corrections, "_MAKING_S", -1.0)
    for number in (1, 2):
        await reviewed(number)

    assert await names(finder, service.default_tenant_id) == ["2.txt"]
    assert await names(finder, service.default_tenant_id) == ["2.txt", "1.txt"]


async def test_workers_that_read_otherwise_make_lessons_of_their_own(
    finder: CorrectionFinder, service: Service, reviewed: Reviewed, maker: Maker
) -> None:
    await reviewed(1)
    other = replace(RECEIPT, labels={"number": ("Beleg",)})
    for _ in range(2):
        await finder.of(service.default_tenant_id, new_id()).find(receipt(9), RECEIPT)
        await finder.of(service.default_tenant_id, new_id()).find(receipt(9), other)
    assert maker.made == ["1.txt", "1.txt"]

    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("UPDATE lesson SET made_at = made_at - interval '8 days'")
    await reviewed(2)
    await names(finder, service.default_tenant_id)

    async with service.database.tenant(service.default_tenant_id) as conn:
        cur = await conn.execute("SELECT count(*) FROM lesson")
        assert await cur.fetchone() == (2,)


async def test_what_nothing_can_be_learned_from_is_passed_by(
    finder: CorrectionFinder, service: Service, reviewed: Reviewed, maker: Maker
) -> None:
    await reviewed(1)
    maker.error = CrashedError("died")
    assert await names(finder, service.default_tenant_id) == []
    maker.error = None
    await reviewed(2)
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("UPDATE ingestion SET transcription_file_path = 'gone' WHERE completed_at < now()")
    assert await names(finder, service.default_tenant_id) == []

    await reviewed(3)

    assert await names(finder, service.default_tenant_id) == ["3.txt"]
    assert maker.made == ["1.txt", "3.txt"]


async def test_places_are_looked_for_once_where_people_had_to_correct_them(
    finder: CorrectionFinder, service: Service, reviewed: Reviewed, maker: Maker
) -> None:
    tenant_id = service.default_tenant_id
    for number in (1, 2):
        document_id = await reviewed(number)
        standing = await service.reviews.of(document_id, tenant_id=tenant_id)
        assert standing is not None
        await service.reviews.add(
            document_id,
            [FieldReview("number", "correct", f"R-{number:05}")],
            tenant_id=tenant_id,
            ingestion_id=standing.result.ingestion_id,
            reviewed_by=DEFAULT_USER_ID,
        )
    for _ in range(2):
        await names(finder, tenant_id)
    assert maker.fitted == [["2.txt", "1.txt"]]

    again = CorrectionFinder(service.database, service.blobs, maker)
    maker.error = CrashedError("died")
    assert await names(again, tenant_id) == ["2.txt", "1.txt"]
    maker.error = None
    assert await names(again, tenant_id) == ["2.txt", "1.txt"]


async def test_corrections_that_nobody_used_for_long_are_dropped_from_memory(
    finder: CorrectionFinder,
    service: Service,
    reviewed: Reviewed,
    monkeypatch: pytest.MonkeyPatch,
    stranger: UUID,
) -> None:
    monkeypatch.setattr(corrections, "_HELD", 0)
    monkeypatch.setattr(corrections, "_LAYOUTS", 0)
    await reviewed(1)

    assert await names(finder, service.default_tenant_id) == ["1.txt"]
    assert await names(finder, stranger) == []
    assert await names(finder, service.default_tenant_id) == ["1.txt"]


async def test_a_pools_child_makes_lessons(service: Service, reviewed: Reviewed) -> None:
    document_id = await reviewed(1)
    standing = await service.reviews.of(document_id, tenant_id=service.default_tenant_id)
    assert standing is not None
    await service.reviews.add(
        document_id,
        [FieldReview("number", "correct", "00001")],
        tenant_id=service.default_tenant_id,
        ingestion_id=standing.result.ingestion_id,
        reviewed_by=DEFAULT_USER_ID,
    )
    async with Pool(1) as pool:
        finder = CorrectionFinder(service.database, service.blobs, PooledCorrectionMaker(pool))
        found = await finder.of(service.default_tenant_id, new_id()).find(receipt(2), RECEIPT)

    assert found.documents[0].values["seller.name"].value == "Kedai Buku"
    assert found.layout.sources in ({"number": "1.txt"}, {})
