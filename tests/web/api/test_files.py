"""Originals and pictures of pages."""

import asyncio
import html
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from uuid import UUID, uuid4

import httpx
import psycopg
import pytest

from docmill.errors import CorruptError, CrashedError, EncryptedError, UnsupportedFileTypeError
from docmill.model import codec
from docmill.model.document import Document
from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.testing.steps import PaintedPages
from docmill.web import page_images
from docmill.web.app import create_app

Add = Callable[..., Awaitable[UUID]]
Finish = Callable[..., Awaitable[None]]
MakeDocument = Callable[..., Document]


@pytest.fixture
async def address(add: Add, finish: Finish) -> str:
    document_id = await add("Rechnung März.pdf", b"0123456789")
    await finish(document_id, media_type="application/pdf")
    return f"/api/v1/documents/{document_id}"


async def test_the_original_is_offered_for_download_under_its_own_name(
    client: httpx.AsyncClient, address: str
) -> None:
    response = await client.get(f"{address}/file")

    assert response.content == b"0123456789"
    assert response.headers["content-type"] == "application/pdf"
    assert response.headers["content-length"] == "10"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["content-disposition"] == "attachment; filename*=UTF-8''Rechnung%20M%C3%A4rz.pdf"


@pytest.mark.parametrize("asked", [{}, {"range": "bytes=2-4"}], ids=["whole", "part"])
async def test_the_original_can_be_asked_about_without_being_sent(
    client: httpx.AsyncClient, address: str, asked: dict[str, str]
) -> None:
    sent = await client.get(f"{address}/file", headers=asked)
    told = await client.head(f"{address}/file", headers=asked)

    assert told.status_code == sent.status_code
    assert told.headers == sent.headers
    assert told.content == b""


async def test_a_type_in_which_nothing_runs_can_be_shown_inline(
    client: httpx.AsyncClient, address: str
) -> None:
    response = await client.get(f"{address}/file?disposition=inline")

    assert response.headers["content-disposition"].startswith("inline;")


@pytest.mark.parametrize("media_type", ["text/html", "image/svg+xml", "application/octet-stream"])
async def test_active_content_is_never_shown_inline(
    client: httpx.AsyncClient, add: Add, finish: Finish, media_type: str
) -> None:
    document_id = await add("page.html", b"<script>alert(1)</script>")
    await finish(document_id, media_type=media_type)

    response = await client.get(f"/api/v1/documents/{document_id}/file?disposition=inline")

    assert response.headers["content-disposition"].startswith("attachment;")


@pytest.mark.parametrize(
    ("asked", "content", "told"),
    [
        ("bytes=2-4", b"234", "bytes 2-4/10"),
        ("bytes=8-", b"89", "bytes 8-9/10"),
        ("bytes=-3", b"789", "bytes 7-9/10"),
        ("bytes=-99", b"0123456789", "bytes 0-9/10"),
        ("bytes=5-99", b"56789", "bytes 5-9/10"),
    ],
)
async def test_a_part_of_the_original_can_be_asked_for(
    client: httpx.AsyncClient, address: str, asked: str, content: bytes, told: str
) -> None:
    response = await client.get(f"{address}/file", headers={"range": asked})

    assert (response.status_code, response.content) == (206, content)
    assert response.headers["content-range"] == told


@pytest.mark.parametrize("asked", ["bytes=0-1,3-4", "lines=1-2", "bytes=-", "bytes=5-2"])
async def test_other_ranges_give_the_whole_file(client: httpx.AsyncClient, address: str, asked: str) -> None:
    response = await client.get(f"{address}/file", headers={"range": asked})

    assert (response.status_code, response.content) == (200, b"0123456789")


@pytest.mark.parametrize("asked", ["bytes=10-", "bytes=-0"])
async def test_a_range_outside_of_the_file_is_refused(
    client: httpx.AsyncClient, address: str, asked: str
) -> None:
    response = await client.get(f"{address}/file", headers={"range": asked})

    assert response.status_code == 416
    assert response.headers["content-range"] == "bytes */10"


async def test_a_lost_original_is_a_problem_and_no_torso(
    client: httpx.AsyncClient, service: Service, address: str
) -> None:
    for key in await service.blobs.keys("documents"):
        await service.blobs.delete(key)

    response = await client.get(f"{address}/file")

    assert response.status_code == 422
    assert response.json()["code"] == "corrupt"


