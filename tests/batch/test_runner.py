import asyncio
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from docmill.batch.records import RecordFile
from docmill.batch.runner import Delay, DocumentOutcome, Policy, Report, Runner
from docmill.errors import (
    CorruptError,
    CrashedError,
    DocumentError,
    MisconfiguredError,
    RateLimitedError,
    ServerError,
    TooLargeError,
    TransientError,
    UnsupportedFileTypeError,
    retry_delay_s,
)
from docmill.model.document import Document, Usage
from docmill.model.result import Classification, Extraction, Failure, Result, Schema, StepTaken, Verdict
from docmill.pipeline import Steps
from docmill.ports import Original, PageJournal, Ref, Understood
from docmill.resilience import attempts
from docmill.schemas.types import Receipt
from docmill.testing.steps import MemoryReader
from docmill.understanding.router import GateRouter

DEFAULT = Policy()
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
    """One run over documents of the given names, and what came of it."""

    def __init__(self, folder: Path, document: Document, script: dict[str, list[Exception]]) -> None:
        self.path = folder / "out.jsonl"
        self.offline = Offline()
        self.converter = Scripted(document, script)
        self.done: list[DocumentOutcome] = []
        self.delays: list[Delay] = []
        self.waiting: list[int] = []
        self._folder = folder

    async def __call__(self, *names: str, policy: Policy = DEFAULT) -> Report:
        offline = self.offline
        records = RecordFile(self.path)
        steps = Steps(
            converter=self.converter,
            understander=offline,
            extractor=offline,
            router=GateRouter(offline),
        )
        known = records.open(keep=lambda record: record["status"] != "failed")
        try:
            runner = Runner(
                steps,
                MemoryReader({name: name.encode() for name in names}, self._folder),
                records,
                policy=policy,
                on_done=self.done.append,
                on_delay=self.delays.append,
                on_waiting=self.waiting.append,
            )
            return await runner.run([Ref(name, name) for name in names], earlier=known)
        finally:
            records.close()

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

    def delay(error: TransientError, *, attempt: int, jitter: float) -> float:
        assert 0 <= jitter < 1
        waited.append(retry_delay_s(error, attempt=attempt, jitter=0))
        return 0

    monkeypatch.setattr(attempts, "retry_delay_s", delay)
    return waited


def fail_writes(patch: pytest.MonkeyPatch, times: dict[str, int]) -> None:
    """Let the first so many writes of these documents' records fail."""
    write = RecordFile.write

    def failing(self: RecordFile, record: dict[str, Any]) -> None:
        if times.get(record["source"]):
            times[record["source"]] -= 1
            raise ServerError("no room")
        write(self, record)

    patch.setattr(RecordFile, "write", failing)


async def test_every_document_has_a_record(run_with: Callable[..., Run]) -> None:
    run = run_with(b=[CorruptError("broken beyond repair")])

    report = await run("a", "b", "c")

    assert report.by_status == {"completed": 2, "failed": 1}
    assert report.by_error == {"corrupt": 1}
    assert (report.total, report.pages) == (3, 2)
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


async def test_a_document_that_fails_its_checks_needs_review(run_with: Callable[..., Run]) -> None:
    run = run_with("in doubt")

    report = await run("a")

    assert report.by_status == {"needs_review": 1}
    assert run.records["a"]["verdict"] == {
        "passed": False,
        "failures": [{"check": "critical", "message": "no total", "fields": []}],
    }


async def test_an_unsupported_type_is_completed_and_says_so(run_with: Callable[..., Run]) -> None:
    run = run_with(a=[UnsupportedFileTypeError("cannot read films")])

    report = await run("a")

    assert report.by_status == {"not_read": 1}
    assert report.by_error == {"unsupported_file_type": 1}
    assert run.records["a"]["status"] == "completed"
    assert run.records["a"]["error"]["code"] == "unsupported_file_type"


