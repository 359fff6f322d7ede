"""Ids of another organisation in every parameter of every route: nothing of theirs is shown or changed."""

from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

import pytest
from psycopg import sql

from support.attacked_vault import AttackedVault, Operation, Parameter, operations, read_document, send_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

SECRET = "Hidden Harbour Ltd"
"""Of their document, and of nothing of ours."""

VALUES: dict[str, Any] = {
    "action": "add",
    "add": "hostile",
    "all": True,
    "box": "0,0,1,1",
    "decision": "same",
    "document_type": "invoice",
    "force": "true",
    "is_duplicate": True,
    "name": "hostile",
    "path": "gross_total",
    "reason": "spam",
    "reviews": [{"path": "gross_total", "action": "confirm"}],
    "role": "viewer",
    "scopes": ["read"],
    "table": "lines",
    "title": "hostile",
    "typed": "8",
    "value": "8",
}
"""So that nothing but the ids is wrong with a request."""


async def test_ids_of_others_show_and_change_nothing(attacked: AttackedVault) -> None:
    theirs, ours = attacked.theirs, attacked.ours
    theirs.ids["document_id"] = str(
        await read_document(
            attacked.service,
            theirs.tenant_id,
            "hidden.pdf",
            text=SECRET,
            classification={"document_type": "receipt", "title": SECRET, "document_date": "2026-11-03"},
        )
    )
    assert ours.key is not None
    before = await _contents(attacked)
    reached: list[str] = []

    async with (
        attacked.client(key=ours.key.secret) as program,
        attacked.client(session=ours.sessions["owner"]) as person,
    ):
        for operation in operations():
            for values, ids in _mixtures(operation, ours.ids, theirs.ids):
                client = person if operation.is_page else program
                method, path, request = send_of(operation, values, ids)
                answer = await client.request(method, path, **request)
                if SECRET in answer.text or answer.status_code >= 500:
                    reached.append(f"{answer.status_code} {operation.name} {sorted(p.name for p in values)}")

    assert reached == []
    assert await _contents(attacked) == before


def _mixtures(
    operation: Operation, ours: dict[str, str], theirs: dict[str, str]
) -> Iterator[tuple[dict[Parameter, Any], dict[str, str]]]:
    """Values of a request in which all ids are theirs, and requests in which one is."""
    asked = [parameter for parameter in operation.parameters if parameter.place != "header"]
    plain = {parameter: VALUES[parameter.name] for parameter in asked if parameter.name in VALUES}
    named = [parameter for parameter in asked if parameter.is_id and parameter.name in theirs]
    if not named or operation.name == "POST /tenant":
        return
    elsewhere = [parameter for parameter in named if parameter.place != "path"]
    yield {**plain, **{parameter: theirs[parameter.name] for parameter in elsewhere}}, theirs
    if len(named) > 1:
        for stranger in named:
            ids = {
                parameter: (theirs if parameter is stranger else ours)[parameter.name] for parameter in named
            }
            yield {**plain, **ids}, ours


async def _contents(attacked: AttackedVault) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of theirs, but for when their sessions and keys were used."""
    rows: dict[str, list[tuple[Any, ...]]] = {}
    async with attacked.service.database.tenant(attacked.theirs.tenant_id) as conn:
        await conn.execute("SELECT set_config('docmill.bin', 'on', true)")
        cur = await conn.execute(
            """
            SELECT table_name::text FROM information_schema.columns
             WHERE table_schema = 'public' AND column_name = 'tenant_id'
               AND has_table_privilege(format('%I.%I', table_schema, table_name), 'SELECT')
            """
        )
        for (table,) in await cur.fetchall():
            query = sql.SQL("SELECT to_jsonb(t) FROM {} t WHERE tenant_id = %s ORDER BY to_jsonb(t)::text")
            cur = await conn.execute(
                query.format(sql.Identifier(table)),
                [attacked.theirs.tenant_id],  # queues have rows of all
            )
            rows[table] = await cur.fetchall()
    return rows


async def test_a_person_switches_only_to_their_own_organisation(attacked: AttackedVault) -> None:
    async with attacked.client(session=attacked.ours.sessions["owner"]) as person:
        answer = await person.post("/tenant", data={"tenant_id": attacked.theirs.ids["tenant_id"]})
        stays = await person.get("/api/v1/me")

    assert answer.status_code == 404
    assert stays.json()["tenant_id"] == str(attacked.ours.tenant_id)


async def test_events_of_others_are_not_sent_whatever_number_they_are_asked_from(
    attacked: AttackedVault,
) -> None:
    hidden = await read_document(attacked.service, attacked.theirs.tenant_id, "event.pdf")
    await read_document(attacked.service, attacked.ours.tenant_id, "event.pdf")

    async with aclosing(attacked.service.feed.follow(attacked.ours.tenant_id, 0)) as batches:
        events = await anext(batches)

    assert events
    assert {event.tenant_id for event in events} == {attacked.ours.tenant_id}
    assert hidden not in {event.document_id for event in events}