async def test_a_page_is_drawn_once_and_kept(
    client: httpx.AsyncClient, address: str, renderer: PaintedPages
) -> None:
    first = await client.get(f"{address}/pages/2.webp?width=200")
    second = await client.get(f"{address}/pages/2.webp?width=200")

    assert first.content == second.content == b"picture of page 2, 200 px"
    assert first.headers["content-type"] == "image/webp"
    assert first.headers["cache-control"] == "private, no-cache"
    assert renderer.asked == [(b"0123456789", 2, 200)]


async def test_a_picture_that_the_next_processing_may_turn_has_another_address_after_it(
    client: httpx.AsyncClient, add: Add, finish: Finish
) -> None:
    async def pictures() -> list[str]:
        page = (await client.get(f"/docs/{document_id}")).text + (await client.get("/")).text
        return sorted(set(re.findall(r'src="([^"]+\.webp[^"]*)"', html.unescape(page))))

    document_id = await add("scan.png", b"0123456789")
    await finish(document_id)
    before = await pictures()
    kept = [(await client.get(address)).headers["cache-control"] for address in before]

    await client.post(f"/api/v1/documents/{document_id}/reprocess")
    await finish(document_id)
    stale = [(await client.get(address)).headers["cache-control"] for address in before]

    assert len(before) == 2
    assert not set(before) & set(await pictures())
    assert kept == stale == ["private, no-cache"] * 2


async def test_a_page_that_stood_on_its_side_is_drawn_as_it_was_read(
    client: httpx.AsyncClient, service: Service, add: Add, finish: Finish, make_document: MakeDocument
) -> None:
    document_id = await add("scan.png", b"0123456789")
    address = f"/api/v1/documents/{document_id}/pages"
    before = await client.get(f"{address}/1.webp")

    document = make_document("Total 12.90", "Second page")
    pages = [replace(page, rotation=90) for page in document.pages[:1]]
    await service.blobs.put_once("read", codec.dumps(replace(document, pages=pages)))
    await finish(document_id, transcription_file_path="read", page_count=2)
    after = await client.get(f"{address}/1.webp", headers={"if-none-match": before.headers["etag"]})
    unread = await client.get(f"{address}/2.webp")

    assert before.content == b"picture of page 1, 1000 px"
    assert before.headers["cache-control"] == "private, no-cache"
    assert after.content == b"picture of page 1, 1000 px turned by 90"
    assert unread.content == b"picture of page 2, 1000 px"


@pytest.fixture
async def preprocessed(
    service: Service, add: Add, finish: Finish, make_document: MakeDocument
) -> Callable[..., Awaitable[str]]:
    """Adds a scan of three pages, two of which were read in preprocessed pictures; its address."""

    async def add_scan(**columns: object) -> str:
        document_id = await add("Märzscan.old.tiff")
        document = make_document("Total 12.90", "Second page", "Third page")
        pages = [replace(page, preprocessed=page.number > 1) for page in document.pages]
        await service.blobs.put_once("read", codec.dumps(replace(document, pages=pages)))
        await service.blobs.put_once("made", b"%PDF of pictures")
        columns = {"transcription_file_path": "read", "preprocessed_file_path": "made", **columns}
        await finish(document_id, page_count=3, **columns)
        return f"/api/v1/documents/{document_id}"

    return add_scan


async def test_the_pictures_that_pages_were_read_in_are_offered_for_download(
    client: httpx.AsyncClient, preprocessed: Callable[..., Awaitable[str]]
) -> None:
    address = await preprocessed()
    document = (await client.get(address)).json()
    pages = (await client.get(f"{address}/pages")).json()["pages"]

    response = await client.get(document["preprocessed"])

    assert document["preprocessed"] == f"{address}/preprocessed.pdf"
    assert [page["preprocessed"] for page in pages] == [False, True, True]
    assert response.content == b"%PDF of pictures"
    assert response.headers["content-type"] == "application/pdf"
    assert response.headers["content-length"] == "16"
    assert response.headers["content-disposition"] == (
        "attachment; filename*=UTF-8''M%C3%A4rzscan.old%2C%20preprocessed%20pages%202-3.pdf"
    )


async def test_a_document_read_as_it_stands_has_no_such_pictures(
    client: httpx.AsyncClient, preprocessed: Callable[..., Awaitable[str]]
) -> None:
    address = await preprocessed(preprocessed_file_path=None)

    response = await client.get(f"{address}/preprocessed.pdf")

    assert (await client.get(address)).json()["preprocessed"] is None
    assert response.status_code == 404


