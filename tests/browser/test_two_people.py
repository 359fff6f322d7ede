"""Two people on one document: who holds it, who takes it over, and what one typed while the other saved."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from playwright.async_api import BrowserContext, Page, async_playwright, expect

from docmill.service.app import Service
from docmill.service.people.accounts import NewPerson
from docmill.testing.steps import PaintedPages
from support.people import PASSWORD

ANNA, BOB = "anna@example.org", "bob@example.org"


@pytest.fixture
def renderer() -> PaintedPages:
    return PaintedPages()


@pytest.fixture
async def other_context(launch_options: dict[str, Any], tmp_path: Path) -> AsyncIterator[BrowserContext]:
    """The browser of another person."""
    async with async_playwright() as playwright:
        folder = tmp_path / "other-browser"
        context = await playwright.chromium.launch_persistent_context(folder, **launch_options)
        context.set_default_timeout(15_000)
        yield context
        await context.close()


@pytest.fixture
async def people(service: Service) -> None:
    """Anna owns the vault, and Bob reviews in it."""
    await service.accounts.create_first(NewPerson(ANNA, "Anna", PASSWORD), "Acme")
    _, link = await service.accounts.add(BOB, "Bob", "reviewer", tenant_id=service.default_tenant_id)
    assert link is not None
    await service.accounts.set_password(link, PASSWORD)


async def signed_in(context: BrowserContext, address: str, email: str, path: str) -> Page:
    """A page of the vault, as this person sees it."""
    page = await context.new_page()
    await page.goto(f"{address}{path}")
    await page.get_by_label("E-mail address").fill(email)
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.get_by_role("button", name="Sign in").click()
    await page.wait_for_url(f"**/{path}")
    return page


@pytest.mark.usefixtures("people")
async def test_a_document_is_one_persons_until_it_is_taken_over_or_left(
    context: BrowserContext,
    other_context: BrowserContext,
    address: str,
    read: Callable[[str], Awaitable[UUID]],
    database_url: str,
) -> None:
    document_id = await read("one.png")
    path = f"review/{document_id}"
    anna = await signed_in(context, address, ANNA, path)
    bob = await signed_in(other_context, address, BOB, path)
    locked = bob.locator("#locked")

    # Who comes second is told, and what they save is refused.
    await expect(locked).to_contain_text("reviews this document now")
    await expect(anna.locator("#locked")).to_have_count(0)
    await bob.get_by_label("Total", exact=True).fill("13.00")
    await bob.get_by_label("Total", exact=True).press("Enter")
    await expect(bob.locator("#panel [role=alert], #locked").first).to_be_visible()
    await expect(bob.get_by_label("Total", exact=True)).to_have_value("13.00")
    await anna.reload()
    await expect(anna.get_by_label("Total", exact=True)).to_have_value("12.90")

    # Taken over, it is Bob's, and Anna is told.
    await bob.get_by_role("button", name="Take it over").click()
    await expect(locked).to_have_count(0)
    await anna.reload()
    await expect(anna.locator("#locked")).to_be_visible()

    # Two minutes without a sign of Bob, and it is free.
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as owner:
        await owner.execute("UPDATE review_lock SET seen_at = seen_at - interval '3 minutes'")
    await anna.reload()
    await expect(anna.locator("#locked")).to_have_count(0)


@pytest.mark.usefixtures("people")
async def test_what_one_typed_while_the_other_saved_is_theirs_to_keep_or_drop(
    context: BrowserContext,
    other_context: BrowserContext,
    address: str,
    read: Callable[[str], Awaitable[UUID]],
) -> None:
    path = f"docs/{await read('one.png')}"
    anna = await signed_in(context, address, ANNA, path)
    bob = await signed_in(other_context, address, BOB, path)
    for page in (anna, bob):
        await expect(page.locator("#connection")).to_have_text("Live")
    annas, bobs = (page.get_by_label("Total", exact=True) for page in (anna, bob))

    async with anna.expect_response("**/draft"):
        await annas.fill("15.00")
    await bobs.fill("14.00")
    await bobs.press("Enter")
    await expect(bob.locator("#field-gross_total .said")).to_contain_text("Read as “12.90”.")

    # Anna is told without a reload, and her text stays until she has chosen.
    conflict = anna.locator("#field-gross_total")
    await expect(conflict).to_contain_text("14.00")
    await expect(annas).to_have_value("15.00")
    await expect(conflict).to_contain_text("Changed meanwhile")
    await conflict.get_by_role("button", name="Keep mine").click()
    await expect(bobs).to_have_value("15.00")


@pytest.mark.usefixtures("people")
async def test_what_was_just_typed_stays_when_the_next_answer_brings_the_value_of_the_other(
    context: BrowserContext,
    other_context: BrowserContext,
    address: str,
    read: Callable[[str], Awaitable[UUID]],
) -> None:
    path = f"docs/{await read('one.png')}"
    anna = await signed_in(context, address, ANNA, path)
    bob = await signed_in(other_context, address, BOB, path)
    for page in (anna, bob):
        await expect(page.locator("#connection")).to_have_text("Live")
    annas, bobs = (page.get_by_label("Total", exact=True) for page in (anna, bob))
    await anna.route(f"**/{path}", lambda route: route.abort())  # she is not told by herself

    await bobs.fill("14.00")
    await bobs.press("Enter")
    await expect(bob.locator("#field-gross_total .said li")).to_have_count(1)
    await annas.evaluate(
        """
        (total) => {
          total.value = "15.00";
          total.dispatchEvent(new Event("input", { bubbles: true }));
          document.querySelector("#field-issue_date .say").click();
        }
        """
    )

    await expect(anna.locator("#field-issue_date .said li")).to_have_count(1)
    await expect(anna.locator("#field-gross_total .draft")).to_contain_text("Changed meanwhile to 14.00")
    await expect(annas).to_have_value("15.00")
