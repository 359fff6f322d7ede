"""Reading for tests, in no time."""

from dataclasses import replace

from docmill.errors import DocmillError
from docmill.model.document import Document
from docmill.ports import Original, PageJournal


class FakeConverter:
    """`Converter` that reads the same from every original: what it was given.

    originals: what it was asked to read so far.
    """

    def __init__(self, outcome: Document | DocmillError) -> None:
        self.outcome = outcome
        self.originals: list[Original] = []

    async def convert(self, original: Original, pages: PageJournal | None = None) -> Document:
        """See `Converter.convert`."""
        del pages
        self.originals.append(original)
        if isinstance(self.outcome, DocmillError):
            raise self.outcome
        return replace(self.outcome, content_hash=original.content_hash)
