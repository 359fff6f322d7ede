"""Originals in the processes of a pool: read into documents, unlocked, and unpacked.

Text layers are taken as they are, everything else is recognised; recognised pages are cached.
"""

import asyncio
import json
import logging
from base64 import b64decode, b64encode
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import zstandard

from docmill.errors import CorruptError, DocmillError, DocumentError, ServerError, ungrouped
from docmill.model.codec import page_content, page_of
from docmill.model.document import Document, Page, Part, Usage
from docmill.ports import Original, PageJournal, PartFile
from docmill.reading.child import tasks
from docmill.reading.child.tasks import CONTAINERS, TEXT_READERS
from docmill.reading.engines.engine import EngineChoice, LocalReader, PageReader, PageRequest
from docmill.reading.files import file_types
from docmill.reading.files.options import ReadingOptions
from docmill.reading.images.kept_scans import KeptScan, PageScan, bind_scans
from docmill.reading.pdf.text_merging import merge_figure
from docmill.reading.text.quality import dominant_language, excerpts
from docmill.sections import splitting
from docmill.workers.pool import Pool

DEFAULT_ENGINE = "rapidocr"
PAGES_PER_ENTRY = 8
"""At most so many recognised pages are lost for each that was under way: some seconds of work."""
_FORMAT = 1

log = logging.getLogger(__name__)


