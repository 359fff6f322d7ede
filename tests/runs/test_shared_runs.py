"""Several processes share a run by its state store in PostgreSQL, and may die."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest

ROOT = Path(__file__).parents[2]
COUNT = 400
SOURCES = {f"document {number}" for number in range(COUNT)}


Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def url(database_url: str) -> str:
    with psycopg.connect(database_url) as connection:
        connection.execute("CREATE TABLE exports (source text, runner text)")
    return database_url


@pytest.fixture
def start(url: str, tmp_path: Path) -> Iterator[Start]:
    """Starts a runner; it is killed at the end if it still lives."""
    with ExitStack() as stack:

        def start(name: str, lease_s: float, *more: str) -> subprocess.Popen[bytes]:
            command = [sys.executable, "-m", "tests.runs.shared_run", name, url, tmp_path, str(COUNT)]
            runner = subprocess.Popen(
                [*command, str(lease_s), *more],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
            )
            stack.enter_context(runner)
            stack.callback(runner.kill)
            return runner

        yield start


def query(url: str, statement: str) -> list[Any]:
    with psycopg.connect(url) as connection:
        return connection.execute(statement.encode()).fetchall()


def wait_until(url: str, condition: str) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if query(url, f"SELECT {condition}") == [(True,)]:
                return
        except psycopg.errors.UndefinedTable:  # not yet
            pass
        time.sleep(0.01)
    pytest.fail(f"this never came: {condition}")


def test_two_processes_share_a_run_and_export_every_document_once(url: str, start: Start) -> None:
    first = start("first", 60, "begin")
    wait_until(url, "EXISTS (SELECT FROM docmill_runs.document_states WHERE status = 'in_progress')")
    second = start("second", 60)
    assert first.wait(timeout=120) == second.wait(timeout=120) == 0

    exports = Counter(source for (source,) in query(url, "SELECT source FROM exports"))
    assert set(exports) == SOURCES
    assert set(exports.values()) == {1}
    shares = dict(query(url, "SELECT runner, count(*) FROM exports GROUP BY runner"))
    assert set(shares) == {"first", "second"}, shares
    assert query(url, "SELECT status FROM docmill_runs.pipeline_runs") == [("completed",)]


def test_what_a_killed_process_leaves_is_taken_over_after_its_lease(url: str, start: Start) -> None:
    first = start("first", 2, "begin")
    wait_until(url, "EXISTS (SELECT FROM docmill_runs.document_states WHERE status = 'in_progress')")
    second = start("second", 2)
    wait_until(url, "count(DISTINCT runner) = 2 FROM exports")
    first.send_signal(signal.SIGKILL)
    first.wait()
    ((left,),) = query(url, "SELECT count(*) FROM docmill_runs.document_states WHERE status = 'in_progress'")
    assert left
    assert second.wait(timeout=120) == 0

    assert query(url, "SELECT status, count(*) FROM docmill_runs.document_states GROUP BY status") == [
        ("completed", COUNT)
    ]
    results = Counter(source for (source,) in query(url, "SELECT source FROM extractions"))
    assert set(results) == SOURCES
    assert set(results.values()) == {1}
    assert query(url, "SELECT count(*) FROM docmill_runs.document_states WHERE is_uncertain") == [(0,)]
