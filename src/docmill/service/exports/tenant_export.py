"""Export of a whole tenant into a folder. One that was killed goes on where it was."""

import asyncio
import hashlib
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from uuid import UUID

import psycopg
from psycopg import sql

from docmill.errors import CorruptError, MisconfiguredError, ServerError
from docmill.service.exports.catalogue import (
    USER_COLUMNS,
    USERS,
    Connection,
    Table,
    file_keys,
    revision,
    tenant_tables,
)
from docmill.service.exports.tenant_folder import (
    Progress,
    TableDescription,
    TenantDescription,
    TenantFolder,
    hash_of,
)
from docmill.service.storage.blobs import Blobs
from docmill.service.store.database import translating_errors


async def export_tenant(
    url: str, blobs: Blobs, folder: TenantFolder, *, tenant_id: UUID, vault_id: UUID, progress: Progress
) -> TenantDescription:
    """Write the rows of a tenant as they are at one moment, then the files that they name.

    Raises MisconfiguredError if the folder holds something else, or the disk is full.
    """
    try:
        description = await asyncio.to_thread(folder.describe)
        if description is None:
            await asyncio.to_thread(folder.check_empty)
            description = await asyncio.to_thread(
                _export_rows, url, folder, tenant_id=tenant_id, vault_id=vault_id
            )
        elif (description.tenant_id, description.vault_id) != (str(tenant_id), str(vault_id)):
            raise MisconfiguredError(
                f"{str(folder.root)!r} is the export of another tenant; give an empty folder"
            )
        if description.is_complete:
            return description
        missing = await _export_files(blobs, folder, description, progress)
        description = replace(description, missing=tuple(missing), is_complete=True)
        await asyncio.to_thread(folder.write_description, description)
    except OSError as error:
        raise MisconfiguredError(f"cannot write {str(folder.root)!r}: {error.strerror}") from error
    return description


def _export_rows(url: str, folder: TenantFolder, *, tenant_id: UUID, vault_id: UUID) -> TenantDescription:
    for left in (folder.unfinished_tables, folder.tables):
        shutil.rmtree(left, ignore_errors=True)
    folder.unfinished_tables.mkdir(parents=True)
    with translating_errors(), psycopg.connect(url) as conn:
        conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        conn.execute("SELECT set_config('docmill.tenant_id', %s, true)", [str(tenant_id)])
        conn.execute("SELECT set_config('docmill.bin', 'on', true)")
        tables = {
            table.name: _export_table(conn, folder, table, tenant_id=tenant_id)
            for table in tenant_tables(conn)
        }
        tables[USERS] = _export_users(conn, folder, tenant_id=tenant_id)
        description = TenantDescription(
            tenant_id=str(tenant_id),
            vault_id=str(vault_id),
            schema=revision(conn),
            docmill=version("docmill"),
            taken_at=datetime.now(UTC).isoformat(),
            tables=tables,
            keys=tuple(dict.fromkeys(file_keys(conn, tenant_id))),
        )
    folder.unfinished_tables.rename(folder.tables)
    folder.write_description(description)
    return description


def _export_table(
    conn: Connection, folder: TenantFolder, table: Table, *, tenant_id: UUID
) -> TableDescription:
    query = sql.SQL("SELECT {} FROM {} WHERE {} = {}").format(
        table.identifiers,
        sql.Identifier(table.name),
        sql.Identifier(table.tenant_column),
        sql.Literal(str(tenant_id)),
    )
    return _copy_out(conn, folder, table.name, table.columns, query)


def _export_users(conn: Connection, folder: TenantFolder, *, tenant_id: UUID) -> TableDescription:
    """Export the people who belong to the tenant, or did, so that their names stay beside what they did."""
    query = sql.SQL("SELECT {} FROM {} WHERE id IN (SELECT user_id FROM memberships WHERE tenant_id = {})")
    conn.execute("SET LOCAL ROLE docmill_accounts")
    description = _copy_out(
        conn,
        folder,
        USERS,
        USER_COLUMNS,
        query.format(
            sql.SQL(", ").join(map(sql.Identifier, USER_COLUMNS)),
            sql.Identifier(USERS),
            sql.Literal(str(tenant_id)),
        ),
    )
    conn.execute("RESET ROLE")
    return description


def _copy_out(
    conn: Connection, folder: TenantFolder, name: str, columns: tuple[str, ...], query: sql.Composed
) -> TableDescription:
    digest = hashlib.sha256()
    with (
        (folder.unfinished_tables / folder.table(name).name).open("wb") as file,
        conn.cursor() as cur,
        cur.copy(sql.SQL("COPY ({}) TO STDOUT").format(query)) as copy,
    ):
        for row in copy:
            digest.update(row)
            file.write(row)
        return TableDescription(columns, file.tell(), digest.hexdigest())


async def _export_files(
    blobs: Blobs, folder: TenantFolder, description: TenantDescription, progress: Progress
) -> list[str]:
    """Copy the files that are not there yet; the keys of those that are gone from the store."""
    complete = await asyncio.to_thread(folder.complete_files)
    missing: list[str] = []
    for key in description.keys:
        path = folder.file(key)
        if key not in complete or not await asyncio.to_thread(path.exists):
            draft = path.with_name(f"{path.name}.unfinished")
            await asyncio.to_thread(path.parent.mkdir, parents=True, exist_ok=True)
            try:
                content_hash = await blobs.download(key, draft)
            except CorruptError:
                missing.append(key)
                await asyncio.to_thread(draft.unlink, missing_ok=True)
                continue
            await asyncio.to_thread(draft.replace, path)
            await asyncio.to_thread(folder.note_complete, key, content_hash)
        progress(1)
    return missing


def check_export(folder: TenantFolder) -> TenantDescription:
    """The description of a complete export whose rows have their checksums.

    Raises MisconfiguredError if it is not complete, CorruptError if it is damaged.
    """
    description = folder.describe()
    if description is None:
        raise MisconfiguredError(f"{str(folder.root)!r} is no export of a tenant")
    if not description.is_complete:
        raise MisconfiguredError(
            f"the export in {str(folder.root)!r} is not complete: run `docmill export-tenant` again"
        )
    for name, table in description.tables.items():
        try:
            is_whole = hash_of(folder.table(name)) == table.content_hash
        except OSError as error:
            raise ServerError(f"cannot read {str(folder.table(name))!r}: {error.strerror}") from error
        if not is_whole:
            raise CorruptError(f"{str(folder.table(name))!r} is damaged; export the tenant again")
    return description
