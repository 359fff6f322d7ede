"""Databases for tests."""

import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
from psycopg import sql

from docmill.service.storage.postgres_server import EmbeddedPostgres
from docmill.service.store.login_role import LOGIN_ROLE

# Safe to lose: what a test writes is gone with it. Makes copies of the template fast.
UNSAFE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_wal_size": "1GB"}

MEMORY = Path("/dev/shm")
MEMORY_NEEDED_BYTES = 4 << 30
"""More than all workers of a test run need together: about 100 MB each, and a log of writes that may grow to
`max_wal_size`. A container may have 64 MB."""


@contextmanager
def database_folder() -> Generator[Path]:
    """An empty folder in memory, if there is enough of it: copies of databases are three times as fast there.

    Not one of pytest's: it is closed to the user under whom the server runs when tests run as root.
    """
    has_memory = os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= MEMORY_NEEDED_BYTES
    with tempfile.TemporaryDirectory(prefix="docmill-", dir=MEMORY if has_memory else None) as folder:
        yield Path(folder)


@contextmanager
def fresh_database(postgres: EmbeddedPostgres) -> Generator[str]:
    """The address of a copy of the migrated database, which goes with the block."""
    name = f"test_{uuid4().hex}"
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as conn:
        conn.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE docmill STRATEGY file_copy").format(sql.Identifier(name))
        )
        yield postgres.url(name)
        conn.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def login_url(url: str) -> str:
    """The address of the same database as sessions of docmill log in."""
    return url.replace("postgres@", f"{LOGIN_ROLE}@", 1)


@contextmanager
def fast_server(folder: Path) -> Generator[None]:
    """Let the embedded database of a vault run without waiting for the disk, during the block."""
    server = EmbeddedPostgres(folder / "postgres", options=UNSAFE)
    server.start()
    try:
        yield
    finally:
        server.stop()
