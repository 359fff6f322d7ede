import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from docmill.errors import MisconfiguredError
from docmill.service.storage import postgres_server
from docmill.service.storage.postgres_server import EmbeddedPostgres


@pytest.fixture
def folder() -> Iterator[Path]:
    # Not pytest's folder: it is closed to the user under whom the server runs when tests run as root.
    with tempfile.TemporaryDirectory(prefix="docmill-") as name:
        yield Path(name) / "postgres"


def server_pid(folder: Path) -> int:
    return int((folder / "data" / "postmaster.pid").read_text().split("\n", 1)[0])


def lives(pid: int) -> bool:
    """A dead process may stay in the list until somebody waits for it."""
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def has_ended(pid: int) -> bool:
    """Whether it ends within seconds: on a busy machine its last process takes a moment."""
    deadline = time.monotonic() + 10
    while lives(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not lives(pid)


def kill_server(folder: Path) -> None:
    pid = server_pid(folder)
    os.kill(pid, signal.SIGKILL)
    while lives(pid):  # a signal takes its moment
        os.sched_yield()


def answer(server: EmbeddedPostgres) -> int:
    with psycopg.connect(server.url()) as conn:
        (number,) = conn.execute("SELECT 42").fetchone() or (0,)
    return number


def test_it_starts_stops_and_keeps_what_it_holds(folder: Path) -> None:
    first = EmbeddedPostgres(folder)
    first.start()
    with psycopg.connect(first.url()) as conn:
        conn.execute("CREATE TABLE kept AS SELECT 42 AS number")
    pid = server_pid(folder)
    first.stop()
    first.stop()

    assert not lives(pid)
    second = EmbeddedPostgres(folder)
    second.start()
    with psycopg.connect(second.url()) as conn:
        assert conn.execute("SELECT number FROM kept").fetchone() == (42,)
    second.stop()


def test_two_users_share_a_server_until_the_last_leaves(folder: Path) -> None:
    up, status = EmbeddedPostgres(folder), EmbeddedPostgres(folder)
    up.start()
    status.start()
    pid = server_pid(folder)

    status.stop()
    assert answer(up) == 42
    up.stop()

    assert has_ended(pid)


def test_processes_that_start_at_once_share_a_server(folder: Path) -> None:
    code = (
        "import sys, psycopg; from pathlib import Path\n"
        "from docmill.service.storage.postgres_server import EmbeddedPostgres\n"
        "server = EmbeddedPostgres(Path(sys.argv[1])); server.start()\n"
        "print(psycopg.connect(server.url()).execute('SELECT 42').fetchone()[0]); server.stop()"
    )

    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE) for _ in range(3)
    ]
    answers = [process.communicate(timeout=100)[0].strip() for process in processes]

    assert answers == [b"42"] * 3


def test_it_recovers_after_its_server_was_killed(folder: Path) -> None:
    first = EmbeddedPostgres(folder)
    first.start()
    kill_server(folder)

    second = EmbeddedPostgres(folder)
    second.start()

    assert answer(second) == 42
    second.stop()
    first.stop()


USE_AND_BE_KILLED = """
import os, sys
from pathlib import Path
from docmill.service.storage.postgres_server import EmbeddedPostgres
EmbeddedPostgres(Path(sys.argv[1])).start()
os.kill(os.getpid(), 9)
"""


