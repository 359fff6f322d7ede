"""Many files dropped at once, good ones and others, while their tray leaves the page alone."""

import re

import pytest
from playwright.async_api import BrowserContext, Page, Route, expect

from docmill.service.config.settings import Settings
from docmill.testing.steps import PaintedPages

MEGABYTE = 1_000_000
DROP = """files => {
    const data = new DataTransfer();
    for (const [name, size, text] of files) {
        data.items.add(new File([size ? new Uint8Array(size) : text], name));
    }
    for (const kind of ["dragenter", "drop"]) {
        const event = { dataTransfer: data, bubbles: true, cancelable: true };
        document.body.dispatchEvent(new DragEvent(kind, event));
    }
}"""
"""Drops files given by name and text, or by name and size in bytes."""


@pytest.fixture
def renderer() -> PaintedPages:
    return PaintedPages()


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Files of more than a megabyte are too large."""
    limits = settings.limits.model_copy(update={"file_mb": 1})
    return settings.model_copy(update={"limits": limits})


async def live(context: BrowserContext, address: str) -> Page:
    """The documents page, which may report refusals: Chromium takes them for errors."""
    page = await context.new_page()
    await page.goto(address)
    await expect(page.locator("#connection")).to_have_text("Live")
    return page


async def test_twenty_five_dropped_files_are_each_told_what_became_of_them(
    context: BrowserContext, address: str
) -> None:
    page = await live(context, address)
    before = await page.locator("#results").bounding_box()
    good = [[f"good-{number}.txt", 0, f"good {number}"] for number in range(18)]
    again = [[f"again-{number}.txt", 0, f"good {number}"] for number in range(3)]
    empty = [["empty-1.txt", 0, ""], ["empty-2.txt", 0, ""]]
    large = [["large-1.txt", MEGABYTE + 1, ""], ["large-2.txt", MEGABYTE + 1, ""]]

    await page.evaluate(DROP, [*good, *again, *empty, *large])

    rows = page.locator("#uploads li")
    await expect(rows).to_have_count(25)
    await expect(page.locator("#uploads-head span")).to_have_text("18 added, 3 already here, 4 not uploaded")
    # What was refused is in sight, before all others, with its reason.
    refused = rows.filter(has_text="Not uploaded")
    first = (await rows.locator(".name").all_inner_texts())[:4]
    assert set(first) == {"empty-1.txt", "empty-2.txt", "large-1.txt", "large-2.txt"}
    for row in await refused.all():
        await expect(row).to_be_in_viewport()
    await expect(rows.filter(has_text="large-1.txt")).to_contain_text("larger than the limit of 1 MB")
    await expect(rows.filter(has_text="again-2.txt").get_by_role("link")).to_have_attribute(
        "href", re.compile("^/docs/")
    )
    # The list is where it was, and shows the documents once: there is no news of one's own.
    after = await page.locator("#results").bounding_box()
    assert before is not None
    assert after is not None
    assert after["y"] == before["y"]
    await expect(page.locator(".card")).to_have_count(18)
    await expect(page.locator("#arrivals")).to_be_hidden()

    await page.get_by_role("button", name="Dismiss all").click()
    await expect(rows).to_have_count(0)


async def test_an_upload_is_cancelled_and_another_tried_again(context: BrowserContext, address: str) -> None:
    page = await live(context, address)
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    await page.route("**/api/v1/documents", hold)

    await page.evaluate(DROP, [["one.txt", 0, "1"], ["two.txt", 0, "2"], ["three.txt", 0, "3"]])
    rows = page.locator("#uploads li")
    await page.get_by_role("button", name="Cancel three.txt").click()
    await expect(rows).to_have_count(2)
    await page.get_by_role("button", name="Cancel two.txt").click()
    await expect(rows.filter(has_text="two.txt")).to_contain_text("Cancelled")
    await held[0].abort()
    await expect(rows.filter(has_text="one.txt")).to_contain_text("no connection to the vault")
    await page.unroute_all()
    await page.get_by_role("button", name="Retry one.txt").click()

    await expect(rows.filter(has_text="one.txt")).to_contain_text("Added")
    await expect(page.locator(".card")).to_have_count(1)


async def test_the_tray_closes_itself_when_every_file_was_added(
    context: BrowserContext, address: str
) -> None:
    page = await context.new_page()
    await page.clock.install()
    await page.goto(address)
    await page.evaluate(DROP, [["one.txt", 0, "1"], ["two.txt", 0, "2"]])
    rows = page.locator("#uploads li")
    await expect(rows.filter(has_text="Added")).to_have_count(2)

    await page.clock.fast_forward("00:09")

    await expect(rows).to_have_count(0)
    await expect(page.locator("#uploads-head")).to_be_hidden()
