"""The receipts of ../shared/data/sroie: labels, documents of the kept readings, and labelled examples."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
from PIL import Image

from bench.data.shared import DATA
from docmill.model import codec
from docmill.model.document import Document, Page
from docmill.reading.files.options import ReadingOptions
from docmill.reading.images.image_file import Picture
from docmill.reading.ocr.page import RecognisedLines, page_words
from docmill.reading.text.quality import page_quality
from docmill.training.receipts import LabelledReceipt
from docmill.training.scorers import group_by_vendor

SROIE = DATA / "sroie"
PATHS = {
    "company": "seller.name",
    "address": "seller.address",
    "date": "issue_date",
    "total": "gross_total",
}
"""The path of each label's field."""


def keys() -> dict[str, dict[str, str]]:
    """Load the labels of each receipt."""
    return {path.stem: json.loads(path.read_text()) for path in sorted((SROIE / "key").glob("*.json"))}


def names_with_pictures() -> list[str]:
    return sorted(path.stem for path in (SROIE / "img").iterdir())


def documents() -> Iterator[tuple[str, Document]]:
    """Yield every receipt by its name, as RapidOCR read it."""
    for path in sorted((SROIE / "ocr").glob("*.json")):
        yield path.stem, _document(path.stem, json.loads(path.read_text())["lines"])


def _document(name: str, lines: list[tuple[list[list[float]], str, float]]) -> Document:
    corners = np.array([line[0] for line in lines], np.float32).reshape(-1, 4, 2)
    width, height = (corners.reshape(-1, 2).max(axis=0) + 1).tolist() if lines else (1.0, 1.0)
    read = RecognisedLines(
        [line[1] for line in lines], corners, np.array([line[2] for line in lines], np.float32)
    )
    words = page_words(read, width_px=round(width), height_px=round(height))
    page = Page(
        number=1, width_pt=width, height_pt=height, words=words, source="ocr", quality=page_quality(words)
    )
    return Document(content_hash=name.rjust(64, "0"), media_type="image/jpeg", pages=[page])


def examples(readings: Path | None) -> Iterator[tuple[str, LabelledReceipt]]:
    """Yield each receipt with the name of its reader. `readings` keeps ours; missing ones are made."""
    for example in _labelled(documents()):
        yield "RapidOCR", example
    if readings is not None:
        pictures = sorted((SROIE / "img").iterdir())
        for example in _labelled((path.stem, _read(path, readings)) for path in pictures):
            yield "docmill", example


def photographed(readings: Path) -> Iterator[LabelledReceipt]:
    """Yield the receipts of which the folder keeps a reading."""
    kept = sorted(readings.glob("*.json.zst"))
    yield from _labelled((path.name.partition(".")[0], codec.loads(path.read_bytes())) for path in kept)


def _labelled(read: Iterable[tuple[str, Document]]) -> Iterator[LabelledReceipt]:
    labels = keys()
    vendor = vendor_groups(labels)
    for name, document in read:
        if key := labels.get(name):
            truth = {path: text for field, path in PATHS.items() if (text := key.get(field))}
            yield LabelledReceipt(name, vendor[name], document, truth)


def vendor_groups(labels: dict[str, dict[str, str]]) -> dict[str, str]:
    """Return the vendor of each receipt; nearly identical names or addresses are one vendor."""
    return group_by_vendor(
        {name: key.get("company") or "" for name, key in labels.items()},
        {name: key.get("address") or "" for name, key in labels.items()},
    )


def first_of_vendors(vendor: Mapping[str, str]) -> dict[str, str]:
    """Return for each vendor the first of its receipts, by which it is set aside. vendor: of each receipt."""
    first: dict[str, str] = {}
    for name in sorted(vendor):
        first.setdefault(vendor[name], name)
    return first


def _read(path: Path, readings: Path) -> Document:
    kept = readings / f"{path.stem}.json.zst"
    if not kept.exists():
        from docmill.reading.ocr.page import recognise_page  # noqa: PLC0415
        from docmill.reading.ocr.rapid import rapid_engine  # noqa: PLC0415 - a second to load, seldom needed

        with Image.open(path) as image:
            pixels = np.asarray(image.convert("RGB"))
        picture = Picture(pixels, float(pixels.shape[1]), float(pixels.shape[0]), 0)
        page = recognise_page(rapid_engine(), picture, ReadingOptions()).page
        readings.mkdir(exist_ok=True)
        kept.write_bytes(codec.dumps(Document(path.stem.rjust(64, "0"), "image/jpeg", [page])))
    return codec.loads(kept.read_bytes())
