"""`Extractor` that hears what people said of earlier documents."""

from docmill.model import Document, Extraction, Schema
from docmill.ports import Extractor
from docmill.understanding.taught.anchoring import with_anchors
from docmill.understanding.taught.precedents import loads
from docmill.understanding.taught.recalling import memory_of, with_layout, with_memory


class TaughtExtractor:
    """`Extractor` that puts right what another reads, as people did before on the like of the document.

    What people said comes with the schema, see `Teacher`; without it, nothing changes.
    """

    def __init__(self, otherwise: Extractor) -> None:
        self._otherwise = otherwise

    async def extract(self, document: Document, schema: Schema) -> Extraction:
        """See `Extractor.extract`. Raises what the other raises."""
        read = await self._otherwise.extract(document, schema)
        if not schema.learned or not document.pages:
            return read
        precedents = loads(schema.learned)
        found = with_anchors(document, schema, read, precedents)
        found = with_layout(document, schema, found, precedents.documents)
        found = with_memory(document, schema, found, memory_of(precedents.documents))
        return found.model_copy(update={"reason": _told(found)})


def _told(found: Extraction) -> str:
    count = sum(bool(proof.reason) for proof in found.evidence.values())
    if not count:
        return found.reason
    return f"{found.reason}; {count} {'value' if count == 1 else 'values'} as people confirmed before"
