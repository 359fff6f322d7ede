"""Import of an exported tenant into another installation. Files come first, then all rows at once."""

import asyncio
import hashlib
from uuid import UUID

import psycopg
from psycopg import errors, sql

from docmill.errors import CorruptError, MisconfiguredError
from docmill.files import chunks
from docmill.service.exports.catalogue import USERS, Connection, Table, file_keys, revision, tenant_tables
from docmill.service.exports.tenant_export import check_export
from docmill.service.exports.tenant_folder import (
    Progress,
    TenantDescription,
    TenantFolder,
    hash_of,
    parse_tenant_id,
)
from docmill.service.storage.blobs import Blobs
from docmill.service.store.database import translating_errors

_NUMBERED_BY = {("lesson", "reviewed"): "review"}
"""Columns that hold numbers of another table's sequence."""


async def import_tenant(
    url: str, blobs: Blobs, folder: TenantFolder, progress: Progress
) -> TenantDescription:
    """Bring an exported tenant in. An import that was killed is begun again and skips what is there.

    Rows keep their ids. Numbers of sequences are moved behind those that this installation has given.
    Raises MisconfiguredError if the tenant has documents here, or the export is of another release;
    CorruptError if it is damaged, or holds what is not the tenant's: whoever made it must not get at others.
    """
    description = await asyncio.to_thread(check_export, folder)
    tenant_id = parse_tenant_id(description)
    await asyncio.to_thread(_check_place, url, description, tenant_id)
    complete = await asyncio.to_thread(folder.complete_files)
    for key in description.keys:
        if key not in description.missing:
            await _import_file(blobs, folder, key, complete.get(key))
            progress(1)
    await asyncio.to_thread(_import_rows, url, folder, description, tenant_id)
    return description


def _check_place(url: str, description: TenantDescription, tenant_id: UUID) -> None:
    with translating_errors(), psycopg.connect(url) as conn:
        here = revision(conn)
        if here != description.schema:
            raise MisconfiguredError(
                f"the export has schema {description.schema}, this installation {here}: bring both to the"
                " same release of docmill, then export again"
            )
        conn.execute("SELECT set_config('docmill.tenant_id', %s, true)", [str(tenant_id)])
        conn.execute("SELECT set_config('docmill.bin', 'on', true)")
        if conn.execute("SELECT FROM document WHERE tenant_id = %s LIMIT 1", [tenant_id]).rowcount:
            raise MisconfiguredError(
                "the tenant has documents in this installation already; import it where it has none"
            )


async def _import_file(blobs: Blobs, folder: TenantFolder, key: str, content_hash: str | None) -> None:
    path = folder.file(key)
    try:
        size = (await asyncio.to_thread(path.stat)).st_size
        if content_hash is None or await asyncio.to_thread(hash_of, path) != content_hash:
            raise CorruptError(f"{str(path)!r} is damaged; export the tenant again")
        stored = await _stored_hash(blobs, key)
        if stored is not None and stored != content_hash:
            raise CorruptError(
                f"this installation has another file {key!r}, which an import must not replace"
            )
        if stored is None:
            await blobs.put_stream(key, chunks(path), max_bytes=size)
    except OSError as error:
        raise CorruptError(f"{str(path)!r} cannot be read: {error.strerror}") from error


async def _stored_hash(blobs: Blobs, key: str) -> str | None:
    digest = hashlib.sha256()
    try:
        async for chunk in blobs.stream(key):
            digest.update(chunk)
    except CorruptError:
        return None
    return digest.hexdigest()


def _import_rows(url: str, folder: TenantFolder, description: TenantDescription, tenant_id: UUID) -> None:
    with translating_errors(), psycopg.connect(url) as conn:
        try:
            # Triggers would tell of every row as of a change, and copy results a second time.
            conn.execute("SET LOCAL session_replication_role = replica")
        except errors.InsufficientPrivilege as error:
            raise MisconfiguredError(
                "the database user may not import rows: let an administrator run GRANT SET ON PARAMETER"
                " session_replication_role TO the user of database_owner_url (of database_url without it)"
            ) from error
        conn.execute("SELECT set_config('docmill.tenant_id', %s, true)", [str(tenant_id)])
        conn.execute("SELECT set_config('docmill.bin', 'on', true)")
        tables = {table.name: table for table in tenant_tables(conn)}
        if unknown := description.tables.keys() - tables.keys() - {USERS}:
            raise MisconfiguredError(f"this installation has no table {min(unknown)!r}")
        conn.execute("DELETE FROM tenant WHERE id = %s", [tenant_id])  # an empty one; its name comes along
        offsets = {name: _offset(conn, table) for name, table in tables.items()}
        try:
            _import_users(conn, folder, description.tables[USERS].columns)
            for name in description.tables.keys() - {USERS}:
                columns = description.tables[name].columns
                _import_table(conn, folder, tables[name], columns, tenant_id=tenant_id, offsets=offsets)
            _check_files(conn, description, tenant_id)
            _pause_sources(conn, tenant_id)
        except (errors.DataError, errors.ProgrammingError) as error:
            raise CorruptError(
                f"the rows in {str(folder.root)!r} are damaged; export the tenant again"
            ) from error
        except errors.IntegrityError as error:
            raise MisconfiguredError(
                "the tenant cannot be imported: this installation has rows with the same ids"
            ) from error


