"""What a child cannot do, by doing it in one."""

import asyncio
import contextlib
import mimetypes
import os
import platform
import select
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from docmill.errors import CorruptError, MisconfiguredError, TimeLimitError, TooLargeError
from docmill.workers import sandbox, seccomp
from docmill.workers import scratch as desk_module
from docmill.workers.pool import Pool
from reading import trespass

REFUSED = {"EPERM", "EACCES"}


@pytest.fixture
async def protections(pool: Pool) -> list[str]:
    return await pool.run(sandbox.in_force, limit_s=30)


@pytest.fixture
def guarded(request: pytest.FixtureRequest, protections: list[str]) -> None:
    """Skips where this machine does not allow the protection that a test is about."""
    if request.param not in protections:
        pytest.skip(f"not allowed on this machine: {sandbox.PROTECTIONS[request.param]}")


def behind(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("guarded", [name], indirect=True)


def test_every_protection_is_explained(protections: list[str]) -> None:
    assert {"limits", "capabilities"} <= set(protections) <= set(sandbox.PROTECTIONS)


@behind("system_calls")
@pytest.mark.usefixtures("guarded")
class TestSystemCalls:
    @pytest.mark.parametrize(
        ("family", "address"),
        [
            (socket.AF_INET, ("127.0.0.1", 9)),
            (socket.AF_INET6, ("::1", 9)),
            (socket.AF_UNIX, "/run/postgresql/.s.PGSQL.5432"),
            (socket.AF_UNIX, "\0abstract"),
        ],
    )
    async def test_nobody_can_be_called(
        self, pool: Pool, family: int, address: str | tuple[str, int]
    ) -> None:
        assert await pool.run(trespass.connect, family, address, limit_s=30) in REFUSED

    async def test_nobody_can_call(self, pool: Pool) -> None:
        assert await pool.run(trespass.listen, limit_s=30) in REFUSED

    @pytest.mark.skipif(platform.machine() != "x86_64", reason="these numbers are of x86-64")
    @pytest.mark.parametrize(
        ("name", "call"),
        [
            ("ptrace", (101, 16, os.getpid())),
            ("process_vm_readv", (310, os.getpid(), 0, 0, 0, 0, 0)),
            ("pidfd_open", (434, os.getpid(), 0)),
            ("io_uring_setup", (425, 1, 0)),
            ("unshare", (272, 0x1000_0000)),
            ("clone", (56, 0x1000_0011, 0, 0, 0, 0)),
            ("setsid", (112,)),
            ("bpf", (321, 0, 0, 0)),
            ("prlimit64", (302, os.getpid(), 7, 0, 0)),
            ("setpriority", (141, 0, os.getpid(), 19)),
            ("sched_setscheduler", (144, os.getpid(), 5, 0)),
            ("sched_setparam", (142, os.getpid(), 0)),
            ("sched_setattr", (314, os.getpid(), 0, 0)),
            ("sched_setaffinity", (203, os.getpid(), 8, 0)),
            ("ioprio_set", (251, 1, os.getpid(), 3 << 13)),
            ("removexattr", (197, 0, 0)),
            ("fremovexattr", (199, 0, 0)),
            ("x32", (0x4000_0029, 2, 1, 0)),
        ],
    )
    async def test_what_no_reader_needs_is_refused(
        self, pool: Pool, name: str, call: tuple[int, ...]
    ) -> None:
        assert await pool.run(trespass.raw_call, call, limit_s=30) in REFUSED, name

    async def test_no_other_process_gets_a_signal(self, pool: Pool) -> None:
        assert await pool.run(trespass.signal_to, os.getpid(), limit_s=30) in REFUSED

    @pytest.mark.skipif(platform.machine() != "x86_64", reason="this number is of x86-64")
    def test_the_filter_alone_lets_signals_reach_this_process_only(self) -> None:
        code = (
            "import ctypes, os\n"
            "from docmill.workers import seccomp\n"
            "libc = ctypes.CDLL(None)\n"
            "libc.prctl(38, 1, 0, 0, 0)\n"
            "assert seccomp.refuse_calls(signals_are_bounded=False)\n"
            "parent, own = os.getppid(), os.getpid()\n"
            "print([libc.syscall(234, pid, pid, 0) for pid in (own, parent)])\n"
        )

        answers = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)

        assert answers.stdout == "[0, -1]\n"

    async def test_a_program_runs_under_the_same_protections(self, pool: Pool) -> None:
        code = "import socket; socket.socket()"
        command = [sys.executable, "-c", f"try:\n {code}\nexcept PermissionError:\n print('refused')"]

        assert await pool.run(trespass.run_program, command, b"", limit_s=30) == b"refused\n"


