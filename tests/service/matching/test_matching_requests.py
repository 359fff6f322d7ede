"""When a document is asked to be matched, and that no request is lost."""

from uuid import UUID

import pytest

from docmill.errors import CorruptError, ServerError
from docmill.service.app import Service, open_service
from docmill.service.config.settings import Settings
from docmill.service.dead_letters import RedriveResult, Selection
from docmill.service.protocol.matching_rules import MATCHABLE_TYPES
from docmill.service.review.review import FieldReview
from docmill.service.store import dead_letters, matching_jobs
from docmill.service.store.database import DEFAULT_USER_ID, new_id
from docmill.service.store.matching_jobs import MatchingClaim
from docmill.service.store.reviews import TITLE
from support.papers_to_match import MatchingState, PapersToMatch

PENDING = MatchingState("pending", 0, None, is_failed_at=False, written=0)
NEVER_ASKED = MatchingState(None, 0, None, is_failed_at=False, written=0)


async def take(service: Service, document_id: UUID, *, lease_s: float = 60) -> MatchingClaim:
    async with service.database.tenant(service.default_tenant_id) as conn:
        claim = await matching_jobs.take(conn, document_id, worker_id="w", lease_s=lease_s, token=new_id())
    assert claim is not None
    return claim


async def succeed(service: Service, claim: MatchingClaim) -> str:
    async with service.database.tenant(service.default_tenant_id) as conn:
        return await matching_jobs.succeed(conn, claim)


async def fail(service: Service, claim: MatchingClaim) -> str:
    async with service.database.tenant(service.default_tenant_id) as conn:
        return await matching_jobs.fail(conn, claim, CorruptError("odd"), receive_count=1)


def test_the_types_that_can_be_matched_are_those_of_records_and_bank_statements() -> None:
    assert {"invoice", "delivery_note", "purchase_order", "bank_statement"} <= MATCHABLE_TYPES
    assert not {"payment", "letter", "other", "payslip"} & MATCHABLE_TYPES


@pytest.mark.parametrize("document_type", sorted(MATCHABLE_TYPES))
async def test_a_document_that_was_read_is_pending_with_a_message(
    papers: PapersToMatch, document_type: str
) -> None:
    document_id = await papers.read(document_type)

    assert await papers.state(document_id) == PENDING
    assert await papers.messages() == 1


@pytest.mark.parametrize("document_type", ["letter", "other", None])
async def test_what_cannot_be_matched_is_not_asked_for(
    papers: PapersToMatch, document_type: str | None
) -> None:
    document_id = await papers.read(document_type)

    assert await papers.state(document_id) == NEVER_ASKED
    assert await papers.messages() == 0


async def test_where_matching_is_switched_off_nothing_is_pending(settings: Settings) -> None:
    matching = settings.matching.model_copy(update={"enabled": False})
    async with open_service(settings.model_copy(update={"matching": matching})) as service:
        papers = PapersToMatch(service)

        document_id = await papers.read()

        assert await papers.state(document_id) == NEVER_ASKED
        assert list(service.queues) == ["ingestion"]


async def test_a_request_that_waits_needs_no_second_message(papers: PapersToMatch) -> None:
    document_id = await papers.read()

    await papers.request(document_id)

    assert await papers.messages() == 1


async def test_a_request_during_the_work_is_answered_after_it(
    service: Service, papers: PapersToMatch
) -> None:
    document_id = await papers.read()
    claim = await take(service, document_id)

    await papers.request(document_id)

    assert (await papers.state(document_id)).status == "in-progress"
    assert await papers.messages() == 1
    assert await succeed(service, claim) == "requested again"
    assert await papers.state(document_id) == PENDING
    assert await succeed(service, await take(service, document_id)) == "ended"
    assert (await papers.state(document_id)).status == "succeeded"


async def test_a_request_during_work_that_fails_begins_anew(service: Service, papers: PapersToMatch) -> None:
    document_id = await papers.read()
    claim = await take(service, document_id)

    await papers.request(document_id)

    assert await fail(service, claim) == "requested again"
    state = await papers.state(document_id)
    assert (state.status, state.attempts, state.error) == ("pending", 0, "odd")


