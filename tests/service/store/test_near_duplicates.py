"""The same document as another file is named when it arrives, within its tenant and however they arrive."""

import asyncio
from collections.abc import AsyncIterator
from uuid import UUID

import pytest

from docmill.model.document import Document
from docmill.pipeline import Steps
from docmill.service.app import Service
from docmill.service.intake.accept import Accepted
from docmill.service.review.review import FieldReview
from docmill.service.store import near_duplicates
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.store.near_duplicates import NearDuplicate
from docmill.understanding.duplicates import signature_of
from docmill.wiring import steps_for
from docmill.workers.pool import Pool
from support.scripted_steps import Observer, RunWorker, Upload, is_read, once, upload_and_read

INVOICE = """
Miller Bicycles Ltd
12 Mill Lane, Harwich

Invoice

Invoice number: {number}
Invoice date: {date}

Two wheels, one chain and the repair of the front brake as agreed on the telephone
Please pay within thirty days to the account below and name the number of the invoice

Net total      {net}.00 EUR
VAT 20 %        20.00 EUR
Total          {total}.00 EUR
"""
FIRST = INVOICE.format(number="INV-4711", date="2026-11-03", net=100, total=120).encode()
SAME = FIRST + b"\n\nprinted again\n"
NEXT = INVOICE.format(number="INV-4712", date="2026-12-03", net=100, total=120).encode()


@pytest.fixture
async def pool() -> AsyncIterator[Pool]:
    async with Pool(2) as pool:
        yield pool


@pytest.fixture
def steps(pool: Pool) -> Steps:
    return steps_for(pool)


async def _pairs(service: Service, accepted: Accepted) -> list[NearDuplicate]:
    async with service.database.tenant(service.default_tenant_id) as conn:
        return await near_duplicates.of_document(conn, accepted.document_id)


async def _state(service: Service, accepted: Accepted) -> str:
    return (await Observer(service).document(accepted)).state


