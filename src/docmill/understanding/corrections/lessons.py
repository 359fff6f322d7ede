"""From a document and its known values to what a model of a schema learns."""

from collections.abc import Mapping
from typing import Any, cast

from docmill.model.document import Document
from docmill.model.result import Schema
from docmill.schemas.outline import outline
from docmill.understanding.corrections.fitting import taught_by
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.user_schemas.extractor import meanings_of, untaught
from docmill.understanding.user_schemas.learned import Taught


def lesson(document: Document, schema: Schema, values: Mapping[str, object]) -> Taught:
    """What the document teaches whose values are these, by path."""
    candidates = candidates_of(document)
    fields = untaught(candidates, meanings_of(outline(schema)))
    return taught_by(document, fields, values, candidates.conventions)


def flat(values: Mapping[str, Any], owner: str = "") -> dict[str, object]:
    """The values by path; lists teach nothing."""
    found: dict[str, object] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            found.update(flat(cast("Mapping[str, Any]", value), f"{owner}{name}."))
        elif not isinstance(value, list):
            found[f"{owner}{name}"] = value
    return found
