"""A file that only grows, by whole blocks."""

import errno
import fcntl
import os
import stat
from contextlib import suppress
from pathlib import Path


class AppendOnlyFile:
    """Appends blocks of bytes to a file that this process alone writes.

    A full disk may take the first half of a block. What was written of it is cut off again, at once or, where
    that fails, before the next block; a pipe or device, which cannot be cut, gets a line end instead.
    Raises OSError where the file cannot be opened; BlockingIOError while another process has it open.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            status = os.fstat(self._descriptor)
            if not os.path.samestat(status, path.stat()):  # who had the lock has put another file here
                raise BlockingIOError(errno.EWOULDBLOCK, "another process is writing", str(path))
        except OSError:
            os.close(self._descriptor)
            raise
        self.is_regular = stat.S_ISREG(status.st_mode)
        self._end = status.st_size
        self._is_torn = False

    def append(self, content: bytes) -> None:
        """Append all of `content`. Raises OSError, and then nothing of it is kept."""
        self._mend()
        rest = memoryview(content)
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError:
            self._is_torn = self.is_regular or len(rest) < len(content)
            with suppress(OSError):
                self._mend()
            raise
        self._end += len(content)

    def sync(self) -> None:
        """Bring everything to the disk. Raises OSError."""
        if self.is_regular:
            os.fsync(self._descriptor)

    def cut(self, end: int) -> None:
        """Drop what comes after `end` bytes. Raises OSError."""
        os.ftruncate(self._descriptor, end)
        self._end = end

    def close(self) -> None:
        """Bring everything to the disk, and close.

        Raises OSError if that fails: network file systems may say only now that they are full.
        """
        try:
            self.sync()
        finally:
            os.close(self._descriptor)

    def _mend(self) -> None:
        if not self._is_torn:
            return
        if self.is_regular:
            os.ftruncate(self._descriptor, self._end)
        else:
            os.write(self._descriptor, b"\n")
        self._is_torn = False