def _check_files(conn: Connection, description: TenantDescription, tenant_id: UUID) -> None:
    """Raises CorruptError if the rows name files of others.

    A key names the tenant, or an ingestion, whose id is given once in an installation.
    """
    cur = conn.execute("SELECT id::text FROM ingestion WHERE tenant_id = %s", [tenant_id])
    ids = {str(tenant_id), *(ingestion_id for (ingestion_id,) in cur)}
    keys = set(description.keys)
    for key in file_keys(conn, tenant_id):
        if key not in keys or ids.isdisjoint(key.split("/")):
            raise CorruptError(f"the rows name the file {key!r}, which is not the tenant's")


def _pause_sources(conn: Connection, tenant_id: UUID) -> None:
    """Let nothing arrive here until a person says so: the other installation may still watch its sources.

    Their secrets were encrypted under the key of that one, and have to be entered again.
    """
    conn.execute(
        """
        UPDATE doc_source
           SET state = 'paused', secrets = NULL, worker_id = NULL, lease_until = NULL
         WHERE tenant_id = %s
        """,
        [tenant_id],
    )


def _offset(conn: Connection, table: Table) -> int:
    """The last number that the table's sequence has given here."""
    if table.identity is None:
        return 0
    row = conn.execute(
        """
        SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence(%(table)s, %(column)s)::regclass), 0)
        """,
        {"table": table.name, "column": table.identity},
    ).fetchone()
    assert row is not None, "an expression has a row"
    return row[0]


def _stage(conn: Connection, folder: TenantFolder, table: str, columns: tuple[str, ...]) -> sql.Identifier:
    """Load the exported rows of a table into a temporary one; its name."""
    staged = sql.Identifier(f"staged_{table}")
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    conn.execute(
        sql.SQL("CREATE TEMPORARY TABLE {} ON COMMIT DROP AS SELECT {} FROM {} WITH NO DATA").format(
            staged, names, sql.Identifier(table)
        )
    )
    copying = sql.SQL("COPY {} ({}) FROM STDIN").format(staged, names)
    with conn.cursor() as cur, cur.copy(copying) as copy, folder.table(table).open("rb") as file:
        while data := file.read(1 << 20):
            copy.write(data)
    return staged


def _import_users(conn: Connection, folder: TenantFolder, columns: tuple[str, ...]) -> None:
    """Import people who are not here yet. An e-mail address that somebody has here stays theirs."""
    staged = _stage(conn, folder, USERS, columns)
    conn.execute(sql.SQL("GRANT SELECT ON {} TO docmill_accounts").format(staged))
    conn.execute("SET LOCAL ROLE docmill_accounts")
    conn.execute(
        sql.SQL(
            """
            INSERT INTO users (id, email, name, created_at)
            SELECT id,
                   CASE WHEN NOT EXISTS (SELECT FROM users AS here WHERE here.email = exported.email)
                        THEN email END,
                   name, created_at
              FROM {} AS exported
                ON CONFLICT (id) DO NOTHING
            """
        ).format(staged)
    )
    conn.execute("RESET ROLE")


def _import_table(
    conn: Connection,
    folder: TenantFolder,
    table: Table,
    columns: tuple[str, ...],
    *,
    tenant_id: UUID,
    offsets: dict[str, int],
) -> None:
    name, staged = sql.Identifier(table.name), _stage(conn, folder, table.name, columns)
    # Row-level security does not bind a superuser, as whom the embedded database is used.
    others = sql.SQL("SELECT FROM {} WHERE {} IS DISTINCT FROM %s LIMIT 1").format(
        staged, sql.Identifier(table.tenant_column)
    )
    if conn.execute(others, [tenant_id]).rowcount:
        raise CorruptError(f"{str(folder.table(table.name))!r} has rows of another tenant")
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    values = sql.SQL(", ").join(_value(table, column, offsets) for column in columns)
    conn.execute(
        sql.SQL("INSERT INTO {} ({}) OVERRIDING SYSTEM VALUE SELECT {} FROM {}").format(
            name, names, values, staged
        )
    )
    if table.identity is not None:
        conn.execute(
            sql.SQL(
                "SELECT setval(pg_get_serial_sequence({table_name}, {column_name})::regclass, newest)"
                " FROM (SELECT max({column}) AS newest FROM {table}) numbers WHERE newest IS NOT NULL"
            ).format(
                table_name=sql.Literal(table.name),
                column_name=sql.Literal(table.identity),
                column=sql.Identifier(table.identity),
                table=name,
            )
        )


def _value(table: Table, column: str, offsets: dict[str, int]) -> sql.Composable:
    """The value of a column as it is here. Numbers of transactions mean nothing in another database."""
    if column in table.transaction_columns:
        return sql.SQL("pg_current_xact_id()")
    numbered_by = table.name if column == table.identity else _NUMBERED_BY.get((table.name, column))
    if numbered_by is None:
        return sql.Identifier(column)
    return sql.SQL("{} + {}").format(sql.Identifier(column), sql.Literal(offsets[numbered_by]))
