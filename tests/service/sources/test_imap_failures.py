"""A server that fails in the middle, as Dovecot cannot be made to."""

from collections.abc import AsyncIterator

import pytest
from pydantic import JsonValue, SecretStr

from docmill.service.app import Service
from docmill.service.config.secrets import Secrets
from docmill.service.config.settings import Settings
from docmill.service.sources.imap import folder_watch
from docmill.service.store import arrivals
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.store.doc_sources import SourceRow
from support.mailbox_sources import try_again, uid_of, wait_for, wait_for_items, watching
from support.mails import mail
from support.scripted_imap import ScriptedImap, running_scripted_imap


@pytest.fixture
def settings(settings: Settings) -> Settings:
    sources = settings.sources.model_copy(update={"allow_private_addresses": True})
    secrets = Secrets(key=SecretStr("k" * 64))
    return settings.model_copy(update={"sources": sources, "secrets": secrets})


@pytest.fixture
async def server() -> AsyncIterator[ScriptedImap]:
    async with running_scripted_imap({uid: mail(uid) for uid in (3, 7, 8, 40)}) as scripted:
        yield scripted


async def add(service: Service, server: ScriptedImap, **settings: JsonValue) -> SourceRow:
    return await service.sources.add(
        "imap",
        "Mails",
        {
            "host": "127.0.0.1",
            "port": server.port,
            "security": "none",
            "user": 'a "strange" user',
            "poll_s": 1,
            **settings,
        },
        {"password": 'pass "word'},
        tenant_id=service.default_tenant_id,
        created_by=DEFAULT_USER_ID,
    )


async def test_a_mail_that_is_not_handed_over_is_tried_again_and_given_up_at_last(
    service: Service, server: ScriptedImap, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_watch, "_ATTEMPT_S", 0.0)
    server.withheld = {3, 7}
    row = await add(service, server)

    async with watching(service):
        current = await wait_for_items(service, row, 2)
        assert (current.arrivals, current.refusals) == (2, 0)
        server.withheld = {3}
        current = await wait_for_items(service, row, 4)
        await wait_for(service, row, lambda now: "failed" not in now.position["INBOX"])

    assert (current.arrivals, current.refusals) == (3, 1)
    async with service.database.tenant(row.tenant_id) as conn:
        (refused,) = await arrivals.of_source(conn, row.id, refused_only=True, limit=5)
    assert refused.error_code == "corrupt"
    assert b'LOGIN "a \\"strange\\" user" "pass \\"word"' in server.commands


async def test_a_mail_that_vanishes_before_it_is_fetched_is_no_failure(
    service: Service, server: ScriptedImap
) -> None:
    server.vanishing = {7}
    row = await add(service, server)

    async with watching(service):
        await wait_for_items(service, row, 3)
        current = await wait_for(service, row, lambda now: uid_of(now) == 40)

    assert (current.arrivals, current.refusals, current.failures) == (3, 0, 0)


@pytest.mark.parametrize(
    ("refusal", "code"),
    [
        ("[LIMIT] Too many requests", "rate_limited"),
        ("[UNAVAILABLE] come back later", "server_error"),
    ],
)
async def test_a_server_that_is_short_of_breath_is_left_alone_for_a_while(
    service: Service, server: ScriptedImap, refusal: str, code: str
) -> None:
    server.refusals = [refusal]
    row = await add(service, server)

    async with watching(service):
        current = await wait_for(service, row, lambda now: now.failures > 0)
        assert current.last_error_code == code
        await try_again(service, row)
        current = await wait_for_items(service, row, 4)

    assert (current.arrivals, current.refusals) == (4, 0)


async def test_a_farewell_in_the_middle_is_survived(service: Service, server: ScriptedImap) -> None:
    server.bye = "server is shutting down"
    row = await add(service, server)

    async with watching(service):
        current = await wait_for(service, row, lambda now: now.failures > 0)
        assert current.last_error_code == "network"
        await try_again(service, row)
        current = await wait_for_items(service, row, 4)

    assert (current.arrivals, current.refusals) == (4, 0)


async def test_an_answer_without_end_does_not_fill_the_memory(service: Service, server: ScriptedImap) -> None:
    server.literal_size = 10_000_000_000
    row = await add(service, server)

    async with watching(service):
        current = await wait_for(service, row, lambda now: now.failures > 0)

    assert (current.last_error_code, current.arrivals) == ("network", 0)


async def test_without_uidplus_a_mail_is_marked_as_deleted_and_no_other_is_removed(
    service: Service, server: ScriptedImap
) -> None:
    row = await add(service, server, afterwards="move", move_to="Done")

    async with watching(service):
        await wait_for(service, row, lambda now: uid_of(now) == 40)

    sent = b"\n".join(server.commands)
    assert b"UID COPY 3,7:8,40" in sent or b"UID COPY 3,7,8,40" in sent
    assert b"\\Deleted" in sent
    assert b"EXPUNGE" not in sent
