"""Everything that is in a vault: rows of its database and files of its store."""

import hashlib
from pathlib import Path
from uuid import UUID

import psycopg
from psycopg import sql

from docmill.service.storage.postgres_server import EmbeddedPostgres

Rows = dict[str, bytes]
"""The rows of each table, as COPY writes them, sorted."""


def rows_in(url: str, *, tenant_id: UUID | None = None) -> Rows:
    """All rows of a database, without the numbers of transactions, which belong to a server.

    tenant_id: only rows of this tenant.
    """
    rows: Rows = {}
    with psycopg.connect(url) as conn:
        columns = conn.execute(
            """
            SELECT table_name, array_agg(column_name::text ORDER BY ordinal_position)
              FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
             WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND udt_name <> 'xid8'
             GROUP BY table_name
            """
        ).fetchall()
        for table, names in columns:
            of_tenant = "tenant_id" if "tenant_id" in names else "id" if table == "tenant" else None
            if tenant_id is not None and of_tenant is None:
                continue
            condition = sql.SQL("true")
            if tenant_id is not None and of_tenant is not None:
                condition = sql.SQL("{} = {}").format(sql.Identifier(of_tenant), sql.Literal(str(tenant_id)))
            query = sql.SQL("COPY (SELECT {} FROM {} WHERE {}) TO STDOUT").format(
                sql.SQL(", ").join(map(sql.Identifier, names)), sql.Identifier(table), condition
            )
            with conn.cursor() as cur, cur.copy(query) as copy:
                rows[table] = b"".join(sorted(bytes(row) for row in copy))
    return rows


def files_in(folder: Path) -> dict[str, str]:
    """The hash of every stored file, by its key."""
    blobs = folder / "blobs"
    return {
        path.relative_to(blobs).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in blobs.rglob("*")
        if path.is_file()
    }


def rows_of_folder(folder: Path) -> Rows:
    """All rows of a vault with an embedded database."""
    server = EmbeddedPostgres(folder / "postgres")
    server.start()
    try:
        return rows_in(server.url())
    finally:
        server.stop()
