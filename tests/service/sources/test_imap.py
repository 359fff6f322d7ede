import asyncio
import time
from pathlib import Path

import pytest
from pydantic import JsonValue, SecretStr

from docmill.errors import MisconfiguredError, UnauthorizedError, ValidationError
from docmill.service.app import Service
from docmill.service.config.secrets import Secrets
from docmill.service.config.settings import Settings
from docmill.service.sources.imap import folder_watch, imap_client
from docmill.service.sources.imap.imap_settings import ImapSettings
from docmill.service.store import arrivals, document_list, ingestions
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.store.doc_sources import SourceRow
from support.dovecot import PASSWORD, Dovecot
from support.mailbox_sources import (
    AddMailbox,
    mailbox_settings,
    try_again,
    uid_of,
    wait_for,
    wait_for_items,
    watching,
)
from support.mails import mail
from support.silent_proxy import silent_proxy

pytestmark = pytest.mark.usefixtures("dovecot")


@pytest.fixture
def settings(settings: Settings) -> Settings:
    sources = settings.sources.model_copy(update={"allow_private_addresses": True})
    secrets = Secrets(key=SecretStr("k" * 64))
    return settings.model_copy(update={"sources": sources, "secrets": secrets})


async def refused_of(service: Service, row: SourceRow) -> list[tuple[str | None, str | None]]:
    async with service.database.tenant(row.tenant_id) as conn:
        rows = await arrivals.of_source(conn, row.id, refused_only=True, limit=50)
    return [(found.error_code, found.error_message) for found in rows]


async def subjects_of(service: Service, row: SourceRow) -> list[str]:
    async with service.database.tenant(row.tenant_id) as conn:
        rows = await arrivals.of_source(conn, row.id, limit=1000)
    return sorted(found.metadata.get("subject", "") for found in rows)


async def test_a_mail_that_arrives_is_queued_although_nobody_asks_for_it(
    service: Service, dovecot: Dovecot, add_mailbox: AddMailbox
) -> None:
    row = await add_mailbox(poll_s=600)

    async with watching(service):
        await wait_for(service, row, lambda now: now.last_success_at is not None)
        await asyncio.sleep(0.5)
        began = time.monotonic()
        await asyncio.to_thread(dovecot.deliver, "anna", [mail(1)])
        await wait_for_items(service, row, 1)
        took_s = time.monotonic() - began

    async with service.database.tenant(row.tenant_id) as conn:
        (document,) = (await document_list.page(conn)).rows
        (ingestion,) = await ingestions.of_document(conn, document.id)
    assert took_s < 20  # the machine of tests may be busy; bench/speed/mail_intake.py measures it
    assert document.file_name == "Invoice 1.eml"
    assert ingestion.source_metadata is not None
    assert ingestion.source_metadata == {
        "sender": "Shop <bills@shop.example>",
        "recipient": "anna@example.org",
        "subject": "Invoice 1",
        "message_id": "<1@shop.example>",
        "folder": "INBOX",
        "size": len(mail(1)),
    }
    assert (await service.queue.depth()).due == 1
    assert dovecot.uids("anna", criteria="UNSEEN") == [1]


async def test_a_server_that_cannot_push_is_asked_now_and_then(
    service: Service, dovecot: Dovecot, add_mailbox: AddMailbox
) -> None:
    row = await add_mailbox(push=False)

    async with watching(service):
        await wait_for(service, row, lambda now: now.last_success_at is not None)
        await asyncio.to_thread(dovecot.deliver, "anna", [mail(1)])
        await wait_for_items(service, row, 1)


