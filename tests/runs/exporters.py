"""What every exporter promises: each result exactly once, whatever happens."""

import asyncio
import os
import signal
import sys
from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

import pytest
from pydantic import BaseModel
from tests.runs.components import FirstWordExtractor, TextReader, text_document, text_pipeline

from docmill.errors import ServerError
from docmill.model.document import Document
from docmill.ports import Ref
from docmill.runs.context import Context, CurrentDocument, set_current
from docmill.runs.roles import Exporter, ExtractionResult
from docmill.runs.stages import call_if_there, opened
from docmill.runs.stores.memory import MemoryStore

ROOT = Path(__file__).parents[2]


class Line(BaseModel):
    text: str | None = None
    amount: Decimal | None = None


class Party(BaseModel):
    name: str | None = None


class Bill(BaseModel):
    """A schema with a value of each kind that tables tell apart."""

    source: str | None = None
    day: date | None = None
    total: Decimal | None = None
    count: int | None = None
    share: float | None = None
    is_paid: bool | None = None
    seller: Party = Party()
    lines: list[Line] = []
    words: list[str] = []
    more: dict[str, int] = {}


BILL = Bill(
    source="=HYPERLINK(1)",
    day=date(2024, 5, 6),
    total=Decimal("1234.50"),
    count=3,
    share=0.25,
    is_paid=True,
    seller=Party(name="Müller & Söhne"),
    lines=[Line(text="Bolts", amount=Decimal("1.20")), Line(text="-Nuts")],
    words=["a", "b"],
    more={"x": 1},
)


class Row(BaseModel):
    """What is read back of an exported result."""

    source: str
    key: str
    data: dict[str, Any]


class FailingOnce:
    """Passes everything on to an exporter; the first flush is done, and then it is said to have failed."""

    def __init__(self, exporter: Any) -> None:
        self._exporter = exporter
        self.failures = 0

    async def open(self, context: Context[Any]) -> None:
        await call_if_there(self._exporter, "open", context)

    async def export(self, document: Document, data: ExtractionResult[Any], context: Context[Any]) -> None:
        await call_if_there(self._exporter, "export", document, data, context)

    async def flush(self) -> None:
        await call_if_there(self._exporter, "flush")
        if not self.failures:
            self.failures = 1
            raise ServerError("the answer was lost")

    async def close(self) -> None:
        await call_if_there(self._exporter, "close")


class MakeExporter(Protocol):
    def __call__(self) -> Exporter[Any]: ...


async def export(
    exporter: object, data: BaseModel = BILL, *currents: CurrentDocument, run_id: str = "run"
) -> None:
    """One run of an exporter over some documents."""
    context = Context(run_id, None)
    async with opened(exporter, context):
        for current in currents or (current_document(),):
            set_current(current)
            await call_if_there(exporter, "export", text_document("x"), ExtractionResult(data), context)
        await call_if_there(exporter, "flush")


async def export_and_be_killed(exporter: Any) -> None:
    """Export a document in a process of its own, which is killed before the exporter is closed."""
    classes: list[type[Any]] = [exporter.__class__, exporter.config.__class__]
    kinds = [f"{each.__module__}:{each.__qualname__}" for each in classes]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.runs.killed_exporter",
        *kinds,
        exporter.config.model_dump_json(),
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
    )
    assert await process.wait() == -signal.SIGKILL


def current_document(source: str = "a.pdf", **known: Any) -> CurrentDocument:
    return CurrentDocument(Ref(source, Path(source).name), "0" * 64, known.pop("key", "k1"), **known)


class ExporterContract:
    """For each exporter: `make` gives one that goes on with what an earlier one wrote; `rows` reads it."""

    @pytest.fixture
    def make(self) -> MakeExporter:
        raise NotImplementedError

    def rows(self) -> Iterable[Row]:
        """What was exported, as it stands."""
        raise NotImplementedError

    def written(self) -> set[tuple[str, str]]:
        rows = list(self.rows())
        pairs = {(row.source, row.key) for row in rows}
        assert len(pairs) == len(rows), "a result was exported twice"
        return pairs

    async def test_results_are_read_back_as_they_were(self, make: MakeExporter) -> None:
        await export(make())
        (row,) = self.rows()
        assert (row.source, row.key) == ("a.pdf", "k1")
        assert Decimal(str(row.data["total"])) == Decimal("1234.50")

    async def test_exported_again_after_a_kill_they_are_there_once(self, make: MakeExporter) -> None:
        await export_and_be_killed(make())
        again = current_document(may_be_exported=True)
        await export(make(), BILL, again, current_document("b.pdf", may_be_exported=True))
        assert self.written() == {("a.pdf", "k1"), ("b.pdf", "k1")}

    async def test_exported_twice_in_one_run_they_are_there_once(self, make: MakeExporter) -> None:
        exporter = make()
        context: Context[None] = Context("run", None)
        async with opened(exporter, context):
            for may_be_exported in (False, True):
                set_current(current_document(may_be_exported=may_be_exported))
                result = ExtractionResult(BILL)
                await call_if_there(exporter, "export", text_document("x"), result, context)
                await call_if_there(exporter, "flush")
        assert self.written() == {("a.pdf", "k1")}

    async def test_of_a_changed_document_the_newest_result_stays(self, make: MakeExporter) -> None:
        await export(make(), BILL, current_document(), current_document("b.pdf"))
        await export(make(), BILL, current_document(key="k2", is_changed=True))
        assert self.written() == {("a.pdf", "k2"), ("b.pdf", "k1")}

    async def test_equal_files_have_a_result_each(self, make: MakeExporter) -> None:
        await export(make(), BILL, current_document("a.pdf"), current_document("A.pdf"))
        assert self.written() == {("a.pdf", "k1"), ("A.pdf", "k1")}

    async def test_a_run_whose_flush_fails_exports_everything_once(self, make: MakeExporter) -> None:
        exporter = FailingOnce(make())
        names = [f"{number} x" for number in range(20)]
        report = await text_pipeline(
            TextReader(),
            extractor=FirstWordExtractor(),
            exporter=exporter,  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        ).arun(names, store=MemoryStore())
        assert report.completed == len(names)
        assert exporter.failures == 1
        assert {source for source, _ in self.written()} == set(names)

    async def test_a_run_without_documents_does_no_harm(self, make: MakeExporter) -> None:
        await export(make())
        async with opened(make(), Context("run", None)):
            pass
        assert self.written() == {("a.pdf", "k1")}
