"""Judging without holding up the event loop."""

import asyncio

from docmill.model.document import Document
from docmill.model.result import Extraction, Schema, Verdict
from docmill.ports import Gate

_MANY_VALUES = 300
"""More are judged in a thread: they take longer than 10 ms."""


async def judged(gate: Gate, document: Document, extraction: Extraction, schema: Schema) -> Verdict:
    """See `Gate.judge`."""
    if document.is_large or len(extraction.evidence) > _MANY_VALUES:
        return await asyncio.to_thread(gate.judge, document, extraction, schema)
    return gate.judge(document, extraction, schema)
