"""A document waits for what fails and is left alone, but not for ever; people are told of it."""

import asyncio
from datetime import timedelta
from uuid import UUID

from docmill.errors import ServerError
from docmill.ports import Original
from docmill.resilience.breaker import Breaker
from docmill.service.app import Service
from docmill.service.intake.accept import Accepted
from docmill.service.probes import Probes
from docmill.service.processing.outage_notices import tell_of_outages
from docmill.service.processing.pause_records import PauseRecords
from docmill.service.protocol.pause import Pauses, guarded_part
from docmill.service.store import outages
from support.scripted_steps import Observer, RunWorker, ScriptedSteps, Upload


def left_alone() -> ServerError:
    return ServerError("'small model' fails and is left alone", retry_after_s=3000, attempted=False)


async def let_pass(service: Service, accepted: Accepted, waited: timedelta) -> None:
    """Have the document wait for so long, and be due now."""
    async with service.database.tenant(service.default_tenant_id) as conn:
        cur = await conn.execute(
            """
            UPDATE ingestion SET next_attempt_at = NULL, waiting_since = waiting_since - %s
             WHERE waiting_since IS NOT NULL
            """,
            [waited],
        )
        assert cur.rowcount == 1
    await service.queue.send([str(accepted.ingestion_id)])


async def test_a_document_is_finished_by_the_rules_when_a_model_was_waited_for_in_vain(
    service: Service, script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    script.model_errors = [left_alone() for _ in range(3)]
    accepted = await upload()

    async with working():
        await observer.when(accepted, lambda row: row.error_code == "server_error")
        await let_pass(service, accepted, timedelta(hours=23))
        async with asyncio.timeout(20):
            while len(script.model_errors) > 1:
                await service.wakeups.wait(service.wakeups.next("patience"), timeout_s=0.05)
        await observer.when(accepted, lambda row: row.error_code == "server_error")
        await let_pass(service, accepted, timedelta(hours=1))
        ready = await observer.until(accepted, "ready")

    assert ready.structured_data is not None
    assert ready.structured_data["number"] == "7"
    ingestion = await observer.ingestion(accepted)
    assert (ingestion.status, ingestion.attempt_count) == ("completed", 1)
    assert ingestion.extraction_reason == "rules; asked small model for number: it failed (server_error)"


async def test_a_document_that_cannot_do_without_fails_in_the_end(
    service: Service, script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    async def convert(_original: Original) -> None:
        raise left_alone()

    script.convert = convert
    accepted = await upload()

    async with working():
        await observer.when(accepted, lambda row: row.error_code == "server_error")
        await let_pass(service, accepted, timedelta(hours=25))
        failed = await observer.until(accepted, "failed")

    assert failed.error_message is not None
    assert failed.error_message.startswith("it was waited for in vain")
    assert len(await observer.letters()) == 1
    assert (await observer.ingestion(accepted)).attempt_count == 1


async def notifications(service: Service) -> list[tuple[str, str]]:
    async with service.database.tenant(service.default_tenant_id) as conn:
        cur = await conn.execute("SELECT kind, error FROM notification ORDER BY id")
        return [(kind, error) for kind, error in await cur.fetchall()]


async def age_outages(service: Service, *, since: timedelta, seen: timedelta = timedelta()) -> None:
    async with service.database.connection() as conn:
        await conn.execute("UPDATE outage SET since = since - %s, seen_at = seen_at - %s", [since, seen])
        await conn.execute("UPDATE outage_sighting SET seen_at = seen_at - %s", [seen])


async def tell(service: Service) -> None:
    await tell_of_outages(service.database, tenant_id=service.default_tenant_id)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def fail(breaker: Breaker, *, error: ServerError | None) -> None:
    async with guarded_part(breaker):
        if error is not None:
            raise error


async def test_people_are_told_once_of_an_outage_and_once_when_it_is_over(service: Service) -> None:
    changed = asyncio.Event()
    pauses = Pauses(60, on_change=changed.set)
    records = PauseRecords(
        service.database,
        "worker",
        lambda: pauses.causes,
        lambda: None,
        tenant_id=service.default_tenant_id,
        outages=lambda: pauses.outages,
    )
    clock = Clock()
    breaker = Breaker("small model", threshold=1, clock=clock, jitter=lambda: 0.0)
    passage = pauses.passage(UUID(int=1))
    told: list[int] = []

    with passage.under_way():
        try:
            await fail(breaker, error=ServerError("down"))
        except ServerError:
            assert changed.is_set()
        records.note_change()
        await records.write_next()
        for minutes in (14, 2, 10):
            await age_outages(service, since=timedelta(minutes=minutes))
            await tell(service)
            told.append(len(await notifications(service)))
        text = (await Probes.of(service, asyncio.Event()).scrape()).decode()
        clock.now += 60
        await fail(breaker, error=None)
        records.note_change()
        await records.write_next()
        await tell(service)

    assert told == [0, 1, 1]
    assert 'docmill_outage_seconds{part="small model"} 156' in text
    (began, ended) = await notifications(service)
    assert began[0] == "outage"
    assert began[1].startswith("'small model' has failed for 16 minutes (server_error) and is left alone")
    assert ended[0] == "outage_over"
    assert ended[1].startswith("'small model' answers again, after 26 minutes")


async def test_a_short_outage_is_told_to_nobody(service: Service) -> None:
    async with service.database.tenant(service.default_tenant_id) as conn:
        await outages.confirm(conn, {"small model": "network"}, worker_id="worker")
        await outages.withdraw(conn, ["small model"], worker_id="worker")
        ended = await outages.end(conn, ["small model"])
    await tell(service)

    assert ended == []
    assert await notifications(service) == []


async def test_an_outage_that_no_worker_confirms_any_more_is_over(service: Service) -> None:
    async with service.database.tenant(service.default_tenant_id) as conn:
        await outages.confirm(conn, {"small model": "network"}, worker_id="worker")
    await age_outages(service, since=timedelta(minutes=20))
    await tell(service)

    await age_outages(service, since=timedelta(), seen=timedelta(minutes=61))
    await tell(service)
    await tell(service)

    assert [kind for kind, _ in await notifications(service)] == ["outage", "outage_over"]


class SeenBy:
    """The records of a worker that sees `codes`."""

    def __init__(self, service: Service, worker_id: str) -> None:
        self.codes: dict[str, str] = {}
        self._records = PauseRecords(
            service.database,
            worker_id,
            list,
            lambda: None,
            tenant_id=service.default_tenant_id,
            outages=lambda: self.codes,
        )

    async def sees(self, **codes: str) -> None:
        self.codes = codes
        self._records.note_change()
        await self._records.write_next()

    async def stops(self) -> None:
        await self._records.remove()


async def test_an_outage_is_over_when_no_worker_sees_it_any_more(service: Service) -> None:
    first, second, third = (SeenBy(service, name) for name in ("first", "second", "third"))
    for worker in (first, second, third):
        await worker.sees(model="network")
    await age_outages(service, since=timedelta(minutes=16))
    await tell(service)

    await first.sees()
    await tell(service)
    seen_by_others = [kind for kind, _ in await notifications(service)]
    await first.sees(model="network")
    await third.stops()
    await asyncio.gather(first.sees(), second.sees())
    await tell(service)

    assert seen_by_others == ["outage"]
    assert [kind for kind, _ in await notifications(service)] == ["outage", "outage_over"]


async def test_a_worker_that_was_killed_keeps_no_outage_going(service: Service) -> None:
    killed, other = SeenBy(service, "killed"), SeenBy(service, "other")
    await killed.sees(model="network")
    await age_outages(service, since=timedelta(minutes=16), seen=timedelta(minutes=4))
    await other.sees(model="network")
    await tell(service)

    await other.sees()

    assert [kind for kind, _ in await notifications(service)] == ["outage", "outage_over"]
