"""What people said of earlier documents, applied to what was read of another."""

from docmill.model.document import Document
from docmill.model.result import Extraction, Schema
from docmill.model.steps_taken import StepTaken
from docmill.understanding.corrections.anchors import with_anchors
from docmill.understanding.corrections.precedents import Precedents
from docmill.understanding.corrections.recall import memory_of, with_layout, with_memory, without_cleared


def apply_corrections(
    document: Document, schema: Schema, read: Extraction, precedents: Precedents
) -> Extraction:
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
