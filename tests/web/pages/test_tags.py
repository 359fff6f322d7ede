"""The page of tags and the tags of a document's page: plain forms."""

from collections.abc import Awaitable, Callable
from uuid import UUID, uuid4

import httpx
import pytest
from lxml import html
from lxml.html import HtmlElement

Add = Callable[..., Awaitable[UUID]]
Finish = Callable[..., Awaitable[None]]


@pytest.fixture
async def document_id(add: Add, finish: Finish) -> UUID:
    document_id = await add("a.pdf")
    await finish(
        document_id, classification={"document_type": "invoice", "title": "Rent", "tags": ["paper", "<b>"]}
    )
    return document_id


async def page(client: httpx.AsyncClient, address: str = "/tags") -> HtmlElement:
    answer = await client.get(address)
    assert answer.status_code == 200
    return html.fromstring(answer.text)


async def ids(client: httpx.AsyncClient) -> dict[str, str]:
    return {tag["name"]: tag["id"] for tag in (await client.get("/api/v1/tags")).json()["tags"]}


def names(tree: HtmlElement) -> list[str]:
    return [name.text_content() for name in tree.cssselect(".tag-list .tag-name")]


async def test_an_empty_vault_says_where_tags_come_from(client: httpx.AsyncClient) -> None:
    assert "No tags yet" in (await page(client)).text_content()


@pytest.mark.usefixtures("document_id")
async def test_tags_are_listed_and_lead_to_their_documents(client: httpx.AsyncClient) -> None:
    tree = await page(client)

    assert names(tree) == ["<b>", "paper"]
    links = [link.get("href") for link in tree.cssselect(".tag-count")]
    assert links == ["/?tag=%3Cb%3E", "/?tag=paper"]


@pytest.mark.usefixtures("document_id")
async def test_the_forms_change_tags(client: httpx.AsyncClient) -> None:
    tags = await ids(client)
    await client.post("/tags", data={"name": "pen", "color": "red"})
    await client.post(f"/tags/{tags['paper']}", data={"name": "Stationery", "color": "blue"})
    await client.post(f"/tags/{tags['<b>']}/merge", data={"into": (await ids(client))["pen"]})
    changed = names(await page(client))
    await client.post(f"/tags/{tags['paper']}/remove")
    removed = await page(client)
    await client.post(f"/tags/{tags['paper']}/restore")

    assert changed == ["pen", "Stationery"]
    assert "Removed" in removed.text_content()
    assert names(await page(client)) == ["pen", "Stationery"]
    shown = await page(client, "/")
    assert [item.get("class") for item in shown.cssselect(".tags li")] == ["tag-blue", "tag-red"]


@pytest.mark.usefixtures("document_id")
async def test_a_refused_name_is_said_and_kept_in_the_form(client: httpx.AsyncClient) -> None:
    tags = await ids(client)

    taken = await client.post(f"/tags/{tags['paper']}", data={"name": "<B>"})
    empty = await client.post("/tags", data={"name": " "})
    nowhere = await client.post(f"/tags/{tags['paper']}/merge", data={"into": ""})

    assert [answer.status_code for answer in (taken, empty, nowhere)] == [409, 422, 422]
    (field,) = html.fromstring(taken.text).cssselect("[aria-invalid]")
    assert field.get("value") == "<B>"
    assert "needs a name" in html.fromstring(empty.text).cssselect("#refusal")[0].text_content()


async def test_a_form_of_a_tag_that_is_gone_is_not_found(client: httpx.AsyncClient) -> None:
    forms: list[tuple[str, dict[str, str]]] = [
        ("", {"name": "x"}),
        ("/remove", {}),
        ("/restore", {}),
        ("/merge", {"into": str(uuid4())}),
    ]

    answers = [await client.post(f"/tags/{uuid4()}{path}", data=data) for path, data in forms]

    assert [answer.status_code for answer in answers] == [404] * 4


async def test_tags_are_added_and_taken_off_on_the_documents_page(
    client: httpx.AsyncClient, document_id: UUID
) -> None:
    added = await client.post(f"/docs/{document_id}/tags", data={"add": "urgent, , to pay"})
    await client.post(f"/docs/{document_id}/tags", data={"remove": "paper"})

    tree = await page(client, f"/docs/{document_id}")
    assert (added.status_code, added.headers["location"]) == (303, f"/docs/{document_id}#tags")
    assert [link.text_content() for link in tree.cssselect(".tagging .tags a")] == ["<b>", "to pay", "urgent"]
    offered = [option.get("value") for option in tree.cssselect("#tag-names option")]
    assert offered == ["<b>", "paper", "to pay", "urgent"]


async def test_a_tag_that_is_too_long_is_refused_in_words(
    client: httpx.AsyncClient, document_id: UUID
) -> None:
    answer = await client.post(f"/docs/{document_id}/tags", data={"add": "x" * 41})

    assert answer.status_code == 422
    assert "at most 40 characters" in answer.text


async def test_all_documents_that_are_found_are_tagged_at_once(
    client: httpx.AsyncClient, add: Add, finish: Finish
) -> None:
    for number in range(30):
        document_id = await add(f"{number}.pdf")
        await finish(document_id, classification={"document_type": "invoice", "title": f"Crane {number % 2}"})

    added = await client.post("/tags/found", data={"name": "odd, big", "query": "q=crane+1&sort=date"})
    await client.post("/tags/found", data={"name": "big", "query": "q=crane", "action": "remove"})

    counts = {tag["name"]: tag["documents"] for tag in (await client.get("/api/v1/tags")).json()["tags"]}
    assert added.headers["location"] == "/?q=crane+1&sort=date"
    assert counts == {"odd": 15, "big": 0}


async def test_marked_documents_get_a_tag_and_lose_it(
    client: httpx.AsyncClient, add: Add, finish: Finish
) -> None:
    ids = [await add(f"{number}.pdf") for number in range(3)]
    for document_id in ids:
        await finish(document_id, classification={"document_type": "invoice", "title": "Crane"})
    marked = {"id": [str(document_id) for document_id in ids[:2]], "next": "/?sort=date"}

    added = await client.post("/tags/marked", data={**marked, "name": "odd"})
    await client.post("/tags/marked", data={**marked, "id": str(ids[0]), "name": "odd", "action": "remove"})
    nothing = await client.post("/tags/marked", data={"name": "odd"})
    abroad = await client.post("/tags/marked", data={**marked, "name": " ", "next": "//evil.example"})

    (tag,) = (await client.get("/api/v1/tags")).json()["tags"]
    assert (tag["name"], tag["documents"]) == ("odd", 1)
    assert [each.headers["location"] for each in (added, nothing, abroad)] == ["/?sort=date", "/", "/"]


async def test_a_document_in_the_bin_is_counted_for_no_tag(
    client: httpx.AsyncClient, add: Add, finish: Finish
) -> None:
    document_id = await add("crane.pdf")
    await finish(document_id, classification={"document_type": "invoice", "title": "Crane"})
    await client.post(f"/docs/{document_id}/tags", data={"add": "odd"})

    await client.post(f"/docs/{document_id}/delete")
    (deleted,) = (await client.get("/api/v1/tags")).json()["tags"]
    await client.post("/restore", data={"id": str(document_id)})
    (restored,) = (await client.get("/api/v1/tags")).json()["tags"]

    assert (deleted["documents"], restored["documents"]) == (0, 1)
