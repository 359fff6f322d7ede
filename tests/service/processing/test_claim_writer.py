import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from uuid import UUID

import stamina

from docmill.errors import CorruptError, ServerError
from docmill.service.app import Service
from docmill.service.intake.accept import Accepted
from docmill.service.processing.claim_writer import ClaimRefusal, ClaimWriter
from docmill.service.protocol.claim_rules import Obstacle
from docmill.service.store import claims, sweeps
from docmill.service.store.claims import Claim
from docmill.service.store.database import Conn, Database
from support.scripted_steps import NO_RESULT, Observer, Upload


class Forgetful(Database):
    """Loses the answer to the next commits: what was done is done, and nobody hears of it."""

    lost_answers = 0

    @asynccontextmanager
    async def tenant(self, tenant_id: UUID) -> AsyncGenerator[Conn]:
        async with super().tenant(tenant_id) as conn:
            yield conn
        if self.lost_answers:
            self.lost_answers -= 1
            raise ServerError("the connection broke")


@asynccontextmanager
async def claimed_by_forgetful(
    service: Service, accepted: Accepted
) -> AsyncGenerator[tuple[ClaimWriter, Claim]]:
    """A claim, and a writer that will not hear of its next two commits."""
    assert accepted.ingestion_id
    async with Forgetful(service.database.url) as database:
        claim_writer = ClaimWriter(database, "me", lease_s=300, max_attempts=3)
        claim = await claim_writer.claim(accepted.ingestion_id)
        assert isinstance(claim, Claim)
        database.lost_answers = 2
        yield claim_writer, claim


async def test_a_result_whose_commit_was_not_heard_of_is_ours(
    service: Service, upload: Upload, observer: Observer
) -> None:
    accepted = await upload()
    async with claimed_by_forgetful(service, accepted) as (claim_writer, claim):
        with stamina.set_testing(testing=True, attempts=3):
            assert await claim_writer.finish(claim, NO_RESULT)

    assert (await observer.ingestion(accepted)).status == "completed"


async def test_a_claim_whose_commit_was_not_heard_of_is_ours(
    service: Service, upload: Upload, observer: Observer
) -> None:
    accepted = await upload()
    assert accepted.ingestion_id
    async with Forgetful(service.database.url) as database:
        claim_writer = ClaimWriter(database, "me", lease_s=300, max_attempts=3)
        database.lost_answers = 2

        with stamina.set_testing(testing=True, attempts=3):
            claim = await claim_writer.claim(accepted.ingestion_id)
            other = await ClaimWriter(database, "other", lease_s=300, max_attempts=3).claim(
                accepted.ingestion_id
            )

    assert isinstance(claim, Claim)
    assert (claim.attempt, claim.fence, (await observer.ingestion(accepted)).attempt_count) == (1, 1, 1)
    assert isinstance(other, ClaimRefusal)


async def test_a_failure_whose_commit_was_not_heard_of_is_ours(
    service: Service, upload: Upload, observer: Observer
) -> None:
    accepted = await upload()
    async with claimed_by_forgetful(service, accepted) as (claim_writer, claim):
        with stamina.set_testing(testing=True, attempts=3):
            assert await claim_writer.fail(claim, CorruptError("broken"), receive_count=1)

    assert (await observer.ingestion(accepted)).status == "failed"
    assert len(await observer.letters()) == 1


async def test_what_was_set_back_unheard_is_set_back_once_and_ours_until_another_claims_it(
    service: Service, upload: Upload, observer: Observer
) -> None:
    accepted = await upload()
    async with claimed_by_forgetful(service, accepted) as (claim_writer, claim):
        with stamina.set_testing(testing=True, attempts=3):
            assert await claim_writer.set_back(claim, error=None, delay_s=0, counts=False)
        after = await observer.ingestion(accepted)
        another = ClaimWriter(service.database, "other", lease_s=300, max_attempts=3)
        other = await another.claim(claim.ingestion_id)

        assert (after.attempt_count, after.fence) == (0, claim.fence + 1)
        assert isinstance(other, Claim)
        assert not await claim_writer.set_back(claim, error=None, delay_s=0, counts=False)


