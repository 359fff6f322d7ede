"""The `Converter` of this machine: text layers as they are, everything else by OCR."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from docmill.errors import CorruptError, DocmillError, DocumentError, first_of
from docmill.model.document import Document, Page, Part
from docmill.ports import Original, PageJournal
from docmill.reading.child import tasks
from docmill.reading.child.tasks import CONTAINERS, TEXT_READERS
from docmill.reading.engines.engine import EngineChoice, LocalReader, PageReader, PageRequest
from docmill.reading.files import file_types
from docmill.reading.files.options import ReadingOptions
from docmill.reading.images.kept_scans import PageScan, bind_scans
from docmill.reading.kept_pages import KeptPages
from docmill.reading.pdf.merge_pictures import merge_figure
from docmill.reading.text.languages import dominant_language, excerpts
from docmill.sections import splitting
from docmill.workers.pool import Pool

DEFAULT_ENGINE = "rapidocr"

log = logging.getLogger(__name__)


class LocalConverter:
    """`Converter` on the processes of a pool. No file is opened in this process.

    readers: who recognises pages, in the order in which they are asked; RapidOCR unless told otherwise.
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
        return replace(document, language=await self._language(document.pages))

    async def _language(self, pages: Sequence[Page]) -> str | None:
        """Detect the pages' language; None instead of an error, since the document is of use without it."""
        texts = excerpts(pages)
        if not any(texts):
            return None
        try:
            return await self._pool.run(dominant_language, texts, limit_s=self._options.open_limit_s)
        except DocmillError as error:
            log.warning("the language was not found out", extra={"code": error.code})
            return None

    async def _read(
        self, original: Original, opened: tasks.OpenedFile, journal: PageJournal | None
    ) -> Document:
        path, options = original.path, self._options
        open_s = options.with_tries(options.open_limit_s)
        if not opened.page_count:
            document = await self._without_pages(original, opened.media_type, journal)
            return replace(document, embedded=opened.embedded)
        pages = list(opened.pages)
        while len(pages) < opened.page_count:
            first, last = len(pages) + 1, min(len(pages) + options.pages_per_task, opened.page_count)
            pages += await self._pool.run(tasks.read_text, path, first, last, options, limit_s=open_s)
        choice = EngineChoice(self._readers, options.quality_threshold)
        sources = [path] * opened.page_count
        read = await self._recognised(sources, opened.media_type, pages, choice=choice, journal=journal)
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
        )
        document = await _with_scans_kept(document, original.name, _printed(read, choice), journal)
        if options.split and opened.page_count > 1 and not opened.embedded:  # whose data is that of all pages
            parts = await asyncio.to_thread(
                splitting.parts, document, original.name, separator=options.separator
            )
            return replace(document, parts=parts)
        return document

    async def _without_pages(
        self, original: Original, media_type: str, journal: PageJournal | None
    ) -> Document:
        """A document of text without pages, of other documents, or of both."""
        arguments, options = (original.path, media_type, self._options), self._options
        flow_s = options.with_tries(options.flow_limit_s)
        pages: list[Page] = []
        parts: list[Part] = []
        scans: list[PageScan] = []
        choice = EngineChoice(self._readers, options.quality_threshold)
        if media_type in TEXT_READERS:
            flowed = await self._pool.run(tasks.read_flow, *arguments, limit_s=flow_s)
            pages, scans = await self._with_figures(media_type, flowed, choice, journal)
        if media_type in CONTAINERS:
            parts = await self._pool.run(tasks.list_parts, *arguments, limit_s=flow_s)
        elif not any(page.words.texts for page in pages):
            raise tasks.wordless_error(pages, media_type)
        usage = choice.meter.usage
        document = Document(original.content_hash, media_type, pages, parts=tuple(parts), usage=usage)
        return await _with_scans_kept(document, original.name, scans, journal)

    async def _with_figures(
        self, media_type: str, flowed: tasks.FlowedPages, choice: EngineChoice, journal: PageJournal | None
    ) -> tuple[list[Page], list[PageScan]]:
        """Merge the text of pictures into the pages; also the preprocessed pictures to be kept."""
        contents = flowed.contents
        if journal is not None:
            journal.allow_time_for(len(contents))
        seen = await self._recognised(
            contents, media_type, [None] * len(contents), choice=choice, journal=journal
        )
        pages = list(flowed.pages)
        for place, found in zip(flowed.figures, seen, strict=True):
            pages[place.page_number - 1] = merge_figure(pages[place.page_number - 1], place, found)
        on_page = {place.number: place.page_number for place in flowed.figures}
        scans = [(replace(page, number=on_page[page.number]), scan) for page, scan in _printed(seen, choice)]
        return pages, scans

    async def _recognised(
        self,
        sources: Sequence[tasks.Source],
        media_type: str,
        pages: Sequence[Page | None],
        *,
        choice: EngineChoice,
        journal: PageJournal | None,
    ) -> list[Page]:
        """Recognise the missing pages, as many at a time as an engine can take.

        sources: of each page. journal: what it remembers is not recognised again.
        """
        kept = KeptPages(journal, choice, [number for number, page in enumerate(pages, 1) if page is None])
        known = await kept.load()
        ahead = asyncio.Semaphore(max(reader.at_once for reader in self._readers))

        async def fill(number: int, source: tasks.Source, page: Page | None) -> Page:
            page = page or known.get(number)
            if page is not None:
                return page
            async with ahead:
                seen = await choice.best(PageRequest(source, media_type, number, choice.meter, choice.scans))
                if isinstance(source, Path) and media_type == file_types.PDF:
                    seen = await self._completed(source, seen)
                await kept.add(seen)
                return seen

        try:
            async with asyncio.TaskGroup() as group:
                filling = [
                    group.create_task(fill(number, *given))
                    for number, given in enumerate(zip(sources, pages, strict=True), 1)
                ]
        except* DocmillError as errors:
            raise first_of(errors) from errors
        return [task.result() for task in filling]

    async def _completed(self, path: Path, seen: Page) -> Page:
        """A page that was recognised, with what the PDF itself says of it."""
        return await self._pool.run(
            tasks.complete_page, path, seen, self._options, limit_s=self._options.open_limit_s
        )


def _printed(pages: Sequence[Page], choice: EngineChoice) -> list[PageScan]:
    """The pages that were read in preprocessed pictures, with those pictures."""
    return [(page, scan) for page in pages if (scan := choice.scans.of(page)) is not None]


async def _with_scans_kept(
    document: Document, name: str, scans: Sequence[PageScan], journal: PageJournal | None
) -> Document:
    """The document, saying which pages were read in preprocessed pictures; the journal keeps these."""
    if not scans:
        return document
    numbers = {page.number for page, _ in scans}
    pages = [replace(page, preprocessed=page.number in numbers) for page in document.pages]
    if journal is not None:
        await journal.keep_pictures(await asyncio.to_thread(bind_scans, scans, name))
    return replace(document, pages=pages)
