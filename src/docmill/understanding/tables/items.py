"""Line items with their evidence: the roles of number columns in a table, and its rows as findings."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import pairwise, product

from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.findings import Finding, cleaned
from docmill.understanding.tables.columns import Row, without_code
from docmill.understanding.tables.find import find_tables
from docmill.understanding.tables.grid import Grid
from docmill.understanding.tables.headings import FIGURES
from docmill.understanding.tables.printed_lines import Figure, flowing, joined, read_figure, spans
from docmill.understanding.text.dates import find_dates
from docmill.understanding.text.money import CENT
from docmill.understanding.vocabulary import Column

_AGREED, _SUMMED, _UNPROVED, _DISAGREED = 0.97, 0.95, 0.8, 0.4
"""Confidences: quantity times price is the amount; all amounts make a sum; neither is known; it is not."""
_POSITION = re.compile(r"^[A-Z]?\d{1,5}(?:[.\-]\d{1,3}){0,3}[.)]?$")
_NAMED, _ONLY, _UNNAMED = 3.0, 0.5, -0.5
"""Scores of a column whose heading names the role, more if it can mean nothing else, and of one without."""
_OF_OPEN_QUANTITIES = 1.0
"""Score of items of which only what was ordered and what is outstanding is printed."""
_AGREES, _DISAGREES = 5.0, 0.3
"""Score if quantity times price is the amount in all rows, and the part lost by one in which it is not."""
_SUMS_UP = 3.0
"""Score if the amounts make a sum that is printed."""
_HIGHEST_RATE, _HALF = 50, Decimal("0.5")
_MOST_OPTIONS = 6
"""Columns that are tried for each kind of number."""
_MOST_COMPARED = 40
"""Rows that are reckoned; the first tell as much as all."""
_OF_NUMBERS = FIGURES | {
    Column.DISCOUNT,
    Column.TAX_RATE,
    Column.TAX_AMOUNT,
    Column.PRICE_BASE,
    Column.POSITION,
    Column.DATE,
    Column.VALUE_DATE,
    Column.PREVIOUSLY_DELIVERED,
    Column.OUTSTANDING,
    Column.ARTICLE,
}
"""A column whose heading names one of these holds no other number."""
_DELIVERED, _NOT_DELIVERED = 0.5, -1.0
"""Scores of a column of quantities beside others: of the delivered, and of the ordered, which only prices and
amounts can prove to be the quantities that are meant."""
_LONGEST_UNIT = 15
_MOST_SUMS = 5
"""Rows at the end of a table that may be sums, whatever they are called."""

Item = dict[str, Finding]
_Numbers = Sequence[Figure | None]
_Options = list[tuple[int | None, float]]
"""Columns that may have a role, with their scores; None for no column."""


@dataclass(frozen=True, slots=True)
class Items:
    """The items in the order of the page.

    proved: their amounts add up to a sum printed elsewhere. total: that sum. cells, headings: the segments of
    the table's cells and headings.
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
    """The items of the table that most probably has them."""
    tables: list[_ItemTable] = []
    for grid in find_tables(candidates):
        table = _ItemTable(candidates, grid)
        count = table.item_count()
        if count < len(grid.rows):
            table = _ItemTable(candidates, replace(grid, rows=grid.rows[:count]))
        tables.append(table)
    best = max(tables, key=_ItemTable.score, default=None)
    return best.items() if best is not None and best.score() > 0 else NO_ITEMS


@dataclass(frozen=True, slots=True)
class _Roles:
    """The column of each kind of number; None if the table has none."""

    quantity: int | None
    unit_price: int | None
    amount: int | None
    discount: int | None
    base: int | None
    tax: int | None
    score: float


