"""Documents that hold documents, in the vault."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from docmill.errors import CorruptError, EncryptedError, MisconfiguredError
from docmill.model.document import Document, Part
from docmill.pipeline import PartLimits, Steps
from docmill.ports import Original, PartFile, Ref
from docmill.resilience.breaker import Breaker
from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.intake.accept import Accepted
from docmill.service.intake.attachment_kinds import LEFT_OUT
from docmill.service.intake.members import VaultMemberReceiver
from docmill.service.protocol.claim_rules import ClaimLostError
from docmill.service.store import claims, document_list, ingestions, parts
from docmill.service.store.claims import Claim
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.store.document_list import DocumentFilters
from docmill.service.store.documents import DocumentRow
from docmill.service.store.ingestions import IngestionRow
from docmill.service.store.parts import PartRow, WholeRow
from docmill.service.worker import run_worker
from support.nested_documents import Content, NestedDocuments
from support.scripted_steps import AtOnceError, RunWorker, Upload, once

Put = Callable[..., Awaitable[Accepted]]


MAIL: Content = {"": "body", "b.pdf": "b", "c.pdf": "c"}


@pytest.fixture
def boxes(make_document: Callable[..., Document]) -> NestedDocuments:
    return NestedDocuments(make_document("Total 1.00"))


@pytest.fixture
def settings(settings: Settings) -> Settings:
    limits = settings.limits.model_copy(update={"parts_depth": 2, "parts_in_all": 6})
    sources = settings.sources.model_copy(update={"folders": (settings.folder,)})
    return settings.model_copy(update={"limits": limits, "sources": sources})


@pytest.fixture
def steps(boxes: NestedDocuments) -> Steps:
    return boxes.steps()


@pytest.fixture
def put(upload: Upload) -> Put:
    async def accept(content: Content, *, force: bool = False) -> Accepted:
        return await upload(json.dumps(content).encode(), file_name="a.zip", force=force)

    return accept


class Sight:
    """What there is in the vault."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def documents(self) -> dict[str, DocumentRow]:
        async with self._service.database.tenant(self._service.default_tenant_id) as conn:
            rows = (await document_list.page(conn, limit=100)).rows
        assert len({row.file_name for row in rows}) == len(rows)
        return {row.file_name: row for row in rows}

    async def parts(self, name: str) -> list[PartRow]:
        row = (await self.documents())[name]
        async with self._service.database.tenant(row.tenant_id) as conn:
            return await parts.of_document(conn, row.id)

    async def wholes(self, name: str) -> list[WholeRow]:
        row = (await self.documents())[name]
        async with self._service.database.tenant(row.tenant_id) as conn:
            return await parts.wholes_of(conn, row.id)

    async def history(self, name: str) -> list[IngestionRow]:
        row = (await self.documents())[name]
        async with self._service.database.tenant(row.tenant_id) as conn:
            return await ingestions.of_document(conn, row.id)

    async def at_rest(self) -> dict[str, DocumentRow]:
        """The documents, once none is under way."""
        async with asyncio.timeout(20):
            async for _ in self._service.feed.follow(self._service.default_tenant_id, 0):
                found = await self.documents()
                if all(row.state != "processing" for row in found.values()):
                    return found
        raise AssertionError


@pytest.fixture
def sight(service: Service) -> Sight:
    return Sight(service)


async def test_what_a_document_holds_becomes_documents(
    put: Put, working: RunWorker, sight: Sight, service: Service
) -> None:
    await put({"x/b.pdf": "b", "c.zip": {"d.pdf": "d"}, "bad": ""})

    async with working():
        found = await sight.at_rest()

    assert set(found) == {"a.zip", "b.pdf", "c.zip", "d.pdf"}
    assert {row.state for row in found.values()} == {"ready"}
    assert (found["a.zip"].title, found["a.zip"].page_count) == ("a.zip", 0)
    assert [(part.name, part.problem, part.state) for part in await sight.parts("a.zip")] == [
        ("x/b.pdf", None, "ready"),
        ("c.zip", None, "ready"),
        ("bad", "broken", None),
    ]
    assert [whole.parent_id for whole in await sight.wholes("d.pdf")] == [found["c.zip"].id]
    assert await service.blobs.get(found["d.pdf"].file_path) == b'"d"'


async def test_a_part_says_where_it_comes_from(put: Put, working: RunWorker, sight: Sight) -> None:
    accepted = await put({"c.zip": {"d.pdf": "d"}})

    async with working():
        found = await sight.at_rest()

    (ingestion,) = await sight.history("d.pdf")
    assert ingestion.source_metadata == {
        "part_of": str(found["c.zip"].id),
        "root_ingestion_id": str(accepted.ingestion_id),
        "depth": 2,
    }


