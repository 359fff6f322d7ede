"""Reader of tables below their headings: finds their rows and their end."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.tables.columns import Cells, PrintedColumns, Row, is_sum, is_tax
from docmill.understanding.tables.headings import Heading, HeadingRow, heading_row
from docmill.understanding.tables.printed_lines import BREAKS, PrintedLine, Word, joined
from docmill.understanding.vocabulary import Column

_GAP = 9.0
"""Line heights without anything that end a table."""
_WRAPPED = 1.3
"""Line heights between a row and a line of text that still belongs to it."""
_MOST_TEXT = 8
"""Lines of text below a row that belong to it."""
_SHORT_WORD = 3
"""Letters of a word, such as `und`, with which no text ends."""
_MOST_STRAYS = 2
"""Lines in a row that belong to no item, after which only a row with all usual cells is one."""


@dataclass(slots=True)
class Grid:
    """A table. text: the column of the items' names; None if it has none. segments: of its headings."""

    headings: tuple[Heading, ...]
    text: int | None = None
    segments: frozenset[int] = frozenset()
    rows: list[Row] = field(default_factory=list[Row])

    def has_column(self, column: Column) -> bool:
        """True if a heading can mean this."""
        return any(column in heading.meanings for heading in self.headings)


class GridReader:
    """Reads the tables of pages in order by their headings; a table may continue on later pages."""

    def __init__(self, candidates: Candidates) -> None:
        self.grids: list[Grid] = []
        self._candidates = candidates
        self._columns: PrintedColumns | None = None
        self._last: HeadingRow | None = None

    def read(self, lines: Sequence[PrintedLine]) -> bool:
        """True if the page has rows of a table; they are in `grids`."""
        heads = {at: row for at in range(len(lines)) if (row := heading_row(lines, at)) is not None}
        has_rows, at = self._continue(lines[: min(heads, default=len(lines))]), 0
        while (first := min((head for head in heads if head >= at), default=None)) is not None:
            row = heads[first]
            stop = min((head for head in heads if head >= row.stop), default=len(lines))
            body = _body(lines[row.stop - 1 : stop], first=1)
            if at == 0 and self.grids:
                self._continue_text(row, body)
            self._add_table(row, body)
            has_rows |= bool(self.grids[-1].rows)
            at = row.stop + len(body)
        return has_rows

    def _continue(self, lines: Sequence[PrintedLine]) -> bool:
        """Take the rows at the top of a page that continue the table of the page before without headings."""
        columns, body = self._columns, _body(lines)
        if self._last is not None:
            self._add_table(self._last, body)
            return bool(self.grids[-1].rows)
        if columns is None or not self.grids[-1].rows:
            return False
        filled = [row.figures for row in self.grids[-1].rows]
        least, most = set[int].intersection(*filled), set[int].union(*filled)
        rows = [row for row in _rows(columns, body) if least <= row.figures <= most]
        self.grids[-1].rows += rows
        return bool(rows)

    def _continue_text(self, row: HeadingRow, body: Sequence[PrintedLine]) -> None:
        """Add to the last row of the page before the text below the repeated headings that continues it."""
        grid = self.grids[-1]
        meanings = [heading.meanings for heading in row.headings]
        if not grid.rows or meanings != [heading.meanings for heading in grid.headings]:
            return
        columns = PrintedColumns(row, body, self._candidates)
        for line in body[:_MOST_TEXT]:
            cells = columns.cells(line)
            figures = columns.figures(cells)
            if columns.is_carried(line.text, figures):
                continue
            words = columns.text_of(line)
            before = (
                [line for line in grid.rows[-1].text_lines(grid.text) if line]
                if grid.text is not None
                else []
            )
            if figures or columns.position(cells) or not (words and before and _goes_on(before[-1], words)):
                return
            grid.rows[-1].below.append(words)

    def _add_table(self, row: HeadingRow, body: Sequence[PrintedLine]) -> None:
        """Take the rows below these headings; the same headings as before go on with their table.

        Headings at the very end of a page are those of the rows on the next.
        """
        self._last = None if body else row
        columns = self._columns = PrintedColumns(row, body, self._candidates)
        grid = self.grids[-1] if self.grids else None
        meanings = [heading.meanings for heading in row.headings]
        if grid is None or meanings != [heading.meanings for heading in grid.headings]:
            grid = Grid(row.headings, columns.text)
            self.grids.append(grid)
        grid.segments |= row.segments
        grid.rows += _rows(columns, body)


def _goes_on(before: Sequence[Word], words: Sequence[Word]) -> bool:
    """True if a line continues the sentence above: it starts in lower case, or that one is unfinished."""
    last = before[-1].text
    is_open = last.endswith((",", *BREAKS)) or (last.islower() and len(last) <= _SHORT_WORD)
    return is_open or words[0].text[:1].islower()


def _body(lines: Sequence[PrintedLine], first: int = 0) -> list[PrintedLine]:
    """The lines from `first` to the next large gap."""
    gaps = (
        at
        for at in range(first, len(lines))
        if lines[at].top - lines[max(0, at - 1)].bottom > _GAP * lines[at].height
    )
    return list(lines[first : next(gaps, len(lines))])


