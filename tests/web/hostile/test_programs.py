"""Attacks by programs: keys of requests of others, fields that nobody offers, bodies made to exhaust."""

import json
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from docmill.service.store import api_keys
from support.attacked_vault import AttackedVault, operations, send_of

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_the_answer_to_one_is_not_repeated_to_another(attacked: AttackedVault) -> None:
    """Neither in the same organisation nor in another one."""
    ours, theirs = attacked.ours, attacked.theirs
    assert ours.key is not None
    assert theirs.key is not None
    body, headers = {"name": "same", "query": "q=same"}, {"idempotency-key": "same"}
    replayed: list[bool] = []

    for session, key in (
        ("", ours.key.secret),
        (ours.sessions["owner"], ""),
        (ours.sessions["reviewer"], ""),
        ("", theirs.key.secret),
        ("", ours.key.secret),
    ):
        async with attacked.client(session=session, key=key) as client:
            answer = await client.post("/api/v1/views", json=body, headers=headers)
            assert answer.status_code == 201, answer.text
            replayed.append("idempotency-replayed" in answer.headers)

    assert replayed == [False, False, False, False, True]


async def test_no_secret_is_kept_to_be_repeated(attacked: AttackedVault) -> None:
    document_id = attacked.ours.ids["document_id"]
    bodies = {
        "/api/v1/keys": {"name": "n", "scopes": ["read"]},
        "/api/v1/people/invitations": {"role": "viewer"},
        f"/api/v1/documents/{document_id}/signed-addresses": {},
    }
    async with attacked.client(session=attacked.ours.sessions["owner"]) as owner:
        answers = [
            await owner.post(path, json=body, headers={"idempotency-key": path})
            for path, body in bodies.items()
        ]
    async with attacked.service.database.tenant(attacked.ours.tenant_id) as conn:
        cur = await conn.execute(
            "SELECT convert_from(body, 'UTF8') FROM idempotency_key WHERE body IS NOT NULL"
        )
        kept = "".join([body async for (body,) in cur])

    for answer in answers:
        assert answer.status_code < 300
        assert answer.headers["cache-control"] == "no-store"
        secrets = [value for value in answer.json().values() if isinstance(value, str) and len(value) > 40]
        assert secrets
        assert all(secret not in kept for secret in secrets)


async def test_a_field_that_is_not_offered_is_refused(attacked: AttackedVault) -> None:
    """Such as the tenant or the author of what is made. What other programs' clients send is left out."""
    taken: list[str] = []
    assert attacked.ours.key is not None
    async with attacked.client(key=attacked.ours.key.secret) as program:
        for operation in operations():
            is_ours = not operation.name.startswith(("POST /api/tags/", "PATCH /api/documents/"))
            if is_ours and "json" in {parameter.place for parameter in operation.parameters}:
                method, path, request = send_of(operation, {}, attacked.ours.ids)
                for name in ("tenant_id", "user_id", "__class__", "reviewed_by", "is_admin"):
                    request["content"] = json.dumps({name: attacked.theirs.ids["tenant_id"]})
                    answer = await program.request(method, path, **request)
                    if answer.status_code != 422 or f"body.{name}" not in answer.text:
                        taken.append(f"{answer.status_code} {operation.name} {name}")

    assert taken == []


BODIES = {
    "deep": b"[" * 100_000,
    "deep object": b'{"a":' * 100_000,
    "deep and whole": b"[" * 50_000 + b"]" * 50_000,
    "long number": b'{"limit": ' + b"9" * 100_000 + b"}",
    "not a number": b'{"expires_s": NaN}',
    "same key": b'{"name": "a", "name": "b", "query": ""}',
    "half a character": b'{"name": "\\ud800", "query": "\\ud800"}',
    "wrong UTF-8": b'{"name": "\xff\xfe"}',
    "UTF-16": '{"name": "a"}'.encode("utf-16"),
    "mark": b"\xef\xbb\xbf{}",
    "nothing": b"",
    "text": b'"text"',
    "null": b"null",
    "many keys": b"{" + b",".join(b'"%d":1' % number for number in range(50_000)) + b"}",
}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize(
    "media_type", ["application/json", "text/plain", "application/x-www-form-urlencoded", ""]
)
async def test_a_body_made_to_break_parsers_is_refused(
    attacked: AttackedVault, body: str, media_type: str
) -> None:
    faults: list[str] = []
    document_id = attacked.ours.ids["document_id"]
    paths = [
        "views",
        "tags",
        "keys",
        f"documents/{document_id}/reviews",
        f"documents/{document_id}/tags",
        "documents",
    ]
    assert attacked.ours.key is not None
    async with attacked.client(key=attacked.ours.key.secret) as program:
        for path in paths:
            answer = await program.post(
                f"/api/v1/{path}", content=BODIES[body], headers={"content-type": media_type}
            )
            if answer.status_code >= 500:
                faults.append(f"{answer.status_code} {path}")

    assert faults == []


async def test_a_key_that_has_ended_opens_nothing(attacked: AttackedVault) -> None:
    """One that was revoked, one that has expired, and one of a person who has been removed."""
    service, ours = attacked.service, attacked.ours
    access = await service.sign_in.of_session(ours.sessions["owner"])
    assert access is not None
    keys = [
        await service.api_keys.create(access, name, ["read"], datetime.now(UTC) + timedelta(days=1))
        for name in ("revoked", "expired")
    ]
    async with service.database.tenant(ours.tenant_id) as conn:
        await api_keys.revoke(conn, keys[0].id)
    async with await psycopg.AsyncConnection.connect(service.owner_url) as conn:
        await conn.execute(
            "UPDATE api_keys SET expires_at = now() - interval '1 second' WHERE id = %s", [keys[1].id]
        )

    statuses: list[int] = []
    for secret in (keys[0].secret, keys[1].secret, "", "dm_", keys[0].prefix, f"{ours.sessions['owner']}"):
        async with attacked.client(key=secret) as program:
            statuses += [
                (await program.get("/api/v1/documents")).status_code,
                (await program.get("/api/v1/events")).status_code,
                (await program.get(f"/api/v1/documents/{ours.ids['document_id']}/file")).status_code,
            ]

    assert set(statuses) == {401}


@pytest.mark.parametrize(
    "after",
    [
        "eyJhIjoxfQ==",
        "%00",
        "'",
        "0" * 900,
        "AAAA",
        "../..",
        "01a21761-f38f-752e-aa0d-bd30f50a6144",
        "W10",
        "e30",
    ],
)
async def test_a_forged_place_in_a_list_is_refused_or_shows_only_ours(
    attacked: AttackedVault, after: str
) -> None:
    assert attacked.ours.key is not None
    async with attacked.client(key=attacked.ours.key.secret) as program:
        answer = await program.get("/api/v1/documents", params={"after": after, "sort": "amount"})
        page = await program.get("/", params={"after": after})

    assert answer.status_code in {200, 422}
    assert page.status_code == 200
    assert attacked.theirs.ids["document_id"] not in answer.text + page.text
