"""Cache of recognised pages, in groups, in the journal that keeps them until the document has been read."""

import json
import logging
from base64 import b64decode, b64encode
from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

import zstandard

from docmill.model.codec import page_content, page_of
from docmill.model.document import Page, Usage
from docmill.ports import PageJournal
from docmill.reading.engines.engine import EngineChoice
from docmill.reading.images.kept_scans import KeptScan, PageScan

log = logging.getLogger(__name__)

PAGES_PER_ENTRY = 8
"""So many recognised pages are lost at most for each that was under way: some seconds of work."""
_FORMAT = 1


class KeptPages:
    """Cache of the recognised pages of one document.

    missing: the numbers of the pages that have to be recognised. A document of few pages is not worth a
    write, and neither is what completes the document: its transcription is stored next.
    """

    def __init__(self, journal: PageJournal | None, choice: EngineChoice, missing: Collection[int]) -> None:
        self._journal = journal if len(missing) > PAGES_PER_ENTRY else None
        self._choice = choice
        self._missing: defaultdict[int, set[int]] = defaultdict(set)
        for number in missing:
            self._missing[_group(number)].add(number)
        self._read: defaultdict[int, list[Page]] = defaultdict(list)
        self._usage_kept = choice.meter.usage

    async def load(self) -> dict[int, Page]:
        """Load the missing pages that an earlier attempt has recognised, by number."""
        pages: dict[int, Page] = {}
        if self._journal is None:
            return pages
        async for entry in self._journal.entries():
            try:
                read, scans, usage = _unpacked(entry)
            except ValueError:
                log.warning("kept pages cannot be read and are recognised again")
                continue
            self._choice.meter.assume(usage)
            for page in read:
                if page.number in self._missing[_group(page.number)]:
                    pages[page.number] = page
            for page, picture in scans:
                self._choice.scans.add(page, picture)
        for number in pages:
            self._missing[_group(number)].discard(number)
        self._usage_kept = self._choice.meter.usage
        return pages

    async def add(self, page: Page) -> None:
        """Add a newly recognised page; its group is stored as soon as it is complete."""
        group = _group(page.number)
        self._missing[group].discard(page.number)
        if page.source != "none":  # what could not be read is tried again
            self._read[group].append(page)
        if self._journal is None or self._missing[group] or not any(self._missing.values()):
            return
        pages = self._read.pop(group, [])
        if pages:
            before, spent = self._usage_kept, self._choice.meter.usage
            self._usage_kept = spent
            usage = Usage(
                input_tokens=spent.input_tokens - before.input_tokens,
                output_tokens=spent.output_tokens - before.output_tokens,
                model=spent.model,
                cost=spent.cost - before.cost,
            )
            scans = [(page, scan) for page in pages if (scan := self._choice.scans.of(page)) is not None]
            await self._journal.put(group * PAGES_PER_ENTRY + 1, _packed(pages, scans, usage))


def _group(number: int) -> int:
    return (number - 1) // PAGES_PER_ENTRY


def _packed(pages: Sequence[Page], scans: Sequence[PageScan], usage: Usage) -> bytes:
    content = {
        "format": _FORMAT,
        "usage": usage.model_dump(mode="json"),
        "pages": [page_content(page) for page in pages],
        "prints": [
            [page.number, b64encode(scan.jpeg).decode(), scan.width_px, scan.height_px]
            for page, scan in scans
        ],
    }
    return zstandard.compress(json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode())


def _unpacked(data: bytes) -> tuple[list[Page], list[PageScan], Usage]:
    """Inverse of `_packed`. Raises ValueError for anything that it did not make."""
    try:
        content: dict[str, Any] = json.loads(zstandard.decompress(data))
        if content["format"] != _FORMAT:
            raise ValueError("of another release")
        pages = [page_of(page) for page in content["pages"]]
        by_number = {page.number: page for page in pages}
        scans = [
            (by_number[number], KeptScan(b64decode(jpeg), width_px, height_px))
            for number, jpeg, width_px, height_px in content["prints"]
        ]
        return pages, scans, Usage.model_validate(content["usage"])
    except (zstandard.ZstdError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError("not kept pages") from error