async def test_the_pictures_of_another_tenant_are_not_to_be_had(
    preprocessed: Callable[..., Awaitable[str]],
    service: Service,
    renderer: PaintedPages,
    settings: Settings,
    database_url: str,
) -> None:
    stranger = uuid4()
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as owner:
        await owner.execute("INSERT INTO tenant (id, name) VALUES (%s, 'Stranger')", [stranger])
    address = await preprocessed()
    theirs = create_app(replace(service, default_tenant_id=stranger), renderer, settings)

    transport = httpx.ASGITransport(theirs, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as other:
        response = await other.get(f"{address}/preprocessed.pdf")

    assert response.status_code == 404


async def test_pictures_that_are_gone_are_an_error_and_no_torso(
    client: httpx.AsyncClient, service: Service, preprocessed: Callable[..., Awaitable[str]]
) -> None:
    address = await preprocessed()
    await service.blobs.delete("made")

    response = await client.get(f"{address}/preprocessed.pdf")

    assert response.status_code == 422


@pytest.mark.parametrize("path", ["1.webp?width=333", "0.webp", "x.webp"])
async def test_a_picture_that_is_not_offered_is_refused(
    client: httpx.AsyncClient, address: str, path: str
) -> None:
    response = await client.get(f"{address}/pages/{path}")

    assert response.status_code == 422


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UnsupportedFileTypeError("no pictures of this type"), 415),
        (EncryptedError("it has a password"), 422),
        (CorruptError("it is damaged"), 422),
    ],
)
async def test_a_page_that_cannot_be_drawn_says_why(
    client: httpx.AsyncClient, address: str, renderer: PaintedPages, error: Exception, status: int
) -> None:
    renderer.error = error

    response = await client.get(f"{address}/pages/1.webp")

    assert response.status_code == status
    assert response.json()["detail"] == str(error)


async def test_a_browser_gets_a_placeholder_for_a_page_that_cannot_be_drawn(
    client: httpx.AsyncClient, address: str, renderer: PaintedPages
) -> None:
    renderer.error = CorruptError("it is damaged")

    response = await client.get(f"{address}/pages/1.webp", headers={"accept": "image/webp,*/*;q=0.8"})

    assert (response.status_code, response.headers["content-type"]) == (200, "image/svg+xml")
    assert response.headers["cache-control"] == "no-store"
    assert response.content.startswith(b"<svg")


async def test_a_picture_that_is_known_is_not_sent_again(
    client: httpx.AsyncClient, address: str, renderer: PaintedPages
) -> None:
    first = await client.get(f"{address}/pages/1.webp")
    asked = len(renderer.asked)

    again = await client.get(f"{address}/pages/1.webp", headers={"if-none-match": first.headers["etag"]})
    other = await client.get(f"{address}/pages/2.webp", headers={"if-none-match": first.headers["etag"]})

    assert (again.status_code, again.content) == (304, b"")
    assert other.status_code == 200
    assert len(renderer.asked) == asked + 1


async def test_clients_that_ask_at_once_have_a_page_drawn_once(
    client: httpx.AsyncClient, address: str, renderer: PaintedPages
) -> None:
    answers = await asyncio.gather(*(client.get(f"{address}/pages/1.webp") for _ in range(8)))

    assert {answer.status_code for answer in answers} == {200}
    assert len(renderer.asked) == 1


async def test_a_page_kept_as_it_was_drawn_once_is_drawn_anew_when_drawing_has_changed(
    client: httpx.AsyncClient, address: str, renderer: PaintedPages, monkeypatch: pytest.MonkeyPatch
) -> None:
    await client.get(f"{address}/pages/1.webp")
    monkeypatch.setattr(page_images, "DRAWING_VERSION", page_images.DRAWING_VERSION + 1)

    await client.get(f"{address}/pages/1.webp")

    assert len(renderer.asked) == 2


async def test_after_a_fault_a_page_is_drawn_when_asked_for_again(
    client: httpx.AsyncClient, address: str, renderer: PaintedPages
) -> None:
    renderer.error = CrashedError("the process died")
    failed = await client.get(f"{address}/pages/1.webp")
    renderer.error = None

    again = await client.get(f"{address}/pages/1.webp")

    assert (failed.status_code, again.status_code) == (503, 200)