@pytest.mark.parametrize(
    ("afterwards", "criteria", "left"),
    [("read", "SEEN", 2), ("flag", "FLAGGED", 2), ("move", "ALL", 0), ("delete", "ALL", 0)],
)
async def test_what_is_done_with_a_mail_afterwards(
    service: Service, dovecot: Dovecot, add_mailbox: AddMailbox, afterwards: str, criteria: str, left: int
) -> None:
    dovecot.deliver("anna", [mail(1), mail(2)])
    row = await add_mailbox(afterwards=afterwards, move_to="Erledigt.Für März & mehr")

    async with watching(service):
        await wait_for_items(service, row, 2)
        async with asyncio.timeout(60):
            while len(await asyncio.to_thread(dovecot.uids, "anna", "INBOX", criteria)) != left:  # noqa: ASYNC110  of another program
                await asyncio.sleep(0.05)

    if afterwards == "move":
        assert dovecot.uids("anna", '"Erledigt.F&APw-r M&AOQ-rz &- mehr"') == [1, 2]


async def test_rules_choose_mails_and_leave_the_others_alone(
    service: Service, dovecot: Dovecot, add_mailbox: AddMailbox
) -> None:
    dovecot.deliver(
        "anna",
        [
            mail(1, attachment="a.pdf"),
            mail(2, sender="eve@other.example", attachment="a.pdf"),
            mail(3, subject="Newsletter", attachment="a.pdf"),
            mail(4),
            mail(5, attachment="a.docx"),
            mail(6, sender="Bill <b@sub.shop.example>", attachment="a.PDF"),
        ],
    )
    row = await add_mailbox(
        senders=["shop.example"],
        subject_words=["invoice"],
        attachment_kinds=["pdf"],
        afterwards="delete",
        since="2020-01-01",
        only_unseen=True,
    )

    async with watching(service):
        await wait_for_items(service, row, 2)
        await wait_for(service, row, lambda now: uid_of(now) == 6)

    assert await subjects_of(service, row) == ["Invoice 1", "Invoice 6"]
    assert dovecot.uids("anna") == [2, 3, 4, 5]


async def test_other_rules_look_at_the_mails_again(
    service: Service, dovecot: Dovecot, add_mailbox: AddMailbox
) -> None:
    dovecot.deliver("anna", [mail(1), mail(2, subject="Receipt 2")])
    row = await add_mailbox(subject_words=["invoice"])

    async with watching(service):
        await wait_for_items(service, row, 1)
        chosen: dict[str, JsonValue] = {**row.settings, "subject_words": ["invoice", "receipt"]}
        await service.sources.change(row, settings=chosen)
        current = await wait_for_items(service, row, 2)

    assert (current.arrivals, current.refusals) == (2, 0)


async def test_several_folders_are_watched_and_a_mail_in_two_is_taken_once(
    service: Service, dovecot: Dovecot, add_mailbox: AddMailbox
) -> None:
    row = await add_mailbox(folders=["INBOX", "Rechnungen März"])
    dovecot.deliver("anna", [mail(1), mail(2)])
    dovecot.deliver("anna", [mail(2), mail(3)], '"Rechnungen M&AOQ-rz"')

    async with watching(service):
        await wait_for_items(service, row, 3)
        await asyncio.to_thread(dovecot.deliver, "anna", [mail(4)], '"Rechnungen M&AOQ-rz"')
        await asyncio.to_thread(dovecot.deliver, "anna", [mail(5)])
        await wait_for_items(service, row, 5)

    assert await subjects_of(service, row) == [f"Invoice {number}" for number in range(1, 6)]


