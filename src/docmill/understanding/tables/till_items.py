"""The items of a receipt: priced lines above a sum that they make, with the lines that belong to each."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise

from docmill.understanding.fields.candidates import Candidate, Candidates
from docmill.understanding.fields.findings import Finding, cleaned
from docmill.understanding.page.layout import Span
from docmill.understanding.tables.grid import is_sum
from docmill.understanding.tables.headings import heading_row, is_heading
from docmill.understanding.tables.items import NO_ITEMS, Items
from docmill.understanding.tables.printed_lines import PrintedLine, printed_lines
from docmill.understanding.vocabulary import LANGUAGES, Concept

_SUMS = frozenset({Concept.TOTAL, Concept.SUBTOTAL, Concept.GRAND})
_NEVER = frozenset({Concept.CHANGE, Concept.ROUNDING, Concept.PAID, Concept.DUE, Concept.QUANTITY})
_MOST_SUMS = 4
"""Lines of sums one of which the items make; what follows are taxes and payments."""
_MOST_LINES = 400
_MOST_DROPPED = 3
"""Priced lines before the first item, such as a price in the shop's greeting."""
_FLAG = re.compile(r"^[\W_]*(?:[A-Za-z*]{1,3}\d?|\d%?)?[\W_]*$")
"""What may stand behind an amount: the mark of a rate of tax."""
_TIMES = re.compile(r"(?:^|[\s\d.)])[x\u00d7X*@](?:\s|\d|RM|$)")
_COUNT = re.compile(
    r"^\W*\d+(?:[.,]\d+)?\s*[^\W\d_]{0,8}\.?\s*[x\u00d7X*@]\s*(?:[^\W\d]{1,3}|[$\u20ac\u00a3])?\s*\d[\d.,]*\s*\S{0,4}$"
)
"""A line that says how many at which price, such as `6 bags x 14.75`."""
_WORD = re.compile(r"(?<![\w\-/.#])(?:\d{1,2})?[^\W\d_]{3,}(?![\w#/]|-\d)")
_UNITS = "|".join(re.escape(unit) for language in LANGUAGES for unit in language.units)
_MEASURE = re.compile(rf"^\s*({_UNITS})\b", re.IGNORECASE)
_PAIR = 2
"""Numbers of a line that says how many at which price."""
_LEAST_LETTERS = 3
"""Of a description."""
_MOST_TEXTS = 3
"""Lines of text of one item."""
_HIGHEST_QUANTITY = 10_000
_MADE = 0.93
"""How far items are believed whose amounts make the sum."""
_AGREED = 0.96
_CENT = Decimal("0.01")

Amount = Candidate[Decimal]


@dataclass(slots=True)
class _Till:
    """A printed line with its numbers. amount: what it is priced at; None if it is not.

    sum: it says so. labelled: it begins with a label, or is a heading.
    """

    line: PrintedLine
    numbers: list[Amount]
    amount: Amount | None
    sum: bool
    labelled: bool

    @property
    def texts(self) -> list[Span]:
        """What is no number in it."""
        found: list[Span] = []
        for segment in self.line.segments:
            taken = [(one.start, one.stop) for one in self.numbers if one.segment is segment]
            edges = [0, *(edge for pair in taken for edge in pair), len(segment.text)]
            found += [Span(segment, start, stop) for start, stop in zip(edges[::2], edges[1::2], strict=True)]
        return [span for span in map(_trimmed, found) if span.text]

    @property
    def letters(self) -> int:
        """How many letters tell of an item: in words without digits that are no abbreviation."""
        return _letters(" ".join(span.text for span in self.texts))


@dataclass(slots=True)
class _Priced:
    """An item: its priced line, and lines that belong to it."""

    till: _Till
    texts: list[_Till] = field(default_factory=list[_Till])


def till_items(candidates: Candidates, table: Items = NO_ITEMS) -> Items:
    """The items whose amounts make a sum that is printed below; none if they do not.

    table: the items by the headings of columns; they are taken where they are proved, and as many.
    """
    tills = _tills(candidates)
    made = _made(tills)
    if made is None:
        return table if table.proved else NO_ITEMS
    first, stop = made
    priced = [at for at in range(first, stop) if _is_priced(tills[at])]
    if table.proved and len(table.rows) >= len(priced) and _are_named(table):
        return table
    below = _is_below(tills, priced, stop)
    items = [_Priced(tills[at]) for at in priced]
    _assign(tills, priced, items, below=below, stop=stop)
    return Items(tuple(dict(_item(one, candidates)) for one in items), proved=True)


