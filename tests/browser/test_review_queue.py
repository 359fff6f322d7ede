"""The review queue with the keyboard alone, and what is typed, drawn and checked while it is."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest
from playwright.async_api import BrowserContext, Page, expect
from psycopg.types.json import Jsonb

from docmill.model import codec
from docmill.model.document import Document
from docmill.service.app import Service
from docmill.testing.steps import PaintedPages

TEXT = """
Corner Bakery                                   2026-11-03
Bread                                               4.50
Coffee                                              8.40
Total                                              12.90 EUR
"""
DATA = {
    "currency": "EUR",
    "gross_total": "12.90",
    "seller": {"name": "Corner Bakery"},
    "issue_date": "2026-11-03",
    "lines": [
        {"description": "Bread", "net_amount": "4.50"},
        {"description": "Coffee", "net_amount": "8.40"},
    ],
}
UNCERTAIN = {"check": "confidence", "message": "Date is uncertain.", "fields": ["issue_date"]}
PATIENCE_MS = 60_000
REFUSALS = ("status of 422", "status of 409")

Read = Callable[[str], Awaitable[UUID]]

expect.set_options(timeout=PATIENCE_MS)


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
def renderer() -> PaintedPages:
    return PaintedPages()


@pytest.fixture
async def page(context: BrowserContext) -> AsyncIterator[Page]:
    """A page that may report refusals, which browsers take for errors, and nothing else."""
    errors: list[str] = []
    page = await context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    assert [error for error in errors if not any(refusal in error for refusal in REFUSALS)] == []


@pytest.fixture
def read(
    service: Service, add: Callable[[str], Awaitable[UUID]], make_document: Callable[..., Document]
) -> Read:
    """Adds a receipt that was read and needs a review, as a worker would."""

    async def read_receipt(name: str) -> UUID:
        document_id = await add(name)
        path = f"transcriptions/{document_id}"
        await service.blobs.put_once(path, codec.dumps(make_document(TEXT)))
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
                    "data": Jsonb(DATA),
                    "evidence": Jsonb(EVIDENCE),
                    "verdict": Jsonb({"failures": [UNCERTAIN]}),
                    "classification": Jsonb({"document_type": "receipt", "title": f"Receipt {name}"}),
                    "path": path,
                },
            )
        service.feed.announce()
        return document_id

    return read_receipt


async def test_two_receipts_are_reviewed_with_the_keyboard_alone(
    page: Page, address: str, read: Read
) -> None:
    first, second = await read("one.png"), await read("two.png")
    await page.goto(f"{address}review")
    await expect(page.locator("#connection")).to_have_text("Live")

    # Enter begins; Ctrl+Enter leads to the first open value instead of approving.
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"**/review/{first}")
    await expect(page.locator("#connection")).to_have_text("Live")
    date = page.get_by_label("Date", exact=True)
    await page.keyboard.press("Control+Enter")
    await expect(date).to_be_focused()
    await expect(page.locator("#open-question")).to_contain_text("still open")

    # Enter confirms and goes to the next open value, Shift+Enter to the one before.
    is_open = page.locator("#panel .field[data-open], #panel td a[data-open]")
    for _ in range(20):
        if not await is_open.count():
            break
        path = await page.evaluate("document.activeElement.closest('[data-path]').dataset.path")
        await page.keyboard.press("Enter")
        value = page.locator(f'#panel [data-path="{path}"]').first
        await expect(value).not_to_have_attribute("data-open", "")
        await expect(page.locator(f'[data-path="{path}"]:focus-within')).to_have_count(0)
    await expect(is_open).to_have_count(0)
    await expect(page.locator("#field-issue_date")).to_have_class(re.compile("confirmed"))

    # What was corrected last is undone and redone.
    currency = page.get_by_label("Currency", exact=True)
    await currency.fill("usd")
    await currency.press("Enter")
    await expect(page.locator("#field-currency .said")).to_contain_text("Read as “EUR”.")
    await currency.focus()
    await page.keyboard.press("Control+z")
    await expect(currency).to_have_value("EUR")
    await page.keyboard.press("Control+Shift+Z")
    await expect(currency).to_have_value("USD")
    await page.keyboard.press("Control+z")
    await expect(currency).to_have_value("EUR")

    # Approving goes to the next document, which x rejects with a reason.
    await page.keyboard.press("Control+Enter")
    if await page.locator("#open-question").count():
        await page.keyboard.press("Enter")
        await page.keyboard.press("Control+Enter")
    await page.wait_for_url(f"**/review/{second}?approved={first}")
    await expect(page.locator("#notice")).to_contain_text("Approved")
    await page.keyboard.press("x")
    await expect(page.locator("#reject-reason")).to_be_focused()
    await page.keyboard.type("It is not for us")
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"**/review?rejected={second}")
    await expect(page.locator("h2")).to_contain_text(["Nothing to review"])


async def test_what_is_typed_outlives_leaving_the_page_and_is_checked_meanwhile(
    page: Page, address: str, read: Read
) -> None:
    first = await read("one.png")
    await read("two.png")
    await page.goto(f"{address}review/{first}")
    total = page.get_by_label("Total", exact=True)

    async with page.expect_response("**/draft"):
        await total.fill("13.40")
    await expect(page.locator("#field-gross_total .live-checks")).to_contain_text("13.40")
    await page.locator("h1").click()
    await page.keyboard.press("j")
    await page.wait_for_url(lambda url: str(first) not in url)
    await page.keyboard.press("k")
    await page.wait_for_url(f"**/review/{first}")

    await expect(total).to_have_value("13.40")
    await expect(page.locator("#field-gross_total .draft")).to_contain_text("Not saved yet")
    await page.get_by_role("button", name="Drop what you typed into Total").click()
    await expect(total).to_have_value("12.90")


async def test_rows_are_added_and_removed_and_a_place_is_read_into_a_value(
    page: Page, address: str, read: Read
) -> None:
    document_id = await read("one.png")
    await page.goto(f"{address}review/{document_id}")
    rows = page.locator("#panel tbody tr")

    await page.get_by_role("button", name="Remove row 1 of Line items").click()
    await expect(rows).to_have_count(1)
    await page.get_by_role("button", name="Bring back row 1 of Line items").click()
    await expect(rows).to_have_count(2)
    await page.get_by_text("Add a row").first.click()
    await page.locator("#lines-new-description").fill("Tea")
    await page.locator("#lines-new-net_amount").fill("2,10")
    await page.get_by_role("button", name="Add the row").click()
    await expect(rows).to_have_count(3)
    await expect(rows.last).to_contain_text("2.10")

    seller = page.get_by_label("Seller", exact=True)
    await seller.focus()
    await page.get_by_role("button", name="Read a place").click()
    sheet = await page.locator("#sheet").bounding_box()
    assert sheet is not None
    await page.mouse.move(sheet["x"] + 0.02 * sheet["width"], sheet["y"] + 0.3 * sheet["height"])
    await page.mouse.down()
    await page.mouse.move(sheet["x"] + 0.4 * sheet["width"], sheet["y"] + 0.45 * sheet["height"])
    await page.mouse.up()
    await expect(seller).to_have_value("Bread")
    await expect(seller).to_be_focused()