@pytest.mark.parametrize("afterwards", ["nothing", "move"])
async def test_mails_that_are_numbered_anew_are_not_taken_twice(
    service: Service, dovecot: Dovecot, add_mailbox: AddMailbox, afterwards: str
) -> None:
    dovecot.deliver("anna", [mail(number) for number in range(5)])
    row = await add_mailbox()
    async with watching(service):
        await wait_for_items(service, row, 5)
        before = await wait_for(service, row, lambda now: now.position is not None)
    await asyncio.to_thread(dovecot.stop)
    await asyncio.to_thread(dovecot.renumber, "anna")
    await asyncio.to_thread(dovecot.start)
    await asyncio.to_thread(dovecot.deliver, "anna", [mail(5)])
    row = await service.sources.change(
        row, settings={**row.settings, "afterwards": afterwards, "move_to": "Done"}
    )

    async with watching(service):
        current = await wait_for_items(service, row, 6)
        await wait_for(service, row, lambda now: uid_of(now) == 6)

    after = await service.sources.get(row.id, tenant_id=row.tenant_id)
    assert after is not None
    assert after.position["INBOX"]["uid_validity"] != before.position["INBOX"]["uid_validity"]
    assert (current.arrivals, current.refusals) == (6, 0)
    if afterwards == "move":
        assert len(dovecot.uids("anna", "Done")) == 6


async def test_a_restart_of_the_server_loses_nothing(
    service: Service, dovecot: Dovecot, add_mailbox: AddMailbox
) -> None:
    dovecot.deliver("anna", [mail(number) for number in range(120)])
    row = await add_mailbox(afterwards="move", move_to="Done")

    async with watching(service):
        await wait_for_items(service, row, 10)
        await asyncio.to_thread(dovecot.kill)
        current = await wait_for(service, row, lambda now: now.failures > 0)
        assert current.last_error_code == "network"
        await asyncio.to_thread(dovecot.start)
        await try_again(service, row)
        current = await wait_for_items(service, row, 120)
        async with asyncio.timeout(60):
            while await asyncio.to_thread(dovecot.uids, "anna"):  # noqa: ASYNC110  of another program
                await asyncio.sleep(0.05)

    assert (current.arrivals, current.refusals) == (120, 0)
    assert len(dovecot.uids("anna", "Done")) >= 120


async def test_a_connection_that_has_died_in_silence_is_noticed(
    service: Service, dovecot: Dovecot, add_mailbox: AddMailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_watch, "IDLE_S", 1.0)
    monkeypatch.setattr(imap_client, "ANSWER_S", 3.0)
    async with silent_proxy(dovecot.port) as proxy, watching(service):
        row = await add_mailbox(port=proxy.port)
        await asyncio.to_thread(dovecot.deliver, "anna", [mail(1)])
        await wait_for_items(service, row, 1)
        proxy.is_silent = True
        await asyncio.to_thread(dovecot.deliver, "anna", [mail(2)])
        current = await wait_for(service, row, lambda now: now.failures > 0)
        assert current.last_error_code == "timeout"
        proxy.is_silent = False
        await try_again(service, row)
        await wait_for_items(service, row, 2)


async def test_bad_mails_stop_no_others(service: Service, dovecot: Dovecot, add_mailbox: AddMailbox) -> None:
    dovecot.deliver("anna", [mail(1)])
    bad = [
        b"From: " + b"(" * 30_000 + b"\r\nSubject: deep\r\n\r\nx\r\n",
        b"\r\n\r\n",
        b"no header at all\r\n",
        bytes(range(256)) * 40,
        b"Subject: =?utf-8?b?!!!?= =?nonsense?q?=zz?=\r\nMessage-ID: <<>\r\n\r\n",
        mail(3, body="long " * 100_000),
    ]
    dovecot.drop("anna", [*bad, mail(2)])
    row = await add_mailbox(limits={"file_mb": 0.3}, afterwards="delete")

    async with watching(service):
        current = await wait_for_items(service, row, 8)
        async with asyncio.timeout(60):
            while len(await asyncio.to_thread(dovecot.uids, "anna")) > 1:  # noqa: ASYNC110  of another program
                await asyncio.sleep(0.05)

    assert (current.arrivals, current.refusals) == (7, 1)
    assert await refused_of(service, row) == [
        ("too_large", "the mail has 0.5 MB; 0.3 MB are allowed at most")
    ]


def real_mails() -> list[bytes]:
    folder = Path(__file__).parents[3].parent / "shared" / "data" / "mail"
    return [path.read_bytes() for path in sorted(folder.rglob("*.eml"))]


