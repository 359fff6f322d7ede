"""Protected files through upload, page and API."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from docmill.errors import EncryptedError
from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.store import document_list, documents
from docmill.testing.steps import PaintedPages
from docmill.web.app import create_app

UPLOAD = "/api/v1/documents"


class Locksmith:
    """`Unlocker` of files that are their password."""

    async def unlock(self, original: Path, password: str) -> bytes | None:
        content = await asyncio.to_thread(original.read_bytes)
        if content.startswith(b"open"):
            return None
        if content != password.encode():
            raise EncryptedError("the password does not open the PDF")
        return b"readable " + content


@pytest.fixture
def app(service: Service, renderer: PaintedPages, settings: Settings) -> FastAPI:
    return create_app(service, renderer, settings, unlocker=Locksmith())


def form(content: str, password: str = "") -> list[tuple[str, tuple[str | None, str]]]:
    fields: list[tuple[str, tuple[str | None, str]]] = [("password", (None, password))]
    return [*fields, ("file", ("a.pdf", content))]


async def kept(service: Service) -> list[documents.DocumentRow]:
    async with service.database.tenant(service.default_tenant_id) as conn:
        return (await document_list.page(conn)).rows


async def test_the_right_password_stores_a_readable_copy_beside_the_original(
    client: httpx.AsyncClient, service: Service
) -> None:
    answer = await client.post(UPLOAD, files=form("sesame", "sesame"))

    assert answer.status_code == 201
    [row] = await kept(service)
    assert await service.blobs.get(row.file_path) == b"sesame"
    assert row.readable_file_path is not None
    assert await service.blobs.get(row.readable_file_path) == b"readable sesame"
    assert (await client.get(f"{UPLOAD}/{row.id}/file")).content == b"sesame"


async def test_a_wrong_password_is_refused_at_once_and_leaves_nothing(
    client: httpx.AsyncClient, service: Service
) -> None:
    answer = await client.post(UPLOAD, files=form("sesame", "other"))

    assert (answer.status_code, answer.json()["code"]) == (422, "encrypted")
    assert await kept(service) == []


async def test_a_password_that_is_not_needed_does_no_harm(
    client: httpx.AsyncClient, service: Service
) -> None:
    answer = await client.post(UPLOAD, files=form("open to all", "sesame"))

    assert answer.status_code == 201
    [row] = await kept(service)
    assert row.readable_file_path is None


async def test_a_password_after_the_files_is_refused(client: httpx.AsyncClient) -> None:
    answer = await client.post(UPLOAD, files=form("open")[::-1] + form("open", "late"))

    assert (answer.status_code, answer.json()["code"]) == (422, "validation")


@pytest.mark.parametrize("way", ["api", "page"])
async def test_a_document_that_is_here_is_opened_later(
    client: httpx.AsyncClient, service: Service, way: str
) -> None:
    await client.post(UPLOAD, files=form("sesame"))
    [row] = await kept(service)

    if way == "api":
        wrong = await client.post(f"{UPLOAD}/{row.id}/unlock", json={"password": "other"})
        right = await client.post(f"{UPLOAD}/{row.id}/unlock", json={"password": "sesame"})
    else:
        wrong = await client.post(f"/docs/{row.id}/unlock", data={"password": "other"})
        right = await client.post(f"/docs/{row.id}/unlock", data={"password": "sesame"})

    assert wrong.status_code == 422
    assert way == "api" or f"/docs/{row.id}" in wrong.text  # on the document's own page
    assert right.status_code == (202 if way == "api" else 303)
    [row] = await kept(service)
    assert row.readable_file_path is not None


@pytest.mark.parametrize("content", ["%PDF of sesame", b"\xd0\xcf\x11\xe0 of Word"])
async def test_after_a_wrong_password_the_page_asks_again(
    client: httpx.AsyncClient, service: Service, finish: Callable[..., Awaitable[None]], content: str | bytes
) -> None:
    await client.post(UPLOAD, files=[("file", ("a", content))])
    [row] = await kept(service)
    await finish(row.id, status="failed", error_code="encrypted", error_message="it has a password")

    listed = await client.get("/")
    asked = await client.get(f"/docs/{row.id}")
    wrong = await client.post(f"/docs/{row.id}/unlock", data={"password": "other"})

    assert f'href="/docs/{row.id}#password"' in listed.text
    assert "/retry" not in listed.text
    assert 'name="password"' in asked.text
    assert "does not open" not in asked.text
    assert 'aria-invalid="true"' in wrong.text
    assert "The password does not open the PDF." in wrong.text


async def test_no_password_is_asked_for_where_none_would_help(
    client: httpx.AsyncClient, service: Service, finish: Callable[..., Awaitable[None]]
) -> None:
    await client.post(UPLOAD, files=form("From: a mail for its recipient"))
    [row] = await kept(service)
    await finish(row.id, status="failed", error_code="encrypted", error_message="save it without")
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("UPDATE document SET media_type = 'message/rfc822' WHERE id = %s", [row.id])

    listed = await client.get("/")
    page = await client.get(f"/docs/{row.id}")
    await service.blobs.delete(row.file_path)
    page_without_file = await client.get(f"/docs/{row.id}")

    assert "Save it without." in page.text
    assert "#password" not in listed.text
    assert 'name="password"' not in page.text + page_without_file.text


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/v1/documents/00000000-0000-0000-0000-000000000000/unlock", {"json": {"password": "a"}}),
        ("/docs/00000000-0000-0000-0000-000000000000/unlock", {"data": {"password": "a"}}),
        ("/docs/nonsense/unlock", {"data": {"password": "a"}}),
    ],
)
async def test_a_document_that_is_not_here_is_not_found(
    client: httpx.AsyncClient, path: str, body: dict[str, dict[str, str]]
) -> None:
    assert (await client.post(path, **body)).status_code == 404  # pyright: ignore[reportArgumentType]


async def test_without_an_unlocker_a_password_is_refused(
    service: Service, renderer: PaintedPages, settings: Settings
) -> None:
    app = create_app(service, renderer, settings)
    transport = httpx.ASGITransport(app)

    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        answer = await client.post(UPLOAD, files=form("sesame", "sesame"))

    assert (answer.status_code, answer.json()["code"]) == (422, "validation")
