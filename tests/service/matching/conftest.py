import asyncio
from collections.abc import AsyncIterator

import pytest

from docmill.service.app import Service, open_service
from docmill.service.config.settings import Settings
from docmill.testing.matching import RecordingNotifier, ScriptedMatcher
from support.papers_to_match import PapersToMatch


@pytest.fixture
def matcher() -> ScriptedMatcher:
    return ScriptedMatcher()


@pytest.fixture
def notifier() -> RecordingNotifier:
    return RecordingNotifier()


@pytest.fixture
async def service(
    settings: Settings, matcher: ScriptedMatcher, notifier: RecordingNotifier
) -> AsyncIterator[Service]:
    """The service with a matcher."""
    async with open_service(settings, matcher=matcher, notifier=notifier) as service:
        await asyncio.wait_for(service.wakeups.listening(), 10)
        yield service


@pytest.fixture
def papers(service: Service) -> PapersToMatch:
    return PapersToMatch(service)
