"""Limits of what sources may take: of the source itself, and of all sources of its tenant together."""

import asyncio
import math
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from docmill.errors import RateLimitedError, TooLargeError
from docmill.service.config.source_settings import SourceSettings
from docmill.service.store import arrivals, doc_sources, source_pace
from docmill.service.store.database import Database

if TYPE_CHECKING:
    from docmill.service.sources.kinds import SourceLimits

_SHOWN_S = 5.0
"""Waits longer than this are shown with the source."""
_NAP_S = 60.0
"""A wait for the end of a day is looked at again so often: limits may be changed meanwhile."""


@dataclass(frozen=True, slots=True)
class ItemLimits:
    """Limits of one source.

    longest_wait_s: the intake waits so long until it may take an item; if that is not enough, who sends it is
    told when to come again.
    """

    database: Database
    source_id: UUID
    tenant_id: UUID
    own: "SourceLimits"
    shared: SourceSettings
    longest_wait_s: float

    async def wait_for_turn(self) -> None:
        """Return when an item may be taken. Raises RateLimitedError if that takes too long."""
        is_shown = False
        while (wait_s := await self._day_ends()) is not None:
            self._check_wait(wait_s, "as many documents as a day has for it")
            is_shown = await self._show(wait_s)
            await asyncio.sleep(min(wait_s, _NAP_S))
        wait_s = await self._reserve()
        if wait_s:
            is_shown = await self._show(wait_s) or is_shown
            await asyncio.sleep(wait_s)
        if is_shown:
            await self._note(None)

    def within_size(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The content; raises TooLargeError when it is larger than an item of this source may be."""
        if self.own.file_mb is None:
            return chunks
        return _up_to(chunks, round(self.own.file_mb * 1_000_000))

    def _check_wait(self, wait_s: float, reason: str) -> None:
        if wait_s > self.longest_wait_s:
            raise RateLimitedError(
                f"this source has sent {reason}; send it again in {math.ceil(wait_s)} s", retry_after_s=wait_s
            )

    async def _day_ends(self) -> float | None:
        """Seconds until the limits of a day allow another document; None if they do now."""
        limits = ((self.source_id, self.own.documents_per_day), (None, self.shared.documents_per_day))
        if all(most is None for _, most in limits):
            return None
        waits: list[float] = []
        async with self.database.tenant(self.tenant_id) as conn:
            for source_id, most in limits:
                if most is not None:
                    wait_s = await arrivals.day_ends(conn, source_id, most=most)
                    waits += [] if wait_s is None else [wait_s]
        return max(waits, default=None)

    async def _reserve(self) -> float:
        """Seconds until the next item may be taken; its place is kept."""
        limits = ((self.tenant_id, self.shared.starts_per_s), (self.source_id, self.own.per_second))
        longest_s = 0.0
        async with self.database.tenant(self.tenant_id) as conn:
            for limited_id, per_s in limits:
                if per_s is not None:
                    wait_s = await source_pace.reserve(
                        conn, limited_id, per_s=per_s, longest_wait_s=self.longest_wait_s
                    )
                    longest_s = max(longest_s, wait_s)
                    if wait_s:  # raised within the transaction, which gives the other limit's place back
                        self._check_wait(wait_s, "documents faster than is allowed")
        return longest_s

    async def _show(self, wait_s: float) -> bool:
        if wait_s <= _SHOWN_S:
            return False
        await self._note(wait_s)
        return True

    async def _note(self, wait_s: float | None) -> None:
        async with self.database.tenant(self.tenant_id) as conn:
            await doc_sources.note_wait(conn, self.source_id, wait_s=wait_s)


async def _up_to(chunks: AsyncIterator[bytes], most: int) -> AsyncIterator[bytes]:
    size = 0
    async for chunk in chunks:
        size += len(chunk)
        if size > most:
            raise TooLargeError(f"the file is larger than the {most / 1_000_000:g} MB that this source takes")
        yield chunk