class LocalConverter:
    """`Converter` on the processes of a pool. No file is opened in this process.

    readers: engines in the order in which they are asked; RapidOCR by default.
    """

    def __init__(
        self, pool: Pool, options: ReadingOptions | None = None, readers: Sequence[PageReader] = ()
    ) -> None:
        self._pool = pool
        self._options = options or ReadingOptions()
        self._readers = readers or [LocalReader(DEFAULT_ENGINE, pool, self._options)]

    async def convert(self, original: Original, pages: PageJournal | None = None) -> Document:
        """See `Converter.convert`."""
        options = self._options
        if original.statement_columns:
            options = replace(options, statement_columns=original.statement_columns)
        opened = await self._pool.run(
            tasks.open_original, original.path, options, limit_s=options.with_tries(options.open_limit_s)
        )
        try:
            if pages is not None:
                await pages.opened(opened.media_type, opened.page_count or None)
                pages.allow_time_for(opened.page_count)
            document = await self._read(original, opened, pages)
        except DocumentError as error:
            error.media_type = error.media_type or opened.media_type
            raise
        texts = excerpts(document.pages)
        language = None
        if any(texts):
            try:
                language = await self._pool.run(dominant_language, texts, limit_s=options.open_limit_s)
            except DocmillError as error:  # the document is of use without it
                log.warning("the language was not found out", extra={"code": error.code})
        return replace(document, language=language)

    async def _read(
        self, original: Original, opened: tasks.OpenedFile, journal: PageJournal | None
    ) -> Document:
        path, options = original.path, self._options
        open_s = options.with_tries(options.open_limit_s)
        if not opened.page_count:
            return await self._read_flow(original, opened, journal)
        pages = list(opened.pages)
        while len(pages) < opened.page_count:
            first, last = len(pages) + 1, min(len(pages) + options.pages_per_task, opened.page_count)
            pages += await self._pool.run(tasks.read_text, path, first, last, options, limit_s=open_s)
        choice = EngineChoice(self._readers, options.quality_threshold)
        sources = [path] * opened.page_count
        read = await self._recognise(sources, opened.media_type, pages, choice=choice, journal=journal)
        if all(page.source == "none" for page in read):
            if choice.refusal is None and opened.media_type == file_types.HEIC.media_type:
                raise tasks.undecodable_error()
            raise choice.refusal or CorruptError(f"no page can be read: {read[0].problem}")
        document = Document(
            original.content_hash,
            opened.media_type,
            read,
            usage=choice.meter.usage,
            embedded=opened.embedded,
            parts=opened.parts,
        )
        document = await _keep_scans(document, original.name, _with_scans(read, choice), journal)
        if options.split and opened.page_count > 1 and not opened.embedded:  # whose data is that of all pages
            sections = await asyncio.to_thread(
                splitting.parts,
                document,
                original.name,
                separator=options.separator,
                asn_prefix=options.asn_prefix,
            )
            return replace(document, parts=_with_sections(document.parts, sections))
        return document

    async def _read_flow(
        self, original: Original, opened: tasks.OpenedFile, journal: PageJournal | None
    ) -> Document:
        """A document of text without pages, with the text of its pictures; of other documents; or of both."""
        media_type, options = opened.media_type, self._options
        arguments = (original.path, media_type, options)
        flow_s = options.with_tries(options.flow_limit_s)
        pages: list[Page] = []
        parts = list(opened.parts)
        scans: list[PageScan] = []
        embedded = opened.embedded
        choice = EngineChoice(self._readers, options.quality_threshold)
        if media_type in TEXT_READERS:
            flowed = await self._pool.run(tasks.read_flow, *arguments, limit_s=flow_s)
            pages, figures, contents = flowed.pages, flowed.figures, flowed.contents
            embedded += flowed.embedded
            if journal is not None:
                journal.allow_time_for(len(contents))
            none = [None] * len(contents)
            seen = await self._recognise(contents, media_type, none, choice=choice, journal=journal)
            for figure, page in zip(figures, seen, strict=True):
                pages[figure.page_number - 1] = merge_figure(pages[figure.page_number - 1], figure, page)
            on_page = {figure.number: figure.page_number for figure in figures}
            scans = [
                (replace(page, number=on_page[page.number]), scan) for page, scan in _with_scans(seen, choice)
            ]
        if media_type in CONTAINERS:
            parts = await self._pool.run(tasks.list_parts, *arguments, limit_s=flow_s)
        elif not parts and not any(page.words.texts for page in pages):
            raise tasks.wordless_error(pages, media_type)
        document = Document(
            original.content_hash,
            media_type,
            pages,
            parts=tuple(parts),
            usage=choice.meter.usage,
            embedded=embedded,
        )
        return await _keep_scans(document, original.name, scans, journal)

    async def _recognise(
        self,
        sources: Sequence[tasks.Source],
        media_type: str,
        pages: Sequence[Page | None],
        *,
        choice: EngineChoice,
        journal: PageJournal | None,
    ) -> list[Page]:
        """Recognise the missing pages, as many at a time as an engine can take.

        sources: of each page. journal: pages that it keeps are not recognised again.
        """
        kept = KeptPages(journal, choice, [number for number, page in enumerate(pages, 1) if page is None])
        loaded = await kept.load()
        ahead = asyncio.Semaphore(max(reader.at_once for reader in self._readers))

        async def fill(number: int, source: tasks.Source, page: Page | None) -> Page:
            page = page or loaded.get(number)
            if page is not None:
                return page
            async with ahead:
                seen = await choice.best(PageRequest(source, media_type, number, choice.meter, choice.scans))
                if isinstance(source, Path) and media_type == file_types.PDF:  # the file's own text is added
                    options = self._options
                    limit_s = options.open_limit_s
                    seen = await self._pool.run(tasks.complete_page, source, seen, options, limit_s=limit_s)
                    if seen.layer_doubt is not None:
                        reason = {"page": number, "reason": seen.layer_doubt}
                        log.info("the text stored in a page is not believed", extra=reason)
                await kept.add(seen)
                return seen

        with ungrouped(DocmillError):
            async with asyncio.TaskGroup() as group:
                filling = [
                    group.create_task(fill(number, *source_and_page))
                    for number, source_and_page in enumerate(zip(sources, pages, strict=True), 1)
                ]
        return [task.result() for task in filling]


def _with_sections(files: Sequence[Part], sections: Sequence[Part]) -> tuple[Part, ...]:
    """The files that a document holds, and behind them its sections under names that no file has."""
    names = {part.name.casefold() for part in files}
    renamed = (
        replace(part, name=f"section {part.name}") if part.name.casefold() in names else part
        for part in sections
    )
    return (*files, *renamed)


