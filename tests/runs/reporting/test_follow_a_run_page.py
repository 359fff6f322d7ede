"""What docs/how-to/follow-a-run.md tells people to type works."""

import json
import re
import subprocess
import sys
from pathlib import Path
from shutil import copyfile

import pytest

from docmill.demo import Sample

PAGE = (Path(__file__).parents[3] / "docs" / "how-to" / "follow-a-run.md").read_text()
FIRST, *OTHERS = re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE)


@pytest.fixture
def folder(samples: list[Sample], tmp_path: Path) -> Path:
    """Has a document that can be read, and one that cannot."""
    (paper,) = [sample.path for sample in samples if sample.name == "PO-4500231.pdf"]
    (tmp_path / "invoices").mkdir()
    copyfile(paper, tmp_path / "invoices" / "order.pdf")
    (tmp_path / "invoices" / "torn.pdf").write_bytes(b"%PDF-1.7 torn")
    return tmp_path


@pytest.mark.parametrize("number", range(len(OTHERS)))
def test_an_example_runs(number: int, folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FIRST + OTHERS[number]],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    written = {path.name for path in folder.iterdir()} - {"invoices", ".docmill", "orders.jsonl"}
    assert written in ({"run.log"}, {"report.html"})


def test_every_field_of_the_log_is_described(folder: Path) -> None:
    subprocess.run([sys.executable, "-c", FIRST + OTHERS[0]], cwd=folder, check=True)
    lines = [json.loads(line) for line in (folder / "run.log").read_text().splitlines()]

    table = dict(re.findall(r"(?m)^\| `(\w+)` \| (.*) \|$", PAGE.partition("| `event` |")[2]))
    assert {line["event"] for line in lines} <= set(table)
    for line in lines:
        described = set(re.findall(r"`(\w+)`", table[line["event"]]))
        always = {"timestamp", "run_id", "event", "code", "error_type"}
        assert set(line) - always <= described, line
