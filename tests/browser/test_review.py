"""A receipt that is read, checked and corrected by a person, with the keyboard."""

import asyncio
import re
from collections.abc import AsyncIterator

import psycopg
import pytest
from playwright.async_api import FilePayload, Page, Route, expect

from docmill.cli.vault.serving import running_vault
from docmill.service.config.settings import Settings
from docmill.service.config.web import Web

READING_MS = 120_000
REFUSED = 422


@pytest.fixture
async def vault(settings: Settings) -> AsyncIterator[str]:
    """The address of a vault with a worker."""
    async with running_vault(settings.model_copy(update={"web": Web(port=0)})) as running:
        yield running.address


@pytest.fixture
def refusals() -> tuple[str, ...]:
    return ("status of 422",)


async def _open_uploaded(vault: str, page: Page, receipt: bytes) -> None:
    """Add a receipt and open its page."""
    till: FilePayload = {"name": "till.png", "mimeType": "image/png", "buffer": receipt}
    uploaded = await page.request.post(f"{vault}api/v1/documents", multipart={"file": till})
    document_id = (await uploaded.json())["results"][0]["document_id"]
    await page.goto(f"{vault}docs/{document_id}")


async def _give_reason(page: Page) -> None:
    """Confirm unseen what is still open, if anything is."""
    question = page.locator("#open-question")
    await expect(question.or_(page.locator(".to-check", has_text="checked by a person"))).to_be_visible()
    if await question.count():
        await page.get_by_label("Reason").fill("Seen on paper")
        await page.keyboard.press("Enter")


async def test_values_are_corrected_confirmed_and_taken_back_with_the_keyboard(
    vault: str, page: Page, receipt: bytes
) -> None:
    await _open_uploaded(vault, page, receipt)
    await expect(page.locator("#connection")).to_have_text("Live")
    date = page.get_by_label("Date", exact=True)
    await expect(date).to_have_value("2026-11-03", timeout=READING_MS)
    field = page.locator("#field-issue_date")

    # Enter says that a value is right as it is.
    await date.press("Enter")
    await expect(field).to_have_class(re.compile("confirmed"))
    await expect(field.locator(".mark")).to_contain_text("Confirmed")

    # What cannot be taken stays, with the reason; what can is kept.
    total = page.get_by_label("Total", exact=True)
    await total.fill("much")
    await total.press("Enter")
    await expect(page.locator("#field-gross_total .field-problem")).to_contain_text("not an amount")
    await expect(total).to_be_focused()
    await expect(total).to_have_value("much")

    # Nothing is confirmed over it, with the keyboard or the button.
    async with page.expect_response(lambda response: response.status == REFUSED):
        await page.keyboard.press("Control+Enter")
    await expect(total).to_have_value("much")
    async with page.expect_response(lambda response: response.status == REFUSED):
        await page.get_by_role("button", name="Confirm all").click()
    await expect(page.locator("#field-gross_total .field-problem")).to_contain_text("not an amount")
    await expect(total).to_be_focused()
    await expect(page.locator("#field-currency")).not_to_have_class(re.compile("confirmed"))
    seller = page.get_by_label("Seller", exact=True)
    await seller.fill("Half typ")  # not sent: it must outlive what happens to the others
    await total.fill("13,00")
    await total.press("Enter")
    await expect(page.locator("#field-gross_total .said")).to_contain_text("Read as “12.90”.")
    await expect(total).to_have_value("13.00")
    await expect(seller).to_have_value("Half typ")

    # The whole at once, with what is typed, and back.
    await page.keyboard.press("Control+Enter")
    await _give_reason(page)
    await expect(page.locator(".to-check")).to_contain_text("Every value was checked by a person")
    await expect(page.locator(".title-row .pill")).to_have_text("Ready")
    await expect(page.locator("#field-seller-name .said")).to_contain_text("Read as “CORNER BAKERY”.")
    await expect(seller).to_have_value("Half typ")
    await page.get_by_role("button", name="Undo last").click()
    await expect(page.locator("#confirm-all")).to_be_visible()
    await page.get_by_role("button", name="Undo Total").click()
    await expect(total).to_have_value("12.90")

    # What was not read gets a field of its own.
    await page.get_by_text("Add a value that was not read").click()
    await page.get_by_label("Which value").select_option("Order number")
    await page.get_by_label("Value", exact=True).fill("PO-7")
    await page.get_by_label("Value", exact=True).press("Enter")
    await expect(page.get_by_label("Order number", exact=True)).to_have_value("PO-7")


