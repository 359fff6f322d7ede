"""Fields of a user's schema, offline: typed candidates, scored by the words around them and of the field."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

from docmill.model.document import Document
from docmill.model.paths import set_value
from docmill.model.result import Evidence, Extraction, Schema
from docmill.model.steps_taken import StepTaken
from docmill.schemas.filling import filled
from docmill.schemas.outline import FieldOutline, outline
from docmill.understanding.fields.analysis_cache import candidates_of, once
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.choosing import choose_values, find_periods, score_period
from docmill.understanding.fields.findings import Finding, cleaned, evidence_of
from docmill.understanding.fields.meaning import FieldMeaning, meaning_of
from docmill.understanding.fields.scoring import Scored, score_candidates
from docmill.understanding.tables.lists import list_findings
from docmill.understanding.user_schemas.schema_model import SchemaModel

STEP = StepTaken(
    kind="read", by="labels and layout", note="no embedded data", without_model="no model needed"
)


def extract_user_schema(document: Document, schema: Schema, model: SchemaModel | None = None) -> Extraction:
    """The fields of a user's schema, offline. model: its learned weights."""
    if not document.pages:
        return Extraction(
            document_type=schema.name, data=filled(schema.fields, {}), evidence={}, steps=(STEP,)
        )
    meanings = meanings_of(outline(schema))
    candidates = candidates_of(document)
    data: dict[str, Any] = {}
    evidence: dict[str, Evidence] = {}
    for path, finding in (
        *find_values(candidates, meanings, model).items(),
        *list_findings(candidates, meanings),
    ):
        value = value_for_kind(finding, meanings[re.sub(r"\[\d+\]", "[]", path)])
        if value is not None:
            set_value(data, path.replace("[]", "[0]"), value)
            evidence[path.replace("[]", "[0]")] = evidence_of(finding, candidates.layout)
    return Extraction(
        document_type=schema.name,
        data=filled(schema.fields, data),
        evidence=evidence,
        steps=(STEP,),
    )


def meanings_of(fields: Sequence[FieldOutline]) -> dict[str, FieldMeaning]:
    """The meaning of each field, by its path."""
    return {field.path: meaning_of(field) for field in fields}


def find_values(
    candidates: Candidates, meanings: Mapping[str, FieldMeaning], model: SchemaModel | None = None
) -> dict[str, Finding]:
    """One value for each field that is no member of a list of objects."""
    fields = score_fields(candidates, meanings)
    if model is not None:
        fields = model.rescored(fields, candidates.layout.document)
    return choose_values(fields, find_periods([field.meaning for field in fields.values()]))


def score_fields(candidates: Candidates, meanings: Mapping[str, FieldMeaning]) -> dict[str, Scored]:
    """The candidates of each field that is no member of a list, with the scores of periods joined."""
    single = {path: meaning for path, meaning in meanings.items() if "[]." not in path}
    fields = {path: _scored_field(candidates, meaning) for path, meaning in single.items()}
    for start, end in find_periods(list(single.values())).items():
        first, last = fields[start], fields[end]
        starts, ends = score_period(first.candidates, first.scores, last.scores)
        fields[start], fields[end] = replace(first, scores=starts), replace(last, scores=ends)
    return fields


@once
def _scored_field(candidates: Candidates, meaning: FieldMeaning) -> Scored:
    return score_candidates(meaning, candidates)


def value_for_kind(finding: Finding, meaning: FieldMeaning) -> object:
    """The value as the field's kind has it."""
    value = finding.value
    as_read = " ".join(span.text for span in finding.spans)
    if meaning.kind == "text":
        return cleaned(str(value) if isinstance(value, str) else as_read, plain=False)
    if meaning.kind == "integer" and isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else None
    if meaning.kind == "boolean":
        return value == "true"
    if meaning.kind == "datetime" and isinstance(value, date):
        return f"{value.isoformat()}T00:00:00"
    return value
