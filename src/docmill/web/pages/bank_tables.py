"""The page on which people say what the columns of banks' tables mean."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

import pydantic
from fastapi import Form, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from docmill.errors import ValidationError
from docmill.model.statement_columns import StatementColumns
from docmill.service.store import statement_columns
from docmill.service.store.statement_columns import StatementColumnsRow
from docmill.web.access import Router, needs
from docmill.web.context import TheVault, Vault, not_found
from docmill.web.languages import gettext, gettext_noop
from docmill.web.problems import status_of

router = Router(include_in_schema=False)

MEANINGS = {
    "date": gettext_noop("Date of the booking"),
    "amount": gettext_noop("Amount"),
    "debit": gettext_noop("Amount paid out"),
    "credit": gettext_noop("Amount paid in"),
    "indicator": gettext_noop("Debit or credit"),
    "currency": gettext_noop("Currency"),
    "counterparty": gettext_noop("Other party"),
    "payer": gettext_noop("Payer"),
    "payee": gettext_noop("Payee"),
    "iban": gettext_noop("Account of the other party"),
    "reference": gettext_noop("Reference"),
    "description": gettext_noop("Text"),
    "balance": gettext_noop("Balance"),
    "account": gettext_noop("Own account"),
}
"""Meanings of columns. Several may be text, one alone each of the others."""

_DATE_ORDERS = {
    "dmy": gettext_noop("day, month, year"),
    "mdy": gettext_noop("month, day, year"),
    "ymd": gettext_noop("year, month, day"),
}
_DECIMAL_MARKS = {",": gettext_noop("1.234,56"), ".": gettext_noop("1,234.56")}
_SEVERAL = "description"
_Short = Annotated[str, Form(max_length=20)]


@dataclass(frozen=True, slots=True)
class ShownTable:
    """A kind of table. columns: each heading with what it means, "" for nothing."""

    id: UUID
    columns: Sequence[tuple[str, str]]
    date_order: str
    decimal_mark: str
    is_set: bool


@router.get("/settings/bank-tables")
@needs("read")
async def show_bank_tables(request: Request, vault: TheVault) -> HTMLResponse:
    """The kinds of tables that were seen, with what their columns mean."""
    return await _page(request, vault)


@router.post("/settings/bank-tables/{columns_id}")
@needs("review")
async def set_bank_table(
    request: Request,
    columns_id: UUID,
    vault: TheVault,
    *,
    meaning: Annotated[list[str], Form(max_length=500, default_factory=list)],
    date_order: _Short = "",
    decimal_mark: _Short = "",
) -> Response:
    """Set what the columns mean, in files that come from now on."""
    row = await _row(columns_id, vault)
    try:
        columns = _columns_of(row.content, meaning, date_order, decimal_mark)
    except ValidationError as error:
        return await _page(request, vault, refused=error, refused_id=columns_id, typed=meaning)
    async with vault.connection() as conn:
        await statement_columns.put(conn, columns, tenant_id=vault.tenant_id, set_by=vault.user_id)
    return RedirectResponse(f"/settings/bank-tables#table-{columns_id}", 303)


@router.post("/settings/bank-tables/{columns_id}/forget")
@needs("review")
async def forget_bank_table(columns_id: UUID, vault: TheVault) -> Response:
    """Forget what the columns mean: it is found anew in the next file."""
    async with vault.connection() as conn:
        if not await statement_columns.forget(conn, columns_id, tenant_id=vault.tenant_id):
            raise not_found("statement columns")
    return RedirectResponse("/settings/bank-tables", 303)


async def _row(columns_id: UUID, vault: Vault) -> StatementColumnsRow:
    async with vault.connection() as conn:
        rows = await statement_columns.of_tenant(conn, tenant_id=vault.tenant_id)
    for row in rows:
        if row.id == columns_id:
            return row
    raise not_found("statement columns")


def _columns_of(
    known: StatementColumns, meanings: Sequence[str], date_order: str, decimal_mark: str
) -> StatementColumns:
    """The columns as the form has them, one meaning for each heading. Raises ValidationError."""
    places: dict[str, list[int]] = {}
    for place, meaning in enumerate(meanings[: len(known.headings)]):
        if meaning in MEANINGS:
            places.setdefault(meaning, []).append(place)
    for meaning, chosen in places.items():
        if len(chosen) > 1 and meaning != _SEVERAL:
            name = gettext(MEANINGS[meaning])
            raise ValidationError(gettext("Two columns cannot both be “%(name)s”.") % {"name": name})
    if "date" not in places:
        raise ValidationError(gettext("Say which column has the date of the booking."))
    if "amount" not in places and not {"debit", "credit"} <= places.keys():
        raise ValidationError(gettext("Say which column has the amount, or which have those in and out."))
    values: dict[str, Any] = {name: chosen[0] for name, chosen in places.items() if name != _SEVERAL}
    try:
        return StatementColumns.model_validate(
            {
                **values,
                "description": places.get(_SEVERAL, []),
                "delimiter": known.delimiter,
                "headings": known.headings,
                "date_order": date_order or known.date_order,
                "decimal_mark": decimal_mark or known.decimal_mark,
            }
        )
    except pydantic.ValidationError:
        raise ValidationError(gettext("Choose one of the forms of dates and amounts.")) from None


async def _page(
    request: Request,
    vault: Vault,
    *,
    refused: ValidationError | None = None,
    refused_id: UUID | None = None,
    typed: Sequence[str] = (),
) -> HTMLResponse:
    async with vault.connection() as conn:
        rows = await statement_columns.of_tenant(conn, tenant_id=vault.tenant_id)
    return vault.templates.page(
        request,
        "bank_tables.html",
        status_code=status_of(refused) if refused else 200,
        review_count=await vault.review_count(),
        tables=[_shown(row, typed if row.id == refused_id else ()) for row in rows],
        meanings=MEANINGS,
        date_orders=_DATE_ORDERS,
        decimal_marks=_DECIMAL_MARKS,
        refused=refused,
        refused_id=refused_id,
    )


def _shown(row: StatementColumnsRow, typed: Sequence[str]) -> ShownTable:
    columns = row.content
    meant: dict[int, str] = {}
    for name in MEANINGS:
        place: int | tuple[int, ...] | None = getattr(columns, name)
        if isinstance(place, int):
            meant[place] = name
        else:
            meant |= dict.fromkeys(place or (), name)
    chosen = typed or [meant.get(place, "") for place in range(len(columns.headings))]
    return ShownTable(
        row.id,
        list(zip(columns.headings, chosen, strict=False)),
        columns.date_order,
        columns.decimal_mark,
        is_set=row.set_by is not None,
    )
