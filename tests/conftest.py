"""Fixtures that more than one folder of tests needs."""

import asyncio
import fcntl
import os
import pickle
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from uuid import UUID

import numpy as np
import psycopg
import pytest
from pydantic import SecretStr

from docmill.demo import Sample, generate
from docmill.model.document import Document, Page, Words
from docmill.service.app import Service, open_service
from docmill.service.config.settings import Settings
from docmill.service.storage.postgres_server import EmbeddedPostgres
from docmill.service.store.database import new_id
from docmill.service.store.login_role import create_login_role
from docmill.service.store.migrate import migrate
from docmill.workers.pool import Pool
from support.aws_emulators import CREDENTIALS, Emulator, running
from support.databases import UNSAFE, database_folder, fresh_database, login_url
from support.docmill_processes import Machine
from support.dovecot import Dovecot, running_dovecot
from support.redis_servers import RedisServer

MakeDocument = Callable[..., Document]


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> list[Sample]:
    """Every sample paper, on disk; drawn once for all processes that test."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "samples"
    folder.mkdir(exist_ok=True)
    drawn = folder / "drawn"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not drawn.exists():
            drawn.write_bytes(pickle.dumps(generate(folder / "papers")))
        return pickle.loads(drawn.read_bytes())  # noqa: S301 - our own


@pytest.fixture
def make_document() -> MakeDocument:
    """Documents from monospaced text: one argument per page, columns and lines as they stand."""

    def make(*pages: str, media_type: str = "application/pdf") -> Document:
        return Document(
            content_hash="0" * 64,
            media_type=media_type,
            pages=[_page(number, text) for number, text in enumerate(pages, 1)],
        )

    return make


def _page(number: int, text: str) -> Page:
    rows = [row for row in text.splitlines() if row.strip()]
    height = 1 / (len(rows) + 2)
    texts: list[str] = []
    boxes: list[tuple[float, float, float, float]] = []
    lines: list[int] = []
    for line, row in enumerate(rows):
        at = 0
        for word in row.split():
            at = row.index(word, at)
            top = (line + 1) * height
            texts.append(word)
            boxes.append((at / 100 + 0.05, top, (at + len(word)) / 100 + 0.05, top + 0.8 * height))
            lines.append(line)
            at += len(word)
    words = Words(
        texts=texts,
        boxes=np.array(boxes, np.float32).reshape(-1, 4),
        confidences=np.ones(len(texts), np.float32),
        lines=np.array(lines, np.int32),
        blocks=np.zeros(len(texts), np.int32),
    )
    return Page(number=number, width_pt=595, height_pt=842, words=words, source="text", quality=1.0)


@pytest.fixture(scope="session")
def postgres() -> Iterator[EmbeddedPostgres]:
    """A server whose database `docmill` is migrated and is never connected to: the template of copies."""
    with database_folder() as folder:
        server = EmbeddedPostgres(folder / "postgres", options=UNSAFE)
        server.start()
        try:
            migrate(server.url())
            create_login_role(server.url())
            yield server
        finally:
            server.stop()


@pytest.fixture
def aws_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Made-up credentials, and none of this machine's."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="session")
def ministack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    """AWS on this machine, by the emulator that forgets stale receipt handles."""
    with running("ministack", tmp_path_factory.mktemp("ministack")) as emulator:
        yield emulator


@pytest.fixture(scope="session")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    """AWS on this machine, by the emulator that takes stale receipt handles."""
    with running("moto", tmp_path_factory.mktemp("moto")) as emulator:
        yield emulator


@pytest.fixture
def database_url(postgres: EmbeddedPostgres) -> Iterator[str]:
    """A fresh copy of the migrated database, as its superuser."""
    with fresh_database(postgres) as url:
        yield url


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    return Settings(
        data_dir=tmp_path,
        database_url=SecretStr(login_url(database_url)),
        database_owner_url=SecretStr(database_url),
    )


@pytest.fixture
async def service(settings: Settings) -> AsyncIterator[Service]:
    """The service on a database and a folder of its own."""
    async with open_service(settings) as service:
        await asyncio.wait_for(service.wakeups.listening(), 10)
        yield service


@pytest.fixture
def machine() -> Iterator[Machine]:
    """An empty data folder, and processes on it that end with the test."""
    # Not pytest's folder: it is closed to the user under whom the server runs when tests run as root.
    with tempfile.TemporaryDirectory(prefix="docmill-") as folder:
        machine = Machine(Path(folder))
        yield machine
        machine.close()


@pytest.fixture
def dovecot() -> Iterator[Dovecot]:
    """A mail server with empty mailboxes."""
    with running_dovecot() as server:
        yield server


@pytest.fixture
async def stranger(database_url: str) -> UUID:
    """Another tenant of the same installation."""
    tenant_id = new_id()
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as owner:
        await owner.execute("INSERT INTO tenant (id, name) VALUES (%s, 'Stranger')", [tenant_id])
    return tenant_id


@pytest.fixture
async def pool() -> AsyncIterator[Pool]:
    """A pool of one child process."""
    async with Pool(1) as pool:
        yield pool


@pytest.fixture(scope="session")
def redis_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    pytest.importorskip("redis")
    server = RedisServer(tmp_path_factory.mktemp("redis"), "--appendonly", "yes")
    server.start()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
def redis_server(redis_process: RedisServer) -> RedisServer:
    """A server with nothing in it."""
    assert redis_process.ask("FLUSHALL") == b"+OK\r\n"
    return redis_process
