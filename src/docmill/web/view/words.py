"""Names of states, types, steps and fields for people."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from docmill.errors import MisconfiguredError, UnauthorizedError
from docmill.schemas.document_types import DEFINITIONS
from docmill.service.store.documents import NOT_READ, REJECTED
from docmill.service.store.parts import PartRow, WholeRow

Tone = Literal["ok", "info", "warn", "error"]


@dataclass(frozen=True, slots=True)
class StateWords:
    """A document's state. mark: the tone of the card's edge, empty for a plain one."""

    name: str
    tone: Tone
    mark: str = ""


STATES = {
    "processing": StateWords("Processing", "info"),
    "stale": StateWords("Stuck", "warn", "warn"),
    "needs_classification": StateWords("Needs classification", "warn", "warn"),
    "needs_review": StateWords("Needs review", "info", "info"),
    "failed": StateWords("Failed", "error", "error"),
    "ready": StateWords("Ready", "ok"),
    NOT_READ: StateWords("Kept, not read", "warn"),
    REJECTED: StateWords("Rejected", "warn"),
}
"""In the order in which the filter offers them."""


def state_words(state: str, error_message: str | None) -> StateWords:
    """Return the name of a document's state. A ready document with an error was kept, but not read."""
    return STATES[NOT_READ if state == "ready" and error_message else state]


RETRIES = {
    "stale": "Retry",
    "needs_classification": "Retry classification",
    "failed": "Retry processing",
}
"""Label of the button that processes a document again, by state."""

TYPES = {name: definition.label for name, definition in DEFINITIONS.items()}

STEPS = {
    "process": "Starting",
    "read": "Fetching the file",
    "transcribe": "Reading the page",
    "unpack": "Taking out its parts",
    "classify": "Finding its type",
    "extract": "Finding the values",
    "export": "Saving",
}

ENGINES = {
    "rapidocr": "RapidOCR",
    "tesseract": "Tesseract",
    "documentai": "Google Document AI",
    "vision": "a language model",
}

PAUSED = {
    "small model": "The small language model",
    "large model": "The large language model",
    "file store, reading": "Reading from the file store",
    "file store, writing": "Writing to the file store",
    "process": "Processing",
}


@dataclass(frozen=True, slots=True)
class RoleWords:
    """A role of a person, and what it allows."""

    name: str
    meaning: str


ROLES = {
    "owner": RoleWords("Owner", "everything, also people, API keys and the audit log"),
    "reviewer": RoleWords("Reviewer", "reads, uploads, reviews, retries and edits"),
    "viewer": RoleWords("Viewer", "reads documents and their values"),
}

SCOPES = {
    "read": "documents, values, files and events",
    "review": "confirm and correct values, choose types",
    "write": "upload documents and process them again",
    "administer": "people, API keys, audit log, deletion for good",
}

LISTED_PARTS = 15
"""Parts that a document's page lists at once; a longer list is folded."""

_MINUTE = 60
_HOUR = 60 * _MINUTE

NUMERIC_COLUMNS = frozenset({"quantity", "unit_price", "net_amount", "tax_rate", "amount"})


def type_name(document_type: str | None) -> str:
    """Return the type's name; empty before the document is classified."""
    return TYPES.get(document_type or "", document_type or "")


def type_choices(types: Iterable[str]) -> list[tuple[str, str]]:
    """Return the types to choose from with their names: those of docmill, then the user's own."""
    return sorted(
        ((name, type_name(name)) for name in types), key=lambda each: (each[0] not in TYPES, each[1])
    )


def sentence(text: str) -> str:
    """Return the text with a capital and a full stop."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def engine_name(engine: str | None) -> str:
    """Return the OCR engine's name, to follow "from the picture"; empty if it is not known."""
    return f" by {ENGINES.get(engine, engine)}" if engine else ""


def paused_name(part: str) -> str:
    """Return the name of what is paused: an engine, a model, the file store or a step."""
    if part in ENGINES:
        return f"Reading by {ENGINES[part]}"
    return PAUSED.get(part) or STEPS.get(part, part)


def is_for_a_person(error_code: str | None) -> bool:
    """Return whether the error lasts until a person repairs the installation."""
    return error_code in {UnauthorizedError.code, MisconfiguredError.code}


def step_name(step: str | None) -> str:
    """Return the name of the current step."""
    return STEPS.get(step or "", "Waiting for its turn")


def part_name(part: PartRow) -> str:
    """Return the part's name: of a section its title, since its own name only tells its pages."""
    return part.title or part.name if part.kind == "section" else part.name


def part_pages(part: PartRow) -> str:
    """Return the part's pages, to follow its name; empty if the name tells them."""
    return "" if part_name(part) == part.name else pages_of(part)


def about_part(part: PartRow) -> str:
    """Return the remark beside a part's name: the reason why it was not read, or its type or title."""
    if part.error_message:
        return sentence(part.error_message)
    if part.kind == "section":
        return type_name(part.document_type)
    return part.title if part.title and part.title != part.name.rpartition("/")[2] else ""


def pages_of(part: PartRow | WholeRow) -> str:
    """Return a section's pages of the whole, to follow its name; empty for other parts."""
    if part.first_page is None:
        return ""
    if part.last_page in (None, part.first_page):
        return f", page {part.first_page}"
    return f", pages {part.first_page} to {part.last_page}"


def moment(when: datetime | None) -> str:
    """A time to the minute, in UTC, or a dash."""
    return f"{when:%Y-%m-%d %H:%M} UTC" if when else "-"


def duration(start: datetime | None, end: datetime | None) -> str:
    """Return the time between the two, or a dash."""
    if start is None or end is None:
        return "-"
    seconds = (end - start).total_seconds()
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    if seconds < _HOUR:
        return f"{seconds / _MINUTE:.1f} min"
    return f"{seconds / _HOUR:.1f} h"
