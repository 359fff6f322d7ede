"""What is paused until somebody mends it, on pages and in the API."""

from collections.abc import Awaitable, Callable
from uuid import UUID

import httpx
import pytest

from docmill.service.app import Service
from docmill.service.protocol.pause import Cause
from docmill.service.store import pauses
from docmill.web.view.words import paused_name

Add = Callable[..., Awaitable[UUID]]
MESSAGE = "the provider of <tiny> refuses the key; set this model's api_key in the settings"
SHOWN = "The provider of &lt;tiny&gt; refuses the key; set this model&#39;s api_key in the settings."


async def pause(service: Service, *causes: Cause) -> None:
    async with service.database.connection() as conn:
        await pauses.record(conn, "worker", causes)


@pytest.fixture
async def paused(service: Service) -> None:
    await pause(service, Cause("small model", "extract", "unauthorized", MESSAGE))


@pytest.mark.usefixtures("paused")
async def test_every_page_says_what_somebody_must_mend(client: httpx.AsyncClient, add: Add) -> None:
    document_id = await add("a.pdf")

    for address in ("/", f"/docs/{document_id}", "/pauses"):
        page = (await client.get(address)).text
        assert "The small language model: a repair is needed." in page
        assert SHOWN in page


async def test_while_nothing_is_paused_pages_have_only_a_place_for_it(client: httpx.AsyncClient) -> None:
    for address in ("/", "/pauses", "/docs/nothing"):
        page = (await client.get(address)).text
        assert '<div id="pauses" role="status">' in page
        assert "a repair is needed" not in page


@pytest.mark.usefixtures("paused")
async def test_the_api_tells_what_is_paused(client: httpx.AsyncClient, service: Service) -> None:
    (told,) = (await client.get("/api/v1/pauses")).json()["pauses"]
    await pause(service)
    afterwards = (await client.get("/api/v1/pauses")).json()

    assert told.pop("since")
    assert told == {"part": "small model", "step": "extract", "code": "unauthorized", "message": MESSAGE}
    assert afterwards == {"pauses": []}


@pytest.mark.parametrize(
    ("part", "name"),
    [
        ("tesseract", "Reading by Tesseract"),
        ("file store, reading", "Reading from the file store"),
        ("extract", "Finding the values"),
        ("something else", "something else"),
    ],
)
def test_parts_have_names_that_people_know(part: str, name: str) -> None:
    assert paused_name(part) == name
