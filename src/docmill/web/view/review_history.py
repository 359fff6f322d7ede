"""Reviews of values, in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from docmill.service.review.review import shown
from docmill.service.review.reviews import DocumentReviews
from docmill.service.store.reviews import WHOLE, Action, CurrentReview, ReviewRow
from docmill.web.view.words import place_name

_ACTIONS: dict[Action, str] = {
    "confirm": "Confirmed",
    "correct": "Corrected to",
    "clear": "Cleared",
    "undo": "Taken back to",
}


@dataclass(frozen=True, slots=True)
class ReviewEntry:
    """One line of a value's history. value: empty where the words say it all."""

    words: str
    value: str
    at: datetime


@dataclass(frozen=True, slots=True)
class FieldReviewView:
    """The reviews of one value.

    holds: in a word or two what counts now; empty where all was taken back. about: how that differs from what
    was read. past: newest first.
    """

    holds: str
    about: str
    past: Sequence[ReviewEntry]


def field_reviews(reviewed: DocumentReviews | None) -> dict[str, FieldReviewView]:
    """By path, everything that anybody spoke of."""
    if reviewed is None:
        return {}
    past: dict[str, list[ReviewEntry]] = {}
    for review in reviewed.history:
        if review.path != WHOLE:
            past.setdefault(review.path, []).append(_entry(review))
    return {path: _said(reviewed.current.get(path), entries) for path, entries in past.items()}


def review_entries(reviewed: DocumentReviews | None) -> list[tuple[str, ReviewEntry]]:
    """Everything that was said of the document, newest first, each with the name of its value."""
    if reviewed is None:
        return []
    return [(_name(review.path), _entry(review)) for review in reviewed.history]


def _name(path: str) -> str:
    return "The document as a whole" if path == WHOLE else place_name(path)


def _entry(review: ReviewRow) -> ReviewEntry:
    value = shown(review.value)
    if review.action == "confirm":
        return ReviewEntry("Confirmed" if value else "Confirmed as missing", value, review.at)
    return ReviewEntry(
        _ACTIONS[review.action], value or ("" if review.action == "clear" else "nothing"), review.at
    )


def _said(review: CurrentReview | None, past: Sequence[ReviewEntry]) -> FieldReviewView:
    if review is None:
        return FieldReviewView("", "", past)
    return FieldReviewView(_holds(review), _about(review), past)


def _holds(review: CurrentReview) -> str:
    if review.value is None:
        return "Not on the document"
    return "Corrected" if review.action == "correct" else "Confirmed"


def _about(review: CurrentReview) -> str:
    if review.is_contradicted:
        return (
            f"Processed again, this was read as {_quoted(shown(review.read_now))}. What a person said stays."
        )
    if review.action == "confirm":
        return ""
    return (
        f"Read as {_quoted(shown(review.machine))}."
        if review.machine is not None
        else "Nothing was read here."
    )


def _quoted(value: str) -> str:
    return f"“{value}”" if value else "nothing"
