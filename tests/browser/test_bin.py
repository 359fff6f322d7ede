"""Deleting, the bin, operations and the page of the API, in a browser."""

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from uuid import UUID

import pytest
from playwright.async_api import Page, expect

from docmill.testing.steps import PaintedPages

Add = Callable[[str], Awaitable[UUID]]
Fail = Callable[[UUID], Awaitable[None]]

PICTURES = os.environ.get("DOCMILL_PICTURES")
"""Where to put pictures of the pages, to look at."""


@pytest.fixture
def renderer() -> PaintedPages:
    return PaintedPages()


async def _picture(page: Page, name: str) -> None:
    if PICTURES:
        await page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True)


async def test_a_document_is_deleted_and_the_deletion_undone(page: Page, address: str, add: Add) -> None:
    document_id = await add("contract.pdf")
    await page.goto(f"{address}docs/{document_id}")

    await page.get_by_role("button", name="Delete").click()
    await expect(page.get_by_text("1 document is in the bin")).to_be_visible()
    await expect(page.locator(".card")).to_have_count(0)
    await expect(page).to_have_url(address)  # a reload does not offer it again
    await page.get_by_role("button", name="Undo").click()

    await expect(page.locator(".card")).to_have_count(1)


async def test_marked_documents_are_deleted_together(page: Page, address: str, add: Add) -> None:
    for name in ("a.pdf", "b.pdf", "c.pdf"):
        await add(name)
    await page.goto(address)

    await page.get_by_label("Mark a.pdf").check()
    await page.get_by_label("Mark c.pdf").check()
    await _picture(page, "marked")
    await page.locator("#bulk").get_by_role("button", name="Delete").click()

    await expect(page.get_by_text("2 documents are in the bin")).to_be_visible()
    await expect(page.locator(".card")).to_have_count(1)


async def test_a_card_of_a_document_that_somebody_deletes_stays_in_its_place(
    page: Page, address: str, add: Add
) -> None:
    document_id = await add("a.pdf")
    await add("b.pdf")
    await page.goto(address)
    await expect(page.locator("#connection")).to_have_text("Live")

    await page.request.delete(f"{address}api/v1/documents/{document_id}")

    await expect(page.locator(".card.gone .pill")).to_have_text("Deleted")
    await expect(page.locator(".card")).to_have_count(2)


@pytest.mark.parametrize(("theme", "width"), [("light", 1200), ("dark", 1200), ("light", 320)])
async def test_the_pages_fit_every_width(
    page: Page, address: str, add: Add, fail: Fail, theme: str, width: int
) -> None:
    deleted = await add("a-rather-long-name-of-a-file-that-somebody-scanned-in-november.pdf")
    await fail(await add("broken.pdf"))
    await add("waiting.pdf")
    await page.request.delete(f"{address}api/v1/documents/{deleted}")
    await page.context.add_cookies([{"name": "docmill-theme", "value": theme, "url": address}])
    await page.set_viewport_size({"width": width, "height": 900})

    for path in ("bin", "ops", ""):
        await page.goto(address + path)
        await _picture(page, f"{path or 'documents'}-{theme}-{width}")
        assert await page.evaluate("document.documentElement.scrollWidth") <= width, path


async def test_the_page_of_the_api_shows_operations_under_the_policy(page: Page, address: str) -> None:
    page.set_default_timeout(60_000)  # its code is large, and takes long to start beside other tests
    await page.goto(f"{address}api/docs")

    await expect(page.locator(".opblock").first).to_be_visible()
    await page.locator(".opblock-patch").get_by_role("button").first.click()
    await expect(page.locator(".opblock-patch").get_by_text("Idempotency-Key")).to_be_visible()
    await _picture(page, "api-docs")
