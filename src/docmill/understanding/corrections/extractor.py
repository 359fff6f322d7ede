"""`Extractor` that hears what people said of earlier documents."""

from docmill.model.document import Document
from docmill.model.result import Extraction, Schema
from docmill.model.steps_taken import StepTaken
from docmill.ports import Extractor, Original
from docmill.understanding.corrections.anchors import with_anchors
from docmill.understanding.corrections.precedents import Precedents, loads
from docmill.understanding.corrections.recall import memory_of, with_layout, with_memory, without_cleared


class TaughtExtractor:
    """`Extractor` that puts right what another reads, as people did before on the like of the document.

    What people said comes with the schema, see `Teacher`; without it, nothing changes.
    """

    def __init__(self, otherwise: Extractor) -> None:
        self._otherwise = otherwise

    async def extract(
        self, document: Document, schema: Schema, original: Original | None = None
    ) -> Extraction:
        """See `Extractor.extract`. Raises what the other raises."""
        read = await self._otherwise.extract(document, schema, original)
        if not schema.learned or not document.pages:
            return read
        return heeded(document, schema, read, loads(schema.learned))


def heeded(document: Document, schema: Schema, read: Extraction, precedents: Precedents) -> Extraction:
    """What was read, put right by what people said of earlier documents."""
    found = without_cleared(document, schema, read, precedents.documents)
    cleared = tuple(path for path in read.evidence if path not in found.evidence)
    found = with_anchors(document, schema, found, precedents)
    found = with_layout(document, schema, found, precedents.documents)
    found = with_memory(document, schema, found, memory_of(precedents.documents))
    confirmed = tuple(path for path, proof in found.evidence.items() if proof.reason)
    if confirmed:
        found = found.with_step(StepTaken(kind="confirmed", fields=confirmed))
    return found.with_step(StepTaken(kind="cleared", fields=cleared)) if cleared else found
