import asyncio
import smtplib
import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from ipaddress import ip_network
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from docmill.errors import MisconfiguredError, NetworkError, ServerError
from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.sources.item_intake import ItemIntake, TakenItem
from docmill.service.sources.smtp import mail_data, mail_handler, mail_protocol
from docmill.service.sources.smtp.receiver import receiving_mails
from docmill.service.store import arrivals
from docmill.service.store.arrivals import ArrivalRow
from support.mail_clients import MAIL, Mailbox, MailClient

AddMailbox = Callable[..., Awaitable[Mailbox]]


async def arrived(service: Service, mailbox: Mailbox) -> list[ArrivalRow]:
    async with service.database.tenant(mailbox.row.tenant_id) as conn:
        return await arrivals.of_source(conn, mailbox.row.id, limit=1000)


async def test_a_mail_is_filed_before_its_client_is_told(
    service: Service, client: MailClient, add_mailbox: AddMailbox
) -> None:
    mailbox = await add_mailbox()

    assert await client.send(mailbox.address) == (250, "2.0.0 taken")

    (arrival,) = await arrived(service, mailbox)
    assert arrival.document_id is not None
    assert arrival.metadata == {
        "sender": "Anna <anna@example.com>",
        "recipient": "invoices@in.example.org",
        "subject": "Invoice 7",
        "envelope_sender": "anna@example.com",
        "envelope_recipient": mailbox.address,
        "client": "127.0.0.1",
    }
    assert (await service.queue.depth()).due == 1
    current = await service.sources.get(mailbox.row.id, tenant_id=mailbox.row.tenant_id)
    assert current is not None
    assert current.last_success_at is not None


async def test_the_content_is_kept_to_the_byte(
    service: Service, client: MailClient, add_mailbox: AddMailbox
) -> None:
    mailbox = await add_mailbox()
    mail = MAIL + b"..\r\n.\n.\r.\r\n" + b"x" * 200_000 + b"\r\n.dot\r\n" + b"line\r\n" * 100_000

    # What a client sends is not ended by a dot between other line ends than CR LF.
    def send() -> bytes:
        with client.connect() as smtp:
            smtp.mail("anna@example.com")
            smtp.rcpt(mailbox.address)
            smtp.putcmd("data")
            smtp.getreply()
            smtp.send(b"".join(b"." + line if line.startswith(b".") else line for line in split(mail)))
            smtp.send(b".\r\n")
            return smtp.getreply()[1]

    assert await asyncio.to_thread(send) == b"2.0.0 taken"
    (arrival,) = await arrived(service, mailbox)
    async with service.database.tenant(mailbox.row.tenant_id) as conn:
        cur = await conn.execute("SELECT file_path FROM document WHERE id = %s", [arrival.document_id])
        ((path,),) = await cur.fetchall()
    assert b"".join([chunk async for chunk in service.blobs.stream(path)]) == mail


def split(mail: bytes) -> list[bytes]:
    return [line + b"\r\n" for line in mail.split(b"\r\n")[:-1]]


@pytest.mark.parametrize(
    ("address", "answer"),
    [
        ("invoices+aaaaaaaaaa@in.example.org", "550 5.1.1"),
        ("invoices@in.example.org", "550 5.1.1"),
        ("anna@elsewhere.example.org", "550 5.7.1"),
        ("o'neil+x@in.example.org", "550 5.1.1"),
    ],
)
async def test_other_addresses_are_refused(
    client: MailClient, add_mailbox: AddMailbox, address: str, answer: str
) -> None:
    await add_mailbox()

    code, text = await client.send(address)

    assert f"{code} {text}".startswith(answer)


async def test_whoever_guesses_addresses_must_connect_again(client: MailClient) -> None:
    def guess() -> int:
        with client.connect() as smtp:
            smtp.mail("anna@example.com")
            for number in range(50):
                if smtp.rcpt(f"invoices+{number}@in.example.org")[0] == 421:
                    return number
        return 50

    assert await asyncio.to_thread(guess) == 10