class _ItemTable:
    """A table whose rows are items."""

    def __init__(self, candidates: Candidates, grid: Grid) -> None:
        self._candidates, self._grid = candidates, grid
        self._figures = [
            [_figure_of(candidates, row, index) for row in grid.rows] for index in range(len(grid.headings))
        ]
        self._segments = frozenset(
            word.segment.index for row in grid.rows for cell in row.cells for word in cell
        )
        self._printed = frozenset(
            amount.value for amount in candidates.amounts if amount.segment.index not in self._segments
        )
        self._roles = _choose_roles(grid, self._figures, self._printed)
        amount = self._roles.amount
        taken = (self._roles.quantity, self._roles.unit_price, amount, self._roles.discount, self._roles.base)
        rates = list(_rate_columns(grid, self._figures, taken, self._printed))
        self._rate = rates[0] if rates else None
        self._second_rate = _second_half(grid, self._figures, rates)
        cells = [cell.value for cell in self._figures[amount] if cell] if amount is not None else []
        self._sum = sum(cells, Decimal(0)) if amount is not None and len(cells) == len(grid.rows) else None
        self._makes_sum = self._sum is not None and self._sum in self._printed

    def item_count(self) -> int:
        """The number of rows, without last rows that have fewer numbers if the others add up to a sum."""
        rows, amount, text = self._grid.rows, self._roles.amount, self._grid.text
        if amount is None or self._makes_sum:
            return len(rows)
        cells = self._figures[amount]
        for stop in range(len(rows) - 1, max(0, len(rows) - 1 - _MOST_SUMS), -1):
            usual = set[int].intersection(*(row.figures for row in rows[:stop]))
            made = sum((cell.value for cell in cells[:stop] if cell is not None), Decimal(0))
            printed = {cell.value for cell in cells[stop:] if cell is not None} | self._printed
            if made in printed and not any(
                usual <= row.figures and (text is None or any(map(str.isalpha, joined(row.cells[text]))))
                for row in rows[stop:]
            ):
                return stop
        return len(rows)

    def score(self) -> float:
        """The likelihood that the items stand here."""
        has_quantity, has_amount = self._roles.quantity is not None, self._roles.amount is not None
        has_both = has_quantity and has_amount
        if (
            self._grid.text is None
            and self._roles.unit_price is None
            and self._grid.has_column(Column.TAX_AMOUNT)
        ):
            return 0.0  # rates of tax with their sums
        if self._is_of_open_quantities and not (has_quantity or has_amount):
            return _OF_OPEN_QUANTITIES
        if not (has_both or (self._grid.text is not None and (has_quantity or has_amount))):
            return 0.0
        return self._roles.score + min(3.0, 0.3 * len(self._grid.rows))

    @property
    def _is_of_open_quantities(self) -> bool:
        """True if only what was ordered and what is outstanding is printed; what was delivered is neither."""
        grid = self._grid
        has_both = grid.has_column(Column.ORDERED) and grid.has_column(Column.OUTSTANDING)
        return grid.text is not None and has_both

    def items(self) -> Items:
        """Every row as an item."""
        rows = tuple(dict(self._item(index)) for index in range(len(self._grid.rows)))
        if not self._makes_sum:
            return Items(rows, proved=False)
        return Items(rows, True, self._sum, self._segments, self._grid.segments)

    def _item(self, index: int) -> Iterator[tuple[str, Finding]]:
        row, chosen = self._grid.rows[index], self._roles
        columns = {
            "quantity": chosen.quantity,
            "unit_price": chosen.unit_price,
            "net_amount": chosen.amount,
            "discount": chosen.discount,
            "base": chosen.base,
            "tax": chosen.tax,
            "tax_rate": self._rate,
        }
        figures = {
            name: self._figures[column][index] if column is not None else None
            for name, column in columns.items()
        }
        quantity, price, amount, discount, base, tax, _ = figures.values()
        agreed = _agreeing(quantity, price, amount, discount, base, tax)
        sure = _SUMMED if self._makes_sum else _UNPROVED
        if agreed is not None:
            sure = _AGREED
        elif quantity is not None and price is not None and amount is not None:
            sure = _DISAGREED
        values = dict(zip(columns, agreed or (), strict=False))
        for name in ("quantity", "unit_price", "net_amount", "tax_rate"):
            column, figure = columns[name], figures[name]
            if column is not None and figure is not None:
                value = values.get(name, figure.value)
                words = row.cells[column] if value in figure.readings else row.others[column]
                finding = Finding(value, spans(words), sure)
                if name == "net_amount" and tax is not None and _is_with_tax(values, tax):
                    finding = Finding(value - tax.value, (), sure)
                elif name == "tax_rate" and self._second_rate is not None:
                    words = [*words, *row.cells[self._second_rate]]
                    finding = Finding(2 * value, spans(words), sure)
                yield name, finding
        yield from self._texts(row, sure)
        yield from self._unit(row, quantity, sure)

    def _texts(self, row: Row, sure: float) -> Iterator[tuple[str, Finding]]:
        text = self._grid.text
        if text is not None:
            lines = [line for line in (*row.above, row.cells[text][self._is_numbered :], *row.below) if line]
            layer = self._grid.headings[text].code_layer
            lines = without_code(lines, layer) if len(lines) > 1 else lines
            name = cleaned(flowing(lines), plain=self._candidates.plain)
            if lines:
                words = [word for line in lines for word in line]
                yield "description", Finding(name, spans(words), min(sure, 0.9))
        column = self._column(Column.POSITION)
        cell = row.cells[column] if column is not None else []
        if self._is_numbered and text is not None:
            cell = row.cells[text][:1]
        if cell and _POSITION.match(joined(cell)) and not find_dates(joined(cell)):
            yield "position", Finding(joined(cell).rstrip(".)"), spans(cell), 0.95)

    @cached_property
    def _is_numbered(self) -> bool:
        """True if the names begin with the items' positions, which have no column of their own."""
        text, rows = self._grid.text, self._grid.rows
        if text is None or self._column(Column.POSITION) is not None or len(rows) < 2:  # noqa: PLR2004 - one item tells nothing
            return False
        firsts = [row.cells[text][0].text.rstrip(".)") if row.cells[text] else "" for row in rows]
        return all(
            first.isdecimal() and int(first) - int(firsts[0]) == index for index, first in enumerate(firsts)
        )

    def _unit(self, row: Row, quantity: Figure | None, sure: float) -> Iterator[tuple[str, Finding]]:
        column, of_quantities = self._unit_column, self._roles.quantity
        if column is not None and column != of_quantities and row.cells[column]:
            text = joined(row.cells[column])
            if len(text) <= _LONGEST_UNIT and any(map(str.isalpha, text)):
                yield "unit", Finding(text, spans(row.cells[column]), sure)
                return
        if quantity is not None and of_quantities is not None and any(map(str.isalpha, quantity.rest)):
            cell = row.cells[of_quantities]
            words = [word for word in cell if word.text in quantity.rest.split()] or cell
            yield "unit", Finding(quantity.rest, spans(words), sure)

    @cached_property
    def _unit_column(self) -> int | None:
        """The column with a heading for units, or a nameless one of short words right of the quantities."""
        column, headings = self._column(Column.UNIT), self._grid.headings
        if column is not None or self._roles.quantity is None:
            return column
        index = self._roles.quantity + 1
        if index == len(headings) or headings[index].meanings:
            return None
        cells = [joined(row.cells[index]) for row in self._grid.rows]
        is_units = all(len(cell) <= _LONGEST_UNIT and not cell[:1].isdecimal() for cell in cells)
        return index if is_units else None

    def _column(self, meaning: Column) -> int | None:
        columns = (index for index, heading in enumerate(self._grid.headings) if meaning in heading.meanings)
        return next((index for index in columns if index != self._grid.text), None)


