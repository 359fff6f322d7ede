"""Mails that Amazon SES writes to a bucket, on two emulators; the test writes in its place."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from uuid import UUID, uuid4

import pytest
from pydantic import JsonValue

from docmill.errors import MisconfiguredError
from docmill.service.app import Service
from docmill.service.aws.client import Operations, Session, open_operations
from docmill.service.config.settings import Aws, Buckets, Queues, Settings
from docmill.service.dead_messages import open_dead_messages
from docmill.service.sources.item_intake import ItemIntake
from docmill.service.sources.ses.acquisition import Acquisition, AcquisitionPlaces, open_acquisition
from docmill.service.sources.ses.ses_source import SES, SesSettings
from docmill.service.store import arrivals, document_list, ingestions, tenants
from docmill.service.store.arrivals import ArrivalRow
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.store.doc_sources import SourceRow
from support.aws_emulators import Emulator
from support.scripted_steps import RunWorker

REGION = "eu-central-1"
Add = Callable[..., Awaitable[SourceRow]]
MAIL = b"From: Anna <anna@example.com>\r\nSubject: Bill 7\r\nMessage-ID: <7@example.com>\r\n\r\nHello"


@pytest.fixture
def settings(settings: Settings, emulator: Emulator) -> Settings:
    name = f"emails-{uuid4()}"
    sources = settings.sources.model_copy(update={"ses_domain": "in.example.com"})
    return settings.model_copy(
        update={
            "sources": sources,
            "limits": settings.limits.model_copy(update={"file_mb": 0.1}),
            "aws": Aws(endpoint=emulator.endpoint, create=True),
            "queues": Queues(acquisition=name),
            "buckets": Buckets(emails=name),
        }
    )


@pytest.fixture
async def places(service: Service) -> AsyncIterator[AcquisitionPlaces]:
    async with open_acquisition(service.settings) as places:
        yield places


@pytest.fixture
async def s3(emulator: Emulator, aws_session: Session) -> AsyncIterator[Operations]:
    async with open_operations(aws_session, "s3", region=REGION, endpoint=emulator.endpoint) as s3:
        yield s3


@pytest.fixture
def acquisition(service: Service) -> Acquisition:
    return Acquisition(service.sources, service.database, service.settings)


@pytest.fixture
def add(service: Service) -> Add:
    async def add(tenant_id: UUID | None = None, **settings: JsonValue) -> SourceRow:
        return await service.sources.add(
            "ses",
            f"Invoices {uuid4().hex[:6]}",
            settings,
            {},
            tenant_id=tenant_id or service.default_tenant_id,
            created_by=DEFAULT_USER_ID,
        )

    return add


class Ses:
    """Writes mails and tells of them, as Amazon SES does."""

    def __init__(self, s3: Operations, places: AcquisitionPlaces) -> None:
        self._s3 = s3
        self._places = places

    async def receive(self, content: bytes, *recipients: str, folder: str = "", **verdicts: str) -> None:
        """By a receipt through SNS."""
        key = await self.put(content, folder)
        bucket = self._places.bucket.name
        receipt: dict[str, Any] = {
            "recipients": recipients,
            "action": {"type": "S3", "bucketName": bucket, "objectKey": key},
            **{f"{name}Verdict": {"status": status} for name, status in verdicts.items()},
        }
        message = json.dumps({"notificationType": "Received", "mail": {}, "receipt": receipt})
        await self.send(json.dumps({"Type": "Notification", "Message": message}))

    async def receive_plain(self, content: bytes, *, folder: str = "") -> None:
        """By an event of the bucket."""
        entry = {
            "bucket": {"name": self._places.bucket.name},
            "object": {"key": await self.put(content, folder)},
        }
        await self.send(json.dumps({"Records": [{"eventName": "ObjectCreated:Put", "s3": entry}]}))

    async def put(self, content: bytes, folder: str) -> str:
        key = f"{folder}{uuid4().hex}"
        await self._s3.call("put_object", Bucket=self._places.bucket.name, Key=key, Body=content)
        return key

    async def send(self, body: str) -> None:
        await self._places.channel.send([body])

    async def left(self) -> int:
        return sum(await self._places.channel.counts())


@pytest.fixture
def ses(s3: Operations, places: AcquisitionPlaces) -> Ses:
    return Ses(s3, places)


def address(service: Service, row: SourceRow) -> str:
    found = service.sources.address(row)
    assert found is not None
    return found


async def items(service: Service, row: SourceRow) -> list[ArrivalRow]:
    async with service.database.tenant(row.tenant_id) as conn:
        return await arrivals.of_source(conn, row.id, limit=100)


async def new_tenant(service: Service) -> UUID:
    async with service.database.accounts() as conn:
        return await tenants.add(conn, "Other")


async def test_a_mail_goes_to_the_source_that_it_is_addressed_to(
    service: Service, add: Add, ses: Ses, acquisition: Acquisition, places: AcquisitionPlaces
) -> None:
    row, other = await add(), await add()
    recipient = address(service, row)
    assert recipient.endswith(f"+{row.settings['address_token']}@in.example.com")
    await ses.receive(MAIL, recipient.upper(), "somebody@in.example.com", spf="PASS", virus="FAIL")
    await ses.receive_plain(MAIL.replace(b"Bill 7", b"Bill 8"), folder=f"{row.settings['address_token']}/")
    await ses.receive_plain(b"To: " + recipient.encode() + b"\r\n" + MAIL.replace(b"7", b"9"))

    while await acquisition.take_batch(places, wait_s=1):
        pass

    assert await ses.left() == 0
    found = {str(item.metadata["subject"]): item.metadata for item in await items(service, row)}
    assert set(found) == {"Bill 7", "Bill 8", "Bill 9"}
    assert (
        found["Bill 7"].items()
        >= {
            "sender": "Anna <anna@example.com>",
            "message_id": "<7@example.com>",
            "recipient": recipient.upper(),
            "spf": "pass",
            "virus": "fail",
        }.items()
    )
    assert await items(service, other) == []
    async with service.database.tenant(row.tenant_id) as conn:
        documents = (await document_list.page(conn)).rows
        (ingestion,) = await ingestions.of_document(conn, documents[0].id)
    assert {document.file_name for document in documents} == {"Bill 7.eml", "Bill 8.eml", "Bill 9.eml"}
    assert ingestion.doc_source_id == row.id


async def test_a_mail_for_two_organisations_is_filed_in_each(
    service: Service, add: Add, ses: Ses, acquisition: Acquisition, places: AcquisitionPlaces
) -> None:
    row, other = await add(), await add(await new_tenant(service))
    await ses.receive(MAIL, address(service, row), address(service, other))

    await acquisition.take_batch(places, wait_s=1)

    for each in (row, other):
        (item,) = await items(service, each)
        assert item.metadata["recipient"] == address(service, each)
    assert row.tenant_id != other.tenant_id


async def test_a_mail_is_taken_once_however_often_it_is_told_of(
    service: Service,
    add: Add,
    ses: Ses,
    acquisition: Acquisition,
    places: AcquisitionPlaces,
    emulator: Emulator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row = await add()
    await ses.receive(MAIL, address(service, row))
    filed = asyncio.Event()
    take = ItemIntake.take

    async def take_and_hang(*arguments: Any, **more: Any) -> Any:  # noqa: ANN401
        await take(*arguments, **more)
        filed.set()
        await asyncio.Event().wait()

    with monkeypatch.context() as patch:
        patch.setattr(ItemIntake, "take", take_and_hang)
        killed = asyncio.create_task(acquisition.take_batch(places, wait_s=1))
        await filed.wait()
        killed.cancel()
        await asyncio.wait([killed])
    assert len(await items(service, row)) == 1
    assert await ses.left() == 1
    emulator.ahead_s += 130
    await ses.receive(MAIL, address(service, row))

    for _ in range(2):
        await acquisition.take_batch(places, wait_s=2)

    assert await ses.left() == 0
    assert len(await items(service, row)) == 1


async def test_a_mail_that_nobody_wants_stays_and_is_dead_in_the_end(
    service: Service,
    add: Add,
    ses: Ses,
    acquisition: Acquisition,
    places: AcquisitionPlaces,
    emulator: Emulator,
    caplog: pytest.LogCaptureFixture,
) -> None:
    row = await add()
    await ses.receive(MAIL, "nobody@in.example.com", "x+zzzzzzzzzz@in.example.com")
    await ses.send("junk s3cret")
    for _ in range(12):
        await acquisition.take_batch(places, wait_s=1)
        emulator.ahead_s += 7 * 3600

    assert await ses.left() == 0  # both are dead
    assert "a mail is for no source" in caplog.text
    assert "s3cret" not in caplog.text
    assert "nobody@" not in caplog.text
    assert await items(service, row) == []
    pages = [page async for page in places.bucket.pages("")]
    assert len(pages[0]) == 1


async def test_a_dead_mail_reaches_the_source_that_was_missing(
    service: Service,
    add: Add,
    ses: Ses,
    acquisition: Acquisition,
    places: AcquisitionPlaces,
    emulator: Emulator,
    caplog: pytest.LogCaptureFixture,
) -> None:
    row = await add()
    recipient = address(service, row)
    await service.sources.remove(row.id, tenant_id=row.tenant_id)
    await ses.receive(MAIL, recipient)
    for _ in range(places.max_receives + 2):
        await acquisition.take_batch(places, wait_s=1)
        emulator.ahead_s += 7 * 3600

    assert "a message about a mail is dead" in caplog.text
    async with open_dead_messages(service, "acquisition") as dead:
        (message,) = await dead.find(limit=10)
        assert recipient in message.body
        async with service.database.tenant(row.tenant_id) as conn:
            await conn.execute("UPDATE doc_source SET removed_at = NULL, state = 'active'")
        assert await dead.redrive([message]) == 1
        assert await dead.find(limit=10) == []
    await acquisition.take_batch(places, wait_s=2)

    assert len(await items(service, row)) == 1
    assert await ses.left() == 0


async def test_mails_of_a_paused_source_wait(
    service: Service,
    add: Add,
    ses: Ses,
    acquisition: Acquisition,
    places: AcquisitionPlaces,
    emulator: Emulator,
) -> None:
    row = await add()
    await service.sources.set_state(row.id, "paused", tenant_id=row.tenant_id)
    await ses.receive(MAIL, address(service, row))
    await acquisition.take_batch(places, wait_s=1)
    assert await items(service, row) == []

    await service.sources.set_state(row.id, "active", tenant_id=row.tenant_id)
    emulator.ahead_s += 70
    await acquisition.take_batch(places, wait_s=2)

    assert len(await items(service, row)) == 1


async def test_mails_of_a_paused_source_outlast_any_number_of_deliveries(
    service: Service,
    add: Add,
    ses: Ses,
    acquisition: Acquisition,
    places: AcquisitionPlaces,
    emulator: Emulator,
) -> None:
    row = await add()
    await service.sources.set_state(row.id, "paused", tenant_id=row.tenant_id)
    await ses.receive(MAIL, address(service, row))
    deliveries = 0
    while deliveries < 2 * places.max_receives:
        deliveries += await acquisition.take_batch(places, wait_s=1)
        emulator.ahead_s += 1000  # longer than a mail waits after the end of a pause
    assert await places.dead.counts() == (0, 0, 0)

    await service.sources.set_state(row.id, "active", tenant_id=row.tenant_id)
    await acquisition.take_batch(places, wait_s=2)

    assert len(await items(service, row)) == 1
    assert await ses.left() == 0


async def test_what_a_source_does_not_take_is_refused_with_the_reason(
    service: Service, add: Add, ses: Ses, acquisition: Acquisition, places: AcquisitionPlaces
) -> None:
    row = await add(senders=["*.example.com"], suspicious="refuse")
    recipient = address(service, row)
    await ses.receive(MAIL.replace(b"anna@example.com", b"eve@example.org"), recipient)
    await ses.receive(MAIL + bytes(100_000), recipient)
    await ses.receive(MAIL, recipient, spam="FAIL")

    while await acquisition.take_batch(places, wait_s=1):
        pass

    assert {item.error_message for item in await items(service, row)} == {
        "the sender is not among those that the source takes mails from",
        "the mail is larger than 0.1 MB",
        "Amazon SES takes the mail for one with spam",
    }
    assert await ses.left() == 0


async def test_a_worker_takes_mails_by_itself(
    service: Service, add: Add, ses: Ses, working: RunWorker
) -> None:
    row = await add()
    assert "are taken" in await service.sources.test(row)
    async with working():
        await ses.receive(MAIL, address(service, row))
        async with asyncio.timeout(30):
            while True:
                if await items(service, row):
                    break
                await asyncio.sleep(0.1)


async def test_the_token_of_a_source_is_made_once_and_not_chosen(service: Service, add: Add) -> None:
    row = await add(address_token="aaaaaaaaaa")
    token = row.settings["address_token"]
    assert token != "aaaaaaaaaa"

    assert token in await service.sources.test_change(row, {"suspicious": "refuse"}, {})
    changed = await service.sources.change(row, settings={"suspicious": "refuse"})
    assert changed.settings["address_token"] == token


@pytest.mark.parametrize("emulator", ["ministack"], indirect=True)
async def test_without_a_domain_there_is_no_such_source(service: Service) -> None:
    closed = service.settings.model_copy(
        update={"sources": service.settings.sources.model_copy(update={"ses_domain": None})}
    )
    with pytest.raises(MisconfiguredError, match=r"sources\.ses_domain"):
        SES.check(SesSettings.model_validate({}), closed)
