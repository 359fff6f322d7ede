from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from docmill.model.document import Document
from docmill.model.paths import set_value
from docmill.model.result import Evidence, Extraction, Failure, Schema
from docmill.schemas.filling import filled
from docmill.schemas.registry import REGISTRY
from docmill.understanding.gate import RuleGate

Judge = Callable[..., list[Failure]]


@pytest.fixture
def judge(typeset: Callable[..., Document]) -> Judge:
    """The failures of one check on a text. values: by path, each with the text that it was read from."""

    def failures(
        check: str,
        text: str,
        values: Mapping[str, tuple[object, str]],
        *,
        schema: Schema = REGISTRY["invoice"],
        engine: str | None = None,
        refuted: Mapping[str, object] = MappingProxyType({}),
    ) -> list[Failure]:
        document = typeset(text, source="ocr" if engine else "text")
        document = replace(document, pages=[replace(page, engine=engine) for page in document.pages])
        data: dict[str, Any] = {}
        evidence: dict[str, Evidence] = {}
        for path, (value, printed) in values.items():
            set_value(data, path, value)
            evidence[path] = _evidence(document, printed)
        read = Extraction(
            document_type=schema.name,
            data=filled(schema.fields, data),
            evidence=evidence,
            refuted=dict(refuted),
        )
        verdict = RuleGate().judge(document, read, schema)
        return [failure for failure in verdict.failures if failure.check == check]

    return failures


def _evidence(document: Document, printed: str) -> Evidence:
    if not printed:
        return Evidence(page=None, box=None, text=None, match="computed", confidence=1)
    place = document.find(printed)[0]
    return Evidence(page=place.page_number, box=place.box, text=printed, match="exact", confidence=1)
