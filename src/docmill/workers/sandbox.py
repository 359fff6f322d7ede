"""Sandbox of a child process: the rights that it gives up for good before it reads a file.

Each protection stands alone: what a kernel or a container does not allow is left out, and `in_force` tells.
"""

import ctypes
import functools
import mimetypes
import os
import platform
import re
import resource
import secrets
import signal
import stat
import struct
import sys
from pathlib import Path

from docmill.workers import landlock, seccomp

FIRST_USER = 0x7000_0000
"""From here on numbers of users that nobody has; each child of root becomes another."""
MAX_FILE_BYTES = 500_000_000
MAX_OPEN_FILES = 256
MAX_PROCESSES = 64
"""Beyond four for each core, which libraries start as threads."""

PROTECTIONS = {
    "capabilities": "no capabilities, and no way to gain any",
    "own_user": "a user of its own when started as root",
    "network_namespace": "a network of its own, without interfaces",
    "processes": "a limit on processes",
    "files": "opens only programs, fonts, the file lent to it and its work folder (Landlock)",
    "system_calls": "system calls for network, other processes and administration refused (seccomp)",
    "limits": "limits on memory, size and number of files; no core dumps",
}
"""All there are, and what they mean."""

_PROGRAMS = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/nix/store")
_CONFIGURATION = (
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/fonts",
    "/etc/localtime",
    "/etc/alternatives",
    *mimetypes.knownfiles,  # Python looks whether they are there, and then fails if it may not read them
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup",
)
_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")

_NEW_USER, _NEW_NET_IPC_UTS = 0x1000_0000, 0x4C00_0000
_SET_DUMPABLE, _KEEP_CAPABILITIES, _DROP_BOUND, _SET_SUBREAPER = 4, 8, 24, 36
_NO_NEW_PRIVILEGES, _AMBIENT, _CLEAR_AMBIENT = 38, 47, 4
_CAPABILITIES_VERSION = 0x2008_0522
READ_ALL_FILES = 1 << 2  # CAP_DAC_READ_SEARCH

_in_force: set[str] = set()


def enter(memory_bytes: int, *, folder: Path, work: Path, user: int) -> None:
    """Enter the sandbox; called once, before other threads start and untrusted files are opened.

    folder: may be read and emptied; work: in it, may be written; user: to become, when root.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    _limit_resources(memory_bytes)
    libc.prctl(_SET_SUBREAPER, 1, 0, 0, 0)  # whoever is left by its parent is seen as a child of ours
    needs_right = user != os.geteuid() and not _programs_are_open()
    _leave_network(libc, _NEW_NET_IPC_UTS)
    own_user = _become(libc, user)
    own_namespace = not needs_right and _enter_user_namespace(libc)
    _note("own_user", in_force=own_user)
    _note("processes", in_force=_limit_processes(is_alone=own_user, own_namespace=own_namespace))
    _note("capabilities", in_force=_drop_capabilities(libc, keep=READ_ALL_FILES if needs_right else 0))
    abi = landlock.restrict(_allowed(folder, work))
    _note("files", in_force=abi > 0)
    bounded = abi >= landlock.SIGNALS_SINCE
    _note("system_calls", in_force=seccomp.refuse_calls(signals_are_bounded=bounded))
    os.chdir(work)


def in_force() -> list[str]:
    """The `PROTECTIONS` in force for this process."""
    return [name for name in PROTECTIONS if name in _in_force]


def user_for_children() -> int:
    """User id for the next child: one of its own if we are root and it could still work."""
    if os.geteuid() == 0 and (_programs_are_open() or _holds(READ_ALL_FILES)):
        return FIRST_USER + secrets.randbits(24)
    return os.geteuid()


@functools.cache
def _programs_are_open() -> bool:
    """True if every user may read our programs and modules."""
    programs = {sys.executable, sys.prefix, sys.base_prefix, *filter(os.path.exists, sys.path)}
    for path in (Path(program).resolve() for program in programs):
        if not path.stat().st_mode & stat.S_IROTH:
            return False
        if not all(folder.stat().st_mode & stat.S_IXOTH for folder in path.parents):
            return False
    return True


def _holds(capability: int) -> bool:
    held = re.search(r"^CapEff:\s*(\w+)", Path("/proc/self/status").read_text(), re.MULTILINE)
    return held is not None and bool(int(held[1], 16) & capability)


def _note(name: str, *, in_force: bool) -> None:
    if in_force:
        _in_force.add(name)


def _limit_resources(memory_bytes: int) -> None:
    """No core dumps, for they hold document text."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # an error for the writer, not the end of the process
    limits = {
        resource.RLIMIT_DATA: memory_bytes,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: MAX_FILE_BYTES,
        resource.RLIMIT_NOFILE: MAX_OPEN_FILES,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
    }
    for limit, value in limits.items():
        _, most = resource.getrlimit(limit)
        allowed = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(limit, (allowed, allowed))
    _note("limits", in_force=True)


