"""Lists of objects from the document's tables whose header names the objects' members."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from docmill.model.document import Document, Page, Table
from docmill.model.result import Evidence
from docmill.understanding.fields.meaning import FieldMeaning
from docmill.understanding.page.conventions import Conventions
from docmill.understanding.page.labels import LABELS
from docmill.understanding.text.dates import find_dates
from docmill.understanding.text.money import find_amounts
from docmill.understanding.vocabulary import Concept

_HEADER_ROWS = 4
_NAMED = 0.4
"""How strongly a header must name a member."""
_LEAST = 2
"""Members that a header must name; all of them where there are fewer."""
_ENDS = frozenset((Concept.TOTAL, Concept.SUBTOTAL, Concept.GRAND, Concept.DUE, Concept.TAX))
_CONFIDENCE = 0.8
_MOST_LETTERS, _MOST_DIGITS = 12, 4
"""Beside the value of a cell, such as `pieces`, `1 x` or a time."""

Row = dict[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class _Header:
    """The column of each member, and the row after the header."""

    columns: Mapping[str, int]
    row: int


def rows_of(
    document: Document, meanings: Mapping[str, FieldMeaning], writes: Conventions
) -> Iterator[tuple[str, object, Evidence]]:
    """Path, value and evidence of every member that a table has, such as `lines[2].net_amount`."""
    lists: dict[str, dict[str, FieldMeaning]] = {}
    for path, meaning in meanings.items():
        owner, bracket, member = path.partition("[].")
        if bracket and "[]" not in member:
            lists.setdefault(owner, {})[member] = meaning
    if not lists or not any(page.tables for page in document.pages):
        return
    for owner, members in lists.items():
        for index, (page, row) in enumerate(_rows(document, members, writes)):
            for member, words in row.items():
                value = _value(members[member], page, words, writes)
                if value is not None:
                    yield f"{owner}[{index}].{member}", value, _evidence(page, words, value)


def _rows(
    document: Document, members: Mapping[str, FieldMeaning], writes: Conventions
) -> Iterator[tuple[Page, Row]]:
    """The rows of every table that lists the objects; one without a header goes on with that before it."""
    header: _Header | None = None
    count = 0
    for page in document.pages:
        for table in page.tables:
            own = _header(table, page, members)
            if own is not None:
                header, count = own, table.column_count
            elif header is None or table.column_count != count:
                continue
            start = own.row if own is not None else 0
            for row in _cells(table, header.columns, start):
                if _is_item(row, page, members, writes):
                    yield page, row


def _header(table: Table, page: Page, members: Mapping[str, FieldMeaning]) -> _Header | None:
    """The first row that names enough members."""
    texts = table.texts(page.words)
    for index in range(min(_HEADER_ROWS, table.row_count)):
        columns = _assigned(texts[index], members)
        if len(columns) >= min(_LEAST, len(members)):
            return _Header(columns, index + 1)
    return None


def _assigned(heads: Sequence[str], members: Mapping[str, FieldMeaning]) -> dict[str, int]:
    """The column of each member that is named, the strongest first."""
    said = sorted(
        (
            (meaning.match_strength(head), member, column)
            for member, meaning in members.items()
            for column, head in enumerate(heads)
            if head
        ),
        key=lambda one: -one[0],
    )
    columns: dict[str, int] = {}
    for strength, member, column in said:
        if strength >= _NAMED and member not in columns and column not in columns.values():
            columns[member] = column
    return columns


def _cells(table: Table, columns: Mapping[str, int], start: int) -> Iterator[Row]:
    """The words of each member, row by row."""
    at = {(cell.row, cell.column): cell.words for cell in table.cells if cell.words}
    for row in range(start, table.row_count):
        found = {member: at[row, column] for member, column in columns.items() if (row, column) in at}
        if found:
            yield found


def _is_item(row: Row, page: Page, members: Mapping[str, FieldMeaning], writes: Conventions) -> bool:
    """True if a row is an item of the list: no sum, and with a number where the list has numbers."""
    text = " ".join(page.words.texts[index] for words in row.values() for index in words)
    labels = LABELS.find(text)
    if labels and labels[0].start == 0 and _ENDS.intersection(labels[0].meanings):
        return False
    typed = [member for member in members if members[member].form in ("money", "number", "date")]
    return not typed or any(
        member in row and _value(members[member], page, row[member], writes) is not None for member in typed
    )


def _value(meaning: FieldMeaning, page: Page, words: Sequence[int], writes: Conventions) -> object:
    text = " ".join(page.words.texts[index] for index in words)
    match meaning.kind:
        case "date":
            return _date(text, writes)
        case "decimal" | "integer":
            return _number(text, writes, whole=meaning.kind == "integer")
        case _:
            return text


def _date(text: str, writes: Conventions) -> date | None:
    found = find_dates(text)
    if not found or not _is_cell(text, found[0].start, found[0].stop):
        return None
    return found[0].value(day_first=writes.day_first)


def _number(text: str, writes: Conventions, *, whole: bool) -> Decimal | int | None:
    found = find_amounts(text, misread=False)
    if not found or not _is_cell(text, found[-1].start, found[-1].stop):
        return None
    value = found[-1].value(writes.mark)
    if whole:
        return int(value) if value == value.to_integral_value() else None
    return value


def _is_cell(text: str, start: int, stop: int) -> bool:
    """True if a cell holds that value alone, or with a unit or a weekday; a sentence is no cell."""
    rest = text[:start] + text[stop:]
    return sum(map(str.isalpha, rest)) <= _MOST_LETTERS and sum(map(str.isdecimal, rest)) <= _MOST_DIGITS


def _evidence(page: Page, words: Sequence[int], value: object) -> Evidence:
    text = " ".join(page.words.texts[index] for index in words)
    recognition = float(page.words.confidences[list(words)].mean())
    boxes = page.words.boxes[list(words)]
    x0, y0 = boxes[:, :2].min(axis=0).tolist()
    x1, y1 = boxes[:, 2:].max(axis=0).tolist()
    return Evidence.model_validate(
        {
            "page": page.number,
            "box": (x0, y0, x1, y1),
            "text": text,
            "match": "exact" if text == str(value) else "normalised",
            "confidence": round(_CONFIDENCE * recognition, 4),
        }
    )
