"""The list of a result's columns is what the table has, and what statements, rows and the API follow."""

from dataclasses import fields

import pytest

from docmill.model.document import Usage
from docmill.service.app import Service
from docmill.service.store.ingestions import IngestionRow
from docmill.service.store.result_columns import DEFINITIONS, ResultColumns, StoredFindings, cost_values
from docmill.web.api.shapes import Ingestion

INTERNAL = {"transcription_file_path", "preprocessed_file_path", "valid_structured_data"}


async def test_each_column_is_in_the_table_with_its_type(service: Service) -> None:
    async with service.database.connection() as conn:
        cur = await conn.execute(
            """
            SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'ingestion'
            """
        )
        types = dict(await cur.fetchall())

    for definition in DEFINITIONS.split(", "):
        name, _, kind = definition.partition(" ")
        assert types[name] == kind


@pytest.mark.parametrize("column", [column.name for column in fields(ResultColumns)])
def test_each_column_is_in_the_row_and_in_the_api_unless_it_is_internal(column: str) -> None:
    assert column in {field.name for field in fields(IngestionRow)}
    assert (column in Ingestion.model_fields) is (column not in INTERNAL)


def test_newer_findings_replace_what_they_know_and_keep_the_rest() -> None:
    earlier = StoredFindings(page_count=3, extraction_reason="read by rules", text="Total")
    paid = StoredFindings(**cost_values(Usage(input_tokens=10, model="scripted")))

    found = earlier.updated(paid).updated(StoredFindings(extraction_reason="asked again"))

    assert found.known_values() == {
        "page_count": 3,
        "text": "Total",
        "extraction_reason": "asked again",
        **cost_values(Usage(input_tokens=10, model="scripted")),
    }