def _are_named(table: Items) -> bool:
    """Whether each row has a name and not only a code."""
    names = [str(row["description"].value) if "description" in row else "" for row in table.rows]
    return all(_letters(name) for name in names)


def _tills(candidates: Candidates) -> list[_Till]:
    by_segment: dict[int, list[Amount]] = {}
    for amount in candidates.amounts:
        by_segment.setdefault(amount.segment.index, []).append(amount)
    found: list[_Till] = []
    for sheet in candidates.layout.sheets:
        lines = printed_lines(sheet)[:_MOST_LINES]
        headed = 0
        for at, line in enumerate(lines):
            numbers = [one for segment in line.segments for one in by_segment.get(segment.index, ())]
            row = None if numbers else heading_row(lines, at)
            headed = max(headed, row.stop if row is not None else 0, at + 1 if is_heading(line) else 0)
            labels = [candidates.labels(segment) for segment in line.segments]
            said = is_sum(line) or any(not _SUMS.isdisjoint(one.meanings) for own in labels for one in own)
            labelled = at < headed or any(own and own[0].start == 0 for own in labels)
            said |= labelled and any(not _NEVER.isdisjoint(one.meanings) for own in labels for one in own)
            found.append(_Till(line, numbers, _amount(line, numbers), said, labelled))
    return found


def _amount(line: PrintedLine, numbers: Sequence[Amount]) -> Amount | None:
    """The last number of a line, if it is money and little stands behind it."""
    real = [one for one in numbers if not one.plain]
    if not real:
        return None
    last = real[-1]
    index = next(at for at, segment in enumerate(line.segments) if segment is last.segment)
    behind = [last.segment.text[last.stop :], *(segment.text for segment in line.segments[index + 1 :])]
    return last if all(_FLAG.match(text) for text in behind) else None


def _made(tills: Sequence[_Till]) -> tuple[int, int] | None:
    """Where the items begin and end: their amounts make that of a line below which is said to be a sum."""
    ends = [at for at, till in enumerate(tills) if till.sum and till.amount is not None]
    for stop in ends[:_MOST_SUMS]:
        priced = [at for at in range(stop) if _is_priced(tills[at])]
        sums = {one.amount.value for one in tills[stop:] if one.sum and one.amount is not None}
        for first in priced[: _MOST_DROPPED + 1]:
            total = sum((one.value for at in priced if at >= first and (one := tills[at].amount)), Decimal(0))
            if total in sums and total > 0:
                return first, stop
    return None


def _is_priced(till: _Till) -> bool:
    """Whether a line is an item; a discount of nothing is none."""
    if till.amount is None or till.sum or (len(till.numbers) == _PAIR and _counts(till)):
        return False
    return till.amount.value != 0 or not till.labelled


def _is_below(tills: Sequence[_Till], priced: Sequence[int], stop: int) -> bool:
    """Whether names stand below their prices: one does below the last price, none above the first."""
    nameless = [at for at in priced if tills[at].letters < _LEAST_LETTERS]
    if not nameless:
        return True
    last, first = priced[-1], priced[0]
    after = last + 1 < stop and not _ends(tills[last + 1]) and not _counts(tills[last + 1])
    above = first > 0 and not _ends(tills[first - 1])
    return after and not (above and len(nameless) == 1)


def _assign(
    tills: Sequence[_Till], priced: Sequence[int], items: Sequence[_Priced], *, below: bool, stop: int
) -> None:
    """Give each line between priced ones to the item above or below."""
    begin = priced[0]
    usual = max(1, min(_MOST_TEXTS, priced[1] - priced[0] - 1)) if len(priced) > 1 else 1
    while begin > 0 and priced[0] - begin < usual and not _ends(tills[begin - 1]):
        begin -= 1
    edges = [begin - 1, *priced, stop]
    for number, (before, after) in enumerate(pairwise(edges)):
        between = [tills[at] for at in range(before + 1, after)]
        for till in between:
            counted = _counts(till)
            follows = counted or below
            owner = number - 1 if follows else number
            if 0 <= owner < len(items) and len(items[owner].texts) < _MOST_TEXTS:
                own = items[owner]
                plain = not (till.sum or till.labelled)
                if counted or (plain and own.till.letters < _LEAST_LETTERS):
                    own.texts.append(till)