async def test_the_later_of_two_files_names_the_earlier_and_waits_for_a_decision(
    service: Service, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    async with working():
        first = await upload_and_read(upload, observer, FIRST)
        state_before = await _state(service, first)
        second = await upload_and_read(upload, observer, SAME)

    (of_second,), (of_first,) = await _pairs(service, second), await _pairs(service, first)
    assert (of_second.document_id, of_second.is_earlier) == (first.document_id, True)
    assert (of_first.document_id, of_first.is_earlier) == (second.document_id, False)
    assert of_second.why == "the same party, number, date and total"
    assert (state_before, await _state(service, first)) == ("ready", "ready")
    document = await observer.document(second)
    assert (document.state, document.needs_human_review) == ("needs_review", True)
    reviewed = await service.reviews.of(second.document_id, tenant_id=service.default_tenant_id)
    assert reviewed is not None
    assert [failure.check for failure in reviewed.failures] == ["duplicate"]
    assert "Invoice INV-4711" in reviewed.failures[0].message


async def test_the_next_invoice_of_a_vendor_is_no_duplicate(
    service: Service, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    async with working():
        await upload_and_read(upload, observer, FIRST)
        following = await upload_and_read(upload, observer, NEXT)

    assert await _pairs(service, following) == []
    assert await _state(service, following) == "ready"


async def test_of_files_that_arrive_at_once_all_but_the_first_name_another(
    service: Service, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    files = [FIRST + f"\n\ncopy {number}\n".encode() for number in range(6)]
    accepted = await asyncio.gather(*(upload(content, file_name="paper.txt") for content in files))

    async with working(), working():
        for one in accepted:
            await observer.when(one, is_read)

    pairs = [await _pairs(service, one) for one in accepted]
    earlier = sorted(sum(pair.is_earlier for pair in of_one) for of_one in pairs)
    assert earlier == [0, 1, 2, 3, 4, 5]
    assert sorted([await _state(service, one) for one in accepted]) == ["needs_review"] * 5 + ["ready"]


async def test_a_decision_holds_for_both_also_after_another_processing_and_can_be_taken_back(
    service: Service, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    tenant_id = service.default_tenant_id
    async with working():
        first = await upload_and_read(upload, observer, FIRST)
        second = await upload_and_read(upload, observer, SAME)

        # Said on the page of the earlier one.
        assert await service.reviews.decide_duplicate(
            first.document_id,
            second.document_id,
            is_duplicate=False,
            tenant_id=tenant_id,
            decided_by=DEFAULT_USER_ID,
        )
        dismissed = await _state(service, second)
        begun = await service.intake.reprocess(first.document_id, tenant_id=tenant_id)
        await observer.when(first, lambda row: row.ingestion_id == begun and is_read(row))
        begun = await service.intake.reprocess(second.document_id, tenant_id=tenant_id)
        await observer.when(second, lambda row: row.ingestion_id == begun and is_read(row))
    remembered = await _pairs(service, second)
    await service.reviews.decide_duplicate(
        second.document_id,
        first.document_id,
        is_duplicate=None,
        tenant_id=tenant_id,
        decided_by=DEFAULT_USER_ID,
    )
    taken_back = await _state(service, second)
    await service.reviews.decide_duplicate(
        second.document_id,
        first.document_id,
        is_duplicate=True,
        tenant_id=tenant_id,
        decided_by=DEFAULT_USER_ID,
    )

    assert dismissed == "ready"
    assert [pair.is_duplicate for pair in remembered] == [False]
    assert taken_back == "needs_review"
    assert await _state(service, second) == "ready"
    assert [pair.is_duplicate for pair in await _pairs(service, first)] == [True]


async def test_a_correction_of_the_number_ends_and_makes_a_near_duplicate(
    service: Service, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    tenant_id = service.default_tenant_id
    async with working():
        await upload_and_read(upload, observer, FIRST)
        second = await upload_and_read(upload, observer, SAME)

    async def correct(number: str) -> None:
        shown = (await observer.ingestion(second)).id
        review = FieldReview("number", "correct", number)
        await service.reviews.add(
            second.document_id, [review], tenant_id=tenant_id, ingestion_id=shown, reviewed_by=DEFAULT_USER_ID
        )

    await correct("INV-4799")
    ended = await _pairs(service, second)
    await correct("INV-4711")

    assert ended == []
    assert [pair.is_earlier for pair in await _pairs(service, second)] == [True]


async def test_a_deleted_document_counts_no_longer(
    service: Service, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    async with working():
        first = await upload_and_read(upload, observer, FIRST)
        second = await upload_and_read(upload, observer, SAME)

    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("DELETE FROM ingestion WHERE document_id = %s", [first.document_id])
        await conn.execute("DELETE FROM document WHERE id = %s", [first.document_id])

    assert await _pairs(service, second) == []
    assert await _state(service, second) == "ready"


async def test_documents_of_other_tenants_are_not_compared(
    service: Service, upload: Upload, working: RunWorker, observer: Observer, stranger: UUID
) -> None:
    theirs = await service.intake.accept(once(SAME), tenant_id=stranger, file_name="paper.txt")
    async with working():
        ours = await upload_and_read(upload, observer, FIRST)
        async for _ in service.feed.follow(stranger, 0):
            async with service.database.tenant(stranger) as conn:
                cur = await conn.execute("SELECT count(*) FROM document_signature")
                if await cur.fetchone() == (1,):
                    break

    assert await _pairs(service, ours) == []
    async with service.database.tenant(stranger) as conn:
        assert await near_duplicates.of_document(conn, theirs.document_id) == []
        assert not await near_duplicates.decide(
            conn, theirs.document_id, ours.document_id, is_duplicate=True, decided_by=DEFAULT_USER_ID
        )


async def test_candidates_are_found_by_an_index(service: Service) -> None:
    facts = {"number": "4711", "issue_date": "2026-11-03", "gross_total": "1.00"}
    signature = signature_of(Document("0" * 64, "text/plain", []), "invoice", facts)
    assert signature is not None

    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("SET LOCAL enable_seqscan = off")
        cur = await conn.execute(
            "EXPLAIN SELECT document_id FROM signature_key WHERE key = ANY(%s)", [signature.keys]
        )
        plan = "\n".join(line for (line,) in await cur.fetchall())

    assert "key = ANY" in plan.partition("Index Cond")[2]
