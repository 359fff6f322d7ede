"""View of the values: each with its confidence, its problems and its place on the page."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import floor
from typing import Any, Literal

from docmill.model.paths import leaves
from docmill.model.result import Evidence, Failure, MatchKind, Schema
from docmill.schemas.outline import outline
from docmill.schemas.registry import REGISTRY
from docmill.web.view.review_history import FieldReviewView
from docmill.web.view.words import FIELDS, ITEM, NUMERIC_COLUMNS, PAYMENT_METHODS, TABLES, place_name

SURE = 0.9
UNSURE = 0.7

Certainty = Literal["confirmed", "sure", "unsure", "low", "invalid"]
NOTHING_SAID: Mapping[str, FieldReviewView] = {}
_LINE = 38
"""Letters that fit into one line of the panel."""

_UNMEASURED: dict[MatchKind, str] = {"computed": "Computed", "embedded": "From the XML"}

_UNSURE = "confidence"
_SAID_BY: Mapping[str, str] = {"sum": "BR-CO-15"}
"""A check, and the more exact one that it repeats."""


@dataclass(frozen=True, slots=True)
class Field:
    """One value as shown.

    path: as in evidence. percent: how sure we are, None for a value that is missing, was computed or came in
    an XML. problems: the failed checks that speak of it. said: what people said of it.
    """

    path: str
    name: str
    value: str
    certainty: Certainty
    percent: int | None
    evidence: Evidence | None
    problems: tuple[str, ...] = ()
    said: FieldReviewView | None = None

    @property
    def element_id(self) -> str:
        """The path as the id of an element."""
        return element_id(self.path)

    @property
    def is_long(self) -> bool:
        """True if it needs more than one line."""
        return len(self.value) > _LINE or "\n" in self.value

    @property
    def is_open(self) -> bool:
        """True if a person should check it."""
        return self.certainty not in ("confirmed", "sure")

    @property
    def page(self) -> int | None:
        """The page it stands on, None if its place is not known."""
        return self.evidence.page if self.evidence and self.evidence.box else None

    @property
    def because(self) -> str:
        """The reason for this value where the document alone does not give one; empty once it is reviewed."""
        return self.evidence.reason if self.evidence and not (self.said and self.said.holds) else ""

    @property
    def how_sure(self) -> str:
        """The confidence in words."""
        if self.said and self.said.holds:
            return self.said.holds
        if self.percent is None:
            return _UNMEASURED.get(self.evidence.match, "") if self.value and self.evidence else "Not found"
        return f"{self.percent} %"


@dataclass(frozen=True, slots=True)
class ColumnView:
    """A column of a table."""

    name: str
    is_number: bool


@dataclass(frozen=True, slots=True)
class TableView:
    """Values that come in rows; a cell without a value is None."""

    name: str
    columns: list[ColumnView]
    rows: list[list[Field | None]]


@dataclass(frozen=True, slots=True)
class ValuesView:
    """Everything that was read in a document. missing: path and name of each field without a value."""

    fields: list[Field]
    tables: list[TableView]
    missing: Sequence[tuple[str, str]] = ()

    @property
    def every(self) -> list[Field]:
        """Fields and the cells of tables."""
        cells = (cell for table in self.tables for row in table.rows for cell in row if cell)
        return [*self.fields, *cells]

    @property
    def to_check(self) -> int:
        """The number of values that a person should check."""
        return sum(field.is_open for field in self.every)

    @property
    def unsaid(self) -> int:
        """The number of values without a review."""
        return sum(field.certainty != "confirmed" for field in self.every)

    def cell(self, table: TableView, path: str) -> Field | None:
        """The value of the table at this path."""
        cells = (cell for row in table.rows for cell in row if cell)
        return next((cell for cell in cells if cell.path == path), None)

    @property
    def checked_percent(self) -> int:
        """The share of values that need no person."""
        count = len(self.every)
        return 100 if not count else round(100 * (count - self.to_check) / count)


def element_id(path: str) -> str:
    """A field's path as the id of an element."""
    return "field-" + re.sub(r"\W+", "-", path).strip("-")