async def test_attachments_of_kinds_that_the_source_leaves_out_become_no_documents(
    service: Service, working: RunWorker, sight: Sight
) -> None:
    row = await service.sources.add(
        "folder",
        "Mails",
        {"path": str(service.settings.folder)},
        {},
        tenant_id=service.default_tenant_id,
        created_by=DEFAULT_USER_ID,
    )
    content: Content = {"": "body", "b.pdf": "b", "c.docx": "c", "d.eml": {"": "inner", "e.xlsx": "e"}}
    await service.sources.item_intake(row).take(
        "a mail",
        once(json.dumps(content).encode()),
        file_name="a.eml",
        metadata={"attachment_kinds": ["pdf"], "subject": "Bill"},
    )

    async with working():
        found = await sight.at_rest()

    assert set(found) == {"a.eml", "b.pdf", "d.eml"}
    assert [(part.name, part.problem) for part in await sight.parts("a.eml")] == [
        ("b.pdf", None),
        ("c.docx", LEFT_OUT),
        ("d.eml", None),
    ]
    (ingestion,) = await sight.history("b.pdf")
    assert ingestion.doc_source_id == row.id


async def test_the_same_attachment_of_two_mails_is_one_document(
    put: Put, working: RunWorker, sight: Sight
) -> None:
    await put({"c.zip": {"d.pdf": "d"}, "e.zip": {"other": "x", "d.pdf": "d"}})

    async with working():
        found = await sight.at_rest()

    assert set(found) == {"a.zip", "c.zip", "e.zip", "d.pdf", "other"}
    assert {whole.parent_title for whole in await sight.wholes("d.pdf")} == {"c.zip", "e.zip"}
    assert len(await sight.history("d.pdf")) == 1


async def test_an_archive_is_found_by_the_names_in_it(put: Put, working: RunWorker, service: Service) -> None:
    await put({"hidden treasure.pdf": "b"})

    async with working():
        await Sight(service).at_rest()

    async with service.database.tenant(service.default_tenant_id) as conn:
        found = (await document_list.page(conn, DocumentFilters(query="treasure"))).rows
    assert {row.file_name for row in found} == {"a.zip", "hidden treasure.pdf"}


async def test_a_retry_of_the_whole_takes_nothing_in_twice(
    put: Put, working: RunWorker, sight: Sight, boxes: NestedDocuments
) -> None:
    boxes.whole_errors = [AtOnceError("away"), AtOnceError("away")]
    await put(MAIL)

    async with working():
        found = await sight.at_rest()

    assert set(found) == {"a.zip", "b.pdf", "c.pdf"}
    assert [part.name for part in await sight.parts("a.zip")] == ["b.pdf", "c.pdf"]
    assert [len(await sight.history(name)) for name in ("b.pdf", "c.pdf")] == [1, 1]
    assert len(boxes.unpacked) == 3


async def test_a_part_that_failed_is_not_begun_again_by_a_retry_of_its_whole(
    put: Put, working: RunWorker, sight: Sight, boxes: NestedDocuments
) -> None:
    boxes.errors["b.pdf"] = [CorruptError("torn")]
    boxes.whole_errors = [AtOnceError("away")]
    await put(MAIL)

    async with working():
        found = await sight.at_rest()

    assert (found["b.pdf"].state, found["a.zip"].state) == ("failed", "ready")
    assert len(await sight.history("b.pdf")) == 1


async def test_a_part_that_failed_is_begun_again_by_a_new_upload_of_its_whole(
    put: Put, working: RunWorker, sight: Sight, boxes: NestedDocuments
) -> None:
    boxes.errors["b.pdf"] = [CorruptError("torn")]
    async with working():
        await put(MAIL)
        await sight.at_rest()
        await put(MAIL, force=True)
        found = await sight.at_rest()

    assert {row.state for row in found.values()} == {"ready"}
    assert len(await sight.history("b.pdf")) == 2
    assert len(await sight.history("c.pdf")) == 1
    assert len(await sight.parts("a.zip")) == 2


async def test_a_locked_part_waits_for_its_password_however_often_it_comes(
    put: Put, upload: Upload, working: RunWorker, sight: Sight, boxes: NestedDocuments, service: Service
) -> None:
    boxes.errors["b.pdf"] = [EncryptedError("it has a password")]
    async with working():
        await put(MAIL)
        await sight.at_rest()
        await put(MAIL, force=True)
        await upload(json.dumps({"": "body", "b.pdf": "b"}).encode(), file_name="other.zip")
        found = await sight.at_rest()
        kept = len(await sight.history("b.pdf"))
        await service.intake.reprocess(found["b.pdf"].id, tenant_id=service.default_tenant_id)
        again = await sight.at_rest()

    assert (found["b.pdf"].state, kept) == ("failed", 1)
    assert again["b.pdf"].state == "ready"


