"""Limits of sources, on a real database."""

import asyncio
import math
import time
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

import pytest

from docmill.errors import NetworkError, RateLimitedError, UnauthorizedError
from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.sources.item_intake import ItemIntake
from docmill.service.sources.kinds import SourceLimits
from docmill.service.sources.rate_limits import ItemLimits
from docmill.service.store import doc_sources
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.store.doc_sources import SourceRow

NO_LIMITS = SourceLimits()


@pytest.fixture
def settings(settings: Settings, tmp_path: Path) -> Settings:
    sources = settings.sources.model_copy(update={"folders": (tmp_path,), "starts_per_s": 1000.0})
    return settings.model_copy(update={"sources": sources})


@pytest.fixture
async def row(service: Service, tmp_path: Path) -> SourceRow:
    return await service.sources.add(
        "folder",
        "Scans",
        {"path": str(tmp_path)},
        {},
        tenant_id=service.default_tenant_id,
        created_by=DEFAULT_USER_ID,
    )


def intake_of(
    service: Service,
    row: SourceRow,
    *,
    may_wait: bool,
    own: SourceLimits = NO_LIMITS,
    starts_per_s: float = 1000,
    documents_per_day: int | None = None,
) -> ItemIntake:
    shared = service.settings.sources.model_copy(
        update={"starts_per_s": starts_per_s, "documents_per_day": documents_per_day}
    )
    limits = ItemLimits(
        service.database,
        row.id,
        row.tenant_id,
        own=own,
        shared=shared,
        longest_wait_s=math.inf if may_wait else 0,
    )
    return ItemIntake(
        service.intake, service.database, source_id=row.id, tenant_id=row.tenant_id, limits=limits
    )


async def content(number: int) -> AsyncIterator[bytes]:
    yield b"%%PDF-1.7 %d" % number


async def take(intake: ItemIntake, number: int) -> str:
    taken = await intake.take(f"{number}", content(number), file_name=f"{number}.pdf", metadata={})
    return taken.status


async def test_several_workers_share_the_pace_of_a_source(service: Service, row: SourceRow) -> None:
    own = SourceLimits(per_second=10)
    intakes = [intake_of(service, row, may_wait=True, own=own) for _ in range(3)]

    started = time.monotonic()
    await asyncio.gather(*(take(intakes[number % 3], number) for number in range(25)))

    # Ten may come at once, the others ten in a second.
    assert time.monotonic() - started > 1.4


async def test_a_tenant_has_one_pace_for_all_its_sources(service: Service, row: SourceRow) -> None:
    other = await service.sources.add(
        "folder", "B", row.settings, {}, tenant_id=row.tenant_id, created_by=DEFAULT_USER_ID
    )
    first = intake_of(service, row, may_wait=False, starts_per_s=0.01)
    second = intake_of(service, other, may_wait=False, starts_per_s=0.01)

    assert await take(first, 1) == "accepted"
    with pytest.raises(RateLimitedError) as refused:
        await take(second, 2)

    assert 90 < (refused.value.retry_after_s or 0) <= 100


async def test_what_is_told_to_come_again_uses_nothing_up(service: Service, row: SourceRow) -> None:
    intake = intake_of(service, row, may_wait=False, own=SourceLimits(per_second=0.01))
    assert await take(intake, 1) == "accepted"

    for _ in range(20):
        with pytest.raises(RateLimitedError):
            await take(intake, 2)
    async with service.database.tenant(row.tenant_id) as conn:  # as after a hundred seconds
        await conn.execute("UPDATE source_pace SET next_at = next_at - interval '100 seconds'")

    assert await take(intake, 2) == "accepted"
    assert await take(intake, 2) == "known"


@pytest.mark.parametrize("is_of_tenant", [False, True])
async def test_a_day_has_so_many_documents(service: Service, row: SourceRow, is_of_tenant: bool) -> None:  # noqa: FBT001
    own = SourceLimits() if is_of_tenant else SourceLimits(documents_per_day=2)
    intake = intake_of(service, row, may_wait=False, own=own, documents_per_day=2 if is_of_tenant else None)
    await take(intake, 1)
    await take(intake, 2)

    with pytest.raises(RateLimitedError, match="day") as refused:
        await take(intake, 3)

    assert 86_000 < (refused.value.retry_after_s or 0) <= 86_400
    async with service.database.tenant(row.tenant_id) as conn:
        await conn.execute("UPDATE arrival SET arrived_at = arrived_at - interval '25 hours'")
    assert await take(intake, 3) == "accepted"


async def test_a_watched_source_waits_for_the_next_day_and_shows_it(service: Service, row: SourceRow) -> None:
    intake = intake_of(service, row, may_wait=True, own=SourceLimits(documents_per_day=1))
    await take(intake, 1)

    waiting = asyncio.create_task(take(intake, 2))
    done, _ = await asyncio.wait([waiting], timeout=0.5)

    assert not done
    current = await service.sources.get(row.id, tenant_id=row.tenant_id)
    assert current is not None
    assert current.waits_until is not None
    waiting.cancel()
    await asyncio.wait([waiting])


async def test_a_file_that_is_too_large_for_its_source_is_refused(service: Service, row: SourceRow) -> None:
    intake = intake_of(service, row, may_wait=True, own=SourceLimits(file_mb=0.000_005))

    taken = await intake.take("a", content(1), file_name="a.pdf", metadata={})

    assert taken.status == "refused"
    assert taken.error is not None
    assert taken.error.code == "too_large"
    (refused,) = await service.sources.items(row.id, tenant_id=row.tenant_id, refused_only=True)
    assert not await service.sources.forget_refusal(row.id, UUID(int=1), tenant_id=row.tenant_id)
    assert await service.sources.forget_refusal(row.id, refused.id, tenant_id=row.tenant_id)
    assert await take(intake_of(service, row, may_wait=True), 1) == "accepted"


async def test_people_are_told_once_that_a_source_fails(service: Service, row: SourceRow) -> None:
    async def notified() -> list[str]:
        async with service.database.tenant(row.tenant_id) as conn:
            cur = await conn.execute(
                "SELECT error FROM notification WHERE kind = 'source_failed' ORDER BY id"
            )
            return [error for (error,) in await cur.fetchall()]

    async def fail(error: NetworkError | UnauthorizedError, *, times: int = 1) -> None:
        for _ in range(times):
            async with service.database.tenant(row.tenant_id) as conn:
                await doc_sources.note_failure(conn, row.id, error, retry_s=1)

    await fail(NetworkError("no answer"), times=3)
    assert await notified() == []

    async with service.database.tenant(row.tenant_id) as conn:
        await conn.execute("UPDATE doc_source SET failing_since = now() - interval '16 minutes'")
    await fail(NetworkError("no answer"), times=3)
    assert await notified() == ["the source 'Scans': no answer"]

    async with service.database.tenant(row.tenant_id) as conn:
        await doc_sources.note_success(conn, row.id)
    await fail(UnauthorizedError("wrong password"), times=3)
    assert await notified() == ["the source 'Scans': no answer", "the source 'Scans': wrong password"]
