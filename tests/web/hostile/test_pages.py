"""Pages with values that look like placeholders, visitors who may only read, and caches in between."""

import html
import re
from collections.abc import AsyncIterator

import pytest

from docmill.web.languages import in_language, script_texts_version
from docmill.web.view.fields import Field
from support.attacked_vault import AttackedVault, operations, read_document, send_of, sign_in

pytestmark = pytest.mark.asyncio(loop_scope="module")

PLACE = {"page": 1, "box": [0.1, 0.1, 0.2, 0.2], "text": "x", "match": "exact", "confidence": 0.9}


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("method", ["50% now", "100%", "%(name)s", "%s", "Date", ""])
async def test_a_value_is_no_text_of_the_catalogues(
    attacked: AttackedVault, method: str, language: str
) -> None:
    document_id = await read_document(
        attacked.service,
        attacked.ours.tenant_id,
        f"{language} {method}.pdf",
        structured_data={"currency": "EUR", "gross_total": "12.90", "payment": {"method": method}},
        evidence={"payment.method": PLACE},
    )
    async with attacked.client(session=attacked.ours.sessions["viewer"]) as person:
        page = await person.get(f"/docs/{document_id}", headers={"accept-language": language})
    with in_language(language):
        shown = Field("payment.method", "Payment method", method, "sure", "90 %", None).words_for(method)

    assert (page.status_code, page.headers["content-language"]) == (200, language)
    assert "Project-Id-Version" not in page.text
    assert shown == method


async def test_who_may_only_read_keeps_no_document_from_its_reviewers(attacked: AttackedVault) -> None:
    document_id = await read_document(attacked.service, attacked.ours.tenant_id, "looked-at.pdf")
    async with (
        attacked.client(session=attacked.ours.sessions["viewer"]) as viewer,
        attacked.client(session=attacked.ours.sessions["reviewer"]) as reviewer,
    ):
        looked_at = await viewer.get(f"/review/{document_id}")
        lock = await reviewer.post(f"/review/{document_id}/lock")

    assert looked_at.status_code == 200
    assert lock.json()["is_mine"]


async def test_no_cache_keeps_what_belongs_to_an_organisation(attacked: AttackedVault) -> None:
    """Pictures are kept, but shown only after the vault was asked."""
    assert attacked.ours.key is not None
    kept: set[str] = set()
    async with (
        attacked.client(session=attacked.ours.sessions["owner"]) as person,
        attacked.client(key=attacked.ours.key.secret) as program,
    ):
        for operation in operations():
            if operation.method != "GET" or operation.path == "/api/v1/events":
                continue
            method, path, request = send_of(operation, {}, attacked.ours.ids)
            for client in (person, program):
                answer = await client.request(method, path, **request)
                if answer.headers["cache-control"] != "no-store":
                    kept.add(operation.path)

    assert kept == {
        "/api/docs/assets/{name}",
        "/api/v1/documents/{document_id}/pages/{number}.webp",
        "/capture-worker.js",
        "/capture.webmanifest",
    }


async def test_the_figures_of_the_queue_are_those_of_the_own_organisation(attacked: AttackedVault) -> None:
    """Documents of others wait, and their number shows neither on the page nor by the API."""
    async with attacked.client(session=attacked.ours.sessions["viewer"]) as viewer:
        before = [(await viewer.get(path)).text for path in ("/api/v1/operations", "/ops")]
        for number in range(3):
            await attacked.service.intake.accept(
                _chunks(f"waits {number}".encode()), tenant_id=attacked.theirs.tenant_id, file_name="w.txt"
            )
        after = [(await viewer.get(path)).text for path in ("/api/v1/operations", "/ops")]
    async with attacked.client(session=attacked.theirs.sessions["viewer"]) as other:
        theirs = (await other.get("/api/v1/operations")).json()

    assert [_without_tokens(text) for text in after] == [_without_tokens(text) for text in before]
    assert theirs["queue"]["due"] == 3


async def _chunks(content: bytes) -> AsyncIterator[bytes]:
    yield content


def _without_tokens(text: str) -> str:
    return re.sub(r"[0-9a-f]{96}", "", text)


async def test_no_cache_keeps_texts_under_the_address_of_another_version(attacked: AttackedVault) -> None:
    async with attacked.client() as stranger:
        ours = await stranger.get(f"/texts/de/{script_texts_version('de')}.json")
        of_a_newer_server = await stranger.get("/texts/de/0123456789ab.json")

    assert "immutable" in ours.headers["cache-control"]
    assert of_a_newer_server.headers["cache-control"] == "no-store"
    assert of_a_newer_server.json() == ours.json()


async def test_a_page_that_answers_a_form_leads_to_one_that_can_be_opened(attacked: AttackedVault) -> None:
    """Whoever chooses a theme or a language there is sent back to an address; that of a form takes no GET."""
    dead_ends: list[str] = []
    async with (
        attacked.client(session=attacked.ours.sessions["viewer"]) as person,
        attacked.client() as stranger,
    ):
        for operation in operations():
            if not operation.is_page or operation.method != "POST" or operation.path == "/logout":
                continue
            for client in (person, stranger):
                for headers in ({"referer": "http://localhost/login?next=%2Freview"}, {}):
                    method, path, request = send_of(operation, {}, attacked.ours.ids)
                    request["headers"] = {**request.get("headers", {}), **headers}
                    answer = await client.request(method, path, **request)
                    for address in set(re.findall(r'name="next" value="([^"]*)"', answer.text)):
                        opened = await client.get(html.unescape(address), headers={"accept": "text/html"})
                        if opened.status_code == 405:
                            dead_ends.append(f"{operation.name}: {address}")

    assert dead_ends == []


async def test_whatever_a_browser_says_of_the_page_of_a_form_the_form_is_answered(
    attacked: AttackedVault,
) -> None:
    ours = attacked.ours
    await sign_in(attacked.service, ours, "viewer", ours.users["viewer"])  # another test ends all sessions
    async with attacked.client(session=ours.sessions["viewer"]) as person:
        for referer in (
            "http://[",
            "http://localhost//elsewhere.example",
            "javascript:alert(1)",
            "no address",
        ):
            refused = await person.post("/profile/password", headers={"referer": referer})
            assert refused.status_code < 500, referer
            assert 'name="next" value="/"' in refused.text, referer
