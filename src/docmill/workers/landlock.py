"""Landlock rules: they limit the files that a process may open, for good.

Written against the kernel's own interface (landlock(7)), as no library for it is on every machine.
"""

import ctypes
import os
import stat
import struct
from collections.abc import Iterable
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION, _PATH_BENEATH = 1, 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_REMOVE = 0x30
_MAKE_DIR, _MAKE_REG = 0x80, 0x100
_REFER, _TRUNCATE, _IOCTL_DEV = 0x2000, 0x4000, 0x8000
_ALL_OF_FIRST = 0x1FFF
_ADDED = {2: _REFER, 3: _TRUNCATE, 5: _IOCTL_DEV}
_NET, _SCOPES = 0x3, 0x3  # bind and connect by TCP; abstract sockets and signals of others
_NET_SINCE, SIGNALS_SINCE = 4, 6
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV

READ = _READ_FILE | _READ_DIR
RUN = READ | _EXECUTE
TAKE = READ | _REMOVE
WRITE = READ | _WRITE_FILE | _REMOVE | _MAKE_DIR | _MAKE_REG | _REFER | _TRUNCATE
USE = READ | _WRITE_FILE
"""Of a device."""


def version() -> int:
    """Version of the interface that the kernel offers; 0: none."""
    return max(0, _call(_CREATE_RULESET, None, 0, _VERSION))


def restrict(allowed: Iterable[tuple[Path, int]]) -> int:
    """Allow this process and all it starts nothing but `allowed` of files, nor TCP; the version in force.

    Needs PR_SET_NO_NEW_PRIVS. Paths that do not exist are passed over.
    """
    known = version()
    if not known:
        return 0
    files = _ALL_OF_FIRST
    for since, right in _ADDED.items():
        files |= right if known >= since else 0
    net = _NET if known >= _NET_SINCE else 0
    scopes = _SCOPES if known >= SIGNALS_SINCE else 0
    attributes = struct.pack("QQQ", files, net, scopes)
    size = 8 * (1 + (known >= _NET_SINCE) + (known >= SIGNALS_SINCE))
    rules = _call(_CREATE_RULESET, ctypes.c_char_p(attributes), size, 0)
    if rules < 0:
        return 0
    try:
        for path, rights in allowed:
            _allow(rules, path, rights & files)
        return known if _call(_RESTRICT_SELF, rules, 0) == 0 else 0
    finally:
        os.close(rules)


def _allow(rules: int, path: Path, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= _OF_FILES
        beneath = struct.pack("=Qi", rights, descriptor)
        _call(_ADD_RULE, rules, _PATH_BENEATH, ctypes.c_char_p(beneath), 0)
    finally:
        os.close(descriptor)


def _call(number: int, *arguments: object) -> int:
    return ctypes.CDLL(None, use_errno=True).syscall(number, *arguments)
