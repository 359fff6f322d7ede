"""A person changes the type of a document, and it is read again by that type."""

import asyncio
from dataclasses import dataclass, field, replace
from uuid import UUID

import pytest

from docmill.errors import ChangedError, ValidationError
from docmill.model.document import Document
from docmill.model.result import TYPE_CHECK
from docmill.pipeline import Steps
from docmill.ports import Converter, Original, PageJournal
from docmill.schemas.registry import REGISTRY
from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.config.user_schemas import OwnField, OwnSchema
from docmill.service.intake.accept import Accepted
from docmill.service.review.review import FieldReview, InvalidValuesError
from docmill.service.review.reviews import DocumentReviews
from docmill.service.store import reviewed_documents
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.store.documents import DocumentRow
from docmill.service.store.reviews import TYPE
from docmill.wiring import steps_for
from docmill.workers.pool import Pool
from support.scripted_steps import Observer, RunWorker, Upload, is_read, upload_and_read

INVOICE = b"""
Miller Bicycles Ltd
12 Mill Lane, Harwich

Invoice

Invoice number: 4711
Job number: J-20815
Invoice date: 2026-11-03

Net total      100.00 EUR
VAT 20 %        20.00 EUR
Total          120.00 EUR
"""


@dataclass
class CountingConverter:
    """`Converter` that counts how often a document was read from its file."""

    converter: Converter
    count: int = field(default=0)

    async def convert(self, original: Original, pages: PageJournal | None = None) -> Document:
        self.count += 1
        return await self.converter.convert(original, pages)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    job = OwnSchema(fields={"job_number": OwnField()}, critical=("job_number",))
    as_text = OwnSchema(fields={"due": OwnField(), "sum": OwnField(), "mark": OwnField()})
    as_kinds = OwnSchema(
        fields={
            "due": OwnField(kind="date"),
            "sum": OwnField(kind="decimal"),
            "mark": OwnField(kind="decimal"),
        }
    )
    schemas = {"job": job, "as_text": as_text, "as_kinds": as_kinds}
    return settings.model_copy(update={"schemas": schemas})


@pytest.fixture
def converter(pool: Pool) -> CountingConverter:
    return CountingConverter(steps_for(pool).converter)


@pytest.fixture
def steps(pool: Pool, settings: Settings, converter: CountingConverter) -> Steps:
    return replace(steps_for(pool, schemas=settings.own.by_choice), converter=converter)


async def _reviews(service: Service, document_id: UUID) -> DocumentReviews:
    reviewed = await service.reviews.of(document_id, tenant_id=service.default_tenant_id)
    assert reviewed is not None
    return reviewed


async def _choose(service: Service, observer: Observer, accepted: Accepted, type_: str | None) -> DocumentRow:
    """The document, once it has been read by the type."""
    begun = await service.type_choices.choose(
        accepted.document_id, type_, tenant_id=service.default_tenant_id, reviewed_by=DEFAULT_USER_ID
    )
    await observer.when(accepted, lambda row: row.ingestion_id == begun and is_read(row))
    return await _settled(service, observer, accepted)


async def _settled(service: Service, observer: Observer, accepted: Accepted) -> DocumentRow:
    """The document with what people said of it, which its worker adds just after it has been read."""
    await service.reviews.settle(accepted.document_id, tenant_id=service.default_tenant_id)
    return await observer.document(accepted)


async def test_a_documentis_read_again_by_the_chosen_type_without_another_recognition(
    service: Service, upload: Upload, working: RunWorker, observer: Observer, converter: CountingConverter
) -> None:
    async with working():
        accepted = await upload_and_read(upload, observer, INVOICE)
        before = await observer.document(accepted)
        first = await observer.ingestion(accepted)

        after = await _choose(service, observer, accepted, "credit_note")
        second = await observer.ingestion(accepted)

    assert (before.document_type, after.document_type) == ("invoice", "credit_note")
    assert before.structured_data is not None
    assert after.structured_data is not None
    assert after.structured_data.keys() != before.structured_data.keys()
    assert after.title is not None
    assert after.title.startswith("Credit note")
    assert "Credit note" in (after.tags or ())
    assert "Invoice" not in (after.tags or ())
    assert converter.count == 1
    assert second.transcription_file_path == first.transcription_file_path
    assert second.id != first.id


async def test_every_type_can_be_chosen_and_the_document_is_read_by_its_fields(
    service: Service, upload: Upload, working: RunWorker, observer: Observer, converter: CountingConverter
) -> None:
    async with working():
        accepted = await upload_and_read(upload, observer, INVOICE)
        for name, schema in REGISTRY.items():
            row = await _choose(service, observer, accepted, name)
            reviewed = await _reviews(service, accepted.document_id)

            assert row.document_type == reviewed.chosen_type == name
            assert row.structured_data is not None
            assert row.structured_data.keys() == schema.fields.model_fields.keys()
            assert TYPE_CHECK not in {failure.check for failure in reviewed.failures}

    assert converter.count == 1


