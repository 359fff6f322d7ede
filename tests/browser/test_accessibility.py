"""Every page that links lead to keeps the rules of WCAG 2.2, A and AA, that a machine can check."""

import re
from collections import Counter
from collections.abc import AsyncIterator
from urllib.parse import urljoin, urlsplit

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.async_api import BrowserContext, Page, ViewportSize, expect

from docmill.cli.vault.serving import running_vault
from docmill.service.config.settings import Settings
from docmill.service.config.web import Web
from docmill.testing.steps import PaintedPages

READING_MS = 120_000
"""OCR takes seconds on a free core, and more on a busy machine."""
OF_A_KIND = 2
"""Pages of one kind that are looked at: of documents, one that was read and one that failed."""
RULES = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "resultTypes": ["violations"],
}
NARROW: ViewportSize = {"width": 320, "height": 640}
WIDE: ViewportSize = {"width": 1280, "height": 900}
UNLINKED = "/docs/00000000-0000-7000-8000-000000000009"


@pytest.fixture
async def vault(settings: Settings) -> AsyncIterator[str]:
    """The address of a vault with a worker."""
    async with running_vault(settings.model_copy(update={"web": Web(port=0)})) as running:
        yield running.address


@pytest.fixture
def renderer() -> PaintedPages:
    return PaintedPages()


async def violations(page: Page) -> list[str]:
    """What the rules find wrong on a page: in both themes, and on a phone."""
    found: list[str] = []
    await page.evaluate(AXE_SCRIPT)
    for theme, size in (("light", WIDE), ("dark", WIDE), ("light", NARROW)):
        await page.set_viewport_size(size)
        await page.emulate_media(color_scheme="dark" if theme == "dark" else "light", reduced_motion="reduce")
        results = await page.evaluate("rules => axe.run(document, rules)", RULES)
        found += [
            f"{page.url} {theme} {size['width']} px: {violation['id']}: {node['target']}: "
            f"{node['failureSummary']}"
            for violation in results["violations"]
            for node in violation["nodes"]
        ]
    return found


async def links(page: Page) -> list[str]:
    """The addresses of other pages of the vault that a page links to."""
    given: list[str] = await page.eval_on_selector_all(
        "a[href]:not([download])", "links => links.map(link => link.getAttribute('href'))"
    )
    whole = [urljoin(page.url, address).partition("#")[0] for address in given]
    here = urlsplit(page.url).netloc
    return [
        address
        for address in whole
        if urlsplit(address).netloc == here and not urlsplit(address).path.startswith(("/api/", "/static/"))
    ]


def kind_of(address: str) -> str:
    """The address without ids and without the values of filters: pages of one kind are looked at once."""
    parts = urlsplit(address)
    path = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "id", parts.path)
    names = sorted(re.sub(r"^(?!tab=)([^=]*)=.*", r"\1", pair) for pair in parts.query.split("&") if pair)
    return f"{path}?{'&'.join(names)}"


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

    todo, seen, found = [vault], Counter[str](), list[str]()
    visited = set[str]()
    while todo or UNLINKED not in visited:
        address = todo.pop(0) if todo else UNLINKED
        if address not in visited and (seen[kind_of(address)] < OF_A_KIND or address == UNLINKED):
            visited.add(address)
            seen[kind_of(address)] += 1
            await page.goto(urljoin(vault, address))
            found += await violations(page)
            todo += await links(page)

    assert found == []
    assert {"/?", "/docs/id?", "/docs/id?tab=history"} <= seen.keys()


async def test_what_breaks_a_rule_is_found(page: Page, address: str) -> None:
    await page.goto(address)
    await page.evaluate("document.querySelector('main').append(new Image(), document.createElement('input'))")

    found = " ".join(await violations(page))

    assert "image-alt" in found
    assert "label" in found
