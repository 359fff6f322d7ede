"""Items of a receipt: the priced lines above a sum that they add up to, with their lines of text."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from itertools import pairwise, permutations

from docmill.understanding.fields.candidates import Candidate, Candidates
from docmill.understanding.fields.findings import Finding, cleaned
from docmill.understanding.page.labels import METHODS, covered_share
from docmill.understanding.page.layout import Span
from docmill.understanding.tables.columns import is_sum, is_tax
from docmill.understanding.tables.headings import heading_row, is_heading
from docmill.understanding.tables.items import NO_ITEMS, Items
from docmill.understanding.tables.printed_lines import PrintedLine, printed_lines
from docmill.understanding.text.folding import alternatives
from docmill.understanding.text.money import CENT, SYMBOLS, without_currencies
from docmill.understanding.vocabulary import LANGUAGES, Column, Concept

_SUMS = frozenset({Concept.TOTAL, Concept.SUBTOTAL, Concept.GRAND})
_NEVER = frozenset({Concept.CHANGE, Concept.ROUNDING, Concept.PAID, Concept.DUE, Concept.QUANTITY})
_MOST_SUMS = 4
"""Lines of sums one of which the items make; what follows are taxes and payments."""
_MOST_LINES = 400
_MOST_DROPPED = 3
"""Priced lines before the first item, such as a price in the shop's greeting."""
_FLAG = re.compile(r"^[\W_]*(?:[A-Za-z*]{1,3}\d?|\d%?)?[\W_]*$")
"""Text behind an amount: the mark of its tax rate."""
_TIMES = re.compile(rf"(?:^|[\s\d.)])[x\u00d7X*@](?:\s|\d|{alternatives(SYMBOLS)}|$)")
_COUNT = re.compile(
    r"^\W*\d+(?:[.,]\d+)?\s*[^\W\d_]{0,8}\.?\s*[x\u00d7X*@]\s*(?:[^\W\d]{1,3}|[$\u20ac\u00a3])?\s*\d[\d.,]*\s*\S{0,4}$"
)
"""A line with a quantity and a price, such as `6 bags x 14.75`."""
_MEASURE_WORDS = [
    word
    for language in LANGUAGES
    for words in (language.units, *map(language.columns.get, (Column.QUANTITY, Column.UNIT)))
    for word in words or ()
]
_MEASURE_ALONE = re.compile(rf"\W*(?:{alternatives(_MEASURE_WORDS)})?\W*", re.IGNORECASE)
_WORD = re.compile(r"(?<![\w\-/.#])(?:\d{1,2})?[^\W\d_]{3,}(?![\w#/]|-\d)")
_UNITS = alternatives(unit for language in LANGUAGES for unit in language.units)
_MEASURE = re.compile(rf"^\s*({_UNITS})\b", re.IGNORECASE)
_PAIR = 2
"""Numbers of a line with a quantity and a price."""
_LEAST_LETTERS = 3
"""Least letters of a description."""
_MOST_TEXTS = 3
"""Lines of text of one item."""
_HIGHEST_QUANTITY = 10_000
_ONLY = 0.9
"""Share of a text's letters that the words for a means of payment take where it says nothing else."""
_MADE = 0.93
"""The confidence in items whose amounts make the sum."""
_AGREED = 0.96

Amount = Candidate[Decimal]


@dataclass
class _TillLine:
    """A printed line with its numbers. amount: the last one, if it is money at the end of the line.

    is_sum: it is labelled as one. is_labelled: it begins with a label, or is a heading. is_apart: it is a tax
    or a payment and nothing else.
    """

    line: PrintedLine
    numbers: list[Amount]
    amount: Amount | None
    is_sum: bool
    is_labelled: bool
    is_apart: bool = False

    @cached_property
    def texts(self) -> list[Span]:
        """The texts between its numbers."""
        texts: list[Span] = []
        for segment in self.line.segments:
            taken = [(number.start, number.stop) for number in self.numbers if number.segment is segment]
            edges = [0, *(edge for pair in taken for edge in pair), len(segment.text)]
            for start, stop in zip(edges[::2], edges[1::2], strict=True):
                text = segment.text[start:stop]
                begin = start + len(text) - len(text.lstrip())
                if text.strip():
                    texts.append(Span(segment, begin, begin + len(text.strip())))
        return texts

    @cached_property
    def letters(self) -> int:
        """The number of letters in words without digits that are no abbreviation."""
        return _letters(" ".join(span.text for span in self.texts))

    @property
    def is_count(self) -> bool:
        """True if the line has a quantity and a price, and no more."""
        text = self.line.text
        if len(self.numbers) == _PAIR and _COUNT.match(text):
            return True
        return len(self.numbers) > 1 and self.letters < _LEAST_LETTERS and _TIMES.search(text) is not None

    @property
    def is_priced(self) -> bool:
        """True if the line is an item; a discount of nothing is none."""
        if (
            self.amount is None
            or self.is_sum
            or self.is_apart
            or (len(self.numbers) == _PAIR and self.is_count)
        ):
            return False
        return self.amount.value != 0 or not self.is_labelled

    @property
    def is_border(self) -> bool:
        """True if the lines of items end here: at headings, a date, a number with a label."""
        is_other = self.is_labelled or self.is_sum or self.amount is not None
        return is_other or ":" in self.line.text or not self.letters


