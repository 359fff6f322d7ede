"""Names of states, types, steps and fields for people."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from markupsafe import Markup

from docmill.errors import MisconfiguredError, UnauthorizedError
from docmill.schemas.document_types import DEFINITIONS
from docmill.service.store.documents import NOT_READ, REJECTED
from docmill.service.store.parts import PartRow, WholeRow
from docmill.web.languages import gettext, gettext_noop, number_text
from docmill.web.view.messages import told

Tone = Literal["ok", "info", "warn", "error"]


@dataclass(frozen=True, slots=True)
class StateWords:
    """A document's state. mark: the tone of the card's edge, empty for a plain one."""

    name: str
    tone: Tone
    mark: str = ""


STATES = {
    "processing": StateWords(gettext_noop("Processing"), "info"),
    "stale": StateWords(gettext_noop("Stuck"), "warn", "warn"),
    "needs_classification": StateWords(gettext_noop("Needs classification"), "warn", "warn"),
    "needs_review": StateWords(gettext_noop("Needs review"), "info", "info"),
    "failed": StateWords(gettext_noop("Failed"), "error", "error"),
    "ready": StateWords(gettext_noop("Ready"), "ok"),
    NOT_READ: StateWords(gettext_noop("Kept, not read"), "warn"),
    REJECTED: StateWords(gettext_noop("Rejected"), "warn"),
}
"""In the order in which the filter offers them."""


def state_words(state: str, error_message: str | None) -> StateWords:
    """Return the name of a document's state. A ready document with an error was kept, but not read."""
    return STATES[NOT_READ if state == "ready" and error_message else state]


RETRIES = {
    "stale": gettext_noop("Retry"),
    "needs_classification": gettext_noop("Retry classification"),
    "failed": gettext_noop("Retry processing"),
}
"""Label of the button that processes a document again, by state."""

PROCESS_AGAIN = gettext_noop("Process again")

TYPES = {name: definition.label for name, definition in DEFINITIONS.items()}

STEPS = {
    "process": gettext_noop("Starting"),
    "read": gettext_noop("Fetching the file"),
    "transcribe": gettext_noop("Reading the page"),
    "unpack": gettext_noop("Taking out its parts"),
    "classify": gettext_noop("Finding its type"),
    "extract": gettext_noop("Finding the values"),
    "export": gettext_noop("Saving"),
    "match": gettext_noop("Matching with other documents"),
}

ENGINES = {
    "rapidocr": "RapidOCR",
    "tesseract": "Tesseract",
    "documentai": "Google Document AI",
    "vision": gettext_noop("a language model"),
}

PAUSED = {
    "small model": gettext_noop("The small language model"),
    "large model": gettext_noop("The large language model"),
    "file store, reading": gettext_noop("Reading from the file store"),
    "file store, writing": gettext_noop("Writing to the file store"),
    "process": gettext_noop("Processing"),
    "matching": gettext_noop("Matching"),
}


@dataclass(frozen=True, slots=True)
class RoleWords:
    """A role of a person, and what it allows."""

    name: str
    meaning: str


ROLES = {
    "owner": RoleWords(
        gettext_noop("Owner"), gettext_noop("everything, also people, API keys and the audit log")
    ),
    "reviewer": RoleWords(
        gettext_noop("Reviewer"), gettext_noop("reads, uploads, reviews, retries and edits")
    ),
    "viewer": RoleWords(gettext_noop("Viewer"), gettext_noop("reads documents and their values")),
}

SCOPES = {
    "read": gettext_noop("documents, values, files and events"),
    "review": gettext_noop("confirm and correct values, choose types"),
    "write": gettext_noop("upload documents and process them again"),
    "administer": gettext_noop("people, API keys, audit log, deletion for good"),
}

WEBHOOK_EVENTS = {
    "document.completed": gettext_noop("its values can be used, or are others than before"),
    "document.needs_review": gettext_noop("a person must look at it"),
    "document.failed": gettext_noop("it could not be read"),
    "document.matched": gettext_noop("it was linked to another document"),
}

