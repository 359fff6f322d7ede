"""Withholding of values that are believed too little: they are suggestions to a person, and not data.

What a floor is by: its field's in the file of the type, else whether the field is critical. On recognised
pages, where a misread letter is silent, floors may be higher.
"""

from docmill.model.document import Document
from docmill.model.paths import value_at, without_indices
from docmill.model.result import Evidence, Extraction, Schema, Suggestion
from docmill.schemas.document_types import DEFINITIONS, known_type
from docmill.schemas.filling import replace_values

MOST_SUGGESTIONS = 3
"""Values that are suggested for one field."""
_OF_CRITICAL = 0.5
_OF_OTHERS = 0.0
_WHEN_RECOGNISED = {"seller.name": 0.9, "gross_total": 0.85}
"""Floors of critical fields on recognised pages. Measured: bench/results/receipts.md."""


class Floors:
    """The least confidence that a value of a field needs to be data, for one document."""

    def __init__(self, document: Document, schema: Schema) -> None:
        self._critical = frozenset(schema.critical)
        self._definition = DEFINITIONS[known_type(schema.name)]
        self._recognised = {page.number for page in document.pages if page.source == "ocr"}

    def of(self, path: str, evidence: Evidence) -> float:
        """The floor of the value at a path. evidence: of this value."""
        field = without_indices(path)
        usual = _OF_CRITICAL if field in self._critical else _OF_OTHERS
        floor = self._definition.floors.get(field, usual)
        if evidence.page in self._recognised:
            when_recognised = self._definition.floors_when_recognised.get(field)
            if when_recognised is None and field in self._critical:
                when_recognised = _WHEN_RECOGNISED.get(field)
            floor = max(floor, when_recognised or 0.0)
        return floor

    def is_below(self, path: str, evidence: Evidence) -> bool:
        """Return whether the value is believed too little. What an XML says has no floor."""
        return evidence.match != "embedded" and evidence.confidence < self.of(path, evidence)


def withhold(extraction: Extraction, document: Document, schema: Schema) -> Extraction:
    """The extraction with null for values below their floors, which become the first suggestions.

    Fields that have a value have no suggestions.
    """
    floors = Floors(document, schema)
    below = {path: proof for path, proof in extraction.evidence.items() if floors.is_below(path, proof)}
    data = extraction.data.model_dump(mode="json")
    suggestions = {
        path: others for path, others in extraction.suggestions.items() if path not in extraction.evidence
    } | {
        path: (Suggestion(value=value_at(data, path), evidence=proof), *extraction.suggestions.get(path, ()))
        for path, proof in below.items()
    }
    withheld = replace_values(extraction, schema, dict.fromkeys(below))
    return withheld.model_copy(
        update={"suggestions": {path: some[:MOST_SUGGESTIONS] for path, some in suggestions.items()}}
    )
