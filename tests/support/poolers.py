"""PgBouncer in front of a server, for tests."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from docmill.service.storage.postgres_server import EmbeddedPostgres
from docmill.service.storage.server_user import SERVER_USER

# Fewer than our pools have, so that they are shared.
SERVER_CONNECTIONS = 8

CONFIG = """
[databases]
* = host={server}

[pgbouncer]
listen_addr =
listen_port = 6432
unix_socket_dir = {folder}
auth_type = trust
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = {connections}
"""


@contextmanager
def pgbouncer(postgres: EmbeddedPostgres) -> Generator[Path]:
    """The folder in which PgBouncer listens, in front of the server; the test is skipped without it."""
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.skip("PgBouncer is not installed")
    user = SERVER_USER if os.geteuid() == 0 else None  # it refuses root
    with tempfile.TemporaryDirectory(prefix="docmill-") as name:
        folder = Path(name)
        (server,) = parse_qs(urlsplit(postgres.url()).query)["host"]
        config = folder / "pgbouncer.ini"
        config.write_text(CONFIG.format(server=server, folder=folder, connections=SERVER_CONNECTIONS))
        (folder / "users").write_text('"postgres" ""\n"docmill_login" ""\n')
        if user:
            os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
            for file in (config, folder / "users"):
                file.chmod(0o644)
        with subprocess.Popen(
            [program, "-q", config], user=user, group=user, stderr=subprocess.DEVNULL
        ) as process:
            try:
                _until_listening(folder / ".s.PGSQL.6432")
                yield folder
            finally:
                process.terminate()


def _until_listening(path: Path) -> None:
    """Wait until connections are taken, which is later than the socket's file is there."""
    deadline = time.monotonic() + 20
    while True:
        with socket.socket(socket.AF_UNIX) as connection, suppress(OSError):
            connection.connect(str(path))
            return
        assert time.monotonic() < deadline


def through(bouncer: Path, url: str) -> str:
    address = urlsplit(url)
    return f"postgresql://{address.username}@{address.path}?host={quote(str(bouncer), safe='')}&port=6432"