WEBHOOK_STATES = {
    "active": StateWords(gettext_noop("Active"), "ok"),
    "paused": StateWords(gettext_noop("Paused"), "info"),
    "disabled": StateWords(gettext_noop("Disabled"), "error"),
}

DELIVERY_STATES = {
    "pending": StateWords(gettext_noop("Waiting"), "info"),
    "succeeded": StateWords(gettext_noop("Arrived"), "ok"),
    "failed": StateWords(gettext_noop("Failed"), "error"),
}

LISTED_PARTS = 15
"""Parts that a document's page lists at once; a longer list is folded."""

_MINUTE = 60
_HOUR = 60 * _MINUTE

NUMERIC_COLUMNS = frozenset({"quantity", "unit_price", "net_amount", "tax_rate", "amount"})


def type_name(document_type: str | None) -> str:
    """Return the type's name; empty before the document is classified."""
    name = TYPES.get(document_type or "")
    return gettext(name) if name else document_type or ""


def type_choices(types: Iterable[str]) -> list[tuple[str, str]]:
    """Return the types to choose from with their names: those of docmill, then the user's own."""
    return sorted(
        ((name, type_name(name)) for name in types), key=lambda each: (each[0] not in TYPES, each[1])
    )


def sentence(text: str) -> str:
    """Return the text with a capital and a full stop; markup as it is."""
    if isinstance(text, Markup):
        return text
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def engine_name(engine: str | None) -> str:
    """Return the OCR engine's name; empty if it is not known."""
    return gettext(ENGINES.get(engine, engine)) if engine else ""


def paused_name(part: str) -> str:
    """Return the name of what is paused: an engine, a model, the file store or a step."""
    if part in ENGINES:
        return gettext("Reading by %(engine)s", engine=engine_name(part))
    return gettext(PAUSED.get(part) or STEPS.get(part, part))


def is_for_a_person(error_code: str | None) -> bool:
    """Return whether the error lasts until a person repairs the installation."""
    return error_code in {UnauthorizedError.code, MisconfiguredError.code}


def step_name(step: str | None) -> str:
    """Return the name of the current step."""
    return gettext(STEPS.get(step or "") or gettext_noop("Waiting for its turn"))


def part_name(part: PartRow) -> str:
    """Return the part's name: of a section its title, since its own name only tells its pages."""
    return part.title or part.name if part.kind == "section" else part.name


def part_pages(part: PartRow) -> str:
    """Return the part's pages, to follow its name; empty if the name tells them."""
    return "" if part_name(part) == part.name else pages_of(part)


def about_part(part: PartRow) -> str:
    """Return the remark beside a part's name: the reason why it was not read, or its type or title."""
    if part.error_message:
        return told(sentence(part.error_message))
    if part.kind == "section":
        return type_name(part.document_type)
    return part.title if part.title and part.title != part.name.rpartition("/")[2] else ""


def pages_of(part: PartRow | WholeRow) -> str:
    """Return a section's pages of the whole, to follow its name; empty for other parts."""
    if part.first_page is None:
        return ""
    if part.last_page in (None, part.first_page):
        return ", " + gettext("page %(number)s", number=part.first_page)
    return ", " + gettext("pages %(first)s to %(last)s", first=part.first_page, last=part.last_page)


def duration(start: datetime | None, end: datetime | None) -> str:
    """Return the time between the two, or a dash."""
    if start is None or end is None:
        return "-"
    return seconds_text((end - start).total_seconds())


def seconds_text(seconds: float) -> str:
    """Return a length of time in a unit that suits it."""
    if seconds < _MINUTE:
        return f"{number_text(seconds, 1)} s"
    if seconds < _HOUR:
        return f"{number_text(seconds / _MINUTE, 1)} min"
    return f"{number_text(seconds / _HOUR, 1)} h"
