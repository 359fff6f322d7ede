"""A document as its page shows it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlencode
from uuid import UUID

from docmill.model.document import Box, Document, Page
from docmill.model.result import TYPE_CHECK, Failure
from docmill.service.config.settings import ReviewSettings
from docmill.service.review.review import failures_in
from docmill.service.review.reviews import DocumentReviews
from docmill.service.store.documents import DocumentRow
from docmill.service.store.ingestions import IngestionRow
from docmill.service.store.near_duplicates import NearDuplicate, failures_of_pairs
from docmill.understanding.duplicates import CHECK as DUPLICATE
from docmill.web.languages import gettext_noop
from docmill.web.view.fields import (
    LEVELS,
    NO_SUGGESTIONS,
    NOBODY,
    Field,
    ReviewEntry,
    ValuesView,
    build_values_view,
    field_reviews,
    review_entries,
    shown_name,
    without_repeats,
)

Tab = Literal["fields", "text", "matches", "history", "json"]
TABS: dict[Tab, str] = {
    "fields": gettext_noop("Fields"),
    "text": gettext_noop("Text"),
    "matches": gettext_noop("Matches"),
    "history": gettext_noop("History"),
    "json": gettext_noop("JSON"),
}

SHEET_PX = 1000
"""Boxes are drawn in thousandths of the page's width."""

_A4_RATIO = 2**0.5
_MARGIN_PX = 3
_MOST_PAGE_DIGITS = 6
_FRAUD_CHECKS = ("xml_mismatch", "injection")
"""They stand above the others."""
UNCERTAINTY_CHECKS = frozenset({"confidence", "evidence", "critical_missing"})
"""They are shown at their field, and end with a review of it."""
_THUMBNAILS = 100
"""A longer document shows this many thumbnails around the page at hand."""


@dataclass(frozen=True, slots=True)
class BoxView:
    """The box of a value on the page, in units of the drawing."""

    field: Field
    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class SuggestedBox:
    """The place of a suggested value on the page, shown while the suggestion has the focus. key: of it."""

    key: str
    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class PageSelection:
    """The selected page, tab and field. field: the path of the selected value."""

    page: int = 1
    tab: Tab = "fields"
    field: str = ""

    def link(self, **changes: int | str) -> str:
        """The same page with something else chosen, as a query."""
        chosen = {"page": self.page, "tab": self.tab, "field": "", **changes}
        defaults = {"page": 1, "tab": "fields", "field": ""}
        return "?" + urlencode({key: value for key, value in chosen.items() if value != defaults[key]})


