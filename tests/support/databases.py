"""Databases for tests."""

from collections.abc import Generator
from contextlib import contextmanager
from uuid import uuid4

import psycopg
from psycopg import sql

from docmill.service.storage.postgres_server import EmbeddedPostgres


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
