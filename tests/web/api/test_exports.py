"""What is taken out through the API."""

import csv
import datetime as dt
import io
import json
import zipfile
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib import import_module
from typing import Any
from uuid import UUID

import httpx
import openpyxl

from docmill.errors import CorruptError
from docmill.model.paths import leaves
from docmill.ports import Ref
from docmill.runs.folders.document_records import failure_record
from docmill.service.app import Service
from docmill.service.store import documents
from docmill.service.store.database import new_id

Add = Callable[..., Awaitable[UUID]]
Finish = Callable[..., Awaitable[None]]
Read = Callable[..., Awaitable[UUID]]

parquet: Any = import_module("pyarrow.parquet")


def rows_of(response: httpx.Response) -> list[dict[str, str]]:
    assert response.status_code == 200, response.text
    return list(csv.DictReader(io.StringIO(response.content.decode("utf-8-sig"), newline="")))


async def correct(client: httpx.AsyncClient, document_id: UUID, path: str, value: str) -> None:
    reviews = f"/api/v1/documents/{document_id}/reviews"
    seen = (await client.get(reviews)).json()
    review = {"path": path, "action": "correct", "value": value}
    sent = {"ingestion_id": seen["ingestion_id"], "reviews": [review]}
    assert (await client.post(reviews, json=sent)).status_code == 200


async def test_the_table_has_a_row_for_each_document_with_reviewed_values(
    client: httpx.AsyncClient, read: Read, add: Add
) -> None:
    document_id = await read("receipt.png")
    await correct(client, document_id, "gross_total", "13.90")
    waiting = await add("waiting.png")

    response = await client.get("/api/v1/exports/fields.csv")

    newest, oldest = rows_of(response)
    assert response.headers["content-type"] == "text/csv; charset=utf-8"
    assert 'filename="docmill-documents-' in response.headers["content-disposition"]
    assert (newest["document_id"], newest["state"]) == (str(waiting), "processing")
    assert newest["gross_total"] == ""
    assert oldest["document_id"] == str(document_id)
    assert (oldest["file_name"], oldest["document_type"]) == ("receipt.png", "receipt")
    assert (oldest["gross_total"], oldest["seller.name"]) == ("13.90", "Corner Bakery")


async def test_the_table_of_items_has_a_row_for_each_line(client: httpx.AsyncClient, read: Read) -> None:
    document_id = await read()

    rows = rows_of(await client.get("/api/v1/exports/fields.csv", params={"table": "items"}))

    assert [(row["list"], row["row"], row["description"], row["net_amount"]) for row in rows] == [
        ("lines", "1", "Bread", "4.50"),
        ("lines", "2", "Salt", ""),
    ]
    assert {row["document_id"] for row in rows} == {str(document_id)}


async def test_a_workbook_holds_both_tables_with_typed_cells(client: httpx.AsyncClient, read: Read) -> None:
    await read()

    response = await client.get("/api/v1/exports/fields.xlsx")

    book = openpyxl.load_workbook(io.BytesIO(response.content))
    assert book.sheetnames == ["Documents", "Items"]
    head, row = book["Documents"].iter_rows(values_only=True)
    document: dict[Any, Any] = dict(zip(head, row, strict=True))
    assert document["gross_total"] == 12.9
    assert document["issue_date"] == dt.datetime(2026, 11, 3)  # noqa: DTZ001
    assert book["Items"].max_row == 3


async def test_parquet_has_dates_and_amounts(client: httpx.AsyncClient, read: Read) -> None:
    await read()

    response = await client.get("/api/v1/exports/fields.parquet")

    (row,) = parquet.read_table(io.BytesIO(response.content)).to_pylist()
    assert str(row["gross_total"]) == "12.900000000000"
    assert row["issue_date"] == dt.date(2026, 11, 3)


async def test_the_filters_are_those_of_the_list(
    client: httpx.AsyncClient, read: Read, add: Add, finish: Finish
) -> None:
    first, second = await read("first.png"), await read("second.png")
    failed = await add("failed.pdf")
    await finish(failed, status="failed", error_code="corrupt", error_message="The file is damaged.")

    async def found(**params: str | list[str]) -> list[str]:
        rows = rows_of(await client.get("/api/v1/exports/fields.csv", params=params))
        return [row["document_id"] for row in rows]

    assert await found(state="failed") == [str(failed)]
    assert await found(document_type="receipt") == [str(second), str(first)]
    assert await found(q="second") == [str(second)]
    assert await found(q='"<no such thing>') == []
    assert await found(id=[str(first), str(new_id())]) == [str(first)]
    assert (await client.get("/api/v1/exports/fields.csv", params={"state": "odd"})).status_code == 422
    assert (await client.get("/api/v1/exports/fields.exe")).status_code == 422


