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
from psycopg.types.json import Jsonb

from docmill.model import codec
from docmill.model.document import Document
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

READ_TEXT = """
Corner Bakery                                   2026-11-03
Bread                                               4.50
Coffee                                              8.40
Total                                              12.90 EUR
"""
READ_DATA = {
    "currency": "EUR",
    "gross_total": "12.90",
    "seller": {"name": "Corner Bakery"},
    "issue_date": "2026-11-03",
    "tip": None,
    "tax_total": None,
    "lines": [
        {"description": "Bread", "net_amount": "4.50"},
        {"description": "Coffee", "net_amount": "8.40"},
    ],
}
UNCERTAIN = {"check": "confidence", "message": "Date is uncertain.", "fields": ["issue_date"]}


def _found(text: str, confidence: float, box: list[float]) -> dict[str, Any]:
    return {"page": 1, "box": box, "text": text, "match": "exact", "confidence": confidence}


EVIDENCE = {
    "currency": _found("EUR", 0.99, [0.6, 0.8, 0.65, 0.85]),
    "gross_total": _found("12.90", 0.95, [0.5, 0.8, 0.58, 0.85]),
    "seller.name": _found("Corner Bakery", 0.95, [0.05, 0.1, 0.3, 0.15]),
    "issue_date": _found("2026-11-03", 0.5, [0.5, 0.1, 0.6, 0.15]),
    "lines[0].description": _found("Bread", 0.95, [0.05, 0.3, 0.1, 0.35]),
    "lines[0].net_amount": _found("4.50", 0.95, [0.5, 0.3, 0.55, 0.35]),
    "lines[1].description": _found("Coffee", 0.95, [0.05, 0.5, 0.1, 0.55]),
    "lines[1].net_amount": _found("8.40", 0.95, [0.5, 0.5, 0.55, 0.55]),
}


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
def refusals() -> tuple[str, ...]:
    """Parts of messages in the console that are no errors here: browsers report refusals as such."""
    return ()


@pytest.fixture
async def page(context: BrowserContext, refusals: tuple[str, ...]) -> AsyncIterator[Page]:
    """A page that may report no error: no fault in a module, nothing that the policy forbids."""
    errors: list[str] = []
    page = await context.new_page()
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    assert [error for error in errors if not any(refusal in error for refusal in refusals)] == []


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


@pytest.fixture
def read(
    service: Service, add: Callable[[str], Awaitable[UUID]], make_document: Callable[..., Document]
) -> Callable[[str], Awaitable[UUID]]:
    """Adds a receipt that was read and needs a review, as a worker would."""

    async def read_receipt(name: str) -> UUID:
        document_id = await add(name)
        path = f"transcriptions/{document_id}"
        await service.blobs.put_once(path, codec.dumps(make_document(READ_TEXT)))
        async with service.database.tenant(service.default_tenant_id) as conn:
            await conn.execute(
                "UPDATE document SET media_type = 'image/png', page_count = 1 WHERE id = %s", [document_id]
            )
            await conn.execute(
                """
                UPDATE ingestion
                   SET status = 'completed', completed_at = clock_timestamp(), started_at = created_at,
                       structured_data = %(data)s, evidence = %(evidence)s, verdict = %(verdict)s,
                       classification = %(classification)s, valid_structured_data = false,
                       transcription_file_path = %(path)s
                 WHERE document_id = %(id)s
                """,
                {
                    "id": document_id,
                    "data": Jsonb(READ_DATA),
                    "evidence": Jsonb(EVIDENCE),
                    "verdict": Jsonb({"failures": [UNCERTAIN]}),
                    "classification": Jsonb({"document_type": "receipt", "title": f"Receipt {name}"}),
                    "path": path,
                },
            )
        service.feed.announce()
        return document_id

    return read_receipt