def _with_scans(pages: Sequence[Page], choice: EngineChoice) -> list[PageScan]:
    """The pages that were read in preprocessed pictures, with those pictures."""
    return [(page, scan) for page in pages if (scan := choice.scans.of(page)) is not None]


async def _keep_scans(
    document: Document, name: str, scans: Sequence[PageScan], journal: PageJournal | None
) -> Document:
    """Mark the pages that were read in preprocessed pictures; the journal keeps the pictures."""
    if not scans:
        return document
    numbers = {page.number for page, _ in scans}
    pages = [replace(page, preprocessed=page.number in numbers) for page in document.pages]
    if journal is not None:
        await journal.keep_pictures(await asyncio.to_thread(bind_scans, scans, name))
    return replace(document, pages=pages)


class KeptPages:
    """Cache of the recognised pages of one document, in groups, in the journal until the document is read.

    missing: the numbers of the pages that have to be recognised. A document of few pages is not worth a
    write, and neither is the last group: the transcription is stored next.
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
                read, scans, usage = _unpack_pages(entry)
            except ValueError:
                log.warning("kept pages cannot be read and are recognised again")
                continue
            self._choice.meter.add_earlier_cost(usage)
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
        if page.source != "none":  # an unread page is tried again
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
            scans = _with_scans(pages, self._choice)
            await self._journal.put(group * PAGES_PER_ENTRY + 1, _pack_pages(pages, scans, usage))


def _group(number: int) -> int:
    return (number - 1) // PAGES_PER_ENTRY


def _pack_pages(pages: Sequence[Page], scans: Sequence[PageScan], usage: Usage) -> bytes:
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


def _unpack_pages(data: bytes) -> tuple[list[Page], list[PageScan], Usage]:
    """Inverse of `_pack_pages`. Raises ValueError for anything that it did not make."""
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


@dataclass(frozen=True, slots=True)
class PooledUnlocker:
    """Takes the protection off files. The password goes to a child process and is kept nowhere."""

    pool: Pool
    options: ReadingOptions = field(default_factory=ReadingOptions)

    async def unlock(self, original: Path, password: str) -> bytes | None:
        """See `docmill.service.ports.Unlocker.unlock`."""
        limit_s = self.options.unlock_limit_s
        return await self.pool.run(tasks.unlock, original, password, limit_s=limit_s)


@dataclass(frozen=True, slots=True)
class PooledUnpacker:
    """`Unpacker` on the processes of a pool. They return bytes; this process writes them."""

    pool: Pool
    options: ReadingOptions = field(default_factory=ReadingOptions)

    async def unpack(self, original: Original, document: Document, folder: Path) -> list[PartFile]:
        """See `Unpacker.unpack`."""
        path, options = original.path, self.options
        # The statements in the file of a bank are sections as well, but of no pages.
        sections = [part for part in document.parts if part.first_page is not None]
        are_files_left = len(sections) < len(document.parts)
        files: list[PartFile] = []
        room = options.max_unpacked_bytes
        while are_files_left or sections:
            if are_files_left:
                arguments = (path, document.media_type, len(files), room, options)
                batch = await self.pool.run(tasks.take_parts, *arguments, limit_s=options.unpack_limit_s)
                are_files_left = not batch.is_last
            else:
                batch = await self.pool.run(
                    tasks.take_sections, path, sections, room, options, limit_s=options.unpack_limit_s
                )
                sections = sections[len(batch.parts) :]
            for part, content in zip(batch.parts, batch.contents, strict=True):
                target = None
                if content is not None:
                    target = folder / str(len(files))
                    room -= len(content)
                    try:
                        await asyncio.to_thread(target.write_bytes, content)
                    except OSError as error:
                        raise ServerError(
                            f"cannot write the parts of a document: {error.strerror}"
                        ) from error
                files.append(PartFile(part, target))
        return files
