"""The pictures of an evaluation's errors, drawn in child processes as the vault's are."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from docmill.errors import DocmillError
from docmill.evaluation.figures import Judged
from docmill.model import Box
from docmill.offline import reading_pool
from docmill.reading.clipping import LocalClipper
from docmill.reading.options import ReadingOptions
from docmill.reading.render import LocalRenderer

MOST = 400
"""Pictures of a page: it is to be opened in a browser, and sent."""

_PAGE_PX = 700


class _Wanted(NamedTuple):
    """box: None for the first page as a whole."""

    source: str
    path: str
    page_number: int = 1
    box: Box | None = None


def error_pictures(
    folder: Path, documents: Sequence[Judged], *, jobs: int | None, reading: ReadingOptions
) -> dict[tuple[str, str], bytes]:
    """See `docmill.evaluation.page.Pictures`; without those that cannot be drawn, and at most `MOST`."""
    files = {one.source: folder / one.source if folder.is_dir() else folder for one in documents}
    wanted = [one for document in documents for one in _wanted(document) if files[one.source].is_file()]
    return asyncio.run(_drawn(wanted[:MOST], files, jobs, reading))


def _wanted(document: Judged) -> Iterator[_Wanted]:
    errors = [cell for cell in document.cells if not cell.is_right]
    for cell in errors:
        proof: Mapping[str, Any] = document.evidence.get(cell.path or "", {})
        if cell.path and proof.get("box"):
            yield _Wanted(document.source, cell.path, proof["page"], Box(*proof["box"]))
    if any(cell.said is None for cell in errors):
        yield _Wanted(document.source, "")


async def _drawn(
    wanted: Sequence[_Wanted], files: dict[str, Path], jobs: int | None, reading: ReadingOptions
) -> dict[tuple[str, str], bytes]:
    async with reading_pool(jobs) as pool:
        clipper, renderer = LocalClipper(pool, reading), LocalRenderer(pool, reading)

        async def draw(one: _Wanted) -> bytes | None:
            try:
                if one.box is None:
                    return await renderer.render(files[one.source], page_number=1, width_px=_PAGE_PX)
                return await clipper.clip(files[one.source], one.page_number, one.box)
            except DocmillError:  # an error without a picture is better than no page
                return None

        async with asyncio.TaskGroup() as tasks:
            drawing = {(one.source, one.path): tasks.create_task(draw(one)) for one in wanted}
    return {key: picture for key, task in drawing.items() if (picture := task.result()) is not None}
