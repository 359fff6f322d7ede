"""People are told once of a setting that keeps documents from being matched, by a real webhook."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator

import pytest
from pydantic import SecretStr

from docmill.errors import UnauthorizedError
from docmill.service.app import Service, open_service
from docmill.service.config.notifications import Notifications, WebhookNotifications
from docmill.service.config.settings import Settings
from docmill.service.ports.matching import DocumentToMatch
from docmill.testing.matching import ScriptedMatcher
from support.http_receiver import Receiver, receiving
from support.papers_to_match import PapersToMatch
from support.scripted_steps import RunWorker


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
async def service(settings: Settings, matcher: ScriptedMatcher, receiver: Receiver) -> AsyncIterator[Service]:
    webhook = WebhookNotifications(url=SecretStr(receiver.url), secret=SecretStr("a secret of my own"))
    told = Notifications(webhook=webhook, allow_private_addresses=True, window_s=1)
    chosen = settings.model_copy(update={"notifications": told})
    async with open_service(chosen, matcher=matcher) as service:
        await asyncio.wait_for(service.wakeups.listening(), 10)
        yield service


async def test_a_refused_key_of_matching_is_told_once_and_not_for_each_document(
    service: Service,
    papers: PapersToMatch,
    matcher: ScriptedMatcher,
    working: RunWorker,
    receiver: Receiver,
) -> None:
    mended = asyncio.Event()

    async def decide(_document: DocumentToMatch) -> None:
        if not mended.is_set():
            raise UnauthorizedError("the key of the model is refused; set llm.api_key")

    matcher.deciding = decide
    document_ids = [await papers.read() for _ in range(4)]

    async with working():
        async with asyncio.timeout(20):
            while not receiver.requests:
                await service.wakeups.wait(service.wakeups.next("papers"), timeout_s=0.05)
        mended.set()
        for document_id in document_ids:
            await papers.until(document_id, lambda state: state.status == "succeeded")

    (body,) = [json.loads(body) for _, _, body in receiver.requests]
    assert body["data"]["total"] == 1
    assert body["data"]["errors"] == [
        {"kind": "pause", "error": "the key of the model is refused; set llm.api_key", "count": 1}
    ]