async def test_files_within_files_have_an_end(put: Put, working: RunWorker, sight: Sight) -> None:
    await put({"1.zip": {"2.zip": {"3.zip": "deep"}}})

    async with working():
        found = await sight.at_rest()

    assert set(found) == {"a.zip", "1.zip", "2.zip"}
    assert [part.problem for part in await sight.parts("2.zip")] == [
        "it stands 2 deep in other files; unpack it and give what it holds"
    ]
    assert found["2.zip"].state == "ready"


async def test_an_upload_brings_so_many_files_and_no_more(put: Put, working: RunWorker, sight: Sight) -> None:
    await put({"1.zip": {str(number): "x" + str(number) for number in range(9)}})

    async with working():
        await sight.at_rest()

    problems = [part.problem for part in await sight.parts("1.zip")]
    too_many = "more than 6 files came with one; unpack it and give it by itself"
    assert problems == [None] * 5 + [too_many] * 4


class Circle:
    """Two archives that hold each other, as no JSON can."""

    def __init__(self, *contents: bytes) -> None:
        self._contents = contents

    async def unpack(self, original: Original, document: Document, folder: Path) -> list[PartFile]:
        content = await asyncio.to_thread(original.path.read_bytes)
        other = self._contents[(self._contents.index(content) + 1) % len(self._contents)]
        path = folder / "other"
        await asyncio.to_thread(path.write_bytes, other)
        return [PartFile(document.parts[0], path)]


@pytest.mark.parametrize("fails", [False, True])
async def test_archives_that_hold_each_other_are_taken_in_once(
    service: Service, boxes: NestedDocuments, upload: Upload, sight: Sight, *, fails: bool
) -> None:
    contents = b'{"x.zip": ""}', b'{"y.zip": ""}'
    if fails:
        boxes.whole_errors = [CorruptError("no")] * 100
        contents = b'{"x.zip": "", "": ""}', b'{"y.zip": "", "": ""}'
    steps = replace(boxes.steps(), unpacker=Circle(*contents))
    stop = asyncio.Event()
    await upload(contents[0], file_name="first.zip")

    working = asyncio.create_task(run_worker(service, steps, stop))
    found = await sight.at_rest()
    stop.set()
    await working

    assert set(found) == {"first.zip", "x.zip"}
    assert {row.state for row in found.values()} == {"failed" if fails else "ready"}
    assert [len(await sight.history(name)) for name in found] == [1, 1]
    assert [len(await sight.wholes(name)) for name in found] == [1, 1]


async def test_an_archive_that_holds_itself_says_so(
    service: Service, boxes: NestedDocuments, upload: Upload, sight: Sight
) -> None:
    content = b'{"x.zip": ""}'
    steps = replace(boxes.steps(), unpacker=Circle(content))
    stop = asyncio.Event()
    await upload(content, file_name="first.zip")

    working = asyncio.create_task(run_worker(service, steps, stop))
    await sight.at_rest()
    stop.set()
    await working

    assert [part.problem for part in await sight.parts("first.zip")] == ["the file holds itself"]


@pytest.fixture
async def claim(service: Service, put: Put) -> Claim:
    accepted = await put(MAIL)
    assert accepted.ingestion_id is not None
    async with service.database.tenant(service.default_tenant_id) as conn:
        (claim,) = await claims.take(
            conn, [accepted.ingestion_id], worker_id="one", lease_s=300, max_attempts=3
        )
    return claim


REF = Ref("a.zip", "a.zip")


def receiver(
    service: Service, claim: Claim, place: Path, limits: PartLimits | None = None
) -> VaultMemberReceiver:
    limits = limits or PartLimits()
    return VaultMemberReceiver(service.intake, service.database, claim, place, limits, Breaker("files"))


def part_files(folder: Path, *names: str) -> Sequence[PartFile]:
    files: list[PartFile] = []
    for name in names:
        path = folder / name
        path.write_text(name)
        files.append(PartFile(Part(name, "attachment"), path))
    return files


@pytest.mark.parametrize("names", [["b.pdf"], []])
async def test_who_lost_the_claim_links_nothing(
    service: Service, claim: Claim, tmp_path: Path, sight: Sight, names: list[str]
) -> None:
    stale = receiver(service, replace(claim, fence=claim.fence - 1), tmp_path)

    with pytest.raises(ClaimLostError):
        await stale.receive(REF, part_files(tmp_path, *names))

    assert set(await sight.documents()) == {"a.zip"}
    assert await sight.parts("a.zip") == []
    assert await service.blobs.keys("incoming") == []


