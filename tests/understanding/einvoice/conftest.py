from collections.abc import Callable
from pathlib import Path

import pytest

from docmill.model.document import Document, Embedded

Sample = Callable[..., bytes]
FOLDER = Path(__file__).parent / "samples"


@pytest.fixture
def sample() -> Sample:
    """One small case in every syntax, with texts replaced, each of which it must have."""

    def changed(name: str, *changes: tuple[str, str]) -> bytes:
        xml = (FOLDER / f"{name}.xml").read_text()
        for old, new in changes:
            assert old in xml, old
            xml = xml.replace(old, new)
        return xml.encode()

    return changed


@pytest.fixture
def carrying(typeset: Callable[..., Document]) -> Callable[..., Document]:
    """A typeset document that carries XML."""

    def document(text: str, *contents: bytes, source: str = "text", bare: bool = False) -> Document:
        page = typeset(text, source=source)
        embedded = tuple(Embedded("factur-x.xml", "application/xml", content) for content in contents)
        media_type = "application/xml" if bare else page.media_type
        return Document(page.content_hash, media_type, page.pages, language="en", embedded=embedded)

    return document
