"""What a run says of documents on which docmill's own understanding fails."""

import json
from pathlib import Path

import pytest

from docmill.ports import Ref
from docmill.runs.folders.folder_run import FolderRun
from docmill.runs.folders.record_file import RecordFile
from docmill.runs.policy import RunPolicy
from docmill.runs.stores.memory import MemoryStore
from docmill.testing.steps import MemoryReader
from docmill.wiring import reading_pool, steps_for
from support import raising_classifier


async def test_a_fault_in_the_classification_is_a_failed_document_with_code_and_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raising_classifier.install(monkeypatch)
    records = RecordFile(tmp_path / "out.jsonl")
    records.open(keep=lambda _: True)
    reader = MemoryReader({"bill.txt": b"Secret Bill 119.00"}, tmp_path)

    async with reading_pool(1) as pool:
        run = FolderRun(
            folder=tmp_path,
            out=tmp_path / "out.jsonl",
            steps=steps_for(pool),
            store=MemoryStore(),
            policy=RunPolicy(max_retries=0),
            reader=reader,
        )
        report = await run.run([Ref("bill.txt", "bill.txt")], records, {})
    records.close()

    (line,) = (tmp_path / "out.jsonl").read_text().splitlines()
    record = json.loads(line)
    assert report.counts == {"failed": 1}
    assert record["status"] == "failed"
    assert (record["error"]["code"], record["error"]["step"]) == ("internal", "classify")
    assert "KeyError" in record["error"]["message"]
    assert "Secret" not in line
