"""Routes that take data out: tables of fields, originals, bookkeeping."""

from collections.abc import AsyncGenerator, AsyncIterator
from datetime import UTC, datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import Query, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import StreamingResponse

from docmill.errors import MisconfiguredError, ValidationError
from docmill.service.exports.archive import Archive
from docmill.service.exports.bookings import BookingRules, Period
from docmill.service.exports.bookkeeping import Bookings
from docmill.service.exports.datev import ENCODING, check_period
from docmill.service.exports.datev import file_name as datev_name
from docmill.service.exports.table_files import MEDIA_TYPES, TableFormat
from docmill.service.exports.tables import TableName, export_tables
from docmill.web.access import Router, needs
from docmill.web.api.document_query import ExportQuery
from docmill.web.api.shapes import IsoDate
from docmill.web.context import TheVault, Vault

router = Router(prefix="/exports", tags=["exports"])


class FieldsQuery(ExportQuery):
    """What a table of fields holds."""

    table: Annotated[
        TableName, Field(description="which table a file of CSV or Parquet holds; XLSX holds both")
    ] = "documents"


class BookingsQuery(ExportQuery):
    """The documents to book. Their days are those of the period, too."""

    first: Annotated[IsoDate | None, Field(alias="from", description="the first day of the period")] = None
    last: Annotated[IsoDate | None, Field(alias="to", description="the last day of the period")] = None
    every_state: Annotated[bool, Field(description="also documents that are not ready")] = False

    @property
    def period(self) -> Period:
        """The period of the file."""
        return Period(self.first, self.last)


class PreviewQuery(BookingsQuery):
    """What is asked about a file of bookings."""

    form: Annotated[Literal["datev", "ledger"], Field(alias="format")] = "datev"


@router.get("/fields.{form}", response_class=Response)
@needs("read")
async def get_fields(
    form: TableFormat,
    vault: TheVault,
    wanted: Annotated[FieldsQuery, Query()],
) -> Response:
    """The believed values of documents as a table: a row for each document, or for each line item."""
    chunks = export_tables(
        vault.service.database,
        vault.settings.own.by_choice,
        await vault.found(wanted.selection, wanted.by),
        tenant_id=vault.tenant_id,
        form=form,
        table=wanted.table,
    )
    stem = "documents" if form == "xlsx" else wanted.table
    return await _download(_explained(chunks), file_name(stem, form), MEDIA_TYPES[form])


@router.get("/documents.zip", response_class=Response)
@needs("read")
async def get_archive(vault: TheVault, wanted: Annotated[ExportQuery, Query()]) -> Response:
    """The originals of documents, and a JSON record of each."""
    archive = Archive(
        vault.service.database, vault.service.blobs, vault.service.reviews, tenant_id=vault.tenant_id
    )
    return await _download(
        archive.stream(await vault.found(wanted.selection, wanted.by)),
        file_name("documents", "zip"),
        "application/zip",
    )


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
@needs("read")
async def get_datev(vault: TheVault, wanted: Annotated[BookingsQuery, Query()]) -> Response:
    """Bookings of a period in the DATEV format. What is left out, `/exports/bookings` tells."""
    first, last = check_period(wanted.period, vault.settings.bookkeeping)
    bookings = await _bookings(vault, wanted)
    return await _download(
        _explained(bookings.datev()), datev_name(first, last), f"text/csv; charset={ENCODING}"
    )


@router.get("/datev.zip", response_class=Response)
@needs("read")
async def get_datev_archive(vault: TheVault, wanted: Annotated[BookingsQuery, Query()]) -> Response:
    """Bookings of a period in the DATEV format with the booked documents, which they link to."""
    first, last = check_period(wanted.period, vault.settings.bookkeeping)
    bookings = await _bookings(vault, wanted)
    name = datev_name(first, last).removesuffix(".csv")
    return await _download(
        _explained(bookings.datev_archive(vault.service.blobs)), f"{name}.zip", "application/zip"
    )


@router.get("/ledger.csv", response_class=Response)
@needs("read")
async def get_ledger(vault: TheVault, wanted: Annotated[BookingsQuery, Query()]) -> Response:
    """Bookings as a general ledger: a line for each account that a bill moves."""
    bookings = await _bookings(vault, wanted)
    return await _download(bookings.ledger(), file_name("ledger", "csv"), MEDIA_TYPES["csv"])


@router.get("/bookings")
@needs("read")
async def preview_bookings(vault: TheVault, wanted: Annotated[PreviewQuery, Query()]) -> BookingPreview:
    """What a file of bookings would hold, and which documents it leaves out, with the reasons."""
    bookings = await _bookings(vault, wanted)
    async for _ in _explained(bookings.datev()) if wanted.form == "datev" else bookings.ledger():
        pass
    report = bookings.report
    return BookingPreview(
        booked=report.booked_count,
        outside=report.outside_count,
        left_out=[LeftOutDocument.model_validate(document) for document in report.left_out],
    )


async def _bookings(vault: Vault, wanted: BookingsQuery) -> Bookings:
    rules = BookingRules(vault.settings.bookkeeping, wanted.period, is_every_state=wanted.every_state)
    selection = await vault.found(wanted.selection, wanted.by)
    return Bookings(vault.service.database, selection, rules, tenant_id=vault.tenant_id)


def file_name(stem: str, extension: str) -> str:
    """The name of a file that is exported today."""
    return f"docmill-{stem}-{datetime.now(UTC):%Y-%m-%d}.{extension}"


async def _explained(chunks: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    """A file whose settings are missing is no fault of the server: raise ValidationError for it."""
    try:
        async for chunk in chunks:
            yield chunk
    except MisconfiguredError as error:
        raise ValidationError(error.message) from error


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
