"""What the columns of banks' tables mean: found in a file, or set by a person, by their headings."""

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from docmill.model.statement_columns import StatementColumns
from docmill.service.store.database import Conn, new_id, storable_values

MOST = 200
"""Most kinds of tables of a tenant that are heeded, those changed last."""


@dataclass(frozen=True, slots=True)
class StatementColumnsRow:
    """The columns of a kind of table. set_by: the person who set them; None if they were found."""

    id: UUID
    columns: dict[str, Any]
    set_by: UUID | None
    changed_at: datetime

    @property
    def content(self) -> StatementColumns:
        """The columns as reading knows them."""
        return StatementColumns.model_validate(self.columns)


async def of_tenant(conn: Conn, *, tenant_id: UUID) -> list[StatementColumnsRow]:
    """The columns of the tenant's kinds of tables, those changed last first."""
    async with conn.cursor(row_factory=class_row(StatementColumnsRow)) as cur:
        await cur.execute(
            """
            SELECT id, columns, set_by, changed_at
              FROM statement_columns
             WHERE tenant_id = %(tenant_id)s
             ORDER BY changed_at DESC, id
             LIMIT %(most)s
            """,
            {"tenant_id": tenant_id, "most": MOST},
        )
        return await cur.fetchall()


async def keep(conn: Conn, columns: StatementColumns, *, tenant_id: UUID) -> None:
    """Keep the columns that were found in a file, unless those of its headings are known."""
    await conn.execute(
        """
        INSERT INTO statement_columns (id, tenant_id, digest, columns)
        VALUES (%(id)s, %(tenant_id)s, %(digest)s, %(columns)s)
            ON CONFLICT (tenant_id, digest) DO NOTHING
        """,
        _values(columns, tenant_id),
    )


async def put(conn: Conn, columns: StatementColumns, *, tenant_id: UUID, set_by: UUID) -> StatementColumnsRow:
    """Store the columns that a person set, in place of others for the same headings."""
    async with conn.cursor(row_factory=class_row(StatementColumnsRow)) as cur:
        await cur.execute(
            """
            INSERT INTO statement_columns (id, tenant_id, digest, columns, set_by)
            VALUES (%(id)s, %(tenant_id)s, %(digest)s, %(columns)s, %(set_by)s)
                ON CONFLICT (tenant_id, digest) DO UPDATE
               SET columns = excluded.columns, set_by = excluded.set_by, changed_at = clock_timestamp()
            RETURNING id, columns, set_by, changed_at
            """,
            {**_values(columns, tenant_id), "set_by": set_by},
        )
        row = await cur.fetchone()
    assert row is not None  # the conflict updates, so there is always a row
    return row


async def forget(conn: Conn, id_: UUID, *, tenant_id: UUID) -> bool:
    """Forget the columns of a kind of table: its next file has them found anew. False if there are none."""
    cur = await conn.execute(
        "DELETE FROM statement_columns WHERE tenant_id = %(tenant_id)s AND id = %(id)s",
        {"tenant_id": tenant_id, "id": id_},
    )
    return cur.rowcount > 0


def _values(columns: StatementColumns, tenant_id: UUID) -> dict[str, object]:
    named = json.dumps([columns.delimiter, columns.headings])
    return {
        "id": new_id(),
        "tenant_id": tenant_id,
        "digest": hashlib.sha256(named.encode()).hexdigest(),
        "columns": Jsonb(storable_values(columns.model_dump(mode="json", exclude_defaults=True))),
    }