async def test_a_passing_fault_is_tried_again(run_with: Callable[..., Run], delays: list[float]) -> None:
    run = run_with(a=[CrashedError("died"), CrashedError("died")])

    report = await run("a")

    assert report.by_status == {"completed": 1}
    assert run.records["a"]["attempts"] == 3
    assert delays == [5, 60]


async def test_who_runs_it_is_told_what_waits_for_how_long_and_why(
    run_with: Callable[..., Run], delays: list[float]
) -> None:
    error = CrashedError("the reader died")
    run = run_with(a=[error])

    await run("a", "b", policy=Policy(concurrency=1))

    assert len(delays) == 1
    assert run.delays == [Delay(Ref("a", "a"), error, 0)]
    assert run.waiting == [1, 0]


async def test_waiting_for_a_provider_uses_up_no_attempt(
    run_with: Callable[..., Run], delays: list[float]
) -> None:
    run = run_with(a=[CrashedError("left alone", attempted=False) for _ in range(5)])

    report = await run("a")

    assert report.by_status == {"completed": 1}
    assert run.records["a"]["attempts"] == 1
    assert delays == [5] * 5


async def test_attempts_are_used_up_once(run_with: Callable[..., Run], delays: list[float]) -> None:
    run = run_with(a=[CrashedError("died") for _ in range(9)])

    report = await run("a", "b")

    assert report.by_status == {"failed": 1, "completed": 1}
    assert run.converter.calls["a"] == run.records["a"]["attempts"] == 3
    assert len(delays) == 2


