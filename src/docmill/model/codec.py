"""A document as bytes: compact JSON under Zstandard, small enough to keep for every ingestion."""

import json
import threading
from base64 import b64decode, b64encode
from dataclasses import asdict
from typing import Any

import numpy as np
import zstandard
from numpy.typing import NDArray
from pydantic_core import to_json

from docmill.errors import CorruptError
from docmill.model.document import Box, Cell, Code, Document, Embedded, Page, Part, Table, Usage, Words

FORMAT = 2
"""The format that is written. Format 1, which had no tables, is still read."""
READ_FORMATS = (1, 2)


class NewerFormatError(ValueError):
    """A transcription that a later release has written."""


_SCALE = 100_000
"""Boxes are stored as integers of 1/100,000 of the page: 3 µm on A4, and half the size of decimals."""


def dumps(document: Document) -> bytes:
    """The document in the current format. Boxes and confidences are rounded to five digits."""
    content: dict[str, Any] = {
        "format": FORMAT,
        "content_hash": document.content_hash,
        "media_type": document.media_type,
        "language": document.language,
        "usage": document.usage.model_dump(mode="json"),
        "pages": [page_content(page) for page in document.pages],
    }
    if document.parts:
        content["parts"] = [asdict(part) for part in document.parts]
    if document.embedded:
        content["embedded"] = [
            [file.name, file.media_type, b64encode(file.content).decode()] for file in document.embedded
        ]
    if not hasattr(_thread, "compressor"):
        _thread.compressor = zstandard.ZstdCompressor(level=6, write_content_size=True)
    return _thread.compressor.compress(to_json(content))


_thread = threading.local()
"""Keeps a compressor for each thread: to make one takes longer than to compress a letter with it."""


def loads(data: bytes) -> Document:
    """The document that `dumps` wrote. Raises NewerFormatError, ValueError for anything else."""
    try:
        content = json.loads(zstandard.ZstdDecompressor().decompress(data))
        written = content.get("format")
        if isinstance(written, int) and written > FORMAT:
            raise NewerFormatError(f"transcription format {written} is unknown; a newer release wrote it")
        if written not in READ_FORMATS:
            raise ValueError(f"transcription format {written!r} is unknown; expected {FORMAT}")
        return Document(
            content_hash=content["content_hash"],
            media_type=content["media_type"],
            language=content["language"],
            usage=Usage.model_validate(content.get("usage", {})),
            pages=[page_of(page) for page in content["pages"]],
            parts=tuple(Part(**part) for part in content.get("parts", ())),
            embedded=tuple(
                Embedded(name, media_type, b64decode(data))
                for name, media_type, data in content.get("embedded", ())
            ),
        )
    except (
        zstandard.ZstdError,
        CorruptError,
        LookupError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        raise ValueError("not a transcription") from error


def page_content(page: Page) -> dict[str, Any]:
    """A page for JSON, as transcriptions hold it."""
    words = page.words
    return {
        **({"preprocessed": True} if page.preprocessed else {}),
        **({"cut_edges": page.cut_edges} if page.cut_edges else {}),
        **({"layer_doubt": page.layer_doubt} if page.layer_doubt else {}),
        "number": page.number,
        "width_pt": round(page.width_pt, 3),
        "height_pt": round(page.height_pt, 3),
        "rotation": page.rotation,
        "source": page.source,
        "quality": round(page.quality, 5),
        "problem": page.problem,
        "engine": page.engine,
        "codes": [[code.symbology, code.text, *_scaled(code.box)] for code in page.codes],
        "texts": words.texts,
        "boxes": np.rint(words.boxes * _SCALE).astype(int).ravel().tolist(),
        "confidences": np.rint(words.confidences * _SCALE).astype(int).tolist(),
        "lines": words.lines.tolist(),
        "blocks": words.blocks.tolist(),
        "tables": [
            [
                _scaled(table.box),
                table.row_count,
                table.column_count,
                [
                    [cell.row, cell.column, cell.row_span, cell.column_span, *_scaled(cell.box), *cell.words]
                    for cell in table.cells
                ],
            ]
            for table in page.tables
        ],
    }


def _scaled(box: Box) -> list[int]:
    return [round(edge * _SCALE) for edge in box]


def page_of(content: dict[str, Any]) -> Page:
    """The page that `page_content` was given; boxes and confidences are rounded to five digits."""
    words = Words(
        texts=content["texts"],
        boxes=_fractions(content["boxes"]).reshape(-1, 4),
        confidences=_fractions(content["confidences"]),
        lines=np.array(content["lines"], np.int32),
        blocks=np.array(content["blocks"], np.int32),
    )
    return Page(
        number=content["number"],
        width_pt=content["width_pt"],
        height_pt=content["height_pt"],
        rotation=content["rotation"],
        source=content["source"],
        quality=content["quality"],
        problem=content["problem"],
        engine=content.get("engine"),  # transcriptions of earlier releases do not say
        codes=tuple(Code(symbology, text, _box(box)) for symbology, text, *box in content.get("codes", ())),
        preprocessed=content.get("preprocessed", False),
        cut_edges=tuple(content.get("cut_edges", ())),
        layer_doubt=content.get("layer_doubt"),
        words=words,
        tables=tuple(
            Table(
                _box(box),
                row_count,
                column_count,
                tuple(
                    Cell(row, column, row_span, column_span, _box(rest[:4]), tuple(rest[4:]))
                    for row, column, row_span, column_span, *rest in cells
                ),
            )
            for box, row_count, column_count, cells in content.get("tables", ())
        ),
    )


def _box(scaled: list[int]) -> Box:
    x0, y0, x1, y1 = (edge / _SCALE for edge in scaled)
    return Box(x0, y0, x1, y1)


def _fractions(scaled: list[int]) -> NDArray[np.float32]:
    return (np.array(scaled, np.float32) / _SCALE).astype(np.float32)
