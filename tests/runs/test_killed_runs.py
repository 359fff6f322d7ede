"""Runs that are killed lose nothing and export nothing twice."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COUNT = 300


def start(folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "tests.runs.killed_run",
            str(folder / "runs.sqlite"),
            str(folder / "out.jsonl"),
            str(COUNT),
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        stdout=subprocess.PIPE,
    )


def kill_at_random(folder: Path, times: int, generator: random.Random) -> None:
    """Kill a run again and again, at moments spread over its work, and let it come to its end at last."""
    done = 0
    for _ in range(times):
        with start(folder) as process:
            until = done + generator.randrange(1, COUNT // times)
            while lines_of(folder) < until and process.poll() is None:
                time.sleep(0.001)
            time.sleep(generator.random() * 0.03)
            process.send_signal(signal.SIGKILL)
        done = lines_of(folder)
    finish(folder)


def finish(folder: Path) -> None:
    with start(folder) as process:
        process.communicate(timeout=120)
    assert process.returncode == 0


def lines_of(folder: Path) -> int:
    out = folder / "out.jsonl"
    return out.read_bytes().count(b"\n") if out.exists() else 0


@pytest.mark.parametrize("seed", range(2))
def test_every_document_is_exported_exactly_once_however_often_the_run_is_killed(
    tmp_path: Path, seed: int
) -> None:
    kill_at_random(tmp_path, 4, random.Random(seed))  # noqa: S311  no secrets
    assert_each_once(tmp_path)


def assert_each_once(folder: Path) -> None:
    records = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    counts = Counter(record["source"] for record in records)
    assert set(counts) == {f"document {number}" for number in range(COUNT)}
    assert set(counts.values()) == {1}
    assert all(record["data"] == {"sender": record["source"]} for record in records)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_ends_in_good_order_and_says_so(tmp_path: Path, number: int) -> None:
    with start(tmp_path) as process:
        while lines_of(tmp_path) < 20:
            time.sleep(0.005)
        process.send_signal(number)
        output, _ = process.communicate(timeout=20)
    assert process.returncode == 130
    assert b"resume it to go on" in output
    done = lines_of(tmp_path)
    assert f"{done} completed".encode() in output, "what was at work is done, and what is done is counted"
    assert 20 <= done < COUNT
    finish(tmp_path)
    assert_each_once(tmp_path)