async def test_nothing_of_another_tenant_is_taken_out(
    client: httpx.AsyncClient, service: Service, stranger: UUID
) -> None:
    async def content() -> AsyncIterator[bytes]:
        yield b"theirs"

    accepted = await service.intake.accept(content(), tenant_id=stranger, file_name="theirs.pdf")

    everything = rows_of(await client.get("/api/v1/exports/fields.csv"))
    by_id = rows_of(await client.get("/api/v1/exports/fields.csv", params={"id": str(accepted.document_id)}))

    assert everything == by_id == []


def unpacked(response: httpx.Response) -> zipfile.ZipFile:
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/zip"
    archive = zipfile.ZipFile(io.BytesIO(response.content))
    assert archive.testzip() is None
    return archive


async def test_the_archive_has_the_original_and_the_record_of_each_document(
    client: httpx.AsyncClient, read: Read
) -> None:
    document_id = await read("receipt.png")
    await correct(client, document_id, "gross_total", "13.90")

    archive = unpacked(await client.get("/api/v1/exports/documents.zip"))

    assert archive.namelist() == ["originals/receipt.png", "records/receipt.png.json"]
    assert archive.read("originals/receipt.png") == b"receipt.png"
    record = json.loads(archive.read("records/receipt.png.json"))
    assert (record["source"], record["document_id"]) == ("receipt.png", str(document_id))
    assert record["data"]["gross_total"] == "13.90"
    assert record["evidence"]["issue_date"]["page"] == 2
    assert record["evidence"].keys() <= {path for path, _ in leaves(record["data"])}
    (review,) = record["reviews"]
    assert (review["path"], review["action"], review["machine"]) == ("gross_total", "correct", "12.90")


async def test_the_record_has_the_members_of_a_record_of_a_run(client: httpx.AsyncClient, add: Add) -> None:
    of_run = failure_record(Ref("a", "a"), CorruptError("damaged"), content_hash=None, attempts=1)
    await add("a.pdf")

    archive = unpacked(await client.get("/api/v1/exports/documents.zip"))

    of_vault = json.loads(archive.read("records/a.pdf.json"))
    assert list(of_vault)[: len(of_run)] == list(of_run)


async def test_names_in_the_archive_are_safe_and_unique(client: httpx.AsyncClient, add: Add) -> None:
    names = ["../../evil.pdf", "NUL.pdf", "same.pdf", "SAME.pdf", "Mu\u0308.pdf", "Mü.pdf", "a\\b:c.pdf"]
    for number, name in enumerate(names):
        await add(name, f"content {number}".encode())

    archive = unpacked(await client.get("/api/v1/exports/documents.zip"))

    originals = [name.removeprefix("originals/") for name in archive.namelist() if name[0] == "o"]
    assert len({name.casefold() for name in originals}) == len(names)
    assert not [name for name in originals if set(name) & set('/\\:*?"<>|')]
    assert "_NUL.pdf" in originals
    contents = {archive.read(f"originals/{name}") for name in originals}
    assert contents == {f"content {number}".encode() for number in range(len(names))}


async def test_a_lost_original_does_not_stop_the_archive(
    client: httpx.AsyncClient, service: Service, add: Add
) -> None:
    lost, _ = await add("lost.pdf"), await add("there.pdf")
    async with service.database.tenant(service.default_tenant_id) as conn:
        row = await documents.get(conn, lost)
    assert row is not None
    await service.blobs.delete(row.file_path)

    archive = unpacked(await client.get("/api/v1/exports/documents.zip"))

    assert "originals/lost.pdf" not in archive.namelist()
    assert json.loads(archive.read("records/lost.pdf.json"))["original_is_missing"] is True
    assert archive.read("originals/there.pdf") == b"there.pdf"


async def test_parts_name_their_records(
    client: httpx.AsyncClient, add: Add, hold: Callable[..., Awaitable[None]]
) -> None:
    whole, part = await add("mail.eml"), await add("bill.pdf")
    await hold(whole, {"bill.pdf": part, "broken.pdf": "It is empty."})

    archive = unpacked(await client.get("/api/v1/exports/documents.zip"))

    bill, broken = json.loads(archive.read("records/mail.eml.json"))["parts"]
    assert (bill["source"], bill["document_id"]) == ("bill.pdf", str(part))
    assert (broken["source"], broken["problem"]) == (None, "It is empty.")


async def test_the_page_links_to_what_it_lists(client: httpx.AsyncClient, read: Read) -> None:
    empty = (await client.get("/")).text
    await read()

    page = (await client.get("/", params={"type": "receipt", "q": "corner"})).text

    assert "exports" not in empty
    assert 'href="/api/v1/exports/documents.zip?q=corner&amp;document_type=receipt&amp;by=both"' in page
    assert 'href="/api/v1/exports/fields.xlsx?q=corner&amp;document_type=receipt&amp;by=both"' in page
