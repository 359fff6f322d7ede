"""The vault in a browser that runs no scripts."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import BrowserContext, Page, async_playwright, expect

from docmill.testing.steps import PaintedPages


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
    await expect(page).to_have_url(re.compile(rf"^{re.escape(address)}\?q=notes&state=&type=&"))
    await expect(page.locator(".card")).to_have_count(1)

    await page.get_by_role("button", name="Theme: auto").click()
    await expect(page.locator("html")).to_have_attribute("data-theme", "light")
    await expect(page).to_have_url(re.compile(rf"^{re.escape(address)}\?q=notes&state=&type=&"))

    await page.get_by_role("link", name="notes.txt").click()
    await page.get_by_role("link", name="History").click()
    await expect(page.locator(".history")).to_contain_text("Requested")
