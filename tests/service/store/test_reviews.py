"""Reviews are only ever added, and lie over whatever is read."""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.types.json import Jsonb
from pydantic import JsonValue

from docmill.model.result import Classification
from docmill.service.app import Service
from docmill.service.store import reviews
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.store.reviews import ReviewToStore
from support.scripted_steps import Upload

DATA: dict[str, Any] = {
    "number": "4711",
    "seller": {"name": "Corner Bakery", "vat_id": None},
    "delivery": None,
    "lines": [{"description": "Bread", "net_amount": "4.50"}],
}

Finish = Callable[[UUID, dict[str, Any] | None], Awaitable[UUID]]
Say = Callable[..., Awaitable[None]]


@pytest.fixture
def finish(service: Service) -> Finish:
    """Completes the ingestion of a document with this data; its id."""

    async def finish_ingestion(document_id: UUID, data: dict[str, Any] | None) -> UUID:
        async with service.database.tenant(service.default_tenant_id) as conn:
            cur = await conn.execute(
                """
                UPDATE ingestion
                   SET status = 'completed', completed_at = clock_timestamp(), structured_data = %(data)s,
                       classification = '{"document_type": "invoice", "title": "An invoice"}',
                       evidence = '{"number": {"text": "4711"}, "seller.name": {"text": "Corner Bakery"}}',
                       valid_structured_data = false, transcription_file_path = 'there'
                 WHERE document_id = %(id)s AND status = 'in-progress'
                RETURNING id
                """,
                {"id": document_id, "data": None if data is None else Jsonb(data)},
            )
            row = await cur.fetchone()
        assert row is not None
        return row[0]

    return finish_ingestion


@pytest.fixture
def say(service: Service) -> Say:
    """Keeps a review of a document."""

    async def say_so(document_id: UUID, path: str, value: JsonValue, **more: Any) -> None:  # noqa: ANN401  of a review
        async with service.database.tenant(service.default_tenant_id) as conn:
            standing = await reviews.reviewable_result(conn, document_id)
            assert standing is not None
            said = ReviewToStore(
                path, more.pop("action", "correct"), value, before=None, machine=None, **more
            )
            await reviews.add(
                conn,
                tenant_id=service.default_tenant_id,
                document_id=document_id,
                ingestion_id=standing.ingestion_id,
                reviewed_by=DEFAULT_USER_ID,
                reviews=[said],
            )

    return say_so


async def _data(service: Service, document_id: UUID) -> dict[str, Any] | None:
    async with service.database.tenant(service.default_tenant_id) as conn:
        standing = await reviews.reviewable_result(conn, document_id)
    assert standing is not None
    return standing.data


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("number", "1", {"number": "1"}),
        ("seller.name", None, {"seller": {"name": None, "vat_id": None}}),
        ("delivery.date", "2026-11-03", {"delivery": {"date": "2026-11-03"}}),
        ("delivery.date", None, {"delivery": None}),
        ("lines[0].net_amount", "5", {"lines": [{"description": "Bread", "net_amount": "5"}]}),
        ("lines[2].unit", "kg", {"lines": [*DATA["lines"], {}, {"unit": "kg"}]}),
        ("lines[2].unit", None, {}),
        ("number.part", "1", {}),
        ("lines.first", "1", {}),
        ("unheard_of", "1", {}),
        ("number", "a\0b", {"number": "ab"}),
    ],
)
async def test_a_review_lies_over_what_was_read(
    service: Service,
    upload: Upload,
    finish: Finish,
    say: Say,
    path: str,
    value: JsonValue,
    expected: dict[str, Any],
) -> None:
    document_id = (await upload()).document_id
    await finish(document_id, DATA)

    await say(document_id, path, value)

    assert await _data(service, document_id) == DATA | expected


