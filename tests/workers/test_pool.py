"""Real children that misbehave in every way we know of."""

import asyncio
import copy
import errno
import logging
import os
import resource
import select
import signal
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from docmill.errors import (
    CrashedError,
    DocmillError,
    InternalError,
    MisconfiguredError,
    ServerError,
    TimeLimitError,
    TooLargeError,
)
from docmill.model.document import Words
from docmill.resilience.time_limits import TimeLimit
from docmill.workers.fair_semaphore import scheduled_for
from docmill.workers.launching import Preload, refusals_explained
from docmill.workers.pool import Pool
from docmill.workers.scratch import ScratchFolder
from reading import trespass

Refuse = Callable[[Path], AbstractContextManager[None]]
Hang = Callable[[Pool], Awaitable[asyncio.Task[bytes]]]


@pytest.fixture
def hang(tmp_path: Path) -> Iterator[Hang]:
    """Starts a task that never ends, and returns when it runs in the child."""
    writers: list[int] = []

    async def start(pool: Pool) -> asyncio.Task[bytes]:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        hanging = asyncio.create_task(pool.run(Path.read_bytes, pipe, limit_s=30))
        writers.append(await asyncio.to_thread(os.open, pipe, os.O_WRONLY))  # waits for the child to open it
        return hanging

    yield start
    for writer in writers:
        os.close(writer)


@contextmanager
def _without_temporary_folder(folder: Path) -> Generator[None]:
    before, tempfile.tempdir = tempfile.tempdir, str(folder / "gone")
    try:
        yield
    finally:
        tempfile.tempdir = before


