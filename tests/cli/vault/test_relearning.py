"""`docmill learn --reviewed`, on a vault whose documents people reviewed."""

import asyncio
from pathlib import Path

import numpy as np
import pytest
from psycopg.types.json import Jsonb
from typer.testing import CliRunner, Result

from docmill.cli.commands import app
from docmill.model import codec
from docmill.model.document import Document, Page, Words
from docmill.service.app import open_service
from docmill.service.config.settings import Settings
from docmill.service.review.review import FieldReview
from docmill.service.store.database import DEFAULT_USER_ID, new_id
from docmill.understanding.user_schemas.schema_model import loads
from support.scripted_steps import once

RUNNER = CliRunner()
CONFIG = """
data_dir = "{folder}"
database_url = "{url}"
[schemas.job]
types = ["delivery_note"]
model = "{folder}/job.model"
[schemas.job.fields]
job_number = ""
[schemas.unused.fields]
number = ""
[schemas.nowhere]
types = ["invoice"]
[schemas.nowhere.fields]
number = ""
"""
HOUSES = ("garage river bicycle", "bakery harbour flour", "posters leaflets banners", "hedges lawns ponds")


def ticket(house: int, number: int) -> Document:
    sign = HOUSES[house % 4]
    rows = [sign, f"Job number    {number + 40000}", f"Kennung    KN{number:05}", sign]
    words = [(word, line, at) for line, row in enumerate(rows) for at, word in enumerate(row.split())]
    boxes = [(at / 9, line / 9, (at + 0.8) / 9, (line + 0.6) / 9) for _, line, at in words]
    columns = Words(
        [word for word, _, _ in words],
        np.array(boxes, np.float32),
        np.ones(len(words), np.float32),
        np.array([line for _, line, _ in words], np.int32),
        np.zeros(len(words), np.int32),
    )
    page = Page(1, 595, 842, columns, source="text", quality=1.0)
    return Document(f"{number:064}", "text/plain", [page])


async def _reviewed(settings: Settings, house: int, number: int) -> None:
    async with open_service(settings) as service:
        tenant_id = service.default_tenant_id
        accepted = await service.intake.accept(once(b"%d" % number), tenant_id=tenant_id, file_name="a.txt")
        path = f"transcriptions/{new_id()}"
        await service.blobs.put_once(path, codec.dumps(ticket(house, number)))
        async with service.database.tenant(tenant_id) as conn:
            await conn.execute(
                """
                UPDATE ingestion
                   SET status = 'completed', completed_at = clock_timestamp(), structured_data = %(data)s,
                       classification = '{"document_type": "delivery_note", "title": "A ticket"}',
                       evidence = '{}', verdict = '{"failures": []}', valid_structured_data = true,
                       transcription_file_path = %(path)s
                 WHERE id = %(id)s
                """,
                {"id": accepted.ingestion_id, "data": Jsonb({"job_number": None}), "path": path},
            )
        assert accepted.ingestion_id is not None
        await service.reviews.add(
            accepted.document_id,
            [FieldReview("job_number", "correct", f"KN{number:05}")],
            tenant_id=tenant_id,
            ingestion_id=accepted.ingestion_id,
            reviewed_by=DEFAULT_USER_ID,
        )


async def _forget_text(settings: Settings) -> None:
    """Of one document: it teaches nothing any more."""
    async with open_service(settings) as service, service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute(
            """
            UPDATE ingestion SET transcription_file_path = 'gone'
             WHERE id = (SELECT id FROM ingestion ORDER BY created_at DESC, id DESC LIMIT 1)
            """
        )


@pytest.fixture
def config(tmp_path: Path, database_url: str) -> Path:
    file = tmp_path / "docmill.toml"
    file.write_text(CONFIG.format(folder=tmp_path, url=database_url))
    return file


def _learn(config: Path, *more: str, name: str = "job") -> Result:
    return RUNNER.invoke(app, ["learn", "--reviewed", name, "--config", str(config), *more])


def test_the_model_is_replaced_if_it_reads_more_and_stays_otherwise(config: Path, tmp_path: Path) -> None:
    settings, model = Settings.load(config), tmp_path / "job.model"
    nobody = _learn(config)
    assert (nobody.exit_code, model.exists()) == (1, False)
    assert "nobody has reviewed" in nobody.stdout
    for house in range(9):
        asyncio.run(_reviewed(settings, house, house + 1))

    rehearsed = _learn(config, "--dry-run")
    assert (rehearsed.exit_code, model.exists()) == (0, False), rehearsed.output
    asyncio.run(_forget_text(settings))
    learned = _learn(config)
    assert learned.exit_code == 0, learned.output
    assert "with nothing learned: 0" in learned.stdout
    assert "by the new model: 8" in learned.stdout
    content = model.read_text()
    assert loads(content).general

    again = _learn(config)

    assert (again.exit_code, model.read_text()) == (1, content)
    assert "by the model in use:" in again.stdout
    assert "the model in use stays" in again.stdout


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("invoice", "without training"),
        ("poem", "the settings have no schemas.poem"),
        ("nowhere", "schemas.nowhere.model is not set"),
    ],
)
def test_what_cannot_be_learned_is_told(config: Path, name: str, told: str) -> None:
    said = _learn(config, name=name)

    assert said.exit_code != 0
    assert told in str(said.exception)


def test_a_file_that_is_no_model_is_left_alone(config: Path, tmp_path: Path) -> None:
    (tmp_path / "job.model").write_bytes(b"\xff")

    said = _learn(config)

    assert "cannot read the model" in str(said.exception)


@pytest.mark.parametrize("arguments", [["--reviewed", "job", "--jobs", "2"], ["--dry-run"]])
def test_the_ways_to_learn_are_not_mixed(arguments: list[str]) -> None:
    assert RUNNER.invoke(app, ["learn", *arguments]).exit_code == 2