async def test_names_are_an_address_only_with_a_list_of_senders(
    service: Service, client: MailClient, add_mailbox: AddMailbox, stranger: UUID
) -> None:
    async with service.database.accounts() as conn:
        await conn.execute(
            "UPDATE tenant SET name = 'Müller & Co' WHERE id = %s", [service.default_tenant_id]
        )
    listed = await add_mailbox("Bills", senders=["example.com"])
    await add_mailbox("Open")
    await add_mailbox("Bills", tenant_id=stranger, senders=["example.com"])

    assert (await client.send("BILLS+m-ller-co@IN.example.org"))[0] == 250
    assert (await client.send("open+m-ller-co@in.example.org"))[0] == 550
    assert len(await arrived(service, listed)) == 1

    async with service.database.accounts() as conn:
        await conn.execute("UPDATE tenant SET name = 'muller-co' WHERE id = %s", [service.default_tenant_id])
        await conn.execute("UPDATE tenant SET name = 'Muller Co' WHERE id = %s", [stranger])
    assert (await client.send("bills+muller-co@in.example.org"))[0] == 550


async def test_a_paused_source_has_mails_sent_again_later(
    service: Service, client: MailClient, add_mailbox: AddMailbox
) -> None:
    mailbox = await add_mailbox()
    await service.sources.set_state(mailbox.row.id, "paused", tenant_id=mailbox.row.tenant_id)

    assert (await client.send(mailbox.address))[0] == 451

    await service.sources.set_state(mailbox.row.id, "active", tenant_id=mailbox.row.tenant_id)
    assert (await client.send(mailbox.address))[0] == 250
    await service.sources.remove(mailbox.row.id, tenant_id=mailbox.row.tenant_id)
    assert (await client.send(mailbox.address))[0] == 550


@pytest.mark.parametrize(
    ("chosen", "sender", "header", "code"),
    [
        ({"senders": ["example.com"]}, "bounces@other.org", b"anna@example.com", 250),
        ({"senders": ["anna@example.com"]}, "anna@example.com", b"Anna <ANNA@Example.com>", 250),
        ({"senders": ["*.example.com"]}, "", b"anna@mail.example.com", 250),
        ({"senders": ["example.com"]}, "anna@example.com", b"eve@example.com.evil.org", 550),
        ({"senders": ["example.com"]}, "anna@example.com", b"anna@example.com, eve@evil.org", 550),
        (
            {"senders": ["example.com"]},
            "a@example.com",
            b"anna@example.com\r\nFrom: eve@evil.org",
            550,
        ),
        ({"senders": ["example.com"]}, "anna@example.com", b"", 550),
        ({"envelope_senders": ["example.com"]}, "bounces@example.com", b"eve@evil.org", 250),
        ({"envelope_senders": ["example.com"]}, "eve@evil.org", b"anna@example.com", 550),
        ({"envelope_senders": ["example.com"]}, "", b"anna@example.com", 550),
    ],
)
async def test_lists_of_senders_hold_for_header_and_envelope(
    client: MailClient,
    add_mailbox: AddMailbox,
    chosen: dict[str, list[str]],
    sender: str,
    header: bytes,
    code: int,
) -> None:
    mailbox = await add_mailbox(**chosen)

    answer = await client.send(mailbox.address, b"From: " + header + b"\r\n\r\nHello\r\n", sender=sender)

    assert answer[0] == code


async def test_each_tenant_gets_its_own_mails(
    service: Service, client: MailClient, add_mailbox: AddMailbox, stranger: UUID
) -> None:
    ours, theirs = await add_mailbox(), await add_mailbox(tenant_id=stranger)

    assert (await client.send(ours.address))[0] == 250
    assert (len(await arrived(service, ours)), len(await arrived(service, theirs))) == (1, 0)
    assert (await client.send([ours.address, theirs.address, theirs.address]))[0] == 250

    (first,), (second,) = await arrived(service, ours), await arrived(service, theirs)
    assert first.document_id != second.document_id
    assert second.metadata["envelope_recipient"] == theirs.address


async def test_a_mail_that_one_source_refuses_is_noted_there_and_taken_by_the_other(
    service: Service, client: MailClient, add_mailbox: AddMailbox
) -> None:
    strict, lenient = await add_mailbox("Strict", senders=["other.org"]), await add_mailbox("Lenient")

    assert (await client.send([strict.address, lenient.address]))[0] == 250

    ((refused,), (taken,)) = await arrived(service, strict), await arrived(service, lenient)
    assert refused.error_code == "validation"
    assert taken.document_id is not None
    assert (await client.send(strict.address))[0] == 550


