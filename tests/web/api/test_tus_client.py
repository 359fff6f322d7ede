"""A client of tus that others wrote sends files to the vault, and goes on after it was broken off."""

import asyncio
from collections.abc import AsyncIterator
from io import BytesIO
from typing import Any

import pytest
from fastapi import FastAPI

from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.config.web import Web
from docmill.service.people.access import machine_access
from docmill.web.server import serve

tusclient: Any = pytest.importorskip("tusclient.client")

CHUNK_BYTES = 100_000
FILE = b"%PDF-1.7 " + bytes(range(256)) * 2000


@pytest.fixture
async def address(app: FastAPI, settings: Settings) -> AsyncIterator[str]:
    stop, ready = asyncio.Event(), asyncio.Future[str]()
    somewhere = settings.model_copy(update={"web": Web(port=0)})
    task = asyncio.create_task(serve(app, somewhere, stop, ready.set_result))
    yield await asyncio.wait_for(ready, 10)
    stop.set()
    await asyncio.wait_for(task, 10)


async def test_tuspy_sends_a_file_in_pieces_and_another_client_goes_on_with_it(
    address: str, service: Service
) -> None:
    key = await service.api_keys.create(
        machine_access(service.default_tenant_id), "scanner", ["read", "write"], None
    )

    def uploader(url: str | None = None) -> Any:  # noqa: ANN401  the library carries no types
        headers = {"authorization": f"Bearer {key.secret}"}
        client = tusclient.TusClient(f"{address}api/v1/uploads", headers=headers)
        return client.uploader(
            file_stream=BytesIO(FILE),
            chunk_size=CHUNK_BYTES,
            url=url,
            metadata={"filename": "Rechnung März.pdf"},
            upload_checksum=True,
        )

    def send() -> tuple[int, int]:
        first = uploader()
        first.upload_chunk()
        second = uploader(first.url)
        resumed_at = second.offset
        second.upload()
        return resumed_at, second.offset

    assert await asyncio.to_thread(send) == (CHUNK_BYTES, len(FILE))
    async with service.database.tenant(service.default_tenant_id) as conn:
        cur = await conn.execute("SELECT file_name, file_path FROM document")
        ((file_name, file_path),) = await cur.fetchall()
    assert file_name == "Rechnung März.pdf"
    assert await service.blobs.get(file_path) == FILE