@behind("network_namespace")
@pytest.mark.usefixtures("guarded")
async def test_there_is_no_network(pool: Pool) -> None:
    assert await pool.run(trespass.interfaces, limit_s=30) == ["lo"]


@behind("files")
@pytest.mark.usefixtures("guarded")
class TestFiles:
    @pytest.mark.parametrize("path", ["/etc/shadow", "/etc/passwd", "/proc/1/environ", "/root", "/var/log"])
    async def test_nothing_of_others_can_be_read(self, pool: Pool, path: str) -> None:
        assert await pool.run(trespass.read, path, limit_s=30) in REFUSED

    async def test_the_parents_memory_and_environment_are_closed(self, pool: Pool) -> None:
        for name in ("environ", "mem", "maps", "fd/0"):
            assert await pool.run(trespass.read, f"/proc/{os.getpid()}/{name}", limit_s=30) in REFUSED

    async def test_a_file_that_was_not_lent_cannot_be_read(self, pool: Pool, tmp_path: Path) -> None:
        (tmp_path / "lent").write_bytes(b"ours")
        (tmp_path / "other").write_bytes(b"another tenant's")

        _, content = await pool.run(trespass.name_of, tmp_path / "lent", limit_s=30)

        assert content == b"ours"
        assert await pool.run(trespass.read, str(tmp_path / "other"), limit_s=30) in REFUSED

    async def test_of_a_link_the_file_that_it_leads_to_is_lent(self, pool: Pool, tmp_path: Path) -> None:
        (tmp_path / "original").write_bytes(b"ours")
        (tmp_path / "link").symlink_to("original")

        _, content = await pool.run(trespass.name_of, tmp_path / "link", limit_s=30)

        assert content == b"ours"

    async def test_a_file_that_is_kept_in_memory_is_lent(self, pool: Pool) -> None:
        with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
            file.write(b"ours")
            file.flush()

            _, content = await pool.run(trespass.name_of, Path(file.name), limit_s=30)

        assert content == b"ours"

    async def test_nothing_can_be_written_outside(self, pool: Pool, tmp_path: Path) -> None:
        await asyncio.to_thread(tmp_path.chmod, 0o777)

        for path in (tmp_path / "file", Path("/tmp/file"), Path("/dev/shm/file"), Path("../lent/file")):
            assert await pool.run(trespass.write, str(path), limit_s=30) in REFUSED

    async def test_python_may_read_what_it_looks_for(self, pool: Pool) -> None:
        assert await pool.run(mimetypes.guess_extension, "application/pdf", limit_s=30) == ".pdf"

    async def test_the_original_cannot_be_harmed(self, pool: Pool, tmp_path: Path) -> None:
        original = tmp_path / "invoice.pdf"
        original.write_bytes(b"precious")
        original.chmod(0o666)
        os.utime(original, ns=(10**9, 10**9))

        refusals = await pool.run(trespass.harm, original, limit_s=30)

        assert {name for name, refusal in refusals.items() if refusal == "done"} == set()
        assert original.stat().st_mtime_ns == 10**9
        assert (original.read_bytes(), original.stat().st_mode & 0o777) == (b"precious", 0o666)

    async def test_a_program_of_its_own_cannot_be_run(self, pool: Pool) -> None:
        assert await pool.run(trespass.run_dropped, limit_s=30) in REFUSED


@behind("capabilities")
@pytest.mark.usefixtures("guarded")
async def test_there_are_no_privileges(pool: Pool) -> None:
    privileges = await pool.run(trespass.privileges, limit_s=30)

    assert int(privileges["CapBnd"], 16) == 0
    kept = sandbox.READ_ALL_FILES if sandbox.landlock_version() else 0  # for programs closed to others
    for name in ("CapEff", "CapPrm"):
        assert int(privileges[name], 16) & ~kept == 0
    assert (int(privileges["CapInh"], 16), int(privileges["CapAmb"], 16)) == (0, 0)
    assert privileges["NoNewPrivs"] == "1"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has capabilities to keep")
def test_without_landlock_no_capability_is_kept_even_for_programs_closed_to_others() -> None:
    code = (
        "from pathlib import Path\n"
        "from docmill.workers import sandbox\n"
        "sandbox._programs_are_open = lambda: False\n"
        "sandbox.restrict_files = lambda allowed: 0\n"
        "root = Path('/')\n"
        "sandbox.enter(10**9, folder=root, work=root, user=sandbox.FIRST_USER)\n"
        "lines = Path('/proc/self/status').read_text().splitlines()\n"
        "print({line.split()[1].strip('0') for line in lines if line.startswith('Cap')})\n"
    )

    answers = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)

    assert answers.stdout == "{''}\n"