async def test_a_request_during_a_wait_ends_the_wait_and_counts_from_the_start(
    service: Service, papers: PapersToMatch
) -> None:
    document_id = await papers.read()
    claim = await take(service, document_id)
    async with service.database.tenant(service.default_tenant_id) as conn:
        assert (
            await matching_jobs.set_back(conn, claim, error=ServerError("gone"), delay_s=300, counts=True)
            == "ended"
        )
    state = await papers.state(document_id)
    assert (state.status, state.attempts, state.error) == ("pending", 1, "gone")

    await papers.request(document_id)

    assert await papers.messages() == 2
    assert (await take(service, document_id)).attempt == 1


async def test_an_error_is_cleared_by_success(service: Service, papers: PapersToMatch) -> None:
    document_id = await papers.read()
    assert await fail(service, await take(service, document_id)) == "ended"
    failed = await papers.state(document_id)

    await papers.request(document_id)
    assert await succeed(service, await take(service, document_id)) == "ended"

    assert failed == MatchingState("failed", 1, "odd", is_failed_at=True, written=0)
    assert await papers.state(document_id) == MatchingState(
        "succeeded", 1, None, is_failed_at=False, written=0
    )


async def test_a_corrected_document_is_matched_again(service: Service, papers: PapersToMatch) -> None:
    accepted = await papers.upload()
    document_id = await papers.read(accepted=accepted)
    assert await succeed(service, await take(service, document_id)) == "ended"

    assert accepted.ingestion_id
    assert await service.reviews.add(
        document_id,
        [FieldReview("number", "correct", "8")],
        tenant_id=service.default_tenant_id,
        ingestion_id=accepted.ingestion_id,
        reviewed_by=DEFAULT_USER_ID,
    )

    assert (await papers.state(document_id)).status == "pending"


async def test_an_edited_document_is_matched_again(service: Service, papers: PapersToMatch) -> None:
    document_id = await papers.read()
    assert await succeed(service, await take(service, document_id)) == "ended"

    await service.edits.change(
        document_id, {TITLE: "Other"}, tenant_id=service.default_tenant_id, edited_by=DEFAULT_USER_ID
    )

    assert (await papers.state(document_id)).status == "pending"


async def test_a_document_processed_again_is_matched_again_even_as_another_type(
    service: Service, papers: PapersToMatch
) -> None:
    accepted = await papers.upload()
    document_id = await papers.read(accepted=accepted)
    assert await succeed(service, await take(service, document_id)) == "ended"

    again = await service.intake.reprocess(document_id, tenant_id=service.default_tenant_id)
    await papers.read("letter", type(accepted)(document_id, again, is_new=False))

    assert (await papers.state(document_id)).status == "pending"


async def test_the_bin_withdraws_a_document_and_has_its_cluster_matched_again(
    service: Service, papers: PapersToMatch
) -> None:
    deleted, other, stranger = [await papers.read() for _ in range(3)]
    claim = await take(service, deleted)
    for document_id in (other, stranger):
        assert await succeed(service, await take(service, document_id)) == "ended"
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute(
            """
            INSERT INTO match_record (id, tenant_id, document_id, content, cluster_id)
            SELECT id::text, tenant_id, id, '{}', %(cluster)s FROM document WHERE id = ANY(%(ids)s)
            """,
            {"cluster": deleted, "ids": [deleted, other]},
        )

    await service.bin.delete(deleted, tenant_id=service.default_tenant_id, deleted_by=DEFAULT_USER_ID)

    assert await succeed(service, claim) == "lost"
    assert (await papers.state(other)).status == "pending"
    assert (await papers.state(stranger)).status == "succeeded"
    await service.bin.restore(deleted, tenant_id=service.default_tenant_id)
    assert await papers.state(deleted) == PENDING


