"""Slow answers and other people: what is typed or pressed is not lost, and meant for nothing else."""

import asyncio
from collections.abc import Awaitable, Callable
from uuid import UUID

import pytest
from playwright.async_api import BrowserContext, Page, Route, expect
from psycopg.types.json import Jsonb

from docmill.service.app import Service
from docmill.testing.steps import PaintedPages

PATIENCE_S = 60

Read = Callable[[str], Awaitable[UUID]]

expect.set_options(timeout=PATIENCE_S * 1000)


@pytest.fixture
def renderer() -> PaintedPages:
    return PaintedPages()


@pytest.fixture
def refusals() -> tuple[str, ...]:
    return ("status of 409",)


class Gate:
    """Holds the posted forms of a page, or the answers to them, until it is opened."""

    def __init__(self, *, holds_answers: bool) -> None:
        self._holds_answers = holds_answers
        self._is_open = asyncio.Event()
        self.is_reached = asyncio.Event()

    async def __call__(self, route: Route) -> None:
        if route.request.method != "POST":
            await route.continue_()
            return
        answer = await route.fetch() if self._holds_answers else None
        self.is_reached.set()
        await self._is_open.wait()
        if answer is None:
            await route.continue_()
        else:
            await route.fulfill(response=answer)

    def open(self) -> None:
        self._is_open.set()


async def opened(page: Page, address: str, document_id: UUID) -> Page:
    await page.goto(f"{address}docs/{document_id}")
    await expect(page.locator("#connection")).to_have_text("Live")
    return page


async def test_what_is_typed_while_an_answer_is_on_its_way_stays(
    page: Page, address: str, read: Read
) -> None:
    await opened(page, address, await read("one.png"))
    gate = Gate(holds_answers=True)
    await page.route("**/reviews", gate)
    total, seller = (page.get_by_label(name, exact=True) for name in ("Total", "Seller"))

    await total.fill("13.00")
    await total.press("Enter")
    await asyncio.wait_for(gate.is_reached.wait(), PATIENCE_S)
    await seller.fill("Corner Bakers")
    await total.fill("13.50")
    gate.open()

    await expect(page.locator("#field-gross_total .said")).to_contain_text("Read as “12.90”.")
    await expect(total).to_have_value("13.50")
    await expect(total).to_be_focused()
    await expect(seller).to_have_value("Corner Bakers")

    # It is a change of what was just saved, and no conflict with it.
    await total.press("Enter")
    await expect(page.locator("#field-gross_total .said li")).to_have_count(2)
    await expect(total).to_have_value("13.50")
    await expect(page.locator("#panel [role=alert]")).to_have_count(0)


async def test_nobody_confirms_what_another_person_wrote_after_the_button_was_pressed(
    page: Page, address: str, read: Read, context: BrowserContext
) -> None:
    document_id = await read("one.png")
    await opened(page, address, document_id)
    other = await opened(await context.new_page(), address, document_id)
    others, said = other.get_by_label("Total", exact=True), page.locator("#field-gross_total .said li")
    gate = Gate(holds_answers=False)
    await page.route("**/reviews", gate)

    await page.locator("#field-issue_date .say").click()
    await asyncio.wait_for(gate.is_reached.wait(), PATIENCE_S)
    await page.locator("#field-gross_total .say").click()
    await others.fill("14.00")
    await others.press("Enter")
    await expect(other.locator("#field-gross_total .said li")).to_have_count(1)
    gate.open()

    await expect(page.locator("#announcements")).to_have_text("Changed meanwhile")
    await expect(page.locator("#field-issue_date .said li")).to_have_count(1)
    await expect(page.get_by_label("Total", exact=True)).to_have_value("14.00")
    await expect(said).to_have_count(1)
    await page.locator("#field-gross_total .say").click()
    await expect(said).to_have_count(2)


