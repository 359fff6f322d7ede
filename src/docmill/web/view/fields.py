"""View of the values: each with its confidence, its failed checks, its place on the page and its reviews."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel

from docmill.model.document import Box
from docmill.model.paths import leaves
from docmill.model.result import Evidence, Failure, MatchKind, Schema, Suggestion, percent_text
from docmill.schemas.coded_values import WORDS_BY_PATH
from docmill.schemas.field_names import FIELD_NAMES, ITEM, TABLES, field_name
from docmill.schemas.outline import outline
from docmill.schemas.registry import REGISTRY
from docmill.service.config.settings import ReviewSettings
from docmill.service.review.review import shown
from docmill.service.review.reviews import DocumentReviews
from docmill.service.review.rows import ROW
from docmill.service.store.reviews import (
    DATE,
    NOT_VALUES,
    REJECTION,
    SERIAL_NUMBER,
    TITLE,
    TYPE,
    WHOLE,
    Action,
    CurrentReview,
    ReviewRow,
)
from docmill.web.languages import gettext, gettext_noop
from docmill.web.view.words import NUMERIC_COLUMNS, type_name

LEVELS = ReviewSettings()
Certainty = Literal["confirmed", "sure", "unsure", "low", "invalid"]
"""Confirmed by a person, three grades of confidence, or invalid since a check failed."""
_LINE_CHARACTERS = 38
"""Characters that fit into one line of the panel."""
_MOST_LINES = 8
"""Lines of a value that are shown at once; an address has up to six."""
_NARROW_LINE_CHARACTERS = 20
"""The same on the narrowest screen."""

_WHOLE_NAMES = {
    WHOLE: gettext_noop("The document as a whole"),
    TYPE: gettext_noop("Type"),
    REJECTION: gettext_noop("The document as a whole"),
    TITLE: gettext_noop("Title"),
    DATE: gettext_noop("Date of the document"),
    SERIAL_NUMBER: gettext_noop("Archive serial number"),
}
_WITHOUT_CONFIDENCE: dict[MatchKind, str] = {
    "computed": gettext_noop("Computed"),
    "embedded": gettext_noop("From the XML"),
    "coded": gettext_noop("From the code"),
}
"""Values of which no confidence is shown, and the text in its place."""

_CONFIDENCE_CHECK = "confidence"
"""The check that fails where the confidence of a critical field is low."""
_MORE_EXACT_CHECK: Mapping[str, str] = {"sum": "BR-CO-15"}
"""By check, the more exact one that reports the same fault."""

_ACTIONS: dict[Action, str] = {
    "confirm": gettext_noop("Confirmed"),
    "correct": gettext_noop("Corrected to"),
    "clear": gettext_noop("Cleared"),
    "remove": gettext_noop("Removed"),
    "reject": gettext_noop("Rejected"),
    "undo": gettext_noop("Taken back to"),
}


@dataclass(frozen=True, slots=True)
class ReviewEntry:
    """One line of a value's history. value: shown behind the words. by: a name. Both may be empty."""

    words: str
    value: str
    at: datetime
    by: str


@dataclass(frozen=True, slots=True)
class FieldReviewView:
    """The reviews of one value.

    status: the outcome, such as `Corrected`; empty if every review was undone. change: a sentence on what was
    read before, or empty. past: all reviews, newest first.
    """

    status: str
    change: str
    past: Sequence[ReviewEntry]


NOBODY: Mapping[UUID, str] = {}
NO_REVIEWS: Mapping[str, FieldReviewView] = {}
NO_SUGGESTIONS: Mapping[str, Sequence[Suggestion]] = {}


@dataclass(frozen=True, slots=True)
class SuggestionView:
    """A value to accept for a field that is empty.

    box: its place on page `page`, None if not known. reason: see `Evidence`.
    """

    value: str
    confidence: str
    page: int | None
    box: Box | None
    reason: str = ""

    @classmethod
    def of(cls, suggestion: Suggestion) -> "SuggestionView":
        """The suggestion as shown."""
        proof = suggestion.evidence
        page = proof.page if proof.box else None
        return cls(shown(suggestion.value), percent_text(proof.confidence), page, proof.box, proof.reason)


