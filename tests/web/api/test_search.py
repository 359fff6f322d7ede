"""Documents are found by words, amounts, days and codes, however they are written."""

import io
import re
import zipfile
from collections.abc import Awaitable, Callable
from html import unescape
from uuid import UUID

import httpx
import pytest

from docmill.service.app import Service
from docmill.service.store import document_list
from docmill.service.store.database import new_id
from docmill.service.store.document_list import DocumentFilters

Add = Callable[..., Awaitable[UUID]]
Finish = Callable[..., Awaitable[None]]

TEXT = """\
Müller & Söhne GmbH, Straße des Friedens 4
Rechnung RE-2026/17 vom 26.02.2026
Versicherungen und Beiträge
Konto DE89 3704 0044 0532 0130 00
Betrag 1.234,50 EUR
\fSeite zwei nennt einen Kranwagen
"""


async def found(client: httpx.AsyncClient, query: str) -> list[dict[str, object]]:
    answer = await client.get("/api/v1/documents", params={"q": query})
    assert answer.status_code == 200
    documents: list[dict[str, object]] = answer.json()["documents"]
    return documents


@pytest.mark.parametrize(
    "query",
    [
        "müller", "mueller", "Muller", "söhne müller", "strasse", "kranwag", "Versicherung", '"und Beiträge"',
        "1234.50", "1.234,50", "1 234,50", "26.02.2026", "2026-02-26", "DE89370400440532013000", "re202617",
        "RE-2026/17", "müller -zebra",
    ],
)  # fmt: skip
async def test_a_document_is_found_in_any_notation(
    client: httpx.AsyncClient, add: Add, finish: Finish, query: str
) -> None:
    await add("other.pdf")
    wanted = await add("scan.pdf")
    await finish(
        wanted, text=TEXT, classification={"document_type": "invoice", "title": "Rechnung", "language": "de"}
    )

    assert [document["id"] for document in await found(client, query)] == [str(wanted)]


async def test_values_are_searched_and_the_names_of_their_fields_are_not(
    client: httpx.AsyncClient, add: Add, finish: Finish
) -> None:
    wanted = await add("scan.pdf")
    data = {
        "delivery_note_number": None,
        "seller": {"name": "Kranbau Nord"},
        "gross_total": "1234.50",
        "lines": [{"description": "Haken", "quantity": 7312}],
    }
    await finish(wanted, structured_data=data)

    counts = {
        query: len(await found(client, query))
        for query in ("Kranbau", "1.234,50", "Haken", "7312", '"delivery note"', "seller", "quantity", "null")
    }

    assert counts == {
        **dict.fromkeys(("Kranbau", "1.234,50", "Haken", "7312"), 1),
        **dict.fromkeys(('"delivery note"', "seller", "quantity", "null"), 0),
    }


@pytest.mark.parametrize(
    "query", ["zebra", '"Beiträge und"', "müller -kranwagen", "1.234,51", "2026-02-27", "😀"]
)
async def test_what_is_not_there_is_not_found(
    client: httpx.AsyncClient, add: Add, finish: Finish, query: str
) -> None:
    wanted = await add("scan.pdf")
    await finish(wanted, text=TEXT)

    assert await found(client, query) == []


@pytest.mark.parametrize("query", ["<", "'", "\\", "a:*", "!(&|)", "%", "x" * 200, "🙂" * 40])
async def test_every_input_is_safe(client: httpx.AsyncClient, add: Add, query: str) -> None:
    await add("scan.pdf")

    await found(client, query)


async def test_the_place_is_shown_with_its_page(client: httpx.AsyncClient, add: Add, finish: Finish) -> None:
    wanted = await add("scan.pdf")
    await finish(wanted, text=TEXT)

    (document,) = await found(client, "kranwagen")

    place = document["found"]
    assert isinstance(place, dict)
    assert (place["page"], place["text"]) == (2, "Seite zwei nennt einen Kranwagen")
    assert place["marks"] == [[23, 32]]


async def test_the_best_stand_first_and_come_in_pages(
    client: httpx.AsyncClient, add: Add, finish: Finish
) -> None:
    ids = [await add(f"{number}.pdf") for number in range(4)]
    for number, document_id in enumerate(ids):
        title = "Crane hire" if number == 1 else "Letter"
        await finish(
            document_id, text="about a crane", classification={"document_type": "letter", "title": title}
        )

    first = (await client.get("/api/v1/documents?q=crane&limit=2")).json()
    second = (await client.get(first["next"])).json()

    listed = [document["id"] for document in (*first["documents"], *second["documents"])]
    assert listed == [str(ids[number]) for number in (1, 3, 2, 0)]
    assert second["next"] is None


