"""The tables and roles of the database by its own catalogue, for exports of whole installations."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql

Connection = psycopg.Connection[Any]

_STAY = [
    "sessions",
    "one_time_links",
    "signing_key",
    "idempotency_key",
    "notification",
    "notification_delivery",
    "webhook",
    "webhook_attempt",
    "webhook_change",
    "webhook_delivery",
    "webhook_event",
]
"""Tables that are not exported: their rows let somebody in, or end soon."""

USERS = "users"
USER_COLUMNS = ("id", "email", "name", "created_at")
"""People have no tenant. Passwords stay where they were chosen."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of tenants' rows. tenant_column: `id` of the tenant itself. identity: column with a sequence.

    columns: without those that the database computes.
    """

    name: str
    tenant_column: str
    columns: tuple[str, ...]
    identity: str | None
    transaction_columns: tuple[str, ...]

    @property
    def identifiers(self) -> sql.Composed:
        """The columns, for a statement."""
        return sql.SQL(", ").join(map(sql.Identifier, self.columns))


def tenant_tables(conn: Connection) -> list[Table]:
    """The table of tenants, and every table whose rows belong to one and move with it."""
    rows = conn.execute(
        """
        SELECT table_name::text,
               array_agg(column_name::text ORDER BY ordinal_position) FILTER (WHERE is_generated = 'NEVER'),
               max(column_name::text) FILTER (WHERE is_identity = 'YES'),
               coalesce(array_agg(column_name::text) FILTER (WHERE udt_name = 'xid8'), '{}')
          FROM information_schema.columns
          JOIN information_schema.tables USING (table_schema, table_name)
         WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND table_name <> ALL(%(stay)s)
         GROUP BY table_name
        HAVING table_name = 'tenant' OR bool_or(column_name = 'tenant_id')
         ORDER BY table_name = 'tenant' DESC, table_name
        """,
        {"stay": _STAY},
    ).fetchall()
    return [
        Table(name, "id" if name == "tenant" else "tenant_id", tuple(columns), identity, tuple(transactions))
        for name, columns, identity, transactions in rows
    ]


def columns_of_type(conn: Connection, type_name: str) -> list[tuple[str, str]]:
    """The tables and columns whose values are of a type."""
    return conn.execute(
        """
        SELECT table_name::text, column_name::text
          FROM information_schema.columns
          JOIN information_schema.tables USING (table_schema, table_name)
         WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND udt_name = %s
         ORDER BY table_name, ordinal_position
        """,
        [type_name],
    ).fetchall()


def file_keys(conn: Connection, tenant_id: UUID | None = None) -> Iterator[str]:
    """The keys of the stored files that rows name, in columns called `…file_path`. tenant_id: of one."""
    for table in tenant_tables(conn):
        for column in table.columns:
            if not column.endswith("file_path"):
                continue
            query = sql.SQL(
                "SELECT DISTINCT {column} FROM {table}"
                " WHERE {column} IS NOT NULL AND (%(tenant)s::uuid IS NULL OR {tenant_column} = %(tenant)s)"
            ).format(
                column=sql.Identifier(column),
                table=sql.Identifier(table.name),
                tenant_column=sql.Identifier(table.tenant_column),
            )
            with conn.cursor(name=f"keys_{table.name}_{column}"[:60]) as cur:
                for (key,) in cur.execute(query, {"tenant": tenant_id}):
                    yield key


def roles(conn: Connection) -> list[str]:
    """The roles that row-level security and functions of docmill use."""
    rows = conn.execute(
        "SELECT rolname FROM pg_roles WHERE rolname LIKE 'docmill\\_%' AND NOT rolsuper ORDER BY rolname"
    )
    return [name for (name,) in rows]


def revision(conn: Connection) -> str:
    """The revision of the schema."""
    row = conn.execute("SELECT version_num FROM alembic_version").fetchone()
    assert row is not None, "a migrated database has a revision"
    return row[0]
