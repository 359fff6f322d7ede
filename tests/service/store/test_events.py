import asyncio

import psycopg

from docmill.ports import Original
from docmill.service.app import Service
from docmill.service.record_matcher import decide_around
from docmill.service.store import events
from docmill.service.store.events import EventRow
from support.matched_papers import Papers
from support.scripted_steps import Observer, RunWorker, ScriptedSteps, Upload


async def seen(service: Service, after: int = 0, limit: int = 100) -> list[EventRow]:
    async with service.database.tenant(service.default_tenant_id) as conn:
        return await events.since(conn, after, limit=limit)


async def test_a_documents_way_is_told_in_order(
    service: Service, script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    accepted = await upload()

    async def convert(_original: Original) -> None:
        await observer.when(accepted, lambda document: document.step == "transcribe")

    script.convert = convert
    async with working():
        await observer.until(accepted, "ready")

    told = await seen(service)

    assert {event.document_id for event in told} == {accepted.document_id}
    kinds = [event.kind for event in told]
    assert kinds[:2] == ["created", "queued"]
    assert kinds[-1] == "finished"
    assert set(kinds[2:-1]) == {"step"}
    assert [event.id for event in told] == sorted(event.id for event in told)


async def test_reading_goes_on_after_an_id(service: Service, upload: Upload) -> None:
    await upload()
    first, second = await seen(service)

    assert await seen(service, limit=1) == [first]
    assert await seen(service, after=first.id) == [second]
    async with service.database.tenant(service.default_tenant_id) as conn:
        assert await events.last_id(conn) == second.id


async def test_an_edit_and_a_deletion_are_told(service: Service, upload: Upload) -> None:
    accepted = await upload()
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("UPDATE document SET title = 'Mine' WHERE id = %s", [accepted.document_id])
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("DELETE FROM document WHERE id = %s", [accepted.document_id])

    assert [event.kind for event in await seen(service)] == ["created", "queued", "changed", "deleted"]


async def test_no_event_is_passed_over_when_a_later_one_commits_first(
    service: Service, upload: Upload, database_url: str
) -> None:
    accepted = await upload()
    before = (await seen(service))[-1].id
    async with await psycopg.AsyncConnection.connect(database_url) as slow:
        await slow.execute(
            "SELECT set_config('docmill.tenant_id', %s, false)", [str(service.default_tenant_id)]
        )
        await slow.execute("UPDATE document SET title = 'Slow' WHERE id = %s", [accepted.document_id])
        await upload(b"fast")

        while_running = await seen(service, after=before)
        async with service.database.tenant(service.default_tenant_id) as conn:
            last_while_running = await events.last_id(conn)
        await slow.commit()

    assert while_running == []
    assert last_while_running == before
    kinds = [event.kind for event in await seen(service, after=before)]
    assert kinds == ["changed", "created", "queued"]


async def test_a_follower_is_woken_by_another_process(service: Service, upload: Upload) -> None:
    following = service.feed.follow(service.default_tenant_id, 0)
    waiting = asyncio.ensure_future(anext(following))

    await upload()

    async with asyncio.timeout(10):
        batch = await waiting
    assert batch[0].kind == "created"
    await following.aclose()


async def test_a_link_that_is_found_or_given_up_is_told_once_to_both_documents(service: Service) -> None:
    made = Papers(service, service.default_tenant_id)
    await made.chain(["order", "invoice"])
    found = [(event.document_id, event.kind) for event in await seen(service)]
    async with service.database.tenant(service.default_tenant_id) as conn:
        before = await events.last_id(conn)

    await made.suggest("order", "invoice")
    after_doubt = [(event.document_id, event.kind) for event in await seen(service, after=before)]
    async with service.database.tenant(service.default_tenant_id) as conn:
        before = await events.last_id(conn)
        await decide_around(conn, {str(made.id_of("order"))}, tenant_id=service.default_tenant_id)
    unchanged = await seen(service, after=before)

    both = {(made.id_of("order"), "changed"), (made.id_of("invoice"), "changed")}
    assert both <= set(found)
    assert set(after_doubt) == both
    assert unchanged == []