async def test_what_is_typed_meanwhile_replaces_no_value_of_another_person_unseen(
    page: Page, address: str, read: Read, context: BrowserContext
) -> None:
    document_id = await read("one.png")
    await opened(page, address, document_id)
    other = await opened(await context.new_page(), address, document_id)
    total, others = (each.get_by_label("Total", exact=True) for each in (page, other))
    gate, is_told = Gate(holds_answers=False), asyncio.Event()

    async def held(route: Route) -> None:
        if route.request.resource_type == "fetch":
            await is_told.wait()
        await route.continue_()

    # The other's value comes with the answer to this person's next button.
    await page.route("**/reviews", gate)
    await page.route(f"**/docs/{document_id}", held)
    await page.locator("#field-issue_date .say").click()
    await asyncio.wait_for(gate.is_reached.wait(), PATIENCE_S)
    await others.fill("14.00")
    await others.press("Enter")
    await expect(other.locator("#field-gross_total .said li")).to_have_count(1)
    await total.fill("15.00")
    gate.open()
    await expect(page.locator("#field-issue_date .said li")).to_have_count(1)
    await expect(total).to_have_value("15.00")
    is_told.set()
    await total.press("Enter")

    await expect(page.locator("#field-gross_total .draft")).to_contain_text("Changed meanwhile to")
    await expect(total).to_have_value("15.00")
    stored = await (await page.request.get(f"{address}api/v1/documents/{document_id}")).json()
    assert stored["data"]["gross_total"] == "14.00"


async def test_a_value_stays_with_the_field_that_was_chosen_for_it(
    page: Page, address: str, read: Read, context: BrowserContext
) -> None:
    document_id = await read("one.png")
    await opened(page, address, document_id)
    other = await opened(await context.new_page(), address, document_id)
    for each in (page, other):
        await each.get_by_text("Add a value that was not read").click()
    which, others = (each.get_by_label("Which value") for each in (page, other))
    value, others_value = (each.get_by_label("Value", exact=True) for each in (page, other))
    first, second, *_ = await which.locator("option").all_inner_texts()

    # Another person gives the first of the list: the choice stays.
    await which.select_option("tip")
    await value.fill("1.00")
    await others.select_option(label=first)
    await others_value.fill("A-1")
    await others_value.press("Enter")
    await expect(page.get_by_label(first, exact=True)).to_have_value("A-1")
    await expect(which).to_have_value("tip")
    await expect(value).to_have_value("1.00")

    await expect(others_value).to_have_value("")

    # And the chosen one itself: the value goes nowhere until a field is chosen.
    await others.select_option("tip")
    await others_value.fill("2.00")
    await others_value.press("Enter")
    await expect(page.get_by_label("Tip", exact=True)).to_have_value("2.00")
    await value.press("Enter")
    await expect(which).to_have_value("")
    assert await which.evaluate("select => select.validity.valueMissing")

    await which.select_option("tax_total")
    await value.press("Enter")
    await expect(page.get_by_label("Tax", exact=True)).to_have_value("1.00")
    await expect(value).to_have_value("")
    await expect(which.locator("option:checked")).to_have_text(second)


