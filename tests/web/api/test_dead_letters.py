"""Dead letters over the API."""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import httpx
import pytest

from docmill.errors import CorruptError, EncryptedError
from docmill.service.app import Service
from docmill.service.store import claims
from docmill.service.store.database import new_id

Add = Callable[..., Awaitable[UUID]]
Fail = Callable[..., Awaitable[UUID]]
ADDRESS = "/api/v1/dead-letters"


@pytest.fixture
def fail(service: Service, add: Add) -> Fail:
    """Adds a document whose processing fails."""

    async def fail_document(name: str, error: CorruptError | EncryptedError) -> UUID:
        document_id = await add(name)
        error.step = "transcribe"
        async with service.database.tenant(service.default_tenant_id) as conn:
            cur = await conn.execute(
                "SELECT id FROM ingestion WHERE document_id = %s AND status = 'in-progress'", [document_id]
            )
            (ingestion_id,) = await cur.fetchone() or (None,)
            (claim,) = await claims.take(
                conn, [ingestion_id or new_id()], worker_id="w", lease_s=300, max_attempts=3
            )
            assert await claims.fail(conn, claim, error)
        return document_id

    return fail_document


@pytest.fixture
async def letters(client: httpx.AsyncClient, fail: Fail) -> list[dict[str, Any]]:
    await fail("a.pdf", CorruptError("it ends too early"))
    await fail("b.pdf", EncryptedError("it has a password"))
    await fail("c.pdf", CorruptError("it ends too early"))
    return (await client.get(ADDRESS)).json()["dead_letters"]


async def test_letters_tell_what_failed_and_why(
    client: httpx.AsyncClient, fail: Fail, letters: list[dict[str, Any]]
) -> None:
    document_id = await fail("last.pdf", EncryptedError("it has a password"))

    answer = (await client.get(ADDRESS)).json()

    last = answer["dead_letters"][0]
    assert last.pop("died_at")
    assert UUID(last.pop("id"))
    assert UUID(last.pop("ingestion_id"))
    assert last == {
        "queue": "ingestion",
        "document_id": str(document_id),
        "file_name": "last.pdf",
        "error": {"code": "encrypted", "message": "it has a password"},
        "step": "transcribe",
        "attempts": 1,
    }
    assert answer["dead_letters"][1:] == letters
    assert answer["next"] is None


async def test_the_list_is_filtered_and_paged(
    client: httpx.AsyncClient, letters: list[dict[str, Any]]
) -> None:
    first = (await client.get(f"{ADDRESS}?code=corrupt&step=transcribe&limit=1")).json()
    second = (await client.get(first["next"])).json()
    none = (await client.get(f"{ADDRESS}?step=extract")).json()

    assert first["dead_letters"] + second["dead_letters"] == [letters[0], letters[2]]
    assert second["next"] is None
    assert none["dead_letters"] == []


async def test_letters_are_redriven_by_id_by_code_and_all(
    client: httpx.AsyncClient, service: Service, letters: list[dict[str, Any]]
) -> None:
    one = await client.post(f"{ADDRESS}/redrive", json={"ids": [letters[0]["id"], str(new_id())]})
    same = await client.post(f"{ADDRESS}/redrive", json={"ids": [letters[0]["id"]]})
    locked = await client.post(f"{ADDRESS}/redrive", json={"code": "encrypted"})
    rest = await client.post(f"{ADDRESS}/redrive", json={"all": True})

    assert one.json() == {"redriven": 1, "dropped": 0, "unknown": 1}
    assert same.json() == {"redriven": 0, "dropped": 0, "unknown": 1}
    assert locked.json() == rest.json() == {"redriven": 1, "dropped": 0, "unknown": 0}
    assert (await client.get(ADDRESS)).json()["dead_letters"] == []
    assert service.default_tenant_id


async def test_letters_are_purged_and_their_files_stay(
    client: httpx.AsyncClient, letters: list[dict[str, Any]]
) -> None:
    purged = await client.post(f"{ADDRESS}/purge", json={"code": "corrupt"})
    again = await client.post(f"{ADDRESS}/purge", json={"code": "corrupt"})

    assert (purged.json(), again.json()) == ({"purged": 2}, {"purged": 0})
    assert (await client.get(ADDRESS)).json()["dead_letters"] == [letters[1]]
    document = f"/api/v1/documents/{letters[0]['document_id']}"
    assert (await client.get(document)).json()["state"] == "failed"
    assert (await client.get(f"{document}/file")).content == b"c.pdf"


async def test_reprocessing_a_document_ends_its_letter(
    client: httpx.AsyncClient, letters: list[dict[str, Any]]
) -> None:
    await client.post(f"/api/v1/documents/{letters[0]['document_id']}/reprocess")

    assert (await client.get(ADDRESS)).json()["dead_letters"] == letters[1:]


@pytest.mark.parametrize(
    "choice",
    [{}, {"all": False}, {"all": True, "code": "corrupt"}, {"ids": ["x"]}, {"code": "a\0b"}, {"every": True}],
)
@pytest.mark.parametrize("action", ["redrive", "purge"])
async def test_a_choice_that_is_not_clear_is_refused(
    client: httpx.AsyncClient, letters: list[dict[str, Any]], choice: dict[str, object], action: str
) -> None:
    answer = await client.post(f"{ADDRESS}/{action}", json=choice)

    assert (answer.status_code, answer.json()["code"]) == (422, "validation")
    assert (await client.get(ADDRESS)).json()["dead_letters"] == letters
