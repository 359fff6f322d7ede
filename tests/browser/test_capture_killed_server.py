"""Photographed pages arrive and are read, though the web server is killed in the middle of their upload."""

import asyncio
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Page, Route, expect

from support.docmill_processes import Machine
from support.photographs import page_picture

PATIENCE_MS = 60_000
READING_S = 150


@pytest.fixture
def refusals() -> tuple[str, ...]:
    """The console tells of requests without an answer."""
    return ("net::ERR_",)


async def test_two_pages_whose_server_was_killed_become_one_document_that_is_read(
    page: Page, machine: Machine
) -> None:
    web = await asyncio.to_thread(machine.start("web", "--port", "0").until_ready)
    address, offsets = web.address, list[str]()

    async def kill_at_the_second(route: Route) -> None:
        if route.request.method == "PATCH":
            offsets.append(route.request.headers["upload-offset"])
            if len(offsets) == 2:
                web.process.kill()
                await asyncio.to_thread(web.exit_code)
        await route.continue_()

    await page.route("**/api/v1/uploads/*", kill_at_the_second)
    await page.goto(f"{address}capture")
    await page.locator("#camera-app").set_input_files(
        [
            {
                "name": f"{number}.jpg",
                "mimeType": "image/jpeg",
                "buffer": page_picture(number, size=(3000, 4000)),
            }
            for number in (7, 8)
        ]
    )
    await page.get_by_role("button", name="Send 2 pages").click()
    await expect(page.locator("#waiting li")).to_contain_text("It is tried again by itself.")

    port = str(urlsplit(address).port)
    again = await asyncio.to_thread(machine.start("web", "--port", port).until_ready)
    await expect(page.locator("#waiting li")).to_contain_text("Sent", timeout=PATIENCE_MS)
    assert offsets[2] == offsets[1] != "0", "it goes on where it was"

    await asyncio.to_thread(machine.start("worker").until_ready)
    (document,) = again.get("api/v1/documents").json()["documents"]
    async with asyncio.timeout(READING_S):
        while document["state"] == "processing":
            await asyncio.sleep(0.5)
            answer = await asyncio.to_thread(again.get, f"api/v1/documents/{document['id']}")
            document = answer.json()
    readings = again.get(f"api/v1/documents/{document['id']}/pages").json()["pages"]
    assert len(readings) == 2
    for number in ("R-7", "R-8"):
        found = again.get(f"api/v1/documents?q={number}").json()["documents"]
        assert [each["id"] for each in found] == [document["id"]]