def _leave_network(libc: ctypes.CDLL, namespaces: int) -> bool:
    left = libc.unshare(namespaces) == 0
    _note("network_namespace", in_force=left)
    return left


def _become(libc: ctypes.CDLL, user: int) -> bool:
    if user == os.geteuid():
        return False
    _drop_bound(libc)
    libc.prctl(_KEEP_CAPABILITIES, 1, 0, 0, 0)
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    libc.prctl(_SET_DUMPABLE, 1, 0, 0, 0)  # else /proc/self belongs to root from now on
    return True


def _enter_user_namespace(libc: ctypes.CDLL) -> bool:
    """In it anyone may leave the network."""
    user, group = os.geteuid(), os.getegid()
    if "network_namespace" in _in_force or not _leave_network(libc, _NEW_USER | _NEW_NET_IPC_UTS):
        return False
    maps = {"setgroups": "deny", "uid_map": f"{user} {user} 1", "gid_map": f"{group} {group} 1"}
    for name, line in maps.items():
        Path("/proc/self", name).write_text(line)
    return True


def _limit_processes(*, is_alone: bool, own_namespace: bool) -> bool:
    """Of this process and all it starts: where the user's other processes would be counted as well, none.

    Since Linux 5.14 they are counted by user namespace.
    """
    release = re.match(r"(\d+)\.(\d+)", platform.release())
    counts_by_namespace = release is not None and (int(release[1]), int(release[2])) >= (5, 14)
    if os.geteuid() == 0 or not (is_alone or (own_namespace and counts_by_namespace)):
        return False
    most = MAX_PROCESSES + 4 * (os.cpu_count() or 1)
    resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
    return True


def _drop_bound(libc: ctypes.CDLL) -> None:
    for capability in range(64):
        libc.prctl(_DROP_BOUND, capability, 0, 0, 0)


def _drop_capabilities(libc: ctypes.CDLL, *, keep: int) -> bool:
    _drop_bound(libc)
    libc.prctl(_AMBIENT, _CLEAR_AMBIENT, 0, 0, 0)
    header = ctypes.c_char_p(struct.pack("Ii", _CAPABILITIES_VERSION, 0))
    held = ctypes.c_char_p(struct.pack("6I", keep, keep, 0, 0, 0, 0))
    return libc.capset(header, held) == 0 and libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0


def _allowed(folder: Path, work: Path) -> list[tuple[Path, int]]:
    programs = {sys.prefix, sys.base_prefix, *filter(None, sys.path), *_PROGRAMS}
    return [
        *((Path(path), landlock.RUN) for path in programs),
        *((Path(path), landlock.READ) for path in _CONFIGURATION),
        *((Path(path), landlock.USE) for path in _DEVICES),
        (folder, landlock.TAKE),
        (work, landlock.WRITE),
    ]