@contextmanager
def _without_more_files(folder: Path) -> Generator[None]:
    del folder
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    next_one = os.open(os.devnull, os.O_RDONLY)
    os.close(next_one)
    resource.setrlimit(resource.RLIMIT_NOFILE, (next_one, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


async def child_pid(pool: Pool) -> int:
    return await pool.run(os.getpid, limit_s=30)


async def test_a_function_runs_in_another_process(pool: Pool) -> None:
    assert await child_pid(pool) != os.getpid()


async def test_a_child_does_one_task_after_the_other(pool: Pool) -> None:
    assert await child_pid(pool) == await child_pid(pool)


async def test_children_give_way_to_other_processes_if_told_to() -> None:
    async with Pool(1, niceness=7) as pool:
        assert await pool.run(os.getpriority, os.PRIO_PROCESS, 0, limit_s=30) == os.nice(0) + 7


async def test_a_child_is_replaced_after_its_last_task() -> None:
    async with Pool(1, max_tasks=1) as pool:
        assert await child_pid(pool) != await child_pid(pool)


async def test_a_child_serves_one_tenant_only() -> None:
    async with Pool(1, many_tenants=True) as pool:
        with scheduled_for("one", "document"):
            first = await child_pid(pool)
            await pool.run(trespass.plant, "for the next", limit_s=30)
            assert await pool.run(trespass.planted, limit_s=30) == "for the next"
            assert await child_pid(pool) == first
        with scheduled_for("other", "document"):
            assert await pool.run(trespass.planted, limit_s=30) is None

            assert await child_pid(pool) != first


async def test_children_of_several_tenants_are_kept_up_to_the_size_of_the_pool() -> None:
    pids: list[int] = []

    async with Pool(2, many_tenants=True) as pool:
        for tenant in ("one", "other", "one", "third", "one", "other"):
            with scheduled_for(tenant, "document"):
                pids.append(await child_pid(pool))

        assert pids[0] == pids[2] == pids[4]
        assert len({pids[1], pids[3], pids[5]}) == 3
        with pytest.raises(ProcessLookupError):
            os.kill(pids[1], 0)


async def test_a_task_of_an_unknown_tenant_gets_a_child_of_its_own_where_there_are_many() -> None:
    async with Pool(1, many_tenants=True) as pool:
        assert await child_pid(pool) != await child_pid(pool)


async def test_a_tenant_keeps_its_child_for_a_while_and_then_others_have_their_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    served: list[str] = []

    async def work(pool: Pool, tenant: str) -> None:
        with scheduled_for(tenant, "document"):
            await pool.run(time.sleep, 0.02, limit_s=30)
        served.append(tenant)

    async def serve(*, turn_s: float) -> list[str]:
        served.clear()
        monkeypatch.setattr("docmill.workers.pool.TURN_S", turn_s)
        async with Pool(1, many_tenants=True) as pool, asyncio.TaskGroup() as group:
            for tenant in ("one", "other", "one", "other"):
                group.create_task(work(pool, tenant))
        return served

    assert await serve(turn_s=1000) == ["one", "one", "other", "other"]
    assert await serve(turn_s=0) == ["one", "other", "one", "other"]


async def test_children_come_from_a_template_that_has_loaded_what_they_need() -> None:
    async with Pool(1, max_tasks=1, preload=[trespass.plant_at_start]) as pool:
        assert await pool.run(trespass.planted, limit_s=30) == "at the start"
        await pool.run(trespass.plant, "by a child", limit_s=30)

        assert await pool.run(trespass.planted, limit_s=30) == "at the start"


async def test_without_a_template_children_start_by_themselves(caplog: pytest.LogCaptureFixture) -> None:
    async with Pool(1, preload=[trespass.fail_to_load]) as pool:
        assert await child_pid(pool) != os.getpid()

    assert "the template of reading processes died" in caplog.messages


async def test_a_template_that_dies_is_replaced_and_its_children_are_ended() -> None:
    async with Pool(1, preload=[trespass.limits]) as pool:
        template = await pool.run(os.getppid, limit_s=30)
        child = await child_pid(pool)
        with os.fdopen(os.pidfd_open(template)) as process:
            os.kill(template, signal.SIGKILL)
            await asyncio.to_thread(select.select, [process], [], [], 30)
        assert await child_pid(pool) == child

        with os.fdopen(os.pidfd_open(child)) as process:
            with pytest.raises(TimeLimitError):
                await pool.run(signal.pause, limit_s=0.1)
            assert (await asyncio.to_thread(select.select, [process], [], [], 30))[0]

        assert await child_pid(pool) != child
        assert await pool.run(os.getppid, limit_s=30) not in {template, os.getpid()}


async def test_it_says_how_many_tasks_run_and_wait(pool: Pool, hang: Hang) -> None:
    running = await hang(pool)
    waiting = asyncio.create_task(child_pid(pool))
    await asyncio.sleep(0)

    assert (pool.busy, pool.waiting) == (1, 1)

    running.cancel()
    await waiting
    assert (pool.busy, pool.waiting) == (0, 0)


@pytest.mark.parametrize(
    ("function", "arguments", "error"),
    [
        (os.abort, (), CrashedError),
        (os._exit, (0,), CrashedError),
        (signal.pause, (), TimeLimitError),
        (bytearray, (10**11,), TooLargeError),
        (int, ("no number",), InternalError),
        (sys.exit, (), InternalError),
    ],
)
async def test_a_child_that_fails_costs_its_own_task_alone(
    pool: Pool, function: Callable[..., Any], arguments: tuple[Any, ...], error: type[DocmillError]
) -> None:
    limit_s = 0.2 if function is signal.pause else 30

    with pytest.raises(error):
        await pool.run(function, *arguments, limit_s=limit_s)

    assert await pool.run(len, "four", limit_s=30) == 4


async def test_time_limits_are_of_the_processor_time_of_threads_and_programs_together() -> None:
    in_program = [sys.executable, "-c", "while True: pass"]

    async with Pool(1) as pool:
        for threads in (1, 4):
            with pytest.raises(TimeLimitError, match=r"more than 0\.5 s of processor time"):
                await pool.run(trespass.burn, 60.0, threads, limit_s=0.5)
        with pytest.raises(TimeLimitError, match=r"more than 0\.5 s of processor time"):
            await pool.run(trespass.run_program, in_program, b"", limit_s=0.5)

        await pool.run(trespass.burn, 0.3, 1, limit_s=0.5)
        await pool.run(trespass.burn, 0.3, 1, limit_s=0.5)  # what earlier tasks used does not count


async def test_a_busy_machine_does_not_make_a_task_too_long() -> None:
    command = [sys.executable, "-c", "while True: pass"]
    count = 6 * len(os.sched_getaffinity(0))
    others = [await asyncio.create_subprocess_exec(*command) for _ in range(count)]
    try:
        async with Pool(1, niceness=10) as pool:
            await pool.run(trespass.burn, 0.1, 1, limit_s=1)
    finally:
        for other in others:
            other.kill()
            await other.wait()


async def test_a_task_that_uses_no_processor_ends_by_the_clock(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("docmill.workers.processor_time.CLOCK_FACTOR", 2)

    with pytest.raises(TimeLimitError, match=r"longer than 0\.4 s and was stopped"):
        await pool.run(signal.pause, limit_s=0.2)


@pytest.mark.parametrize(("function", "arguments"), [(trespass.burn, (60.0, 1)), (signal.pause, ())])
async def test_the_time_of_a_step_is_that_of_its_tasks(
    pool: Pool, monkeypatch: pytest.MonkeyPatch, function: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    monkeypatch.setattr("docmill.workers.processor_time.CLOCK_FACTOR", 2)

    with pytest.raises(TimeoutError):
        async with TimeLimit(0.4):
            await pool.run(function, *arguments, limit_s=60)

    assert await pool.run(len, "four", limit_s=30) == 4


async def test_a_full_disk_when_a_file_is_lent_is_tried_again_later(
    pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_desk: ScratchFolder, _arguments: tuple[object, ...]) -> tuple[object, ...]:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(ScratchFolder, "lend", full)

    with pytest.raises(ServerError, match=r"TMPDIR.* is full"):
        await pool.run(Path.read_bytes, tmp_path / "file", limit_s=30)


@pytest.mark.parametrize("preload", [[], [trespass.name_of]], ids=["spawned", "forked"])
@pytest.mark.parametrize(
    ("refuse", "remedy"),
    [
        (_without_temporary_folder, r"TMPDIR.* must be there"),
        (_without_more_files, "more open files .*ulimit -n"),
    ],
    ids=["no temporary folder", "no more open files"],
)
async def test_a_process_that_cannot_be_started_is_explained(
    tmp_path: Path, refuse: Refuse, remedy: str, preload: list[Preload]
) -> None:
    async with Pool(1, preload=preload) as pool:
        await asyncio.to_thread(os.getpid)  # the thread that starts children is there
        with refuse(tmp_path), pytest.raises(MisconfiguredError, match=remedy):
            await child_pid(pool)

        assert await child_pid(pool) != os.getpid()


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (BlockingIOError(errno.EAGAIN, "x"), "ulimit -u.*pids.max"),
        (OSError(errno.ENOMEM, "x"), "more memory"),
        (FileNotFoundError(errno.ENOENT, "x", sys.executable), "replaced while it ran; start it again"),
    ],
)
def test_each_refusal_of_the_system_has_its_remedy(error: OSError, remedy: str) -> None:
    with pytest.raises(MisconfiguredError, match=remedy), refusals_explained():
        raise error


async def test_what_a_child_prints_is_lost(pool: Pool, capfd: pytest.CaptureFixture[str]) -> None:
    await pool.run(print, "to standard output", limit_s=30)
    await pool.run(os.write, 2, b"to standard error", limit_s=30)

    assert capfd.readouterr() == ("", "")


async def test_a_child_inherits_no_secret(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("DOCMILL_DATABASE_URL", "postgresql://secret")

    environment = await pool.run(Path.read_text, Path("/proc/self/environ"), limit_s=30)

    assert "secret" not in environment


async def test_cancelling_kills_the_work(pool: Pool, hang: Hang) -> None:
    pid = await child_pid(pool)
    hanging = await hang(pool)

    hanging.cancel()

    with pytest.raises(asyncio.CancelledError):
        await hanging
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert await pool.run(len, "four", limit_s=30) == 4


async def test_cancelling_while_a_child_starts_leaves_nothing_behind(pool: Pool) -> None:
    starting = asyncio.create_task(pool.run(os.getpid, limit_s=30))
    await asyncio.sleep(0)  # the task gets as far as the thread that starts the child

    starting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await starting
    assert await pool.run(len, "four", limit_s=30) == 4


async def test_a_child_killed_between_tasks_is_replaced(pool: Pool) -> None:
    pid = await child_pid(pool)
    with os.fdopen(os.pidfd_open(pid)) as process:
        os.kill(pid, signal.SIGKILL)
        await asyncio.to_thread(select.select, [process], [], [], 30)

    assert await child_pid(pool) != pid


async def test_closing_ends_running_work(hang: Hang) -> None:
    pool = Pool(1)
    hanging = await hang(pool)

    await pool.close()

    with pytest.raises(CrashedError):
        await hanging
    with pytest.raises(RuntimeError, match="closed"):
        await pool.run(os.getpid, limit_s=30)


async def test_log_records_of_a_child_reach_the_parent(pool: Pool, caplog: pytest.LogCaptureFixture) -> None:
    await pool.run(logging.warning, "from afar", limit_s=30)

    assert "from afar" in caplog.messages


@pytest.mark.parametrize("reply", [Path("/tmp"), os.abort, len, TypeError("a class of others")])
async def test_a_child_cannot_make_its_parent_build_what_it_likes(pool: Pool, reply: object) -> None:
    with pytest.raises(CrashedError):
        await pool.run(copy.copy, reply, limit_s=30)


async def test_an_endless_reply_is_not_waited_for(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docmill.workers.pool.MAX_REPLY_BYTES", 100)

    with pytest.raises(CrashedError):
        await pool.run(bytes, 1000, limit_s=30)


async def test_words_cross_the_border_unchanged(pool: Pool) -> None:
    words = await pool.run(Words.none, limit_s=30)

    assert words.boxes.shape == (0, 4)
