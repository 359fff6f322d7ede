"""The vault of a person who has signed in, with scripts."""

from collections.abc import Awaitable, Callable
from uuid import UUID

import pytest
from playwright.async_api import Page, expect

from docmill.service.app import Service
from docmill.service.people.accounts import NewPerson
from docmill.testing.steps import PaintedPages
from support.people import PASSWORD


@pytest.fixture
def renderer() -> PaintedPages:
    return PaintedPages()


async def test_the_first_account_is_made_and_works_with_scripts(
    page: Page,
    address: str,
    service: Service,
    add: Callable[[str], Awaitable[UUID]],
    fail: Callable[[UUID], Awaitable[None]],
) -> None:
    failed = await add("broken.txt")
    await fail(failed)
    await page.goto(address)
    await page.get_by_role("link", name="Make the first account").click()
    await page.get_by_label("Name of the organisation").fill("Acme Ltd")
    await page.get_by_label("Your name").fill("Anna")
    await page.get_by_label("E-mail address").fill("anna@example.org")
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Make the account").click()

    await page.get_by_label("Upload", exact=True).set_input_files(
        {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"notes"}
    )
    await expect(page.locator("#uploads")).to_contain_text("Added")
    card = page.locator(f"#doc-{failed}")
    await card.get_by_role("button", name="Retry").click()
    await expect(card).to_contain_text("Processing")

    await page.get_by_label("Account of Anna").click()
    await page.get_by_role("button", name="Sign out").click()
    await expect(page).to_have_url(f"{address}login")
    user = await service.accounts.by_email("anna@example.org")
    assert user is not None


async def test_the_pages_of_an_owner_fit_a_narrow_window(page: Page, address: str, service: Service) -> None:
    await service.accounts.create_first(NewPerson("anna@example.org", "Anna", PASSWORD), "Acme")
    await page.set_viewport_size({"width": 320, "height": 640})
    await page.goto(f"{address}people")
    await page.get_by_label("E-mail address").fill("anna@example.org")
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.get_by_role("button", name="Sign in").click()

    for path in ("people", "keys", "profile", "audit-log", ""):
        await page.goto(f"{address}{path}")
        assert await page.evaluate("document.documentElement.scrollWidth") <= 320, path