async def test_a_fault_of_our_own_is_recorded_like_any_other(
    run_with: Callable[..., Run], delays: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    run = run_with(a=[ZeroDivisionError() for _ in range(3)])

    report = await run("a", "b")

    assert report.by_error == {"internal": 1}
    assert "ZeroDivisionError" in run.records["a"]["error"]["message"]
    assert "ZeroDivisionError" in caplog.text
    assert len(delays) == 2


async def test_a_fault_of_the_setup_stops_the_run(run_with: Callable[..., Run]) -> None:
    run = run_with(b=[MisconfiguredError("no model")])

    with pytest.raises(MisconfiguredError, match="no model"):
        await run("a", "b", "c", policy=Policy(concurrency=1))


async def test_no_more_documents_are_in_flight_than_allowed(run_with: Callable[..., Run]) -> None:
    run = run_with()

    await run(*"abcdefghij", policy=Policy(concurrency=3))

    assert run.converter.most_running <= 3
    assert len(run.records) == 10


async def test_a_waiting_document_leaves_its_slot_to_others(
    run_with: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_with(a=[CrashedError("died")])
    one_slot = Policy(concurrency=1)
    real_sleep = asyncio.sleep

    async def until_the_others_are_done(delay_s: float) -> None:
        while delay_s and len(run.done) < 2:
            await real_sleep(0)

    monkeypatch.setattr(asyncio, "sleep", until_the_others_are_done)

    report = await asyncio.wait_for(run("a", "b", "c", policy=one_slot), timeout=10)

    assert report.by_status == {"completed": 3}
    assert [done.ref.key for done in run.done] == ["b", "c", "a"]


async def test_a_second_run_takes_up_what_is_new_or_failed_or_changed(run_with: Callable[..., Run]) -> None:
    run = run_with(b=[CorruptError("broken")])
    await run("a", "b")

    report = await run("a", "b", "c")

    assert report.by_status == {"unchanged": 1, "completed": 2}
    assert run.converter.calls == {"a": 1, "b": 2, "c": 1}
    assert set(run.records) == {"a", "b", "c"}


async def test_a_changed_document_is_read_and_hashed_once(
    run_with: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_with()
    await run("a")
    run.path.write_text(run.path.read_text().replace(run.records["a"]["content_hash"], "another"))
    reads = Counter[str]()
    read = MemoryReader.read

    async def counted(reader: MemoryReader, ref: Ref) -> Original:
        reads[ref.key] += 1
        return await read(reader, ref)

    monkeypatch.setattr(MemoryReader, "read", counted)
    report = await run("a")

    assert report.by_status == {"completed": 1}
    assert reads == {"a": 1}
    assert run.converter.calls == {"a": 2}


async def test_a_reader_that_fails_leaves_a_record_without_hash(
    run_with: Callable[..., Run], tmp_path: Path
) -> None:
    run = run_with()
    records = RecordFile(run.path)
    records.open(keep=lambda _: True)
    offline = Offline()
    steps = Steps(
        run.converter,
        offline,
        offline,
        GateRouter(offline),
    )

    report = await Runner(steps, MemoryReader({}, tmp_path), records).run([Ref("gone", "gone")])
    records.close()

    assert report.by_error == {"corrupt": 1}
    assert run.records["gone"]["content_hash"] is None


async def test_a_model_that_fails_for_now_is_asked_again_and_the_document_is_read_once(
    run_with: Callable[..., Run], delays: list[float]
) -> None:
    run = run_with()
    run.offline = Offline(RateLimitedError("slow", retry_after_s=40))

    report = await run("a")

    assert report.by_status == {"completed": 1}
    assert delays == [40]
    assert run.converter.calls == {"a": 1}
    assert (run.records["a"]["attempts"], run.records["a"]["reason"]) == (2, "rules")


async def test_a_model_that_fails_to_the_last_leaves_what_rules_found_and_the_reason(
    run_with: Callable[..., Run], delays: list[float]
) -> None:
    run = run_with()
    run.offline = Offline(*(ServerError("down") for _ in range(3)))

    report = await run("a")

    assert report.by_status == {"completed": 1}
    assert delays == [5, 60]
    assert run.records["a"]["attempts"] == 3
    assert run.records["a"]["usage"]["cost"] == "0.03"
    assert run.records["a"]["reason"] == "rules; asked small model for number: it failed (server_error)"
    assert run.records["a"]["error"] is None


async def test_only_the_writing_of_a_record_is_repeated_where_that_failed(
    run_with: Callable[..., Run], delays: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_with(b=[CorruptError("broken")])
    fail_writes(monkeypatch, {"a": 2, "b": 2})

    report = await run("a", "b")

    assert report.by_status == {"completed": 1, "failed": 1}
    assert run.converter.calls == {"a": 1, "b": 1}
    assert set(run.records) == {"a", "b"}
    assert len(delays) == 4


@pytest.mark.parametrize("script", [{}, {"b": [CorruptError("broken")]}])
async def test_a_run_that_cannot_write_a_record_stops_and_is_gone_on_with(
    run_with: Callable[..., Run],
    delays: list[float],
    monkeypatch: pytest.MonkeyPatch,
    script: dict[str, list[Exception]],
) -> None:
    run = run_with(**script)
    with monkeypatch.context() as patch:
        fail_writes(patch, {"b": 3})
        with pytest.raises(MisconfiguredError, match=r"no room\. .* run the same command again"):
            await run("a", "b", "c", policy=Policy(concurrency=1))
    before = set(run.records)

    await run("a", "b", "c")

    assert before in ({"a"}, {"a", "c"})
    assert set(run.records) == {"a", "b", "c"}
    assert len(delays) == 2


async def test_a_fault_after_a_record_was_written_makes_no_second_one(
    run_with: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_with()

    def fail(self: Runner, ref: Ref, result: Result) -> None:
        raise OSError(f"{self} cannot print {ref.name}: {result.attempt}")

    monkeypatch.setattr(Runner, "_report_result", fail)

    with pytest.raises(ExceptionGroup):
        await run("a")

    assert run.records["a"]["status"] == "completed"


async def test_a_record_of_a_failed_document_says_what_its_attempts_have_cost(
    run_with: Callable[..., Run], delays: list[float]
) -> None:
    run = run_with()
    run.offline = Offline(ServerError("down"), ServerError("down"))
    run.offline.failure = TooLargeError("too large after all")

    report = await run("a")

    assert report.by_status == {"failed": 1}
    assert delays == [5, 60]
    assert run.records["a"]["usage"]["cost"] == "0.02"
