"""Main program of a template process: it loads libraries once, and forks a child for each request.

It opens no file of a user, and hence may be the parent of children of any tenant. Run as
`python -P -m docmill.workers.template MODULE:FUNCTION…`, with a socket of packets as its standard input.
"""

import contextlib
import gc
import json
import os
import signal
import socket
import sys
import tempfile
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from docmill.workers import child


def main() -> None:
    """Serve until the parent hangs up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control = socket.socket(fileno=os.dup(0))
    for name in sys.argv[1:]:
        module, _, function = name.partition(":")
        getattr(import_module(module), function)()
    # A lock that another thread holds at a fork would never be released in the child.
    threads = len(list(Path("/proc/self/task").iterdir()))
    assert threads == 1, f"{threads} threads after loading; a template may have one only"
    gc.collect()
    gc.freeze()  # what was loaded stays, and a collection in a child would copy its pages
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 4096, 1)
        if not message:
            return
        request: dict[str, Any] = json.loads(message)
        match request:
            case {"end": pid}:
                answer = _end(pid)
            case _:
                answer = _fork(control, descriptors[0], request["fork"])
        control.send(str(answer).encode())


def _fork(control: socket.socket, connection: int, request: dict[str, Any]) -> int:
    """Fork a child with this connection; its number."""
    pid = os.fork()
    if not pid:
        _become_child(control, connection, request)
    os.close(connection)
    return pid


def _become_child(control: socket.socket, connection: int, request: dict[str, Any]) -> NoReturn:
    try:
        os.setsid()
        control.close()
        os.dup2(connection, 0)
        os.close(connection)
        os.environ["HOME"] = os.environ["TMPDIR"] = request["work"]
        tempfile.tempdir = None  # it is looked up again
        child.run(
            request["memory_bytes"], Path(request["folder"]), request["user"], niceness=request["niceness"]
        )
    except BaseException as error:  # noqa: BLE001 - nothing above this may run in the child
        traceback.print_exception(error)
    finally:
        os._exit(1)


def _end(pid: int) -> int:
    """Kill a child and what it has started; the exit status."""
    for kill in (os.killpg, os.kill):  # by its group, or by itself if it was not yet the leader of one
        with contextlib.suppress(ProcessLookupError):
            kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    main()
