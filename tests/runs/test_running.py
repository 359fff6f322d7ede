"""Runs of pipelines: what becomes of documents, good and bad."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field
from tests.runs.components import (
    QUICK,
    FirstWordExtractor,
    Letter,
    MemoryExporter,
    TextConverter,
    TextReader,
    text_pipeline,
)

from docmill.errors import (
    CorruptError,
    FailedDocumentsError,
    MisconfiguredError,
    RateLimitedError,
    RunExistsError,
    ServerError,
    UnauthorizedError,
    UnknownRunError,
)
from docmill.model.document import Document, Usage
from docmill.model.result import Classification, Failure, Verdict
from docmill.ports import Ref
from docmill.runs.context import Context
from docmill.runs.definition import Kind
from docmill.runs.document_bytes import DocumentBytes
from docmill.runs.events import DocumentEnded, Event, Progress, RetryScheduled, RunEnded, RunStarted
from docmill.runs.policy import RunPolicy
from docmill.runs.roles import ExtractionResult
from docmill.runs.running import Pipeline
from docmill.runs.states import DeadLetter, DocumentState
from docmill.runs.stores.memory import MemoryStore
from docmill.runs.stores.sqlite import SqliteStore
from docmill.schemas.filling import filled
from docmill.workers.pool import Pool
from reading import trespass


def failing_times(times: int, error: Exception, *, on: str) -> Callable[[str, int], None]:
    """Raise for one document, so many times."""

    def fail(key: str, call: int) -> None:
        if key == on and call <= times:
            raise error

    return fail


async def state_of(store: MemoryStore | SqliteStore, path: str) -> DocumentState:
    state = await store.find_document("run", path)
    assert state is not None
    return state


async def letters_of(store: MemoryStore | SqliteStore) -> list[DeadLetter]:
    return [letter async for letter in store.dead_letters("run")]


def test_ten_lines_take_documents_to_their_export(tmp_path: Path) -> None:
    exporter = MemoryExporter()
    report = text_pipeline(exporter=exporter).run(["anna 1", "bert 2"], store=tmp_path / "runs.sqlite")
    assert exporter.exported == {"anna 1": {"sender": "anna"}, "bert 2": {"sender": "bert"}}
    assert (report.total, report.completed, report.failed, report.is_interrupted) == (2, 2, 0, False)
    assert [(state.path, state.status, state.attempts) for state in report] == [
        ("anna 1", "completed", 1),
        ("bert 2", "completed", 1),
    ]
    assert len(report.run_id) == 8
    assert report.run.status == "completed"
    report.raise_on_failure()


async def test_inputs_may_come_from_an_asynchronous_iterator_as_they_come() -> None:
    is_exported = asyncio.Event()
    exporter = MemoryExporter(lambda _key, _call: is_exported.set())
    was_exported_before_the_last_came = False

    async def arriving() -> AsyncIterator[str]:
        nonlocal was_exported_before_the_last_came
        yield "first"
        await is_exported.wait()
        was_exported_before_the_last_came = True
        yield "last"

    report = await text_pipeline(exporter=exporter).arun(arriving(), store=MemoryStore())
    assert was_exported_before_the_last_came
    assert report.completed == 2


def test_a_lister_names_the_documents_where_none_are_given() -> None:
    class Lister:
        def list(self, context: Context[Any]) -> Iterator[Ref]:
            yield Ref("one", "One", {"run": context.run_id})

    report = text_pipeline(lister=Lister()).run(run_id="listed", store=MemoryStore())
    (state,) = report
    assert (state.path, state.name, state.metadata) == ("one", "One", {"run": "listed"})


def test_an_error_that_may_pass_is_tried_again_and_leaves_no_trace() -> None:
    events: list[Event] = []
    extractor = FirstWordExtractor(failing_times(2, ConnectionResetError("reset"), on="b"))
    store = MemoryStore()
    report = text_pipeline(extractor=extractor).run("abc", run_id="run", store=store, on_event=events.append)
    assert report.completed == 3
    state = next(state for state in report if state.path == "b")
    assert (state.attempts, state.error, state.status) == (3, None, "completed")
    retries = [event for event in events if isinstance(event, RetryScheduled)]
    assert [(retry.path, retry.stage, retry.error, retry.attempt) for retry in retries] == [
        ("b", "extract", "[extract] reset", 1),
        ("b", "extract", "[extract] reset", 2),
    ]


async def test_after_three_retries_a_document_has_failed_and_has_a_dead_letter() -> None:
    extractor = FirstWordExtractor(failing_times(99, ValueError("no sender"), on="b"))
    store = MemoryStore()
    report = await text_pipeline(extractor=extractor).arun("abc", run_id="run", store=store)
    assert (report.completed, report.failed) == (2, 1)
    state = await state_of(store, "b")
    assert (state.status, state.attempts, state.error) == ("failed", 4, "[extract] ValueError: no sender")
    (letter,) = await letters_of(store)
    assert (letter.path, letter.stage, letter.error_type, letter.code, letter.attempts) == (
        "b",
        "extract",
        "ValueError",
        "internal",
        4,
    )
    assert "raise error\nValueError: no sender" in letter.traceback
    with pytest.raises(
        FailedDocumentsError, match=r"1 of 3 .* failed:\nb: \[extract\] ValueError: no sender"
    ):
        await asyncio.to_thread(report.raise_on_failure)


async def test_an_error_that_cannot_pass_is_not_tried_again() -> None:
    extractor = FirstWordExtractor(failing_times(99, CorruptError("torn"), on="b"))
    store = MemoryStore()
    await text_pipeline(extractor=extractor).arun("ab", run_id="run", store=store)
    assert extractor.calls == {"a": 1, "b": 1}
    assert (await letters_of(store))[0].code == "corrupt"


async def test_failed_documents_are_tried_again_on_request_and_their_dead_letters_go() -> None:
    extractor = FirstWordExtractor(failing_times(1, CorruptError("torn"), on="b"))
    store = MemoryStore()
    pipeline = text_pipeline(extractor=extractor)
    await pipeline.arun("ab", run_id="run", store=store)
    report = await pipeline.aresume("run", "ab", store=store)
    assert (report.completed, report.failed) == (1, 1), "nothing is tried again unasked"
    report = await pipeline.aresume("run", "ab", store=store, retry_failed=True)
    assert (report.completed, report.failed) == (2, 0)
    assert await letters_of(store) == []
    assert (await state_of(store, "b")).error is None


async def test_documents_that_fail_for_good_do_not_delay_the_good_ones() -> None:
    bad = {f"bad {number}" for number in range(5)}

    def fail(key: str, call: int) -> None:
        del call
        if key in bad:
            raise ConnectionResetError(key)

    order: list[str] = []
    pipeline = text_pipeline(
        extractor=FirstWordExtractor(fail),
        policy=RunPolicy(concurrency=5, backoff_base=0.5, breaker_failures=1000, max_retries=1),
    )
    inputs = [*sorted(bad), *(f"good {number}" for number in range(20))]
    started = time.monotonic()
    first_good_s = 0.0

    def on_event(event: Event) -> None:
        nonlocal first_good_s
        if isinstance(event, DocumentEnded):
            order.append(event.path)
            if event.path.startswith("good") and not first_good_s:
                first_good_s = time.monotonic() - started

    await pipeline.arun(inputs, store=MemoryStore(), on_event=on_event)
    assert all(path.startswith("good") for path in order[:20]), "waiting documents hold no slot"
    assert len(order) == 25


async def test_a_failed_export_repeats_no_stage_before_it(tmp_path: Path) -> None:
    reader, converter, extractor = TextReader(), TextConverter(), FirstWordExtractor()
    exporter = MemoryExporter(failing_times(2, ServerError("target is down"), on="a"))
    pipeline = text_pipeline(reader, converter=converter, extractor=extractor, exporter=exporter)
    report = await pipeline.arun("a", run_id="run", store=tmp_path / "runs.sqlite")
    assert report.completed == 1
    assert exporter.calls["a"] == 3
    assert (converter.calls["a"], extractor.calls["a"]) == (1, 1)


async def test_kept_results_are_those_of_this_content_and_this_pipeline() -> None:
    class OtherExtractor(FirstWordExtractor):
        fingerprint = "another model"

    store, texts = MemoryStore(), {"a": "anna", "b": "bert"}
    exporter = MemoryExporter(failing_times(4, ServerError("target is down"), on="a"))
    reader = TextReader(texts)
    first = text_pipeline(reader, exporter=exporter)
    assert (await first.arun("ab", run_id="run", store=store)).failed == 1
    extractor = OtherExtractor()
    second = text_pipeline(reader, extractor=extractor, exporter=exporter)
    events: list[Event] = []
    await second.aresume("run", None, store=store, retry_failed=True, on_event=events.append)
    assert extractor.calls == {"a": 1}, "what another extractor found is not used"
    assert isinstance(events[0], RunStarted)
    assert (events[0].is_resumed, events[0].is_changed) == (True, True)


async def test_a_stage_that_takes_too_long_is_cancelled_and_tried_again() -> None:
    class SlowOnce(FirstWordExtractor):
        async def extract(self, document: Document, schema: type[Letter], context: Context[Any]) -> Letter:
            self.calls["all"] += 1
            if self.calls["all"] == 1:
                await asyncio.sleep(60)
            return await super().extract(document, schema, context)

    store, events = MemoryStore(), list[Event]()
    policy = RunPolicy(backoff_base=0.01, limits_s={"extract": 0.2})
    report = await text_pipeline(extractor=SlowOnce(), policy=policy).arun(
        "a", run_id="run", store=store, on_event=events.append
    )
    assert report.completed == 1
    assert (await state_of(store, "a")).attempts == 2
    (retry,) = [event for event in events if isinstance(event, RetryScheduled)]
    assert retry.error == "[extract] extract took longer than its limit and was cancelled"


async def test_a_stage_may_be_allowed_more_time_for_a_long_document() -> None:
    class SlowExtractor(FirstWordExtractor):
        async def extract(self, document: Document, schema: type[Letter], context: Context[Any]) -> Letter:
            if document.text == "long":
                context.document.allow_time(60)
            await asyncio.sleep(0.5)
            return schema(sender="x")

    policy = RunPolicy(limits_s={"extract": 0.1}, max_retries=0)
    report = await text_pipeline(extractor=SlowExtractor(), policy=policy).arun(
        ["long", "short"], store=MemoryStore()
    )
    assert (report.completed, report.failed) == (1, 1)


async def test_time_in_the_pool_counts_by_what_it_uses_of_the_processor() -> None:
    class PooledExtractor(FirstWordExtractor):
        async def extract(self, document: Document, schema: type[Letter], context: Context[Any]) -> Letter:
            if document.text == "burns":
                await pool.run(trespass.burn, 60.0, 1, limit_s=60)
            else:
                await pool.run(time.sleep, 0.8, limit_s=60)
            return schema(sender="x")

    policy = RunPolicy(concurrency=4, limits_s={"extract": 1.5}, max_retries=0)
    store = MemoryStore()
    async with Pool(1) as pool:
        await text_pipeline(extractor=PooledExtractor(), policy=policy).arun(
            ["a", "b", "c", "burns"], run_id="run", store=store
        )

    assert [(await state_of(store, path)).status for path in ("a", "b", "c")] == ["completed"] * 3
    burning = (await state_of(store, "burns")).error
    assert burning == "[extract] extract took longer than its limit and was cancelled"


async def test_temporary_files_of_documents_are_removed_when_these_have_ended(tmp_path: Path) -> None:
    class DownloadingReader:
        def read(self, ref: Ref, context: Context[Any]) -> DocumentBytes:
            path = tmp_path / f"{ref.key}-{context.document.attempt}"
            path.write_text(ref.key)
            return DocumentBytes(ref.name, path=path, is_temporary=True)

    extractor = FirstWordExtractor(failing_times(1, ValueError("no sender"), on="b"))
    exporter = MemoryExporter()
    pipeline = text_pipeline(extractor=extractor, exporter=exporter)
    pipeline = replace(pipeline, reader=DownloadingReader())
    report = await pipeline.arun("abc", store=MemoryStore())
    assert report.completed == 3
    assert exporter.exported["b"] == {"sender": "b"}
    assert not list(tmp_path.iterdir())


async def test_a_blocked_thread_costs_its_own_document_only() -> None:
    release = asyncio.Event()

    class Blocking(TextConverter):
        def convert(self, document_bytes: DocumentBytes, context: Context[Any]) -> Document:
            if document_bytes.read() == b"hangs":
                while not release.is_set():
                    time.sleep(0.01)  # not to be interrupted, as a call into a library
            return super().convert(document_bytes, context)

    policy = RunPolicy(concurrency=1, max_retries=0, limits_s={"convert": 0.2})
    pipeline = text_pipeline(converter=Blocking(), policy=policy)
    try:
        report = await pipeline.arun(["hangs", "a", "b"], store=MemoryStore())
    finally:
        release.set()
    assert (report.completed, report.failed) == (2, 1)


async def test_a_setup_error_stops_the_run_which_can_go_on_later() -> None:
    extractor = FirstWordExtractor(failing_times(1, UnauthorizedError("the key is wrong"), on="b"))
    store = MemoryStore()
    pipeline = text_pipeline(extractor=extractor, policy=RunPolicy(concurrency=1))
    with pytest.raises(UnauthorizedError, match="the key is wrong"):
        await pipeline.arun("abcd", run_id="run", store=store)
    assert (await store.find_run("run")).status == "interrupted"
    assert (await state_of(store, "b")).attempts == 0, "it is no fault of the document"
    report = await pipeline.aresume("run", store=store)
    assert report.completed == 4
    assert extractor.calls["a"] == 1


async def test_statuses_of_http_decide_what_follows() -> None:
    class Response:
        def __init__(self, status_code: int) -> None:
            self.status_code = status_code
            self.headers = {"retry-after": "0"}

    class StatusError(Exception):
        def __init__(self, status_code: int) -> None:
            super().__init__(f"answered {status_code}")
            self.response = Response(status_code)

    def fail(key: str, call: int) -> None:
        if call == 1:
            raise StatusError(int(key))

    store = MemoryStore()
    await text_pipeline(extractor=FirstWordExtractor(fail)).arun(
        ["429", "503", "404"], run_id="run", store=store
    )
    assert (await state_of(store, "429")).attempts == 2
    assert (await state_of(store, "503")).attempts == 2
    assert [(letter.path, letter.code) for letter in await letters_of(store)] == [("404", "validation")]


async def test_a_stage_that_fails_again_and_again_is_left_alone_for_a_while() -> None:
    down_until = time.monotonic() + 0.6

    def fail(key: str, call: int) -> None:
        del key, call
        if time.monotonic() < down_until:
            raise ServerError("down")

    extractor = FirstWordExtractor(fail)
    policy = RunPolicy(concurrency=5, backoff_base=0.01, breaker_failures=3, breaker_s=0.2, max_retries=3)
    report = await text_pipeline(extractor=extractor, policy=policy).arun(
        [str(number) for number in range(50)], store=MemoryStore()
    )
    assert report.completed == 50, "no document has failed because the other side was down"
    assert sum(extractor.calls.values()) < 100


async def test_an_error_of_the_pipeline_itself_names_the_component() -> None:
    class Wrong(TextReader):
        async def read(self, ref: Ref, context: Context[Any]) -> bytes:
            return 42  # type: ignore[return-value]  # pyright: ignore[reportReturnType]

    with pytest.raises(MisconfiguredError, match="the reader returned int"):
        await text_pipeline(Wrong()).arun("a", store=MemoryStore())

    with pytest.raises(MisconfiguredError, match="object has no method 'read'"):
        await text_pipeline(object()).arun("a", store=MemoryStore())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


async def test_a_run_has_a_name_of_its_own_and_an_unknown_one_is_an_error() -> None:
    store, pipeline = MemoryStore(), text_pipeline()
    await pipeline.arun("a", run_id="run", store=store)
    with pytest.raises(RunExistsError, match="'run'"):
        await pipeline.arun("a", run_id="run", store=store)
    with pytest.raises(UnknownRunError, match="'other'"):
        await pipeline.aresume("other", "a", store=store)


async def test_resuming_processes_what_is_new_or_changed_and_nothing_else(tmp_path: Path) -> None:
    for name in ("same", "changed", "touched", "gone"):
        (tmp_path / name).write_text(f"{name} text")

    class FileReader(TextReader):
        async def read(self, ref: Ref, context: Context[Any]) -> bytes:
            self.calls[Path(ref.key).name] += 1
            return Path(ref.key).read_bytes()

    store, reader, exporter = MemoryStore(), FileReader(), MemoryExporter()
    pipeline = text_pipeline(reader, exporter=exporter)
    files = sorted(tmp_path.iterdir())
    first = await pipeline.arun(files, run_id="run", store=store)
    assert first.completed == 4
    (tmp_path / "changed").write_text("other text")
    (tmp_path / "touched").write_text("touched text")
    (tmp_path / "gone").unlink()
    (tmp_path / "new").write_text("new text")
    ended: list[DocumentEnded] = []
    report = await pipeline.aresume(
        "run",
        sorted(tmp_path.iterdir()),
        store=store,
        on_event=lambda event: ended.append(event) if isinstance(event, DocumentEnded) else None,
    )
    assert reader.calls == {"same": 1, "changed": 2, "touched": 2, "gone": 1, "new": 1}
    assert {Path(event.path).name: event.is_unchanged for event in ended} == {
        "changed": False,
        "touched": True,
        "new": False,
    }
    assert exporter.exported[str(tmp_path / "changed")] == {"sender": "other"}
    assert report.completed == 5


async def test_documents_that_are_gone_before_they_were_processed_have_vanished() -> None:
    store = MemoryStore()
    extractor = FirstWordExtractor(failing_times(99, CorruptError("torn"), on="b"))
    pipeline = text_pipeline(extractor=extractor)
    await pipeline.arun("ab", run_id="run", store=store)
    report = await pipeline.aresume("run", "a", store=store)
    assert (report.total, report.completed, report.failed) == (1, 1, 0)
    assert (await state_of(store, "b")).status == "vanished"


async def test_documents_are_routed_to_the_schema_of_their_kind() -> None:
    class Bill(Letter):
        total: int | None = None

    class BillExtractor:
        async def extract(self, document: Document, schema: type[Bill], context: Context[Any]) -> Bill:
            assert context.document.classification is not None
            assert context.document.classification.title == "A bill"
            return schema(sender="x", total=7)

    class FirstLetter:
        async def classify(self, document: Document, context: Context[Any]) -> Classification | str:
            return Classification(document_type="bill", title="A bill") if "bill" in document.text else "odd"

    exporter, bills = MemoryExporter(), MemoryExporter()
    pipeline = text_pipeline(
        exporter=exporter,
        classifier=FirstLetter(),
        kinds={"bill": Kind(schema=Bill, extractor=BillExtractor(), exporter=bills)},
    )
    await pipeline.arun(["a bill", "a letter"], store=MemoryStore())
    assert bills.exported == {"a bill": {"sender": "x", "total": 7}}
    assert exporter.exported == {"a letter": {"sender": "a"}}


async def test_doubtful_results_are_exported_and_counted_as_such() -> None:
    class Doubtful:
        async def extract(
            self, document: Document, schema: type[Letter], context: Context[Any]
        ) -> ExtractionResult[Letter]:
            del document, context
            return ExtractionResult(schema(), verdict=Verdict(failures=(Failure(check="x", message="y"),)))

    exporter = MemoryExporter()
    report = await text_pipeline(extractor=Doubtful(), exporter=exporter).arun("a", store=MemoryStore())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert dict(report.counts) == {"needs_review": 1}
    assert report.completed == 1
    assert exporter.exported == {"a": {"sender": None}}


async def test_results_of_equal_files_have_equal_keys_and_other_runs_other_ones() -> None:
    first, second = MemoryExporter(), MemoryExporter()
    texts = {"a": "same", "b": "same", "c": "other"}
    await text_pipeline(TextReader(texts), exporter=first).arun(
        list(texts), run_id="one", store=MemoryStore()
    )
    await text_pipeline(TextReader(texts), exporter=second).arun(["a"], run_id="two", store=MemoryStore())
    assert first.keys["a"] == first.keys["b"] != first.keys["c"]
    assert second.keys["a"] != first.keys["a"]


async def test_stages_have_limits_of_their_own_beside_that_of_documents() -> None:
    busy = most = most_in_all = in_all = 0

    class Counting(FirstWordExtractor):
        async def extract(self, document: Document, schema: type[Letter], context: Context[Any]) -> Letter:
            nonlocal busy, most
            busy += 1
            most = max(most, busy)
            await asyncio.sleep(0.005)
            busy -= 1
            return await super().extract(document, schema, context)

    class CountingReader(TextReader):
        async def read(self, ref: Ref, context: Context[Any]) -> bytes:
            nonlocal in_all, most_in_all
            in_all += 1
            most_in_all = max(most_in_all, in_all)
            return await super().read(ref, context)

    class Leaving(MemoryExporter):
        async def export(
            self, document: Document, data: ExtractionResult[Any], context: Context[Any]
        ) -> None:
            nonlocal in_all
            await super().export(document, data, context)
            in_all -= 1

    policy = RunPolicy(concurrency=8, stage_concurrency={"extract": 2})
    pipeline = text_pipeline(CountingReader(), extractor=Counting(), exporter=Leaving(), policy=policy)
    await pipeline.arun([str(number) for number in range(40)], store=MemoryStore())
    assert (most, most_in_all) == (2, 8)


async def test_a_listener_that_fails_harms_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def broken(event: Event) -> None:
        raise RuntimeError("no terminal")

    report = await text_pipeline().arun("abc", store=MemoryStore(), on_event=broken)
    assert report.completed == 3
    assert caplog.text.count("the run goes on") == 1


async def test_the_end_is_told_with_all_counts() -> None:
    events: list[Event] = []
    extractor = FirstWordExtractor(failing_times(9, CorruptError("torn"), on="b"))
    await text_pipeline(extractor=extractor).arun("abc", store=MemoryStore(), on_event=events.append)
    progress = [event for event in events if isinstance(event, Progress)][-1]
    assert (progress.total, progress.completed, progress.failed, progress.in_progress) == (3, 2, 1, 0)
    assert progress.is_total_final
    assert isinstance(events[-1], RunEnded)
    assert (events[-1].completed, events[-1].failed, events[-1].is_interrupted) == (2, 1, False)


async def test_components_share_an_object_and_are_opened_and_closed() -> None:
    log: list[str] = []

    class Opened(MemoryExporter):
        def open(self, context: Context[Any]) -> None:
            log.append(f"open {context.run_id}")

        async def export(
            self, document: Document, data: ExtractionResult[Any], context: Context[Any]
        ) -> None:
            context.shared.append(context.document.ref.key)

        async def close(self) -> None:
            log.append("close")

    await text_pipeline(exporter=Opened()).arun("a", run_id="run", store=MemoryStore(), shared=log)
    assert log == ["open run", "a", "close"]


async def test_a_sync_call_in_an_event_loop_says_what_to_write() -> None:
    with pytest.raises(MisconfiguredError, match=r"await pipeline\.arun"):
        text_pipeline().run("a", store=MemoryStore())


async def test_retry_after_is_waited_for() -> None:
    events: list[Event] = []
    error = RateLimitedError("slow down", retry_after_s=0.05)
    extractor = FirstWordExtractor(failing_times(1, error, on="a"))
    await text_pipeline(extractor=extractor, policy=QUICK).arun(
        "a", store=MemoryStore(), on_event=events.append
    )
    (retry,) = [event for event in events if isinstance(event, RetryScheduled)]
    assert retry.delay_s == 0.05


async def test_a_document_that_another_runner_has_taken_over_is_not_settled_twice() -> None:
    store = MemoryStore()

    class Stalled(FirstWordExtractor):
        async def extract(self, document: Document, schema: type[Letter], context: Context[Any]) -> Letter:
            if context.runner not in owners:
                owners.append(context.runner)
            if len(owners) == 1:
                await asyncio.sleep(0.4)
            return await super().extract(document, schema, context)

    owners: list[str] = []
    pipeline = text_pipeline(extractor=Stalled(), policy=RunPolicy(lease_s=0.15))
    store.renew = _never  # type: ignore[method-assign]  # the first runner gives no sign of life
    first = asyncio.create_task(pipeline.arun("a", run_id="run", store=store))
    await asyncio.sleep(0.25)
    second = await pipeline.aresume("run", store=store, lists=False)
    assert second.completed == 1
    assert (await first).completed == 1
    assert (await state_of(store, "a")).attempts == 1


async def _never(run_id: str, *, owner: str, lease_s: float) -> None:
    del run_id, owner, lease_s


class Counting:
    """Computes in a process of its own: how many words a document has, and in which process."""

    runs_in = "process"

    def __init__(self, *, sleeps_s: float = 0.0) -> None:
        self.sleeps_s = sleeps_s

    def extract(self, document: Document, schema: type[Letter], context: Context[Any]) -> Letter:
        time.sleep(self.sleeps_s)
        if document.text == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if document.text == "fail":
            raise CorruptError("not this one")
        context.document.count_usage(Usage(input_tokens=3))
        return schema(sender=f"{len(document.text.split())} {os.getpid()}")


async def test_a_component_may_compute_in_processes_of_its_own() -> None:
    exporter = MemoryExporter()
    pipeline = text_pipeline(
        extractor=Counting(),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        exporter=exporter,
        policy=replace(QUICK, max_retries=0),
    )

    report = await pipeline.arun(["one two", "fail", "die"], store=MemoryStore())

    states = {state.path: state async for state in report}
    assert states["fail"].error == "[extract] not this one"
    assert states["die"].error is not None
    assert "the process of the component ended" in states["die"].error
    assert states["one two"].tokens == 3
    words, process = exporter.exported["one two"]["sender"].split()
    assert words == "2"
    assert int(process) != os.getpid()


async def test_a_process_that_takes_too_long_is_ended() -> None:
    pipeline = text_pipeline(
        extractor=Counting(sleeps_s=30),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        policy=replace(QUICK, max_retries=0, limits_s={"extract": 3.0}),
    )

    async with asyncio.timeout(25):
        report = await pipeline.arun(["a"], store=MemoryStore())

    assert [state.error async for state in report] == [
        "[extract] extract took longer than its limit and was cancelled"
    ]


class Demanding(BaseModel):
    """Wants what documents do not always say."""

    sender: str
    number: int = Field(alias="No.")


class Empty:
    """Finds nothing. calls: that were made."""

    calls = 0

    async def extract(self, document: Document, schema: type[Demanding], context: Context[Any]) -> Demanding:
        del document, context
        self.calls += 1
        return filled(schema, {"No.": 7})


async def test_what_lacks_a_value_that_its_schema_wants_is_kept_too() -> None:
    extractor = Empty()
    exporter = MemoryExporter(failing_times(1, ConnectionError("not now"), on="a"))
    pipeline = Pipeline(
        schema=Demanding,
        reader=TextReader(),
        converter=TextConverter(),
        extractor=extractor,
        exporter=exporter,
        policy=QUICK,
    )

    report = await pipeline.arun(["a"], store=MemoryStore())

    assert report.completed == 1
    assert extractor.calls == 1
    assert exporter.exported == {"a": {"sender": None, "number": 7}}
