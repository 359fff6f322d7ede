"""Documents that hold documents, in a run over a folder."""

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from docmill.errors import CorruptError, MisconfiguredError, ServerError
from docmill.model.document import Document
from docmill.pipeline import PartLimits
from docmill.runs.folder_files import FolderLister
from docmill.runs.folders.folder_flow import DocumentOutcome, FolderPolicy
from docmill.runs.folders.folder_run import FolderRun
from docmill.runs.folders.record_file import RecordFile
from docmill.runs.policy import RunPolicy
from docmill.runs.report import RunReport
from docmill.runs.stores.sqlite import SqliteStore
from support.nested_documents import Content, NestedDocuments
from support.scripted_steps import AtOnceError


class Run:
    """Runs over one folder, and what came of the last."""

    def __init__(self, folder: Path, boxes: NestedDocuments) -> None:
        self.boxes = boxes
        self.folder = folder / "in"
        self.out = folder / "out.jsonl"
        self.done: Counter[str] = Counter()
        self.folder.mkdir()
        self.left_out: dict[str, tuple[str, ...]] = {}

    def give(self, files: Mapping[str, Content]) -> None:
        for name, content in files.items():
            (self.folder / name).write_text(json.dumps(content))

    async def __call__(
        self,
        parts: PartLimits | None = None,
        *,
        retry_failed: bool = False,
        concurrency: int = 4,
        max_retries: int = 0,
    ) -> RunReport:
        self.boxes.converted.clear()
        self.done.clear()
        records = RecordFile(self.out)
        earlier = records.open(keep=lambda record: not (retry_failed and record["status"] == "failed"))
        run = FolderRun(
            folder=self.folder,
            out=self.out,
            steps=self.boxes.steps(),
            store=SqliteStore(self.out.with_name("runs.sqlite")),
            policy=RunPolicy(concurrency=concurrency, max_retries=max_retries),
            rules=FolderPolicy(parts=parts or PartLimits()),
            retry=retry_failed,
            on_done=self._on_done,
        )
        try:
            return await run.run(list(FolderLister(self.folder).list()), records, earlier)
        finally:
            records.close()

    def _on_done(self, done: DocumentOutcome) -> None:
        self.done[done.status] += 1
        self.left_out |= {done.ref.key: done.left_out}

    @property
    def records(self) -> dict[str, dict[str, Any]]:
        records = [json.loads(line) for line in self.out.read_text().splitlines()]
        assert len({record["source"] for record in records}) == len(records)
        return {record["source"]: record for record in records}


@pytest.fixture
def run(tmp_path: Path, make_document: Callable[..., Document]) -> Run:
    return Run(tmp_path, NestedDocuments(make_document("Total 1.00")))


async def test_parts_become_records_of_their_own(run: Run) -> None:
    run.give({"a.zip": {"x/b.pdf": "b", "c.zip": {"d.pdf": "d"}}, "z.pdf": "z"})

    report = await run()

    assert set(run.records) == {"a.zip", "a.zip/x/b.pdf", "a.zip/c.zip", "a.zip/c.zip/d.pdf", "z.pdf"}
    assert report.total == 5
    assert run.boxes.converted.count("b.pdf") == 1


async def test_the_record_of_a_whole_names_its_parts(run: Run) -> None:
    run.give({"a.zip": {"b.pdf": "b", "bad": "x"}})

    await run()

    assert run.records["a.zip"]["parts"] == [
        {
            "source": "a.zip/b.pdf",
            "name": "b.pdf",
            "kind": "member",
            "first_page": None,
            "last_page": None,
            "problem": None,
        },
        {
            "source": None,
            "name": "bad",
            "kind": "member",
            "first_page": None,
            "last_page": None,
            "problem": "broken",
        },
    ]
    assert set(run.records) == {"a.zip", "a.zip/b.pdf"}
    assert run.left_out == {"a.zip": ("bad: broken",), "a.zip/b.pdf": ()}


async def test_no_file_of_a_part_is_left(run: Run) -> None:
    run.give({"a.zip": {"b.zip": {"c.pdf": "c"}}})

    await run()

    assert len(run.boxes.unpacked) == 2
    assert not any(folder.exists() for folder in run.boxes.unpacked)


async def test_a_second_run_takes_nothing_out_again(run: Run) -> None:
    run.give({"a.zip": {"b.pdf": "b", "c.zip": {"d.pdf": "d"}}})
    await run()

    report = await run()

    assert run.done == Counter()
    assert report.counts == {"completed": 4}
    assert run.boxes.converted == []


async def test_parts_that_a_killed_run_did_not_reach_are_taken_up(run: Run) -> None:
    run.give({"a.zip": {"b.pdf": "b", "c.zip": {"d.pdf": "d"}}})
    await run()
    lines = run.out.read_text().splitlines(keepends=True)
    run.out.write_text("".join(line for line in lines if '"a.zip/c.zip/d.pdf", "content' not in line))

    await run()

    assert run.done == Counter({"completed": 3, "unchanged": 1})
    assert set(run.records) == {"a.zip", "a.zip/b.pdf", "a.zip/c.zip", "a.zip/c.zip/d.pdf"}


