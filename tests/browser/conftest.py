"""A vault that is really served, and a browser to look at it."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from PIL import Image, ImageDraw, ImageFont
from playwright.async_api import BrowserContext, Page, async_playwright

from docmill.ports import PageRenderer
from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.config.web import Web
from docmill.web.app import create_app
from docmill.web.server import serve

CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
LINES = [
    ("CORNER BAKERY", ""),
    ("12 Mill Lane, Harwich", ""),
    ("Receipt no. 4711", ""),
    ("Date: 2026-11-03", "14:32"),
    ("Bread", "4.50"),
    ("Coffee", "8.40"),
    ("TOTAL EUR", "12.90"),
    ("Thank you", ""),
]


@pytest.fixture
def receipt() -> bytes:
    """The picture of a till receipt."""
    font = ImageFont.load_default(34)
    image = Image.new("RGB", (620, 720), "white")
    draw = ImageDraw.Draw(image)
    for number, (left, right) in enumerate(LINES):
        draw.text((40, 50 + number * 78), left, "black", font)
        draw.text((580, 50 + number * 78), right, "black", font, anchor="ra")
    buffer = BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


@pytest.fixture
async def address(
    service: Service, renderer: PageRenderer, settings: Settings, context: BrowserContext
) -> AsyncIterator[str]:
    """Where the vault is served, as long as there are pages: one that is left open would miss its server."""
    stop, ready = asyncio.Event(), asyncio.Future[str]()
    somewhere = settings.model_copy(update={"web": Web(port=0)})
    app = create_app(service, renderer, somewhere)
    task = asyncio.create_task(serve(app, somewhere, stop, ready.set_result))
    yield await asyncio.wait_for(ready, 10)
    for page in context.pages:
        await page.close()
    stop.set()
    await asyncio.wait_for(task, 10)


@pytest.fixture
def launch_options() -> dict[str, Any]:
    """How to start Chromium."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed: scripts/system-packages chromium fonts-liberation")
    return {"executable_path": CHROMIUM, "headless": True, "args": FLAGS}


@pytest.fixture
async def context(launch_options: dict[str, Any], tmp_path: Path) -> AsyncIterator[BrowserContext]:
    """A browser without a past."""
    async with async_playwright() as playwright:
        context = await playwright.chromium.launch_persistent_context(tmp_path / "browser", **launch_options)
        context.set_default_timeout(15_000)
        yield context
        await context.close()


@pytest.fixture
async def page(context: BrowserContext) -> AsyncIterator[Page]:
    """A page that may report no error: no fault in a module, nothing that the policy forbids."""
    errors: list[str] = []
    page = await context.new_page()
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    assert errors == []


@pytest.fixture
def add(service: Service) -> Callable[[str], Awaitable[UUID]]:
    """Takes a document in, as another person's upload would."""

    async def add_document(name: str) -> UUID:
        async def chunks() -> AsyncIterator[bytes]:
            yield name.encode()

        accepted = await service.intake.accept(chunks(), tenant_id=service.default_tenant_id, file_name=name)
        return accepted.document_id

    return add_document


@pytest.fixture
def fail(service: Service) -> Callable[[UUID], Awaitable[None]]:
    """Ends the processing of a document with an error."""

    async def fail_document(document_id: UUID) -> None:
        async with service.database.tenant(service.default_tenant_id) as conn:
            await conn.execute(
                """
                UPDATE ingestion
                   SET status = 'failed', error_code = 'corrupt', error_message = 'It is damaged.',
                       completed_at = clock_timestamp()
                 WHERE document_id = %s
                """,
                [document_id],
            )
        service.feed.announce()

    return fail_document
