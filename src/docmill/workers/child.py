"""Main program of a child of `docmill.workers.pool`: it reads untrusted files and may die of them.

Run as `python -P -m docmill.workers.child MEMORY_BYTES FOLDER USER NICENESS`, with a socket as its standard
input.
"""

import contextlib
import logging
import os
import pickle
import select
import signal
import socket
import struct
import sys
import threading
import traceback
from pathlib import Path
from typing import BinaryIO

from docmill.errors import DocmillError, InternalError, room_in
from docmill.workers import sandbox
from docmill.workers.replies import OutOfMemoryError
from docmill.workers.scratch import SCRATCH, empty

LENGTH = struct.Struct("!Q")
"""Goes before every pickled message."""

OUT_OF_MEMORY = "reading this file needs more memory than is allowed; split it or reduce its size"

_leaving = threading.Lock()

log = logging.getLogger(__name__)


def main() -> None:
    """Serve until the parent hangs up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    memory_bytes, folder, user, niceness = sys.argv[1:]
    run(int(memory_bytes), Path(folder), int(user), niceness=int(niceness))


def run(memory_bytes: int, folder: Path, user: int, *, niceness: int) -> None:
    """Enter the sandbox and serve the socket that is standard input, then end this process."""
    # By the child itself: once its user is another one, a parent without CAP_SYS_NICE may not.
    os.nice(niceness)
    sandbox.enter(memory_bytes, folder=folder, work=folder / "work", user=user)
    connection = socket.socket(fileno=os.dup(0))
    # Standard input, output and error lead nowhere: native libraries write there as they please.
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)
    threading.Thread(target=_die_with_parent, args=(connection.fileno(), folder), daemon=True).start()
    with connection, connection.makefile("rb") as requests, connection.makefile("wb") as replies:
        serve(requests, replies)
    _leave(folder, 0)


def _die_with_parent(descriptor: int, folder: Path) -> None:
    """End this process when the parent has closed its socket, even in the middle of a task.

    Nobody else takes back what it was lent, if its parent was killed.
    """
    hang_up = select.poll()
    hang_up.register(descriptor, select.POLLRDHUP)
    hang_up.poll()
    _leave(folder, 1)


def _leave(folder: Path, status: int) -> None:
    """Empty the folder and exit, without native libraries' exit handlers, which may crash."""
    with _leaving:  # until the end: whoever comes second waits for it
        with contextlib.suppress(OSError):
            empty(folder)
        os._exit(status)


def serve(requests: BinaryIO, replies: BinaryIO) -> None:
    """Answer each request, a pickled `(function, arguments)`, with log records and one outcome."""
    handler = _Forwarder(replies)
    logging.getLogger().addHandler(handler)
    try:
        while header := requests.read(LENGTH.size):
            request = requests.read(LENGTH.unpack(header)[0])
            _send(replies, *_outcome(request))
    finally:
        logging.getLogger().removeHandler(handler)


def _outcome(request: bytes) -> tuple[str, object]:
    try:
        function, arguments = pickle.loads(request)  # noqa: S301 - it comes from our parent
        with room_in(SCRATCH):
            return "result", function(*arguments)
    except DocmillError as error:
        return "error", error
    except MemoryError:
        return "error", OutOfMemoryError(OUT_OF_MEMORY)
    except BaseException as error:  # noqa: BLE001 - this loop is the outermost of its process
        # The error's own text may quote the document; where it happened does not.
        where = "".join(traceback.format_tb(error.__traceback__))
        log.error("a task failed", extra={"error": type(error).__name__, "traceback": where})  # noqa: TRY400
        return "error", InternalError(f"reading failed with {type(error).__name__}; the log has the details")


def _send(replies: BinaryIO, kind: str, content: object) -> None:
    message = pickle.dumps((kind, content), protocol=5)
    replies.write(LENGTH.pack(len(message)) + message)
    replies.flush()


class _Forwarder(logging.Handler):
    """Sends log records to the parent."""

    def __init__(self, replies: BinaryIO) -> None:
        super().__init__(logging.INFO)
        self._replies = replies

    def emit(self, record: logging.LogRecord) -> None:
        extra = {key: getattr(record, key) for key in ("error", "traceback") if hasattr(record, key)}
        with contextlib.suppress(OSError):
            _send(self._replies, "log", (record.name, record.levelno, record.getMessage(), extra))


if __name__ == "__main__":
    main()
