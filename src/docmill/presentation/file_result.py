"""What was read of one file, with its place on the pages."""

import asyncio
import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from docmill.errors import DocmillError
from docmill.model.document import Document
from docmill.model.paths import value_at
from docmill.model.result import Evidence, Result, Suggestion, Verdict
from docmill.presentation.html import result_html
from docmill.presentation.text import Row, result_text, rows_of, verdict_text
from docmill.reading.child.render import LocalRenderer
from docmill.reading.files.options import ReadingOptions
from docmill.runs.document_bytes import DocumentBytes
from docmill.wiring import reading_pool

log = logging.getLogger(__name__)

Model = TypeVar("Model", bound=BaseModel)
_MOST_PAGES = 3
_PAGE_PX = 840


@dataclass(frozen=True)
class FileResult(Result):
    """Everything that was found out about one file. It prints as a table; a notebook shows its pages.

    name: of the file.
    """

    name: str = ""
    source: DocumentBytes | None = field(default=None, repr=False)
    passwords: tuple[str, ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, result: Result, source: DocumentBytes, passwords: Sequence[str] = ()) -> "FileResult":
        """The result of this file."""
        values = {one.name: getattr(result, one.name) for one in fields(Result)}
        return cls(**values, name=source.name, source=source, passwords=tuple(passwords))

    @property
    def document_type(self) -> str:
        """What the file is, such as `invoice`; `other` for what has no type of its own."""
        return self.classification.document_type

    @property
    def is_ready(self) -> bool:
        """True if the data can be used without a person."""
        return self.extraction is not None and self.verdict is not None and self.verdict.passed

    def get(self, path: str) -> Any:  # noqa: ANN401  the type depends on the path
        """The value of a field, such as `gross_total` or `lines[0].net_amount`; None if there is none."""
        return None if self.extraction is None else value_at(self.extraction.data.model_dump(), path)

    def __str__(self) -> str:
        rows, suggestions = self._shown()
        return result_text(self._heading(), rows, suggestions, self.verdict)

    def as_html(self) -> str:
        """The result as a part of a page: pictures of its pages with a box around each value, and a table."""
        rows, suggestions = self._shown()
        pictures = _draw_pages(self, rows)
        return result_html(self._heading(), rows, suggestions, self.verdict, pictures)

    _repr_html_ = as_html

    def _heading(self) -> str:
        if self.refusal:
            return f"{self.name}: not read: {self.refusal}"
        if self.extraction is None:
            parts = self.document.parts if self.document else ()
            return f"{self.name}: {len(parts)} documents in one file"
        return f"{self.name}: {self.document_type}, {verdict_text(self.verdict)}"

    def _shown(self) -> tuple[list[Row], dict[str, tuple[Suggestion, ...]]]:
        if self.extraction is None:
            return [], {}
        return rows_of(self.extraction.data, self.extraction.evidence), self.extraction.suggestions


@dataclass(frozen=True)
class Extracted(Generic[Model]):
    """The values of a file. It prints as a table; a notebook shows its pages.

    data: an instance of the requested model; a value that is not in the file is null. evidence: field path
    (`seller.name`, `lines[0].net_amount`) to where the value was read. suggestions: of fields that are null,
    values that are believed too little, by path. result: everything else.
    """

    data: Model
    evidence: dict[str, Evidence]
    suggestions: dict[str, tuple[Suggestion, ...]]
    verdict: Verdict
    result: FileResult

    @property
    def is_ready(self) -> bool:
        """True if the data can be used without a person."""
        return self.verdict.passed

    def __str__(self) -> str:
        return str(self.result)

    def _repr_html_(self) -> str:
        return self.result.as_html()


def _draw_pages(result: FileResult, rows: Sequence[Row]) -> dict[int, bytes]:
    """The first pages on which a value was read; none of a file without pictures of pages.

    In a thread, since a notebook's event loop is running where it shows a result.
    """
    wanted = sorted({row.evidence.page for row in rows if row.evidence and row.evidence.page})[:_MOST_PAGES]
    document, source = result.document, result.source
    if document is None or source is None or not wanted:
        return {}
    drawn: dict[int, bytes] = {}

    def draw() -> None:
        try:
            drawn.update(asyncio.run(_drawn(source, document, wanted, result.passwords)))
        except DocmillError as error:  # the values can be shown without
            log.info("pages cannot be drawn", extra={"code": error.code})

    thread = threading.Thread(target=draw)
    thread.start()
    thread.join()
    return drawn


async def _drawn(
    source: DocumentBytes, document: Document, wanted: Sequence[int], passwords: tuple[str, ...]
) -> dict[int, bytes]:
    rotations = {page.number: page.rotation for page in document.pages}
    with source.as_file(document.content_hash) as original:
        async with reading_pool(1) as pool:
            renderer = LocalRenderer(pool, ReadingOptions(passwords=passwords))
            return {
                number: await renderer.render(
                    Path(original.path), page_number=number, width_px=_PAGE_PX, rotation=rotations.get(number)
                )
                for number in wanted
            }