def _rows(columns: PrintedColumns, body: Sequence[PrintedLine]) -> list[Row]:
    """The rows of a table's lines with the text around each. Sums are no rows, and end the table."""
    rows: list[Row] = []
    between: list[PrintedLine] = []
    positions: list[str] = []
    strays = 0
    for line in body:
        cells = columns.cells(line)
        figures = columns.figures(cells)
        if columns.is_carried(line.text, figures):
            _add_texts(columns, rows, between, None)
            between = []
        elif (is_sum(line) and not columns.is_item(cells, figures)) or (
            is_tax(line) and not columns.has_quantity(figures)
        ):
            _add_texts(columns, rows, between, None)
            between, strays = [], _MOST_STRAYS
        elif figures and rows and not between and columns.is_same_row(rows[-1], line, cells, figures):
            _add_figures(rows[-1], line, cells, figures)
        elif rows and not between and columns.is_second(rows[-1], line, cells, figures):
            rows[-1].others |= {index: cells[index] for index in figures}
            between.append(line)
        elif columns.begins_row(line, cells, figures):
            is_next = _follows(positions, _last_position(columns, [*between, line]))
            if strays >= _MOST_STRAYS and not is_next and not is_alike(rows, figures):
                between.append(line)
                continue
            strays = 0
            row = Row(cells, frozenset(figures), figures, line.top, line.bottom)
            _add_texts(columns, rows, between, row)
            rows.append(row)
            positions += [position] if (position := columns.position(row.cells)) else []
            between = []
        else:
            strays += not columns.text_of(line)
            between.append(line)
    _add_texts(columns, rows, between, None)
    return [row for row in rows if row.figures & columns.anchors]


def _add_figures(row: Row, line: PrintedLine, cells: Cells, figures: set[int]) -> None:
    """Add to a row the numbers that are printed a little lower, and the texts beside them."""
    row.figures |= figures
    row.bottom = max(row.bottom, line.bottom)
    for index, words in enumerate(cells):
        if index in figures or not any(map(str.isdecimal, joined(words))) or not row.cells[index]:
            row.cells[index].extend(words)


def _last_position(columns: PrintedColumns, lines: Sequence[PrintedLine]) -> str:
    """The last position of an item in the lines."""
    positions = (columns.position(columns.cells(line)) for line in reversed(lines))
    return next(filter(None, positions), "")


def _follows(before: Sequence[str], position: str) -> bool:
    """True if a position is the next one after those before."""
    if not (before and before[-1].isdecimal() and position.isdecimal()):
        return False
    return int(position) == int(before[-1]) + 1


def is_alike(rows: Sequence[Row], figures: set[int]) -> bool:
    """True if a row has a number in each column in which every row before has one."""
    return not rows or frozenset[int].intersection(*(row.first for row in rows)) <= figures


def _add_texts(
    columns: PrintedColumns, rows: Sequence[Row], between: Sequence[PrintedLine], row: Row | None
) -> None:
    """Give the lines between two rows to the one above, or to that below if it has no name of its own.

    Where the rows have positions, a line with one begins a row: that below if it has none of its own, else a
    group of rows, whose title belongs to no row.
    """
    starts = [at for at, line in enumerate(between) if columns.position(columns.cells(line))]
    if starts and row is not None and not columns.position(row.cells):
        _add_below(columns, rows, between[: starts[-1]])
        _add_head(columns, row, between[starts[-1] :])
    elif starts and row is not None:
        _add_below(columns, rows, between[: starts[0]])
    elif row is not None and columns.text is not None and not columns.has_name(row):
        top = row.top
        for line in reversed(between):
            words = columns.text_of(line)
            if not words or top - line.bottom > _WRAPPED * line.height:
                return
            row.above.insert(0, words)
            top = line.top
    else:
        _add_below(columns, rows, between)


def _add_head(columns: PrintedColumns, row: Row, lines: Sequence[PrintedLine]) -> None:
    """Give a row the lines above its numbers, the first of which has its position."""
    for line, cells in ((line, columns.cells(line)) for line in lines):
        words = columns.text_of(line)
        if words:
            row.above.append(words)
        for index, heading in enumerate(columns.headings):
            if Column.POSITION in heading.meanings and index != columns.text and not row.cells[index]:
                row.cells[index].extend(cells[index])


def _is_of_sums(line: PrintedLine, words: Sequence[Word]) -> bool:
    """True if what a line has in the column of names is a number, or the end of a text with a number behind.

    Such lines count what is above: `Regular hours  34.50`, `Total spots  41`.
    """
    if all(map(_is_number, (word.text for word in words))):
        return True
    begins_outside = words[0].start > words[0].segment.offsets[0]
    return begins_outside and line.segments[-1] is not words[0].segment and _is_number(line.segments[-1].text)


def _is_number(text: str) -> bool:
    return any(map(str.isdecimal, text)) and not any(map(str.isalpha, text))


def _add_below(columns: PrintedColumns, rows: Sequence[Row], lines: Sequence[PrintedLine]) -> None:
    """Give the last row the lines of text below it."""
    if not rows:
        return
    bottom = rows[-1].bottom
    for line in lines[:_MOST_TEXT]:
        words = columns.text_of(line, is_name=not columns.has_text(rows[-1]))
        is_far = line.top - bottom > _WRAPPED * line.height
        if is_far or (not words and columns.is_within(line)) or (words and _is_of_sums(line, words)):
            return
        if words:  # others stand beside the table
            rows[-1].below.append(words)
            bottom = line.bottom
