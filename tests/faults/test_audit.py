"""The audit finds what it is there to find."""

from pathlib import Path
from typing import LiteralString

import psycopg
import pytest

from docmill.service.app import Service
from docmill.service.store.database import new_id
from faults.audit import Findings, examine
from faults.roles import AllIsWell, Heir, Put, Settled
from faults.steps import paper

MESSAGE = "INSERT INTO message (id, queue, body, visible_at) SELECT id, 'queue', 'body', now() FROM document"


@pytest.fixture
async def work(put: Put, heir: Heir, settled: Settled, all_is_well: AllIsWell, tmp_path: Path) -> Path:
    """Where workers have their folders; one document is done, and all is well."""
    await put(paper("done"))
    async with heir():
        await settled()
    await all_is_well()
    return tmp_path / "work"


@pytest.mark.parametrize(
    ("harm", "kind"),
    [
        ("UPDATE ingestion SET status = 'in-progress', completed_at = NULL", "unfinished"),
        ("UPDATE ingestion SET progress_at = now()", "duplicated"),
        ("UPDATE ending SET writer = '1'", "written by strangers"),
        (MESSAGE, "left over"),
        ("DELETE FROM document", "left over"),
        ("UPDATE document SET content_hash = repeat('0', 64)", "left over"),
        ("UPDATE document SET file_path = 'elsewhere'", "left over"),
    ],
)
async def test_it_finds_what_is_wrong_in_the_database(
    harm: LiteralString, kind: str, service: Service, database_url: str, work: Path
) -> None:
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute(harm)

    assert kind in (await findings(service, database_url, work)).wrong


async def test_it_finds_what_was_lost_and_who_left_without_cleaning_up(
    service: Service, database_url: str, work: Path
) -> None:
    (work / "of-a-dead-worker").mkdir()

    found = await findings(service, database_url, work)

    assert set(found.wrong) == {"lost", "left over"}


async def findings(service: Service, database_url: str, work: Path) -> Findings:
    return await examine(database_url, service.queue, service.blobs, work, [new_id()])
