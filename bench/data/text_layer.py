"""Documents read in this process: by their text layers alone, or with recognition of the other pages."""

import hashlib
from pathlib import Path

from docmill.model.document import Document, Page
from docmill.reading.child import tasks
from docmill.reading.files import file_types
from docmill.reading.files.options import ReadingOptions


def text_layer(path: Path) -> Document:
    """Read a file by its text; pages that need recognition are left out."""
    opened = tasks.open_original(path, ReadingOptions())
    pages = [page for page in opened.pages if page is not None]
    return Document(hashlib.sha256(path.read_bytes()).hexdigest(), opened.media_type, pages)


def read_whole(path: Path, *, most_pages: int | None = None) -> Document:
    """Read the first pages by their text layers; others are recognised, which takes seconds each."""
    options = ReadingOptions()
    opened = tasks.open_original(path, options)
    pages = [
        page or _recognised(path, opened.media_type, number, options)
        for number, page in enumerate(opened.pages[:most_pages], 1)
    ]
    return Document(hashlib.sha256(path.read_bytes()).hexdigest(), opened.media_type, pages)


def _recognised(path: Path, media_type: str, number: int, options: ReadingOptions) -> Page:
    seen = tasks.recognise_picture(path, media_type, number, options, "rapidocr").page
    return tasks.complete_page(path, seen, options) if media_type == file_types.PDF else seen
