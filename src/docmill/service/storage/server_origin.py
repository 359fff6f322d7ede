"""Records where a database server was started: the machine, its boot, and the process namespace."""

import json
import re
import socket
from dataclasses import asdict, dataclass
from pathlib import Path

LOCAL_DISKS = {
    *("ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "bcachefs", "f2fs", "jfs", "reiserfs"),
    *("overlay", "tmpfs", "ramfs"),
}
"""File systems that one running kernel uses at a time. Others, such as NFS, are shared between machines."""

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_PID_NAMESPACE = Path("/proc/self/ns/pid")
_MOUNTS = Path("/proc/self/mountinfo")


@dataclass(frozen=True, slots=True)
class Origin:
    """boot_id: of the kernel, another after each start. pid_namespace: within it, of the process numbers.

    Both are empty where there is no /proc. host: for people.
    """

    boot_id: str
    pid_namespace: str
    host: str

    @classmethod
    def here(cls) -> "Origin":
        """That of this process."""
        try:
            return cls(_BOOT_ID.read_text().strip(), str(_PID_NAMESPACE.readlink()), socket.gethostname())
        except OSError:
            return cls("", "", socket.gethostname())

    @classmethod
    def read(cls, file: Path) -> "Origin | None":
        """The record in the file; None if there is none, or none that can be understood."""
        try:
            return cls(**json.loads(file.read_text()))
        except (OSError, ValueError, TypeError):
            return None

    def write(self, file: Path) -> None:
        """Write it whole or not at all."""
        fresh = file.with_suffix(".new")
        fresh.write_text(json.dumps(asdict(self)))
        fresh.replace(file)

    def has_the_processes_of(self, other: "Origin") -> bool:
        """True if both share one process namespace, so that a process number means the same in both."""
        return (self.boot_id, self.pid_namespace) == (other.boot_id, other.pid_namespace)


def is_on_local_disk(folder: Path) -> bool:
    """True if no other machine can use the disk of `folder` while this one does; also without /proc."""
    try:
        lines = _MOUNTS.read_text().splitlines()
    except OSError:
        return True
    # 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw: see proc(5). The last mount of a path
    # hides those before it.
    kinds = {_path(line.split(" ", 5)[4]): line.partition(" - ")[2].split(" ", 1)[0] for line in lines}
    resolved = folder.resolve()
    return next((kinds[path] for path in [resolved, *resolved.parents] if path in kinds), "") in LOCAL_DISKS


def _path(escaped: str) -> Path:
    r"""A path as mountinfo has it, where a space is \040."""
    return Path(re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), escaped))