async def test_a_button_is_not_for_what_was_read_anew_after_it_was_pressed(
    page: Page, address: str, read: Read, service: Service
) -> None:
    document_id, tenant_id = await read("one.png"), service.default_tenant_id
    await opened(page, address, document_id)
    is_read_anew = asyncio.Event()

    async def held(route: Route) -> None:
        answer = await route.fetch(max_redirects=0)
        await is_read_anew.wait()
        await route.fulfill(response=answer)

    await page.route("**/reviews", held)
    is_told = asyncio.Event()

    async def untold(route: Route) -> None:
        await is_told.wait()
        await route.continue_()

    await page.route(f"**/docs/{document_id}", untold)  # only the answer brings what is new
    await page.locator("#field-issue_date .say").click()
    await page.get_by_role("button", name="Remove row 1").click()
    await expect_stored_review(page, address, document_id)
    await service.intake.reprocess(document_id, tenant_id=tenant_id)
    async with service.database.tenant(tenant_id) as conn:
        await conn.execute(
            """
            UPDATE ingestion
               SET status = 'completed', completed_at = clock_timestamp(), started_at = ingestion.created_at,
                   valid_structured_data = false, classification = before.classification,
                   verdict = before.verdict, evidence = '{}',
                   transcription_file_path = before.transcription_file_path,
                   structured_data = jsonb_set(before.structured_data, '{lines}', %(lines)s)
              FROM ingestion AS before
             WHERE ingestion.status = 'in-progress' AND before.status = 'completed'
            """,
            {
                "lines": Jsonb(
                    [
                        {"description": "Coffee", "net_amount": "8.40"},
                        {"description": "Bread", "net_amount": "4.50"},
                    ]
                )
            },
        )
    service.feed.announce()
    is_read_anew.set()

    await expect(page.locator("#announcements")).to_have_text("Changed meanwhile")
    await expect(page.locator("#panel tbody tr")).to_have_count(2)
    await expect(page.locator("#panel tbody tr").first).to_contain_text("Coffee")
    await expect(page.locator(".removed-row")).to_have_count(0)
    is_told.set()


async def expect_stored_review(page: Page, address: str, document_id: UUID) -> None:
    """Wait until one review of the document is stored."""
    async with asyncio.timeout(10):
        while True:
            answer = await page.request.get(f"{address}api/v1/documents/{document_id}/reviews")
            if (await answer.json())["current"]:
                return
            await asyncio.sleep(0.05)


async def test_a_value_without_a_field_keeps_the_others_from_being_confirmed(
    page: Page, address: str, read: Read
) -> None:
    await opened(page, address, await read("one.png"))
    await page.get_by_text("Add a value that was not read").click()
    which = page.get_by_label("Which value")
    await page.get_by_label("Value", exact=True).fill("1.00")
    await which.evaluate("select => (select.selectedIndex = -1)")

    await page.locator("#confirm-all button").click()

    await expect(which).to_be_focused()
    await expect(page.get_by_label("Value", exact=True)).to_have_value("1.00")


async def test_a_field_that_opens_late_takes_no_focus_from_who_types_elsewhere(
    page: Page, address: str, read: Read
) -> None:
    await opened(page, address, await read("one.png"))
    is_reached, is_open = asyncio.Event(), asyncio.Event()

    async def held(route: Route) -> None:
        is_reached.set()
        await is_open.wait()
        await route.continue_()

    await page.route("**/docs/*?*field=lines*", held)
    total, cell = page.get_by_label("Total", exact=True), page.locator("#panel td a", has_text="Bread")
    await cell.click()
    await asyncio.wait_for(is_reached.wait(), PATIENCE_S)
    await total.fill("13")
    is_open.set()

    opened_field = page.get_by_label("Description, row 1", exact=True)
    await expect(opened_field).to_be_visible()
    await page.keyboard.insert_text(".00")
    await expect(total).to_have_value("13.00")
    await expect(opened_field).to_have_value("Bread")

    await total.fill("12.90")
    await cell.click()
    await expect(opened_field).to_be_focused()


async def test_what_cannot_be_sent_stays_and_the_page_says_so(
    context: BrowserContext, address: str, read: Read
) -> None:
    page = await context.new_page()  # not the fixture: a request that fails is an error in the console
    await opened(page, address, await read("one.png"))
    total = page.get_by_label("Total", exact=True)
    await page.route("**/reviews", lambda route: route.abort())
    await total.fill("13.40")

    await total.press("Enter")

    unsent = page.locator("#field-gross_total .unsent")
    await expect(unsent).to_contain_text("Not saved: no connection to the vault")
    await expect(total).to_have_value("13.40")
    await page.unroute("**/reviews")
    await total.press("Enter")
    await expect(unsent).to_have_count(0)
    await expect(page.locator("#field-gross_total")).to_contain_text("Corrected")