def _figure_of(candidates: Candidates, row: Row, index: int) -> Figure | None:
    """The number in a cell, with that below it if there is one."""
    figure = read_figure(candidates, row.cells[index])
    below = read_figure(candidates, row.others[index]) if figure is not None and index in row.others else None
    return replace(figure, below=below.value) if figure is not None and below is not None else figure


def _choose_roles(grid: Grid, columns: Sequence[_Numbers], printed: frozenset[Decimal]) -> _Roles:
    """The best assignment of roles to columns.

    columns: the numbers of each column, by row. printed: amounts elsewhere on the page.
    """
    numeric = [
        index
        for index, cells in enumerate(columns)
        if index != grid.text and sum(cell is not None for cell in cells) >= max(1.0, 0.3 * len(cells))
    ]
    quantities = _quantities(
        grid, numeric, _options(grid, numeric, Column.QUANTITY, _miscalled(grid, columns, numeric))
    )
    prices = _options(grid, numeric, Column.UNIT_PRICE)
    amounts = [
        *_options(grid, numeric, Column.NET_AMOUNT),
        *((index, score - 1.0) for index, score in _options(grid, numeric, Column.GROSS_AMOUNT)[:-1]),
    ]
    discount = next((i for i in numeric if Column.DISCOUNT in grid.headings[i].meanings), None)
    base = next((i for i in numeric if Column.PRICE_BASE in grid.headings[i].meanings), None)
    tax = _tax_column(grid, columns, numeric)
    best = _Roles(None, None, None, discount, base, tax, 0.0)
    sums = {
        index: sum((cell.value for cell in columns[index] if cell is not None), Decimal(0))
        for index in numeric
    }
    for (quantity, q_score), (price, p_score), (amount, a_score) in product(quantities, prices, amounts):
        chosen = [index for index in (quantity, price, amount) if index is not None]
        if len(set(chosen)) < len(chosen):
            continue
        score = q_score + p_score + a_score
        if quantity is not None and price is not None and amount is not None:
            nothing = [None] * len(columns[amount])
            others = (columns[i] if i is not None else nothing for i in (discount, base, tax))
            score += _AGREES * _agreement(columns[quantity], columns[price], columns[amount], *others)
        if amount is not None and sums[amount] in printed:
            score += _SUMS_UP
        if score > best.score:
            best = _Roles(quantity, price, amount, discount, base, tax, score)
    return best