def test_a_user_killed_without_leaving_does_not_keep_the_server_up(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    subprocess.run([sys.executable, "-c", USE_AND_BE_KILLED, str(folder)], check=False, timeout=100)
    pid = server_pid(folder)

    heir, second = EmbeddedPostgres(folder), EmbeddedPostgres(folder)
    heir.start()
    second.start()
    inherited = server_pid(folder)
    second.stop()
    heir.stop()

    assert inherited == pid
    assert not lives(pid)
    assert caplog.messages.count("a process that was killed left the database running: taking it over") == 1


def test_a_server_that_nobody_uses_can_be_stopped_and_one_in_use_cannot(folder: Path) -> None:
    server = EmbeddedPostgres(folder)
    assert not server.stop_left_running()
    subprocess.run([sys.executable, "-c", USE_AND_BE_KILLED, str(folder)], check=False, timeout=100)
    pid = server_pid(folder)

    assert server.stop_left_running()
    assert not lives(pid)
    assert not server.stop_left_running()

    server.start()
    assert not EmbeddedPostgres(folder).stop_left_running()
    assert answer(server) == 42
    server.stop()


def test_the_server_of_the_original_is_not_stopped_for_its_copy(folder: Path) -> None:
    subprocess.run([sys.executable, "-c", USE_AND_BE_KILLED, str(folder)], check=False, timeout=100)
    pid = server_pid(folder)
    copied = folder.with_name("copied")
    subprocess.run(["cp", "-a", folder, copied], check=True)

    assert not EmbeddedPostgres(copied).stop_left_running()

    assert lives(pid)
    assert EmbeddedPostgres(folder).stop_left_running()


USE_UNTIL_TOLD = """
import sys
from pathlib import Path
from docmill.service.storage.postgres_server import EmbeddedPostgres
server = EmbeddedPostgres(Path(sys.argv[1]))
server.start()
print("started", flush=True)
sys.stdin.read()
server.stop()
"""


@pytest.fixture
def container(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Uses the server from process numbers of its own, which end with it, until its input ends."""
    unshare = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    if subprocess.run([*unshare, "true"], check=False, capture_output=True).returncode:
        pytest.skip("this user may not make namespaces")
    with subprocess.Popen(
        [*unshare, sys.executable, "-c", USE_UNTIL_TOLD, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"started\n"
        yield process
        process.kill()


@pytest.mark.parametrize("path", ["", "long" * 30], ids=["a socket that is seen", "one that is not"])
def test_a_server_of_another_container_is_neither_joined_nor_replaced(
    folder: Path, container: subprocess.Popen[bytes], path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid_file = (folder / "data" / "postmaster.pid").read_text()
    if path:  # as where /tmp is not shared
        monkeypatch.setattr(postgres_server, "MAX_SOCKET_PATH", 1)
    server = EmbeddedPostgres(folder)

    with pytest.raises(MisconfiguredError, match="runs in another container of this machine"):
        server.start()
    with pytest.raises(MisconfiguredError, match="set database_url"):
        server.stop_left_running()

    assert (folder / "data" / "postmaster.pid").read_text() == pid_file
    container.communicate(timeout=60)
    assert container.returncode == 0
    server.start()
    assert answer(server) == 42
    server.stop()


def works_on(folder: Path, process: psutil.Process) -> bool:
    return bool(process.info["cwd"] == str(folder / "data"))


def test_the_server_of_a_container_that_was_killed_is_replaced(
    folder: Path, container: subprocess.Popen[bytes]
) -> None:
    working = [process for process in psutil.process_iter(["cwd"]) if works_on(folder, process)]
    assert working
    container.kill()
    psutil.wait_procs(working, timeout=60)
    assert (folder / "data" / "postmaster.pid").exists()

    server = EmbeddedPostgres(folder)
    server.start()

    assert answer(server) == 42
    server.stop()


def test_who_used_a_server_leaves_that_of_another_container_alone(
    folder: Path, request: pytest.FixtureRequest
) -> None:
    server = EmbeddedPostgres(folder)
    server.start()
    kill_server(folder)
    request.getfixturevalue("container")

    with pytest.raises(MisconfiguredError, match="another container"):
        server.revive()
    pid_file = (folder / "data" / "postmaster.pid").read_text()
    server.stop()

    assert (folder / "data" / "postmaster.pid").read_text() == pid_file


@pytest.fixture
def left_by_another_kernel(folder: Path) -> Path:
    """A folder whose server was killed when another kernel ran; the pid file of that server."""
    server = EmbeddedPostgres(folder)
    server.start()
    kill_server(folder)
    server.stop()
    origin = folder / "server.origin"
    origin.write_text(json.dumps(json.loads(origin.read_text()) | {"boot_id": "another", "host": "attic"}))
    return folder / "data" / "postmaster.pid"


def test_after_a_power_cut_the_server_is_started_from_a_disk_of_this_machine(
    folder: Path, left_by_another_kernel: Path
) -> None:
    assert left_by_another_kernel.exists()
    server = EmbeddedPostgres(folder)

    server.start()

    assert answer(server) == 42
    server.stop()


def test_a_server_on_a_disk_that_machines_share_may_still_run_elsewhere(
    folder: Path, left_by_another_kernel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_server, "LOCAL_DISKS", set[str]())

    with pytest.raises(MisconfiguredError, match=r"by another machine \('attic'\).*remove .*postmaster\.pid"):
        EmbeddedPostgres(folder).start()

    assert left_by_another_kernel.exists()
    left_by_another_kernel.unlink()
    server = EmbeddedPostgres(folder)
    server.start()
    assert answer(server) == 42
    server.stop()


def test_a_pid_file_that_names_a_stranger_is_not_believed(folder: Path) -> None:
    server = EmbeddedPostgres(folder)
    server.start()
    server.stop()
    (folder / "data" / "postmaster.pid").write_text(f"{os.getpid()}\n{folder / 'data'}\n0\n5432\n\n\n\n")

    server.start()

    assert answer(server) == 42
    server.stop()


def test_a_long_path_gets_a_short_socket(folder: Path) -> None:
    server = EmbeddedPostgres(folder / ("long" * 30), data_dir=folder.parent)

    server.start()

    assert answer(server) == 42
    server.stop()


def test_a_folder_that_cannot_be_used_is_a_setup_error(folder: Path) -> None:
    folder.write_text("in the way")

    with pytest.raises(MisconfiguredError, match="PostgreSQL"):
        EmbeddedPostgres(folder).start()


def test_a_server_that_does_not_start_says_where_its_log_is(folder: Path) -> None:
    server = EmbeddedPostgres(folder, options={"no_such_option": "1"})

    with pytest.raises(MisconfiguredError, match=r"server\.log"):
        server.start()


def test_who_uses_a_server_that_was_killed_revives_it(folder: Path) -> None:
    server = EmbeddedPostgres(folder)
    assert not server.revive()
    server.start()
    assert not server.revive()
    kill_server(folder)

    revived = server.revive()

    assert revived
    assert answer(server) == 42
    server.stop()


def test_a_stranger_with_the_number_of_a_killed_server_is_not_taken_for_it(folder: Path) -> None:
    server = EmbeddedPostgres(folder)
    server.start()
    kill_server(folder)
    (folder / "data" / "postmaster.pid").write_text(f"{os.getpid()}\n{folder / 'data'}\n0\n5432\n\n\n\n")

    revived = server.revive()

    assert revived
    assert answer(server) == 42
    server.stop()


def test_a_server_that_is_left_while_somebody_looks_after_it_is_not_revived(folder: Path) -> None:
    class Leaving(EmbeddedPostgres):
        def _lives(self) -> bool:
            self.stop()
            return False

    server = Leaving(folder)
    server.start()

    assert not server.revive()
    assert not (folder / "data" / "postmaster.pid").exists()


def test_only_the_user_of_docmill_and_of_the_server_may_log_in(folder: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can be another user")
    server = EmbeddedPostgres(folder)
    server.start()
    # As if the folders were open: the socket is not what keeps others out.
    for path in (folder.parent, folder, folder / "data", folder / "data" / ".s.PGSQL.5432"):
        path.chmod(0o777)
    program, url = postgres_server.programs() / "psql", server.url()
    command = [program, "--no-psqlrc", "--command=SELECT 42", url]

    refused = subprocess.run(
        command, user="nobody", group="nogroup", extra_groups=[], capture_output=True, text=True, check=False
    )
    allowed = subprocess.run(command, capture_output=True, text=True, check=False)
    for path, mode in ((folder / "data", 0o700), (folder, 0o711), (folder.parent, 0o711)):
        path.chmod(mode)
    server.stop()

    assert "Peer authentication failed" in refused.stderr
    assert (refused.returncode != 0, allowed.returncode) == (True, 0)


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A disk of 100 MB that every user may pass through."""
    with tempfile.TemporaryDirectory(prefix="docmill-") as name:
        Path(name).chmod(0o711)
        disk = Path(name) / "disk"
        disk.mkdir()
        mounting = ["mount", "-t", "tmpfs", "-o", "size=100m,mode=0755", "docmill-test", disk]
        if subprocess.run(mounting, check=False).returncode:
            pytest.skip("this user may not mount a small disk")
        yield disk
        subprocess.run(["umount", "--lazy", disk], check=True)


def fill(disk: Path) -> None:
    with (disk / "filling").open("wb") as filling:
        subprocess.run(["head", "-c", "200M", "/dev/zero"], stdout=filling, check=False)


def test_a_disk_without_room_for_a_new_database_is_told(small_disk: Path) -> None:
    (small_disk / "other").write_bytes(bytes(60_000_000))

    with pytest.raises(MisconfiguredError, match=r"is full: its database needs 80 MB and 45 MB are free"):
        EmbeddedPostgres(small_disk / "postgres").start()


def test_a_full_disk_is_told_and_the_database_starts_when_there_is_room(small_disk: Path) -> None:
    server = EmbeddedPostgres(small_disk / "postgres")
    server.start()
    server.stop()
    fill(small_disk)

    with pytest.raises(MisconfiguredError, match=r"the disk of '\S+' is full"):
        server.start()

    (small_disk / "filling").unlink()
    server.start()
    assert answer(server) == 42
    server.stop()


def test_what_a_program_of_the_server_prints_is_not_shown_but_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = folder.parent / "programs"
    programs.mkdir(mode=0o755)
    folder.parent.chmod(0o711)
    (programs / "initdb").write_text("#!/bin/sh\necho 'FATAL: words for engineers'\nexit 3\n")
    (programs / "postgres").write_text("#!/bin/sh\n")
    for program in programs.iterdir():
        program.chmod(0o755)
    monkeypatch.setattr(postgres_server, "programs", lambda: programs)

    with pytest.raises(MisconfiguredError, match=r"'initdb' ended with status 3; .*initdb\.log") as refused:
        EmbeddedPostgres(folder).start()

    assert "FATAL" not in refused.value.message
    assert (folder / "initdb.log").read_text() == "FATAL: words for engineers\n"
