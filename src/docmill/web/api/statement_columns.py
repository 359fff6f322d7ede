"""Routes for what the columns of banks' tables mean."""

from datetime import datetime
from uuid import UUID

from fastapi import Response
from pydantic import BaseModel, ConfigDict

from docmill.model.statement_columns import StatementColumns
from docmill.service.store import statement_columns
from docmill.service.store.statement_columns import StatementColumnsRow
from docmill.web.access import Router, needs
from docmill.web.context import TheVault, not_found

router = Router(prefix="/statement-columns", tags=["statement columns"])


class KeptColumns(BaseModel):
    """The columns of a kind of table. set_by: the user who set them; null if they were found in a file."""

    model_config = ConfigDict(frozen=True)

    id: UUID
    columns: StatementColumns
    set_by: UUID | None
    changed_at: datetime

    @classmethod
    def of(cls, row: StatementColumnsRow) -> "KeptColumns":
        """The row as the API shows it."""
        return cls(id=row.id, columns=row.content, set_by=row.set_by, changed_at=row.changed_at)


class KeptColumnsList(BaseModel):
    """The kinds of tables, those changed last first."""

    statement_columns: list[KeptColumns]


@router.get("")
@needs("read")
async def list_statement_columns(vault: TheVault) -> KeptColumnsList:
    """What the columns of banks' tables mean, by their headings."""
    async with vault.connection() as conn:
        rows = await statement_columns.of_tenant(conn, tenant_id=vault.tenant_id)
    return KeptColumnsList(statement_columns=[KeptColumns.of(row) for row in rows])


@router.put("")
@needs("review")
async def put_statement_columns(columns: StatementColumns, vault: TheVault) -> KeptColumns:
    """Set what columns mean in tables with these headings, in files that come from now on."""
    async with vault.connection() as conn:
        row = await statement_columns.put(conn, columns, tenant_id=vault.tenant_id, set_by=vault.user_id)
    return KeptColumns.of(row)


@router.delete("/{columns_id}", status_code=204)
@needs("review")
async def forget_statement_columns(columns_id: UUID, vault: TheVault) -> Response:
    """Forget what the columns of a kind of table mean: it is found anew in the next file."""
    async with vault.connection() as conn:
        if not await statement_columns.forget(conn, columns_id, tenant_id=vault.tenant_id):
            raise not_found("statement columns")
    return Response(status_code=204)
