"""Values read where they stood on corrected documents of the same layout."""

from typing import NamedTuple

from docmill.model.document import Document
from docmill.model.paths import is_same_value, leaves
from docmill.model.result import Evidence, Extraction, Schema
from docmill.schemas.outline import outline
from docmill.understanding.corrections.precedents import Precedents
from docmill.understanding.corrections.values import with_values
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.fields.findings import Finding, evidence_of
from docmill.understanding.fields.meaning import FieldMeaning
from docmill.understanding.page.layout import Layout
from docmill.understanding.user_schemas.extractor import findings, meanings_of, written
from docmill.understanding.user_schemas.features import signature


class Anchored(NamedTuple):
    """A value at the place that its layout has for it."""

    value: object
    evidence: Evidence


def with_anchors(document: Document, schema: Schema, read: Extraction, precedents: Precedents) -> Extraction:
    """What was read, with the values that stand where people said they do on papers of the same layout."""
    known = precedents.model and precedents.model.layout_of(signature(document))
    if precedents.model is None or known is None:
        return read
    meanings = {path: one for path, one in meanings_of(outline(schema)).items() if path in known.weights}
    candidates = candidates_of(document)
    before = dict(leaves(read.data))
    found = {
        path: _anchored(finding, meanings[path], candidates.layout, precedents.sources.get(path, ""))
        for path, finding in findings(candidates, meanings, precedents.model).items()
    }
    better = {
        path: one
        for path, one in found.items()
        if one.value is not None and not _is_as_good(one, before.get(path), read.evidence.get(path))
    }
    return with_values(read, schema, better)


def _is_as_good(one: Anchored, before: object, proof: Evidence | None) -> bool:
    """Whether the same was read already, and is believed as much."""
    return (
        proof is not None and is_same_value(one.value, before) and proof.confidence >= one.evidence.confidence
    )


def _anchored(finding: Finding, meaning: FieldMeaning, layout: Layout, source: str) -> Anchored:
    proof = evidence_of(finding, layout)
    reason = f"where you said it stands on {source}" if source else "where you said it stands"
    return Anchored(written(finding, meaning), proof.model_copy(update={"reason": reason}))
