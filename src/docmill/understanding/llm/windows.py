"""A document as a model is shown it: text in pieces that fit, fenced as data, and pictures of bad pages."""

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pydantic_ai import BinaryContent

from docmill.model.document import Document, Page
from docmill.ports import Original

CHARACTERS = 48_000
"""Of text in one question: about 12,000 to 20,000 tokens, which every model takes."""
LEAST_CHARACTERS = 2_000
MOST_PICTURES = 4
"""Pages in one question that are shown as pictures, too."""
POOR = 0.7
"""Pages below this quality are shown to a model that sees."""
_WIDE = re.compile(r" {4,}")
_FENCE = re.compile(r"</?\s*document-[0-9a-f]*\s*>", re.IGNORECASE)


class Pictures(Protocol):
    """Draws pages of originals."""

    async def picture(self, original: Original, document: Document, page_number: int) -> bytes | None:
        """The page as JPEG; None if the original is gone or cannot be drawn."""
        ...


@dataclass(frozen=True, slots=True)
class Window:
    """Pages that are asked about together. text: of them; pages: all or part of which is in it."""

    pages: tuple[Page, ...]
    text: str

    @property
    def is_small(self) -> bool:
        """True if it is too short to be split."""
        return len(self.text) < 2 * LEAST_CHARACTERS

    def halves(self) -> tuple["Window", "Window"]:
        """Two windows with the lines of this one, cut between pages if there are several."""
        if len(self.pages) > 1:
            middle = len(self.pages) // 2
            return _window(self.pages[:middle]), _window(self.pages[middle:])
        at = _cut(self.text)
        return Window(self.pages, self.text[:at]), Window(self.pages, self.text[at:])


def windows(document: Document, characters: int = CHARACTERS) -> list[Window]:
    """The pages with text or a picture, as many to a window as fit."""
    found: list[Window] = []
    together: list[Page] = []
    length = 0
    for page in document.pages:
        own = len(_text(page))
        if together and length + own > characters:
            found.append(_window(together))
            together, length = [], 0
        together.append(page)
        length += own
    if together:
        found.append(_window(together))
    return [part for window in found for part in _fitting(window, characters)]


def _fitting(window: Window, characters: int) -> list[Window]:
    if len(window.text) <= max(characters, 2 * LEAST_CHARACTERS):
        return [window]
    return [part for half in window.halves() for part in _fitting(half, characters)]


def _cut(text: str) -> int:
    """The index about its middle at which to split a text: between lines, else words, else anywhere."""
    middle, reach = len(text) // 2, len(text) // 4
    for mark in ("\n", " "):
        before, after = text.rfind(mark, middle - reach, middle), text.find(mark, middle, middle + reach)
        if before >= 0 or after >= 0:
            return (before if before >= 0 else after) + 1
    return middle


def _window(pages: Sequence[Page]) -> Window:
    return Window(tuple(pages), "\n".join(f"[page {page.number}]\n{_text(page)}" for page in pages))


def _text(page: Page) -> str:
    return _WIDE.sub("   ", page.text)


def fenced(text: str) -> str:
    """The text between marks that it cannot know, so that nothing in it can end it."""
    mark = f"document-{secrets.token_hex(6)}"
    return f"<{mark}>\n{_FENCE.sub('', text)}\n</{mark}>"


async def pictured(
    document: Document, pages: Sequence[Page], pictures: Pictures | None, *, original: Original | None
) -> list[BinaryContent]:
    """Pictures of the pages whose text cannot be relied on."""
    poor = [page.number for page in pages if page.source == "none" or page.quality < POOR]
    if pictures is None or original is None:
        return []
    drawn = [await pictures.picture(original, document, number) for number in poor[:MOST_PICTURES]]
    return [BinaryContent(picture, media_type="image/jpeg") for picture in drawn if picture is not None]
