"""Routes that take data out: tables of fields, originals, bookkeeping."""

from collections.abc import AsyncGenerator, AsyncIterator
from datetime import UTC, date, datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Response
from pydantic import BaseModel, ConfigDict
from starlette.responses import StreamingResponse

from docmill.service.exports.archive import Archive
from docmill.service.exports.bookings import BookingRules, Period
from docmill.service.exports.bookkeeping import Bookings
from docmill.service.exports.datev import ENCODING, check_period
from docmill.service.exports.datev import file_name as datev_name
from docmill.service.exports.table_files import MEDIA_TYPES, TableFormat
from docmill.service.exports.tables import TableName, export_tables
from docmill.service.store.documents import Selection
from docmill.web.api.shapes import State
from docmill.web.context import TheVault

router = APIRouter(prefix="/exports", tags=["exports"])

_MOST_IDS = 1000


def _selection(
    *,
    q: Annotated[str | None, Query(max_length=200, description="as in the list of documents")] = None,
    state: State | Literal["not_read"] | None = None,
    document_type: Annotated[str | None, Query(max_length=200)] = None,
    id: Annotated[  # noqa: A002  the parameter's name in the address
        list[UUID] | None, Query(max_length=_MOST_IDS, description="only these documents; can be repeated")
    ] = None,
) -> Selection:
    return Selection(query=q or None, state=state, document_type=document_type or None, ids=id)


TheSelection = Annotated[Selection, Depends(_selection)]
"""The filters in the address, for a route that names it as an argument."""


@router.get("/fields.{form}", response_class=Response)
async def get_fields(
    form: TableFormat,
    vault: TheVault,
    selection: TheSelection,
    *,
    table: Annotated[
        TableName, Query(description="which table a file of CSV or Parquet holds; XLSX holds both")
    ] = "documents",
) -> Response:
    """The believed values of documents as a table: a row for each document, or for each line item."""
    chunks = export_tables(
        vault.service.database,
        vault.settings.own.by_choice,
        selection,
        tenant_id=vault.tenant_id,
        form=form,
        table=table,
    )
    stem = "documents" if form == "xlsx" else table
    return await _download(chunks, file_name(stem, form), MEDIA_TYPES[form])


@router.get("/documents.zip", response_class=Response)
async def get_archive(vault: TheVault, selection: TheSelection) -> Response:
    """The originals of documents, and a JSON record of each."""
    archive = Archive(
        vault.service.database, vault.service.blobs, vault.service.reviews, tenant_id=vault.tenant_id
    )
    return await _download(archive.stream(selection), file_name("documents", "zip"), "application/zip")


def _rules(
    vault: TheVault,
    *,
    first: Annotated[date | None, Query(alias="from", description="the first day")] = None,
    last: Annotated[date | None, Query(alias="to", description="the last day")] = None,
    every_state: Annotated[bool, Query(description="also documents that are not ready")] = False,
) -> BookingRules:
    return BookingRules(vault.settings.bookkeeping, Period(first, last), is_every_state=every_state)


TheRules = Annotated[BookingRules, Depends(_rules)]
"""What is booked, for a route that names it as an argument."""


class LeftOutDocument(BaseModel):
    """A document that is not booked."""

    model_config = ConfigDict(from_attributes=True)

    document_id: UUID
    file_name: str
    reason: str


class BookingPreview(BaseModel):
    """What would be booked. outside: documents that are dated outside the period."""

    booked: int
    outside: int
    left_out: list[LeftOutDocument]


@router.get("/datev.csv", response_class=Response)
async def get_datev(vault: TheVault, selection: TheSelection, rules: TheRules) -> Response:
    """Bookings of a period in the DATEV format. What is left out, `/exports/bookings` tells."""
    first, last = check_period(rules.period, rules.bookkeeping)
    bookings = Bookings(vault.service.database, selection, rules, tenant_id=vault.tenant_id)
    return await _download(bookings.datev(), datev_name(first, last), f"text/csv; charset={ENCODING}")


@router.get("/ledger.csv", response_class=Response)
async def get_ledger(vault: TheVault, selection: TheSelection, rules: TheRules) -> Response:
    """Bookings as a general ledger: a line for each account that a bill moves."""
    bookings = Bookings(vault.service.database, selection, rules, tenant_id=vault.tenant_id)
    return await _download(bookings.ledger(), file_name("ledger", "csv"), MEDIA_TYPES["csv"])


@router.get("/bookings")
async def preview_bookings(
    vault: TheVault,
    selection: TheSelection,
    rules: TheRules,
    *,
    form: Annotated[Literal["datev", "ledger"], Query(alias="format")] = "datev",
) -> BookingPreview:
    """What a file of bookings would hold, and which documents it leaves out, with the reasons."""
    bookings = Bookings(vault.service.database, selection, rules, tenant_id=vault.tenant_id)
    async for _ in bookings.datev() if form == "datev" else bookings.ledger():
        pass
    report = bookings.report
    return BookingPreview(
        booked=report.booked_count,
        outside=report.outside_count,
        left_out=[LeftOutDocument.model_validate(document) for document in report.left_out],
    )


def file_name(stem: str, extension: str) -> str:
    """The name of a file that is exported today."""
    return f"docmill-{stem}-{datetime.now(UTC):%Y-%m-%d}.{extension}"


async def _download(chunks: AsyncGenerator[bytes], name: str, media_type: str) -> StreamingResponse:
    """Stream a file. What fails before its first bytes is answered by an error."""
    first = b""
    async for chunk in chunks:
        if chunk:
            first = chunk
            break

    async def content() -> AsyncIterator[bytes]:
        yield first
        async for chunk in chunks:
            if chunk:
                yield chunk

    headers = {"content-disposition": f'attachment; filename="{name}"', "cache-control": "no-store"}
    return StreamingResponse(content(), headers=headers, media_type=media_type)
