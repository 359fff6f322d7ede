import asyncio
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from docmill.errors import (
    CorruptError,
    CrashedError,
    DocumentError,
    MisconfiguredError,
    RateLimitedError,
    ServerError,
    SetupError,
    TooLargeError,
    TransientError,
    UnsupportedFileTypeError,
)
from docmill.model.document import Document, Usage
from docmill.model.result import Classification, Extraction, Failure, Schema, StepTaken, Verdict
from docmill.pipeline import Steps
from docmill.ports import Original, PageJournal, Reader, Ref, Understood
from docmill.runs import engine
from docmill.runs.append_only_file import AppendOnlyFile
from docmill.runs.events import Event, RetryScheduled, StageEnded
from docmill.runs.folders.folder_run import FolderRun
from docmill.runs.folders.record_file import RecordFile
from docmill.runs.policy import RunPolicy
from docmill.runs.report import RunReport
from docmill.runs.stores.sqlite import SqliteStore
from docmill.schemas.types import Receipt
from docmill.testing.steps import MemoryReader
from docmill.understanding.router import GateRouter

if TYPE_CHECKING:
    from docmill.runs.folders.folder_flow import DocumentOutcome

CALL = Usage(input_tokens=10, output_tokens=1, model="small", cost=Decimal("0.01"))


class Scripted:
    """A converter that raises, for each document, the errors scripted for it, and then succeeds."""

    def __init__(self, document: Document, script: dict[str, list[Exception]]) -> None:
        self.document = document
        self.script = script
        self.calls: Counter[str] = Counter()
        self.running = self.most_running = 0

    async def convert(self, original: Original, pages: PageJournal | None = None) -> Document:
        del pages
        self.calls[original.name] += 1
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        await asyncio.to_thread(original.path.exists)  # let the others run
        self.running -= 1
        errors = self.script.get(original.name, [])
        if errors:
            raise errors.pop(0)
        return self.document


class Offline:
    """Classifier, extractor and gate in one; a text in doubt does not pass.

    model_errors: why a model said nothing, one at a time.
    """

    failure: DocumentError | None = None
    """Raised once there are no more of those."""

    def __init__(self, *model_errors: TransientError) -> None:
        self._model_errors = list(model_errors)

    async def understand(
        self,
        document: Document,
        original: Original | None = None,
        *,
        schemas: Mapping[str, Schema],
        tags: Sequence[str] = (),
    ) -> Understood:
        del original, schemas, tags
        return Understood(Classification(document_type="receipt", title=document.text))

    async def extract(
        self, document: Document, schema: Schema, original: Original | None = None
    ) -> Extraction:
        del original
        assert document.pages
        if self.failure is not None and not self._model_errors:
            raise self.failure
        error = self._model_errors.pop(0) if self._model_errors else None
        steps = [StepTaken(kind="read", by="rules")]
        if error:
            steps.append(
                StepTaken(kind="failed", by="small model", note=f"({error.code})", fields=("number",))
            )
        return Extraction(
            document_type=schema.name,
            data=Receipt(),
            evidence={},
            steps=tuple(steps),
            usage=CALL if error else Usage(),
            model_error=error,
        )

    def judge(self, document: Document, extraction: Extraction, schema: Schema) -> Verdict:
        assert extraction.document_type == schema.name == "receipt"
        doubtful = "doubt" in document.text
        return Verdict(failures=(Failure(check="critical", message="no total"),) if doubtful else ())


class Run:
    """Runs over documents of the given names, and what came of the last one."""

    def __init__(self, folder: Path, document: Document, script: dict[str, list[Exception]]) -> None:
        self.path = folder / "out.jsonl"
        self.offline = Offline()
        self.converter = Scripted(document, script)
        self.done: list[DocumentOutcome] = []
        self.events: list[Event] = []
        self._folder = folder

    async def __call__(
        self,
        *names: str,
        concurrency: int = 4,
        reader: Reader | None = None,
        retry_failed: bool = True,
        version: str = "1",
    ) -> RunReport:
        offline = self.offline
        self.done.clear()
        records = RecordFile(self.path)
        earlier = records.open(keep=lambda record: not (retry_failed and record["status"] == "failed"))
        run = FolderRun(
            folder=self._folder,
            out=self.path,
            steps=Steps(self.converter, offline, offline, GateRouter(offline)),
            store=SqliteStore(self._folder / "runs.sqlite"),
            policy=RunPolicy(concurrency=concurrency, max_retries=2),
            reader=reader or MemoryReader({name: name.encode() for name in names}, self._folder),
            retry=retry_failed,
            on_done=self.done.append,
            on_event=self.events.append,
        )
        try:
            return await run.run([Ref(name, name, version=version) for name in names], records, earlier)
        finally:
            records.close()

    @property
    def by_status(self) -> Counter[str]:
        return Counter(done.status for done in self.done)

    @property
    def by_error(self) -> Counter[str]:
        return Counter(done.code for done in self.done if done.code)

    @property
    def records(self) -> dict[str, dict[str, Any]]:
        records = [json.loads(line) for line in self.path.read_text().splitlines()]
        assert len({record["source"] for record in records}) == len(records)
        return {record["source"]: record for record in records}


