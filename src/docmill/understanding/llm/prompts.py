"""The content of prompts: the text of a document in windows, marked as data, and pictures of bad pages.

Also the check for prompt injection: words on a page that are meant for a language model, so that it reads
wrong values.
"""

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pydantic_ai import BinaryContent

from docmill.model.document import Document, Page
from docmill.model.result import Failure
from docmill.ports import Original
from docmill.understanding.text.model_orders import holds_orders

CHARACTERS = 48_000
"""Most characters of text in one prompt: about 12,000 to 20,000 tokens, which every model takes."""
LEAST_CHARACTERS = 2_000
MOST_PICTURES = 4
"""In one prompt."""
POOR = 0.7
"""Quality of a page below which a model is shown its picture."""
_WIDE = re.compile(r" {4,}")
_FENCE = re.compile(r"</?\s*document-[0-9a-f]*\s*>", re.IGNORECASE)

CHECK = "injection"
FAILURE = Failure(
    check=CHECK, message="The page holds orders to a machine that reads it; please look at every value."
)


class Pictures(Protocol):
    """Draws pages of originals."""

    async def picture(self, original: Original, document: Document, page_number: int) -> bytes | None:
        """The page as JPEG; None if the original is gone or cannot be drawn."""
        ...


@dataclass(frozen=True, slots=True)
class Window:
    """The text of some pages, or a part of it, for one prompt."""

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
        # About the middle: between lines, else words, else anywhere.
        cut = middle = len(self.text) // 2
        reach = len(self.text) // 4
        for mark in ("\n", " "):
            before = self.text.rfind(mark, middle - reach, middle)
            after = self.text.find(mark, middle, middle + reach)
            if before >= 0 or after >= 0:
                cut = (before if before >= 0 else after) + 1
                break
        return Window(self.pages, self.text[:cut]), Window(self.pages, self.text[cut:])


def windows(document: Document, characters: int = CHARACTERS) -> list[Window]:
    """Divide the pages of a document into windows, as many pages to one as fit; too long a page is split.

    characters: most in one window; a page of fewer than 4,000 is never split.
    """
    groups: list[list[Page]] = []
    length = 0
    for page in document.pages:
        page_length = len(_page_text(page))
        if not groups or length + page_length > characters:
            groups.append([])
            length = 0
        groups[-1].append(page)
        length += page_length
    return [part for group in groups for part in _split_to_fit(_window(group), characters)]


def _split_to_fit(window: Window, characters: int) -> list[Window]:
    if len(window.text) <= max(characters, 2 * LEAST_CHARACTERS):
        return [window]
    return [part for half in window.halves() for part in _split_to_fit(half, characters)]


def _window(pages: Sequence[Page]) -> Window:
    texts = (f"[page {page.number}]\n{_page_text(page)}" for page in pages)
    return Window(tuple(pages), "\n".join(texts))


def _page_text(page: Page) -> str:
    return _WIDE.sub("   ", page.text)


def fence(text: str) -> str:
    """Put the text between random marks, so that nothing in it can end the fence."""
    mark = f"document-{secrets.token_hex(6)}"
    return f"<{mark}>\n{_FENCE.sub('', text)}\n</{mark}>"


async def draw_poor_pages(
    document: Document, pages: Sequence[Page], pictures: Pictures | None, *, original: Original | None
) -> list[BinaryContent]:
    """Pictures of the pages that were read badly or not at all, at most `MOST_PICTURES`.

    Empty without `pictures` or `original`.
    """
    if pictures is None or original is None:
        return []
    poor = [page.number for page in pages if page.source == "none" or page.quality < POOR]
    drawn = [await pictures.picture(original, document, number) for number in poor[:MOST_PICTURES]]
    return [BinaryContent(picture, media_type="image/jpeg") for picture in drawn if picture is not None]


def find_injection(document: Document) -> tuple[Failure, ...]:
    """Return a failure if any page holds orders to a language model; else an empty tuple."""
    return (FAILURE,) if any(holds_orders(page.text) for page in document.pages) else ()
