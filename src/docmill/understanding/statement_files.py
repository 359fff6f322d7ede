"""Classification and extraction of a bank statement by the data that its file was read into."""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pydantic import ValidationError

from docmill.model.document import Box, Document, letters_and_digits
from docmill.model.paths import leaves
from docmill.model.result import Classification, Evidence, Extraction, Failure, StepTaken
from docmill.schemas.document_types import DEFINITIONS
from docmill.schemas.statement_data import STATEMENT_DATA, StatementData
from docmill.schemas.types import BankStatement
from docmill.understanding.types.tags import choose_tags, tags_in

CHECK = "statement_rows"
UNKNOWN_COLUMNS = (
    "The columns of the table could not be told by their headings, nor by balances that prove their amounts: "
    "please compare the bookings, and whether one is missing."
)
_TABLES = frozenset(
    {
        "application/vnd.ms-excel",
        "application/vnd.oasis.opendocument.spreadsheet",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "text/csv",
        "text/tab-separated-values",
    }
)
"""Types of files whose bookings are read from their columns, unless these are not known."""
EMBEDDED = Evidence(page=None, box=None, text=None, match="embedded", confidence=1.0)
"""Evidence of a value that the page shows in another way than the file."""
_TYPE = "bank_statement"
_HEAD = ("iban", "currency", "period_start", "period_end", "opening_balance", "closing_balance")

Row = dict[int, tuple[int, Box, str]]
"""A row of a page's table: by the index of its column, the page, box and text of each cell."""
Rows = defaultdict[tuple[str, ...], deque[Row]]
"""Rows by the letters and digits of their cells, in the order in which they stand."""


def find_statement(document: Document) -> StatementData | None:
    """The data of the statement that the document is; None for any other document."""
    for file in document.embedded:
        if file.media_type == STATEMENT_DATA:
            try:
                return StatementData.model_validate_json(file.content)
            except ValidationError:  # of another release: the pages count
                return None
    return None


def is_unneeded(document: Document, path: str) -> bool:
    """True if a critical field may be missing, since the statement's file says the same in another way.

    An account outside of the countries of the IBAN has none. Notifications and tables of bookings state no
    period, and their bookings have dates.
    """
    if path not in ("iban", "period_end"):
        return False
    data = find_statement(document)
    if data is None:
        return False
    return data.account is not None if path == "iban" else bool(data.statement.transactions)


def extract_statement(document: Document, data: StatementData, pages: Extraction | None) -> Extraction:
    """The values of the file, with their places on the pages.

    pages: what was read around a table of bookings, whose values count where the file's data has none.
    """
    statement, rows = data.statement, _rows_by_letters(document)
    source = data.source if data.source == "workbook" else f"{data.source} file"
    evidence = dict(_evidence(data, rows))
    if pages is not None and isinstance(pages.data, BankStatement):
        for name in _HEAD:
            value, own = getattr(pages.data, name), getattr(statement, name)
            if own in (None, value) and name in pages.evidence:
                statement = statement.model_copy(update={name: value})
                evidence[name] = pages.evidence[name]
    return Extraction(
        document_type=_TYPE,
        data=statement,
        evidence={path: evidence.get(path, EMBEDDED) for path, _ in leaves(statement)},
        steps=(StepTaken(kind="read", by=f"bookings of the {source}", is_from_xml=True),),
        failures=tuple(Failure(check=CHECK, message=problem) for problem in data.problems),
    )


def ask_for_columns(document: Document, extraction: Extraction) -> Extraction:
    """The extraction of a bank statement, with a failure if it is a table whose columns are not known."""
    if document.media_type not in _TABLES or not isinstance(extraction.data, BankStatement):
        return extraction
    failure = Failure(check=CHECK, message=UNKNOWN_COLUMNS)
    return extraction.model_copy(update={"failures": (*extraction.failures, failure)})