async def test_another_tenants_documents_are_not_found(
    client: httpx.AsyncClient, service: Service, add: Add
) -> None:
    await add("crane.pdf")

    async with service.database.tenant(new_id()) as conn:
        assert (await document_list.page(conn, DocumentFilters(query="crane"))).rows == []
    assert len(await found(client, "crane")) == 1


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("due on 3 May 2026 at noon", "2026-05-03"),
        ("due on May 3rd, 2026", "3.5.2026"),
        ("fällig am 3. Mai 2026", "3 May 2026"),
        ("vence el 3 de mayo de 2026", "may 3, 2026"),
        ("fällig 03.05.2026", "3. Mai 2026"),
        ("fällig 2026-05-03, bezahlt", "bezahlt 3. Mai 2026"),
    ],
)
async def test_a_day_is_found_however_its_month_is_written(
    client: httpx.AsyncClient, add: Add, finish: Finish, text: str, query: str
) -> None:
    wanted, other = await add("scan.pdf"), await add("other.pdf")
    await finish(wanted, text=text)
    await finish(other, text="paid on 4 May 2026 and 3 June 2026, bezahlt")

    (document,) = await found(client, query)

    assert document["id"] == str(wanted)
    assert document["found"] is not None


async def test_what_is_mistyped_is_found_and_said(
    client: httpx.AsyncClient, add: Add, finish: Finish
) -> None:
    wanted = await add("scan.pdf")
    await finish(wanted, text="Kranwagen der Versicherung")
    await add("other.pdf")

    answers = {
        query: (await client.get("/api/v1/documents", params={"q": query})).json()
        for query in ("Versicehrung", "kranwagn versicherung", "zebra", "kran", "versicherung -kran")
    }

    assert {query: (answer["corrected"], len(answer["documents"])) for query, answer in answers.items()} == {
        "Versicehrung": ("versicherung", 1),
        "kranwagn versicherung": ("kranwagen versicherung", 1),
        "zebra": (None, 0),
        "kran": (None, 1),
        "versicherung -kran": (None, 0),
    }
    assert answers["Versicehrung"]["documents"][0]["found"]["text"] == "Kranwagen der Versicherung"
    page = (await client.get("/?q=Versicehrung")).text
    assert "<strong>versicherung</strong>" in page


async def test_a_search_by_meaning_says_what_is_similar(
    client: httpx.AsyncClient, service: Service, add: Callable[..., Awaitable[UUID]]
) -> None:
    document_id = await add("a.png")
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("UPDATE document SET text = 'policy 4711' WHERE id = %s", [document_id])
    await service.meaning.work()

    async def names(**params: str) -> list[tuple[str, bool]]:
        answer = (await client.get("/api/v1/documents", params=params)).raise_for_status()
        return [(row["file_name"], row["is_similar"]) for row in answer.json()["documents"]]

    assert await names(q="insurance") == []
    assert await names(q="insurance", by="both") == [("a.png", True)]
    assert await names(q="policy", by="both") == [("a.png", False)]
    assert await names(q="insurance", by="meaning", document_type="receipt") == []
    assert (await client.get("/api/v1/documents", params={"by": "magic"})).status_code == 422
    page = (await client.get("/", params={"q": "insurance"})).text
    assert "Similar in meaning" in page
    assert "Similar in meaning" not in (await client.get("/", params={"q": "insurance", "by": "text"})).text


async def test_what_is_found_by_meaning_is_taken_out_and_tagged(
    client: httpx.AsyncClient, service: Service, add: Callable[..., Awaitable[UUID]]
) -> None:
    document_id = await add("a.png")
    await add("b.png")
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("UPDATE document SET text = 'policy 4711' WHERE id = %s", [document_id])
    await service.meaning.work()

    page = (await client.get("/", params={"q": "insurance"})).text
    await client.post("/tags/found", data={"name": "found", "query": "q=insurance"})
    await client.post("/tags/found", data={"name": "nothing", "query": "q=insurance&by=text"})

    (link,) = re.findall(r'href="(/api/v1/exports/documents.zip[^"]+)"', page)
    archive = zipfile.ZipFile(io.BytesIO((await client.get(unescape(link))).content))
    assert [name for name in archive.namelist() if name.endswith(".png")] != []
    assert not [name for name in archive.namelist() if "b.png" in name]
    words = (await client.get("/api/v1/exports/fields.csv", params={"q": "insurance"})).text
    both = (await client.get("/api/v1/exports/fields.csv", params={"q": "insurance", "by": "both"})).text
    assert ("a.png" in words, "a.png" in both, "b.png" in both) == (False, True, False)
    tags = (await client.get("/api/v1/tags")).json()["tags"]
    assert [(tag["name"], tag["documents"]) for tag in tags] == [("found", 1)]


async def test_a_word_that_only_deleted_documents_have_is_looked_for_in_names_too(
    client: httpx.AsyncClient, add: Add, finish: Finish
) -> None:
    deleted, named = await add("deleted.pdf"), await add("xzebraticket.pdf")
    await finish(deleted, text="A zebra")
    assert [document["id"] for document in await found(client, "zebra")] == [str(deleted)]

    await client.delete(f"/api/v1/documents/{deleted}")

    assert [document["id"] for document in await found(client, "zebra")] == [str(named)]
