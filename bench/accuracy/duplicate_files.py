"""Measure how near duplicates are told: precision and recall on made-up papers and their other files.

Usage: python -m bench duplicate_files FOLDER. Each born-digital sample is exported again with other metadata,
scanned and photographed: these are the same document. Hard negatives are the next papers of the same vendor:
the same words with other digits in number, dates and (every second time) amounts, in the text and in the
reading of the scan.
"""

import asyncio
import pickle
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pikepdf
from PIL import Image

from bench.arguments import argument_parser
from docmill.api.one_file import aprocess_file
from docmill.demo import generate
from docmill.demo.scan_effects import encode_pages, photograph_page, render_pages, scan_page
from docmill.model.document import Box, Document
from docmill.model.result import Evidence
from docmill.understanding.duplicates import DuplicateIndex, Signature, signature_of
from docmill.understanding.offline import understand

FILES = ("original", "export", "scan", "photo")
_OF_PERIOD = ("issue_date", "due_date", "delivery_date", "period_start", "period_end", "payment_date")
_NUMBERED = ("number", "order_number", "delivery_note_number")
_MONTH = re.compile(r"(?<=[./-])(0[1-9]|1[0-2])(?=[./-])")


@dataclass(frozen=True)
class Reading:
    """A document as docmill reads it."""

    document: Document
    document_type: str
    data: Mapping[str, Any]
    evidence: Mapping[str, Evidence]

    @property
    def signature(self) -> Signature | None:
        return signature_of(self.document, self.document_type, self.data)


def variants(folder: Path) -> Iterator[tuple[str, str, Path]]:
    """Every file of every born-digital sample of one page or two: sample, kind of file, path."""
    for sample in generate(folder / "samples"):
        pdf = sample.path
        if sample.form != "born-digital" or pdf.suffix != ".pdf":
            continue
        random = np.random.default_rng(len(pdf.name))
        export, scan, photo = (
            folder / f"{pdf.stem}.{kind}" for kind in ("export.pdf", "scan.pdf", "photo.jpg")
        )
        if not photo.exists():
            with pikepdf.open(pdf) as content:
                content.docinfo["/Producer"] = "Another program 9.1"
                content.save(export, object_stream_mode=pikepdf.ObjectStreamMode.generate)
            pages = render_pages(pdf.read_bytes())
            scan.write_bytes(encode_pages([scan_page(page, random) for page in pages], ".pdf"))
            photo.write_bytes(encode_pages([photograph_page(pages[0], random)], ".jpg"))
            Image.open(photo).verify()
            if len(pages) > 1:
                photo.write_bytes(b"")  # a photograph of one page is not the document
        yield from zip([pdf.stem] * len(FILES), FILES, (pdf, export, scan, photo), strict=True)


async def read(path: Path) -> Reading:
    """The reading, kept beside the file."""
    kept = path.with_suffix(path.suffix + ".reading")
    if not kept.exists():
        result = await aprocess_file(path)
        assert result.document is not None
        assert result.extraction is not None
        data = result.extraction.data.model_dump(mode="json")
        found = result.classification.document_type, data, result.extraction.evidence
        kept.write_bytes(pickle.dumps(Reading(result.document, *found)))
    return pickle.loads(kept.read_bytes())  # noqa: S301 - our own


def next_month(reading: Reading, *, with_amounts: bool) -> Reading:
    """The vendor's next document: other digits where number and dates stand, perhaps in amounts."""
    pages = {page.number: list(page.words.texts) for page in reading.document.pages}
    for path, evidence in reading.evidence.items():
        is_amount = with_amounts and path in (
            "gross_total",
            "net_total",
            "tax_total",
            "net_pay",
            "closing_balance",
        )
        if path in (*_OF_PERIOD, *_NUMBERED) or is_amount:
            for page, index in _words_in(reading.document, evidence):
                pages[page][index] = _changed(pages[page][index], is_date=path in _OF_PERIOD)
    document = replace(
        reading.document,
        pages=[
            replace(page, words=replace(page.words, texts=pages[page.number]))
            for page in reading.document.pages
        ],
    )
    classification, extraction = understand(document)
    data = extraction.data.model_dump(mode="json")
    return Reading(document, classification.document_type, data, extraction.evidence)


def _words_in(document: Document, evidence: Evidence) -> Iterator[tuple[int, int]]:
    page = next((page for page in document.pages if page.number == evidence.page), None)
    if page is None or evidence.box is None:
        return
    box: Box = evidence.box
    boxes = page.words.boxes
    x, y = (boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2
    inside = (box.x0 <= x) & (x <= box.x1) & (box.y0 <= y) & (y <= box.y1)
    yield from ((page.number, int(index)) for index in np.flatnonzero(inside))


def _changed(word: str, *, is_date: bool) -> str:
    """The word with another month in it, or its last digit counted up."""
    if is_date and _MONTH.search(word):
        return _MONTH.sub(lambda month: f"{int(month[0]) % 12 + 1:02}", word, count=1)
    digits = [index for index, character in enumerate(word) if character.isdecimal()]
    if not digits:
        return word
    at = digits[0] if is_date and len(digits) <= 2 else digits[-1]
    changed = str((int(word[at]) + 1) % 10) if not is_date else str(max(1, (int(word[at]) + 1) % 3))
    return word[:at] + changed + word[at + 1 :]


def _is_same(kind: str, other_kind: str) -> bool:
    """Files of one paper, or readings in which the same digits were changed."""
    changed, other_changed = kind.partition(" of ")[0], other_kind.partition(" of ")[0]
    return changed == other_changed or {kind, other_kind} <= set(FILES)


async def _readings(folder: Path) -> dict[tuple[str, str], Reading]:
    wanted = [entry for entry in variants(folder) if entry[2].stat().st_size]
    limit = asyncio.Semaphore(2)

    async def one(path: Path) -> Reading:
        async with limit:
            return await read(path)

    found = await asyncio.gather(*(one(path) for _, _, path in wanted))
    return {(name, kind): reading for (name, kind, _), reading in zip(wanted, found, strict=True)}


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    readings = asyncio.run(_readings(folder))
    negatives: dict[tuple[str, str], Reading] = {}
    for (name, kind), reading in readings.items():
        if kind in ("original", "scan"):
            first, second = (next_month(reading, with_amounts=amounts) for amounts in (False, True))
            negatives[name, f"next 1 of the {kind}"] = first
            if second.document.text != first.document.text:  # a delivery note has no amounts
                negatives[name, f"next 2 of the {kind}"] = second
    index = DuplicateIndex[tuple[str, str]]()
    right = wrong = 0
    told: dict[str, int] = dict.fromkeys(FILES, 0)
    asked = dict.fromkeys(FILES, 0)
    for (name, kind), reading in {**readings, **negatives}.items():
        signature = reading.signature
        found = index.add((name, kind), signature) if signature else []
        for (other, other_kind), why in found:
            is_right = name == other and _is_same(kind, other_kind)
            right, wrong = right + is_right, wrong + (not is_right)
            if not is_right:
                print(f"wrong: {name} ({kind}) for {other} ({other_kind}): {why}")
        if kind in FILES[1:]:
            asked[kind] += 1
            is_told = any(other == name for (other, _), _ in found)
            told[kind] += is_told
            if not is_told:
                print(f"missed: {name} ({kind})")
    for kind in FILES[1:]:
        print(f"{kind}: {told[kind]} of {asked[kind]}")
    print(f"{len(negatives)} next documents of a vendor; pairs told: {right} right, {wrong} wrong")


if __name__ == "__main__":
    main()
