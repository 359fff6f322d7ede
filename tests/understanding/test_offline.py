"""Type and fields of a document come from one visit to a child."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from docmill.model.document import Document
from docmill.model.result import Result, Schema
from docmill.pipeline import DocumentIO, process
from docmill.ports import Ref
from docmill.runs.folder_files import FolderReader
from docmill.runs.in_memory import MemoryExporter, MemoryJournal
from docmill.schemas.registry import REGISTRY
from docmill.schemas.user_schemas import schema_of
from docmill.understanding.offline import SchemaWithModel, extract, understand
from docmill.understanding.pooled import PooledUnderstanding
from docmill.understanding.withholding import withhold
from docmill.wiring import steps_for
from docmill.workers.pool import Pool

PAGE = """
Harbour Ltd                       Invoice number: R-1
12 Quay Street                    Invoice date: 05.03.2024

Net           20.00
VAT 20 %       4.00
Total         24.00 EUR
"""
UNSURE_NUMBER = """
Credit Note

Document no: CN-2026-17                         Harbour Tools Ltd
Document no: CN-2026-71
Date: 03/04/2026                                4 Dock Street, Leith EH6 6QQ
Original invoice: INV-881

Bill to
Annie Bell
9 Mill Lane, Leith EH6 5AA

Description                Quantity      Price      Amount
Torque wrench returned     2             40.00      80.00

Net total                                           80.00
VAT 20%                                             16.00
Total                                               96.00 GBP
"""
JOB = schema_of({"title": "job", "type": "object", "properties": {"total": {"type": "number"}}})


class Visited(Pool):
    """A pool that notes which functions of understanding it ran."""

    def __init__(self) -> None:
        super().__init__(1)
        self.visits: list[str] = []

    async def run(self, function: Callable[..., Any], *args: Any, limit_s: float) -> Any:  # noqa: ANN401 - as `Pool`
        if function.__module__ == "docmill.understanding.pooled":
            self.visits.append(function.__name__)
        return await super().run(function, *args, limit_s=limit_s)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "invoice.txt"
    path.write_text(PAGE)
    return path


async def processed(pool: Pool, path: Path, **given: Any) -> Result:  # noqa: ANN401 - of `steps_for`
    io = DocumentIO(FolderReader(path), MemoryExporter(), MemoryJournal())
    return await process(Ref(path.name, path.name), steps_for(pool, **given), io)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({}, "invoice"),
        ({"schema": JOB}, "job"),
        ({"schema": REGISTRY["receipt"]}, "receipt"),
        ({"schemas": {**REGISTRY, "invoice": JOB}}, "job"),
        ({"schemas": {"other": JOB}}, "job"),
    ],
    ids=["its own type", "one schema for all", "a type for all", "one of its type", "of all other types"],
)
async def test_a_document_is_understood_in_one_visit(file: Path, given: dict[str, Any], name: str) -> None:
    async with Visited() as pool:
        result = await processed(pool, file, **given)

    assert pool.visits == ["_understand"]
    assert result.classification.document_type == "invoice"
    assert result.extraction is not None
    assert result.extraction.document_type == name
    total = "total" if name == "job" else "gross_total"
    extraction = result.extraction
    suggested = [suggestion.evidence for suggestion in extraction.suggestions.get(total, ())]
    assert extraction.evidence.get(total, *suggested[:1]).text == "24.00 EUR"


@pytest.mark.parametrize("schema", [REGISTRY["invoice"], JOB], ids=["built-in", "own"])
async def test_a_visit_gives_what_its_functions_give(
    schema: Schema, typeset: Callable[..., Document]
) -> None:
    document = typeset(PAGE)

    async with Pool(1) as pool:
        offline = PooledUnderstanding(pool)
        understood = await offline.understand(document, schemas={**REGISTRY, "invoice": schema})
        extracted = await offline.extract(document, schema)

    assert understood.classification == understand(document).classification
    assert understood.extraction == extracted
    assert extracted.model_dump() == extract(document, schema).model_dump()


def test_the_first_description_has_no_value_that_is_withheld(typeset: Callable[..., Document]) -> None:
    classification, extraction = understand(typeset(UNSURE_NUMBER))

    believed = withhold(extraction, REGISTRY["credit_note"])

    assert "number" in believed.suggestions
    assert classification.title == "Credit note, Harbour Tools Ltd"
    assert "CN-2026" not in str(classification.summary)


def test_a_schema_of_ones_own_is_described_by_believed_values(typeset: Callable[..., Document]) -> None:
    page = typeset(UNSURE_NUMBER)

    classification, _ = understand(page, lambda _: SchemaWithModel(JOB))

    assert classification.title == "Credit note, Harbour Tools Ltd"
