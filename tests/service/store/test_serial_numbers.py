"""Archive serial numbers: taken from labels, never twice, and kept as a person says."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from typing import Protocol
from uuid import uuid4

import pytest
from psycopg.types.json import Jsonb

from docmill.errors import CorruptError
from docmill.model.document import Document, Part
from docmill.model.result import Failure
from docmill.ports import Original
from docmill.sections.serial_numbers import serial_numbers as numbers_on_labels
from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.intake.accept import Accepted
from docmill.service.review.review import InvalidValuesError
from docmill.service.store import document_list, documents, serial_numbers
from docmill.service.store.database import DEFAULT_USER_ID, Conn
from docmill.service.store.document_list import DocumentFilters
from docmill.service.store.documents import DocumentRow
from docmill.service.store.serial_numbers import ReadNumbers
from support.codes import read_code
from support.scripted_steps import Observer, RunWorker, ScriptedSteps, Upload, is_read

SERIAL_NUMBER = ":archive_serial_number"
MakeDocument = Callable[..., Document]


@pytest.fixture
def label(script: ScriptedSteps, make_document: MakeDocument) -> Callable[..., None]:
    """Makes the next documents have labels with these codes on their page."""

    def put(*codes: str) -> None:
        plain = make_document(f"Invoice 7\nTotal   119.00\n{' '.join(codes)}\0")
        script.document = replace(
            plain, pages=[replace(plain.pages[0], codes=tuple(read_code(code, "]Q1") for code in codes))]
        )

    return put


class File(Protocol):
    """Reads a document with these labels."""

    async def __call__(self, *codes: str, name: str = "bill.pdf") -> DocumentRow: ...


@pytest.fixture
async def file(
    upload: Upload, working: RunWorker, observer: Observer, label: Callable[..., None]
) -> AsyncGenerator[File]:
    async def read(*codes: str, name: str = "bill.pdf") -> DocumentRow:
        label(*codes)
        return await observer.when(await upload(name.encode(), file_name=name), is_read)

    async with working():
        yield read


async def edit(service: Service, document: DocumentRow, number: str | None) -> DocumentRow:
    await service.edits.change(
        document.id, {SERIAL_NUMBER: number}, tenant_id=document.tenant_id, edited_by=DEFAULT_USER_ID
    )
    return await now(service, document)


async def now(service: Service, document: DocumentRow) -> DocumentRow:
    async with service.database.tenant(document.tenant_id) as conn:
        row = await documents.get(conn, document.id)
    assert row is not None
    return row


async def questions(service: Service, document: DocumentRow) -> list[Failure]:
    reviewed = await service.reviews.of(document.id, tenant_id=document.tenant_id)
    assert reviewed is not None
    return [failure for failure in reviewed.failures if failure.check == serial_numbers.CHECK]


async def found(service: Service, filters: DocumentFilters) -> list[str]:
    async with service.database.tenant(service.default_tenant_id) as conn:
        return [row.file_name for row in (await document_list.page(conn, filters)).rows]


async def test_a_document_has_the_number_of_its_label(file: File, service: Service) -> None:
    document = await file("ASN00123", "https://example.org")

    assert (document.archive_serial_number, document.state) == (123, "ready")
    assert await questions(service, document) == []


class TestPrefix:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        reading = settings.reading.model_copy(update={"asn_prefix": "FILE-"})
        return settings.model_copy(update={"reading": reading})

    async def test_another_prefix_is_taken_from_the_settings(self, file: File) -> None:
        document = await file("ASN5", "FILE-7")

        assert document.archive_serial_number == 7


async def test_a_number_that_another_document_has_is_asked_about(file: File, service: Service) -> None:
    first = await file("ASN12", name="first.pdf")

    second = await file("ASN12", name="second.pdf")

    assert (first.archive_serial_number, second.archive_serial_number) == (12, None)
    assert second.structured_data is not None, "it is completed"
    assert second.needs_human_review
    (question,) = await questions(service, second)
    assert question.message.startswith("Its label has the archive serial number 12, which “Invoice 7” has")
    assert (await now(service, first)).archive_serial_number == 12


async def test_a_number_by_a_person_settles_the_question_and_undo_opens_it(
    file: File, service: Service
) -> None:
    first, second = await file("ASN12", name="first.pdf"), await file("ASN12", name="second.pdf")

    with pytest.raises(InvalidValuesError, match=r"“Invoice 7” has the archive serial number 12 already"):
        await edit(service, second, "12")
    assert (await edit(service, second, "13")).archive_serial_number == 13
    assert await questions(service, second) == []
    assert (await edit(service, second, None)).archive_serial_number is None
    assert len(await questions(service, second)) == 1
    assert (await edit(service, second, "")).archive_serial_number is None
    assert await questions(service, second) == []
    await edit(service, first, "")
    assert (await edit(service, second, None)).archive_serial_number == 12
    assert await questions(service, second) == []


@pytest.mark.parametrize("reason", ["", "another fault", "a failed reading"])
async def test_a_number_by_a_person_settles_nothing_else_of_a_document_without_values(
    file: File, service: Service, observer: Observer, script: ScriptedSteps, reason: str
) -> None:
    await file("ASN12", name="first.pdf")
    second = await file("ASN12", name="second.pdf")
    others = [{"check": "gate", "message": "Look."}] if reason == "another fault" else []
    async with service.database.tenant(second.tenant_id) as conn:
        await conn.execute("UPDATE document SET structured_data = NULL WHERE id = %s", [second.id])
        await conn.execute(
            """
            UPDATE ingestion
               SET structured_data = NULL,
                   verdict = jsonb_set(verdict, '{failures}', (verdict -> 'failures') || %s)
             WHERE id = %s
            """,
            [Jsonb(others), second.ingestion_id],
        )
    if reason == "a failed reading":

        async def fail(original: Original) -> None:
            raise CorruptError(f"{original.name} is cut short")

        script.convert = fail
        await service.intake.reprocess(second.id, tenant_id=second.tenant_id)
        await observer.when(Accepted(second.id, None, is_new=False), lambda row: row.error_code is not None)

    edited = await edit(service, second, "13")

    assert edited.archive_serial_number == 13
    assert edited.needs_human_review == bool(reason)


async def test_the_question_can_be_passed_with_the_document(file: File, service: Service) -> None:
    await file("ASN12", name="first.pdf")
    second = await file("ASN12", name="second.pdf")

    await service.reviews.confirm_all(
        second.id,
        tenant_id=second.tenant_id,
        ingestion_id=second.ingestion_id or uuid4(),
        reviewed_by=DEFAULT_USER_ID,
    )

    assert await questions(service, second) == []
    assert (await now(service, second)).archive_serial_number is None


async def test_labels_with_several_numbers_give_none(file: File, service: Service) -> None:
    document = await file("ASN8", "ASN7", "ASN8")

    assert document.archive_serial_number is None
    assert document.state == "needs_review"
    (question,) = await questions(service, document)
    assert "(7, 8)" in question.message
    await edit(service, document, "7")
    assert await questions(service, document) == []
    await edit(service, document, None)
    assert len(await questions(service, document)) == 1


async def read_again(service: Service, observer: Observer, document: DocumentRow) -> DocumentRow:
    await service.intake.reprocess(document.id, tenant_id=document.tenant_id)
    return await observer.when(
        Accepted(document.id, None, is_new=False),
        lambda row: is_read(row) and row.ingestion_id != document.ingestion_id,
    )


async def test_a_later_reading_changes_a_number_unless_a_person_set_it(
    file: File, service: Service, observer: Observer, label: Callable[..., None]
) -> None:
    document = await file("ASN1")
    label()
    unread = await read_again(service, observer, document)
    label("ASN2")
    other = await read_again(service, observer, unread)
    await edit(service, other, "3")
    label("ASN4")
    last = await read_again(service, observer, await now(service, other))

    numbers = [row.archive_serial_number for row in (document, unread, other, last)]
    assert numbers == [1, 1, 2, 3], "a reading without a label takes no number away"
    assert (await edit(service, last, None)).archive_serial_number == 4
    assert (await edit(service, document, "0")).archive_serial_number == 0


async def split(conn: Conn, whole: DocumentRow, section: DocumentRow) -> None:
    await conn.execute(
        """
        INSERT INTO part (tenant_id, parent_id, position, kind, name, child_id, root_ingestion_id)
        VALUES (%s, %s, 1, 'section', 'page.pdf', %s, %s)
        """,
        [whole.tenant_id, whole.id, section.id, whole.ingestion_id],
    )


@pytest.mark.parametrize("is_deleted", [False, True])
async def test_a_section_takes_the_number_of_the_file_that_it_was_split_from(
    file: File, service: Service, *, is_deleted: bool
) -> None:
    whole = await file("ASN5", name="scan.pdf")
    section = await file(name="page.pdf")
    if is_deleted:
        await service.bin.delete(whole.id, tenant_id=whole.tenant_id, deleted_by=DEFAULT_USER_ID)
    async with service.database.tenant(whole.tenant_id) as conn:
        await split(conn, whole, section)
        numbers = ReadNumbers(section.id, section.ingestion_id or uuid4(), (5,), None)
        await serial_numbers.file_read(conn, numbers, tenant_id=whole.tenant_id)
        assert await serial_numbers.holder(conn, 5, besides=section.id) is None

    assert (await now(service, section)).archive_serial_number == 5
    if not is_deleted:
        assert (await now(service, whole)).archive_serial_number is None


@pytest.mark.parametrize("way", ["an edit taken back", "another reading"])
async def test_a_section_takes_its_number_while_the_file_is_edited(
    file: File, service: Service, observer: Observer, way: str
) -> None:
    whole, section = await file("ASN5", name="scan.pdf"), await file("ASN5", name="page.pdf")
    async with service.database.tenant(whole.tenant_id) as conn:
        await split(conn, whole, section)
    if way == "an edit taken back":
        await edit(service, section, "7")
    assert (await now(service, whole)).archive_serial_number == 5

    async with service.database.tenant(whole.tenant_id) as conn:
        await documents.lock(conn, whole.id)
        taking = asyncio.create_task(
            edit(service, section, None)
            if way == "an edit taken back"
            else read_again(service, observer, section)
        )
        await until_blocked(service)
        # The reading holds no lock that an edit of the file comes to next.
        await conn.execute("SET LOCAL lock_timeout = '100ms'")
        await serial_numbers.lock(conn, whole.tenant_id)

    assert (await taking).archive_serial_number == 5
    assert (await now(service, whole)).archive_serial_number is None


async def until_blocked(service: Service) -> None:
    async with asyncio.timeout(10):
        waiting = 0
        while not waiting:
            async with service.database.connection() as conn:
                cur = await conn.execute(
                    """
                    SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid)
                     WHERE NOT granted AND datname = current_database()
                    """
                )
                ((waiting,),) = await cur.fetchall()


def test_a_file_with_sections_has_no_number_itself(make_document: MakeDocument) -> None:
    plain = make_document("one", "two")
    labelled = replace(plain, pages=[replace(page, codes=(read_code("ASN 1"),)) for page in plain.pages])
    split = replace(labelled, parts=(Part("page 1.pdf", "section", 1, 1),))

    assert numbers_on_labels(labelled, "ASN") == (1,)
    assert numbers_on_labels(split, "ASN") == ()


async def test_documents_that_end_at_once_get_the_number_once(
    service: Service, upload: Upload, working: RunWorker, observer: Observer, label: Callable[..., None]
) -> None:
    label("ASN9")
    accepted = [await upload(f"{n}".encode(), file_name=f"{n}.pdf") for n in range(6)]

    async with working():
        rows = [await observer.when(each, is_read) for each in accepted]

    assert sorted(str(row.archive_serial_number) for row in rows) == ["9", *["None"] * 5]
    asked = [row for row in rows if await questions(service, row)]
    assert len(asked) == 5


async def test_a_document_in_the_bin_keeps_its_number(file: File, service: Service) -> None:
    first = await file("ASN12", name="first.pdf")
    await service.bin.delete(first.id, tenant_id=first.tenant_id, deleted_by=DEFAULT_USER_ID)

    second = await file("ASN12", name="second.pdf")

    assert second.archive_serial_number is None
    (question,) = await questions(service, second)
    assert "“Invoice 7” in the bin" in question.message
    async with service.database.tenant(first.tenant_id) as conn:
        assert await serial_numbers.next_number(conn) == 13


async def test_another_tenant_may_have_the_same_number(file: File, service: Service) -> None:
    document = await file("ASN12")

    async with service.database.tenant(uuid4()) as conn:
        assert await serial_numbers.holder(conn, 12, besides=uuid4()) is None
        assert await serial_numbers.next_number(conn) == 1
    assert document.archive_serial_number == 12


@pytest.mark.parametrize("query", ["ASN 123", "asn123", "ASN00123", "bill ASN:123", "ASN #123 bill"])
async def test_a_number_is_found_by_its_words(file: File, service: Service, query: str) -> None:
    await file("ASN00123", name="bill 1.pdf")
    await file("ASN1234", name="bill 2.pdf")

    assert await found(service, DocumentFilters(query=query)) == ["bill 1.pdf"]


async def test_a_number_that_was_taken_away_is_not_found(file: File, service: Service) -> None:
    document = await file("ASN123", name="bill 1.pdf")

    await edit(service, document, "77")

    assert await found(service, DocumentFilters(query="ASN 77")) == ["bill 1.pdf"]
    assert await found(service, DocumentFilters(query="ASN 78")) == []


async def test_documents_are_filtered_by_number(file: File, service: Service) -> None:
    for number in (1, 2, 3):
        await file(f"ASN{number}", name=f"{number}.pdf")
    await file(name="none.pdf")

    assert await found(service, DocumentFilters(asn_from=2)) == ["3.pdf", "2.pdf"]
    assert await found(service, DocumentFilters(asn_from=2, asn_to=2)) == ["2.pdf"]
    assert await found(service, DocumentFilters(has_asn=False)) == ["none.pdf"]
    assert len(await found(service, DocumentFilters(has_asn=True))) == 3


@pytest.mark.parametrize("typed", ["-1", "4294967296", "twelve", "1.5"])
async def test_what_is_no_number_is_refused(file: File, service: Service, typed: str) -> None:
    document = await file()

    with pytest.raises(InvalidValuesError) as refused:
        await edit(service, document, typed)

    assert refused.value.faults.keys() == {"archive_serial_number"}