async def test_failed_parts_are_tried_again_when_asked_for(run: Run) -> None:
    run.give({"a.zip": {"b.pdf": "b", "c.pdf": "c"}})
    run.boxes.errors["b.pdf"] = [CorruptError("torn")]
    first = await run()

    report = await run(retry_failed=True)

    assert first.counts == {"completed": 2, "failed": 1}
    assert run.done == Counter({"completed": 1})
    assert report.counts == {"completed": 3}
    assert set(run.records) == {"a.zip", "a.zip/b.pdf", "a.zip/c.pdf"}


async def test_a_whole_that_fails_keeps_its_parts(run: Run) -> None:
    run.give({"a.eml": {"": "a mail", "b.pdf": "b"}})
    run.boxes.whole_errors.append(CorruptError("no"))

    await run()

    assert run.records["a.eml"]["status"] == "failed"
    assert [part["source"] for part in run.records["a.eml"]["parts"]] == ["a.eml/b.pdf"]
    assert run.records["a.eml/b.pdf"]["status"] == "completed"


async def test_parts_are_taken_out_again_where_their_files_are_gone(run: Run) -> None:
    run.give({f"{number}.zip": {"a.zip": {"b.pdf": "b"}, "c.pdf": "c"} for number in range(12)})

    report = await run()

    assert report.counts == {"completed": 48}
    assert len(run.records) == 48
    assert not any(folder.exists() for folder in run.boxes.unpacked)


async def test_parts_of_a_stopped_run_are_taken_out_again(run: Run) -> None:
    run.give({"a.zip": {"b.zip": {"c.pdf": "c"}}})
    run.boxes.errors["c.pdf"] = [MisconfiguredError("no")]
    with pytest.raises(MisconfiguredError):
        await run()
    before = set(run.records)

    report = await run()

    assert before == {"a.zip", "a.zip/b.zip"}
    assert run.done == Counter({"completed": 1})
    assert report.counts == {"completed": 3}


async def test_a_part_that_is_not_there_any_more_says_so(run: Run) -> None:
    run.give({"a.zip": {"b.pdf": "b", "c.pdf": "c"}})
    run.boxes.errors["c.pdf"] = [CorruptError("torn")]
    await run()
    run.give({"a.zip": {"b.pdf": "b"}})

    await run(retry_failed=True)

    assert run.records["a.zip"]["status"] == "completed"
    assert run.records["a.zip/c.pdf"]["error"]["message"] == "'c.pdf' is not in 'a.zip' any more"


async def test_files_within_files_within_files_have_an_end(run: Run) -> None:
    run.give({"a.zip": {"a.zip": {"a.zip": {"a.zip": "deep"}}}})

    await run(PartLimits(depth=2))

    assert set(run.records) == {"a.zip", "a.zip/a.zip", "a.zip/a.zip/a.zip"}
    assert [part["problem"] for part in run.records["a.zip/a.zip/a.zip"]["parts"]] == [
        "it stands 2 deep in other files; unpack it and give what it holds"
    ]


async def test_a_file_brings_so_many_others_and_no_more(run: Run) -> None:
    run.give({"a.zip": {"b.zip": {"1": "x", "2": "x", "3": "x"}, "c.pdf": "x"}, "d.zip": {"1": "x"}})

    await run(PartLimits(in_all=4), concurrency=1)

    too_many = "more than 4 files came with one; unpack it and give it by itself"
    assert [part["problem"] for part in run.records["a.zip/b.zip"]["parts"]] == [None, None, too_many]
    assert run.records["d.zip/1"]["status"] == "completed"


async def test_the_parts_of_an_attempt_that_failed_are_not_counted_again(run: Run) -> None:
    run.give({"a.eml": {"": "body", "b.pdf": "x", "c.pdf": "x", "d.pdf": "x"}})
    run.boxes.whole_errors = [AtOnceError("away")]

    await run(PartLimits(in_all=4), max_retries=1)

    assert run.records["a.eml"]["status"] == "completed"
    assert [part["problem"] for part in run.records["a.eml"]["parts"]] == [None, None, None]


async def test_a_setup_that_must_be_mended_stops_the_run_from_within_a_part(run: Run) -> None:
    run.give({"a.zip": {"b.pdf": "b"}})
    run.boxes.errors["b.pdf"] = [MisconfiguredError("no")]

    with pytest.raises(MisconfiguredError):
        await run()

    assert not any(folder.exists() for folder in run.boxes.unpacked)


async def test_a_full_disk_is_tried_again(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run.give({"a.zip": {"b.pdf": "b"}})

    def full(prefix: str, dir: Path | None) -> str:  # noqa: A002  as `tempfile.mkdtemp`
        raise OSError(28, "No space left on device", prefix, dir)

    monkeypatch.setattr(tempfile, "mkdtemp", full)

    await run()

    assert run.records["a.zip"]["error"]["code"] == ServerError.code
    assert run.records["a.zip"]["error"]["step"] == "unpack"