async def test_what_the_sweeper_took_away_was_not_set_back_by_its_holder(
    service: Service, upload: Upload
) -> None:
    accepted = await upload()
    assert accepted.ingestion_id
    claim_writer = ClaimWriter(service.database, "me", lease_s=300, max_attempts=3)
    claim = await claim_writer.claim(accepted.ingestion_id)
    assert isinstance(claim, Claim)
    async with service.database.tenant(service.default_tenant_id) as conn:
        assert await sweeps.give_back(conn, [accepted.ingestion_id], worker_id="me")

    assert not await claim_writer.set_back(claim, error=None, delay_s=0, counts=False)
    assert not await claim_writer.fail(claim, CorruptError("broken"), receive_count=1)


async def test_of_messages_that_came_together_for_one_ingestion_one_gets_the_claim(
    service: Service, upload: Upload
) -> None:
    wanted = (await upload()).ingestion_id
    assert wanted is not None

    async with ClaimWriter(service.database, "one", lease_s=300, max_attempts=3) as claim_writer:
        busy = asyncio.ensure_future(claim_writer.claim(service.default_tenant_id))
        first, second = await asyncio.gather(claim_writer.claim(wanted), claim_writer.claim(wanted))

    assert await busy == ClaimRefusal(None, None)
    assert isinstance(first, Claim)
    assert second == ClaimRefusal(
        service.default_tenant_id, Obstacle("in-progress", 300, attempts_used_up=False)
    )


async def test_of_two_workers_that_claim_at_once_one_gets_the_claim_and_the_other_does_not_wait(
    service: Service, upload: Upload, observer: Observer
) -> None:
    accepted = await upload()
    assert accepted.ingestion_id
    tenant_id = service.default_tenant_id

    async with service.database.tenant(tenant_id) as one, service.database.tenant(tenant_id) as other:
        first = await claims.take(one, [accepted.ingestion_id], worker_id="one", lease_s=300, max_attempts=3)
        async with asyncio.timeout(20):
            second = await claims.take(
                other, [accepted.ingestion_id], worker_id="other", lease_s=300, max_attempts=3
            )

    ingestion = await observer.ingestion(accepted)
    assert (len(first), second) == (1, [])
    assert (ingestion.worker_id, ingestion.fence, ingestion.attempt_count) == ("one", 1, 1)


async def test_a_long_text_does_not_share_a_statement(
    service: Service, upload: Upload, observer: Observer
) -> None:
    accepted = await upload()
    assert accepted.ingestion_id
    claim_writer = ClaimWriter(service.database, "me", lease_s=300, max_attempts=3)
    claim = await claim_writer.claim(accepted.ingestion_id)
    assert isinstance(claim, Claim)

    assert await claim_writer.finish(claim, replace(NO_RESULT, text="word " * 50_000))
    assert not await claim_writer.finish(
        replace(claim, fence=claim.fence + 1), replace(NO_RESULT, text="x" * 200_000)
    )

    assert (await observer.document(accepted)).page_count is None
    assert (await observer.ingestion(accepted)).status == "completed"


async def test_progress_does_not_wait_for_a_row_that_is_being_ended(service: Service, upload: Upload) -> None:
    accepted = await upload()
    assert accepted.ingestion_id
    claim = await ClaimWriter(service.database, "me", lease_s=300, max_attempts=3).claim(
        accepted.ingestion_id
    )
    assert isinstance(claim, Claim)

    async with service.database.tenant(service.default_tenant_id) as ending:
        await ending.execute("SELECT FROM ingestion WHERE id = %s FOR UPDATE", [accepted.ingestion_id])
        async with asyncio.timeout(10), service.database.tenant(service.default_tenant_id) as conn:
            await claims.progress(conn, [(claim, "extract")])


async def test_what_postgresql_cannot_store_of_a_result_is_left_out_or_replaced(
    service: Service, upload: Upload, observer: Observer
) -> None:
    accepted = await upload()
    assert accepted.ingestion_id
    result = replace(NO_RESULT, text="a\0b", structured_data={"number": "1\ud800", "name": "x\0y é"})

    async with ClaimWriter(service.database, "me", lease_s=300, max_attempts=3) as claim_writer:
        claim = await claim_writer.claim(accepted.ingestion_id)
        assert isinstance(claim, Claim)
        assert await claim_writer.finish(claim, result)

    assert (await observer.ingestion(accepted)).structured_data == {"number": "1?", "name": "xy é"}