@dataclass(slots=True)
class _Priced:
    """An item: its priced line, and lines that belong to it."""

    line: _TillLine
    texts: list[_TillLine] = field(default_factory=list[_TillLine])


def till_items(candidates: Candidates, table: Items = NO_ITEMS) -> Items:
    """The items whose amounts add up to a sum that is printed below them; none otherwise.

    table: the items found by headings of columns; taken if they are proved and as many.
    """
    lines = _till_lines(candidates)
    bounds = _bounds(lines)
    if bounds is None:
        return table if table.proved else NO_ITEMS
    first, stop = bounds
    priced = [at for at in range(first, stop) if lines[at].is_priced]
    if table.proved and len(table.rows) >= len(priced):
        names = [str(row["description"].value) if "description" in row else "" for row in table.rows]
        if all(map(_letters, names)):
            return table
    items = _with_texts(lines, priced, stop)
    return Items(tuple(dict(_item(item, candidates)) for item in items), proved=True)


def _till_lines(candidates: Candidates) -> list[_TillLine]:
    by_segment: dict[int, list[Amount]] = {}
    for amount in candidates.amounts:
        by_segment.setdefault(amount.segment.index, []).append(amount)
    till_lines: list[_TillLine] = []
    for sheet in candidates.layout.sheets:
        lines = printed_lines(sheet)[:_MOST_LINES]
        headed = 0
        for at, line in enumerate(lines):
            numbers = [number for segment in line.segments for number in by_segment.get(segment.index, ())]
            price = next((number for number in reversed(numbers) if not number.plain), None)
            if price is not None:
                behind = line.segments[line.segments.index(price.segment) + 1 :]
                texts = [price.segment.text[price.stop :], *(segment.text for segment in behind)]
                price = price if all(map(_FLAG.match, texts)) else None
            row = None if numbers else heading_row(lines, at)
            headed = max(headed, row.stop if row is not None else 0, at + 1 if is_heading(line) else 0)
            labels = [candidates.labels(segment) for segment in line.segments]
            meanings = {
                meaning for of_segment in labels for label in of_segment for meaning in label.meanings
            }
            is_labelled = at < headed or any(of_segment and of_segment[0].start == 0 for of_segment in labels)
            is_total = is_sum(line) or not _SUMS.isdisjoint(meanings)
            is_total |= is_labelled and not _NEVER.isdisjoint(meanings)
            is_apart = is_tax(line) or any(_is_payment(segment.text) for segment in line.segments)
            till_lines.append(
                _TillLine(line, numbers, price, is_total, is_labelled or is_apart, is_apart=is_apart)
            )
    return till_lines


def _is_payment(text: str) -> bool:
    """True if a text is a means of payment and nothing else: `American Express`."""
    methods = METHODS.find(text)
    return bool(methods) and covered_share(text, methods) >= _ONLY


def _bounds(lines: Sequence[_TillLine]) -> tuple[int, int] | None:
    """The first and last line (exclusive) of the items: their amounts make that of a sum below."""
    ends = [at for at, line in enumerate(lines) if line.is_sum and line.amount is not None]
    for stop in ends[:_MOST_SUMS]:
        priced = [
            (at, line.amount.value) for at, line in enumerate(lines[:stop]) if line.is_priced and line.amount
        ]
        sums = {line.amount.value for line in lines[stop:] if line.is_sum and line.amount is not None}
        for dropped, (first, _) in enumerate(priced[: _MOST_DROPPED + 1]):
            total = sum((value for _, value in priced[dropped:]), Decimal(0))
            if total in sums and total > 0:
                return first, stop
    return None


