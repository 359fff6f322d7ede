"""Requests that another site has a visitor's browser send: none changes anything."""

import pytest

from docmill.web.access import declaration_of
from docmill.web.security import SAFE_METHODS
from support.attacked_vault import AttackedVault, Operation, operations, send_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

SITES = {
    "another site": {"sec-fetch-site": "cross-site", "origin": "https://evil.example"},
    "a neighbour": {"sec-fetch-site": "same-site", "origin": "http://other.localhost"},
    "an old browser": {"origin": "https://evil.example"},
    "a sandbox": {"origin": "null"},
    "another port": {"origin": "http://localhost:8081"},
    "a longer name": {"origin": "http://localhost.evil.example"},
    "no scheme": {"origin": "localhost"},
    "an empty origin": {"origin": ""},
    "nonsense": {"sec-fetch-site": "nonsense"},
}
BODIES = {
    "form": ("application/x-www-form-urlencoded", "name=hostile"),
    "text": ("text/plain", '{"name": "hostile", "query": ""}'),
    "files": (
        "multipart/form-data; boundary=b",
        '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nx\r\n--b--\r\n',
    ),
    "json": ("application/json", '{"name": "hostile", "query": ""}'),
    "nothing": ("", ""),
}


def writes() -> list[Operation]:
    return [operation for operation in operations() if operation.method not in SAFE_METHODS]


@pytest.mark.parametrize("site", SITES)
async def test_nothing_that_another_site_sends_is_taken(attacked: AttackedVault, site: str) -> None:
    """Not even with a token that it has got hold of."""
    taken: list[str] = []
    async with attacked.client(session=attacked.ours.sessions["owner"]) as person:
        for operation in writes():
            method, path, request = send_of(operation, {}, attacked.ours.ids)
            request["headers"] = {**request.get("headers", {}), **SITES[site]}
            answer = await person.request(method, path, **request)
            if answer.status_code != 403:
                taken.append(f"{answer.status_code} {operation.name}")

    assert taken == []


@pytest.mark.parametrize("body", BODIES)
async def test_no_form_is_taken_without_a_token_whatever_it_is_sent_as(
    attacked: AttackedVault, body: str
) -> None:
    media_type, content = BODIES[body]
    override = {"x-http-method-override": "DELETE", "x-method-override": "DELETE"}
    taken: list[str] = []
    async with attacked.client(session=attacked.ours.sessions["owner"]) as person:
        del person.headers["x-form-token"]
        for operation in writes():
            if declaration_of(operation.route.endpoint).form in {"unchecked", "signed"}:
                continue
            _, path, _ = send_of(operation, {}, attacked.ours.ids)
            headers = {"content-type": media_type, **override}
            answer = await person.request(operation.method, path, content=content, headers=headers)
            # An upload reads its own body, and may refuse one that is no form before there is a token.
            is_no_form = declaration_of(operation.route.endpoint).form == "streamed" and body != "files"
            if answer.status_code not in ({422, 403} if is_no_form else {403}):
                taken.append(f"{answer.status_code} {operation.name}")

    assert taken == []


async def test_only_reading_is_asked_for_by_get(attacked: AttackedVault) -> None:
    """SameSite=Lax sends the cookie with links from elsewhere. A page that is opened may take a lock."""
    before = await _changes(attacked)
    async with attacked.client(session=attacked.ours.sessions["owner"]) as person:
        del person.headers["x-form-token"]
        for operation in operations():
            if operation.method in SAFE_METHODS:
                method, path, request = send_of(operation, {}, attacked.ours.ids)
                request["headers"] = {"sec-fetch-site": "cross-site", "referer": "https://evil.example/"}
                await person.request(method, path, **request)

    assert await _changes(attacked) == before


async def _changes(attacked: AttackedVault) -> list[object]:
    async with attacked.service.database.tenant(attacked.ours.tenant_id) as conn:
        cur = await conn.execute(
            """
            SELECT (SELECT count(*) FROM audit_log), (SELECT count(*) FROM review),
                   (SELECT count(*) FROM ingestion), (SELECT count(*) FROM saved_view),
                   (SELECT count(*) FROM review_draft),
                   (SELECT max(updated_at) FROM document), (SELECT count(*) FROM api_keys)
            """
        )
        return list(await cur.fetchall())