@pytest.fixture
def run_with(tmp_path: Path, make_document: Callable[..., Document]) -> Callable[..., Run]:
    def make(text: str = "Total 1.00", **script: list[Exception]) -> Run:
        return Run(tmp_path, make_document(text), script)

    return make


@pytest.fixture
def delays(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The delays a run would have waited; none is waited."""
    waited: list[float] = []
    planned = RunPolicy.delay_s

    def delay(self: RunPolicy, error: TransientError | SetupError, *, attempt: int, jitter: float) -> float:
        assert 0 <= jitter < 1
        waited.append(planned(self, error, attempt=attempt, jitter=0))
        return 0

    monkeypatch.setattr(RunPolicy, "delay_s", delay)
    return waited


def fail_writes(patch: pytest.MonkeyPatch, times: int) -> None:
    """Let the disk take nothing the first so many times."""
    write = AppendOnlyFile.append
    left = [times]

    def failing(self: AppendOnlyFile, content: bytes) -> None:
        if left[0]:
            left[0] -= 1
            raise OSError(28, "no room")
        write(self, content)

    patch.setattr(AppendOnlyFile, "append", failing)
    patch.setattr(engine, "STORE_DELAYS_S", (0.01, 0.01))


async def test_every_document_has_a_record(run_with: Callable[..., Run]) -> None:
    run = run_with(b=[CorruptError("broken beyond repair")])

    report = await run("a", "b", "c")

    assert run.by_status == {"completed": 2, "failed": 1}
    assert run.by_error == {"corrupt": 1}
    assert (report.total, report.completed, report.failed) == (3, 2, 1)
    assert sum(done.pages for done in run.done) == 2
    assert run.records["a"]["status"] == "completed"
    assert run.records["b"]["error"] == {
        "code": "corrupt",
        "step": "transcribe",
        "message": "broken beyond repair",
    }
    assert len(run.records["b"]["content_hash"]) == 64
    assert {done.ref.key: done.status for done in run.done} == {
        "a": "completed",
        "b": "failed",
        "c": "completed",
    }
    states = {state.path: (state.status, state.error) async for state in report}
    assert states["b"] == ("failed", "[transcribe] broken beyond repair")


async def test_a_document_that_fails_its_checks_needs_review(run_with: Callable[..., Run]) -> None:
    run = run_with("in doubt")

    report = await run("a")

    assert run.by_status == report.counts == {"needs_review": 1}
    assert run.records["a"]["verdict"] == {
        "passed": False,
        "failures": [{"check": "critical", "message": "no total", "fields": []}],
    }


async def test_an_unsupported_type_is_completed_and_says_so(run_with: Callable[..., Run]) -> None:
    run = run_with(a=[UnsupportedFileTypeError("cannot read films")])

    await run("a")

    assert run.by_status == {"not_read": 1}
    assert run.by_error == {"unsupported_file_type": 1}
    assert run.records["a"]["status"] == "completed"
    assert run.records["a"]["error"]["code"] == "unsupported_file_type"


async def test_a_passing_fault_is_tried_again(run_with: Callable[..., Run], delays: list[float]) -> None:
    run = run_with(a=[CrashedError("died"), CrashedError("died")])

    await run("a")

    assert run.by_status == {"completed": 1}
    assert run.records["a"]["attempts"] == 3
    assert delays == [2, 4]
    assert [event.error for event in run.events if isinstance(event, RetryScheduled)] == [
        "[transcribe] died",
        "[transcribe] died",
    ]


async def test_the_end_of_each_step_is_told(run_with: Callable[..., Run], delays: list[float]) -> None:
    run = run_with(a=[CrashedError("died")])

    await run("a")

    assert len(delays) == 1
    ends = [event for event in run.events if isinstance(event, StageEnded)]
    steps = [(end.stage, None if end.cause is None else end.cause.code) for end in ends]
    crashed = steps.index(("transcribe", "crashed"))
    assert [step for step, _ in steps[crashed + 1 :]][-1] == "export"
    assert [code for _, code in steps].count(None) == len(steps) - 1


async def test_waiting_for_a_provider_uses_up_no_attempt(
    run_with: Callable[..., Run], delays: list[float]
) -> None:
    run = run_with(a=[CrashedError("left alone", attempted=False) for _ in range(5)])

    await run("a")

    assert run.by_status == {"completed": 1}
    assert run.records["a"]["attempts"] == 1
    assert len(delays) == 5


async def test_attempts_are_used_up_once(run_with: Callable[..., Run], delays: list[float]) -> None:
    run = run_with(a=[CrashedError("died") for _ in range(9)])

    await run("a", "b")

    assert run.by_status == {"failed": 1, "completed": 1}
    assert run.converter.calls["a"] == run.records["a"]["attempts"] == 3
    assert len(delays) == 2


async def test_a_fault_of_our_own_is_recorded_like_any_other(
    run_with: Callable[..., Run], delays: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    run = run_with(a=[ZeroDivisionError() for _ in range(3)])

    await run("a", "b")

    assert run.by_error == {"internal": 1}
    assert "ZeroDivisionError" in run.records["a"]["error"]["message"]
    assert "ZeroDivisionError" in caplog.text
    assert len(delays) == 2


async def test_a_fault_of_the_setup_stops_the_run(run_with: Callable[..., Run]) -> None:
    run = run_with(b=[MisconfiguredError("no model")])

    with pytest.raises(MisconfiguredError, match="no model"):
        await run("a", "b", "c", concurrency=1)

    await run("a", "b", "c")
    assert set(run.records) == {"a", "b", "c"}


async def test_no_more_documents_are_in_flight_than_allowed(run_with: Callable[..., Run]) -> None:
    run = run_with()

    await run(*"abcdefghij", concurrency=3)

    assert run.converter.most_running <= 3
    assert len(run.records) == 10


async def test_a_waiting_document_leaves_its_slot_to_others(
    run_with: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_with(a=[CrashedError("died")])
    monkeypatch.setattr(RunPolicy, "delay_s", lambda *_, **__: 0.2)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]

    await asyncio.wait_for(run("a", "b", "c", concurrency=1), timeout=20)

    assert [done.ref.key for done in run.done] == ["b", "c", "a"]


async def test_a_second_run_takes_up_what_is_new_or_failed(run_with: Callable[..., Run]) -> None:
    run = run_with(b=[CorruptError("broken")])
    await run("a", "b")

    report = await run("a", "b", "c")

    assert run.by_status == {"completed": 2}
    assert report.counts == {"completed": 3}
    assert run.converter.calls == {"a": 1, "b": 2, "c": 1}
    assert set(run.records) == {"a", "b", "c"}


async def test_a_failed_document_stays_failed_unless_it_is_to_be_tried_again(
    run_with: Callable[..., Run],
) -> None:
    run = run_with(b=[CorruptError("broken")])
    await run("a", "b")

    report = await run("a", "b", retry_failed=False)

    assert run.done == []
    assert report.counts == {"completed": 1, "failed": 1}
    assert run.records["b"]["status"] == "failed"


async def test_without_its_state_a_run_goes_on_from_its_records(
    run_with: Callable[..., Run], tmp_path: Path
) -> None:
    run = run_with(b=[CorruptError("broken")])
    await run("a", "b")
    (tmp_path / "runs.sqlite").unlink()
    before = run.path.read_text()

    report = await run("a", "b", retry_failed=False)

    assert run.by_status == {"unchanged": 2}
    assert report.counts == {"completed": 1, "failed": 1}
    assert run.converter.calls == {"a": 1, "b": 1}
    assert run.path.read_text() == before


async def test_what_has_lost_its_record_is_read_again(run_with: Callable[..., Run]) -> None:
    run = run_with()
    await run("a", "b")
    run.path.write_text(run.path.read_text().splitlines(keepends=True)[0])
    (left,) = run.records

    await run("a", "b")

    assert {done.ref.key: done.status for done in run.done} == {
        left: "unchanged",
        ({"a", "b"} - {left}).pop(): "completed",
    }
    assert set(run.records) == {"a", "b"}


async def test_a_record_file_that_was_restored_is_brought_up_to_date(
    run_with: Callable[..., Run], tmp_path: Path
) -> None:
    run = run_with()
    await run("a", "b")
    restored = run.path.read_bytes()
    changed = MemoryReader({"a": b"another", "b": b"b"}, tmp_path)
    await run("a", "b", reader=changed, version="2")
    after = run.records["a"]["content_hash"]
    run.path.write_bytes(restored)

    await run("a", "b", reader=changed, version="2")

    assert {done.ref.key: done.status for done in run.done} == {"a": "completed", "b": "unchanged"}
    assert run.records["a"]["content_hash"] == after


async def test_content_that_came_back_is_compared_with_its_record_as_well(
    run_with: Callable[..., Run], tmp_path: Path
) -> None:
    run, store = run_with(), tmp_path / "runs.sqlite"
    await run("a")
    before = run.records["a"]["content_hash"]
    kept = store.read_bytes()
    await run("a", reader=MemoryReader({"a": b"another"}, tmp_path), version="2")
    store.write_bytes(kept)  # the state of a run that was elsewhere meanwhile

    await run("a", version="3")

    assert run.records["a"]["content_hash"] == before


async def test_a_document_that_fails_without_a_hash_does_not_restart_the_run(
    run_with: Callable[..., Run], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = run_with()
    await run("a", "b")
    gone = MemoryReader({"b": b"b"}, tmp_path)
    await run("a", "b", reader=gone, version="2", retry_failed=False)
    assert (run.records["a"]["status"], run.records["a"]["content_hash"]) == ("failed", None)

    await run("a", "b", reader=gone, version="2", retry_failed=False)

    assert run.done == []
    assert "records are missing" not in caplog.text


async def test_a_changed_document_is_read_and_hashed_once_and_has_one_record(
    run_with: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_with()
    await run("a", "b")
    before = run.records["a"]["content_hash"]
    reads = Counter[str]()
    read = MemoryReader.read

    async def counted(reader: MemoryReader, ref: Ref) -> Original:
        reads[ref.key] += 1
        return await read(reader, ref)

    monkeypatch.setattr(MemoryReader, "read", counted)
    await run("a", "b", reader=MemoryReader({"a": b"another", "b": b"b"}, tmp_path), version="2")

    assert reads == {"a": 1, "b": 1}
    assert {done.ref.key: done.status for done in run.done} == {"a": "completed", "b": "unchanged"}
    assert run.converter.calls == {"a": 2, "b": 1}
    assert run.records["a"]["content_hash"] != before


async def test_a_reader_that_fails_leaves_a_record_without_hash(
    run_with: Callable[..., Run], tmp_path: Path
) -> None:
    run = run_with()

    await run("gone", reader=MemoryReader({}, tmp_path))

    assert run.by_error == {"corrupt": 1}
    assert run.records["gone"]["content_hash"] is None


async def test_a_model_that_fails_for_now_is_asked_again_and_the_document_is_read_once(
    run_with: Callable[..., Run], delays: list[float]
) -> None:
    run = run_with()
    run.offline = Offline(RateLimitedError("slow", retry_after_s=40))

    await run("a")

    assert run.by_status == {"completed": 1}
    assert delays == [40]
    assert run.converter.calls == {"a": 1}
    assert (run.records["a"]["attempts"], run.records["a"]["reason"]) == (2, "rules")


async def test_a_model_that_fails_to_the_last_leaves_what_rules_found_and_the_reason(
    run_with: Callable[..., Run], delays: list[float]
) -> None:
    run = run_with()
    run.offline = Offline(*(ServerError("down") for _ in range(3)))

    report = await run("a")

    assert run.by_status == {"completed": 1}
    assert delays == [2, 4]
    assert run.records["a"]["attempts"] == 3
    assert run.records["a"]["usage"]["cost"] == "0.03"
    assert [state.cost async for state in report] == [Decimal("0.03")]
    assert run.records["a"]["reason"] == "rules; asked small model for number: it failed (server_error)"
    assert run.records["a"]["error"] is None


@pytest.mark.parametrize("script", [{}, {"b": [CorruptError("broken")]}])
async def test_only_the_writing_of_a_record_is_repeated_where_that_failed(
    run_with: Callable[..., Run],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    script: dict[str, list[Exception]],
) -> None:
    run = run_with(**script)
    fail_writes(monkeypatch, 2)

    await run("a", "b")

    assert run.converter.calls == {"a": 1, "b": 1}
    assert set(run.records) == {"a", "b"}
    assert "no room; tried again in 0.01 s" in caplog.text


@pytest.mark.parametrize("script", [{}, {"b": [CorruptError("broken")]}])
async def test_a_run_that_cannot_write_a_record_stops_and_is_gone_on_with(
    run_with: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, script: dict[str, list[Exception]]
) -> None:
    run = run_with(**script)
    with monkeypatch.context() as patch:
        fail_writes(patch, 99)
        with pytest.raises(MisconfiguredError, match=r"no room\. .* run the same command again"):
            await run("a", "b", "c", concurrency=1)
    assert run.path.read_text() == ""

    await run("a", "b", "c")

    assert set(run.records) == {"a", "b", "c"}


async def test_a_record_of_a_failed_document_says_what_its_attempts_have_cost(
    run_with: Callable[..., Run], delays: list[float]
) -> None:
    run = run_with()
    run.offline = Offline(ServerError("down"), ServerError("down"))
    run.offline.failure = TooLargeError("too large after all")

    await run("a")

    assert run.by_status == {"failed": 1}
    assert delays == [2, 4]
    assert run.records["a"]["usage"]["cost"] == "0.02"
