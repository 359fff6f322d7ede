"""Taxes of several rates: rows of rate, base and tax, whose sums are the totals of the document."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import permutations

from docmill.understanding.fields.analysis_cache import once
from docmill.understanding.fields.candidates import Candidate, Candidates
from docmill.understanding.vocabulary import Concept

_SAME_HEIGHT = 0.4
"""Numbers whose middles differ by less, in text heights, stand in one row."""
_HIGHEST_RATE = 30
_MOST_NUMBERS = 8
"""Numbers of a row of taxes; more are no such row."""
_MOST_WITHOUT_PERCENT = 7
"""Numbers of a row of taxes whose rate has no percent sign, as it stands below a heading."""
_ROUNDED = 0.0101
"""Difference between a tax and its rate of the base."""
_MOST_AMOUNTS = 12
"""Amounts that are tried as net total where the rows have no bases."""
_TAX_CLUE = 0.5
"""The clue from which on an amount counts as a tax."""

Number = Candidate[Decimal]


@dataclass(frozen=True, slots=True)
class TaxSums:
    """The sums over the rows of all rates. parts: the amounts of single rows, without the sums."""

    net: Decimal
    tax: Decimal
    parts: frozenset[Decimal]

    @property
    def gross(self) -> Decimal:
        """Net and tax."""
        return self.net + self.tax

    @property
    def by_field(self) -> dict[str, Decimal]:
        """The sums by the path of their field."""
        return {"net_total": self.net, "tax_total": self.tax, "gross_total": self.gross}


@dataclass(frozen=True, slots=True)
class _Row:
    rate: Decimal
    base: Decimal | None
    tax: Decimal


@once
def tax_sums(candidates: Candidates) -> TaxSums | None:
    """The sums over at least two rates if they equal a printed total; None otherwise."""
    if not _has_rates(candidates):
        return None
    rows = [row for numbers in _lines(candidates) if (row := _row(numbers)) is not None]
    printed = {amount.value for amount in candidates.amounts if not amount.plain}
    with_base = _last_table([row for row in rows if row.base is not None])
    if len(with_base) > 1:
        net = sum((row.base for row in with_base if row.base is not None), Decimal(0))
        tax = sum((row.tax for row in with_base), Decimal(0))
        if tax and net + tax in printed:
            return _sums(net, tax, with_base)
    taxes = _last_table(rows)
    if len(taxes) > 1:
        tax = sum((row.tax for row in taxes), Decimal(0))
        for net in _nets(candidates):
            if tax and net and net + tax in printed:
                return _sums(net, tax, taxes)
    return None


def _has_rates(candidates: Candidates) -> bool:
    """True if two rates or a column of them may be printed; most documents have neither."""
    return len({number.value for number in candidates.numbers if _may_be_rate(number)}) > 1


def _may_be_rate(number: Number) -> bool:
    return 0 <= number.value <= _HIGHEST_RATE and not number.marked


def _lines(candidates: Candidates) -> Iterator[list[Number]]:
    """The numbers of each line of the document that has a few of them."""
    line: list[Number] = []
    ordered = sorted(candidates.numbers, key=lambda n: (n.segment.page_index, n.segment.middle))
    for number in ordered:
        last = line[-1].segment if line else number.segment
        is_apart = abs(number.segment.middle - last.middle) > _SAME_HEIGHT * min(
            number.segment.height, last.height
        )
        if line and (is_apart or number.segment.page_index != last.page_index):
            if len(line) <= _MOST_NUMBERS:
                yield line
            line = []
        line.append(number)
    if len(line) <= _MOST_NUMBERS:
        yield line


def _row(numbers: Sequence[Number]) -> _Row | None:
    """The rate, base and tax of a line; without a base if it has one rate and one amount, a tax."""
    percent = [number for number in numbers if number.form == "number" and _may_be_rate(number)]
    amounts = [number for number in numbers if number.form == "money" and not number.plain]
    plain = numbers if len(numbers) <= _MOST_WITHOUT_PERCENT else ()
    for rate in percent or [number for number in plain if number.value and _may_be_rate(number)]:
        share = float(rate.value) / 100
        values = [(float(number.value), number.value) for number in amounts if number is not rate]
        for (base, exact_base), (tax, exact_tax) in permutations(values, 2):
            if base and abs(base) > abs(tax) and abs(base * share - tax) < _ROUNDED:
                return _Row(rate.value, exact_base, exact_tax)
    if len(percent) == len(amounts) == 1 and percent[0].value:
        (amount,) = amounts
        if amount.clues.get(Concept.TAX, 0) > _TAX_CLUE:
            return _Row(percent[0].value, None, amount.value)
    return None


def _last_table(rows: Sequence[_Row]) -> list[_Row]:
    """The last rows whose rates differ; rows that are printed again count once."""
    table: dict[Decimal, _Row] = {}
    for row in reversed(rows):
        if table.setdefault(row.rate, row) != row:
            break
    return list(table.values())


def _nets(candidates: Candidates) -> list[Decimal]:
    labelled = [
        amount.value
        for amount in candidates.amounts
        if not amount.plain
        and (amount.clues.get(Concept.NET, 0) > 0 or amount.clues.get(Concept.SUBTOTAL, 0) > 0)
    ]
    return list(dict.fromkeys(reversed(labelled)))[:_MOST_AMOUNTS]


def _sums(net: Decimal, tax: Decimal, rows: Sequence[_Row]) -> TaxSums:
    values = {row.tax for row in rows}
    for row in rows:
        if row.base is not None:
            values |= {row.base, row.base + row.tax}
    return TaxSums(net, tax, frozenset(values - {net, tax, net + tax}))