async def test_what_a_person_said_outlives_the_next_processing(
    service: Service, upload: Upload, finish: Finish, say: Say
) -> None:
    document_id = (await upload()).document_id
    await finish(document_id, DATA)
    await say(document_id, "number", "1")
    await say(document_id, "seller.name", "Corner Bakery", action="confirm")
    await service.intake.reprocess(document_id, tenant_id=service.default_tenant_id)

    await finish(document_id, {**DATA, "number": "4712"})

    async with service.database.tenant(service.default_tenant_id) as conn:
        current = await reviews.current(conn, document_id)
        cur = await conn.execute("SELECT structured_data FROM document WHERE id = %s", [document_id])
        assert await cur.fetchone() == ({**DATA, "number": "1"},)
    assert current["number"].read_now == "4712"
    assert {path: review.is_contradicted for path, review in current.items()} == {
        "number": True,
        "seller.name": False,
    }


async def test_nothing_is_laid_over_nothing(
    service: Service, upload: Upload, finish: Finish, say: Say
) -> None:
    document_id = (await upload()).document_id
    await finish(document_id, None)
    await say(document_id, "number", "1")

    assert await _data(service, document_id) is None


@pytest.mark.parametrize("statement", ["UPDATE review SET path = 'x'", "DELETE FROM review"])
async def test_not_even_the_owner_changes_a_review(
    upload: Upload, finish: Finish, say: Say, database_url: str, statement: str
) -> None:
    document_id = (await upload()).document_id
    await finish(document_id, DATA)
    await say(document_id, "number", "1")

    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as owner:
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="kept as it is"):
            await owner.execute(statement.encode())


async def test_reviews_go_with_their_document(
    service: Service, upload: Upload, finish: Finish, say: Say, database_url: str
) -> None:
    document_id = (await upload()).document_id
    await finish(document_id, DATA)
    await say(document_id, "number", "1")
    async with service.database.tenant(service.default_tenant_id) as conn:
        (kept,) = await reviews.history(conn, document_id)
    await say(document_id, "number", None, action="undo", undoes=kept.id)

    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("DELETE FROM document WHERE id = %s", [document_id])

    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as owner:
        cur = await owner.execute("SELECT count(*) FROM review")
        assert await cur.fetchone() == (0,)


async def test_what_was_said_is_undone_once_only(
    service: Service, upload: Upload, finish: Finish, say: Say
) -> None:
    document_id = (await upload()).document_id
    await finish(document_id, DATA)
    await say(document_id, "number", "1")
    async with service.database.tenant(service.default_tenant_id) as conn:
        (kept,) = await reviews.history(conn, document_id)

    await say(document_id, "number", None, action="undo", undoes=kept.id)

    assert await _data(service, document_id) == DATA
    with pytest.raises(psycopg.errors.UniqueViolation):
        await say(document_id, "number", None, action="undo", undoes=kept.id)


async def test_who_learns_gets_the_latest_reviewed_documents_of_a_type_first(
    service: Service, upload: Upload, finish: Finish, say: Say
) -> None:
    first, second, untouched = [(await upload(name.encode())).document_id for name in "abc"]
    for document_id in (first, second, untouched):
        await finish(document_id, DATA)
    place = {"page": 1, "box": [0, 0, 1, 1], "text": "1", "match": "exact", "confidence": 1.0}
    await say(second, "number", "4711", action="confirm")
    await say(first, "number", "1", evidence=place)
    await say(first, "seller.name", None, action="clear")
    await say(first, reviews.WHOLE, [], action="confirm")

    async with service.database.tenant(service.default_tenant_id) as conn:
        for document_id, number in ((first, "1"), (second, "4711")):
            await reviews.settle(
                conn,
                document_id,
                data={**DATA, "number": number},
                failures=[],
                accepted=[],
                description=Classification(document_type="invoice", title="Invoice 1"),
                has_reviewed_values=True,
                rejection=None,
            )
        found = await reviews.reviewed(conn, "invoice", limit=5)
        newest = await reviews.reviewed(conn, "invoice", limit=1)
        others = await reviews.reviewed(conn, "invoice", limit=5, only=[second])
        receipts = await reviews.reviewed(conn, "receipt", limit=5)

    assert [row.document_id for row in found] == [first, second]
    assert [row.document_id for row in newest + others] == [first, second]
    assert receipts == []
    assert found[0].data["number"] == "1"
    assert found[0].evidence == {"number": place}
    assert (found[0].paths, found[0].is_settled) == (["number", "seller.name"], True)
    assert set(found[1].evidence) == {"number", "seller.name"}
