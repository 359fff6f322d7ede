"""Near duplicates through the API and on the page: named with a link, dismissed, and remembered."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from uuid import UUID

import httpx
import psycopg
import pytest

from docmill.ports import PageRenderer
from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.store import near_duplicates
from docmill.service.store.database import new_id
from docmill.web.app import create_app

Read = Callable[..., Awaitable[UUID]]


@pytest.fixture
def pair(service: Service, read: Read) -> Callable[[], Awaitable[tuple[UUID, UUID]]]:
    """Adds two receipts of which the later one seems to be the earlier one."""

    async def add_pair() -> tuple[UUID, UUID]:
        earlier, later = await read("earlier.png"), await read("later.png")
        async with service.database.tenant(service.default_tenant_id) as conn:
            await conn.execute(
                """
                INSERT INTO near_duplicate (tenant_id, document_id, other_id, why)
                VALUES (%s, %s, %s, 'almost the same text')
                """,
                [service.default_tenant_id, later, earlier],
            )
        return earlier, later

    return add_pair


Pair = Callable[[], Awaitable[tuple[UUID, UUID]]]


async def test_a_near_duplicate_is_named_in_the_api_with_its_link_and_in_the_verdict(
    client: httpx.AsyncClient, pair: Pair
) -> None:
    earlier, later = await pair()

    of_later = (await client.get(f"/api/v1/documents/{later}")).json()
    of_earlier = (await client.get(f"/api/v1/documents/{earlier}")).json()
    reviews = (await client.get(f"/api/v1/documents/{later}/reviews")).json()

    (named,) = of_later["near_duplicates"]
    assert named == {
        "document_id": str(earlier),
        "title": "Corner Bakery",
        "file_name": "earlier.png",
        "why": "almost the same text",
        "is_earlier": True,
        "is_duplicate": None,
        "link": f"/api/v1/documents/{earlier}",
    }
    assert (await client.get(named["link"])).status_code == 200
    assert [failure["check"] for failure in reviews["failures"]] == ["duplicate"]
    assert (of_later["state"], of_later["needs_human_review"]) == ("needs_review", True)
    assert [named["is_earlier"] for named in of_earlier["near_duplicates"]] == [False]
    assert of_earlier["state"] == "ready"


async def test_a_decision_through_the_api_holds_for_both(client: httpx.AsyncClient, pair: Pair) -> None:
    earlier, later = await pair()
    address = f"/api/v1/documents/{earlier}/near-duplicates/{later}"

    dismissed = await client.put(address, json={"is_duplicate": False})
    after = (await client.get(f"/api/v1/documents/{later}")).json()
    back = await client.put(address, json={"is_duplicate": None})
    again = (await client.get(f"/api/v1/documents/{later}")).json()
    unknown = await client.put(
        f"/api/v1/documents/{earlier}/near-duplicates/{new_id()}", json={"is_duplicate": False}
    )
    without = await client.put(address, json={})

    assert dismissed.json()["near_duplicates"][0]["is_duplicate"] is False
    assert (after["state"], after["near_duplicates"][0]["is_duplicate"]) == ("ready", False)
    assert back.json()["near_duplicates"][0]["is_duplicate"] is None
    assert again["state"] == "needs_review"
    assert (unknown.status_code, without.status_code) == (404, 422)


async def test_a_stranger_neither_sees_nor_decides_a_pair(
    service: Service, renderer: PageRenderer, settings: Settings, pair: Pair, database_url: str
) -> None:
    earlier, later = await pair()
    stranger = new_id()
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as owner:
        await owner.execute("INSERT INTO tenant (id, name) VALUES (%s, 'Stranger')", [stranger])
    app = create_app(replace(service, default_tenant_id=stranger), renderer, settings)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)

    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as strangers:
        decided = await strangers.put(
            f"/api/v1/documents/{later}/near-duplicates/{earlier}", json={"is_duplicate": False}
        )
        form = await strangers.post(
            f"/docs/{later}/duplicates", data={"other_id": str(earlier), "decision": "different"}
        )

    assert (decided.status_code, form.status_code) == (404, 404)
    async with service.database.tenant(service.default_tenant_id) as conn:
        (found,) = await near_duplicates.of_document(conn, later)
    assert found.is_duplicate is None


async def test_the_page_names_a_near_duplicate_and_dismisses_it(
    client: httpx.AsyncClient, pair: Pair
) -> None:
    earlier, later = await pair()

    page = (await client.get(f"/docs/{later}")).text
    of_earlier = (await client.get(f"/docs/{earlier}")).text
    cards = (await client.get("/")).text
    sent = await client.post(
        f"/docs/{later}/duplicates", data={"other_id": str(earlier), "decision": "different"}
    )
    after = (await client.get(f"/docs/{later}")).text
    await client.post(f"/docs/{later}/duplicates", data={"other_id": str(earlier), "decision": "same"})
    confirmed = (await client.get(f"/docs/{later}")).text

    assert "Perhaps a duplicate" in page
    assert f'of <a href="/docs/{earlier}">Corner Bakery (earlier.png)</a>' in page
    assert "It came first. Almost the same text." in page
    assert f'of <a href="/docs/{later}">Corner Bakery (later.png)</a>' in of_earlier
    assert "It came later." in of_earlier
    assert (
        "This seems to be the same document as “Corner Bakery (earlier.png)”: almost the same text." in cards
    )
    assert (sent.status_code, sent.headers["location"]) == (303, f"/docs/{later}")
    assert "Perhaps a duplicate" not in after
    assert "Not a duplicate of" in after
    assert "<strong>Duplicate</strong>" in confirmed


async def test_several_near_duplicates_are_one_banner_with_a_list(
    client: httpx.AsyncClient, pair: Pair, read: Read, service: Service
) -> None:
    earlier, later = await pair()
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute(
            """
            INSERT INTO near_duplicate (tenant_id, document_id, other_id, why)
            VALUES (%s, %s, %s, 'almost the same picture')
            """,
            [service.default_tenant_id, later, await read("first.png")],
        )

    page = (await client.get(f"/docs/{later}")).text
    await client.post(f"/docs/{later}/duplicates", data={"other_id": str(earlier), "decision": "same"})
    after = (await client.get(f"/docs/{later}")).text

    assert "<summary>Perhaps a duplicate of 2 documents</summary>" in page
    assert page.count("It is a duplicate</button>") == 2
    assert "<summary>Perhaps a duplicate of 1 document</summary>" in after
