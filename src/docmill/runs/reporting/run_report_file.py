"""Writes the report of a run as an HTML file."""

import asyncio
from pathlib import Path

from docmill.runs.components.atomic_files import make_folder, write_atomically
from docmill.runs.reporting.run_figures import read_figures
from docmill.runs.reporting.run_page import RunSummary, build_run_page
from docmill.runs.states import StateStore

MOST_PICTURES = 50


async def write_run_page(
    path: Path, summary: RunSummary, store: StateStore, *, folder: Path, pictures: int
) -> None:
    """Write the file in place of what is at `path`, whole or not at all; its folder is made.

    folder: from which paths of documents start. pictures: of so many failed documents the first page is
    drawn. Raises MisconfiguredError or ServerError
    if the file cannot be written, and what a `StateStore` raises.
    """
    await asyncio.to_thread(make_folder, path.parent)
    try:
        figures = await read_figures(store, summary.run.run_id)
    finally:
        await store.close()
    failed = [failure.document for failure in figures.failures[:pictures]]
    drawn: dict[str, bytes] = {document.path: b"" for document in failed}
    if failed:
        # The renderer loads numpy, OpenCV and PDFium, which a run need not.
        from docmill.runs.reporting.first_pages import draw_first_pages  # noqa: PLC0415

        drawn |= await draw_first_pages(failed, folder=folder)
    page = await asyncio.to_thread(build_run_page, summary, figures, drawn)
    # A name of a file, or a message, may have half of a surrogate pair, which UTF-8 has no bytes for.
    await asyncio.to_thread(write_atomically, path, page.encode("utf-8", "replace"))
