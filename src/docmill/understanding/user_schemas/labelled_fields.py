"""Fields of built-in types that are read by the labels of their type's file."""

from collections.abc import Collection
from dataclasses import replace
from functools import cache

from docmill.schemas.document_types import DEFINITIONS, DocumentType
from docmill.schemas.outline import outline
from docmill.schemas.registry import REGISTRY
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.choosing import choose_values, find_periods
from docmill.understanding.fields.findings import Finding
from docmill.understanding.fields.meaning import FieldMeaning, meaning_of, spelling_of
from docmill.understanding.fields.scoring import Scored
from docmill.understanding.user_schemas.extractor import score_fields


def labelled_findings(candidates: Candidates, kind: DocumentType) -> dict[str, Finding]:
    """The fields that the type's file lists, by path; of fields with labels no value without one."""
    meanings = _meanings(kind)
    if not meanings:
        return {}
    scored = score_fields(candidates, meanings)
    labels = {alias for meaning in meanings.values() for alias in meaning.aliases}
    fields = {
        path: _labelled(field, labels) if field.meaning.aliases else field for path, field in scored.items()
    }
    return choose_values(fields, find_periods(list(meanings.values())))


def _labelled(field: Scored, labels: Collection[tuple[str, ...]]) -> Scored:
    """The candidates that a label names and that do not begin with another.

    A code at some distance from its label stands alone: beside an empty field may be somebody's postcode.
    """
    kept = [
        index
        for index, candidate in enumerate(field.candidates)
        if field.labels[index] > 0
        and not _begins_with_label(str(candidate.value), labels)
        and (
            field.meaning.form != "code"
            or candidate.around.before
            or candidate.stop >= len(candidate.segment.text.rstrip())
        )
    ]
    candidates = [field.candidates[index] for index in kept]
    return replace(field, candidates=candidates, labels=field.labels[kept], scores=field.scores[kept])


def _begins_with_label(text: str, labels: Collection[tuple[str, ...]]) -> bool:
    words = tuple(spelling_of(text))
    return any(words[:count] in labels for count in range(1, len(words) + 1))


@cache
def _meanings(kind: DocumentType) -> dict[str, FieldMeaning]:
    """The meaning of each field by its labels; where it has none, by the words of its name."""
    definition = DEFINITIONS[kind]
    fields = [field for field in outline(REGISTRY[kind]) if field.path in definition.fields]
    # Names that share a word (`invoice number`) would take each other's values.
    return {
        field.path: replace(meaning_of(field), words={}, labels={}, _is_hint={}, _strengths={})
        if field.labels
        else meaning_of(field)
        for field in fields
    }
