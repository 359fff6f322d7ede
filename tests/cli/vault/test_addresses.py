"""How commands find the web servers of a data folder."""

import fcntl
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from docmill.cli.vault.addresses import address_of, announced
from docmill.errors import MisconfiguredError
from docmill.service.observe.health import VAULT_HEADER

OURS = "0198f3a2-0000-7000-8000-000000000001"


@contextmanager
def answering(status: int, vault_id: str | None = OURS) -> Generator[str]:
    """Where a web server of that vault answers every request with `status`."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            if vault_id is not None:
                self.send_header(VAULT_HEADER, vault_id)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the library's name
            del format, args

    server = HTTPServer(("127.0.0.1", 0), Answer)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        serving.join()
        server.server_close()


@pytest.fixture
def nobody() -> str:
    """An address where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as gone:
        return f"http://127.0.0.1:{gone.getsockname()[1]}/"


@contextmanager
def running(data_dir: Path, address: str) -> Generator[None]:
    with announced(data_dir) as announcement:
        announcement.publish(address, OURS)
        yield


def test_a_server_is_found_while_it_runs_and_not_afterwards(tmp_path: Path) -> None:
    with answering(200) as address:
        with running(tmp_path, address):
            assert address_of(tmp_path) == address
        assert address_of(tmp_path) is None


def test_a_server_that_cannot_be_reached_does_not_hide_another(tmp_path: Path, nobody: str) -> None:
    with running(tmp_path, nobody), answering(200) as address, running(tmp_path, address):
        assert address_of(tmp_path) == address


def test_what_a_killed_server_left_is_not_believed_and_removed_by_the_next(tmp_path: Path) -> None:
    code = "import os, sys; from pathlib import Path; from docmill.cli.vault.addresses import announced\n"
    code += (
        "with announced(Path(sys.argv[1])) as a: a.publish(sys.argv[2], sys.argv[3]); os.kill(os.getpid(), 9)"
    )
    with answering(200) as address:
        subprocess.run([sys.executable, "-c", code, tmp_path, address, OURS], check=False, timeout=60)
        assert len(list((tmp_path / "addresses").iterdir())) == 1

        assert address_of(tmp_path) is None
        with announced(tmp_path, alone=True):
            assert len(list((tmp_path / "addresses").iterdir())) == 1


def test_a_copied_data_folder_is_not_said_to_run_where_the_original_does(tmp_path: Path) -> None:
    original, copy = tmp_path / "original", tmp_path / "copy"
    with answering(200) as address, running(original, address):
        shutil.copytree(original, copy)

        assert address_of(original) == address
        assert address_of(copy) is None
        with announced(copy, alone=True):
            pass


def test_only_one_of_those_that_want_a_data_folder_alone_gets_it(tmp_path: Path) -> None:
    with announced(tmp_path, alone=True) as first:
        with (
            pytest.raises(MisconfiguredError, match="is just starting elsewhere"),
            announced(tmp_path, alone=True),
        ):
            pass
        first.publish("http://127.0.0.1:1/", OURS)
        with (
            pytest.raises(MisconfiguredError, match=r"runs already, at http://127\.0\.0\.1:1/"),
            announced(tmp_path, alone=True),
        ):
            pass
        with announced(tmp_path):  # a web server beside it
            pass


def test_another_vault_at_the_address_is_not_taken_for_it(tmp_path: Path) -> None:
    with answering(200, "another") as address, running(tmp_path, address):
        assert address_of(tmp_path) is None


def test_a_server_without_a_database_is_not_found(tmp_path: Path) -> None:
    with answering(503) as address, running(tmp_path, address):
        assert address_of(tmp_path) is None


def test_what_is_not_to_be_understood_is_passed_over(tmp_path: Path) -> None:
    place = tmp_path / "addresses"
    (place / "0").mkdir(parents=True)
    (place / "1").write_text("nonsense")

    with running(tmp_path, "http://[broken/"), (place / "2").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert address_of(tmp_path) is None
