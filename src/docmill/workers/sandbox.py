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
from collections.abc import Iterable
from pathlib import Path

from docmill.errors import MisconfiguredError
from docmill.workers import seccomp

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

# Landlock, written against the kernel's own interface (landlock(7)), as not every machine has a library.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION, _PATH_BENEATH = 1, 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_REMOVE = 0x30
_MAKE_DIR, _MAKE_REG = 0x80, 0x100
_REFER, _TRUNCATE, _IOCTL_DEV = 0x2000, 0x4000, 0x8000
_ALL_OF_FIRST = 0x1FFF
_ADDED = {2: _REFER, 3: _TRUNCATE, 5: _IOCTL_DEV}
_NET, _SCOPES = 0x3, 0x3  # bind and connect by TCP; abstract sockets and signals of others
_NET_SINCE, _SIGNALS_SINCE = 4, 6
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV

_MAY_READ = _READ_FILE | _READ_DIR
_MAY_RUN = _MAY_READ | _EXECUTE
_MAY_TAKE = _MAY_READ | _REMOVE
_MAY_WRITE = _MAY_READ | _WRITE_FILE | _REMOVE | _MAKE_DIR | _MAKE_REG | _REFER | _TRUNCATE
_MAY_USE = _MAY_READ | _WRITE_FILE  # of a device

_PROGRAMS_ARE_CLOSED = (
    "no process can be started that reads files: Python or docmill is installed where only root may look, "
    "and this kernel has no Landlock; install them where every user may read, or run docmill as another user"
)

_in_force: set[str] = set()


def enter(memory_bytes: int, *, folder: Path, work: Path, user: int) -> None:
    """Enter the sandbox; called once, before other threads start and untrusted files are opened.

    folder: may be read and emptied; work: in it, may be written; user: to become, when root.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    _limit_resources(memory_bytes)
    _in_force.add("limits")
    libc.prctl(_SET_SUBREAPER, 1, 0, 0, 0)  # whoever is left by its parent is seen as a child of ours
    needs_right = user != os.geteuid() and not _programs_are_open()
    _leave_network(libc, _NEW_NET_IPC_UTS)
    own_user = _become(libc, user)
    own_namespace = not needs_right and _enter_user_namespace(libc)
    programs = {sys.prefix, sys.base_prefix, *filter(None, sys.path), *_PROGRAMS}
    protections = {
        "own_user": own_user,
        "processes": _limit_processes(is_alone=own_user, own_namespace=own_namespace),
        "capabilities": _drop_capabilities(libc, keep=READ_ALL_FILES if needs_right else 0),
    }
    landlock = restrict_files(
        [
            *((Path(path), _MAY_RUN) for path in programs),
            *((Path(path), _MAY_READ) for path in _CONFIGURATION),
            *((Path(path), _MAY_USE) for path in _DEVICES),
            (folder, _MAY_TAKE),
            (work, _MAY_WRITE),
        ]
    )
    protections["files"] = landlock > 0
    if needs_right and not landlock:  # then nothing but its rights keeps it from the files of others
        protections["capabilities"] = _drop_capabilities(libc, keep=0)
    protections["system_calls"] = seccomp.refuse_calls(signals_are_bounded=landlock >= _SIGNALS_SINCE)
    _in_force.update(name for name, holds in protections.items() if holds)
    os.chdir(work)


def in_force() -> list[str]:
    """The `PROTECTIONS` in force for this process."""
    return [name for name in PROTECTIONS if name in _in_force]


def user_for_children() -> int:
    """User id for the next child: one of its own if we are root and it could still work.

    Raises MisconfiguredError where children would need rights with which they could read the files of others.
    """
    if os.geteuid() != 0:
        return os.geteuid()
    if not _programs_are_open() and not landlock_version():
        raise MisconfiguredError(_PROGRAMS_ARE_CLOSED)
    held = re.search(r"^CapEff:\s*(\w+)", Path("/proc/self/status").read_text(), re.MULTILINE)
    can_read_all = held is not None and bool(int(held[1], 16) & READ_ALL_FILES)
    return FIRST_USER + secrets.randbits(24) if can_read_all or _programs_are_open() else 0


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


def _limit_resources(memory_bytes: int) -> None:
    """Limit memory, files and messages, and switch off core dumps, which would hold document text."""
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


def _leave_network(libc: ctypes.CDLL, namespaces: int) -> bool:
    is_left = libc.unshare(namespaces) == 0
    if is_left:
        _in_force.add("network_namespace")
    return is_left


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
    """Enter a user namespace of its own, in which a process without rights may leave the network."""
    user, group = os.geteuid(), os.getegid()
    if "network_namespace" in _in_force or not _leave_network(libc, _NEW_USER | _NEW_NET_IPC_UTS):
        return False
    maps = {"setgroups": "deny", "uid_map": f"{user} {user} 1", "gid_map": f"{group} {group} 1"}
    for name, line in maps.items():
        Path("/proc/self", name).write_text(line)
    return True


def _limit_processes(*, is_alone: bool, own_namespace: bool) -> bool:
    """Limit the processes of this user, unless those of other programs would be counted as well.

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


def landlock_version() -> int:
    """Version of the Landlock interface that the kernel offers; 0: none."""
    return max(0, _system_call(_CREATE_RULESET, None, 0, _VERSION))


def restrict_files(allowed: Iterable[tuple[Path, int]]) -> int:
    """Allow this process and all it starts nothing but `allowed` of files, nor TCP; the version in force.

    Needs PR_SET_NO_NEW_PRIVS. Paths that do not exist are passed over.
    """
    version = landlock_version()
    if not version:
        return 0
    files = _ALL_OF_FIRST
    for since, right in _ADDED.items():
        files |= right if version >= since else 0
    net = _NET if version >= _NET_SINCE else 0
    scopes = _SCOPES if version >= _SIGNALS_SINCE else 0
    attributes = struct.pack("QQQ", files, net, scopes)
    size = 8 * (1 + (version >= _NET_SINCE) + (version >= _SIGNALS_SINCE))
    rules = _system_call(_CREATE_RULESET, ctypes.c_char_p(attributes), size, 0)
    if rules < 0:
        return 0
    try:
        for path, rights in allowed:
            try:
                descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except OSError:
                continue
            is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
            beneath = struct.pack("=Qi", rights & files & (-1 if is_folder else _OF_FILES), descriptor)
            _system_call(_ADD_RULE, rules, _PATH_BENEATH, ctypes.c_char_p(beneath), 0)
            os.close(descriptor)
        return version if _system_call(_RESTRICT_SELF, rules, 0) == 0 else 0
    finally:
        os.close(rules)


def _system_call(number: int, *arguments: object) -> int:
    return ctypes.CDLL(None, use_errno=True).syscall(number, *arguments)
