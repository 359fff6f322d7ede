"""Events are written with what they tell of: none is lost, none is invented."""

import asyncio
from typing import Any
from uuid import UUID

import pytest

from docmill.errors import CorruptError
from docmill.service.review.review import FieldReview
from docmill.service.store import match_decisions, near_duplicates, webhooks
from docmill.service.store.database import DEFAULT_TENANT_ID, DEFAULT_USER_ID
from docmill.service.store.result_columns import StoredResult
from support.matched_papers import Papers
from support.webhook_tools import WebhookTools, result_of


async def result_id(tools: WebhookTools, document_id: UUID) -> UUID:
    async with tools.service.database.tenant(DEFAULT_TENANT_ID) as conn:
        cur = await conn.execute("SELECT result_ingestion_id FROM document WHERE id = %s", [document_id])
        (ingestion_id,) = await cur.fetchone() or (None,)
    assert ingestion_id
    return ingestion_id


def about(tools: WebhookTools, ingestion_id: UUID) -> dict[str, Any]:
    del tools
    return {"tenant_id": DEFAULT_TENANT_ID, "ingestion_id": ingestion_id, "reviewed_by": DEFAULT_USER_ID}


async def confirm(tools: WebhookTools, document_id: UUID) -> None:
    ingestion_id = await result_id(tools, document_id)
    assert await tools.service.reviews.confirm_all(document_id, **about(tools, ingestion_id))


async def review(tools: WebhookTools, document_id: UUID, value: str) -> None:
    ingestion_id = await result_id(tools, document_id)
    reviews = [FieldReview("number", "correct", value)]
    assert await tools.service.reviews.add(document_id, reviews, **about(tools, ingestion_id))


@pytest.mark.parametrize(
    ("result", "kind", "expected"),
    [
        (
            result_of(),
            "document.completed",
            {"status": "completed", "state": "ready", "verdict": {"passed": True, "failures": []}},
        ),
        (
            result_of(is_valid=False),
            "document.needs_review",
            {
                "status": "needs_review",
                "state": "needs_review",
                "verdict": {
                    "passed": False,
                    "failures": [{"check": "sum", "fields": ["gross_total"]}],
                },
            },
        ),
        (
            result_of(title=None),
            "document.needs_review",
            {
                "status": "needs_review",
                "state": "needs_classification",
                "verdict": {"passed": False, "failures": []},
            },
        ),
    ],
)
async def test_a_document_that_was_read_is_told_by_what_it_needs(
    tools: WebhookTools, result: StoredResult, kind: str, expected: dict[str, Any]
) -> None:
    await tools.add()

    document_id = await tools.read(result)

    common = {"document_id": str(document_id), "document_type": "invoice", "error": None}
    assert await tools.events() == [(kind, {**common, **expected})]


async def test_a_failed_document_is_told_with_the_code_of_its_error(tools: WebhookTools) -> None:
    await tools.add()

    document_id = await tools.fail()

    ((kind, content),) = await tools.events(document_id)
    assert (kind, content["status"], content["error"]) == (
        "document.failed",
        "failed",
        {"code": CorruptError.code},
    )


async def test_without_a_webhook_nothing_is_written(tools: WebhookTools) -> None:
    await tools.read()

    assert await tools.events() == []


async def test_only_chosen_events_are_written(tools: WebhookTools) -> None:
    await tools.add(events=["document.failed"])

    await tools.read()
    await tools.fail()

    assert await tools.types() == ["failed"]


async def test_what_is_rolled_back_is_not_told(tools: WebhookTools) -> None:
    await tools.add()
    accepted = await tools.upload()

    async with (
        tools.service.database.tenant(DEFAULT_TENANT_ID) as conn,
        conn.transaction(force_rollback=True),
    ):
        await conn.execute(
            "UPDATE ingestion SET status = 'failed', completed_at = now() WHERE document_id = %s",
            [accepted.document_id],
        )

    assert await tools.events() == []


async def test_a_review_that_completes_a_document_is_told_once(tools: WebhookTools) -> None:
    await tools.add()
    document_id = await tools.read(result_of(is_valid=False))

    await confirm(tools, document_id)

    assert await tools.types() == ["needs_review", "completed"]
    async with tools.service.database.tenant(DEFAULT_TENANT_ID) as conn:
        cur = await conn.execute("SELECT count(*) FROM webhook_change")
        assert await cur.fetchone() == (0,)


async def test_other_values_of_a_completed_document_are_told_and_the_same_ones_are_not(
    tools: WebhookTools,
) -> None:
    await tools.add()
    document_id = await tools.read()
    await confirm(tools, document_id)
    before = await tools.types()

    await review(tools, document_id, "8")
    await review(tools, document_id, "8")

    assert before == ["completed"]
    assert await tools.types() == ["completed", "completed"]


async def test_a_rejected_document_is_not_completed_until_that_is_undone(tools: WebhookTools) -> None:
    await tools.add()
    document_id = await tools.read(result_of(is_valid=False))
    ingestion_id = await result_id(tools, document_id)

    await tools.service.reviews.reject(document_id, "not ours", **about(tools, ingestion_id))
    rejected = await tools.types()
    await tools.service.reviews.undo_last(document_id, **about(tools, ingestion_id))

    assert rejected == ["needs_review"]
    assert (await tools.types())[1:] in (["needs_review"], ["completed"])


