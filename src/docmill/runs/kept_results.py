"""Results of stages in the form in which they are kept for the next attempt."""

import json
from typing import Any, TypeVar

import zstandard
from pydantic import BaseModel

from docmill.model.document import Usage
from docmill.model.result import Classification, Evidence, Suggestion, Verdict
from docmill.runs.roles import ExtractionResult
from docmill.schemas.filling import filled

Data = TypeVar("Data", bound=BaseModel)
FORMAT = 1


def dump_classification(classification: Classification) -> bytes:
    """The classification as bytes."""
    return classification.model_dump_json().encode()


def load_classification(content: bytes) -> Classification:
    """What `dump_classification` wrote. Raises ValueError for anything else."""
    return Classification.model_validate_json(content)


def dump_extraction(extracted: ExtractionResult[Any]) -> bytes:
    """The fields with all that is said about them. What docmill's own steps found beside is left out."""
    content = {
        "format": FORMAT,
        "data": extracted.data.model_dump(mode="json"),
        "evidence": {path: proof.model_dump(mode="json") for path, proof in extracted.evidence.items()},
        "suggestions": {
            path: [one.model_dump(mode="json") for one in several]
            for path, several in extracted.suggestions.items()
        },
        "verdict": extracted.verdict.model_dump(mode="json"),
        "usage": extracted.usage.model_dump(mode="json"),
        "metadata": dict(extracted.metadata),
    }
    return zstandard.compress(json.dumps(content, ensure_ascii=False).encode("utf-8", "backslashreplace"))


def load_extraction(content: bytes, schema: type[Data]) -> ExtractionResult[Data]:
    """What `dump_extraction` wrote. Raises ValueError for anything else, or data of another schema."""
    try:
        stored = json.loads(zstandard.decompress(content))
    except zstandard.ZstdError as error:
        raise ValueError("not a kept extraction") from error
    if stored.get("format") != FORMAT:
        raise ValueError("an extraction of another format")
    # As the extractor fills it: a value that was not found is null, also where the schema wants one.
    data = filled(schema, stored["data"])
    if data.model_dump(mode="json") != stored["data"]:
        raise ValueError("the data of another schema")
    return ExtractionResult(
        data=data,
        evidence={path: Evidence.model_validate(proof) for path, proof in stored["evidence"].items()},
        suggestions={
            path: tuple(Suggestion.model_validate(one) for one in several)
            for path, several in stored["suggestions"].items()
        },
        verdict=Verdict.model_validate(stored["verdict"]),
        usage=Usage.model_validate(stored["usage"]),
        metadata=stored["metadata"],
    )
