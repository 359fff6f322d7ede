"""Readings of files that docmill itself does not read for the record."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from bench.data.classification_documents import text_layers
from bench.data.receipts import documents
from bench.golden.readings import Reading
from docmill import DocmillError, Document
from docmill.model import codec
from docmill.reading.files.options import ReadingOptions


def by_rapidocr(files: Mapping[str, Path]) -> list[Reading]:
    """Readings of RapidOCR, which are kept beside the receipts, as if they were ours."""
    found = dict(documents())
    return [_reading(source, f"{path.stem}.jpg", found[path.stem]) for source, path in files.items()]


def by_text_layer(files: Mapping[str, Path]) -> list[Reading]:
    """PDFs made to be wrong, where they have text: recognition takes its time on pictures of many pages."""
    readings: list[Reading] = []
    for source, path in files.items():
        content_hash = hashlib.sha256(path.read_bytes()).hexdigest()
        try:
            document = text_layers(path, content_hash, ReadingOptions())
        except DocmillError:
            readings.append(Reading(source, path.name, content_hash, b""))
        else:
            readings.append(_reading(source, path.name, document))
    return readings


def _reading(source: str, name: str, document: Document) -> Reading:
    return Reading(source, name, document.content_hash, codec.dumps(document))
