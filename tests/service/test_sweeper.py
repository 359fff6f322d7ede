"""Each loss is brought about behind docmill's back, and repaired by the rule that is there for it."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest

from docmill.errors import NetworkError
from docmill.resilience.concurrency import cancel_and_wait
from docmill.service.app import Service
from docmill.service.intake.accept import Accepted
from docmill.service.observe.metrics import Metrics
from docmill.service.ports import ExpectedMessage, Message
from docmill.service.processing.work_folders import note_begun
from docmill.service.protocol.pause import Cause
from docmill.service.queue.postgres import PostgresQueue
from docmill.service.store import claims, pauses, sweeps
from docmill.service.store.claims import Claim
from docmill.service.store.database import new_id
from docmill.service.sweeper import WORK_FOLDER, Rule, Sweeper, sweep_for_ever
from support.scripted_steps import Observer, RunWorker, Upload


@pytest.fixture
def sweeper(service: Service) -> Sweeper:
    return Sweeper(service)


async def change(service: Service, statement: LiteralString) -> None:
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute(statement)


async def age(service: Service) -> None:
    """Let all ingestions have been idle for a minute."""
    await change(
        service,
        """
        UPDATE ingestion
           SET progress_at = progress_at - interval '1 min', sent_at = sent_at - interval '1 min'
        """,
    )


async def claim(service: Service, accepted: Accepted, *, worker_id: str = "another") -> Claim:
    assert accepted.ingestion_id
    async with service.database.tenant(service.default_tenant_id) as conn:
        (claim,) = await claims.take(
            conn, [accepted.ingestion_id], worker_id=worker_id, lease_s=300, max_attempts=3
        )
    return claim


def ids_of(service: Service, accepted: Accepted) -> dict[str, str]:
    return {
        "tenant_id": str(service.default_tenant_id),
        "document_id": str(accepted.document_id),
        "ingestion_id": str(accepted.ingestion_id),
    }


def logged(caplog: pytest.LogCaptureFixture, event: str) -> dict[str, str]:
    """What the only line of this event is about."""
    (record,) = [record for record in caplog.records if record.message == event]
    names = ("tenant_id", "document_id", "ingestion_id")
    return {name: vars(record)[name] for name in names if name in vars(record)}


async def due(service: Service) -> list[Message]:
    return await service.queue.receive(limit=10, wait_s=0)


async def bodies(service: Service) -> list[str]:
    return [message.body for message in await due(service)]


class TestLostMessages:
    async def test_a_message_deleted_behind_our_back_is_sent_again(
        self, service: Service, sweeper: Sweeper, upload: Upload, working: RunWorker, observer: Observer
    ) -> None:
        accepted = await upload()
        await change(service, "DELETE FROM message")
        await age(service)

        await sweeper.send_lost_again()

        async with working():
            await observer.until(accepted, "ready")

    async def test_a_lost_message_is_logged_with_its_tenant_and_document(
        self, service: Service, sweeper: Sweeper, upload: Upload, caplog: pytest.LogCaptureFixture
    ) -> None:
        accepted = await upload()
        await change(service, "DELETE FROM message")
        await age(service)

        await sweeper.send_lost_again()

        assert logged(caplog, "message sent again") == ids_of(service, accepted)

    async def test_what_has_a_message_is_left_alone(
        self, service: Service, sweeper: Sweeper, upload: Upload
    ) -> None:
        await upload()
        await age(service)

        await sweeper.send_lost_again()

        assert len(await due(service)) == 1

    async def test_what_has_just_moved_is_left_alone(
        self, service: Service, sweeper: Sweeper, upload: Upload
    ) -> None:
        await upload()
        await change(service, "DELETE FROM message")

        await sweeper.send_lost_again()

        assert await due(service) == []

    @pytest.mark.parametrize(
        "made_busy",
        [
            "UPDATE ingestion SET lease_until = now() + interval '1 min'",
            "UPDATE ingestion SET next_attempt_at = now() + interval '1 min'",
            "INSERT INTO outbox SELECT id, 'ingestion', id::text, now() FROM ingestion",
        ],
        ids=["somebody works on it", "its next attempt is later", "its message waits in the outbox"],
    )
    async def test_what_is_in_hand_is_left_alone(
        self, service: Service, sweeper: Sweeper, upload: Upload, made_busy: LiteralString
    ) -> None:
        await upload()
        await change(service, "DELETE FROM message")
        await age(service)
        await change(service, made_busy)

        await sweeper.send_lost_again()

        assert await due(service) == []

    async def test_a_relay_that_reached_nobody_is_made_good(
        self, service: Service, sweeper: Sweeper, upload: Upload
    ) -> None:
        accepted = await upload()
        await change(service, "DELETE FROM message")
        await change(service, "INSERT INTO outbox SELECT id, 'ingestion', id::text, now() FROM ingestion")
        await change(service, "DELETE FROM outbox")  # relayed, and then the queue lost it
        await age(service)

        await sweeper.send_lost_again()

        assert await bodies(service) == [str(accepted.ingestion_id)]

    async def test_a_queue_that_cannot_tell_is_not_flooded(
        self, service: Service, sweeper: Sweeper, upload: Upload, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def cannot_tell(_queue: PostgresQueue, expected: Sequence[ExpectedMessage]) -> list[str]:
            return [message.body for message in expected]

        monkeypatch.setattr(PostgresQueue, "unsent", cannot_tell)
        await upload()
        await due(service)
        # Half a minute more, so that no look falls on the very moment when a wait ends.
        await change(service, "UPDATE ingestion SET progress_at = progress_at - interval '30 s'")
        sent_in: list[int] = []

        for minute in range(1, 17):
            await age(service)
            await sweeper.send_lost_again()
            if await due(service):
                sent_in.append(minute)

        assert sent_in == [1, 3, 7, 15]

    async def test_a_deep_queue_is_looked_through_page_by_page(
        self, service: Service, sweeper: Sweeper, upload: Upload, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("docmill.service.sweeper._PAGE", 2)
        monkeypatch.setattr("docmill.service.sweeper._PAGES", 1)
        for number in range(5):
            await upload(str(number).encode())
        await change(service, "DELETE FROM message")
        await age(service)

        found: list[int] = []
        for _ in range(3):
            await sweeper.send_lost_again()
            found.append(len(await due(service)))

        assert found == [2, 2, 1]


class Neighbour:
    """A process that works beside us until it is killed."""

    def __init__(self, work: Path, worker_id: str) -> None:
        code = (
            "import asyncio, sys\n"
            "from pathlib import Path\n"
            "from docmill.service.processing.work_folders import worker_folder\n"
            "async def live():\n"
            "    async with worker_folder(Path(sys.argv[1]), sys.argv[2]):\n"
            "        print('working', flush=True)\n"
            "        await asyncio.Event().wait()\n"
            "asyncio.run(live())\n"
        )
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, work, worker_id], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout
        self.process.stdout.readline()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()


@pytest.fixture
def neighbour(service: Service) -> Iterator[Neighbour]:
    neighbour = Neighbour(service.settings.folder / WORK_FOLDER, "another")
    yield neighbour
    neighbour.kill()


class TestDeadWorkers:
    @pytest.mark.parametrize("begun", [False, True])
    async def test_what_a_killed_worker_of_this_machine_held_goes_on_at_once(
        self,
        service: Service,
        upload: Upload,
        working: RunWorker,
        observer: Observer,
        neighbour: Neighbour,
        *,
        begun: bool,
    ) -> None:
        accepted = await upload()
        await due(service)
        held = await claim(service, accepted)
        folder = service.settings.folder / WORK_FOLDER / "another" / f"{held.ingestion_id}-{held.fence}"
        await asyncio.to_thread(folder.mkdir)
        if begun:
            note_begun(folder)
        neighbour.kill()

        async with working():
            await observer.until(accepted, "ready")

        ingestion = await observer.ingestion(accepted)
        assert (ingestion.attempt_count, ingestion.deaths) == (1, 1 if begun else 0)
        assert ingestion.fence > held.fence + 1
        assert not (service.settings.folder / WORK_FOLDER / "another").exists()

    async def test_what_a_dead_worker_held_is_logged_with_its_tenant_and_document(
        self, service: Service, sweeper: Sweeper, upload: Upload, caplog: pytest.LogCaptureFixture
    ) -> None:
        (service.settings.folder / WORK_FOLDER / "dead").mkdir(parents=True)
        accepted = await upload()
        await claim(service, accepted, worker_id="dead")

        await sweeper.relieve_dead_workers()

        assert logged(caplog, "taken back from a dead worker") == ids_of(service, accepted)

    async def test_what_was_paused_in_a_dead_worker_only_is_paused_no_more(
        self, service: Service, sweeper: Sweeper
    ) -> None:
        (service.settings.folder / WORK_FOLDER / "dead").mkdir(parents=True)
        refused = Cause("small model", "extract", "unauthorized", "the key is refused; set another")
        absent = Cause("tesseract", "transcribe", "misconfigured", "Tesseract is absent; install it")
        async with service.database.connection() as conn:
            await pauses.record(conn, "dead", [refused, absent])
            await pauses.record(conn, "living", [absent])

        await sweeper.relieve_dead_workers()

        async with service.database.tenant(service.default_tenant_id) as conn:
            assert [row.part for row in await pauses.current(conn)] == ["tesseract"]

    async def test_a_living_worker_keeps_what_it_holds(
        self, service: Service, sweeper: Sweeper, upload: Upload, neighbour: Neighbour, observer: Observer
    ) -> None:
        accepted = await upload()
        await due(service)
        held = await claim(service, accepted)

        await sweeper.relieve_dead_workers()

        assert (await observer.ingestion(accepted)).fence == held.fence
        assert await due(service) == []
        assert (service.settings.folder / WORK_FOLDER / "another").is_dir()
        neighbour.kill()

    async def test_a_dead_workers_claim_that_another_has_taken_over_is_left_alone(
        self, service: Service, sweeper: Sweeper, upload: Upload, observer: Observer
    ) -> None:
        (service.settings.folder / WORK_FOLDER / "dead").mkdir(parents=True)
        accepted = await upload()
        await due(service)
        held = await claim(service, accepted, worker_id="living")

        await sweeper.relieve_dead_workers()

        assert (await observer.ingestion(accepted)).fence == held.fence
        assert await due(service) == []

    async def test_between_finding_and_giving_back_another_may_have_been_faster(
        self, service: Service, upload: Upload
    ) -> None:
        accepted = await upload()
        await claim(service, accepted, worker_id="living")

        async with service.database.tenant(service.default_tenant_id) as conn:
            given = await sweeps.give_back(conn, [accepted.ingestion_id or new_id()], worker_id="dead")
            noted = await sweeps.note_sent(conn, [accepted.ingestion_id or new_id()])

        assert (given, noted) == ([], [])


class TestDeadMessages:
    async def die(self, service: Service, body: str) -> None:
        async with service.database.connection() as conn:
            await conn.execute(
                """
                INSERT INTO dead_message (id, queue, body, receive_count, sent_at)
                VALUES (%s, 'ingestion', %s, 1000, now())
                """,
                [new_id(), body],
            )

    async def test_a_message_received_too_often_becomes_a_letter_of_its_owner(
        self, service: Service, sweeper: Sweeper, upload: Upload, observer: Observer
    ) -> None:
        accepted = await upload()
        await change(service, "DELETE FROM message")
        await self.die(service, str(accepted.ingestion_id))

        await sweeper.empty_dead_messages()

        document = await observer.document(accepted)
        assert (document.state, document.error_code) == ("failed", "crashed")
        (letter,) = await observer.letters()
        assert (letter.ingestion_id, letter.receive_count) == (accepted.ingestion_id, 1000)
        assert await service.queue.dead_messages(limit=10) == []

    async def test_a_document_that_the_sweeper_fails_is_counted_and_logged_with_its_tenant(
        self, service: Service, upload: Upload, caplog: pytest.LogCaptureFixture
    ) -> None:
        metrics = Metrics()
        accepted = await upload()
        await self.die(service, str(accepted.ingestion_id))

        await Sweeper(service, metrics).empty_dead_messages()

        assert logged(caplog, "ingestion failed") == ids_of(service, accepted)
        assert b'docmill_documents_total{code="crashed",outcome="failed"} 1.0' in metrics.exposition()

    async def test_what_is_in_work_is_not_failed(
        self, service: Service, sweeper: Sweeper, upload: Upload, observer: Observer
    ) -> None:
        accepted = await upload()
        await claim(service, accepted)
        await self.die(service, str(accepted.ingestion_id))

        await sweeper.empty_dead_messages()

        assert (await observer.document(accepted)).state == "processing"
        assert await service.queue.dead_messages(limit=10) == []

    async def test_what_names_nothing_is_dropped(
        self, service: Service, sweeper: Sweeper, observer: Observer, caplog: pytest.LogCaptureFixture
    ) -> None:
        await self.die(service, "secret words")
        await self.die(service, str(new_id()))

        await sweeper.empty_dead_messages()

        assert await service.queue.dead_messages(limit=10) == []
        assert await observer.letters() == []
        assert "not an ingestion id" in caplog.text
        assert "secret words" not in caplog.text

    async def test_many_are_emptied_in_batches(
        self, service: Service, sweeper: Sweeper, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("docmill.service.sweeper._DEAD", 2)
        for _ in range(5):
            await self.die(service, str(new_id()))

        await sweeper.empty_dead_messages()

        assert await service.queue.dead_messages(limit=10) == []


class TestEvents:
    async def count(self, service: Service) -> int:
        async with service.database.tenant(service.default_tenant_id) as conn:
            cur = await conn.execute("SELECT count(*) FROM event")
            return (await cur.fetchone() or (0,))[0]

    async def test_events_past_their_time_are_forgotten_in_small_steps(
        self, service: Service, sweeper: Sweeper, upload: Upload, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("docmill.service.sweeper._EVENTS", 3)
        for number in range(4):
            await upload(str(number).encode())
        async with await psycopg.AsyncConnection.connect(service.owner_url) as owner:
            await owner.execute("UPDATE event SET at = at - interval '31 days'")
        await upload(b"young")

        await sweeper.forget_old_events()

        assert await self.count(service) == 2  # created, queued

    async def test_events_within_their_time_are_kept(
        self, service: Service, sweeper: Sweeper, upload: Upload
    ) -> None:
        await upload()
        before = await self.count(service)

        await sweeper.forget_old_events()

        assert await self.count(service) == before


class TestTurns:
    async def test_a_rule_is_followed_by_one_at_a_time_and_not_before_it_is_due(
        self, service: Service
    ) -> None:
        followed: list[str] = []

        async def repair() -> None:
            followed.append("once")

        rule = Rule("test", 3600, repair)
        first = await Sweeper(service).follow(rule)
        others = await asyncio.gather(*(Sweeper(service).follow(rule) for _ in range(3)))

        assert (first, others, followed) == (True, [False] * 3, ["once"])

    async def test_a_rule_that_fails_is_still_due(self, service: Service) -> None:
        async def fail() -> None:
            raise NetworkError("the queue is gone")

        with pytest.raises(NetworkError):
            await Sweeper(service).follow(Rule("test", 3600, fail))

        async with service.database.transaction() as guard:
            assert await sweeps.is_our_turn(guard, "test", again_s=60)

    async def test_while_one_process_follows_a_rule_others_pass(self, service: Service) -> None:
        async with service.database.transaction() as one, service.database.transaction() as other:
            first = await sweeps.is_our_turn(one, "test", again_s=60)
            second = await sweeps.is_our_turn(other, "test", again_s=60)

        assert (first, second) == (True, False)

    async def test_an_outage_of_the_queue_does_not_end_the_sweeping(
        self, service: Service, upload: Upload, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        repaired = asyncio.Event()
        asked = 0

        async def down_at_first(_queue: PostgresQueue, expected: Sequence[ExpectedMessage]) -> list[str]:
            nonlocal asked
            asked += 1
            if asked == 1:
                raise NetworkError("the queue is down")
            repaired.set()
            return [message.body for message in expected]

        monkeypatch.setattr(PostgresQueue, "unsent", down_at_first)
        await upload()
        await age(service)
        sweeping = asyncio.create_task(sweep_for_ever(service))

        await asyncio.wait_for(repaired.wait(), 20)

        assert not sweeping.done()
        await cancel_and_wait([sweeping])


class TestAClockThatIsPutRight:
    """Each time is written an hour ahead, as by a clock that was wrong then."""

    async def times(self, service: Service) -> dict[str, float | None]:
        """How far ahead they are now, in seconds."""
        async with service.database.tenant(service.default_tenant_id) as conn:
            cur = await conn.execute(
                """
                SELECT extract(epoch FROM progress_at - clock_timestamp())::float8,
                       extract(epoch FROM next_attempt_at - clock_timestamp())::float8,
                       extract(epoch FROM lease_until - clock_timestamp())::float8,
                       (SELECT extract(epoch FROM visible_at - clock_timestamp())::float8 FROM message),
                       (SELECT extract(epoch FROM due_at - clock_timestamp())::float8 FROM outbox)
                  FROM ingestion
                """
            )
            row = await cur.fetchone()
        assert row
        return dict(zip(("progress", "next", "lease", "message", "outbox"), row, strict=True))

    async def test_a_wait_is_as_long_as_it_was_meant(
        self, service: Service, sweeper: Sweeper, upload: Upload, caplog: pytest.LogCaptureFixture
    ) -> None:
        accepted = await upload()
        await change(
            service,
            """
            UPDATE ingestion
               SET progress_at = now() + interval '1 h', next_attempt_at = now() + interval '1 h 300 s';
            UPDATE message SET visible_at = now() + interval '1 h 300 s';
            INSERT INTO outbox (id, queue, body, due_at)
            SELECT id, 'ingestion', id, now() + interval '1 h 300 s' FROM ingestion
            """,
        )

        await sweeper.pull_back()

        times = await self.times(service)
        assert times["progress"] is not None
        assert times["progress"] <= 0
        assert times["lease"] is None
        for name in ("next", "message", "outbox"):
            assert 200 < (times[name] or 0) <= 300, name
        assert logged(caplog, "due again: the clock was ahead") == ids_of(service, accepted)

    async def test_a_lease_ends_within_its_time(
        self, service: Service, sweeper: Sweeper, upload: Upload
    ) -> None:
        await claim(service, await upload())
        await change(
            service,
            """
            UPDATE ingestion
               SET progress_at = now() + interval '1 h', lease_until = now() + interval '1 h 300 s';
            UPDATE message SET visible_at = now() + interval '1 h 300 s'
            """,
        )

        await sweeper.pull_back()

        times = await self.times(service)
        for name in ("lease", "message"):
            assert 200 < (times[name] or 0) <= 300, name

    async def test_what_the_right_clock_wrote_stays(
        self, service: Service, sweeper: Sweeper, upload: Upload
    ) -> None:
        await upload()
        await change(
            service,
            """
            UPDATE ingestion SET next_attempt_at = now() + interval '1 h';
            UPDATE message SET visible_at = now() + interval '1 h'
            """,
        )

        await sweeper.pull_back()

        times = await self.times(service)
        for name in ("next", "message"):
            assert 3500 < (times[name] or 0) <= 3600, name