def _miscalled(grid: Grid, columns: Sequence[_Numbers], numeric: Sequence[int]) -> set[int]:
    """Columns with a heading for positions, such as `#`, whose numbers do not count the rows."""
    found: set[int] = set()
    for index in numeric:
        values = [cell.value for cell in columns[index] if cell is not None]
        steps = {after - before for before, after in pairwise(values)}
        if grid.headings[index].meanings <= {Column.POSITION} and min(steps, default=Decimal(1)) <= 0:
            found.add(index)
    return found


def _options(grid: Grid, numeric: Sequence[int], role: Column, others: Collection[int] = ()) -> _Options:
    """Columns that can have a role with the score of their headings; none at all last.

    others: columns that may have it in spite of their headings.
    """
    options: _Options = []
    for index in numeric:
        meanings = grid.headings[index].meanings
        if role in meanings:
            options.append((index, _NAMED + _ONLY * (len(meanings) == 1)))
        elif meanings.isdisjoint(_OF_NUMBERS) or index in others:
            options.append((index, _UNNAMED))
    options.sort(key=lambda option: -option[1])
    return [*options[:_MOST_OPTIONS], (None, 0.0)]


def _quantities(grid: Grid, numeric: Sequence[int], options: _Options) -> _Options:
    """Options for quantities, in which the delivered stand before the ordered where both are printed."""
    meanings = [grid.headings[index].meanings for index in numeric]
    if not any(meaning & {Column.DELIVERED, Column.OUTSTANDING} for meaning in meanings):
        return options
    rated: _Options = []
    for index, score in options:
        named = grid.headings[index].meanings if index is not None else frozenset[Column]()
        if Column.DELIVERED in named:
            rated.append((index, _NAMED + _ONLY + _DELIVERED))
        else:
            rated.append((index, _NOT_DELIVERED if Column.ORDERED in named else score))
    return rated


