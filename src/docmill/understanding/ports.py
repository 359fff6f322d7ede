"""What the router and those it asks expect of each other."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from docmill.model.document import Box, Document, Words
from docmill.model.result import Extraction, Schema
from docmill.model.steps_taken import StepTaken
from docmill.ports import Original
from docmill.resilience.spending import Meter


@dataclass(frozen=True, slots=True)
class Question:
    """What a second reader is asked about. meter: where it counts what its answer costs."""

    document: Document
    schema: Schema
    original: Original | None
    meter: Meter


@dataclass(frozen=True, slots=True)
class SecondReading:
    """What a second reader says of doubted fields.

    best: the extraction it was given, with what it says of that as a whole: confidences, failures.
    alternatives: other values for doubted fields; the first that the gate doubts less is taken. step: what
    the reader did; its outcome is not known yet.
    """

    best: Extraction
    alternatives: Iterable[Extraction]
    step: StepTaken


class SecondReader(Protocol):
    """Reads fields once more that the gate doubts. name: for a person. is_paid: whether it costs money."""

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def is_paid(self) -> bool: ...  # noqa: D102

    async def read_again(
        self, best: Extraction, doubted: Sequence[str], question: Question
    ) -> SecondReading | None:
        """What it reads at these paths; None if there is nothing it can read again.

        Raises as `Extractor.extract`, and SetupError, if it is paid; nothing if not.
        """
        ...


class FieldModel(Protocol):
    """A model that reads some fields only. name: for a person."""

    @property
    def name(self) -> str: ...  # noqa: D102

    async def ask(
        self,
        document: Document,
        schema: Schema,
        original: Original | None = None,
        *,
        meter: Meter,
        only: Sequence[str] = (),
    ) -> Extraction:
        """The values at these paths; what they cost is added to the meter. Raises as `Extractor.extract`."""
        ...


class PageRereader(Protocol):
    """Reads a part of a page once more."""

    async def reread(
        self, original: Original, document: Document, page_number: int, *, region: Box
    ) -> Words | None:
        """The words in the region as another look gives them; None where that cannot be done."""
        ...
