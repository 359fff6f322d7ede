"""Lists of objects of a user's schema, from the tables whose headings name the objects' members."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal

from docmill.understanding.fields.candidates import NO, YES, Candidates
from docmill.understanding.fields.findings import Finding
from docmill.understanding.fields.meaning import FieldMeaning
from docmill.understanding.tables.columns import Cells, PrintedColumns
from docmill.understanding.tables.find import StoredTableReader, find_tables, has_own_tables
from docmill.understanding.tables.grid import Grid
from docmill.understanding.tables.headings import Heading, HeadingRow, heading_of
from docmill.understanding.tables.printed_lines import PrintedLine, flowing, printed_lines, spans
from docmill.understanding.text.dates import find_dates
from docmill.understanding.text.folding import fold
from docmill.understanding.text.money import find_amounts, without_currencies

_NAMED = 0.4
"""The least strength with which a heading names a member."""
_LEAST = 2
"""Members that headings must name; all of them where there are fewer."""
_CONFIDENCE = 0.8
_GAP = 2.5
"""Line heights without anything that end a list."""
_WIDER = 1.5
"""A gap that is wider by this than that below the headings ends it, too."""
_FEWEST_ROWS, _FEWEST_COLUMNS = 2, 3
"""Of a table that a list may be."""
_MOST_LETTERS, _MOST_DIGITS = 12, 4
"""Beside the value of a cell, such as `pieces`, `1 x` or a time."""

Members = Mapping[str, FieldMeaning]


def list_findings(candidates: Candidates, meanings: Members) -> Iterator[tuple[str, Finding]]:
    """Every value of a list of objects that a table has, by its path, such as `lines[2].net_amount`."""
    lists: dict[str, dict[str, FieldMeaning]] = {}
    for path, meaning in meanings.items():
        owner, bracket, member = path.partition("[].")
        if bracket and "[]" not in member:
            lists.setdefault(owner, {})[member] = meaning
    for owner, members in lists.items():
        for index, row in enumerate(_items(candidates, members)):
            for member, finding in row.items():
                yield f"{owner}[{index}].{member}", finding


def _items(candidates: Candidates, members: Members) -> Iterator[dict[str, Finding]]:
    """The rows of the tables whose headings name enough members, with a number where the list has numbers.

    On paper the tables below headings come before those of its lines.
    """

    def has_headings(headings: Sequence[Heading]) -> bool:
        return len(_columns_of(headings, members)) >= min(_LEAST, len(members))

    layout = candidates.layout
    grids = [grid for grid in find_tables(candidates) if has_headings(grid.headings)]
    if not grids or has_own_tables(layout.document):
        reader = StoredTableReader(candidates, has_headings, every_row=True)
        for index, page in enumerate(layout.document.pages):
            if page.tables:
                reader.read(layout.sheet_of_page(index))
        grids = reader.grids or grids
    for grid in grids:
        yield from _items_of(grid, candidates, members)
    if not grids:
        yield from _items_below_own_headings(candidates, members)


def _items_of(grid: Grid, candidates: Candidates, members: Members) -> Iterator[dict[str, Finding]]:
    typed = [member for member in members if members[member].form in ("money", "number", "date")]
    filled = {column for column in range(len(grid.headings)) if any(row.cells[column] for row in grid.rows)}
    filled |= {grid.text} if grid.text is not None else set()
    columns = _columns_of(grid.headings, members, filled)
    for row in grid.rows:
        cells = {
            member: row.text_lines(column) if column == grid.text else [row.cells[column]]
            for member, column in columns.items()
        }
        item = _item(cells, candidates, members)
        has_number = not typed or any(
            member in typed and any(map(str.isdecimal, flowing(lines))) for member, lines in cells.items()
        )
        if item and has_number:
            yield item


def _item(cells: Mapping[str, Cells], candidates: Candidates, members: Members) -> dict[str, Finding]:
    """The values of a row by member. cells: of each member, the lines of its cell."""
    item: dict[str, Finding] = {}
    for member, lines in cells.items():
        words = [word for line in lines for word in line]
        value = _value(members[member], flowing(lines), candidates) if words else None
        if value is not None:
            item[member] = Finding(value, spans(words), _CONFIDENCE)
    return item


def _items_below_own_headings(candidates: Candidates, members: Members) -> Iterator[dict[str, Finding]]:
    """The rows below headings that only the schema knows, each of one line, up to the first that is none."""
    for sheet in candidates.layout.sheets:
        lines = printed_lines(sheet)
        for at, line in enumerate(lines):
            row = _own_headings(line, at + 1, members)
            if row is None:
                continue
            columns = _columns_of(row.headings, members)
            body = list(_near(lines[at + 1 :], line))
            reader = PrintedColumns(row, body, candidates)
            usual = frozenset[int]()
            for cells in map(reader.cells, body):
                filled = frozenset(column for column, words in enumerate(cells) if words)
                if not usual <= filled:
                    break  # a sum, which lacks a cell that all rows have
                usual = usual & filled or filled
                item = _item(
                    {member: [cells[column]] for member, column in columns.items()}, candidates, members
                )
                if len(item) < min(_LEAST, len(members)):
                    break
                yield item


def _own_headings(line: PrintedLine, stop: int, members: Members) -> HeadingRow | None:
    """The headings of a line, if they name members and are no row of values themselves."""
    if len(line.segments) < _LEAST or any(map(str.isdecimal, line.text)):
        return None
    headings = tuple(heading_of(segment.text, segment.box.x0, segment.box.x1) for segment in line.segments)
    named = _columns_of(headings, members)
    if len(named) < _LEAST:
        return None
    return HeadingRow(headings, stop, frozenset(segment.index for segment in line.segments))


def unread_headings(candidates: Candidates) -> tuple[str, ...]:
    """The headings of the first table on paper with rows of numbers; empty if there is none.

    A line of texts without digits is taken for headings where lines with digits follow in the same columns.
    """
    for sheet in candidates.layout.sheets:
        lines = printed_lines(sheet)
        for at, line in enumerate(lines):
            body = list(_near(lines[at + 1 : at + 1 + _FEWEST_ROWS], line))
            is_table = len(body) == _FEWEST_ROWS and all(
                any(map(str.isdecimal, row.text)) and _share_columns(line, row) for row in body
            )
            if is_table and not any(map(str.isdecimal, line.text)):
                return tuple(segment.text for segment in line.segments)
    return ()


def _share_columns(line: PrintedLine, row: PrintedLine) -> bool:
    """True if two lines have texts in three columns or more, each of one below one of the other."""
    boxes = [segment.box for segment in line.segments]
    below = [
        sum(box.x0 < segment.box.x1 and segment.box.x0 < box.x1 for box in boxes) for segment in row.segments
    ]
    return len(below) >= _FEWEST_COLUMNS and len(boxes) >= _FEWEST_COLUMNS and set(below) == {1}


def _near(lines: Sequence[PrintedLine], before: PrintedLine) -> Iterator[PrintedLine]:
    """The lines of several texts that follow one another at the distance of the first."""
    farthest = None
    for line in lines:
        gap = line.top - before.bottom
        if farthest is None:
            farthest = min(max(line.height, _WIDER * gap), _GAP * line.height)
        if gap > farthest or len(line.segments) < _LEAST:
            return
        yield line
        before = line


def _columns_of(
    headings: Sequence[Heading], members: Members, filled: Collection[int] | None = None
) -> dict[str, int]:
    """The column of each member that is named, the strongest first. filled: those that are no empty columns.

    Of headings that name a member alike, that spelt like it comes first, then that which names others less.
    """
    options: list[tuple[float, bool, float, str, int]] = []
    for column, heading in enumerate(headings):
        if filled is not None and column not in filled:
            continue
        words = without_currencies(heading.text).strip() or heading.text  # of `Amount NOK`, the first
        strengths = {member: meaning.match_strength(words) for member, meaning in members.items()}
        for member, strength in strengths.items():
            others = max((strengths[other] for other in members if other != member), default=0.0)
            options.append((-strength, heading.text.casefold() != member, others, member, column))
    columns: dict[str, int] = {}
    for strength, _, _, member, column in sorted(options, key=lambda option: option[:3]):
        if -strength >= _NAMED and member not in columns and column not in columns.values():
            columns[member] = column
    return columns


_BOUNDS = ("<", ">", "\u2264", "\u2265", "~", "\u00b1")


def _value(meaning: FieldMeaning, text: str, candidates: Candidates) -> date | Decimal | str | None:
    """The value of a cell; a date or number must be all of it but for a unit or a weekday."""
    readings: list[tuple[int, int, date | Decimal | None]]
    if meaning.kind in ("date", "datetime"):
        day_first = candidates.conventions.day_first
        readings = [(day.start, day.stop, day.value(day_first=day_first)) for day in find_dates(text)[:1]]
    elif meaning.kind in ("decimal", "integer"):
        mark = candidates.conventions.mark
        amounts = find_amounts(text, misread=False)[-1:]
        readings = [(amount.start, amount.stop, amount.value(mark)) for amount in amounts]
    elif meaning.kind == "boolean":
        answer = fold(text)
        return "true" if answer in YES else "false" if answer in NO else None
    else:
        return text
    for start, stop, value in readings:
        if text[:start].rstrip().endswith(_BOUNDS):
            return None  # `<8.0` is a bound, and not the number
        rest = text[:start] + text[stop:]
        if sum(map(str.isalpha, rest)) <= _MOST_LETTERS and sum(map(str.isdecimal, rest)) <= _MOST_DIGITS:
            return value
    return None