def _agreement(*columns: _Numbers) -> float:
    """The share of rows in which the numbers agree, less a part of the rows in which they do not.

    columns: quantities, prices, amounts, discounts, the quantities that the prices are for, and taxes.
    """
    amounts = columns[2]
    rows = [
        row
        for row in list(zip(*columns, strict=True))[:_MOST_COMPARED]
        if row[0] is not None and row[1] is not None and row[2] is not None
    ]
    if not rows:
        return 0.0
    right = sum(_agreeing(*row) is not None for row in rows)
    return (right - _DISAGREES * (len(rows) - right)) / min(len(amounts), _MOST_COMPARED)


def _agreeing(
    quantity: Figure | None,
    price: Figure | None,
    amount: Figure | None,
    discount: Figure | None,
    base: Figure | None,
    tax: Figure | None,
) -> tuple[Decimal, Decimal, Decimal] | None:
    """The readings for which quantity times price, less discount, is the amount; None if there are none.

    base: the quantity that the price is for, if it has a column. tax: the amount of tax in the amount.
    """
    if quantity is None or price is None or amount is None:
        return None
    reductions = [(Decimal(1), Decimal(0))]
    if discount is not None:  # by per cent, or by an amount
        reductions += [(1 - abs(discount.value) / 100, Decimal(0)), (Decimal(1), abs(discount.value))]
    if base is not None and base.value > 0:
        reductions += [(factor / base.value, less) for factor, less in reductions]
    if tax is not None:
        reductions.append((Decimal(1), -tax.value))
    for q, p, a in product(quantity.all_readings, price.readings, amount.readings):
        allowed = CENT / 2 * max(Decimal(1), abs(q)) + CENT
        for factor, less in reductions:
            if abs(abs(q * p * factor) - less - abs(a)) <= allowed:
                return q, p, a
    return None


def _tax_column(grid: Grid, columns: Sequence[_Numbers], numeric: Sequence[int]) -> int | None:
    """The only column of amounts of tax; None if there are several, as for the taxes of two authorities."""
    found = [
        index
        for index in numeric
        if Column.TAX_AMOUNT in grid.headings[index].meanings
        and any(cell is not None and cell.value % _HALF for cell in columns[index])
        and not any(cell is not None and cell.percent for cell in columns[index])
    ]
    return found[0] if len(found) == 1 else None


def _is_with_tax(values: Mapping[str, Decimal], tax: Figure) -> bool:
    """True if an amount agrees with quantity and price only when the tax is added to them."""
    if not values:
        return False
    net = abs(values["quantity"] * values["unit_price"])
    amount = abs(values["net_amount"])
    return abs(net + tax.value - amount) < abs(net - amount)


def _second_half(grid: Grid, columns: Sequence[_Numbers], rates: Sequence[int]) -> int | None:
    """The column of the second of two taxes with one rate, as those of centre and state in India."""
    if len(rates) != 2:  # noqa: PLR2004 - a tax and another
        return None
    first, second = ([cell.value if cell is not None else None for cell in columns[at]] for at in rates)
    is_another = len({grid.headings[at].text for at in rates}) > 1
    return rates[1] if is_another and first == second and None not in first else None


def _rate_columns(
    grid: Grid, columns: Sequence[_Numbers], taken: Sequence[int | None], printed: frozenset[Decimal]
) -> Iterator[int]:
    """The columns of rates of tax: by their headings, or of per cent without a known heading.

    printed: amounts elsewhere on the page; a column that adds up to one of them has amounts of tax.
    """
    for index, cells in enumerate(columns):
        meanings = grid.headings[index].meanings
        numbers = [cell for cell in cells if cell is not None]
        if index in taken or not numbers or index == grid.text:
            continue
        is_percent = all(cell.percent for cell in numbers)
        may_be_rates = all(0 <= cell.value <= _HIGHEST_RATE and not cell.money for cell in numbers)
        # Amounts of tax are neither whole nor halves, as rates are.
        is_tax_amount = Column.TAX_AMOUNT in meanings and any(cell.value % _HALF for cell in numbers)
        adds_up = len(numbers) > 1 and sum((cell.value for cell in numbers), Decimal(0)) in printed
        if not may_be_rates or ((is_tax_amount or adds_up) and not is_percent):
            continue
        if Column.TAX_RATE in meanings or (is_percent and not meanings):
            yield index