async def test_a_schema_of_the_settings_can_be_chosen(
    service: Service, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    async with working():
        accepted = await upload_and_read(upload, observer, INVOICE)

        after = await _choose(service, observer, accepted, "job")

    assert after.document_type == "job"
    assert after.structured_data == {"job_number": "J-20815"}
    assert (await _reviews(service, accepted.document_id)).schema is not None


async def test_no_later_processing_changes_the_chosen_type(
    service: Service, upload: Upload, working: RunWorker, observer: Observer, converter: CountingConverter
) -> None:
    async with working():
        accepted = await upload_and_read(upload, observer, INVOICE)
        await _choose(service, observer, accepted, "credit_note")

        begun = await service.intake.reprocess(accepted.document_id, tenant_id=service.default_tenant_id)
        again = await observer.when(accepted, lambda row: row.ingestion_id == begun and is_read(row))
        forced = await upload(INVOICE, file_name="paper.txt", force=True)
        by_force = await observer.when(
            accepted, lambda row: row.ingestion_id == forced.ingestion_id and is_read(row)
        )

    assert (again.document_type, by_force.document_type) == ("credit_note", "credit_note")
    assert converter.count == 3  # who asks for all of it gets all of it


async def test_a_choice_is_taken_back_and_both_stand_in_the_history(
    service: Service, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    async with working():
        accepted = await upload_and_read(upload, observer, INVOICE)
        await _choose(service, observer, accepted, "receipt")
        await _choose(service, observer, accepted, "credit_note")
        back_once = await _choose(service, observer, accepted, None)
        back_twice = await _choose(service, observer, accepted, None)

    assert (back_once.document_type, back_twice.document_type) == ("receipt", "invoice")
    reviewed = await _reviews(service, accepted.document_id)
    told = [(row.action, row.before, row.value) for row in reversed(reviewed.history) if row.path == TYPE]
    assert told == [
        ("correct", "invoice", "receipt"),
        ("correct", "receipt", "credit_note"),
        ("undo", "credit_note", "receipt"),
        ("undo", "receipt", "invoice"),
    ]
    assert all(row.machine == "invoice" for row in reviewed.history)
    assert reviewed.chosen_type is None


async def test_choosing_what_is_chosen_already_reads_nothing_again(
    service: Service, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    async with working():
        accepted = await upload_and_read(upload, observer, INVOICE)
        await _choose(service, observer, accepted, "receipt")
        before = (await observer.ingestion(accepted)).id

        begun = await service.type_choices.choose(
            accepted.document_id, "receipt", tenant_id=service.default_tenant_id, reviewed_by=DEFAULT_USER_ID
        )

    assert begun == before
    assert len((await _reviews(service, accepted.document_id)).history) == 1


async def test_reviews_of_fields_that_the_type_lacks_are_kept_and_not_applied(
    service: Service, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    tenant_id = service.default_tenant_id
    async with working():
        accepted = await upload_and_read(upload, observer, INVOICE)
        shown = await _reviews(service, accepted.document_id)
        await service.reviews.add(
            accepted.document_id,
            [FieldReview("gross_total", "correct", "130.00")],
            tenant_id=tenant_id,
            ingestion_id=shown.result.ingestion_id,
            reviewed_by=DEFAULT_USER_ID,
        )

        as_job = await _choose(service, observer, accepted, "job")
        set_aside = (await _reviews(service, accepted.document_id)).set_aside
        as_invoice = await _choose(service, observer, accepted, "invoice")

    assert as_job.structured_data == {"job_number": "J-20815"}
    assert as_invoice.structured_data is not None
    assert as_invoice.structured_data["gross_total"] == "130.00"
    assert set_aside == ["gross_total"]
    assert (await _reviews(service, accepted.document_id)).set_aside == []


async def test_corrections_are_converted_to_the_kinds_of_the_new_types_fields(
    service: Service, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    tenant_id = service.default_tenant_id
    typed = {"due": "3.12.2026", "sum": "1.200,50 EUR", "mark": "see above"}
    async with working():
        accepted = await upload_and_read(upload, observer, INVOICE)
        await _choose(service, observer, accepted, "as_text")
        shown = await _reviews(service, accepted.document_id)
        await service.reviews.add(
            accepted.document_id,
            [FieldReview(path, "correct", value, is_typed=True) for path, value in typed.items()],
            tenant_id=tenant_id,
            ingestion_id=shown.result.ingestion_id,
            reviewed_by=DEFAULT_USER_ID,
        )

        await _choose(service, observer, accepted, "as_kinds")
        await service.reviews.settle(accepted.document_id, tenant_id=tenant_id)
        as_kinds = await observer.document(accepted)
        shown_as_kinds = await _reviews(service, accepted.document_id)
        await _choose(service, observer, accepted, "as_text")
        await service.reviews.settle(accepted.document_id, tenant_id=tenant_id)
        as_text = await observer.document(accepted)

    assert as_kinds.structured_data == {"due": "2026-12-03", "sum": "1200.50", "mark": None}
    assert shown_as_kinds.result.data == as_kinds.structured_data
    assert shown_as_kinds.set_aside == ["mark"]
    assert as_text.structured_data == typed


async def test_a_doubt_about_the_type_is_settled_by_a_choice(
    service: Service, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    doubtful = INVOICE.replace(b"Invoice\n", b"Rechnungskorrektur\n")
    async with working():
        accepted = await upload(doubtful, file_name="paper.txt")
        doubted = await observer.when(accepted, is_read)
        before = {failure.check for failure in (await _reviews(service, accepted.document_id)).failures}
        type_ = doubted.document_type

        await _choose(service, observer, accepted, type_)
        await service.reviews.settle(accepted.document_id, tenant_id=service.default_tenant_id)

    assert TYPE_CHECK in before
    assert TYPE_CHECK not in {
        failure.check for failure in (await _reviews(service, accepted.document_id)).failures
    }


async def test_a_choice_while_a_worker_reads_the_document_is_not_lost(
    service: Service, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    async with working():
        accepted = await upload_and_read(upload, observer, INVOICE)
    live = await service.intake.reprocess(accepted.document_id, tenant_id=service.default_tenant_id)

    begun = await service.type_choices.choose(
        accepted.document_id, "receipt", tenant_id=service.default_tenant_id, reviewed_by=DEFAULT_USER_ID
    )
    async with working():
        after = await observer.when(accepted, is_read)

    assert begun == live
    assert after.document_type == "receipt"


async def test_of_two_people_who_choose_at_once_the_later_choice_holds_and_both_are_told(
    service: Service, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    async with working():
        accepted = await upload_and_read(upload, observer, INVOICE)
        begun = await asyncio.gather(
            *(
                service.type_choices.choose(
                    accepted.document_id,
                    type_,
                    tenant_id=service.default_tenant_id,
                    reviewed_by=DEFAULT_USER_ID,
                )
                for type_ in ("receipt", "credit_note")
            )
        )
        await observer.when(accepted, lambda row: row.ingestion_id in begun and is_read(row))
        after = await _settled(service, observer, accepted)

    reviewed = await _reviews(service, accepted.document_id)
    first, second = [str(row.value) for row in reversed(reviewed.history)]
    assert {first, second} == {"receipt", "credit_note"}
    assert (reviewed.chosen_type, after.document_type) == (second, second)


async def test_the_type_is_no_value_to_confirm_undo_or_learn_from(
    service: Service, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    tenant_id = service.default_tenant_id
    async with working():
        accepted = await upload_and_read(upload, observer, INVOICE)
        await _choose(service, observer, accepted, "credit_note")
    shown = (await _reviews(service, accepted.document_id)).result.ingestion_id

    with pytest.raises(InvalidValuesError, match="changed with the document"):
        await service.reviews.add(
            accepted.document_id,
            [FieldReview(TYPE, "undo")],
            tenant_id=tenant_id,
            ingestion_id=shown,
            reviewed_by=DEFAULT_USER_ID,
        )
    await service.reviews.undo_last(
        accepted.document_id, tenant_id=tenant_id, ingestion_id=shown, reviewed_by=DEFAULT_USER_ID
    )

    reviewed = await _reviews(service, accepted.document_id)
    assert reviewed.chosen_type == "credit_note"
    assert not reviewed.current[TYPE].is_contradicted
    async with service.database.tenant(tenant_id) as conn:
        assert await reviewed_documents.reviewed_documents(conn, "credit_note", made_by="", limit=9) == []


async def test_types_are_chosen_by_their_owner_only_of_those_that_exist_and_once_somethingis_read(
    service: Service, upload: Upload, stranger: UUID
) -> None:
    tenant_id = service.default_tenant_id
    accepted = await upload(INVOICE, file_name="paper.txt")

    assert (
        await service.type_choices.choose(
            accepted.document_id, "receipt", tenant_id=stranger, reviewed_by=DEFAULT_USER_ID
        )
        is None
    )
    with pytest.raises(ValidationError, match="do you mean 'receipt'"):
        await service.type_choices.choose(
            accepted.document_id, "reciept", tenant_id=tenant_id, reviewed_by=DEFAULT_USER_ID
        )
    with pytest.raises(ChangedError, match="once the document has been read"):
        await service.type_choices.choose(
            accepted.document_id, "receipt", tenant_id=tenant_id, reviewed_by=DEFAULT_USER_ID
        )


async def test_a_document_that_nobody_could_classify_is_classified_by_a_person(
    service: Service, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    async with working():
        accepted = await upload("Привет, здесь письмо про мельницу".encode(), file_name="letter.txt")
        before = await observer.when(accepted, is_read)

        after = await _choose(service, observer, accepted, "other")

    assert before.state == "needs_classification"
    assert (after.state, after.title) == ("ready", "letter.txt")
