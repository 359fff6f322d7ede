"""Sources through the API."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from docmill.errors import CorruptError
from docmill.service.app import Service
from docmill.service.config.secrets import Secrets
from docmill.service.config.settings import Settings
from docmill.service.store import audit_log


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    folder = tmp_path / "inbox"
    folder.mkdir()
    return folder


@pytest.fixture
def settings(settings: Settings, inbox: Path) -> Settings:
    sources = settings.sources.model_copy(update={"folders": (inbox,)})
    secrets = Secrets(key=SecretStr("k" * 32))
    return settings.model_copy(update={"sources": sources, "secrets": secrets})


async def made(client: httpx.AsyncClient, inbox: Path, name: str = "Scans") -> dict[str, Any]:
    answer = await client.post(
        "/api/v1/sources", json={"kind": "folder", "name": name, "settings": {"path": str(inbox)}}
    )
    assert answer.status_code == 201
    source: dict[str, Any] = answer.json()
    return source


async def content(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def test_the_kinds_say_what_they_need(client: httpx.AsyncClient) -> None:
    kinds = {kind["name"]: kind for kind in (await client.get("/api/v1/sources/kinds")).json()["kinds"]}

    assert kinds["folder"]["settings"]["required"] == ["path"]
    assert kinds["folder"]["is_watched"]


async def test_a_source_is_made_changed_paused_and_removed(
    client: httpx.AsyncClient, service: Service, inbox: Path
) -> None:
    source = await made(client, inbox)
    address = f"/api/v1/sources/{source['id']}"
    assert source["state"] == "active"
    assert source["secrets_set"] == []

    changed = await client.patch(address, json={"name": "Mail room"})
    paused = await client.post(f"{address}/pause")
    listed = (await client.get("/api/v1/sources")).json()["sources"]
    resumed = await client.post(f"{address}/resume")
    removed = await client.delete(address)

    assert changed.json()["settings"]["path"] == str(inbox)
    assert (paused.json()["state"], resumed.json()["state"]) == ("paused", "active")
    assert [(each["name"], each["state"]) for each in listed] == [("Mail room", "paused")]
    assert (removed.status_code, (await client.get(address)).status_code) == (204, 404)
    async with service.database.tenant(service.default_tenant_id) as conn:
        actions = {entry.action for entry in await audit_log.page(conn, limit=50)}
    assert {"create_source", "change_source", "pause_source", "resume_source", "remove_source"} <= actions


async def test_mistakes_are_told_in_words(client: httpx.AsyncClient, inbox: Path, tmp_path: Path) -> None:
    async def refused(**body: object) -> str:
        answer = await client.post("/api/v1/sources", json={"name": "Scans", **body})
        assert answer.status_code == 422
        detail: str = answer.json()["detail"]
        return detail

    assert "no kind of source" in await refused(kind="fax")
    assert "path" in await refused(kind="folder", settings={})
    assert "sources.folders" in await refused(kind="folder", settings={"path": str(tmp_path)})
    assert "limits.per_second" in await refused(
        kind="folder", settings={"path": str(inbox), "limits": {"per_second": -1}}
    )
    await asyncio.to_thread(inbox.rmdir)
    tested = await client.post(
        "/api/v1/sources",
        json={"kind": "folder", "name": "A", "settings": {"path": str(inbox)}, "test": True},
    )
    assert tested.status_code == 503
    assert (await client.get("/api/v1/sources")).json()["sources"] == []


async def test_a_secret_of_a_webhook_that_is_none_is_told_in_words(client: httpx.AsyncClient) -> None:
    for name in ("secret", "previous_secret"):
        for secret in ("whsec_!!!", "whsec_ä", "whsec_"):
            answer = await client.post(
                "/api/v1/sources", json={"kind": "webhook", "name": "Shop", "secrets": {name: secret}}
            )
            assert answer.status_code == 422
            assert "what follows is no base64" in answer.json()["detail"]
            assert secret not in answer.text.replace("begins with whsec_,", "")
    source = (await client.post("/api/v1/sources", json={"kind": "webhook", "name": "Shop"})).json()
    path = f"/api/v1/sources/{source['id']}"
    assert (await client.patch(path, json={"secrets": {"secret": "whsec_!!!"}})).status_code == 422
    for secret in ("whsec_Zm9vYmFyYmF6", "another text"):
        changed = await client.patch(path, json={"secrets": {"secret": secret}})
        assert changed.json()["secrets_set"] == ["secret"]


async def test_settings_are_tried_before_and_after(client: httpx.AsyncClient, inbox: Path) -> None:
    tried = {"kind": "folder", "settings": {"path": str(inbox)}}
    works = (await client.post("/api/v1/sources/test", json=tried)).json()
    source = await made(client, inbox)
    await asyncio.to_thread(inbox.rmdir)
    fails = (await client.post(f"/api/v1/sources/{source['id']}/test")).json()

    assert (works["works"], works["code"]) == (True, None)
    assert (fails["works"], fails["code"]) == (False, "network")


async def test_items_that_were_refused_can_be_taken_again(
    client: httpx.AsyncClient, service: Service, inbox: Path
) -> None:
    source = await made(client, inbox)
    row = (await service.sources.every(tenant_id=service.default_tenant_id))[0]
    intake = service.sources.item_intake(row)
    taken = await intake.take("a", content(b"%PDF-1.7 a"), file_name="a.pdf", metadata={"path": "a.pdf"})
    await intake.refuse("b", CorruptError("the file is empty"), metadata={"path": "b.pdf"})
    address = f"/api/v1/sources/{source['id']}/items"

    items = (await client.get(address)).json()["items"]
    (refused,) = (await client.get(f"{address}?refused=true")).json()["items"]
    answers = [(await client.post(f"{address}/{item['id']}/retry")).status_code for item in items]

    assert [item["document_id"] for item in items] == [None, str(taken.document_id)]
    assert refused["error"] == {"code": "corrupt", "message": "the file is empty"}
    assert answers == [204, 404]
    assert (await intake.take("b", content(b"x"), file_name="b.pdf", metadata={})).status == "accepted"
    assert (await service.sources.get(row.id, tenant_id=row.tenant_id)).version == row.version + 1  # type: ignore[union-attr]


async def test_documents_and_ingestions_say_how_they_arrived(
    client: httpx.AsyncClient, service: Service, inbox: Path
) -> None:
    source = await made(client, inbox)
    row = (await service.sources.every(tenant_id=service.default_tenant_id))[0]
    intake = service.sources.item_intake(row)
    said = {"sender": "Mill <bills@mill.example>", "subject": "Your bill"}
    taken = await intake.take("a", content(b"%PDF-1.7 a"), file_name="a.pdf", metadata=said)
    await intake.take("b", content(b"%PDF-1.7 a"), file_name="b.pdf", metadata={"path": "in/b.pdf"})

    document = (await client.get(f"/api/v1/documents/{taken.document_id}")).json()
    (ingestion,) = (await client.get(f"/api/v1/documents/{taken.document_id}/ingestions")).json()[
        "ingestions"
    ]

    reference = {"id": source["id"], "name": "Scans", "kind": "folder"}
    assert [(arrival["source"], arrival["metadata"]) for arrival in document["arrivals"]] == [
        (reference, {"path": "in/b.pdf"}),
        (reference, said),
    ]
    assert (ingestion["source"], ingestion["source_metadata"]) == (reference, said)
    for words in ("bills", "Mill", "in/b.pdf", '"your bill"'):
        found = (await client.get("/api/v1/documents", params={"q": words})).json()["documents"]
        assert [each["id"] for each in found] == [str(taken.document_id)], words