async def test_what_an_earlier_reading_found_more_is_forgotten(
    service: Service, claim: Claim, tmp_path: Path, sight: Sight
) -> None:
    receiving = receiver(service, claim, tmp_path)
    await receiving.receive(REF, part_files(tmp_path, "b.pdf", "c.pdf"))

    await receiving.receive(REF, part_files(tmp_path, "d.pdf"))

    assert [part.name for part in await sight.parts("a.zip")] == ["d.pdf"]


async def test_a_worker_that_takes_over_goes_on_where_the_other_stopped(
    service: Service, claim: Claim, tmp_path: Path, sight: Sight
) -> None:
    files = part_files(tmp_path, "b.pdf", "c.pdf")
    before = receiver(service, claim, tmp_path)
    await before.receive(REF, files[:1])
    async with service.database.tenant(claim.tenant_id) as conn:
        assert await claims.set_back(conn, claim, error=None, delay_s=0, counts=False)
        (taken_over,) = await claims.take(
            conn, [claim.ingestion_id], worker_id="two", lease_s=300, max_attempts=3
        )

    await receiver(service, taken_over, tmp_path).receive(REF, files)

    assert [part.name for part in await sight.parts("a.zip")] == ["b.pdf", "c.pdf"]
    assert [len(await sight.history(name)) for name in ("b.pdf", "c.pdf")] == [1, 1]
    assert len(await sight.documents()) == 3
    with pytest.raises(ClaimLostError):
        await before.receive(REF, files[:1])
    assert len(await sight.parts("a.zip")) == 2


async def test_containers_of_one_upload_that_are_unpacked_at_the_same_time_share_its_limit(
    service: Service, claim: Claim, tmp_path: Path, sight: Sight
) -> None:
    limits = PartLimits(in_all=10)
    await receiver(service, claim, tmp_path, limits).receive(REF, part_files(tmp_path, "1.zip", "2.zip"))
    ingestions_of = [(await sight.history(name))[0] for name in ("1.zip", "2.zip")]
    async with service.database.tenant(claim.tenant_id) as conn:
        inner = await claims.take(
            conn, [row.id for row in ingestions_of], worker_id="one", lease_s=300, max_attempts=3
        )

    async with asyncio.TaskGroup() as group:
        for number, of_zip in enumerate(inner):
            place = tmp_path / str(number)
            place.mkdir()
            files = part_files(place, *(f"{number}-{index}.pdf" for index in range(6)))
            group.create_task(receiver(service, of_zip, place, limits).receive(REF, files))

    assert len(await sight.documents()) == 1 + 10
    problems = [part.problem for name in ("1.zip", "2.zip") for part in await sight.parts(name)]
    assert problems.count(None) == 8
    assert set(problems) == {None, "more than 10 files came with one; unpack it and give it by itself"}


async def test_a_part_is_counted_before_it_is_stored(
    service: Service, claim: Claim, tmp_path: Path, sight: Sight
) -> None:
    files = part_files(tmp_path, "b.pdf", "c.pdf")
    (tmp_path / "c.pdf").unlink()

    with pytest.raises(MisconfiguredError):
        await receiver(service, claim, tmp_path).receive(REF, files)

    assert [part.problem for part in await sight.parts("a.zip")] == [None, parts.RESERVED]


async def test_an_empty_part_is_named_and_not_taken(
    service: Service, claim: Claim, tmp_path: Path, sight: Sight
) -> None:
    files = part_files(tmp_path, "b.pdf")
    (tmp_path / "b.pdf").write_bytes(b"")

    (part,) = await receiver(service, claim, tmp_path).receive(REF, files)

    assert part.problem == "the file is empty"
    assert [row.problem for row in await sight.parts("a.zip")] == ["the file is empty"]


async def test_another_owner_sees_no_links(service: Service, claim: Claim, tmp_path: Path) -> None:
    await receiver(service, claim, tmp_path).receive(REF, part_files(tmp_path, "b.pdf"))

    async with service.database.tenant(uuid4()) as conn:
        assert await parts.of_document(conn, claim.document_id) == []
        assert await parts.count_of_others(conn, uuid4(), claim.ingestion_id) == 0


async def test_the_list_can_leave_parts_out(
    put: Put, working: RunWorker, sight: Sight, service: Service
) -> None:
    await put(MAIL)

    async with working():
        await sight.at_rest()

    async with service.database.tenant(service.default_tenant_id) as conn:
        assert [
            row.file_name for row in (await document_list.page(conn, DocumentFilters(parts=False))).rows
        ] == ["a.zip"]
        mail = (await document_list.page(conn, DocumentFilters(parts=False))).rows[0]
        links = await parts.links(conn, mail.id)
    assert [part.name for part in links.parts] == ["b.pdf", "c.pdf"]
    assert links.wholes == []
