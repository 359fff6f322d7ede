"""The document page while somebody else changes the document."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest
from playwright.async_api import Page, Route, expect
from psycopg.types.json import Jsonb

from docmill.model import codec
from docmill.model.document import Document
from docmill.service.app import Service
from docmill.service.review.review import FieldReview
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.testing.steps import EmptyPages

LIVE = """() => new Promise((resolve) => {
  const source = new EventSource(`/api/v1/events?after=${document.querySelector("main").dataset.after}`);
  source.onmessage = () => { source.close(); resolve(); };
})"""
"""Ends once the page has been told of a change."""


@pytest.fixture
def renderer() -> EmptyPages:
    return EmptyPages()


def _found(text: str, confidence: float, page: int) -> dict[str, Any]:
    box = [0.2 * page, 0.3, 0.2 * page + 0.1, 0.35]
    return {"page": page, "box": box, "text": text, "match": "exact", "confidence": confidence}


@pytest.fixture
async def doubtful(
    service: Service, add: Callable[[str], Awaitable[UUID]], make_document: Callable[..., Document]
) -> UUID:
    """An invoice whose number is not believed, with two suggestions, the second on page 2."""
    document_id = await add("rent.pdf")
    path = f"transcriptions/{document_id}"
    await service.blobs.put_once(path, codec.dumps(make_document("Invoice 4711", "Order 4717")))
    values = {
        "id": document_id,
        "path": path,
        "classification": Jsonb({"document_type": "invoice", "title": "Rent", "document_date": None}),
        "data": Jsonb({"number": None, "order_number": "PO-7", "gross_total": "12.90", "currency": "EUR"}),
        "evidence": Jsonb(
            {
                "order_number": _found("PO-7", 0.95, 2),
                "gross_total": _found("12.90", 0.97, 1),
                "currency": _found("EUR", 0.98, 1),
            }
        ),
        "suggestions": Jsonb(
            {
                "number": [
                    {"value": "4711", "evidence": _found("4711", 0.4, 1)},
                    {"value": "4717", "evidence": _found("4717", 0.1, 2)},
                ]
            }
        ),
        "fingerprint": await service.fingerprint.now(),
    }
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute(
            "UPDATE document SET media_type = 'application/pdf', page_count = 2 WHERE id = %(id)s", values
        )
        await conn.execute(
            """
            UPDATE ingestion
               SET status = 'completed', classification = %(classification)s, structured_data = %(data)s,
                   evidence = %(evidence)s, suggestions = %(suggestions)s, valid_structured_data = true,
                   transcription_file_path = %(path)s, pipeline_fingerprint = %(fingerprint)s,
                   attempt_count = 1, started_at = created_at, completed_at = clock_timestamp()
             WHERE document_id = %(id)s
            """,
            values,
        )
    service.feed.announce()
    return document_id


@pytest.fixture
def rename(service: Service, doubtful: UUID) -> Callable[[str], Awaitable[None]]:
    """Changes the title of the document, which every client is told."""

    async def rename_document(title: str) -> None:
        async with service.database.tenant(service.default_tenant_id) as conn:
            await conn.execute(
                "UPDATE document SET title = %s, updated_at = clock_timestamp() WHERE id = %s",
                [title, doubtful],
            )
        service.feed.announce()

    return rename_document


@pytest.fixture
async def opened(page: Page, address: str, doubtful: UUID) -> Page:
    """The page of the document, which is told of changes."""
    await page.goto(f"{address}docs/{doubtful}")
    await expect(page.locator("#connection")).to_have_text("Live")
    return page


async def test_the_place_of_a_suggestion_under_the_pointer_or_with_the_focus_stays_shown(
    opened: Page, rename: Callable[[str], Awaitable[None]]
) -> None:
    place = opened.locator('.suggested[data-suggestion="number:0"]')
    chip = opened.locator("#field-number .chip").first

    await chip.hover()
    await expect(place).to_be_visible()
    await rename("Rent of May")
    await expect(opened.locator("h1")).to_have_text("Rent of May")
    await expect(place).to_be_visible()

    await opened.mouse.move(1, 1)
    await expect(place).to_be_hidden()
    await opened.get_by_label("Number", exact=True).focus()
    await opened.keyboard.press("ArrowDown")
    await expect(place).to_be_visible()
    await rename("Rent of June")
    await expect(opened.locator("h1")).to_have_text("Rent of June")
    await expect(chip).to_be_focused()
    await expect(place).to_be_visible()


async def test_what_is_being_typed_keeps_its_text_and_the_focus(
    opened: Page, rename: Callable[[str], Awaitable[None]]
) -> None:
    total = opened.get_by_label("Total", exact=True)
    await total.fill("13")
    await rename("Rent of May")
    await expect(opened.locator("h1")).to_have_text("Rent of May")

    await expect(total).to_be_focused()
    await opened.keyboard.press("End")
    await opened.keyboard.type(".50")
    await expect(total).to_have_value("13.50")


async def test_pages_are_turned_with_keys_which_stop_at_both_ends(opened: Page) -> None:
    viewer = opened.locator("#viewer")

    for key, number in (("[", "1"), ("]", "2"), ("]", "2"), ("[", "1")):
        await opened.keyboard.press(key)
        await expect(viewer).to_have_attribute("data-page", number)
        await expect(opened.locator("#sheet img")).to_have_attribute("src", re.compile(rf"/pages/{number}\."))


async def test_a_change_meanwhile_does_not_stop_the_page_from_being_turned(
    page: Page, address: str, doubtful: UUID, rename: Callable[[str], Awaitable[None]]
) -> None:
    await page.clock.install()
    await page.goto(f"{address}docs/{doubtful}")
    await expect(page.locator("#connection")).to_have_text("Live")
    told = asyncio.Event()

    async def hold(route: Route) -> None:
        await told.wait()
        await route.continue_()

    await page.route("**/docs/*?page=2*", hold)

    async with page.expect_request("**/docs/*?page=2*"):
        await page.get_by_label("Order number", exact=True).focus()
    await rename("Rent of May")
    await page.evaluate(LIVE)
    await page.clock.run_for(1000)
    told.set()

    await expect(page.locator("#viewer")).to_have_attribute("data-page", "2")
    await expect(page.locator("h1")).to_have_text("Rent of May")
    await expect(page.get_by_label("Order number", exact=True)).to_be_focused()


async def test_a_suggestion_that_somebody_else_accepts_gives_way_to_the_value(
    opened: Page, service: Service, doubtful: UUID
) -> None:
    await opened.get_by_label("Number", exact=True).focus()
    await opened.keyboard.press("ArrowDown")
    await expect(opened.locator("#field-number .chip").first).to_be_focused()

    async with service.database.tenant(service.default_tenant_id) as conn:
        cur = await conn.execute("SELECT result_ingestion_id FROM document WHERE id = %s", [doubtful])
        row = await cur.fetchone()
    assert row is not None
    await service.reviews.add(
        doubtful,
        [FieldReview("number", "correct", "4717")],
        tenant_id=service.default_tenant_id,
        ingestion_id=row[0],
        reviewed_by=DEFAULT_USER_ID,
    )

    number = opened.get_by_label("Number", exact=True)
    await expect(number).to_have_value("4717")
    await expect(opened.locator("#field-number .chip")).to_have_count(0)
    await expect(number).to_be_focused()
