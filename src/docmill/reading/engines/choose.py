"""Which engine reads a page: the first that reads it well, or else the one that reads it best."""

import logging
from collections.abc import Sequence

from docmill.errors import DocmillError, DocumentError, SetupError, TransientError
from docmill.model.document import Page
from docmill.reading.child.tasks import broken_page
from docmill.reading.engines.engine import Meter, PageReader, Sight
from docmill.reading.images.kept_scans import Prints

log = logging.getLogger(__name__)


class Choice:
    """The engines for one document. An engine that is not set up is asked once and not for every page.

    readers: in the order in which they are asked; threshold: the quality from which a page is good enough.
    """

    def __init__(self, readers: Sequence[PageReader], threshold: float) -> None:
        self._readers = readers
        self._threshold = threshold
        self._unusable: dict[str, SetupError] = {}
        self.meter = Meter()
        """What the document costs."""
        self.prints = Prints()
        """The preprocessed pictures in which engines read its pages."""
        self.refusal: DocumentError | None = None
        """Why a page was refused for what is on it; None if none was."""

    async def best(self, sight: Sight, so_far: Page | None = None) -> Page:
        """The page as the best of the engines reads it. so_far: what is known of it already.

        Where all of them fail it raises what promises most: an error that may pass before one that a person
        must mend. A page that every engine refuses for what is on it says so in its `problem`.
        """
        best = so_far
        failures: list[DocmillError] = []
        for reader in self._readers:
            try:
                page = await self._asked(reader, sight, best)
            except DocmillError as error:
                failures.append(error)
                continue
            best = page if best is None else better(best, page)
            if best.source != "none" and best.quality >= self._threshold:
                break
        if best is not None:
            return best
        error = _most_promising(failures)
        if isinstance(error, DocumentError):
            self.refusal = self.refusal or error
            return broken_page(sight.number, error.message)
        raise error

    async def _asked(self, reader: PageReader, sight: Sight, so_far: Page | None) -> Page:
        if (known := self._unusable.get(reader.name)) is not None:
            raise known
        try:
            return await reader.read(sight, so_far)
        except DocmillError as error:
            if isinstance(error, SetupError):
                self._unusable[reader.name] = error
            log.warning("an engine failed on a page", extra={"engine": reader.name, "code": error.code})
            raise


def better(one: Page, other: Page) -> Page:
    """The page that is read better; `one` if they are equal."""
    return max(one, other, key=_worth)


def _worth(page: Page) -> tuple[bool, float]:
    return page.source != "none", page.quality


def _most_promising(failures: Sequence[DocmillError]) -> DocmillError:
    """What waiting may mend, then what a person can; an attempt that was made before one that was not."""

    def rank(error: DocmillError) -> int:
        if isinstance(error, TransientError):
            return 0 if error.attempted else 1
        return 2 if isinstance(error, SetupError) else 3

    return min(failures, key=rank)
