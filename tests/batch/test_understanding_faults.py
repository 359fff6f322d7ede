"""What a run says of documents on which docmill's own understanding fails."""

import json
from pathlib import Path

import pytest

from docmill.batch.records import RecordFile
from docmill.batch.runner import Policy, Runner
from docmill.ports import Ref
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
        runner = Runner(steps_for(pool), reader, records, policy=Policy(max_attempts=1))
        report = await runner.run([Ref("bill.txt", "bill.txt")])
    records.close()

    (line,) = (tmp_path / "out.jsonl").read_text().splitlines()
    record = json.loads(line)
    assert report.by_error == {"internal": 1}
    assert record["status"] == "failed"
    assert (record["error"]["code"], record["error"]["step"]) == ("internal", "classify")
    assert "KeyError" in record["error"]["message"]
    assert "Secret" not in line
