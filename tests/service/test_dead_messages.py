"""Dead messages of matching, which the operator finds, has matched anew, or removes."""

from uuid import UUID, uuid4

import pytest

from docmill.errors import CorruptError, MisconfiguredError
from docmill.service.app import Service, open_service
from docmill.service.config.settings import Settings
from docmill.service.dead_messages import open_dead_messages
from docmill.service.processing.matching_claims import MatchingClaims
from docmill.service.protocol.queues import MATCHING
from docmill.service.store import dead_letters
from docmill.service.store.matching_jobs import MatchingClaim
from support.webhook_tools import WebhookTools


async def kill_message(service: Service, body: str) -> None:
    """Have the queue of matching give a message up."""
    assert service.matching is not None
    queue = service.matching.queue
    await queue.send([body])
    for _ in range(MATCHING.max_receives + 1):
        for message in await queue.receive(limit=10, wait_s=0):
            await queue.release(message)


async def fail_matching(service: Service, document_id: UUID) -> None:
    assert service.matching is not None
    claims = MatchingClaims(service.database, service.matching, "worker", lease_s=30)
    claim = await claims.claim(document_id)
    assert isinstance(claim, MatchingClaim)
    assert await claims.fail(claim, CorruptError("it is damaged"), receive_count=3) == "ended"


async def letters(service: Service) -> list[UUID]:
    async with service.database.tenant(service.default_tenant_id) as conn:
        return [row.document_id for row in await dead_letters.page(conn, limit=10)]


async def test_a_document_of_a_dead_message_is_matched_anew(service: Service) -> None:
    assert service.matching is not None
    queue = service.matching.queue
    document_id = await WebhookTools(service).read()
    await queue.delete(await queue.receive(limit=10, wait_s=0))
    await fail_matching(service, document_id)
    await kill_message(service, str(document_id))

    before = await letters(service)
    async with open_dead_messages(service, "matching") as dead:
        (message,) = await dead.find(limit=10)
        nothing = await dead.find([str(uuid4())], limit=10)
        count = await dead.redrive([message])
        left = await dead.find(limit=10)

    assert before == [document_id]
    assert (message.body, nothing, count, left) == (str(document_id), [], 1, [])
    assert await letters(service) == []
    (sent,) = await queue.receive(limit=10, wait_s=0)
    assert sent.body == str(document_id)


async def test_messages_about_nothing_are_removed(service: Service) -> None:
    for body in ("no id at all", str(uuid4())):
        await kill_message(service, body)

    async with open_dead_messages(service, "matching") as dead:
        messages = await dead.find(limit=10)
        redriven = await dead.redrive(messages[:1])
        purged = await dead.purge(messages[1:])
        left = await dead.find(limit=10)

    assert (len(messages), redriven, purged, left) == (2, 1, 1, [])


async def test_without_mails_from_amazon_there_is_no_such_queue(service: Service) -> None:
    with pytest.raises(MisconfiguredError, match=r"sources\.ses_domain"):
        async with open_dead_messages(service, "acquisition"):
            pass


async def test_without_matching_there_is_no_such_queue(settings: Settings) -> None:
    matching = settings.matching.model_copy(update={"enabled": False})
    async with open_service(settings.model_copy(update={"matching": matching})) as service:
        with pytest.raises(MisconfiguredError, match=r"matching\.enabled"):
            async with open_dead_messages(service, "matching"):
                pass
