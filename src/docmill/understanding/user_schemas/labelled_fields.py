"""Fields of built-in types that are read by the labels of their type's file."""

from dataclasses import replace
from functools import cache

from docmill.schemas.document_types import DEFINITIONS, DocumentType
from docmill.schemas.outline import outline
from docmill.schemas.registry import REGISTRY
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.findings import Finding
from docmill.understanding.fields.meaning import FieldMeaning, meaning_of
from docmill.understanding.user_schemas.extractor import findings


def labelled_findings(candidates: Candidates, kind: DocumentType) -> dict[str, Finding]:
    """The fields that the type's file lists, by path."""
    meanings = _meanings(kind)
    return findings(candidates, meanings) if meanings else {}


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