async def test_a_mail_sent_twice_is_taken_once(
    service: Service, client: MailClient, add_mailbox: AddMailbox
) -> None:
    mailbox = await add_mailbox()

    assert [(await client.send(mailbox.address))[0] for _ in range(3)] == [250, 250, 250]
    assert len(await arrived(service, mailbox)) == 1


async def test_a_client_that_lost_the_answer_sends_again_and_the_mail_is_taken_once(
    service: Service, client: MailClient, add_mailbox: AddMailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    mailbox = await add_mailbox()
    push = mail_protocol.MailProtocol.push
    losses = [True]

    async def lose(self: mail_protocol.MailProtocol, status: str) -> None:
        if status == mail_handler.TAKEN and losses.pop():
            assert isinstance(self.transport, asyncio.Transport)
            self.transport.abort()
        await push(self, status)

    monkeypatch.setattr(mail_protocol.MailProtocol, "push", lose)
    with pytest.raises(smtplib.SMTPServerDisconnected):
        await client.send(mailbox.address)
    losses.append(False)

    assert (await client.send(mailbox.address))[0] == 250
    assert len(await arrived(service, mailbox)) == 1


async def test_a_failure_of_ours_has_the_mail_sent_again(
    service: Service, client: MailClient, add_mailbox: AddMailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = await add_mailbox("First"), await add_mailbox("Second")
    take = ItemIntake.take

    async def fail(self: ItemIntake, *args: Any, **options: Any) -> TakenItem:  # noqa: ANN401  as its own
        if self.source_id == second.row.id:
            raise ServerError("the database is gone")
        return await take(self, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(ItemIntake, "take", fail)
        assert (await client.send([first.address, second.address]))[0] == 451
    assert (await client.send([first.address, second.address]))[0] == 250
    assert (len(await arrived(service, first)), len(await arrived(service, second))) == (1, 1)


async def test_two_hundred_mails_at_a_time_are_all_taken(
    service: Service, client: MailClient, add_mailbox: AddMailbox
) -> None:
    mailbox = await add_mailbox()

    async def send(number: int) -> int:
        return (await client.send(mailbox.address, MAIL + b"%d\r\n" % number))[0]

    answers = await asyncio.gather(*(send(number) for number in range(200)))

    assert answers == [250] * 200
    assert len(await arrived(service, mailbox)) == 200


class TestLimits:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        limits = settings.limits.model_copy(update={"file_mb": 1.0})
        return settings.model_copy(update={"limits": limits})

    @pytest.fixture
    def receiver_settings(self) -> dict[str, Any]:
        return {"connections": 4, "connections_per_address": 3}

    async def test_mails_that_are_too_large_are_refused_before_and_after_they_are_sent(
        self, service: Service, client: MailClient, add_mailbox: AddMailbox
    ) -> None:
        mailbox = await add_mailbox()
        large = MAIL + b"x" * 998 + b"\r\n" + b"y" * 1_100_000 + b"\r\n"

        def tell() -> bytes:
            with client.connect() as smtp:
                return smtp.esmtp_features["size"].encode()

        assert await asyncio.to_thread(tell) == b"1000000"
        assert (await client.send(mailbox.address, large, options=["size=1100000"]))[0] == 552
        assert (await client.send(mailbox.address, large))[0] == 552
        assert (await client.send(mailbox.address))[0] == 250
        assert len(await arrived(service, mailbox)) == 1

    async def test_an_endless_mail_ends_the_session(
        self, client: MailClient, add_mailbox: AddMailbox, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(mail_data, "_MOST_EXCESS", 100_000)
        mailbox = await add_mailbox()

        def send() -> None:
            with client.connect() as smtp:
                smtp.mail("anna@example.com")
                smtp.rcpt(mailbox.address)
                smtp.putcmd("data")
                smtp.getreply()
                for _ in range(1000):
                    smtp.send(b"x" * 1_000_000)

        with pytest.raises((OSError, smtplib.SMTPServerDisconnected)):
            await asyncio.to_thread(send)
        assert (await client.send(mailbox.address))[0] == 250

    async def test_too_many_sessions_of_one_address_are_told_to_wait(self, client: MailClient) -> None:
        def connect() -> list[int]:
            sessions = [client.connect() for _ in range(3)]
            with pytest.raises(smtplib.SMTPConnectError) as refused:
                client.connect()
            for session in sessions:
                session.close()
            return [refused.value.smtp_code]

        assert await asyncio.to_thread(connect) == [421]
        async with asyncio.timeout(10):
            while True:
                try:
                    (await asyncio.to_thread(client.connect)).close()
                    break
                except smtplib.SMTPException:
                    await asyncio.sleep(0.05)

    async def test_a_silent_client_is_let_go(
        self, client: MailClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(mail_protocol, "_COMMAND_S", 0.2)

        def wait() -> bytes:
            with socket.create_connection(("127.0.0.1", client.port), timeout=10) as connection:
                connection.recv(1000)
                return connection.recv(1000)

        assert await asyncio.to_thread(wait) == b""

    async def test_long_and_unknown_commands_end_nothing_but_their_session(
        self, client: MailClient, add_mailbox: AddMailbox
    ) -> None:
        mailbox = await add_mailbox()

        def talk() -> list[int]:
            with client.connect() as smtp:
                long = smtp.docmd("NOOP " + "x" * 200_000)[0]
                return [
                    long,
                    smtp.docmd("AUTH PLAIN x")[0],
                    smtp.docmd("VRFY anna")[0],
                    smtp.docmd("MAILBOX")[0],
                ]

        answers = await asyncio.to_thread(talk)
        assert all(500 <= code < 600 for code in answers), answers
        assert (await client.send(mailbox.address))[0] == 250

    async def test_pipelined_commands_are_answered_in_order(
        self, client: MailClient, add_mailbox: AddMailbox
    ) -> None:
        mailbox = await add_mailbox()

        def talk() -> list[bytes]:
            with socket.create_connection(("127.0.0.1", client.port), timeout=10) as connection:
                commands = (
                    "EHLO c\r\nMAIL FROM:<a@b.org>\r\nRCPT TO:<x@in.example.org>\r\n"
                    f"RCPT TO:<{mailbox.address}>\r\nDATA\r\n"
                ).encode()
                connection.sendall(commands + MAIL + b".\r\nQUIT\r\n")
                answers = b""
                while piece := connection.recv(10_000):
                    answers += piece
                return [line[:3] for line in answers.splitlines() if line[3:4] == b" "]

        assert await asyncio.to_thread(talk) == [
            b"220",
            b"250",
            b"250",
            b"550",
            b"250",
            b"354",
            b"250",
            b"221",
        ]


class TestTls:
    @pytest.fixture
    def receiver_settings(self, certificate: tuple[Path, Path]) -> dict[str, Any]:
        return {"tls_certificate": certificate[0], "tls_key": certificate[1], "require_tls": True}

    async def test_mails_are_taken_after_starttls_only(
        self, service: Service, client: MailClient, add_mailbox: AddMailbox, certificate: tuple[Path, Path]
    ) -> None:
        mailbox = await add_mailbox()
        client.trust = ssl.create_default_context(cafile=certificate[0])
        client.trust.check_hostname = False

        def features() -> tuple[bool, bool, bool]:
            with client.connect() as smtp:
                before = smtp.has_extn("starttls")
                smtp.starttls(context=client.trust)
                smtp.ehlo()
                return before, smtp.has_extn("starttls"), smtp.has_extn("auth")

        assert await asyncio.to_thread(features) == (True, False, False)
        assert (await client.send(mailbox.address))[0] == 530
        assert (await client.send(mailbox.address, MAIL * 5000, tls=True))[0] == 250
        assert len(await arrived(service, mailbox)) == 1


class TestRelays:
    @pytest.fixture
    def receiver_settings(self) -> dict[str, Any]:
        return {
            "trusted_relays": (ip_network("127.0.0.0/8"),),
            "authserv_id": "mx.example.org",
            "connections_per_address": 1,
        }

    @pytest.mark.parametrize(
        ("results", "code", "spf", "dkim"),
        [
            ("mx.example.org; spf=pass smtp.mailfrom=bounces@example.com; dkim=fail", 250, "pass", "fail"),
            ("mx.example.org; dkim=pass header.d=example.com header.s=a", 250, "none", "pass"),
            ("mx.example.org; dkim=pass header.d=evil.org", 550, "none", "pass"),
            ("mx.evil.org; dkim=pass header.d=example.com", 550, None, None),
            ("nonsense; ;;", 550, None, None),
        ],
    )
    async def test_results_of_a_trusted_relay_are_believed(
        self,
        service: Service,
        client: MailClient,
        add_mailbox: AddMailbox,
        results: str,
        code: int,
        spf: str | None,
        dkim: str | None,
    ) -> None:
        pytest.importorskip("authres")
        strict, lenient = await add_mailbox("Strict", require="spf_or_dkim"), await add_mailbox()
        mail = f"Authentication-Results: {results}\r\n".encode() + MAIL

        assert (await client.send(strict.address, mail))[0] == code
        assert (await client.send(lenient.address, mail))[0] == 250

        (arrival,) = await arrived(service, lenient)
        assert (arrival.metadata.get("spf"), arrival.metadata.get("dkim")) == (spf, dkim)


async def test_a_second_receiver_takes_over_when_the_first_ends(
    service: Service,
    settings: Settings,
    receive: Callable[[], AbstractAsyncContextManager[MailClient]],
    add_mailbox: AddMailbox,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("docmill.service.sources.smtp.receiver._AGAIN_S", 0.05)
    mailbox = await add_mailbox()
    async with receive() as client:
        same = settings.model_copy(
            update={"smtp_receiver": settings.smtp_receiver.model_copy(update={"port": client.port})}
        )
        second = receiving_mails(service.database, service.sources, same, tmp_path)
        port = await second.__aenter__()
        await asyncio.sleep(0.2)
        assert not port.done()
    try:
        assert await asyncio.wait_for(port, 10) == client.port
        assert (await client.send(mailbox.address))[0] == 250
    finally:
        await second.__aexit__(None, None, None)


async def test_a_source_tells_its_address_and_whether_mails_are_taken(
    service: Service, settings: Settings, client: MailClient, add_mailbox: AddMailbox
) -> None:
    mailbox = await add_mailbox("Rechnungen (März)")
    listening = settings.smtp_receiver.model_copy(update={"port": client.port})
    service.sources._settings = settings.model_copy(update={"smtp_receiver": listening})  # pyright: ignore[reportPrivateUsage]

    assert mailbox.address.startswith("rechnungen-m-rz+")
    assert await service.sources.test(mailbox.row) == f"mails to {mailbox.address} are taken"
    # Before a source is made nobody knows its address: one that was made up must not be told.
    tried = await service.sources.test_settings("smtp", {}, {}, tenant_id=mailbox.row.tenant_id)
    assert tried == "mails are taken here"

    gone = settings.smtp_receiver.model_copy(update={"port": 1})
    service.sources._settings = settings.model_copy(update={"smtp_receiver": gone})  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(NetworkError, match="docmill worker"):
        await service.sources.test(mailbox.row)


async def test_nobody_chooses_a_token_and_it_stays_until_another_is_asked_for(
    service: Service, add_mailbox: AddMailbox
) -> None:
    mailbox = await add_mailbox(address_token="aaaaaaaaaa")
    token = mailbox.row.settings["address_token"]
    assert token != "aaaaaaaaaa"

    changed = await service.sources.change(mailbox.row, settings={"senders": ["a.org"]})
    assert changed.settings["address_token"] == token
    changed = await service.sources.change(mailbox.row, settings={"address_token": ""})
    assert changed.settings["address_token"] not in {token, ""}


class TestWithoutReceiver:
    @pytest.fixture
    def receiver_settings(self) -> dict[str, Any]:
        return {"port": None}

    async def test_no_source_of_mails_can_be_made(self, add_mailbox: AddMailbox) -> None:
        with pytest.raises(MisconfiguredError, match=r"smtp_receiver\.port"):
            await add_mailbox()


async def test_genuine_senders_cannot_be_required_where_nobody_checks_them(add_mailbox: AddMailbox) -> None:
    with pytest.raises(MisconfiguredError, match="check_senders"):
        await add_mailbox(require="spf_or_dkim")