def classify_statement(
    document: Document, data: StatementData, tags_in_use: Sequence[str] = ()
) -> Classification:
    """The classification by account, period and balance of the file, with a confidence of 1."""
    statement, label = data.statement, DEFINITIONS[_TYPE].label
    account = statement.iban or data.account
    days = [booking.date for booking in statement.transactions if booking.date is not None]
    day = statement.period_end or max(days, default=None)
    count = len(statement.transactions)
    summary = [f"{label} of {account}" if account else label]
    summary += [f"from {statement.period_start}"] if statement.period_start else []
    summary += [f"to {day}"] if day else []
    summary += [f"with {count} {'booking' if count == 1 else 'bookings'}"]
    if statement.closing_balance is not None:
        summary.append(f"and {statement.closing_balance} {statement.currency or ''}".rstrip() + " at its end")
    return Classification(
        document_type=_TYPE,
        title=label,
        summary=" ".join(summary) + ".",
        document_date=day,
        tags=choose_tags([*tags_in([label], tags_in_use), label, day and str(day.year)], tags_in_use),
        language=document.language,
        confidence=1.0,
    )


def _evidence(data: StatementData, rows: Rows) -> Iterator[tuple[str, Evidence]]:
    """The places of values on the pages. Rows that are equal are taken in their order."""
    values = dict(leaves(data.statement))
    for line in data.head:
        row = _take(rows, (line.label, line.text))
        if line.path and row is not None:
            yield line.path, _at(row, [1], values.get(line.path))
    for index, cells in enumerate(data.rows):
        row = _take(rows, cells)
        if row is None:
            continue
        for name in dict.fromkeys(filter(None, data.columns)):
            path = f"transactions[{index}].{name}"
            value = values.get(path)
            columns = [
                column
                for column, field in enumerate(data.columns)
                if field == name and column in row and _is_part(cells[column], value)
            ]
            if columns:
                yield path, _at(row, columns, value)


def _is_part(cell: str, value: object) -> bool:
    """True if a cell may be what the value was read from: a text must be in a text."""
    return value is not None and (
        not isinstance(value, str) or letters_and_digits(cell) in letters_and_digits(value)
    )


def _at(row: Row, columns: Sequence[int], value: object) -> Evidence:
    """The evidence of a value in these cells of a row."""
    cells = [row[column] for column in columns]
    page, _, _ = cells[0]
    box = _around(box for _, box, _ in cells)
    text = " ".join(text for _, _, text in cells)
    return Evidence(
        page=page, box=box, text=text, match="exact" if text == str(value) else "normalised", confidence=1.0
    )


def _around(boxes: Iterable[Box]) -> Box:
    """The smallest box around others."""
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return Box(min(x0), min(y0), max(x1), max(y1))


def _take(rows: Rows, cells: Sequence[str]) -> Row | None:
    same = rows.get(_key(dict(enumerate(cells))))
    return same.popleft() if same else None


def _rows_by_letters(document: Document) -> Rows:
    """The rows of all tables of the pages."""
    rows: Rows = defaultdict(deque)
    for page in document.pages:
        texts, boxes = page.words.texts, page.words.boxes.tolist()
        for table in page.tables:
            of_table: list[Row] = [{} for _ in range(table.row_count)]
            for cell in table.cells:
                text = " ".join(texts[index] for index in cell.words)
                # Not the cell's own box: figures aligned to the right may reach beyond it.
                box = _around(Box(*boxes[index]) for index in cell.words)
                of_table[cell.row][cell.column] = (page.number, box, text)
            for row in of_table:
                rows[_key({column: text for column, (_, _, text) in row.items()})].append(row)
    return rows


def _key(cells: Mapping[int, str]) -> tuple[str, ...]:
    """The letters and digits of cells with their columns, without empty cells at the end."""
    last = max((column for column, text in cells.items() if text.strip()), default=-1)
    return tuple(letters_and_digits(cells.get(column, "")) for column in range(last + 1))
