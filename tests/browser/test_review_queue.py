"""The review queue with the keyboard alone, and what is typed, drawn and checked while it is."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from uuid import UUID

import pytest
from playwright.async_api import BrowserContext, Locator, Page, expect

from docmill.testing.steps import EmptyPages

PATIENCE_MS = 60_000
REFUSALS = ("status of 422", "status of 409")

Read = Callable[[str], Awaitable[UUID]]

expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture
def renderer() -> EmptyPages:
    return EmptyPages()


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

    # What changes elsewhere does not take the question away.
    await page.request.post(f"{address}api/v1/documents/{first}/tags", data={"add": ["urgent"]})
    await expect(page.locator("#tags")).to_contain_text("urgent")
    await expect(page.locator("#open-question")).to_contain_text("still open")
    await expect(date).to_be_focused()

    await _leave_and_come_back(page, date)

    # Enter confirms and goes to the next open value.
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
    await _reject(page, "It is not for us")
    await page.wait_for_url(f"**/review?rejected={second}")
    await expect(page.locator("h2")).to_contain_text(["Nothing to review"])


async def _leave_and_come_back(page: Page, value: Locator) -> None:
    """Tab leads to the next value, Shift+Enter to the open one before."""
    await page.keyboard.press("Tab")
    await page.keyboard.press("Tab")
    await expect(value).not_to_be_focused()
    await page.keyboard.press("Shift+Enter")
    await expect(value).to_be_focused()


async def _reject(page: Page, reason: str) -> None:
    """Escape lets go of the rejection that x begins."""
    for key in ("x", "Escape", "x"):
        await page.keyboard.press(key)
        await expect(page.locator("#reject-reason")).to_be_visible(visible=key == "x")
    await expect(page.locator("#reject-reason")).to_be_focused()
    await page.keyboard.type(reason)
    await page.keyboard.press("Enter")


async def test_what_is_typed_outlives_leaving_the_page_and_is_checked_meanwhile(
    page: Page, address: str, read: Read
) -> None:
    first = await read("one.png")
    await read("two.png")
    await page.goto(f"{address}review/{first}")
    await expect(page.locator("#connection")).to_have_text("Live")
    total = page.get_by_label("Total", exact=True)

    async with page.expect_response("**/draft"):
        await total.fill("13.40")
    await expect(page.locator("#field-gross_total .live-checks")).to_contain_text("13.40")
    await page.locator("h1").click()
    await page.keyboard.press("j")
    await page.wait_for_url(lambda url: str(first) not in url)
    await expect(page.locator("#connection")).to_have_text("Live")
    await page.keyboard.press("k")
    await page.wait_for_url(f"**/review/{first}")

    await expect(total).to_have_value("13.40")
    await expect(page.locator("#field-gross_total .draft")).to_contain_text("Not saved yet")
    await page.get_by_role("button", name="Drop what you typed into Total").click()
    await expect(total).to_have_value("12.90")


async def test_the_page_that_one_comes_back_to_has_what_was_typed(
    page: Page, address: str, read: Read
) -> None:
    document_id = await read("one.png")
    await page.goto(f"{address}docs/{document_id}")
    await expect(page.locator("#connection")).to_have_text("Live")
    total = page.get_by_label("Total", exact=True)
    async with page.expect_response("**/draft"):
        await total.fill("13.40")
    await page.goto(f"{address}tags")

    await page.go_back()

    await expect(total).to_have_value("13.40")
    await expect(page.locator("#field-gross_total .draft")).to_contain_text("Not saved yet")


async def test_rows_are_added_and_removed_and_a_place_is_read_into_a_value(
    page: Page, address: str, read: Read
) -> None:
    document_id = await read("one.png")
    await page.goto(f"{address}review/{document_id}")
    await expect(page.locator("#connection")).to_have_text("Live")
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
