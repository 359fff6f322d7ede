"""Files with hostile names: in the tray, and in each density of the list, on a narrow and a wide screen."""

import pytest
from playwright.async_api import FilePayload, Page, expect

from docmill.testing.steps import PaintedPages

NAMES = [
    "<img src=x onerror=document.title='hostile'>.pdf",
    "'><b>document<.pdf",
    "bill\u202efdp.exe",
    "x" * 251 + ".pdf",
    "two\nlines\r\n.pdf",
    "100% %(name)s {{ 7*7 }}.pdf",
    "\u05d0\u05d1\u05d2 (2).pdf",
    "a" + "\u0301" * 120 + ".pdf",
]


@pytest.fixture
def renderer() -> PaintedPages:
    return PaintedPages()


async def assert_fits(page: Page) -> None:
    assert await page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


@pytest.mark.parametrize("language", ["en", "de"])
async def test_hostile_names_are_shown_as_text_and_fit(page: Page, address: str, language: str) -> None:
    await page.set_viewport_size({"width": 320, "height": 640})
    await page.context.add_cookies([{"name": "docmill-language", "value": language, "url": address}])
    await page.goto(address)
    await expect(page.locator("#connection")).to_have_attribute("data-state", "live")
    files: list[FilePayload] = [
        {"name": name, "mimeType": "application/pdf", "buffer": f"{number} {name}".encode()}
        for number, name in enumerate(NAMES)
    ]

    await page.locator("#upload input[type=file]").set_input_files(files)
    await expect(page.locator("#uploads [data-outcome=added]")).to_have_count(len(NAMES))
    await assert_fits(page)
    in_tray = await page.locator("#uploads .name").all_text_contents()
    assert in_tray[:3] == [*NAMES[:2], "billfdp.exe"]

    for density in ("cards", "compact", "table"):
        await page.context.add_cookies([{"name": "docmill-list", "value": density, "url": address}])
        for width in (320, 1200):
            await page.set_viewport_size({"width": width, "height": 640})
            await page.goto(address)
            await expect(page.locator(f".{density} .card")).to_have_count(len(NAMES))
            titles = [text.strip() for text in await page.locator(".card-title").all_text_contents()]
            assert {*NAMES[:2], "billfdp.exe", NAMES[5], NAMES[6]} <= set(titles)
            await assert_fits(page)
    await expect(page.locator(".card .skeleton:visible")).to_have_count(0)  # it would lie behind the step

    await page.set_viewport_size({"width": 320, "height": 640})
    links = await page.locator(".card-title a").evaluate_all("all => all.map((link) => link.href)")
    for link in links:
        await page.goto(link)
        await assert_fits(page)
        assert await page.title() != "hostile"
        await expect(page.locator("img[src=x], h1 b")).to_have_count(0)
