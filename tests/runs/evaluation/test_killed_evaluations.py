"""Evaluations that are killed go on where they were, and their figures are those of all documents."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from docmill.runs.evaluation.evaluation_report import EvaluationReport

ROOT = Path(__file__).parents[3]
COUNT = 200
KILLS = 3


def start(folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.runs.evaluation.killed_evaluation", str(folder), str(COUNT)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
    )


@pytest.mark.parametrize("seed", range(2))
def test_a_killed_evaluation_counts_every_document_once(seed: int, tmp_path: Path) -> None:
    generator = random.Random(seed)  # noqa: S311  moments of kills
    predictions = tmp_path / "predictions.jsonl"
    written = 0
    for _ in range(KILLS):
        with start(tmp_path) as process:
            until = written + generator.randrange(1, COUNT // KILLS)
            while process.poll() is None and written < until:
                written = predictions.read_bytes().count(b"\n") if predictions.exists() else 0
                time.sleep(0.001)
            process.send_signal(signal.SIGKILL)
    with start(tmp_path) as process:
        process.wait(timeout=120)

    report = EvaluationReport.read(tmp_path / "report.json")
    assert process.returncode == 0
    assert report.figures["exact"].documents == COUNT
    assert report.figures["exact"].value == 0.5
    assert predictions.read_bytes().count(b"\n") == COUNT
