"""What documents hold and what holds them, in the API."""

from collections.abc import AsyncIterator, Awaitable, Callable
from uuid import UUID, uuid4

import httpx
import psycopg

from docmill.service.app import Service
from docmill.service.config.settings import Settings

Add = Callable[..., Awaitable[UUID]]
Finish = Callable[..., Awaitable[None]]
Hold = Callable[..., Awaitable[None]]


async def test_a_document_tells_what_it_holds(
    client: httpx.AsyncClient, add: Add, finish: Finish, hold: Hold
) -> None:
    mail, bill = await add("mail.eml"), await add("bill.pdf")
    await finish(bill)
    await hold(mail, {"our bill.pdf": bill, "empty.pdf": "the file is empty"})

    document = (await client.get(f"/api/v1/documents/{mail}")).json()

    assert document["part_of"] == []
    assert document["parts"] == [
        {
            "document_id": str(bill),
            "kind": "attachment",
            "name": "our bill.pdf",
            "first_page": None,
            "last_page": None,
            "state": "ready",
            "title": "Corner Bakery",
            "document_type": "receipt",
            "problem": None,
        },
        {
            "document_id": None,
            "kind": "attachment",
            "name": "empty.pdf",
            "first_page": None,
            "last_page": None,
            "state": None,
            "title": None,
            "document_type": None,
            "problem": "the file is empty",
        },
    ]


async def test_a_part_tells_everything_that_holds_it(client: httpx.AsyncClient, add: Add, hold: Hold) -> None:
    scan, archive, bill = await add("scan.pdf"), await add("all.zip"), await add("bill.pdf")
    await hold(scan, {"pages 1 to 2": bill}, kind="section", pages=2)
    await hold(archive, {"2026/bill.pdf": bill}, kind="member")

    wholes = (await client.get(f"/api/v1/documents/{bill}")).json()["part_of"]

    assert [(whole["document_id"], whole["title"], whole["name"]) for whole in wholes] == [
        (str(scan), "scan.pdf", "pages 1 to 2"),
        (str(archive), "all.zip", "2026/bill.pdf"),
    ]
    assert [(whole["kind"], whole["first_page"], whole["last_page"]) for whole in wholes] == [
        ("section", 1, 2),
        ("member", None, None),
    ]


async def test_the_list_leaves_parts_out_when_asked(client: httpx.AsyncClient, add: Add, hold: Hold) -> None:
    mail, bill, other = await add("mail.eml"), await add("bill.pdf"), await add("other.pdf")
    await hold(mail, {"bill.pdf": bill})

    every = (await client.get("/api/v1/documents")).json()["documents"]
    wholes = (await client.get("/api/v1/documents?parts=false")).json()["documents"]

    assert {document["id"] for document in every} == {str(mail), str(bill), str(other)}
    assert [document["id"] for document in wholes] == [str(other), str(mail)]


async def test_nobody_is_told_of_anothers_parts(
    client: httpx.AsyncClient, add: Add, service: Service, settings: Settings
) -> None:
    bill = await add("bill.pdf", b"the same content")
    other = uuid4()
    assert settings.database_owner_url is not None
    url = settings.database_owner_url.get_secret_value()
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as conn:
        await conn.execute("INSERT INTO tenant (id, name) VALUES (%s, 'another')", [other])
    theirs = [await _accepted(service, other, content) for content in (b"their mail", b"the same content")]
    async with service.database.tenant(other) as conn:
        await conn.execute(
            "INSERT INTO part (tenant_id, parent_id, position, child_id, kind, name, root_ingestion_id)"
            " VALUES (%s, %s, 1, %s, 'attachment', 'bill.pdf', gen_random_uuid())",
            [other, *theirs],
        )

    ours = (await client.get(f"/api/v1/documents/{bill}")).json()
    listed = (await client.get("/api/v1/documents?parts=false")).json()["documents"]

    assert (ours["parts"], ours["part_of"]) == ([], [])
    assert [document["id"] for document in listed] == [str(bill)]
    assert [(await client.get(f"/api/v1/documents/{one}")).status_code for one in theirs] == [404, 404]


async def _accepted(service: Service, tenant_id: UUID, content: bytes) -> UUID:
    async def chunks() -> AsyncIterator[bytes]:
        yield content

    accepted = await service.intake.accept(chunks(), tenant_id=tenant_id, file_name="a.eml")
    return accepted.document_id
