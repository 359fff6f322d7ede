"""How commands find the web servers of a data folder."""

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from docmill.cli.vault.access import address_of, announced
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


def test_a_server_is_found_while_it_runs_and_not_afterwards(tmp_path: Path) -> None:
    with answering(200) as address:
        with announced(tmp_path, address, OURS):
            assert address_of(tmp_path) == address
        assert address_of(tmp_path) is None


def test_what_a_killed_server_left_is_removed_and_another_found(tmp_path: Path, nobody: str) -> None:
    with announced(tmp_path, nobody, OURS), answering(200) as address, announced(tmp_path, address, OURS):
        for _ in range(2):
            assert address_of(tmp_path) == address

        # A file made after the removal of the dead one: whichever came first, the living one stays.
        (tmp_path / "addresses" / "0").write_text(nobody)
        assert address_of(tmp_path) == address
        assert not (tmp_path / "addresses" / "0").exists()


def test_another_vault_on_the_port_of_a_killed_server_is_not_taken_for_it(tmp_path: Path) -> None:
    with answering(200, "another") as address, announced(tmp_path, address, OURS):
        assert address_of(tmp_path) is None
        assert not list((tmp_path / "addresses").iterdir())


def test_a_server_of_a_release_that_told_no_vault_is_found(tmp_path: Path) -> None:
    with answering(200, None) as address:
        (tmp_path / "addresses").mkdir()
        (tmp_path / "addresses" / "0").write_text(address)

        assert address_of(tmp_path) == address


def test_a_server_without_a_database_is_not_taken_for_a_dead_one(tmp_path: Path) -> None:
    with answering(503) as address, announced(tmp_path, address, OURS):
        assert address_of(tmp_path) is None
        assert len(list((tmp_path / "addresses").iterdir())) == 1


def test_what_is_not_to_be_understood_is_passed_over(tmp_path: Path) -> None:
    place = tmp_path / "addresses"
    (place / "0").mkdir(parents=True)
    (place / "1").write_text("http://[broken/")
    (place / "2").write_text("nonsense://here/")
    (place / "3").write_text("")

    assert address_of(tmp_path) is None
