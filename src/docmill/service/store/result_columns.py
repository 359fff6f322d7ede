"""The columns of an ingestion's result, listed once.

Statements, rows and the API follow the fields of `ResultColumns`. Another column of a result is a field
there, its value in `result_values`, and a migration.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import Any, LiteralString, cast

from docmill.model.document import Document, Usage
from docmill.model.result import Classification, Extraction, Verdict
from docmill.understanding.duplicates import Signature

_INTERNAL = {"internal": True}
_SQL_TYPES: Mapping[object, LiteralString] = {
    str | None: "text",
    int | None: "bigint",
    float | None: "double precision",
    bool | None: "boolean",
    Decimal | None: "numeric",
    dict[str, Any] | None: "jsonb",
}


@dataclass(frozen=True, kw_only=True)
class ResultColumns:
    """The values of an ingestion's result as they are stored; None while unknown, or where there is none.

    archive_serial_number: of the document's label; None where labels have several.
    extraction_input_tokens to cost: of all attempts together. timings_s: of the completed attempt, by
    step. Internal columns are not part of the API.
    """

    transcription_file_path: str | None = field(default=None, metadata=_INTERNAL)
    preprocessed_file_path: str | None = field(default=None, metadata=_INTERNAL)
    transcription_quality_score: float | None = None
    classification: dict[str, Any] | None = None
    structured_data: dict[str, Any] | None = None
    evidence: dict[str, Any] | None = None
    suggestions: dict[str, Any] | None = None
    verdict: dict[str, Any] | None = None
    archive_serial_number: int | None = None
    valid_structured_data: bool | None = field(default=None, metadata=_INTERNAL)
    extraction_model: str | None = None
    extraction_reason: str | None = None
    extraction_input_tokens: int | None = None
    extraction_output_tokens: int | None = None
    cost: Decimal | None = None
    timings_s: dict[str, Any] | None = None

    def result_columns(self) -> dict[str, Any]:
        """The values by column, without those that subclasses add."""
        return {name: getattr(self, name) for name in _NAMES}


def result_values(
    file_path: Callable[[str], str],
    *,
    document: Document | None,
    classification: Classification | None,
    extraction: Extraction | None,
    verdict: Verdict | None,
) -> dict[str, Any]:
    """The columns of the findings so far, without those of their cost.

    file_path: where the result of a step is stored.
    """
    values: dict[str, Any] = {}
    if document is not None:
        values["transcription_file_path"] = file_path("transcription")
        if any(page.preprocessed for page in document.pages):
            values["preprocessed_file_path"] = file_path("preprocessed")
        if document.pages:
            values["transcription_quality_score"] = document.quality
    if classification is not None:
        values["classification"] = classification.model_dump(mode="json")
    if extraction is not None:
        values["structured_data"] = extraction.data.model_dump(mode="json")
        values["evidence"] = {
            path: evidence.model_dump(mode="json") for path, evidence in extraction.evidence.items()
        }
        values["suggestions"] = extraction.suggestions_as_json
        values["extraction_reason"] = extraction.reason
    if verdict is not None:
        values["verdict"] = verdict.model_dump(mode="json")
        values["valid_structured_data"] = verdict.passed
    return values


def cost_values(usage: Usage | None) -> dict[str, Any]:
    """The columns of the cost of all attempts."""
    if usage is None:
        return {}
    return {
        "extraction_input_tokens": usage.input_tokens,
        "extraction_output_tokens": usage.output_tokens,
        "extraction_model": usage.model,
        "cost": usage.cost,
    }


@dataclass(frozen=True, kw_only=True)
class StoredFindings(ResultColumns):
    """Findings about a document before its ingestion ends. media_type to language: for its document."""

    media_type: str | None = None
    page_count: int | None = None
    text: str | None = None
    language: str | None = None

    def updated(self, newer: "StoredFindings") -> "StoredFindings":
        """These findings with all that `newer` knows."""
        return StoredFindings(**(vars(self) | newer.known_values()))

    def known_values(self) -> dict[str, Any]:
        """The values by column, without unknown ones."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class StoredResult(ResultColumns):
    """The result of a completed ingestion. media_type to text: for its document.

    signature: by which the document is compared with others; None where nothing tells it from them.
    serial_numbers: archive serial numbers on labels of its pages.
    """

    media_type: str
    page_count: int | None = None
    text: str | None = None
    pipeline_fingerprint: str
    error_code: str | None = None
    error_message: str | None = None
    signature: Signature | None = None
    serial_numbers: tuple[int, ...] = ()


# The names are those of the fields above, and nothing from outside.
_FIELDS = fields(ResultColumns)
_NAMES: list[LiteralString] = [cast("LiteralString", column.name) for column in _FIELDS]

NAMES: LiteralString = ", ".join(f"ingestion.{name}" for name in _NAMES)
"""For SELECT."""

DEFINITIONS: LiteralString = ", ".join(
    f"{name} {_SQL_TYPES[column.type]}" for name, column in zip(_NAMES, _FIELDS, strict=True)
)
"""For `jsonb_to_recordset`."""

ASSIGNMENTS: LiteralString = ", ".join(f"{name} = done.{name}" for name in _NAMES)
"""For UPDATE ingestion: the values of the row `done`."""

KNOWN_ASSIGNMENTS: LiteralString = ", ".join(
    f"{name} = coalesce(known.{name}, ingestion.{name})" for name in _NAMES
)
"""For UPDATE ingestion: the values of the row `known`; columns that it does not know stay."""

PUBLIC_COLUMNS: Mapping[str, Any] = {
    column.name: column.type for column in _FIELDS if not column.metadata.get("internal")
}
"""The columns that the API shows, with their types."""