async def test_a_document_read_anew_is_told_after_its_reviews_are_applied(tools: WebhookTools) -> None:
    await tools.add()
    document_id = await tools.read(result_of(is_valid=False))
    await confirm(tools, document_id)
    before = len(await tools.types())

    again = await tools.service.intake.reprocess(document_id, tenant_id=DEFAULT_TENANT_ID)
    assert again is not None
    await tools.read(ingestion_id=again)
    unsettled = await tools.types()
    await tools.service.reviews.settle(document_id, tenant_id=DEFAULT_TENANT_ID)

    assert len(unsettled) == before
    assert len(await tools.types()) == before + 1


async def test_a_decision_about_a_duplicate_completes_a_document(tools: WebhookTools) -> None:
    await tools.add()
    first, second = await tools.read(), await tools.read()
    async with tools.service.database.tenant(DEFAULT_TENANT_ID) as conn:
        await conn.execute(
            """
            INSERT INTO near_duplicate (tenant_id, document_id, other_id, why) VALUES (%s, %s, %s, 'text')
            """,
            [DEFAULT_TENANT_ID, second, first],
        )
    found = await tools.types(second)

    async with tools.service.database.tenant(DEFAULT_TENANT_ID) as conn:
        await near_duplicates.decide(conn, second, first, is_duplicate=False, decided_by=DEFAULT_USER_ID)

    assert found == ["completed", "needs_review"]
    assert await tools.types(second) == ["completed", "needs_review", "completed"]
    assert await tools.types(first) == ["completed"]


async def test_a_deleted_document_tells_nothing_more(tools: WebhookTools) -> None:
    await tools.add()
    accepted = await tools.upload()

    await tools.service.bin.delete(
        accepted.document_id, tenant_id=DEFAULT_TENANT_ID, deleted_by=DEFAULT_USER_ID
    )

    assert await tools.events() == []


async def test_documents_of_another_tenant_are_not_told(tools: WebhookTools, stranger: UUID) -> None:
    webhook = await tools.add(tenant_id=stranger)

    await tools.read()

    assert await tools.events() == await tools.events(tenant_id=stranger) == []
    assert await tools.log(webhook, stranger) == []


async def test_changes_at_the_same_time_are_all_told(tools: WebhookTools) -> None:
    await tools.add()

    documents = await asyncio.gather(*(tools.read() for _ in range(8)))

    assert sorted(content["document_id"] for _, content in await tools.events()) == sorted(
        map(str, documents)
    )


async def test_a_link_is_told_for_both_documents_and_once(tools: WebhookTools) -> None:
    await tools.add(events=["document.matched"])
    first, second = await tools.read(), await tools.read(result_of(number="8"))
    pair = match_decisions.Pair(str(first), str(second), "related")

    await link(tools, pair)
    await link(tools, pair)

    told = {content["document_id"]: content["matches"] for _, content in await tools.events()}
    assert told == {str(first): [str(second)], str(second): [str(first)]}
    assert len(await tools.events()) == 2


async def link(tools: WebhookTools, pair: match_decisions.Pair) -> None:
    async with tools.service.database.tenant(DEFAULT_TENANT_ID) as conn:
        await conn.execute(
            """
            INSERT INTO match_decision (id, tenant_id, first_document_id, second_document_id, first_id,
                                        second_id, relation, decision)
            VALUES (gen_random_uuid(), %(tenant_id)s, %(first)s::uuid, %(second)s::uuid, %(first)s,
                    %(second)s, %(relation)s, 'confirmed')
                ON CONFLICT (tenant_id, first_id, second_id, relation) DO UPDATE SET decided_at = now()
            """,
            {
                "tenant_id": DEFAULT_TENANT_ID,
                "first": pair.first_id,
                "second": pair.second_id,
                "relation": pair.relation,
            },
        )


async def test_links_of_the_matcher_are_told_and_not_again_when_it_matches_again(tools: WebhookTools) -> None:
    await tools.add(events=["document.matched"])
    papers = Papers(tools.service, DEFAULT_TENANT_ID)

    await papers.chain()

    expected: dict[str, set[str]] = {}
    for pair in await papers.links():
        # The names of bookings begin with that of their statement.
        first, second = (str(papers.id_of(name.partition("#")[0])) for name in pair)
        expected.setdefault(first, set()).add(second)
        expected.setdefault(second, set()).add(first)
    told = await tools.events()
    newest = {content["document_id"]: set(content["matches"]) for _, content in told}
    assert newest == expected
    assert len(expected) == 4
    for document_id in papers.names:
        await papers.match(document_id)
    assert len(await tools.events()) == len(told)


async def test_a_webhook_that_is_removed_at_the_same_time_harms_no_document(tools: WebhookTools) -> None:
    webhook = await tools.add()
    async with tools.service.database.tenant(DEFAULT_TENANT_ID) as conn:
        assert await webhooks.remove(conn, webhook.id)
        reading = asyncio.create_task(tools.read())
        await until_waiting(tools)

    await reading

    assert await tools.types() == ["completed"]


async def until_waiting(tools: WebhookTools) -> None:
    """Return when a transaction waits for the row of a webhook."""
    async with asyncio.timeout(20), tools.service.database.connection() as conn:
        while True:
            cur = await conn.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
            if await cur.fetchone() != (0,):
                return
            await asyncio.sleep(0.02)