async def test_a_failure_is_a_dead_letter_that_can_be_redriven(
    service: Service, papers: PapersToMatch
) -> None:
    document_id = await papers.read()
    assert await fail(service, await take(service, document_id)) == "ended"
    async with service.database.tenant(service.default_tenant_id) as conn:
        (letter,) = await dead_letters.page(conn, limit=10)
    assert (letter.queue, letter.body, letter.document_id, letter.ingestion_id) == (
        "matching",
        document_id,
        document_id,
        None,
    )
    assert (letter.error_code, letter.error_message, letter.step, letter.attempts) == (
        "corrupt",
        "odd",
        "match",
        1,
    )

    done = await service.dead_letters.redrive(Selection(), tenant_id=service.default_tenant_id)

    assert done == RedriveResult(redriven=1)
    assert (await papers.state(document_id)).status == "pending"
    async with service.database.tenant(service.default_tenant_id) as conn:
        assert await dead_letters.page(conn, limit=10) == []


async def test_the_letter_of_a_document_goes_with_it(service: Service, papers: PapersToMatch) -> None:
    document_id = await papers.read()
    assert await fail(service, await take(service, document_id)) == "ended"

    await service.bin.delete(document_id, tenant_id=service.default_tenant_id, deleted_by=DEFAULT_USER_ID)
    await service.bin.remove(document_id, tenant_id=service.default_tenant_id)

    async with service.database.tenant(service.default_tenant_id) as conn:
        assert await dead_letters.page(conn, limit=10) == []


async def test_only_the_newest_claim_writes(service: Service, papers: PapersToMatch) -> None:
    document_id = await papers.read()
    former = await take(service, document_id, lease_s=0)
    current = await take(service, document_id)

    assert (former.attempt, former.is_taken_over) == (1, False)
    assert (current.attempt, current.is_taken_over) == (2, True)
    assert await succeed(service, former) == "lost"
    assert await fail(service, former) == "lost"
    async with service.database.connection() as conn:
        assert not await matching_jobs.extend(conn, former, lease_s=60)
        assert await matching_jobs.extend(conn, current, lease_s=60)
    assert await succeed(service, current) == "ended"


async def test_a_fence_of_a_job_that_ended_is_no_fence_of_the_next(
    service: Service, papers: PapersToMatch
) -> None:
    document_id = await papers.read()
    former = await take(service, document_id)
    assert await succeed(service, former) == "ended"

    await papers.request(document_id)
    current = await take(service, document_id)

    assert await succeed(service, former) == "lost"
    assert await succeed(service, current) == "ended"


async def test_a_claim_is_had_once_and_again_by_who_did_not_hear_of_it(
    service: Service, papers: PapersToMatch
) -> None:
    document_id = await papers.read()
    token = new_id()
    async with service.database.tenant(service.default_tenant_id) as conn:
        first = await matching_jobs.take(conn, document_id, worker_id="w", lease_s=60, token=token)
    async with service.database.tenant(service.default_tenant_id) as conn:
        again = await matching_jobs.take(conn, document_id, worker_id="w", lease_s=60, token=token)
        other = await matching_jobs.take(conn, document_id, worker_id="x", lease_s=60, token=new_id())

    assert first is not None
    assert again is not None
    assert (again.attempt, again.fence > first.fence, other) == (1, True, None)


async def test_a_document_whose_workers_all_died_fails_and_is_not_begun_for_ever(
    service: Service, papers: PapersToMatch
) -> None:
    document_id = await papers.read()
    for _ in range(3):
        await take(service, document_id, lease_s=0)

    async with service.database.tenant(service.default_tenant_id) as conn:
        assert await matching_jobs.take(conn, document_id, worker_id="w", lease_s=60, token=new_id()) is None
        obstacle = await matching_jobs.obstacle(conn, document_id)
        assert obstacle is not None
        assert obstacle.attempts_used_up
        assert await matching_jobs.give_up(conn, document_id, CorruptError("dead"), receive_count=3) == 3
        assert await matching_jobs.give_up(conn, document_id, CorruptError("dead"), receive_count=3) is None

    state = await papers.state(document_id)
    assert (state.status, state.attempts, state.error, state.is_failed_at) == ("failed", 3, "dead", True)
