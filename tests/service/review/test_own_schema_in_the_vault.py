"""A schema of the settings in the vault: read, corrected by a person, and read right the next time."""

from uuid import UUID

import pytest

from docmill.pipeline import Steps
from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.config.user_schemas import OwnField, OwnSchema
from docmill.service.review.review import FieldReview
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.understanding.pooled import PooledCorrectionMaker
from docmill.workers.pool import Pool
from support.learning_steps import steps as taught_steps
from support.scripted_steps import Observer, RunWorker, Upload

TICKET = """
Riverside Bicycles of the old town

Workshop ticket of the garage by the river
Please bring this paper along when collecting
Kennung       KN{number:05}
Job number    {number}4711
"""


@pytest.fixture
def settings(settings: Settings) -> Settings:
    job = OwnSchema(
        fields={"job_number": OwnField(), "workshop": OwnField()},
        critical=("job_number",),
        types=("delivery_note",),
    )
    return settings.model_copy(update={"schemas": {"job": job}})


@pytest.fixture
async def pool() -> Pool:
    return Pool(1)


@pytest.fixture
def steps(pool: Pool, settings: Settings) -> Steps:
    return taught_steps(pool, "delivery_note", settings.own.by_type)


@pytest.fixture
def corrections(pool: Pool) -> PooledCorrectionMaker:
    return PooledCorrectionMaker(pool)


async def test_documents_of_its_types_are_read_by_it_and_corrected(
    service: Service, pool: Pool, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    tenant_id = service.default_tenant_id
    async with pool, working():
        first = await upload(TICKET.format(number=1).encode(), file_name="first.txt")
        read = await observer.when(first, lambda document: document.state in ("ready", "needs_review"))
        assert read.structured_data is not None
        assert read.structured_data["job_number"] == "14711"
        ingestion_id = first.ingestion_id
        assert isinstance(ingestion_id, UUID)
        await service.reviews.add(
            first.document_id,
            [FieldReview("job_number", "correct", "KN00001")],
            tenant_id=tenant_id,
            ingestion_id=ingestion_id,
            reviewed_by=DEFAULT_USER_ID,
        )
        second = await upload(TICKET.format(number=2).encode(), file_name="second.txt")
        again = await observer.when(second, lambda document: document.state in ("ready", "needs_review"))

    assert again.structured_data is not None
    assert again.structured_data["job_number"] == "KN00002"
    evidence = (await observer.ingestion(second)).evidence
    assert evidence is not None
    assert evidence["job_number"]["reason"] == "where you said it stands on first.txt"
    reviewed = await service.reviews.of(first.document_id, tenant_id=tenant_id)
    assert reviewed is not None
    assert reviewed.schema is not None
    assert reviewed.schema.critical == ("job_number",)