@pytest.mark.skipif(not real_mails(), reason="the shared data is not here")
async def test_real_mails_are_all_taken(service: Service, dovecot: Dovecot, add_mailbox: AddMailbox) -> None:
    mails = real_mails()
    dovecot.deliver("anna", [mail(1)])
    dovecot.drop("anna", mails)
    row = await add_mailbox()

    async with watching(service):
        current = await wait_for_items(
            service, row, len({each.replace(b"\r\n", b"\n") for each in mails}) + 1
        )

    assert current.refusals == 0


async def test_a_mail_that_vanishes_or_is_not_handed_over_stops_no_others(
    service: Service, dovecot: Dovecot, add_mailbox: AddMailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_watch, "_ATTEMPT_S", 0.0)
    dovecot.deliver("anna", [mail(number) for number in range(1, 6)])
    # Its file is gone, and the server does not know yet; the other cannot be opened.
    files = sorted((dovecot.mailbox("anna") / "new").iterdir()) + sorted(
        (dovecot.mailbox("anna") / "cur").iterdir()
    )
    files[1].unlink()
    row = await add_mailbox()

    async with watching(service):
        current = await wait_for_items(service, row, 4)

    assert (current.arrivals, current.refusals) == (4, 0)


async def test_a_wrong_password_is_told_and_tried_seldom(
    service: Service, dovecot: Dovecot, add_mailbox: AddMailbox
) -> None:
    row = await add_mailbox(password="s3cret")

    async with watching(service):
        current = await wait_for(service, row, lambda now: now.failures > 0)

    assert current.last_error_code == "unauthorized"
    assert "AUTHENTICATIONFAILED" in str(current.last_error_message)
    assert "s3cret" not in str(current.last_error_message)
    with pytest.raises(UnauthorizedError):
        await service.sources.test(row)
    assert "s3cret" not in (dovecot.folder / "log").read_text()


async def test_a_mailbox_is_tried_before_it_is_used(
    service: Service, dovecot: Dovecot, add_mailbox: AddMailbox
) -> None:
    dovecot.deliver("anna", [mail(1)])
    found = await service.sources.test(await add_mailbox())
    assert found == "signed in; mails in INBOX: 1; the server says at once that a mail arrived"
    with pytest.raises(MisconfiguredError, match="Missing"):
        await service.sources.test(await add_mailbox("Other", folders=["Missing"]))


async def test_settings_that_cannot_work_are_not_taken(service: Service, dovecot: Dovecot) -> None:
    faults: tuple[dict[str, JsonValue], ...] = (
        {"host": ""},
        {"folders": []},
        {"afterwards": "move"},
        {"afterwards": "move", "move_to": "INBOX"},
        {"sign_in": "google"},
        {"sign_in": "oauth2", "client_id": "x"},
        {"user": "a\r\nb"},
    )
    for wrong in faults:
        with pytest.raises(ValidationError):
            await service.sources.add(
                "imap",
                "Mails",
                mailbox_settings(dovecot, **wrong),
                {"password": PASSWORD},
                tenant_id=service.default_tenant_id,
                created_by=DEFAULT_USER_ID,
            )
    with pytest.raises(MisconfiguredError, match="PEM"):
        await service.sources.test_settings(
            "imap",
            mailbox_settings(dovecot, security="tls", ca_certificates="nonsense"),
            {"password": PASSWORD},
            tenant_id=service.default_tenant_id,
        )


def test_another_mailbox_of_the_same_server_is_read_from_its_beginning() -> None:
    anna = ImapSettings(host="imap.gmail.com", user="anna@example.com")

    assert anna.rules_digest != anna.model_copy(update={"user": "bert@example.com"}).rules_digest
    assert anna.rules_digest != anna.model_copy(update={"host": "imap.example.com"}).rules_digest
    assert anna.rules_digest == anna.model_copy(update={"poll_s": 5.0}).rules_digest
