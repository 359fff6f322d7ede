"""`docmill` commands, each in a process of its own that is forked from one in which docmill is loaded.

To load it takes most of what a short command takes. What begins with that, as signals do, and long-lived
processes are tested with the program itself, see `docmill_processes`.
"""

import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import IO, NoReturn, TypedDict


class _Request(TypedDict):
    """A command to be run. out, err: files for what it prints."""

    arguments: list[str]
    environment: dict[str, str]
    folder: str
    out: str
    err: str
    timeout_s: float


def run_docmill(
    *arguments: str | Path, timeout_s: float = 120, variables: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, as `subprocess.run` would. variables: of the environment, beside this one's.

    Raises TimeoutExpired for a command that takes longer; it is ended.
    """
    command = [str(argument) for argument in arguments]
    with tempfile.TemporaryDirectory(prefix="docmill-command-") as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        request: _Request = {
            "arguments": command,
            "environment": {**os.environ, **(variables or {})},
            "folder": str(Path.cwd()),
            "out": str(out),
            "err": str(err),
            "timeout_s": timeout_s,
        }
        server = _server()
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(request) + "\n")
        server.stdin.flush()
        code = json.loads(server.stdout.readline())
        if code is None:
            raise subprocess.TimeoutExpired(command, timeout_s, out.read_text(), err.read_text())
        return subprocess.CompletedProcess(command, code, out.read_text(), err.read_text())


@cache
def _server() -> subprocess.Popen[str]:
    server = subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(server.communicate)  # it ends with its input
    return server


def _serve(requests: IO[str], answers: IO[str]) -> None:
    """Answer each request with the exit code of its command; null for one that took too long."""
    for line in requests:
        request: _Request = json.loads(line)
        if (child := os.fork()) == 0:
            _run(request)
        answers.write(json.dumps(_exit_code(child, request["timeout_s"])) + "\n")
        answers.flush()


def _exit_code(child: int, timeout_s: float) -> int | None:
    def end(*_: object) -> None:
        os.kill(child, signal.SIGKILL)

    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, timeout_s)
    _, status = os.waitpid(child, 0)
    remaining, _ = signal.setitimer(signal.ITIMER_REAL, 0)
    return os.waitstatus_to_exitcode(status) if remaining else None


def _run(request: _Request) -> NoReturn:
    """Be the command, in the forked process."""
    import docmill.cli  # noqa: PLC0415  the tests' own process imports this module, too

    code: str | int | None = 1
    try:
        os.chdir(request["folder"])
        os.environ.clear()
        os.environ.update(request["environment"])
        for descriptor, name, flags in (
            (0, os.devnull, os.O_RDONLY),
            (1, request["out"], os.O_WRONLY | os.O_CREAT),
            (2, request["err"], os.O_WRONLY | os.O_CREAT),
        ):
            os.dup2(os.open(name, flags, 0o600), descriptor)
        sys.argv = ["docmill", *request["arguments"]]
        docmill.cli.main()
        code = 0
    except SystemExit as end:
        code = end.code
    except BaseException:  # noqa: BLE001  printed as the interpreter would
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    import pkgutil

    sys.path.remove(str(Path(__file__).parent))  # where the interpreter looks for a script's modules

    import docmill.cli

    for module in pkgutil.walk_packages(docmill.cli.__path__, "docmill.cli."):
        __import__(module.name)
    _answers = os.fdopen(os.dup(1), "w")
    _requests = os.fdopen(os.dup(0))
    _serve(_requests, _answers)