def test_no_child_starts_that_would_need_rights_to_the_files_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(sandbox, "_programs_are_open", lambda: False)
    monkeypatch.setattr(sandbox, "landlock_version", lambda: 0)

    with pytest.raises(MisconfiguredError, match="install them where every user may read"):
        sandbox.user_for_children()


@behind("processes")
@pytest.mark.usefixtures("guarded")
async def test_a_fork_bomb_ends_soon_and_nothing_of_it_is_left(pool: Pool) -> None:
    count, refusal = await pool.run(trespass.fork_bomb, limit_s=30)

    assert (count <= sandbox.MAX_PROCESSES + 4 * (os.cpu_count() or 1), refusal) == (True, "EAGAIN")
    assert await pool.run(trespass.fork_bomb, limit_s=30) == (count, refusal)  # those of before are gone


async def test_a_process_that_stays_after_its_task_ends_with_its_child(pool: Pool) -> None:
    pid = await pool.run(os.getpid, limit_s=30)

    await pool.run(trespass.start_and_leave, limit_s=30)

    assert await pool.run(os.getpid, limit_s=30) != pid


async def test_a_child_has_no_descriptors_of_its_parent(pool: Pool, tmp_path: Path) -> None:
    with (tmp_path / "open").open("wb") as file, socket.socket() as connection:
        os.set_inheritable(file.fileno(), False)
        os.set_inheritable(connection.fileno(), False)
        found = await pool.run(trespass.descriptors, limit_s=30)

    assert found == ["/dev/null"] * 3 + ["socket"]


async def test_limits_hold(pool: Pool) -> None:
    limits = await pool.run(trespass.limits, limit_s=30)

    assert (limits["CORE"], limits["FSIZE"]) == (0, sandbox.MAX_FILE_BYTES)
    assert limits["NOFILE"] <= sandbox.MAX_OPEN_FILES
    assert await pool.run(trespass.fill_file, limit_s=30) == "EFBIG"


async def test_the_disk_cannot_be_filled(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk_module, "MAX_BYTES", 10_000_000)

    with pytest.raises(TooLargeError, match="writes more"):
        await pool.run(trespass.fill_disk, limit_s=30)


async def test_the_work_folder_is_empty_before_each_task(pool: Pool) -> None:
    assert await pool.run(trespass.leave, "first", limit_s=30) == []
    assert await pool.run(trespass.leave, "second", limit_s=30) == []


async def test_nothing_is_left_when_a_child_ends(pool: Pool, tmp_path: Path) -> None:
    original = tmp_path / "invoice.pdf"
    original.write_bytes(b"precious")
    place, _ = await pool.run(trespass.name_of, original, limit_s=30)
    folder = Path(place).parent.parent

    with pytest.raises(TimeLimitError):
        await pool.run(signal.pause, limit_s=0.1)

    assert not folder.exists()
    assert original.stat().st_nlink == 1


async def test_a_missing_file_is_said_to_be_missing(pool: Pool, tmp_path: Path) -> None:
    with pytest.raises(CorruptError, match="'gone' is gone"):
        await pool.run(trespass.name_of, tmp_path / "gone", limit_s=30)


async def test_without_a_parent_what_was_lent_is_taken_back(tmp_path: Path) -> None:
    original = tmp_path / "invoice.pdf"
    original.write_bytes(b"precious")
    program = (
        "import asyncio, os, signal, sys\n"
        "from pathlib import Path\n"
        "from docmill.workers.pool import Pool\n"
        "from reading import trespass\n"
        "async def main():\n"
        "    pool = Pool(1)\n"
        "    place, _ = await pool.run(trespass.name_of, Path(sys.argv[1]), limit_s=30)\n"
        "    print(place, await pool.run(os.getpid, limit_s=30), flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())\n"
    )
    killed = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, str(original), stdout=asyncio.subprocess.PIPE,
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    printed, _ = await killed.communicate()
    place, pid = printed.decode().split()

    await asyncio.to_thread(_ended, int(pid))

    assert not await asyncio.to_thread(Path(place).exists)
    assert original.stat().st_nlink == 1


def _ended(pid: int) -> None:
    """Wait for the end of a process that is not ours."""
    with contextlib.suppress(ProcessLookupError), os.fdopen(os.pidfd_open(pid)) as process:
        select.select([process], [], [], 30)


def test_a_kernel_without_landlock_restricts_no_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "landlock_version", lambda: 0)

    assert sandbox.restrict_files([]) == 0


def test_an_unknown_machine_filters_no_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "abacus")

    assert not seccomp.refuse_calls(signals_are_bounded=True)