async def test_an_undo_that_is_pressed_while_reviews_are_on_their_way_is_done_after_them(
    vault: str, page: Page, receipt: bytes
) -> None:
    await _open_uploaded(vault, page, receipt)
    await expect(page.get_by_label("Date", exact=True)).to_have_value("2026-11-03", timeout=READING_MS)
    undo_is_pressed = asyncio.Event()

    async def answer_late(route: Route) -> None:
        answer = await route.fetch()
        if answer.ok:  # else values are open, and a reason is asked for
            await undo_is_pressed.wait()
        await route.fulfill(response=answer)

    await page.route("**/reviews/confirm", answer_late)
    await page.get_by_role("button", name="Confirm all").click()
    await _give_reason(page)
    # The stream of changes tells of the reviews before their answer is there.
    await expect(page.locator(".to-check")).to_contain_text("Every value was checked by a person")
    await page.get_by_role("button", name="Undo last").click()
    undo_is_pressed.set()
    await expect(page.locator("#confirm-all")).to_be_visible()
    await expect(page.locator("#field-issue_date")).not_to_have_class(re.compile("confirmed"))


async def test_the_type_is_changed_with_the_keyboard_and_the_page_follows(
    vault: str, page: Page, receipt: bytes
) -> None:
    await _open_uploaded(vault, page, receipt)
    await expect(page.locator("#connection")).to_have_text("Live")
    type_ = page.get_by_label("Type", exact=True)
    await expect(type_).to_have_value("receipt", timeout=READING_MS)

    await page.locator("h1").click()
    await page.keyboard.press("t")
    await expect(type_).to_be_focused()
    await page.keyboard.type("Inv")
    await expect(type_).to_have_value("invoice")
    await page.keyboard.press("Enter")

    await expect(page.locator("#type-note")).to_have_text("Chosen by a person")
    await expect(page.locator("h1")).to_contain_text("Invoice", timeout=READING_MS)
    await expect(page).to_have_title(re.compile("Invoice.* · docmill"))
    await expect(type_).to_have_value("invoice")
    await page.get_by_role("button", name="Undo the choice of the type").click()
    await expect(page.locator("h1")).to_contain_text("Receipt", timeout=READING_MS)
    await expect(page.locator("#type-note")).to_have_count(0)
    await expect(type_).to_have_value("receipt")


async def _withhold_number(database_url: str) -> None:
    """Make the number of the only document one that is not believed, with two suggestions."""
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as owner:
        await owner.execute(
            """
            UPDATE ingestion
               SET suggestions = jsonb_build_object('number', jsonb_build_array(
                       jsonb_build_object('value', '4711', 'evidence', evidence -> 'number'),
                       jsonb_build_object('value', '4717', 'evidence',
                                          (evidence -> 'number') || '{"confidence": 0.12}')
                   )),
                   structured_data = structured_data || '{"number": null}',
                   classification = classification || '{
                       "title": "Receipt, CORNER BAKERY",
                       "summary": "Receipt from CORNER BAKERY of 2026-11-03 for 12.90 EUR."
                   }',
                   evidence = evidence - 'number'
            """
        )
        await owner.execute("UPDATE document SET structured_data = structured_data || '{\"number\": null}'")


