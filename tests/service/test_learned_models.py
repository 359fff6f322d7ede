"""Models of own schemas that are replaced while the service runs."""

import logging
from pathlib import Path
from uuid import UUID

import pytest

from docmill.errors import MisconfiguredError
from docmill.model.document import Document
from docmill.pipeline import Steps
from docmill.service.app import Service
from docmill.service.config.fingerprint import Fingerprint
from docmill.service.config.settings import Settings
from docmill.service.config.user_schemas import OwnField, OwnSchema
from docmill.service.steps import LearnedModels
from docmill.understanding.corrections.fit import fit_model, make_example
from docmill.understanding.pooled import PooledCorrectionMaker
from docmill.understanding.user_schemas.schema_model import SchemaModel, dumps
from docmill.workers.pool import Pool
from support.learning_steps import steps as taught_steps
from support.learning_steps import typed_page
from support.scripted_steps import Observer, RunWorker, Upload

TICKET = """
Riverside Bicycles of the old town

Workshop ticket of the garage by the river
Please bring this paper along when collecting
Kennung       KN{number:05}
Job number    {number}4711
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A model that knows nothing yet."""
    path = tmp_path / "job.model"
    path.write_text(dumps(SchemaModel("job")))
    return path


@pytest.fixture
def settings(settings: Settings, place: Path) -> Settings:
    job = OwnSchema(fields={"job_number": OwnField()}, types=("delivery_note",), model=place)
    return settings.model_copy(update={"schemas": {"job": job}})


@pytest.fixture
async def pool() -> Pool:
    return Pool(1)


@pytest.fixture
def steps(pool: Pool, settings: Settings) -> Steps:
    models = LearnedModels(settings.own.models())
    return taught_steps(pool, "delivery_note", settings.own.by_type, models)


@pytest.fixture
def corrections(pool: Pool, settings: Settings) -> PooledCorrectionMaker:
    return PooledCorrectionMaker(pool, LearnedModels(settings.own.models()))


def replace(place: Path, text: str) -> None:
    """As `docmill learn` does it."""
    new = place.with_name("new")
    new.write_text(text)
    new.replace(place)


def knowing(settings: Settings) -> str:
    """A model that has seen a ticket with what its owner calls the job number."""
    page = typed_page(TICKET.format(number=8).splitlines())
    seen = make_example(
        Document("8", "text/plain", [page]), settings.own.named["job"], {"job_number": "KN00008"}
    )
    return dumps(fit_model("job", [seen]))


async def test_a_running_worker_takes_a_new_model_for_its_next_document(
    settings: Settings, place: Path, pool: Pool, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    async def number_of(number: int) -> object:
        added = await upload(TICKET.format(number=number).encode(), file_name=f"{number}.txt")
        read = await observer.when(added, lambda document: document.state in ("ready", "needs_review"))
        assert read.structured_data is not None
        return read.structured_data["job_number"]

    async with pool, working():
        assert await number_of(1) == "14711"
        replace(place, knowing(settings))

        assert await number_of(2) == "KN00002"


async def test_what_the_last_model_read_is_read_again_when_it_is_added_again(
    settings: Settings,
    service: Service,
    place: Path,
    pool: Pool,
    upload: Upload,
    working: RunWorker,
    observer: Observer,
) -> None:
    ticket = TICKET.format(number=1).encode()
    async with pool, working():
        first = await upload(ticket)
        await observer.when(first, lambda document: document.state in ("ready", "needs_review"))
        assert (await upload(ticket)).ingestion_id is None
        before = await service.fingerprint.now()
        replace(place, knowing(settings))

        again = await upload(ticket)

    assert isinstance(again.ingestion_id, UUID)
    assert await service.fingerprint.now() == await Fingerprint(settings).now() != before


@pytest.mark.parametrize("broken", ["no model", None])
def test_the_last_model_stays_in_use_where_a_new_one_cannot_be_read(
    place: Path, broken: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    models = LearnedModels({"job": place, "delivery_note": place})
    before = models["job"]
    if broken is None:
        place.unlink()
    else:
        replace(place, broken)

    with caplog.at_level(logging.INFO):
        assert [models["job"], models["delivery_note"], models.get("other")] == [before, before, None]

    assert caplog.messages == ["a new model cannot be read; the last stays"]
    assert (list(models), len(models)) == (["job", "delivery_note"], 2)


def test_no_service_starts_with_what_is_no_model(place: Path) -> None:
    place.write_text("no model")

    with pytest.raises(MisconfiguredError):
        LearnedModels({"job": place})
