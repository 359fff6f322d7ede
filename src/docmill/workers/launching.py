"""Child processes as their parent sees them: started one by one, or forked from a template process."""

import contextlib
import errno
import json
import logging
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import NamedTuple, Protocol

from docmill.errors import MisconfiguredError, is_full_disk
from docmill.workers.scratch import SCRATCH, ScratchFolder

Preload = Callable[[], object]
"""A function of a module, called once in a template process before any file is opened."""

_ANSWERS_WITHIN_S = 60
"""A template that has loaded nothing by then hangs."""

_FILES_OPEN = "allow it more open files (ulimit -n, LimitNOFILE= of its unit)"
_REMEDIES = {
    errno.EAGAIN: "allow it more processes (ulimit -u, TasksMax= of its unit, pids.max of its container)",
    errno.ENOMEM: "give it more memory, or fewer processes (worker.processes)",
    errno.EMFILE: _FILES_OPEN,
    errno.ENFILE: _FILES_OPEN,
}

log = logging.getLogger(__name__)


class ChildOptions(NamedTuple):
    """What a child is told when it starts, besides its scratch folder."""

    memory_bytes: int
    niceness: int


class ChildProcess(Protocol):
    """A running `docmill.workers.child`. All methods may block: call them in a thread."""

    pid: int

    @property
    def is_alive(self) -> bool:
        """False once it has ended. Its number stays its own until `end`."""
        ...

    @property
    def exit_status(self) -> int | None:
        """After `end`, as `subprocess.Popen.returncode`; None if it is not known."""
        ...

    def end(self) -> None:
        """Kill it and all it has started, and wait for its end."""
        ...


class Launcher(Protocol):
    """Starts children."""

    def start(self, connection: socket.socket, scratch: ScratchFolder) -> ChildProcess:
        """Start a child with this connection to its parent. Blocks: call it in a thread."""
        ...

    def close(self) -> None:
        """Start no more children; those that run are not touched."""
        ...


class SpawnedProcess:
    """`ChildProcess` started as a new program."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.pid = process.pid
        self._process = process

    @property
    def is_alive(self) -> bool:
        """See `ChildProcess.is_alive`."""
        # Not reaped: its number must stay its own until its group has been killed.
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    @property
    def exit_status(self) -> int | None:
        """See `ChildProcess.exit_status`."""
        return self._process.poll()

    def end(self) -> None:
        """See `ChildProcess.end`."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            self._process.wait()


class SpawningLauncher:
    """`Launcher` that starts a new program for each child."""

    def __init__(self, options: ChildOptions) -> None:
        self._options = options

    def start(self, connection: socket.socket, scratch: ScratchFolder) -> ChildProcess:
        """See `Launcher.start`."""
        options = self._options
        arguments = (options.memory_bytes, scratch.folder, scratch.user, options.niceness)
        return SpawnedProcess(
            _python("docmill.workers.child", map(str, arguments), connection, str(scratch.work))
        )

    def close(self) -> None:
        """See `Launcher.close`."""


class ForkedProcess:
    """`ChildProcess` forked from a template, which is its parent and waits for its end."""

    def __init__(self, pid: int, template: "TemplateLauncher") -> None:
        self.pid = pid
        self._handle = os.pidfd_open(pid)
        self._template = template
        self._status: int | None = None
        self._is_ended = False

    @property
    def is_alive(self) -> bool:
        """See `ChildProcess.is_alive`."""
        return not select.select([self._handle], [], [], 0)[0]

    @property
    def exit_status(self) -> int | None:
        """See `ChildProcess.exit_status`."""
        return self._status

    def end(self) -> None:
        """See `ChildProcess.end`."""
        if self._is_ended:
            return
        self._is_ended = True
        try:
            self._status = self._template.end(self.pid)
        except OSError:  # the template has died, and nobody waits for its children but the system
            if self.is_alive:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self.pid, signal.SIGKILL)
        finally:
            os.close(self._handle)


