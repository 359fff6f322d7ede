import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from docmill.errors import MisconfiguredError
from docmill.service.embedded import EmbeddedPostgres


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

    assert not lives(pid)


def test_processes_that_start_at_once_share_a_server(folder: Path) -> None:
    code = (
        "import sys, psycopg; from pathlib import Path\n"
        "from docmill.service.embedded import EmbeddedPostgres\n"
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


def test_a_user_killed_without_leaving_does_not_keep_the_server_up(folder: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path\n"
        "from docmill.service.embedded import EmbeddedPostgres\n"
        "EmbeddedPostgres(Path(sys.argv[1])).start(); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, str(folder)], check=False, timeout=100)
    pid = server_pid(folder)

    heir = EmbeddedPostgres(folder)
    heir.start()
    inherited = server_pid(folder)
    heir.stop()

    assert inherited == pid
    assert not lives(pid)


def test_a_pid_file_that_names_a_stranger_is_not_believed(folder: Path) -> None:
    server = EmbeddedPostgres(folder)
    server.start()
    server.stop()
    (folder / "data" / "postmaster.pid").write_text(f"{os.getpid()}\n{folder / 'data'}\n0\n5432\n\n\n\n")

    server.start()

    assert answer(server) == 42
    server.stop()


def test_a_long_path_gets_a_short_socket(folder: Path) -> None:
    server = EmbeddedPostgres(folder / ("long" * 30))

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
