"""Blocks that a disk does not take whole."""

import errno
import fcntl
import os
import resource
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from docmill.runs.append_only_file import AppendOnlyFile


@contextmanager
def room_for(size: int) -> Generator[None]:
    """No file of this process may become larger than `size` bytes: a write beyond is short, then fails."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_what_a_full_disk_took_of_a_block_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"before\n")
    file = AppendOnlyFile(path)
    file.append(b"first\n")

    with room_for(16), pytest.raises(OSError, match="File too large"):
        file.append(b"second\n")

    assert path.read_bytes() == b"before\nfirst\n"
    file.append(b"third\n")
    file.close()
    assert path.read_bytes() == b"before\nfirst\nthird\n"


def test_what_cannot_be_cut_off_at_once_is_cut_off_before_the_next_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out"
    file = AppendOnlyFile(path)
    file.append(b"first\n")

    def broken(descriptor: int, length: int) -> None:
        raise OSError(errno.EIO, f"cannot cut {descriptor} to {length}")

    with room_for(10), monkeypatch.context() as patch:
        patch.setattr(os, "ftruncate", broken)
        with pytest.raises(OSError, match="File too large"):
            file.append(b"second\n")

    assert path.read_bytes() == b"first\nseco"
    file.append(b"third\n")
    file.close()
    assert path.read_bytes() == b"first\nthird\n"


def test_a_pipe_gets_a_line_end_after_half_a_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    file = AppendOnlyFile(pipe)
    real_write = os.write
    taken: list[int] = []

    def half(descriptor: int, content: bytes) -> int:
        if taken:
            raise OSError(errno.EIO, "Input/output error")
        taken.append(real_write(descriptor, content[:3]))
        return taken[0]

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", half)
        with pytest.raises(OSError, match="Input/output"):
            file.append(b"first\n")
    file.append(b"second\n")
    file.close()

    assert os.read(reader, 100) == b"fir\nsecond\n"
    os.close(reader)


def test_a_device_that_takes_nothing_is_an_error_each_time() -> None:
    file = AppendOnlyFile(Path("/dev/full"))

    for _ in range(2):
        with pytest.raises(OSError, match="No space left"):
            file.append(b"first\n")

    file.close()


def test_a_file_that_was_replaced_while_it_was_opened_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, draft = tmp_path / "out", tmp_path / "draft"
    path.write_bytes(b"old\n")
    draft.write_bytes(b"new\n")
    real_flock = fcntl.flock

    def late(descriptor: int, operation: int) -> None:
        draft.replace(path)
        real_flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", late)

    with pytest.raises(BlockingIOError):
        AppendOnlyFile(path)
