"""Every page that links lead to keeps the rules of WCAG 2.2, A and AA, that a machine can check."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import BrowserContext, Page, expect

from docmill.cli.vault.serving import running_vault
from docmill.service.config.settings import Settings
from docmill.service.config.web import Web
from docmill.testing.steps import PaintedPages
from support.accessibility import linked_pages, violations

READING_MS = 120_000
"""OCR takes seconds on a free core, and more on a busy machine."""
OF_A_KIND = 2
"""Pages of one kind that are looked at: of documents, one that was read and one that failed."""
UNLINKED = "/docs/00000000-0000-7000-8000-000000000009"


@pytest.fixture
async def vault(settings: Settings) -> AsyncIterator[str]:
    """The address of a vault with a worker."""
    async with running_vault(settings.model_copy(update={"web": Web(port=0)})) as running:
        yield running.address


@pytest.fixture
def renderer() -> PaintedPages:
    return PaintedPages()


async def test_no_page_breaks_a_rule(context: BrowserContext, vault: str, receipt: bytes) -> None:
    page = await context.new_page()  # not the fixture: a page that does not exist is an error in the console
    await page.goto(vault)
    await expect(page.locator("#connection")).to_have_text("Live")
    await page.locator("#upload input[type=file]").set_input_files(
        [
            {"name": "till.png", "mimeType": "image/png", "buffer": receipt},
            {"name": "broken.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.7 broken"},
            {"name": "letter.txt", "mimeType": "text/plain", "buffer": b"Dear Ada,\n\nthank you.\n\nBob"},
        ]
    )
    await expect(page.locator(".card:not([data-state=processing])")).to_have_count(3, timeout=READING_MS)

    kinds, found = set[str](), list[str]()
    async for kind in linked_pages(page, vault, of_a_kind=OF_A_KIND, others=[UNLINKED]):
        kinds.add(kind)
        found += await violations(page)

    for name in ("Compact", "Table"):
        await page.goto(vault)
        await page.get_by_role("button", name=name).click()
        await expect(page.get_by_role("button", name=name)).to_have_attribute("aria-pressed", "true")
        found += await violations(page)

    assert found == []
    assert {"/?", "/docs/id?", "/docs/id?tab=history"} <= kinds


async def test_what_breaks_a_rule_is_found(page: Page, address: str) -> None:
    await page.goto(address)
    await page.evaluate("document.querySelector('main').append(new Image(), document.createElement('input'))")

    found = " ".join(await violations(page))

    assert "image-alt" in found
    assert "label" in found
