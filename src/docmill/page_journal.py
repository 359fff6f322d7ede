"""Recognised pages of a document in its journal, so that a retry recognises only the rest."""

import logging
from collections.abc import AsyncGenerator

from docmill.errors import TransientError
from docmill.ports import Findings, Journal, Observer
from docmill.resilience.time_limits import TimeLimit

log = logging.getLogger(__name__)

_ENTRIES = "pages"


class JournalOfPages:
    """`PageJournal` of one attempt.

    fingerprint: of what recognition depends on besides the file; entries of another one are not used.
    limit: of the whole document; page_s: seconds that each page adds to it. An entry that cannot be written
    or removed is no reason to stop: it costs time at the next attempt only.
    """

    def __init__(
        self,
        journal: Journal,
        fingerprint: str,
        limit: TimeLimit,
        *,
        page_s: float,
        observer: Observer | None = None,
    ) -> None:
        self._journal = journal
        self._folder = f"{_ENTRIES}/{fingerprint or 'any'}"
        self._limit = limit
        self._page_s = page_s
        self._observer = observer
        self.is_anew = False
        """True if the document is read once more because its stored transcription cannot be read."""
        self.has_entries = False
        """True if this or an earlier attempt kept pages, also pages of other settings, which are not used."""

    async def opened(self, media_type: str, page_count: int | None) -> None:
        """See `PageJournal.opened`."""
        if self._observer is not None:
            await self._observer.record(Findings(media_type=media_type, page_count=page_count))

    def allow_time_for(self, page_count: int) -> None:
        """See `PageJournal.allow_time_for`."""
        self._limit.prolong(self._page_s * page_count)

    async def entries(self) -> AsyncGenerator[bytes]:
        """See `PageJournal.entries`."""
        for step in await self._journal.entries(_ENTRIES):
            self.has_entries = True
            entry = await self._journal.get(step) if step.startswith(f"{self._folder}/") else None
            if entry is not None:
                yield entry

    async def put(self, first: int, pages: bytes) -> None:
        """See `PageJournal.put`."""
        self.has_entries = True
        try:
            await self._journal.put(f"{self._folder}/{first:05}", pages)
        except TransientError as error:
            log.warning("recognised pages are not kept", extra={"code": error.code})

    async def keep_pictures(self, pdf: bytes) -> None:
        """See `PageJournal.keep_pictures`."""
        await self.keep("preprocessed", pdf)

    async def keep(self, step: str, result: bytes) -> None:
        """Keep a result of reading, in place of an earlier one if that cannot be read."""
        await (self._journal.replace if self.is_anew else self._journal.put)(step, result)

    async def clear(self) -> None:
        """Remove every entry: the transcription is stored."""
        try:
            for step in await self._journal.entries(_ENTRIES):
                await self._journal.remove(step)
        except TransientError as error:  # the daily sweep removes them
            log.warning("recognised pages are left over", extra={"code": error.code})
