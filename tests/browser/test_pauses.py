"""What is paused until somebody mends it, in a real browser."""

from collections.abc import Awaitable, Callable
from uuid import UUID

import pytest
from playwright.async_api import Page, expect

from docmill.service.app import Service
from docmill.service.protocol.pause import Cause
from docmill.service.store import pauses
from docmill.testing.steps import PaintedPages

CAUSE = Cause("small model", "extract", "unauthorized", "the key is refused; set another")


@pytest.fixture
def renderer() -> PaintedPages:
    return PaintedPages()


async def pause(service: Service, *causes: Cause) -> None:
    async with service.database.connection() as conn:
        await pauses.record(conn, "worker", causes)
    service.feed.announce()


@pytest.mark.parametrize("place", ["", "docs/{id}"])
async def test_a_pause_is_shown_when_it_begins_and_gone_when_it_is_mended(
    page: Page, address: str, service: Service, add: Callable[[str], Awaitable[UUID]], place: str
) -> None:
    document_id = await add("a.pdf")
    await page.goto(address.rstrip("/") + "/" + place.format(id=document_id))
    await expect(page.locator("#connection")).to_have_text("Live")
    notice = page.locator("#pauses .pause")
    await expect(notice).to_have_count(0)

    await pause(service, CAUSE)
    await expect(notice).to_contain_text("The small language model: a repair is needed. The key is refused")
    await expect(notice).to_be_in_viewport()

    await pause(service)
    await expect(notice).to_have_count(0)
