"""The protocols between the router and the second readers that it asks for doubted fields."""

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
    """A request to a second reader. meter: for the cost of its answer."""

    document: Document
    schema: Schema
    original: Original | None
    meter: Meter


@dataclass(frozen=True, slots=True)
class SecondReading:
    """The answer of a second reader.

    best: the extraction it was given, with other confidences or more failures. alternatives: with other
    values for doubted fields; the first that the gate doubts less is taken. step: without its outcome.
    """

    best: Extraction
    alternatives: Iterable[Extraction]
    step: StepTaken


class SecondReader(Protocol):
    """Reads doubted fields once more. name: for people. is_paid: whether it costs money."""

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def is_paid(self) -> bool: ...  # noqa: D102

    async def read_again(
        self, best: Extraction, doubted: Sequence[str], question: Question
    ) -> SecondReading | None:
        """Read the values at these paths again; None if there is nothing that it can read.

        A paid reader raises as `Extractor.extract`, and SetupError; a free one raises nothing.
        """
        ...


class FieldModel(Protocol):
    """A model that reads some fields only. name: for people."""

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
        """The values at these paths; their cost is added to the meter. Raises as `Extractor.extract`."""
        ...


class PageRereader(Protocol):
    """Reads a part of a page once more."""

    async def reread(
        self, original: Original, document: Document, page_number: int, *, region: Box
    ) -> Words | None:
        """The words in the region as another look gives them; None where that cannot be done."""
        ...
