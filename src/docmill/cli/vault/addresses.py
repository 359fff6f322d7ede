"""Addresses of the web servers of a data folder: each announces its own in a file there.

A server holds a lock on its file for as long as it lives. The kernel frees it however the process ends, and
a copy of the folder has none.
"""

import fcntl
import json
import os
import socket
import ssl
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO
from urllib.error import URLError
from urllib.request import urlopen
from uuid import uuid4

from docmill.errors import MisconfiguredError
from docmill.service.observe.health import VAULT_HEADER
from docmill.service.storage.private_files import private_file, private_folder

_ANSWER_S = 2
_FOLDER = "addresses"


@dataclass(frozen=True, slots=True)
class _WebServer:
    """Content of the address file of a web server. address, vault_id: empty while it starts."""

    host: str
    address: str = ""
    vault_id: str = ""

    @classmethod
    def read(cls, file: Path) -> "_WebServer":
        try:
            return cls(**json.loads(file.read_text()))
        except (OSError, ValueError, TypeError):
            return cls("")

    def write(self, file: IO[bytes]) -> None:
        file.seek(0)
        file.write(json.dumps(asdict(self)).encode())
        file.flush()


class Announcement:
    """The file of a web server that starts or runs."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        _WebServer(socket.gethostname()).write(file)

    def publish(self, address: str, vault_id: str) -> None:
        """Tell where the server answers. vault_id: what it sends with its answers."""
        _WebServer(socket.gethostname(), address, vault_id).write(self._file)


@contextmanager
def announced(data_dir: Path, *, alone: bool = False) -> Generator[Announcement]:
    """Announce a web server on a data folder during the block.

    alone: raises MisconfiguredError if another one of this machine starts or runs on it.
    """
    folder = private_folder(data_dir / _FOLDER)
    path = folder / uuid4().hex
    with _entrance(data_dir / f"{_FOLDER}.lock"):
        living = [_WebServer.read(file) for file in _held_files(folder, forget=True)]
        other = next((server for server in living if server.host == socket.gethostname()), None)
        if alone and other is not None:
            state = f"runs already, at {other.address}" if other.address else "is just starting elsewhere"
            raise MisconfiguredError(
                f"a vault on {str(data_dir)!r} {state}; give another --data-dir for a second one"
            )
        file = private_file(path)
        fcntl.flock(file, fcntl.LOCK_EX)
    with file:
        try:
            yield Announcement(file)
        finally:
            path.unlink(missing_ok=True)


def address_of(data_dir: Path) -> str | None:
    """Return the address at which a web server on this data folder answers now, or None."""
    for file in _held_files(data_dir / _FOLDER):
        server = _WebServer.read(file)
        if server.address and _answers(server):
            return server.address
    return None


def _answers(server: _WebServer) -> bool:
    # The certificate is for the vault's public name. Nothing is sent, and the answer names the vault.
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    request = f"{server.address}healthz"
    try:
        with urlopen(request, timeout=_ANSWER_S, context=context) as answer:  # noqa: S310  written by ourselves
            # Another vault may have that address on the machine from which we ask.
            return answer.headers.get(VAULT_HEADER) == server.vault_id
    except (URLError, OSError, ValueError):
        return False


def _held_files(folder: Path, *, forget: bool = False) -> Iterator[Path]:
    """The files of living servers. forget: remove those of servers that were killed."""
    for path in sorted(folder.glob("*")):
        try:
            with path.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                if forget:
                    path.unlink()
        except BlockingIOError:
            yield path
        except OSError:  # it has just ended
            continue


@contextmanager
def _entrance(path: Path) -> Generator[None]:
    """Exclude other processes during the block."""
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