def _ends(till: _Till) -> bool:
    """Whether what stands around items ends here: headings, a date, a number with a label."""
    text = till.line.text
    return till.labelled or ":" in text or not till.letters or till.sum or till.amount is not None


def _counts(till: _Till) -> bool:
    """Whether a line says how many at which price, and no more."""
    text = till.line.text
    if len(till.numbers) == _PAIR and _COUNT.match(text):
        return True
    return len(till.numbers) > 1 and till.letters < _LEAST_LETTERS and _TIMES.search(text) is not None


def _item(one: _Priced, candidates: Candidates) -> Iterator[tuple[str, Finding]]:
    amount = one.till.amount
    if amount is None:
        return
    yield "net_amount", Finding(amount.value, (_span(amount),), _MADE)
    numbers = [number for till in (one.till, *one.texts) for number in till.numbers if number is not amount]
    pair = _pair(numbers, amount.value)
    if pair is not None:
        quantity, price = pair
        yield "quantity", Finding(quantity.value, (_span(quantity),), _AGREED)
        yield "unit_price", Finding(price.value, (_span(price),), _AGREED)
        measure = _MEASURE.match(quantity.segment.text[quantity.stop :])
        if measure is not None:
            start = quantity.stop + measure.start(1)
            yield (
                "unit",
                Finding(measure[1], (Span(quantity.segment, start, start + len(measure[1])),), _AGREED),
            )
    spans = _description(one)
    if spans:
        text = cleaned(" ".join(span.text for span in spans), plain=candidates.plain)
        yield "description", Finding(text, tuple(spans), 0.85)


def _span(amount: Amount) -> Span:
    return Span(amount.segment, amount.start, amount.stop)


def _pair(numbers: Sequence[Amount], amount: Decimal) -> tuple[Amount, Amount] | None:
    """The quantity and the price whose product is the amount; a price has decimals."""
    best: tuple[float, Amount, Amount] | None = None
    for at, one in enumerate(numbers):
        for other_at, other in enumerate(numbers):
            if at == other_at or other.plain or not 0 < one.value < _HIGHEST_QUANTITY:
                continue
            if abs(one.value * other.value - amount) > _CENT / 2 * max(1, one.value):
                continue
            score = 1.0 * one.plain + 0.5 * (at < other_at) + 0.2 * (abs(at - other_at) == 1)
            if best is None or score > best[0]:
                best = (score, one, other)
    return (best[1], best[2]) if best is not None else None


def _description(one: _Priced) -> list[Span]:
    """The texts of the priced line; where it has none, those of the lines that belong to it."""
    own = [span for span in one.till.texts if _tells(span.text)]
    if sum(_letters(span.text) for span in own) >= _LEAST_LETTERS:
        return _whole(own)
    return [
        Span(segment, 0, len(segment.text))
        for till in one.texts
        if not _counts(till)
        for segment in till.line.segments
        if _letters(segment.text) >= _LEAST_LETTERS
    ]


def _whole(texts: Sequence[Span]) -> list[Span]:
    """From the first text of each segment to its last, with the numbers between."""
    found: list[Span] = []
    for span in texts:
        if found and found[-1].segment is span.segment:
            found[-1] = found[-1]._replace(stop=span.stop)
        else:
            found.append(span)
    return found


def _tells(text: str) -> bool:
    """Whether a text is more than a measure, a mark of tax or a sign."""
    return _letters(text) >= _LEAST_LETTERS and not re.fullmatch(
        r"\W*(?:pcs|rm|qty|unit|nos)\W*", text, re.IGNORECASE
    )


def _letters(text: str) -> int:
    return sum(map(len, _WORD.findall(text)))


def _trimmed(span: Span) -> Span:
    text = span.text
    start = span.start + len(text) - len(text.lstrip())
    return span._replace(start=start, stop=max(start, span.start + len(text.rstrip())))