async def test_a_suggestion_is_shown_on_the_page_and_accepted_with_one_key(
    vault: str, page: Page, receipt: bytes, database_url: str
) -> None:
    await _open_uploaded(vault, page, receipt)
    number = page.get_by_label("Number", exact=True)
    await expect(number).to_have_value("4711", timeout=READING_MS)
    await _withhold_number(database_url)
    await page.reload()
    chips = page.locator("#field-number .chip")
    await expect(chips).to_have_count(2)
    await expect(number).to_have_value("")

    # Right after opening, a key leads to the first suggestion and accepts nothing unseen.
    await page.keyboard.press("1")
    await expect(chips.first).to_be_focused()
    await expect(number).to_have_value("")

    # The arrows lead to the suggestions, each of which shows its place.
    await number.focus()
    await expect(page.locator(".suggested[data-shown]")).to_have_count(0)
    await page.keyboard.press("ArrowDown")
    await expect(chips.first).to_be_focused()
    await expect(page.locator('.suggested[data-suggestion="number:0"]')).to_be_visible()
    await page.keyboard.press("ArrowRight")
    await expect(page.locator('.suggested[data-suggestion="number:1"]')).to_be_visible()
    await page.keyboard.press("ArrowUp")
    await expect(number).to_be_focused()
    await page.keyboard.type("1")  # what is typed is no shortcut
    await expect(number).to_have_value("1")
    await number.fill("")

    # One key accepts one, and it can be undone as any review.
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("2")
    await expect(number).to_have_value("4717")
    await expect(page.locator("h1")).to_contain_text("4717")
    await expect(chips).to_have_count(0)
    await page.get_by_role("button", name="Undo Number").click()
    await expect(chips).to_have_count(2)
    await chips.first.hover()
    await expect(page.locator('.suggested[data-suggestion="number:0"]')).to_be_visible()
    await chips.first.click()
    await expect(number).to_have_value("4711")

    # A suggestion that is pressed before the answer to an undo is there waits for it.
    is_pressed = asyncio.Event()

    async def answer_late(route: Route) -> None:
        answer = await route.fetch()
        await is_pressed.wait()
        await route.fulfill(response=answer)

    await page.route("**/reviews", answer_late)
    await page.get_by_role("button", name="Undo Number").click()
    await expect(chips).to_have_count(2)  # the stream of changes tells before
    await expect(number).to_have_value(
        ""
    )  # what is pressed before the row is drawn was not seen, and is refused
    await chips.nth(1).click()
    is_pressed.set()
    await expect(number).to_have_value("4717")


async def test_what_changes_elsewhere_takes_no_refusal_and_no_drawing_off_the_page(
    vault: str, page: Page, receipt: bytes
) -> None:
    await _open_uploaded(vault, page, receipt)
    await expect(page.locator("#connection")).to_have_text("Live")
    total = page.get_by_label("Total", exact=True)
    await expect(total).to_have_value("12.90", timeout=READING_MS)
    refusal, sheet = page.locator("#field-gross_total .field-problem"), page.locator("#sheet")

    await page.get_by_role("button", name="Read a place").click()
    await total.fill("much")
    await total.press("Enter")
    await expect(refusal).to_contain_text("not an amount")
    document_id = page.url.rpartition("/")[2]
    await page.request.post(f"{vault}api/v1/documents/{document_id}/tags", data={"add": ["first"]})
    await expect(page.locator("#tags")).to_contain_text("first")

    await expect(refusal).to_contain_text("not an amount")
    await expect(total).to_have_value("much")
    await expect(sheet).to_have_attribute("data-drawing", "")
    await expect(page.get_by_role("button", name="Read a place")).to_have_attribute("aria-pressed", "true")

    await total.fill("13.00")
    await total.press("Enter")
    await expect(page.locator("#field-gross_total .said")).to_contain_text("Read as “12.90”.")
    await expect(page.locator("#field-gross_total [role=alert]")).to_have_count(0)
