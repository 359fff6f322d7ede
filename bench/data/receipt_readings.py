"""The receipts of ../shared/data/sroie as labelled examples: as RapidOCR reads them, and as we do."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from bench.data.receipt_documents import documents
from bench.data.shared import DATA
from docmill.model import codec
from docmill.model.document import Document
from docmill.reading.files.options import ReadingOptions
from docmill.reading.images.image_file import Picture
from docmill.training.folds import vendors
from docmill.training.receipts import Example

SROIE = DATA / "sroie"
PATHS = {
    "company": "seller.name",
    "address": "seller.address",
    "date": "issue_date",
    "total": "gross_total",
}


def keys() -> dict[str, dict[str, str]]:
    """The labels by receipt."""
    return {path.stem: json.loads(path.read_text()) for path in sorted((SROIE / "key").glob("*.json"))}


def examples(readings: Path | None) -> Iterator[tuple[str, Example]]:
    """Each receipt with the name of its reader; `readings` is where ours are kept, missing ones are read."""
    labels = keys()
    vendor = vendors(
        {name: key.get("company") or "" for name, key in labels.items()},
        {name: key.get("address") or "" for name, key in labels.items()},
    )
    truth = {
        name: {path: key.get(field) or "" for field, path in PATHS.items()} for name, key in labels.items()
    }
    for name, document in documents():
        if name in labels:
            yield "RapidOCR", Example(name, vendor[name], document, truth[name])
    if readings is not None:
        for path in sorted((SROIE / "img").iterdir()):
            yield "docmill", Example(path.stem, vendor[path.stem], _read(path, readings), truth[path.stem])


def _read(path: Path, readings: Path) -> Document:
    kept = readings / f"{path.stem}.json.zst"
    if not kept.exists():
        from docmill.reading.ocr.rapid import rapid_engine  # noqa: PLC0415 - a second to load, seldom needed
        from docmill.reading.ocr.recognition import read_picture  # noqa: PLC0415

        with Image.open(path) as image:
            pixels = np.asarray(image.convert("RGB"))
        picture = Picture(pixels, float(pixels.shape[1]), float(pixels.shape[0]), 0)
        page = read_picture(rapid_engine(), picture, ReadingOptions())
        readings.mkdir(exist_ok=True)
        kept.write_bytes(codec.dumps(Document(path.stem.rjust(64, "0"), "image/jpeg", [page])))
    return codec.loads(kept.read_bytes())
