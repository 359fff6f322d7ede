"""What a process taken over by a hostile file would try; run in a child of the pool.

Each gives the names of the errors it met, so that a test sees that it was refused and not merely failed.
"""

import contextlib
import ctypes
import errno
import hashlib
import os
import resource
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path


def _refusal(action: Callable[[], object]) -> str:
    try:
        action()
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return "done"


def connect(family: int, address: str | tuple[str, int]) -> str:
    return _refusal(lambda: socket.socket(family).connect(address))


def listen() -> str:
    return _refusal(lambda: socket.create_server(("127.0.0.1", 0)))


def interfaces() -> list[str]:
    return [line.split(":")[0].strip() for line in Path("/proc/self/net/dev").read_text().splitlines()[2:]]


def raw_call(call: tuple[int, ...]) -> str:
    """A system call without anything of Python's in between."""
    libc = ctypes.CDLL(None, use_errno=True)
    return "done" if libc.syscall(*call) >= 0 else errno.errorcode[ctypes.get_errno()]


def signal_to(pid: int) -> str:
    return _refusal(lambda: os.kill(pid, 0))


def read(path: str) -> str:
    return _refusal(lambda: Path(path).read_bytes())


def write(path: str) -> str:
    return _refusal(lambda: Path(path).write_bytes(b"harm"))


def harm(lent: Path) -> dict[str, str]:
    """All that could be done to the original itself."""
    return {
        "write": _refusal(lambda: lent.write_bytes(b"harm")),
        "append": _refusal(lambda: lent.open("ab")),
        "truncate": _refusal(lambda: os.truncate(lent, 0)),
        "chmod": _refusal(lambda: lent.chmod(0o777)),
        "chown": _refusal(lambda: os.chown(lent, 0, 0)),
        "times": _refusal(lambda: os.utime(lent)),
        "times of a link": _refusal(lambda: os.utime(lent, follow_symlinks=False)),
        "link": _refusal(lambda: os.link(lent, "other")),
    }


def name_of(lent: Path) -> tuple[str, bytes]:
    return str(lent), lent.read_bytes()


def leave(name: str) -> list[str]:
    """What lies in the work folder; a file and a folder more afterwards."""
    found = sorted(path.name for path in Path().iterdir())
    Path(name).write_bytes(b"left")
    deep = Path(f"{name} folder", "one", "two")
    deep.mkdir(parents=True)
    (deep / "file").touch()
    Path(f"{name} folder", "closed").mkdir(mode=0)
    return found


def fork_bomb() -> tuple[int, str]:
    """How many processes could be started before one was refused; they wait to be killed."""
    for count in range(1000):
        try:
            if os.fork() == 0:
                threading.Event().wait()
        except OSError as error:
            return count, errno.errorcode[error.errno or 0]
    return 1000, "done"


def start_and_leave() -> int:
    """A process that stays after its task, out of sight of its parent."""
    return subprocess.Popen(["/bin/sh", "-c", "sleep 1000 & echo $!; exit"], stdout=subprocess.DEVNULL).wait()


def fill_disk() -> None:
    """Write until told otherwise."""
    chunk = bytes(1 << 20)
    for number in range(1_000_000):
        with Path(f"{number}").open("wb") as file:
            file.writelines(chunk for _ in range(64))


def fill_file() -> str:
    """One file beyond what is allowed, without its bytes."""
    with Path("sparse").open("wb") as file:
        return _refusal(lambda: file.truncate(10**12))


def privileges() -> dict[str, str]:
    lines = Path("/proc/self/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    names = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp")
    return {name: fields[name].strip() for name in names}


def descriptors() -> list[str]:
    """What is open, without the folder that is looked at."""
    found: list[str] = []
    for number in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.append(str(number.readlink()).split(":")[0])
    return sorted(found)


def limits() -> dict[str, int]:
    names = ("CORE", "FSIZE", "NOFILE", "NPROC", "DATA")
    return {name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[1] for name in names}


def run_program(command: list[str], standard_input: bytes) -> bytes:
    return subprocess.run(command, input=standard_input, stdout=subprocess.PIPE, check=True).stdout


def run_dropped() -> str:
    """A program of one's own."""
    Path("dropped").write_bytes(Path("/bin/true").read_bytes())
    return _refusal(lambda: os.execv("dropped", ["dropped"]))  # noqa: S606 - what is tried


def burn(seconds: float, threads: int) -> None:
    """Use processor time in so many threads at once."""

    def work() -> None:
        while time.process_time() < end:
            hashlib.pbkdf2_hmac("sha256", b"", b"", 20_000)  # without Python's lock

    end = time.process_time() + seconds
    started = [threading.Thread(target=work) for _ in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()


_planted: list[str] = []


def plant(content: str) -> None:
    """Leave something in this process for later tasks."""
    _planted[:] = [content]


def planted() -> str | None:
    """What an earlier task left in this process."""
    return _planted[0] if _planted else None


def plant_at_start() -> None:
    plant("at the start")


def fail_to_load() -> None:
    raise ImportError("a library is missing")