class TemplateLauncher:
    """`Launcher` that forks children from a process that has loaded the libraries and opened no file.

    A fork takes milliseconds, and children share the memory of what was loaded. The template starts with the
    first child, and again if it has died.
    """

    def __init__(self, options: ChildOptions, preload: Sequence[Preload]) -> None:
        self._options = options
        self._preload = [f"{function.__module__}:{function.__qualname__}" for function in preload]
        self._lock = threading.Lock()
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, connection: socket.socket, scratch: ScratchFolder) -> ChildProcess:
        """See `Launcher.start`. Without a template, this child starts as a program of its own."""
        options = self._options
        request = {
            "memory_bytes": options.memory_bytes,
            "folder": str(scratch.folder),
            "work": str(scratch.work),
            "user": scratch.user,
            "niceness": options.niceness,
        }
        try:
            with self._lock:
                if self._control is None:
                    self._start_template()
                pid = self._ask({"fork": request}, connection)
        except OSError as error:
            log.warning("the template of reading processes died", extra={"error": type(error).__name__})
            return SpawningLauncher(options).start(connection, scratch)
        return ForkedProcess(pid, self)

    def end(self, pid: int) -> int:
        """Kill a child and its group; the exit status. Raises OSError if the template has died."""
        with self._lock:
            return self._ask({"end": pid})

    def close(self) -> None:
        """See `Launcher.close`."""
        with self._lock:
            self._stop_template()

    def _start_template(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs:
                self._process = _python(
                    "docmill.workers.template", self._preload, theirs, tempfile.gettempdir()
                )
        except OSError:
            ours.close()
            raise
        ours.settimeout(_ANSWERS_WITHIN_S)
        self._control = ours

    def _stop_template(self) -> None:
        if self._control is not None and self._process is not None:
            self._control.close()  # the template sees it and ends
            self._process.kill()
            self._process.wait()
        self._control = self._process = None

    def _ask(self, request: dict[str, object], connection: socket.socket | None = None) -> int:
        if self._control is None:
            raise BrokenPipeError("the template process is not running")
        try:
            socket.send_fds(
                self._control, [json.dumps(request).encode()], [connection.fileno()] if connection else []
            )
            answer = self._control.recv(64)
            if not answer:
                raise BrokenPipeError("the template process has died")
        except OSError:
            self._stop_template()
            raise
        return int(answer)


@contextlib.contextmanager
def refusals_explained() -> Generator[None]:
    """Start a child: what the system refuses is a MisconfiguredError that says what to do.

    A full disk stays an OSError, see `room_in`.
    """
    try:
        yield
    except OSError as error:
        if is_full_disk(error):
            raise
        remedy = f"{SCRATCH} must be there, and docmill must be allowed to write in it"
        if error.filename == sys.executable:
            remedy = "docmill was removed or replaced while it ran; start it again"
        remedy = _REMEDIES.get(error.errno or 0, remedy)
        raise MisconfiguredError(
            f"the system starts no process that reads files ({error.strerror}): {remedy}"
        ) from error


def _python(
    module: str, arguments: Iterable[str], connection: socket.socket, temporary: str
) -> subprocess.Popen[bytes]:
    """Start one of our modules without the environment, hence without secrets, and without a terminal.

    -P: the current folder, which anyone may have written to, is no place to import from.
    """
    # Our modules come from these folders; a script's own is none, which the child would be free to read.
    files = [
        getattr(loaded, "__file__", None) for name, loaded in list(sys.modules.items()) if name != "__main__"
    ]
    used: set[str] = set()
    for file in filter(None, files):
        containing = [path for path in sys.path if path and file.startswith(path + os.sep)]
        used.update(sorted(containing, key=len)[-1:])
    return subprocess.Popen(  # noqa: S603 - our own program, no shell
        [sys.executable, "-P", "-m", module, *arguments],
        stdin=connection.fileno(),
        stdout=subprocess.DEVNULL,
        env={
            "PATH": os.defpath,
            "LANG": "C.UTF-8",
            "HOME": temporary,
            "TMPDIR": temporary,
            "PYTHONPATH": os.pathsep.join([path for path in sys.path if path in used]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "OMP_NUM_THREADS": "1",
            "MALLOC_ARENA_MAX": "2",
        },
        start_new_session=True,
    )
