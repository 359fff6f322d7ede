"""Documents by their text layers, without recognition."""

import hashlib
from pathlib import Path

from docmill.model.document import Document
from docmill.reading.child import tasks
from docmill.reading.files.options import ReadingOptions


def text_layer(path: Path) -> Document:
    """Read a file by its text; pages that need recognition are left out."""
    opened = tasks.open_original(path, ReadingOptions())
    pages = [page for page in opened.pages if page is not None]
    return Document(hashlib.sha256(path.read_bytes()).hexdigest(), opened.media_type, pages)
