"""Small pictures of the first pages of documents, drawn in the processes of a pool."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from docmill.errors import DocmillError
from docmill.files import digest
from docmill.reading.child.render import LocalRenderer
from docmill.runs.inputs import path_of
from docmill.runs.states import DocumentState
from docmill.wiring import reading_pool
from docmill.workers.capacity import capacity

log = logging.getLogger(__name__)

_WIDTH_PX = 240
_PROCESSES = 2
_LIMIT_S = 120.0
"""For all pictures together; one of them has the time that the renderer gives it."""
_MAX_BYTES = 100_000_000
"""Larger files are not read for a picture."""


async def draw_first_pages(documents: Sequence[DocumentState], *, folder: Path) -> Mapping[str, bytes]:
    """WebP by the path of the document, of those that are files of this machine and can be drawn.

    folder: from which paths start. A file is drawn only if it has the content that was processed: a path may
    name something else here, or the file may have been changed.
    """
    drawn: dict[str, bytes] = {}
    async with reading_pool(min(_PROCESSES, capacity().processes())) as pool:
        renderer = LocalRenderer(pool)

        async def draw(document: DocumentState) -> None:
            path = await asyncio.to_thread(_source_of, document, folder)
            if path is None:
                return
            try:
                drawn[document.path] = await renderer.render(path, page_number=1, width_px=_WIDTH_PX)
            except DocmillError as error:
                log.debug("a first page cannot be drawn", extra={"code": error.code})

        with suppress(TimeoutError):
            async with asyncio.timeout(_LIMIT_S):
                await asyncio.gather(*map(draw, documents))
    return drawn


def _source_of(document: DocumentState, folder: Path) -> Path | None:
    """The file with the document's content; None if there is none on this machine."""
    if not document.content_hash:
        return None
    try:
        path = path_of((folder / document.path).as_posix())
        if not path.is_file() or path.stat().st_size > _MAX_BYTES:
            return None
        return path if digest(path) == document.content_hash else None
    except (OSError, ValueError):  # ValueError: no path at all
        return None
