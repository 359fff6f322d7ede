"""Limits of containers, as the kernel shows them in files."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from docmill.workers.capacity import CHILD_BYTES, Capacity, capacity

GB = 1_000_000_000


def affinity(*cores: int) -> Callable[[int], set[int]]:
    return lambda pid: set(cores) if pid == 0 else set()


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of 16 processors and 64 GB."""
    values = {"SC_PHYS_PAGES": 64 * GB // 4096, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(os, "sysconf", values.__getitem__)
    monkeypatch.setattr(os, "sched_getaffinity", affinity(*range(16)))


def within(root: Path, cgroup: str, files: Mapping[str, str]) -> Capacity:
    for name, content in {"proc/self/cgroup": cgroup, **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return capacity(root)


def test_without_limits_the_machine_counts(tmp_path: Path) -> None:
    files = {"sys/fs/cgroup/cpu.max": "max 100000\n", "sys/fs/cgroup/memory.max": "max\n"}

    found = within(tmp_path, "0::/\n", files)

    assert found == Capacity(16, 64 * GB)
    assert capacity(tmp_path / "nowhere") == found


@pytest.mark.parametrize(("quota", "cores"), [(200_000, 2), (150_000, 2), (20_000, 1)])
def test_limits_of_version_2_count_also_those_of_outer_groups(tmp_path: Path, quota: int, cores: int) -> None:
    files = {
        "sys/fs/cgroup/pod/cpu.max": f"{quota} 100000\n",
        "sys/fs/cgroup/pod/memory.max": f"{3 * GB}\n",
        "sys/fs/cgroup/pod/container/cpu.max": "800000 100000\n",
        "sys/fs/cgroup/pod/container/memory.max": "max\n",
    }

    assert within(tmp_path, "0::/pod/container\n", files) == Capacity(cores, 3 * GB)


@pytest.mark.parametrize("path", ["/", "/docker/0123", "/../elsewhere"])
def test_limits_of_version_1_count_wherever_the_group_is_mounted(tmp_path: Path, path: str) -> None:
    files = {
        "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "400000\n",
        "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{2 * GB}\n",
    }

    found = within(tmp_path, f"5:cpu,cpuacct:{path}\n4:memory:{path}\n0::{path}\n", files)

    assert found == Capacity(4, 2 * GB)


def test_a_group_of_version_1_without_limits_has_none(tmp_path: Path) -> None:
    files = {
        "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
        "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
    }

    assert within(tmp_path, "5:cpu:/\n4:memory:/\n", files).cores == 16


def test_affinity_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", affinity(2, 3))

    assert capacity(tmp_path).cores == 2


@pytest.mark.parametrize(
    ("cores", "memory_bytes", "reserved_cores", "processes"),
    [
        (8, 64 * GB, 0, 8),
        (8, 64 * GB, 2, 6),
        (8, 64 * GB, 7, 4),
        (1, 64 * GB, 2, 1),
        (3, 64 * GB, 2, 1),
        (8, 3 * CHILD_BYTES, 2, 3),
        (8, CHILD_BYTES // 2, 0, 1),
    ],
)
def test_children_fit_into_cores_and_memory(
    cores: int, memory_bytes: int, reserved_cores: int, processes: int
) -> None:
    assert Capacity(cores, memory_bytes).processes(reserved_cores=reserved_cores) == processes
