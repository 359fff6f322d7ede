"""The vault in a browser that runs no scripts."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from playwright.async_api import BrowserContext, Page, async_playwright, expect

from docmill.service.app import Service
from docmill.service.people.accounts import NewPerson
from docmill.testing.steps import PaintedPages
from support.accessibility import NARROW
from support.people import PASSWORD


@pytest.fixture
def renderer() -> PaintedPages:
    return PaintedPages()


@pytest.fixture
async def context(launch_options: dict[str, Any], tmp_path: Path) -> AsyncIterator[BrowserContext]:
    """A browser without scripts."""
    async with async_playwright() as playwright:
        context = await playwright.chromium.launch_persistent_context(
            tmp_path / "browser", java_script_enabled=False, **launch_options
        )
        yield context
        await context.close()


async def test_uploading_searching_and_going_back_are_plain_forms(page: Page, address: str) -> None:
    await page.goto(address)
    await expect(page.locator("#connection")).to_be_hidden()

    await page.get_by_label("Upload", exact=True).set_input_files(
        {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"notes"}
    )
    await page.get_by_role("button", name="Send the chosen files").click()
    await expect(page.locator("#main")).to_contain_text("Added")

    await page.get_by_role("link", name="All documents").click()
    await page.get_by_label("Search documents").fill("notes")
    await page.get_by_role("button", name="Search").click()
    await expect(page).to_have_url(re.compile(rf"^{re.escape(address)}\?q=notes&by=&state=&type=&"))
    await expect(page.locator(".card")).to_have_count(1)

    await page.get_by_role("button", name="Theme: auto").click()
    await expect(page.locator("html")).to_have_attribute("data-theme", "light")
    await expect(page).to_have_url(re.compile(rf"^{re.escape(address)}\?q=notes&by=&state=&type=&"))

    await page.get_by_role("link", name="notes.txt").click()
    await page.get_by_role("link", name="History").click()
    await expect(page.locator(".history")).to_contain_text("Requested")


async def test_a_receipt_is_reviewed_and_approved_on_a_phone_in_the_dark(
    context: BrowserContext, address: str, service: Service, read: Callable[[str], Awaitable[UUID]]
) -> None:
    page = await context.new_page()  # not the fixture: browsers take a value that is still open for an error
    document_id = await read("one.png")
    await service.accounts.create_first(NewPerson("anna@example.org", "Anna", PASSWORD), "Acme")

    async def look() -> None:
        """What is wider than the screen has to be scrolled aside; axe cannot run without scripts."""
        assert await page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"], page.url
        shown = await page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        assert shown == "rgb(16, 21, 27)"

    await page.set_viewport_size(NARROW)
    await page.emulate_media(color_scheme="dark")
    await page.goto(address)
    await look()
    await page.get_by_label("E-mail address").fill("anna@example.org")
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.get_by_role("button", name="Sign in").click()

    await page.get_by_label("Upload", exact=True).set_input_files(
        {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"notes"}
    )
    await look()
    await page.get_by_role("button", name="Send the chosen files").click()
    await expect(page.locator("#main")).to_contain_text("Added")
    await look()

    await page.get_by_role("link", name="Review").click()
    await look()
    await page.get_by_role("link", name="Start reviewing").click()
    await page.get_by_label("Date", exact=True).fill("2026-11-04")
    await page.get_by_role("button", name="Date").click()
    await expect(page.locator("#field-issue_date .said")).to_contain_text("Read as “2026-11-03”.")
    await look()

    # While a value is open, approving leads to it.
    while await page.locator("#panel [data-open]").count():
        await page.get_by_role("button", name="Approve and next").click()
        await look()
        await page.locator("#panel form.field:has([autofocus]) .say").click()
    await page.get_by_role("button", name="Approve and next").click()
    await page.wait_for_url(f"{address}review?approved={document_id}", timeout=60_000)
    await expect(page.locator("#notice")).to_contain_text("Approved")
    await look()
