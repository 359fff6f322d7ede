"""Line items with their evidence: each row of the table of items as findings."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial

from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.findings import Finding, cleaned
from docmill.understanding.tables.grid import Grid, GridReader, Row
from docmill.understanding.tables.numbers import Figure, figure
from docmill.understanding.tables.printed_lines import Word, flowing, joined, printed_lines, spans
from docmill.understanding.tables.roles import agreeing, rate_column, roles
from docmill.understanding.text.dates import find_dates
from docmill.understanding.vocabulary import Column

_MOST_PAGES = 200
_AGREED = 0.97
_SUMMED = 0.95
_SAID = 0.8
_DISAGREED = 0.4
_POSITION = re.compile(r"^[A-Z]?\d{1,5}(?:[.\-]\d{1,3}){0,3}[.)]?$")
_LONGEST_UNIT = 15
_MOST_SUMS = 5
"""Rows at the end of a table that may be sums, whatever they are called."""

Item = dict[str, Finding]


@dataclass(frozen=True, slots=True)
class Items:
    """The items in the order of the page. proved: their amounts make a sum that is printed elsewhere.

    Where they do: total: what they make; cells, headings: the segments of their table.
    """

    rows: tuple[Item, ...]
    proved: bool
    total: Decimal | None = None
    cells: frozenset[int] = frozenset()
    headings: frozenset[int] = frozenset()

    def findings(self) -> Iterator[tuple[str, Finding]]:
        """By path, such as `lines[0].quantity`."""
        for index, row in enumerate(self.rows):
            for name, finding in row.items():
                yield f"lines[{index}].{name}", finding


NO_ITEMS = Items((), proved=False)


def items(candidates: Candidates) -> Items:
    """The items of the table that is most likely theirs."""
    best: tuple[float, Items] = (0.0, NO_ITEMS)
    tables = grids(candidates)
    for grid in tables:
        table = _Table(candidates, grid)
        score = table.score()
        if score > best[0]:
            best = (score, table.items())
    return best[1]


def grids(candidates: Candidates) -> list[Grid]:
    """All tables with headings, over pages."""
    layout = candidates.layout
    is_number = partial(_is_number, candidates=candidates)
    reader = GridReader(is_number)
    looked_at = [sheet.page_index for sheet in layout.sheets]
    index, count = 0, len(layout.document.pages)
    while index < min(count, _MOST_PAGES):
        went_on = reader.read(printed_lines(layout.sheet_of_page(index)))
        index += 1
        if not went_on:
            index = next((one for one in looked_at if one >= index), count)
    return [grid for grid in reader.grids if grid.rows]


def _is_number(words: Sequence[Word], *, candidates: Candidates) -> bool:
    return read_figure(candidates, words) is not None


def read_figure(candidates: Candidates, words: Sequence[Word]) -> Figure | None:
    """The number of a cell as this document writes numbers."""
    if not words:
        return None
    page = candidates.layout.sheet(words[0].segment).page
    return figure(words, candidates.conventions.mark, misread=page.source == "ocr")


class _Table:
    """A table as items."""

    def __init__(self, candidates: Candidates, grid: Grid) -> None:
        self._candidates = candidates
        self._grid = grid
        self._read()
        stop = self._end()
        if stop < len(grid.rows):
            self._grid = replace(grid, rows=grid.rows[:stop])
            self._read()

    def _read(self) -> None:
        candidates, grid = self._candidates, self._grid
        self._figures: list[list[Figure | None]] = [
            [read_figure(candidates, row.cells[index]) for row in grid.rows]
            for index in range(len(grid.headings))
        ]
        self._within = frozenset(
            word.segment.index for row in grid.rows for cell in row.cells for word in cell
        )
        self._printed = frozenset(
            amount.value for amount in candidates.amounts if amount.segment.index not in self._within
        )
        self._roles = roles(grid, self._figures, self._printed)
        taken = (self._roles.quantity, self._roles.unit_price, self._roles.amount, self._roles.discount)
        self._rate = rate_column(grid, self._figures, taken)
        self._sum = self._amounts_sum()
        self._numbered = self._is_numbered()

    def _end(self) -> int:
        """The rows that are items: without the last, if they have fewer numbers and the rest makes a sum."""
        count, amount = len(self._grid.rows), self._roles.amount
        if amount is None or self._sums_up:
            return count
        cells = self._figures[amount]
        for stop in range(count - 1, max(0, count - 1 - _MOST_SUMS), -1):
            kept, left = self._grid.rows[:stop], self._grid.rows[stop:]
            usual = set[int].intersection(*(row.figures for row in kept))
            made = sum((cell.value for cell in cells[:stop] if cell is not None), Decimal(0))
            printed = {cell.value for cell in cells[stop:] if cell is not None} | self._printed
            if made in printed and not any(usual <= row.figures and self._is_named(row) for row in left):
                return stop
        return count

    def _is_named(self, row: Row) -> bool:
        return self._grid.text is None or any(map(str.isalpha, joined(row.cells[self._grid.text])))

    def _amounts_sum(self) -> Decimal | None:
        if self._roles.amount is None:
            return None
        cells = [one.value for one in self._figures[self._roles.amount] if one is not None]
        return sum(cells, Decimal(0)) if len(cells) == len(self._grid.rows) else None

    @property
    def _sums_up(self) -> bool:
        return self._sum is not None and self._sum in self._printed

    def score(self) -> float:
        """How likely the items stand here."""
        if self._roles.amount is None and self._roles.quantity is None:
            return 0.0
        if self._grid.text is None and (self._roles.quantity is None or self._roles.amount is None):
            return 0.0
        return self._roles.score + min(3.0, 0.3 * len(self._grid.rows))

    def items(self) -> Items:
        """Every row as an item."""
        rows = tuple(dict(self._item(number)) for number in range(len(self._grid.rows)))
        if not self._sums_up:
            return Items(rows, proved=False)
        return Items(rows, True, self._sum, self._within, self._grid.segments)

    def _item(self, number: int) -> Iterator[tuple[str, Finding]]:
        row = self._grid.rows[number]
        quantity, price, amount, discount = (
            self._figures[index][number] if index is not None else None
            for index in (
                self._roles.quantity,
                self._roles.unit_price,
                self._roles.amount,
                self._roles.discount,
            )
        )
        agreed = agreeing(quantity, price, amount, discount)
        sure = self._sureness(quantity, price, amount, agreed=agreed is not None)
        values = agreed or tuple(one.value if one else Decimal(0) for one in (quantity, price, amount))
        for name, index, read, value in zip(
            ("quantity", "unit_price", "net_amount"),
            (self._roles.quantity, self._roles.unit_price, self._roles.amount),
            (quantity, price, amount),
            values,
            strict=True,
        ):
            if index is not None and read is not None:
                yield name, Finding(value, spans(row.cells[index]), sure)
        yield from self._texts(row, quantity, sure)
        if self._rate is not None:
            rate = self._figures[self._rate][number]
            if rate is not None:
                yield "tax_rate", Finding(rate.value, spans(row.cells[self._rate]), sure)

    def _sureness(
        self, quantity: Figure | None, price: Figure | None, amount: Figure | None, *, agreed: bool
    ) -> float:
        if agreed:
            return _AGREED
        if quantity is not None and price is not None and amount is not None:
            return _DISAGREED
        return _SUMMED if self._sums_up else _SAID

    def _texts(self, row: Row, quantity: Figure | None, sure: float) -> Iterator[tuple[str, Finding]]:
        lines = self._description(row)
        if lines:
            text = cleaned(flowing(lines), plain=self._candidates.plain)
            yield (
                "description",
                Finding(text, spans([word for line in lines for word in line]), min(sure, 0.9)),
            )
        own = self._position(row)
        if own and _POSITION.match(joined(own)) and not find_dates(joined(own)):
            yield "position", Finding(joined(own).rstrip(".)"), spans(own), 0.95)
        yield from self._unit(row, quantity, sure)

    def _position(self, row: Row) -> list[Word]:
        if self._numbered and self._grid.text is not None:
            return row.cells[self._grid.text][:1]
        index = self._column(Column.POSITION)
        return [] if index is None else row.cells[index]

    def _is_numbered(self) -> bool:
        """Whether the names begin with the items' positions, which have no column of their own."""
        text = self._grid.text
        if text is None or self._column(Column.POSITION) is not None or len(self._grid.rows) < 2:  # noqa: PLR2004 - one item tells nothing
            return False
        firsts = [row.cells[text][0].text.rstrip(".)") if row.cells[text] else "" for row in self._grid.rows]
        return all(
            first.isdecimal() and int(first) - int(firsts[0]) == index for index, first in enumerate(firsts)
        )

    def _description(self, row: Row) -> list[list[Word]]:
        text = self._grid.text
        if text is None:
            return []
        lines = [*row.above, row.cells[text][self._numbered :], *row.below]
        return [words for words in lines if words]

    def _unit(self, row: Row, quantity: Figure | None, sure: float) -> Iterator[tuple[str, Finding]]:
        index = self._unit_column()
        if index is not None and index != self._roles.quantity and row.cells[index]:
            text = joined(row.cells[index])
            if len(text) <= _LONGEST_UNIT and any(map(str.isalpha, text)):
                yield "unit", Finding(text, spans(row.cells[index]), sure)
                return
        if quantity is not None and self._roles.quantity is not None and any(map(str.isalpha, quantity.rest)):
            cell = row.cells[self._roles.quantity]
            words = [word for word in cell if word.text in quantity.rest.split()] or cell
            yield "unit", Finding(quantity.rest, spans(words), sure)

    def _unit_column(self) -> int | None:
        """The column said to hold units, or a nameless one of short words right of the quantities."""
        said = self._column(Column.UNIT)
        if said is not None or self._roles.quantity is None:
            return said
        index = self._roles.quantity + 1
        if index == len(self._grid.headings) or self._grid.headings[index].meanings:
            return None
        cells = [joined(row.cells[index]) for row in self._grid.rows]
        return (
            index if all(len(cell) <= _LONGEST_UNIT and not cell[:1].isdecimal() for cell in cells) else None
        )

    def _column(self, kind: Column) -> int | None:
        return next(
            (
                index
                for index, heading in enumerate(self._grid.headings)
                if kind in heading.meanings and index != self._grid.text
            ),
            None,
        )
