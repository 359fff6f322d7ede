"""Tags through the API: list, create, change, merge, remove, assign."""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

Add = Callable[..., Awaitable[UUID]]
Finish = Callable[..., Awaitable[None]]


async def tagged(add: Add, finish: Finish, name: str, *tags: str) -> UUID:
    document_id = await add(name)
    await finish(document_id, classification={"document_type": "invoice", "title": name, "tags": list(tags)})
    return document_id


async def listed(client: httpx.AsyncClient) -> dict[str, dict[str, Any]]:
    answer = await client.get("/api/v1/tags")
    return {tag["name"]: tag for tag in answer.json()["tags"]}


async def test_tags_are_listed_with_the_number_of_their_documents(
    client: httpx.AsyncClient, add: Add, finish: Finish
) -> None:
    await tagged(add, finish, "a.pdf", "rent", "2026")
    await tagged(add, finish, "b.pdf", "Rent")
    await client.post("/api/v1/tags", json={"name": " urgent ", "color": "red"})

    tags = await listed(client)

    assert {name: (tag["documents"], tag["color"]) for name, tag in tags.items()} == {
        "2026": (1, None),
        "rent": (2, None),
        "urgent": (0, "red"),
    }


async def test_a_document_is_tagged_by_hand(client: httpx.AsyncClient, add: Add, finish: Finish) -> None:
    document_id = await tagged(add, finish, "a.pdf", "rent", "2026")

    answer = await client.post(
        f"/api/v1/documents/{document_id}/tags", json={"add": ["urgent", "Urgents"], "remove": ["rent"]}
    )

    assert [(tag["name"], tag["origin"]) for tag in answer.json()["tags"]] == [
        ("2026", "machine"),
        ("urgent", "person"),
    ]
    assert (await client.get(f"/api/v1/documents/{document_id}")).json()["tags"] == ["2026", "urgent"]
    assert (await client.get(f"/api/v1/documents/{document_id}/tags")).json() == answer.json()


async def test_many_documents_are_tagged_at_once(client: httpx.AsyncClient, add: Add, finish: Finish) -> None:
    ids = [str(await tagged(add, finish, f"{number}.pdf", "rent")) for number in range(3)]

    answer = await client.post(
        "/api/v1/tags/assign", json={"documents": [*ids, str(uuid4())], "add": ["old"], "remove": ["rent"]}
    )
    again = await client.post("/api/v1/tags/assign", json={"documents": ids, "add": ["old"]})

    assert (answer.json(), again.json()) == ({"changed": 3}, {"changed": 0})
    shown = (await client.get("/api/v1/documents")).json()["documents"]
    assert [document["tags"] for document in shown] == [["old"]] * 3


async def test_a_tag_is_renamed_coloured_merged_removed_and_restored(
    client: httpx.AsyncClient, add: Add, finish: Finish
) -> None:
    document_id = await tagged(add, finish, "a.pdf", "paper", "pen")
    tags = await listed(client)
    paper, pen = (f"/api/v1/tags/{tags[name]['id']}" for name in ("paper", "pen"))

    renamed = await client.patch(paper, json={"name": "Stationery", "color": "teal"})
    taken = await client.patch(paper, json={"name": "PEN"})
    merged = await client.post(f"{paper}/merge", json={"into": tags["pen"]["id"]})
    gone = await client.get(paper)
    deleted = await client.delete(pen)
    without = (await client.get(f"/api/v1/documents/{document_id}")).json()["tags"]
    restored = await client.post(f"{pen}/restore")

    assert (renamed.json()["name"], renamed.json()["color"]) == ("Stationery", "teal")
    assert (taken.status_code, taken.json()["code"]) == (409, "changed")
    assert (merged.json()["name"], merged.json()["documents"]) == ("pen", 1)
    assert gone.status_code == 405
    assert (deleted.status_code, without) == (204, [])
    assert restored.json()["removed_at"] is None
    assert (await client.get(f"/api/v1/documents/{document_id}")).json()["tags"] == ["pen"]


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("", {"name": "   "}),
        ("", {"name": "x" * 41}),
        ("", {"name": "\u200b\x00"}),
        ("", {"name": "x", "color": "mauve"}),
        ("/assign", {"documents": []}),
        ("/assign", {"documents": ["no id"]}),
    ],
)
async def test_what_is_no_tag_is_refused(client: httpx.AsyncClient, path: str, content: object) -> None:
    answer = await client.post(f"/api/v1/tags{path}", json=content)

    assert (answer.status_code, answer.json()["code"]) == (422, "validation")
    assert await listed(client) == {}


async def test_a_tag_is_not_added_and_taken_off_at_once(
    client: httpx.AsyncClient, add: Add, finish: Finish
) -> None:
    document_id = await tagged(add, finish, "a.pdf", "rent")

    answer = await client.post(
        f"/api/v1/documents/{document_id}/tags", json={"add": ["Rents"], "remove": ["rent"]}
    )

    assert answer.status_code == 422


async def test_what_is_not_there_is_not_found(client: httpx.AsyncClient, add: Add, finish: Finish) -> None:
    await tagged(add, finish, "a.pdf", "rent")
    rent, nothing = (await listed(client))["rent"]["id"], str(uuid4())

    answers = [
        await client.patch(f"/api/v1/tags/{nothing}", json={"name": "x"}),
        await client.patch(f"/api/v1/tags/{nothing}", json={"color": None}),
        await client.delete(f"/api/v1/tags/{nothing}"),
        await client.post(f"/api/v1/tags/{nothing}/restore"),
        await client.post(f"/api/v1/tags/{nothing}/merge", json={"into": rent}),
        await client.post(f"/api/v1/tags/{rent}/merge", json={"into": nothing}),
        await client.post(f"/api/v1/documents/{nothing}/tags", json={"add": ["x"]}),
        await client.get(f"/api/v1/documents/{nothing}/tags"),
    ]

    assert [answer.status_code for answer in answers] == [404] * 8


async def test_the_name_of_a_tag_is_searched_even_after_it_was_renamed(
    client: httpx.AsyncClient, add: Add, finish: Finish
) -> None:
    document_id = await tagged(add, finish, "a.pdf", "paper")
    await tagged(add, finish, "b.pdf", "pen")
    tag_id = (await listed(client))["paper"]["id"]
    await client.patch(f"/api/v1/tags/{tag_id}", json={"name": "Office supplies"})

    found = {
        query: [
            document["id"]
            for document in (await client.get("/api/v1/documents", params={"q": query})).json()["documents"]
        ]
        for query in ("supplies", "offic pdf", '"office supplies"', "paper", '"supplies office"')
    }

    own = [str(document_id)]
    assert found == {"supplies": own, "offic pdf": own, '"office supplies"': own, "paper": [],
                     '"supplies office"': []}  # fmt: skip