def build_values_view(
    document_type: str | None,
    data: dict[str, Any] | None,
    evidence: dict[str, Any] | None,
    failures: Sequence[Failure],
    said: Mapping[str, FieldReviewView] = NOTHING_SAID,
    schema: Schema | None = None,
) -> ValuesView:
    """Build the view of the values, in the order of `FIELDS`. Of missing values, only critical ones.

    schema: what was to be read; where that is not what docmill reads of this type, in its order.
    """
    values = {path: str(value) for path, value in leaves(data or {})}
    places = {path: Evidence.model_validate(item) for path, item in (evidence or {}).items()}
    problems = _problems(failures)
    critical = schema.critical if schema else _critical(document_type)

    def field(path: str) -> Field:
        return _field(path, values.get(path), places.get(path), tuple(problems.get(path, ())), said.get(path))

    own = schema is not None and schema is not REGISTRY.get(document_type or "")
    known = [leaf.path for leaf in outline(schema) if not leaf.is_listed] if schema else []
    named = known if own else list(FIELDS)
    wanted = {*values, *critical, *problems, *(path for path in said if not ITEM.fullmatch(path))}
    order = dict.fromkeys([*named, *FIELDS, *(path for path in values if not ITEM.fullmatch(path))])
    shown = [path for path in order if path in wanted]
    tables = [_table(name, data or {}, field) for name in TABLES if (data or {}).get(name)]
    missing = [(path, place_name(path)) for path in order if path in known and path not in wanted]
    return ValuesView([field(path) for path in shown], tables, missing)


def _critical(document_type: str | None) -> tuple[str, ...]:
    return next((schema.critical for name, schema in REGISTRY.items() if name == document_type), ())


def without_repeats(failures: Sequence[Failure]) -> list[Failure]:
    """Drop failed checks that repeat another: a wrong value is not reported as uncertain as well."""
    checks = {failure.check for failure in failures}
    wrong = {path for failure in failures if failure.check != _UNSURE for path in failure.fields}
    return [
        failure
        for failure in failures
        if _SAID_BY.get(failure.check) not in checks
        and not (failure.check == _UNSURE and wrong.issuperset(failure.fields))
    ]


def _problems(failures: Sequence[Failure]) -> dict[str, list[str]]:
    problems: dict[str, list[str]] = {}
    for failure in without_repeats(failures):
        for path in failure.fields:
            problems.setdefault(path, []).append(failure.message)
    return problems


def _field(
    path: str,
    value: str | None,
    evidence: Evidence | None,
    problems: tuple[str, ...],
    said: FieldReviewView | None,
) -> Field:
    confidence = evidence.confidence if evidence else 0.0
    exact = evidence is not None and evidence.match in _UNMEASURED
    return Field(
        path=path,
        name=_name(path, value),
        value=value or "",
        certainty=(
            "confirmed"
            if said and said.holds
            else _certainty(confidence, is_missing=not value, has_problem=bool(problems))
        ),
        percent=None if exact or not value else floor(100 * confidence),
        evidence=evidence,
        problems=problems,
        said=said,
    )


def _name(path: str, value: str | None) -> str:
    """Return the field's name; a code for a means of payment is explained beside it."""
    meaning = PAYMENT_METHODS.get(value or "") if path == "payment.method" else None
    return f"{place_name(path)} ({meaning})" if meaning else place_name(path)


def _certainty(confidence: float, *, is_missing: bool, has_problem: bool) -> Certainty:
    if has_problem:
        return "invalid"
    if is_missing or confidence < UNSURE:
        return "low"
    return "sure" if confidence >= SURE else "unsure"


def _table(name: str, data: dict[str, Any], field: Callable[[str], Field]) -> TableView:
    """Columns in which no row has a value are left out."""
    heading, names = TABLES[name]
    rows = data[name]
    used = [column for column in names if any(row.get(column) is not None for row in rows)]
    return TableView(
        name=heading,
        columns=[ColumnView(names[column], column in NUMERIC_COLUMNS) for column in used],
        rows=[
            [field(f"{name}[{index}].{column}") if row.get(column) is not None else None for column in used]
            for index, row in enumerate(rows)
        ],
    )
