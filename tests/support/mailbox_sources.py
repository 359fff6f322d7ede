"""Mailboxes as sources, and what is seen of sources."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from pydantic import JsonValue

from docmill.service.app import Service
from docmill.service.sources.watching import SourceWatching
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.store.doc_sources import SourceRow
from support.dovecot import PASSWORD, Dovecot


@asynccontextmanager
async def watching(service: Service, worker_id: str = "a") -> AsyncGenerator[asyncio.Task[None]]:
    """All sources are watched within the block."""
    watch = SourceWatching(service.sources, service.database, worker_id, lease_s=2.0, concurrency=5)
    task = asyncio.create_task(watch.work_for_ever())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])


async def wait_for(
    service: Service, row: SourceRow, is_so: Callable[[SourceRow], bool], *, within_s: float = 60
) -> SourceRow:
    """The source as soon as this holds."""
    async with asyncio.timeout(within_s):
        while True:
            current = await service.sources.get(row.id, tenant_id=row.tenant_id)
            assert current is not None
            if is_so(current):
                return current
            await asyncio.sleep(0.05)


async def wait_for_items(service: Service, row: SourceRow, count: int, *, within_s: float = 60) -> SourceRow:
    """The source as soon as so many items were taken or refused."""
    return await wait_for(service, row, lambda now: now.arrivals + now.refusals >= count, within_s=within_s)


def uid_of(row: SourceRow) -> int:
    """The last mail of the inbox that was looked at."""
    position: dict[str, dict[str, int]] = row.position or {}
    return position.get("INBOX", {}).get("uid", 0)


async def try_again(service: Service, row: SourceRow) -> None:
    """As a person does who does not want to wait."""
    await service.sources.set_state(row.id, "active", tenant_id=row.tenant_id)


def mailbox_settings(dovecot: Dovecot, **settings: JsonValue) -> dict[str, JsonValue]:
    """Settings of anna's mailbox."""
    return {
        "host": "127.0.0.1",
        "port": dovecot.port,
        "security": "none",
        "user": "anna",
        "poll_s": 1,
        **settings,
    }


AddMailbox = Callable[..., Awaitable[SourceRow]]


@pytest.fixture
def add_mailbox(service: Service, dovecot: Dovecot) -> AddMailbox:
    """Adds anna's mailbox as a source."""

    async def add(name: str = "Mails", *, password: str = PASSWORD, **settings: JsonValue) -> SourceRow:
        return await service.sources.add(
            "imap",
            name,
            mailbox_settings(dovecot, **settings),
            {"password": password},
            tenant_id=service.default_tenant_id,
            created_by=DEFAULT_USER_ID,
        )

    return add
