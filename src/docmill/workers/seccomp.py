"""Seccomp filter: system calls that no reader needs are refused, above all the network's.

Written against the kernel's own interface (seccomp(2)), as the library for it is not on every machine.
"""

import ctypes
import os
import platform
import struct
from typing import NamedTuple

# Instructions, outcomes, places in what they look at, error numbers.
_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERROR, _KILL = 0x7FFF_0000, 0x0005_0000, 0x8000_0000
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_EPERM, _EACCES, _ENOSYS = 1, 13, 38
_PR_SET_SECCOMP, _FILTER = 22, 2
_NEW_NAMESPACES = 0x7E02_0000
_FOREIGN_CALLS = 0x4000_0000  # those of x32, which have numbers of their own


class _Machine(NamedTuple):
    audit_number: int
    column: int


_MACHINES = {"x86_64": _Machine(0xC000_003E, 0), "aarch64": _Machine(0xC000_00B7, 1)}
_NONE = -1

# Numbers on x86-64 and on 64-bit ARM; -1: there is no such call.
_NETWORK = {
    "socket": (41, 198),
    "connect": (42, 203),
    "accept": (43, 202),
    "accept4": (288, 242),
    "bind": (49, 200),
    "listen": (50, 201),
    "sendmsg": (46, 211),
    "sendmmsg": (307, 269),
    "io_uring_setup": (425, 425),  # reads, writes and connects without the calls seen here
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
}
_OTHERS_PROCESSES = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "kcmp": (312, 272),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424),
    "tkill": (200, 130),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "move_pages": (279, 239),
    "migrate_pages": (256, 238),
    "setpgid": (109, 154),  # whoever leaves the group would outlive its end
    "setsid": (112, 157),
    "setpriority": (141, 140),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "sched_setattr": (314, 274),
    "sched_setaffinity": (203, 122),
    "ioprio_set": (251, 30),
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mq_open": (240, 180),
}
_OTHERS_FILES = {
    "chmod": (90, _NONE),  # an original lent by a link is the original itself
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, _NONE),
    "fchown": (93, 55),
    "lchown": (94, _NONE),
    "fchownat": (260, 54),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "setxattrat": (463, 463),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "removexattrat": (466, 466),
    "truncate": (76, 45),
    "utime": (132, _NONE),
    "utimes": (235, _NONE),
    "futimesat": (261, _NONE),
    "utimensat": (280, 88),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
}
_THE_SYSTEM = {
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
    "iopl": (172, _NONE),
    "ioperm": (173, _NONE),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "fanotify_init": (300, 262),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "syslog": (103, 116),
    "personality": (135, 92),
}
_CLONE = (56, 220)
_CLONE3 = 435
_SIGNALS = ((62, 129), (234, 131))  # kill, tgkill
_PRLIMIT = (302, 261)
_SEND_TO = (44, 206)


def refuse_calls(*, signals_are_bounded: bool) -> bool:
    """Install the filter for this process and all it starts, for good; False where the kernel cannot.

    Needs PR_SET_NO_NEW_PRIVS. Unless `signals_are_bounded` by other means, they may be sent to this process
    and its group alone.
    """
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        return False
    program = _program(machine, None if signals_are_bounded else os.getpid())
    code = ctypes.create_string_buffer(b"".join(program))
    header = struct.pack("HxxxxxxQ", len(program), ctypes.addressof(code))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    return prctl(_PR_SET_SECCOMP, _FILTER, ctypes.c_char_p(header), 0, 0) == 0


def _program(machine: _Machine, only_signal_to: int | None) -> list[bytes]:
    def on(call: tuple[int, int], checks: list[bytes]) -> list[bytes]:
        block = [*checks, _instruction(_RETURN, _ALLOW)]
        return [_instruction(_JUMP_EQUAL, call[machine.column], otherwise=len(block)), *block]

    program = [
        _load(_ARCHITECTURE),
        *_unless(_JUMP_EQUAL, machine.audit_number, _KILL),
        _load(_NUMBER),
        *_if(_JUMP_AT_LEAST, _FOREIGN_CALLS, _ERROR | _EPERM),
        *_if(_JUMP_EQUAL, _CLONE3, _ERROR | _ENOSYS),  # its arguments cannot be seen; clone is used then
    ]
    for call in _NETWORK.values():
        program += _if(_JUMP_EQUAL, call[machine.column], _ERROR | _EACCES)
    for call in (_OTHERS_PROCESSES | _OTHERS_FILES | _THE_SYSTEM).values():
        if call[machine.column] != _NONE:
            program += _if(_JUMP_EQUAL, call[machine.column], _ERROR | _EPERM)
    program += on(_CLONE, [_load(_argument(0)), *_if(_JUMP_ANY_BIT, _NEW_NAMESPACES, _ERROR | _EPERM)])
    program += on(_PRLIMIT, [_load(_argument(0)), *_unless(_JUMP_EQUAL, 0, _ERROR | _EPERM)])
    address = [_argument(4), _argument(4) + 4]
    unaddressed = [
        line for half in address for line in (_load(half), *_unless(_JUMP_EQUAL, 0, _ERROR | _EACCES))
    ]
    program += on(_SEND_TO, unaddressed)
    if only_signal_to is not None:
        own = [*_if(_JUMP_EQUAL, only_signal_to, _ALLOW), *_unless(_JUMP_EQUAL, 0, _ERROR | _EPERM)]
        for call in _SIGNALS:
            program += on(call, [_load(_argument(0)), *own])
    return [*program, _instruction(_RETURN, _ALLOW)]


def _argument(index: int) -> int:
    return _FIRST_ARGUMENT + 8 * index  # its lower half: both machines are little-endian


def _load(offset: int) -> bytes:
    return _instruction(_LOAD, offset)


def _if(test: int, value: int, outcome: int) -> list[bytes]:
    return [_instruction(test, value, otherwise=1), _instruction(_RETURN, outcome)]


def _unless(test: int, value: int, outcome: int) -> list[bytes]:
    return [_instruction(test, value, then=1), _instruction(_RETURN, outcome)]


def _instruction(code: int, value: int, *, then: int = 0, otherwise: int = 0) -> bytes:
    """One line; then, otherwise: how many lines a test skips."""
    return struct.pack("HBBI", code, then, otherwise, value)
