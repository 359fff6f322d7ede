"""A PostgreSQL server that may be killed."""

import os
import signal
from pathlib import Path

import psutil

from docmill.service.storage.postgres_server import EmbeddedPostgres
from docmill.service.store.migrate import migrate

# Safe against the death of its processes, which is all that happens here; not against that of the machine.
OPTIONS = {"fsync": "off", "full_page_writes": "off"}


class KillableServer:
    """A server of our own below `folder`, with the schema in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._server = EmbeddedPostgres(folder, options=OPTIONS)

    @property
    def url(self) -> str:
        return self._server.url()

    @property
    def _pid(self) -> int:
        return int((self._folder / "data" / "postmaster.pid").read_text().split("\n", 1)[0])

    def start(self) -> None:
        self._server.start()
        migrate(self.url)

    def kill(self) -> None:
        """As a crash: whoever is connected loses the connection, and nothing is written down."""
        os.kill(self._pid, signal.SIGKILL)

    def end(self) -> None:
        """As `kill`, and wait until every connection has ended."""
        children = psutil.Process(self._pid).children()
        self.kill()
        psutil.wait_procs(children, timeout=30)

    def restart(self) -> None:
        """After `kill`: recover from the log and serve again."""
        heir = EmbeddedPostgres(self._folder, options=OPTIONS)
        heir.start()
        self._server.stop()
        self._server = heir

    def stop(self) -> None:
        self._server.stop()
