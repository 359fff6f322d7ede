"""A document as its page shows it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlencode

from docmill.model.document import Document, Page
from docmill.model.result import Failure
from docmill.service.review.review import failures_in
from docmill.service.review.reviews import DocumentReviews
from docmill.service.store.documents import DocumentRow
from docmill.service.store.ingestions import IngestionRow
from docmill.web.view.fields import Field, ValuesView, build_values_view, without_repeats
from docmill.web.view.review_history import ReviewEntry, field_reviews, review_entries

Tab = Literal["fields", "text", "history", "json"]
TABS: dict[Tab, str] = {"fields": "Fields", "text": "Text", "history": "History", "json": "JSON"}
_TAB_OF: dict[str, Tab] = {name: name for name in TABS}

SHEET_PX = 1000
"""Boxes are drawn in thousandths of the page's width."""

_A4 = 2**0.5
_MARGIN_PX = 3
_FIRST = ("xml_mismatch", "injection")
"""Checks that tell of fraud stand above the others."""
_OVER_WHEN_SAID = frozenset({"confidence", "evidence", "critical_missing"})
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
class PageSelection:
    """The selected page, tab and field. field: the path of the value to point at."""

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
    """One page of a document and what was read in all of it.

    transcript: the page as it was read, None while nobody has. result: the ingestion whose result is shown.
    reviewed: what people said of it.
    """

    row: DocumentRow
    choice: PageSelection
    page_count: int
    sheet_height: int
    transcript: Page | None
    reading: ValuesView
    boxes: list[BoxView]
    failures: Sequence[Failure]
    result: IngestionRow | None
    reviewed: DocumentReviews | None
    history: Sequence[IngestionRow]

    @property
    def found_wrong(self) -> list[tuple[Failure, Field | None]]:
        """The failed checks and the first field of each; uncertainty is shown at the field alone."""
        shown = {field.path: field for field in self.reading.every}
        found = [
            (one, next((shown[path] for path in one.fields if path in shown), None))
            for one in without_repeats(self.failures)
        ]
        return [(one, field) for one, field in found if field is None or one.check not in _OVER_WHEN_SAID]

    def link_to(self, field: Field) -> str:
        """The address of a field; of a cell, with its field below the table."""
        if field in self.reading.fields:
            return f"#{field.element_id}-value"
        return f"{self.choice.link(page=field.page or self.choice.page, field=field.path)}#{field.element_id}"

    @property
    def let_pass(self) -> list[Failure]:
        """The failed checks that a person has accepted, without those on uncertainty, which a review ends."""
        accepted = self.reviewed.accepted if self.reviewed else []
        return [failure for failure in accepted if failure.check not in _OVER_WHEN_SAID]

    @property
    def review_entries(self) -> list[tuple[str, ReviewEntry]]:
        """The history of the document's reviews, newest first."""
        return review_entries(self.reviewed)

    @property
    def can_review(self) -> bool:
        """True if there are values to review."""
        return self.reviewed is not None and self.reviewed.result.machine is not None

    @property
    def thumbnails(self) -> range:
        """The numbers of the pages to show small."""
        first = max(1, min(self.choice.page - _THUMBNAILS // 2, self.page_count - _THUMBNAILS + 1))
        return range(first, min(self.page_count, first + _THUMBNAILS - 1) + 1)


def select_page(page: str, tab: str, field: str, *, page_count: int) -> PageSelection:
    """Return the selection that the address names, limited to pages and tabs that exist."""
    number = int(page) if page.isdecimal() and len(page) < 7 else 1  # noqa: PLR2004  more digits than any document has pages
    return PageSelection(max(1, min(number, page_count)), _TAB_OF.get(tab, "fields"), field)


def result_of(history: Sequence[IngestionRow]) -> IngestionRow | None:
    """The newest ingestion that has completed."""
    return next((ingestion for ingestion in history if ingestion.status == "completed"), None)


def failures_of(row: DocumentRow, result: IngestionRow | None) -> list[Failure]:
    """The failed checks of the document's values that nobody has let pass, the gravest first.

    result: see `result_of`.
    """
    verdict = row.verdict or (result.verdict if result else None)
    return sorted(failures_in(verdict), key=lambda failure: failure.check not in _FIRST)


def page_count_of(row: DocumentRow, transcription: Document | None) -> int:
    """Count the pages, as far as known; at least one."""
    return max(1, row.page_count or 0, len(transcription.pages) if transcription else 0)


def document_view(
    row: DocumentRow,
    history: Sequence[IngestionRow],
    transcription: Document | None,
    choice: PageSelection,
    reviewed: DocumentReviews | None = None,
) -> DocumentView:
    """The page's content. reviewed: what people said."""
    result = result_of(history)
    failures = failures_of(row, result)
    transcript = _page(transcription, choice.page)
    height = _sheet_height(transcript)
    evidence = reviewed.evidence if reviewed else None
    schema = reviewed.schema if reviewed else None
    # The type is known before the values: none is missing until they have been read.
    document_type = row.document_type if row.structured_data is not None else None
    read = build_values_view(
        document_type, row.structured_data, evidence, failures, field_reviews(reviewed), schema
    )
    return DocumentView(
        row=row,
        choice=choice,
        page_count=page_count_of(row, transcription),
        sheet_height=height,
        transcript=transcript,
        reading=read,
        boxes=_boxes(read.every, choice.page, height),
        failures=failures,
        result=result,
        reviewed=reviewed,
        history=history,
    )


def _page(transcription: Document | None, number: int) -> Page | None:
    pages = transcription.pages if transcription else ()
    return next((page for page in pages if page.number == number), None)


def _sheet_height(page: Page | None) -> int:
    ratio = page.height_pt / page.width_pt if page and page.width_pt > 0 else _A4
    return round(SHEET_PX * ratio)


def _boxes(fields: Sequence[Field], page_number: int, height: int) -> list[BoxView]:
    """The boxes of one page from top to bottom, each a little larger than its words."""
    views = [_box(field, height) for field in fields if field.page == page_number]
    return sorted(views, key=lambda view: (view.y, view.x))


def _box(field: Field, height: int) -> BoxView:
    evidence = field.evidence
    assert evidence is not None, "a field with a page has evidence"
    assert evidence.box is not None, "a field with a page has a box"
    x0, y0, x1, y1 = evidence.box
    left, top = round(x0 * SHEET_PX) - _MARGIN_PX, round(y0 * height) - _MARGIN_PX
    right, bottom = round(x1 * SHEET_PX) + _MARGIN_PX, round(y1 * height) + _MARGIN_PX
    return BoxView(field, left, top, right - left, bottom - top)
