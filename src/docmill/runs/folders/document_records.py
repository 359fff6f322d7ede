"""The records of documents that docmill's own steps have processed: one JSON object for each."""

from collections.abc import Sequence
from dataclasses import asdict

from docmill.errors import DocmillError, UnsupportedFileTypeError
from docmill.model.document import Part, Usage
from docmill.model.result import Classification, Result
from docmill.ports import Ref
from docmill.runs.components.records import LONGEST_TEXT, Record

_UNKNOWN = Classification()
_DESCRIPTION = ("document_type", "title", "summary", "document_date", "tags", "language")


def result_record(ref: Ref, result: Result, *, with_text: bool = False) -> Record:
    """The record of a document that went through the pipeline. with_text: what it says, as far as needed."""
    extraction, verdict = result.extraction, result.verdict
    text = {"text": result.document.text[:LONGEST_TEXT]} if with_text and result.document else {}
    return {
        "source": ref.key,
        "content_hash": result.content_hash,
        "media_type": result.media_type,
        "status": result.status,
        **_described(result.classification),
        "data": extraction and extraction.data.model_dump(mode="json"),
        "evidence": {path: proof.model_dump(mode="json") for path, proof in extraction.evidence.items()}
        if extraction
        else {},
        "suggestions": extraction.suggestions_as_json if extraction else {},
        "reason": extraction and extraction.reason,
        "verdict": verdict and {"passed": verdict.passed, **verdict.model_dump(mode="json")},
        "error": result.refusal
        and {"code": UnsupportedFileTypeError.code, "step": "transcribe", "message": result.refusal},
        "attempts": result.attempt,
        "usage": result.usage and result.usage.model_dump(mode="json"),
        "timings_s": {step: round(seconds, 4) for step, seconds in result.timings_s.items()},
        "parts": _part_records(ref, result.document.parts if result.document else ()),
        **text,
    }


def _described(classification: Classification) -> Record:
    """What the document is, as its record says it."""
    described = classification.model_dump(mode="json")
    return {name: described[name] for name in _DESCRIPTION}


def failure_record(
    ref: Ref,
    error: DocmillError,
    *,
    content_hash: str | None,
    attempts: int,
    media_type: str | None = None,
    parts: Sequence[Part] = (),
    usage: Usage | None = None,
) -> Record:
    """The record of a document that could not be processed. usage: what its attempts have cost."""
    return {
        "source": ref.key,
        "content_hash": content_hash,
        "media_type": media_type,
        "status": "failed",
        **_described(_UNKNOWN),
        "document_type": None,
        "data": None,
        "evidence": {},
        "suggestions": {},
        "reason": None,
        "verdict": None,
        "error": {"code": error.code, "step": error.step, "message": error.message},
        "attempts": attempts,
        "usage": usage.model_dump(mode="json") if usage and usage != Usage() else None,
        "timings_s": {},
        "parts": _part_records(ref, parts),
    }


def part_source(whole: str, part: Part) -> str:
    """The source of a part's record: `mail.eml/invoice.pdf`."""
    return f"{whole}/{part.name}"


def _part_records(ref: Ref, parts: Sequence[Part]) -> list[Record]:
    """A part of a document, with the source of the part's own record; a part with a problem has none."""
    return [
        {"source": None if part.problem else part_source(ref.key, part), **asdict(part)} for part in parts
    ]
