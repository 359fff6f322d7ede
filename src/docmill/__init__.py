"""Documents in, trusted typed data out. The public names; each is loaded when it is first used."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from docmill.api.many_files import ProcessedFile, aprocess_many, process_many
    from docmill.api.match_documents import match
    from docmill.api.one_file import aextract, aprocess_file, extract, process_file
    from docmill.errors import DocmillError, DocumentError, SetupError, TransientError
    from docmill.matching.outcome import Discrepancy, Link, Matching, Reason
    from docmill.model.document import Box, Cell, Document, Page, Table, Words
    from docmill.model.result import (
        Classification,
        Evidence,
        Extraction,
        Failure,
        Result,
        Schema,
        Suggestion,
        Verdict,
    )
    from docmill.pipeline import DocumentIO, Steps, TimeLimits, process
    from docmill.ports import Original, Ref
    from docmill.presentation.file_result import Extracted, FileResult
    from docmill.wiring import reading_pool, steps_for

_HOME = {
    "docmill.errors": ("DocmillError", "DocumentError", "SetupError", "TransientError"),
    "docmill.api.one_file": ("aextract", "aprocess_file", "extract", "process_file"),
    "docmill.api.many_files": ("ProcessedFile", "aprocess_many", "process_many"),
    "docmill.api.match_documents": ("match",),
    "docmill.presentation.file_result": ("Extracted", "FileResult"),
    "docmill.model.document": ("Box", "Cell", "Document", "Page", "Table", "Words"),
    "docmill.model.result": (
        "Classification",
        "Evidence",
        "Extraction",
        "Failure",
        "Result",
        "Schema",
        "Suggestion",
        "Verdict",
    ),
    "docmill.matching.outcome": ("Discrepancy", "Link", "Matching", "Reason"),
    "docmill.wiring": ("reading_pool", "steps_for"),
    "docmill.pipeline": ("DocumentIO", "Steps", "TimeLimits", "process"),
    "docmill.ports": ("Original", "Ref"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "Box",
    "Cell",
    "Classification",
    "Discrepancy",
    "DocmillError",
    "Document",
    "DocumentError",
    "DocumentIO",
    "Evidence",
    "Extracted",
    "Extraction",
    "Failure",
    "FileResult",
    "Link",
    "Matching",
    "Original",
    "Page",
    "ProcessedFile",
    "Reason",
    "Ref",
    "Result",
    "Schema",
    "SetupError",
    "Steps",
    "Suggestion",
    "Table",
    "TimeLimits",
    "TransientError",
    "Verdict",
    "Words",
    "aextract",
    "aprocess_file",
    "aprocess_many",
    "extract",
    "match",
    "process",
    "process_file",
    "process_many",
    "reading_pool",
    "steps_for",
]


def __getattr__(name: str) -> object:
    # Loading numpy and pydantic takes longer than many a command; PEP 562 defers it.
    if name in _MODULE_OF:
        return getattr(import_module(_MODULE_OF[name]), name)
    raise AttributeError(f"module 'docmill' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