@dataclass(frozen=True, slots=True)
class DocumentView:
    """One page of a document and the values of all of it.

    transcript: the page as it was read, None before that. result: the ingestion whose result is shown.
    reviewed: the result with the reviews by people. may_review: whether the person before the page may.
    """

    row: DocumentRow
    choice: PageSelection
    page_count: int
    sheet_height: int
    transcript: Page | None
    values: ValuesView
    boxes: list[BoxView]
    suggested_boxes: list[SuggestedBox]
    failures: Sequence[Failure]
    result: IngestionRow | None
    reviewed: DocumentReviews | None
    history: Sequence[IngestionRow]
    reviewers: Mapping[UUID, str]
    may_review: bool

    @property
    def type_question(self) -> str:
        """The failed check by which a person is asked for the type; "" without one."""
        return next((failure.message for failure in self.failures if failure.check == TYPE_CHECK), "")

    @property
    def failed_checks(self) -> list[tuple[Failure, Field | None]]:
        """The failed checks and the first field of each, without those shown at their field alone."""
        fields = {field.path: field for field in self.values.all_fields}
        checks = [
            (failure, next((fields[path] for path in failure.fields if path in fields), None))
            for failure in without_repeats(self.failures)
        ]
        return [
            (failure, field)
            for failure, field in checks
            if (field is None or failure.check not in UNCERTAINTY_CHECKS) and failure.check != DUPLICATE
        ]

    def link_to(self, field: Field) -> str:
        """The address of a field; of a cell, with its field below the table."""
        if field in self.values.fields:
            return f"#{field.element_id}-value"
        return f"{self.choice.link(page=field.page or self.choice.page, field=field.path)}#{field.element_id}"

    @property
    def accepted_checks(self) -> list[Failure]:
        """The failed checks that a person has accepted, without those on uncertainty, which a review ends."""
        accepted = self.reviewed.accepted if self.reviewed else []
        return [failure for failure in accepted if failure.check not in UNCERTAINTY_CHECKS]

    @property
    def review_entries(self) -> list[tuple[str, ReviewEntry]]:
        """The history of the document's reviews, newest first."""
        return review_entries(self.reviewed, self.reviewers)

    @property
    def near_duplicates(self) -> Sequence[NearDuplicate]:
        """The documents that seem to be the same, without those that a person has dismissed."""
        pairs = self.reviewed.near_duplicates if self.reviewed else ()
        return [pair for pair in pairs if pair.is_duplicate is not False]

    @property
    def dismissed_duplicates(self) -> Sequence[NearDuplicate]:
        """Those that a person has dismissed."""
        pairs = self.reviewed.near_duplicates if self.reviewed else ()
        return [pair for pair in pairs if pair.is_duplicate is False]

    @property
    def undecided_duplicates(self) -> Sequence[NearDuplicate]:
        """The documents of which a person must say whether they are the same as this one."""
        return [pair for pair in self.near_duplicates if pair.is_open]

    @property
    def open_fields(self) -> list[Field]:
        """The values that a person should look at before the document is approved, in reading order."""
        return [field for field in self.values.all_fields if field.is_open]

    @property
    def open_checks(self) -> list[Failure]:
        """The failed checks that name no value, and that nobody has let pass."""
        return [failure for failure, field in self.failed_checks if field is None]

    @property
    def open_count(self) -> int:
        """The number of values and checks that a person should look at."""
        return len(self.open_fields) + len(self.open_checks)

    @property
    def set_aside(self) -> list[str]:
        """The names of reviewed values that the document's type has no field for."""
        return [shown_name(path) for path in self.reviewed.set_aside] if self.reviewed else []

    @property
    def can_review(self) -> bool:
        """True if there are values to review, and the person before the page may."""
        is_read = self.reviewed is not None and self.reviewed.result.machine is not None
        return is_read and self.may_review

    @property
    def thumbnails(self) -> range:
        """The numbers of the pages to show small."""
        first = max(1, min(self.choice.page - _THUMBNAILS // 2, self.page_count - _THUMBNAILS + 1))
        return range(first, min(self.page_count, first + _THUMBNAILS - 1) + 1)


def select_page(page: str, tab: str, field: str, *, page_count: int) -> PageSelection:
    """Return the selection that the address names, limited to pages and tabs that exist."""
    number = int(page) if page.isdecimal() and len(page) <= _MOST_PAGE_DIGITS else 1
    tabs: dict[str, Tab] = {name: name for name in TABS}
    return PageSelection(max(1, min(number, page_count)), tabs.get(tab, "fields"), field)


def result_of(history: Sequence[IngestionRow]) -> IngestionRow | None:
    """The newest ingestion that has completed."""
    return next((ingestion for ingestion in history if ingestion.status == "completed"), None)


def failures_of(
    row: DocumentRow, result: IngestionRow | None, pairs: Sequence[NearDuplicate] = ()
) -> list[Failure]:
    """The failed checks that nobody has accepted, those on fraud first.

    result: see `result_of`. pairs: documents that seem to be the same.
    """
    verdict = row.verdict or (result.verdict if result else None)
    failures = [*failures_of_pairs(pairs), *failures_in(verdict)]
    return sorted(failures, key=lambda failure: failure.check not in _FRAUD_CHECKS)


def page_count_of(row: DocumentRow, transcription: Document | None) -> int:
    """Count the pages, as far as known; at least one."""
    return max(1, row.page_count or 0, len(transcription.pages) if transcription else 0)


def document_view(
    row: DocumentRow,
    history: Sequence[IngestionRow],
    transcription: Document | None,
    choice: PageSelection,
    reviewed: DocumentReviews | None = None,
    *,
    reviewers: Mapping[UUID, str] = NOBODY,
    may_review: bool = True,
    levels: ReviewSettings = LEVELS,
) -> DocumentView:
    """Build the view of one page.

    reviewed: the result with the reviews by people. reviewers: their names. may_review: see `DocumentView`.
    levels: of confidence.
    """
    result = result_of(history)
    failures = failures_of(row, result, reviewed.near_duplicates if reviewed else ())
    pages = transcription.pages if transcription else ()
    transcript = next((page for page in pages if page.number == choice.page), None)
    ratio = _A4_RATIO
    if transcript and transcript.width_pt > 0:
        ratio = transcript.height_pt / transcript.width_pt
    height = round(SHEET_PX * ratio)
    # The type is known before the values: none is missing until they have been read.
    document_type = row.document_type if row.structured_data is not None else None
    values = build_values_view(
        document_type,
        row.structured_data,
        reviewed.evidence if reviewed else None,
        failures,
        field_reviews(reviewed, reviewers),
        reviewed.schema if reviewed else None,
        reviewed.suggestions if reviewed else NO_SUGGESTIONS,
        levels=levels,
    )
    return DocumentView(
        row=row,
        choice=choice,
        page_count=page_count_of(row, transcription),
        sheet_height=height,
        transcript=transcript,
        values=values,
        boxes=_build_boxes(values.all_fields, choice.page, height),
        suggested_boxes=_build_suggested_boxes(values.all_fields, choice.page, height),
        failures=failures,
        result=result,
        reviewed=reviewed,
        history=history,
        reviewers=reviewers,
        may_review=may_review,
    )


def _build_boxes(fields: Sequence[Field], page_number: int, height: int) -> list[BoxView]:
    """The boxes of one page from top to bottom, each a little larger than its words."""
    boxes = [
        BoxView(field, *_drawn(field.evidence.box, height))
        for field in fields
        if field.page == page_number and field.evidence and field.evidence.box
    ]
    return sorted(boxes, key=lambda box: (box.y, box.x))


def _build_suggested_boxes(fields: Sequence[Field], page_number: int, height: int) -> list[SuggestedBox]:
    """The places of suggested values on one page."""
    return [
        SuggestedBox(f"{field.path}:{index}", *_drawn(suggestion.box, height))
        for field in fields
        for index, suggestion in enumerate(field.suggestions)
        if suggestion.box and suggestion.page == page_number
    ]


def _drawn(box: Box, height: int) -> tuple[int, int, int, int]:
    """Left, top, width and height of a box in units of the drawing, a little larger than its words."""
    left, top = round(box.x0 * SHEET_PX) - _MARGIN_PX, round(box.y0 * height) - _MARGIN_PX
    right, bottom = round(box.x1 * SHEET_PX) + _MARGIN_PX, round(box.y1 * height) + _MARGIN_PX
    return left, top, right - left, bottom - top
