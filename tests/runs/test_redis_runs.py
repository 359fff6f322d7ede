"""Runs in processes that share a Redis server, some of which are killed."""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.runs.stores import NOW

from docmill.runs.states import DocumentStatus, NewDocument, Run
from docmill.runs.stores.opening import open_store
from support.redis_servers import RedisServer

if find_spec("redis") is None:
    pytest.skip("redis-py is not installed", allow_module_level=True)

ROOT = Path(__file__).parents[2]
COUNT = 1000
NAMES = [f"document {number}" for number in range(COUNT)]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    folder = tmp_path / "redis"
    folder.mkdir()
    server = RedisServer(folder, "--appendonly", "yes", "--appendfsync", "always")
    server.start()
    yield server
    server.kill()


async def list_documents(server: RedisServer) -> None:
    store = open_store(server.address)
    await store.create_run(Run("run", NOW))
    listing = await store.begin_listing("run")
    documents = [NewDocument(name, name, version="1") for name in NAMES]
    await store.add("run", documents, listing=listing)
    await store.end_listing("run", listing=listing)
    await store.close()


async def counts(server: RedisServer) -> dict[DocumentStatus, int]:
    store = open_store(server.address)
    found = dict(await store.count("run"))
    await store.close()
    return found


class Runner:
    """A runner that has loaded all it needs, and its results."""

    def __init__(self, stack: ExitStack, address: str, out: Path) -> None:
        self._out = out
        path = os.pathsep.join([str(ROOT), *sys.path])
        self.process = stack.enter_context(
            subprocess.Popen(
                [sys.executable, "-m", "tests.runs.redis_runner", address, out],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": path},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        )
        stack.callback(self.process.kill)
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == b"ready\n"

    def begin(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def wait_for(self, count: int) -> None:
        """Wait until it has so many results."""
        while self._out.read_bytes().count(b"\n") < count if self._out.exists() else True:
            assert self.process.poll() is None, "it has ended too early"
            time.sleep(0.002)

    def end(self) -> None:
        self.process.communicate(timeout=90)
        assert self.process.returncode == 0

    def exported(self) -> Counter[str]:
        lines = self._out.read_bytes().split(b"\n")[:-1]
        return Counter(json.loads(line)["source"] for line in lines)


async def test_two_runners_share_a_run_and_do_nothing_twice(server: RedisServer, tmp_path: Path) -> None:
    await list_documents(server)
    with ExitStack() as stack:
        runners = [Runner(stack, server.address, tmp_path / f"{name}.jsonl") for name in "ab"]
        for runner in runners:
            runner.begin()
        for runner in runners:
            runner.end()
    first, second = (runner.exported() for runner in runners)
    assert first
    assert second
    assert first + second == Counter(NAMES)
    assert await counts(server) == {"completed": COUNT}


async def test_what_a_killed_runner_had_at_work_is_taken_over(server: RedisServer, tmp_path: Path) -> None:
    await list_documents(server)
    with ExitStack() as stack:
        killed, survivor = (Runner(stack, server.address, tmp_path / f"{name}.jsonl") for name in "ab")
        killed.begin()
        killed.wait_for(50)
        killed.process.kill()
        killed.process.wait()
        assert (await counts(server))["in_progress"] > 0
        survivor.begin()
        survivor.end()
    before, after = killed.exported(), survivor.exported()
    assert set(before) | set(after) == set(NAMES)
    assert set(after.values()) == {1}
    assert (before & after).total() < COUNT / 5, "what was written and not settled when it was killed"
    assert await counts(server) == {"completed": COUNT}


async def test_a_server_that_is_killed_and_started_again_loses_nothing(
    server: RedisServer, tmp_path: Path
) -> None:
    await list_documents(server)
    with ExitStack() as stack:
        runner = Runner(stack, server.address, tmp_path / "a.jsonl")
        runner.begin()
        for count in (50, 300):
            runner.wait_for(count)
            server.kill()
            server.start()
        runner.end()
    assert runner.exported() == Counter(NAMES)
    assert await counts(server) == {"completed": COUNT}