def _with_texts(lines: Sequence[_TillLine], priced: Sequence[int], stop: int) -> list[_Priced]:
    """The items with their lines of text, which are above or below the price; a nameless item shows which."""
    items = [_Priced(lines[at]) for at in priced]
    begin, last = priced[0], priced[-1]
    nameless = [at for at in priced if lines[at].letters < _LEAST_LETTERS]
    is_text_after = last + 1 < stop and not (lines[last + 1].is_border or lines[last + 1].is_count)
    is_text_above = begin > 0 and not lines[begin - 1].is_border
    is_below = not nameless or (is_text_after and not (is_text_above and len(nameless) == 1))
    usual = max(1, min(_MOST_TEXTS, priced[1] - priced[0] - 1)) if len(priced) > 1 else 1
    while begin > 0 and priced[0] - begin < usual and not lines[begin - 1].is_border:
        begin -= 1
    for number, (before, after) in enumerate(pairwise((begin - 1, *priced, stop))):
        for line in lines[before + 1 : after]:
            owner = number - 1 if line.is_count or is_below else number
            if not 0 <= owner < len(items) or len(items[owner].texts) >= _MOST_TEXTS:
                continue
            is_text = not (line.is_sum or line.is_labelled)
            if line.is_count or (is_text and items[owner].line.letters < _LEAST_LETTERS):
                items[owner].texts.append(line)
    return items


def _item(item: _Priced, candidates: Candidates) -> Iterator[tuple[str, Finding]]:
    amount = item.line.amount
    if amount is None:
        return
    yield "net_amount", Finding(amount.value, amount.spans, _MADE)
    numbers = [number for line in (item.line, *item.texts) for number in line.numbers if number is not amount]
    pair = _quantity_and_price(numbers, amount.value)
    if pair is not None:
        quantity, price = pair
        yield "quantity", Finding(quantity.value, quantity.spans, _AGREED)
        yield "unit_price", Finding(price.value, price.spans, _AGREED)
        measure = _MEASURE.match(quantity.segment.text[quantity.stop :])
        if measure is not None:
            start, stop = (quantity.stop + at for at in measure.span(1))
            yield "unit", Finding(measure[1], (Span(quantity.segment, start, stop),), _AGREED)
    spans = _description(item)
    if spans:
        text = cleaned(" ".join(span.text for span in spans), plain=candidates.plain)
        yield "description", Finding(text, tuple(spans), 0.85)


def _quantity_and_price(numbers: Sequence[Amount], amount: Decimal) -> tuple[Amount, Amount] | None:
    """The quantity and the price whose product is the amount; a price has decimals."""
    pairs: list[tuple[float, Amount, Amount]] = []
    for (at, quantity), (price_at, price) in permutations(enumerate(numbers), 2):
        if price.plain or not 0 < quantity.value < _HIGHEST_QUANTITY:
            continue
        if abs(quantity.value * price.value - amount) <= CENT / 2 * max(1, quantity.value):
            score = 1.0 * quantity.plain + 0.5 * (at < price_at) + 0.2 * (abs(at - price_at) == 1)
            pairs.append((score, quantity, price))
    return max(pairs, key=lambda pair: pair[0])[1:] if pairs else None


def _description(item: _Priced) -> list[Span]:
    """The texts of the priced line with the numbers between; without any, those of the lines around it."""
    texts = [
        span
        for span in item.line.texts
        if _letters(span.text) >= _LEAST_LETTERS
        and not _MEASURE_ALONE.fullmatch(without_currencies(span.text))
    ]
    if texts:
        whole: list[Span] = []
        for span in texts:
            if whole and whole[-1].segment is span.segment:
                whole[-1] = whole[-1]._replace(stop=span.stop)
            else:
                whole.append(span)
        return whole
    return [
        Span(segment, 0, len(segment.text))
        for line in item.texts
        if not line.is_count
        for segment in line.line.segments
        if _letters(segment.text) >= _LEAST_LETTERS
    ]


def _letters(text: str) -> int:
    return sum(map(len, _WORD.findall(text)))