@dataclass(frozen=True, slots=True)
class Field:
    """One value as shown.

    path: as in evidence. confidence: in percent, None for a value that is missing, was computed or came in
    an XML. problems: the messages of its failed checks. review: its reviews by people. suggestions: values to
    accept while there is none, the most probable first.
    """

    path: str
    name: str
    value: str
    certainty: Certainty
    confidence: str | None
    evidence: Evidence | None
    problems: tuple[str, ...] = ()
    review: FieldReviewView | None = None
    suggestions: tuple[SuggestionView, ...] = ()

    @property
    def element_id(self) -> str:
        """The path as the id of an element."""
        return element_id(self.path)

    @property
    def options(self) -> list[tuple[str, str]]:
        """The values to choose from, with their words; empty for a field in which people write."""
        words_by_code = WORDS_BY_PATH.get(self.path)
        if words_by_code is None:
            return []
        not_known = gettext("Not known")
        options = {code: gettext(words) for code, words in words_by_code.items()}
        return list(({"": not_known, self.value: self.value or not_known} | options).items())

    def words_for(self, value: str) -> str:
        """A value of this field as people are shown it."""
        words = WORDS_BY_PATH.get(self.path, {}).get(value)
        return gettext(words) if words else value

    @property
    def is_long(self) -> bool:
        """True if it needs more than one line, at least on a narrow screen."""
        return len(self.value) > _NARROW_LINE_CHARACTERS or "\n" in self.value

    @property
    def line_count(self) -> int:
        """The lines that are shown at first on a wide screen."""
        lines = self.value.split("\n")
        return min(_MOST_LINES, sum(1 + (len(line) - 1) // _LINE_CHARACTERS if line else 1 for line in lines))

    @property
    def is_open(self) -> bool:
        """True if a person should check it."""
        return self.certainty not in ("confirmed", "sure")

    @property
    def is_reviewed(self) -> bool:
        """True if a person reviewed it and did not undo that."""
        return bool(self.review and self.review.status)

    @property
    def page(self) -> int | None:
        """The page it stands on, None if its place is not known."""
        return self.evidence.page if self.evidence and self.evidence.box else None

    @property
    def reason(self) -> str:
        """The word of earlier reviews on this value, or on the first suggestion; empty once reviewed."""
        if self.is_reviewed:
            return ""
        if self.evidence is None:
            return next((suggestion.reason for suggestion in self.suggestions), "")
        return self.evidence.reason

    @property
    def confidence_text(self) -> str:
        """The text in the place of the confidence: a percentage, or why there is none."""
        if self.review and self.review.status:
            return self.review.status
        if self.suggestions:
            return gettext("Not sure")
        if self.confidence is None:
            if not (self.value and self.evidence):
                return gettext("Not found")
            words = _WITHOUT_CONFIDENCE.get(self.evidence.match)
            return gettext(words) if words else ""
        return self.confidence


@dataclass(frozen=True, slots=True)
class ColumnView:
    """A column of a table."""

    name: str
    is_number: bool


@dataclass(frozen=True, slots=True)
class TableView:
    """Values that come in rows; a cell without a value is None.

    key: the name of the list in the data. numbers: the index of each row there. removed: those of rows that a
    person took out. all_columns: name and words of each column that a new row can have.
    """

    key: str
    name: str
    columns: list[ColumnView]
    rows: list[list[Field | None]]
    numbers: Sequence[int] = ()
    removed: Sequence[int] = ()
    all_columns: Sequence[tuple[str, str]] = ()

    @property
    def numbered_rows(self) -> list[tuple[int, list[Field | None]]]:
        """The rows with the index of each in the data."""
        return list(zip(self.numbers, self.rows, strict=True))

    @property
    def cells(self) -> list[Field]:
        """The cells that have a value, row by row."""
        return [cell for row in self.rows for cell in row if cell]

    def cell(self, path: str) -> Field | None:
        """The value at this path, None if the table has none."""
        return next((cell for cell in self.cells if cell.path == path), None)


@dataclass(frozen=True, slots=True)
class ValuesView:
    """All values of a document. missing: path and name of each field without a value."""

    fields: list[Field]
    tables: list[TableView]
    missing: Sequence[tuple[str, str]] = ()

    @property
    def all_fields(self) -> list[Field]:
        """The fields, then the cells of the tables."""
        return [*self.fields, *(cell for table in self.tables for cell in table.cells)]

    @property
    def open_first(self) -> list[Field]:
        """The fields in the order of a review: those that were open when it began, then the others.

        A value stays in its place when it is confirmed.
        """
        return sorted(self.fields, key=lambda field: not (field.is_open or field.is_reviewed))

    @property
    def to_check_count(self) -> int:
        """The number of values that a person should check."""
        return sum(value.is_open for value in self.all_fields)

    @property
    def unreviewed_count(self) -> int:
        """The number of values that no person has confirmed or corrected."""
        return sum(value.certainty != "confirmed" for value in self.all_fields)

    @property
    def trusted_percent(self) -> int:
        """The share of values that no person should check, in percent."""
        count = len(self.all_fields)
        return 100 if not count else round(100 * (count - self.to_check_count) / count)


def shown_name(path: str, own_fields: type[BaseModel] | None = None) -> str:
    """Return the name of a value in the language of the page. own_fields: of a user's schema."""
    if path in _WHOLE_NAMES:
        return gettext(_WHOLE_NAMES[path])
    name = field_name(path, own_fields)
    item = ITEM.fullmatch(path)
    column = TABLES[item["table"]][1].get(item["column"]) if item and item["table"] in TABLES else None
    if item and column and name.startswith(f"{column}, "):
        return gettext("%(column)s, row %(number)s", column=gettext(column), number=int(item["row"]) + 1)
    return gettext(name) if FIELD_NAMES.get(path) == name else name


def element_id(path: str) -> str:
    """A field's path as the id of an element."""
    return "field-" + re.sub(r"\W+", "-", path).strip("-")


def build_values_view(
    document_type: str | None,
    data: dict[str, Any] | None,
    evidence: dict[str, Any] | None,
    failures: Sequence[Failure],
    reviews: Mapping[str, FieldReviewView] = NO_REVIEWS,
    schema: Schema | None = None,
    suggestions: Mapping[str, Sequence[Suggestion]] = NO_SUGGESTIONS,
    *,
    levels: ReviewSettings = LEVELS,
) -> ValuesView:
    """Build the view of the values, in the order of `FIELD_NAMES`; missing values are among them if critical.

    schema: used to read the document. A user's own schema gives the order of the values. suggestions: by the
    path of a field that is null. levels: of confidence.
    """
    data = data or {}
    values = {path: str(value) for path, value in leaves(data)}
    places = {path: Evidence.model_validate(item) for path, item in (evidence or {}).items()}
    problems: dict[str, list[str]] = {}
    for failure in without_repeats(failures):
        for path in failure.fields:
            problems.setdefault(path, []).append(failure.message)
    built_in = REGISTRY.get(document_type or "")
    used_schema = schema or built_in
    critical = used_schema.critical if used_schema else ()

    own_fields = schema.fields if schema is not None and schema is not built_in else None
    chips = {path: tuple(map(SuggestionView.of, some)) for path, some in suggestions.items()}
    build = partial(
        _build_field,
        chips=chips,
        own_fields=own_fields,
        values=values,
        places=places,
        problems=problems,
        reviews=reviews,
        levels=levels,
    )
    listed = {leaf.path for leaf in outline(schema)} if schema else set[str]()
    of_schema = [leaf.path for leaf in outline(schema) if not leaf.is_listed] if schema else []
    first = of_schema if own_fields is not None else FIELD_NAMES
    reviewed_fields = (path for path in reviews if not ITEM.fullmatch(path) and not ROW.fullmatch(path))
    wanted = {*values, *critical, *problems, *reviewed_fields, *chips}
    in_order = [*first, *FIELD_NAMES, *values, *chips]
    order = dict.fromkeys(path for path in in_order if not ITEM.fullmatch(path))
    tables: list[TableView] = []
    for name, (heading, column_names) in TABLES.items():
        can_have = [column for column in column_names if f"{name}[].{column}" in listed]
        rows = data.get(name) or ()
        if rows or can_have:
            # Columns in which no row has a value are left out.
            filled = {path for path in (*values, *chips) if path.startswith(f"{name}[")}
            has_value = {path.rpartition(".")[2] for path in filled}
            used = [column for column in column_names if column in has_value]
            columns = [
                ColumnView(gettext(column_names[column]), column in NUMERIC_COLUMNS) for column in used
            ]
            left = [at for at, row in enumerate(rows) if row or f"{name}[{at}]" not in reviews]
            paths = [[f"{name}[{at}].{column}" for column in used] for at in left]
            cells = [[build(path) if path in filled else None for path in row] for row in paths]
            removed = [at for at in range(len(rows)) if at not in left]
            addable = [(column, gettext(column_names[column])) for column in can_have]
            tables.append(TableView(name, gettext(heading), columns, cells, left, removed, addable))
    missing = [
        (path, shown_name(path, own_fields)) for path in order if path in of_schema and path not in wanted
    ]
    return ValuesView([build(path) for path in order if path in wanted], tables, missing)


def _build_field(
    path: str,
    *,
    own_fields: type[BaseModel] | None,
    values: Mapping[str, str],
    places: Mapping[str, Evidence],
    problems: Mapping[str, Sequence[str]],
    reviews: Mapping[str, FieldReviewView],
    chips: Mapping[str, tuple[SuggestionView, ...]],
    levels: ReviewSettings,
) -> Field:
    value, evidence, review = values.get(path, ""), places.get(path), reviews.get(path)
    failed = tuple(problems.get(path, ()))
    confidence = evidence.confidence if evidence else 0.0
    certainty: Certainty
    if review and review.status:
        certainty = "confirmed"
    elif failed:
        certainty = "invalid"
    elif path in chips:
        certainty = "unsure"
    elif not value or confidence < levels.unsure:
        certainty = "low"
    else:
        certainty = "sure" if confidence >= levels.sure else "unsure"
    has_no_confidence = not value or (evidence is not None and evidence.match in _WITHOUT_CONFIDENCE)
    percent = None if has_no_confidence else percent_text(confidence)
    name = shown_name(path, own_fields)
    return Field(path, name, value, certainty, percent, evidence, failed, review, chips.get(path, ()))


def without_repeats(failures: Sequence[Failure]) -> list[Failure]:
    """Drop failed checks that repeat another one, and low confidence of a value that is wrong anyway."""
    checks = {failure.check for failure in failures}
    wrong = {path for failure in failures if failure.check != _CONFIDENCE_CHECK for path in failure.fields}
    return [
        failure
        for failure in failures
        if _MORE_EXACT_CHECK.get(failure.check) not in checks
        and not (failure.check == _CONFIDENCE_CHECK and wrong.issuperset(failure.fields))
    ]


def field_reviews(
    reviewed: DocumentReviews | None, reviewers: Mapping[UUID, str] = NOBODY
) -> dict[str, FieldReviewView]:
    """The reviews by field path, also of fields of which all were undone. reviewers: names of people."""
    if reviewed is None:
        return {}
    past: dict[str, list[ReviewEntry]] = {}
    for row in reviewed.history:
        if row.path not in NOT_VALUES:
            past.setdefault(row.path, []).append(_build_entry(row, reviewers))
    views: dict[str, FieldReviewView] = {}
    for path, entries in past.items():
        review = reviewed.current.get(path)
        status = change = ""
        if review is not None:
            status = gettext("Confirmed")
            if review.action == "correct":
                status = gettext("Filled in") if review.machine is None else gettext("Corrected")
            if review.value is None:
                status = gettext("Not on the document")
            change = _change(review)
        views[path] = FieldReviewView(status, change, entries)
    return views


def _change(review: CurrentReview) -> str:
    """What was read in the place of the reviewed value; empty where that is the value itself."""
    machine, read_now = shown(review.machine), shown(review.read_now)
    if review.is_contradicted:
        text = (
            gettext("Processed again, this was read as “%(value)s”.", value=read_now)
            if read_now
            else gettext("Processed again, nothing was read here.")
        )
        stays = gettext("The reviewed value stays.")
        return f"{text} {stays}"
    if review.action == "confirm":
        return ""
    if review.machine is None:
        return gettext("No value was believed here.")
    return gettext("Read as “%(value)s”.", value=machine) if machine else gettext("Read as nothing.")


def review_entries(
    reviewed: DocumentReviews | None, reviewers: Mapping[UUID, str] = NOBODY
) -> list[tuple[str, ReviewEntry]]:
    """All reviews of the document, newest first, each with the name of its value. reviewers: their names."""
    return [
        (shown_name(row.path), _build_entry(row, reviewers)) for row in (reviewed.history if reviewed else ())
    ]


def _build_entry(row: ReviewRow, reviewers: Mapping[UUID, str]) -> ReviewEntry:
    by = reviewers.get(row.reviewed_by, "")
    value = type_name(shown(row.value)) if row.path == TYPE else shown(row.value)
    if row.path == WHOLE:
        value = ", ".join(map(str, row.value)) if isinstance(row.value, list) else ""
    prefix = "" if row.redoes is None else gettext("Redone:") + " "
    if row.reason is not None:
        return ReviewEntry(
            prefix + gettext("Confirmed unseen: %(reason)s", reason=row.reason), value, row.at, by
        )
    if row.action == "confirm":
        is_there = value or row.path == WHOLE
        words = gettext("Confirmed") if is_there else gettext("Confirmed as missing")
        return ReviewEntry(prefix + words, value, row.at, by)
    if row.action in ("clear", "remove"):
        value = ""
    elif not value:
        value = gettext("nothing")
    return ReviewEntry(prefix + gettext(_ACTIONS[row.action]), value, row.at, by)
