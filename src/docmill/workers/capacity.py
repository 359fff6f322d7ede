"""Processors and memory that this process may use: of the machine, within the limits of its container."""

import math
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

CHILD_BYTES = 1_000_000_000
"""Memory to be had for each child of a pool: one holds 0.4 GB, and up to 0.75 GB with the largest page."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """cores: at least 1, a part of one counted as a whole. memory_bytes: of everything in the container."""

    cores: int
    memory_bytes: int

    def processes(self, *, reserved_cores: int = 0) -> int:
        """Children that a pool should have: one for each core but the reserved ones, as memory allows.

        At least half of the cores count, whatever is reserved, and there is at least one child.
        """
        by_cores = max(self.cores // 2, self.cores - reserved_cores)
        return max(1, min(by_cores, self.memory_bytes // CHILD_BYTES))


def capacity(root: Path = Path("/")) -> Capacity:
    """What this process may use now. root: folder in which `proc` and `sys` are looked up.

    Source: Linux, Documentation/admin-guide/cgroup-v2.rst and cgroup-v1.
    """
    cores: list[float] = [len(os.sched_getaffinity(0))]
    memory = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for folder in _control_groups(root):
        for quota, period in (_pair(folder / "cpu.max"), _cfs_quota(folder)):
            if quota > 0 and period > 0:
                cores.append(quota / period)
        for name in ("memory.max", "memory.limit_in_bytes"):
            (limit,) = _numbers(folder / name) or (0,)
            if limit > 0:
                memory.append(limit)
    return Capacity(max(1, math.ceil(min(cores))), min(memory))


def _control_groups(root: Path) -> Iterator[Path]:
    """The folders of the groups of this process, and of those around them, as far as they can be seen."""
    mount = root / "sys/fs/cgroup"
    lines: list[str] = []
    with suppress(OSError):
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    for line in lines:
        _, controllers, path = line.split(":", 2)
        # Of version 2, or each controller of version 1; "unified" where a machine has both.
        for base in (
            [mount / name for name in controllers.split(",")]
            if controllers
            else [
                mount,
                mount / "unified",
            ]
        ):
            group = base / path.strip("/")
            if ".." in group.parts:  # of a group outside of what is mounted here
                group = base
            yield group
            yield from (folder for folder in group.parents if folder.is_relative_to(base))


def _cfs_quota(folder: Path) -> tuple[int, int]:
    quota, period = _numbers(folder / "cpu.cfs_quota_us"), _numbers(folder / "cpu.cfs_period_us")
    return (quota[0], period[0]) if quota and period else (0, 0)


def _pair(path: Path) -> tuple[int, int]:
    numbers = _numbers(path)
    return (numbers[0], numbers[1]) if len(numbers) > 1 else (0, 0)


def _numbers(path: Path) -> list[int]:
    """The numbers of a file; none if it cannot be read, or names no limit."""
    try:
        return [int(word) for word in path.read_text().split()]
    except (OSError, ValueError):
        return []
