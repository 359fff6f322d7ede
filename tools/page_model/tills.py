"""Made-up receipts of which the role of every word is known, in many layouts, languages and countries.

A receipt is drawn row by row in characters of one width, as tills print. What stands where, how items are
written, which sums and taxes are printed and which labels they have is drawn by chance; sums are right. The
same seed gives the same receipts.
"""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from itertools import groupby
from operator import itemgetter

import numpy as np

from docmill.understanding.page_model.seen import LABEL
from tools.page_model.samples import ITEMS, PageFacts, Sample
from tools.page_model.till_texts import KnownTexts, OtherTexts, draw_texts

_FIELDS = (
    *("seller.name", "seller.address", "seller.vat_id", "seller.tax_number", "number", "issue_date", "time"),
    *("currency", "net_total", "tax_total", "gross_total", "tip", "payment.method"),
    *("buyer.name", "buyer.address", "due_date", "delivery_date", "order_number", "amount_due"),
)
"""The header fields of which the words are known, or that such a receipt does not have."""
KNOWN = tuple(sorted({*_FIELDS, *(LABEL + path for path in _FIELDS), *ITEMS}))
_NONE, _UNKNOWN = "none", ""
_VAT_ID = re.compile(r"[A-Z]{2,3} ?[A-Z]?\d{7,}")
_LAST_NUMBER = re.compile(r"(?P<label>\D*?)(?P<value>(?:(?<!\S)[A-Z]{2} |[A-Z]{0,4})\d.*)$")
_RATE = re.compile(r"@?\s?\d+(?:[.,]\d+)?\s?%")
_CENT = Decimal("0.01")
_HEIGHT = 1.9
"""Height of a row of print, in widths of a character."""

Part = tuple[str, str]
"""A text with its role: a path, `label:PATH`, `none`, or "" if it is to be ignored."""


@dataclass
class _Paper:
    """Words printed so far, from top to bottom. columns: characters of a row; y: in widths of a character."""

    draw: random.Random
    columns: int
    margin: float
    spacing: float
    texts: list[str] = field(default_factory=list[str])
    boxes: list[tuple[float, float, float, float]] = field(
        default_factory=list[tuple[float, float, float, float]]
    )
    lines: list[int] = field(default_factory=list[int])
    roles: list[str | None] = field(default_factory=list[str | None])
    goes_on: list[bool] = field(default_factory=list[bool])
    y: float = 2.0
    line: int = -1

    def chance(self, share: float) -> bool:
        return self.draw.random() < share

    def row(self, *cells: tuple[float, Sequence[Part]], size: float = 1.0, is_more: bool = False) -> None:
        """Print cells on a row, each from a column; a negative column is that of its right end.

        is_more: the first cell goes on with the value of the row above.
        """
        self.line += 1
        end = -1.0
        for at, parts in cells:
            length = sum(len(text) + 1 for text, _ in parts) - 1
            start = at if at >= 0 else self.columns + 1 + at - length * size
            start = max(start, end + 1, 0.0)
            for text, role in parts:
                is_first = not is_more
                for word in text.split():
                    self._word(word, role, start, size, goes_on=not is_first)
                    is_first = False
                    start += (len(word) + 1) * size
                is_more = False
            end = start
        self.y += _HEIGHT * size * self.spacing

    def _word(self, text: str, role: str, start: float, size: float, *, goes_on: bool) -> None:
        self.texts.append(text)
        height = 0.72 * _HEIGHT * size
        wide = sum(1.0 if ord(character) < 0x2E80 else 1.7 for character in text)  # noqa: PLR2004 - of CJK
        self.boxes.append((start, self.y, start + wide * size, self.y + height))
        self.lines.append(self.line)
        self.roles.append(role or None)
        self.goes_on.append(goes_on and role not in {_NONE, _UNKNOWN})

    def centred(self, *parts: Part, size: float = 1.0, is_more: bool = False) -> None:
        """Print a row in the middle of the paper."""
        length = sum(len(text) + 1 for text, _ in parts) - 1
        self.row((max(0.0, (self.columns - length * size) / 2), parts), size=size, is_more=is_more)


class _Till:
    """Prints one receipt."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.texts: KnownTexts | OtherTexts = draw_texts(draw)
        self.paper = _Paper(
            draw, draw.randint(26, 48), draw.uniform(0.02, 0.25), draw.choice((0.95, 1.0, 1.15, 1.4))
        )
        self.is_centred = self.paper.chance(0.7)
        self.is_upper = self.paper.chance(0.3)
        self.colon = draw.choice((":", ":", "", "", " :", "."))
        self.number_words = {label.split()[0].casefold() for label in self.texts.number_labels}
        self.values: dict[str, list[str]] = {}
        self.marks_amounts = self.paper.chance(0.4)
        self.step = Decimal(1) if self.texts.is_whole else _CENT

    def print(self) -> None:
        """Print the parts of the receipt in an order that is drawn."""
        brand, firm = self.texts.firm()
        is_name_above = self.paper.chance(0.92)
        if is_name_above:
            self._head(brand, firm)
        details_below = self.paper.chance(0.2)
        if not details_below:
            self._details()
        total = self._items() if self.paper.chance(0.92) else self._price(3)
        self._sums(total)
        if details_below:
            self._details()
        for _ in range(self.draw.choice((0, 1, 2, 3))):
            self._line(self._phrase(self.draw.choice(("thanks", "places", "thanks", "tax_ids"))))
        if not is_name_above:
            self._head(brand, firm)

    def _line(self, *parts: Part, size: float = 1.0, is_more: bool = False) -> None:
        parts = tuple((text.upper() if self.is_upper else text, role) for text, role in parts)
        if self.is_centred:
            self.paper.centred(*parts, size=size, is_more=is_more)
        else:
            self.paper.row((0, parts), size=size, is_more=is_more)

    def _pair(self, label: Sequence[Part], value: Sequence[Part], *, size: float = 1.0) -> None:
        """A label on the left and an amount on the right; the row below if there is no room."""
        length = sum(len(text) + 1 for text, _ in (*label, *value))
        upper = [(text.upper() if self.is_upper else text, role) for text, role in label]
        if length * size > self.paper.columns and size > 1:
            size = 1.0
        self.paper.row((0, upper), (-1, value), size=size)

    def _head(self, brand: str, firm: str) -> None:
        """Brand, company, address, telephone, tax number, and what else stands there."""
        texts, paper, draw = self.texts, self.paper, self.draw
        names = draw.choice(((brand,), (brand,), (firm,), (brand, firm)))
        for name in names:
            size = draw.choice((1.0, 1.0, 1.5, 2.0)) if name is names[0] else 1.0
            words = name.split()
            if len(words) > 1 and paper.chance(0.2):
                at = draw.randint(1, len(words) - 1)
                self._line((" ".join(words[:at]), "seller.name"), size=size)
                self._line((" ".join(words[at:]), "seller.name"), size=size, is_more=True)
            else:
                self._line((name, "seller.name"), size=size)
            if paper.chance(0.15):
                self._line((texts.phrase("slogans"), _NONE))
        self.values["seller.name"] = list(names)
        if paper.chance(0.8):
            address = texts.address()
            self.values["seller.address"] = [", ".join(address)]
            for index, line in enumerate(address):
                self._line((line, "seller.address"), is_more=index > 0)
        for kind in draw.sample(("telephone", "tax_ids", "tax_ids", "places", "thanks"), draw.randint(0, 3)):
            if kind == "tax_ids":
                self._line(*self._tax_number(texts.phrase("tax_ids")))
            else:
                self._line((texts.telephone(), _NONE) if kind == "telephone" else self._phrase(kind))

    def _tax_number(self, text: str) -> list[Part]:
        match = _LAST_NUMBER.fullmatch(text)
        if match is None:
            return [(text, _UNKNOWN)]
        path = "seller.vat_id" if _VAT_ID.match(match["value"]) else "seller.tax_number"
        self.values.setdefault(path, []).append(match["value"].strip())
        label = match["label"].strip()
        return [*([(label, LABEL + path)] if label else []), (match["value"].strip(), path)]

    def _labelled(self, path: str, label: str, value: str, *, share: float = 0.7) -> list[Part]:
        """A value, mostly with its label."""
        if not self.paper.chance(share):
            return [(value, path)]
        return [(f"{label.rstrip(': ')}{self.colon}", LABEL + path), (value, path)]

    def _details(self) -> None:
        """Number, date, time, table and till, on rows of their own or side by side."""
        texts, draw, paper = self.texts, self.draw, self.paper
        cells: list[list[Part]] = []
        if paper.chance(0.75):
            code = draw.choice(("####", "######", "##-#####", "########", "?##-####", "####/####", "###"))
            value = re.sub("[#?]", lambda match: str(draw.randrange(10)) if match[0] == "#" else "R", code)
            cells.append(self._labelled("number", texts.label("numbers"), value, share=0.93))
            self.values["number"] = [value]
        if paper.chance(0.93):
            printed, day = texts.date()
            moment = self._labelled("issue_date", texts.label("date"), printed, share=0.55)
            self.values["issue_date"] = [day.isoformat()]
            if paper.chance(0.8):
                clock = texts.time()
                self.values["time"] = [clock]
                if paper.chance(0.65):
                    moment = [*moment, *self._labelled("time", texts.label("time"), clock, share=0.2)]
                else:
                    cells.append(self._labelled("time", texts.label("time"), clock, share=0.6))
            cells.append(moment)
        cells.extend([self._phrase("places")] for _ in range(draw.choice((0, 1, 1, 2, 3))))
        draw.shuffle(cells)
        is_paired = paper.chance(0.4)
        while cells:
            first = cells.pop()
            if is_paired and cells and paper.chance(0.6):
                self._pair(first, cells.pop())
            else:
                paper.row((0, first)) if paper.chance(0.7) else paper.centred(*first)

    def _price(self, digits: int) -> Decimal:
        value = Decimal(self.draw.randint(60, 10**digits * 4)) / 100
        return (value * 100).quantize(Decimal(10)) if self.texts.is_whole else value

    def _amount(self, value: Decimal, role: str) -> list[Part]:
        """An amount, its currency beside it as a word of its own or glued to it."""
        text = self.texts.amount(value, marked=self.marks_amounts)
        currency = "currency" if role != _UNKNOWN else _UNKNOWN
        is_number = [any(map(str.isdecimal, word)) for word in text.split()]
        groups = groupby(zip(text.split(), is_number, strict=True), key=itemgetter(1))
        return [
            (" ".join(word for word, _ in group), role if is_digits else currency)
            for is_digits, group in groups
        ]

    def _phrase(self, kind: str) -> Part:
        """A phrase that is no value; ignored if it may be a number of the receipt or its seller."""
        text = self.texts.phrase(kind)
        is_doubtful = kind == "tax_ids" or any(label in text.casefold() for label in self.number_words)
        return text, _UNKNOWN if is_doubtful else _NONE

    def _tax_label(self, rate: Decimal) -> str:
        """A label of the tax, with its rate or without."""
        label = _RATE.sub("", self.texts.label("taxes")).strip() or "VAT"
        return f"{label} {rate.normalize():f}%" if self.paper.chance(0.4) else label

    def _items(self) -> Decimal:
        """Print the items in one of the usual ways. Returns their sum."""
        texts, draw, paper = self.texts, self.draw, self.paper
        style, total = draw.randrange(7), Decimal(0)
        letter = draw.choice(("", "", "A", "B", "1", "*"))
        for _ in range(draw.choice((1, 1, 2, 2, 3, 4, 5, 7, 10))):
            count, price = draw.choice((1, 1, 1, 2, 3, 4)), self._price(3)
            amount = count * price
            total += amount
            name, unit = texts.phrase("items"), draw.choice(("x", "X", "*", "@"))
            unit_price = [(texts.amount(price, marked=False), "items.unit_price")]
            quantity = (str(count), "items.quantity")
            end = self._amount(amount, "items.amount")
            end = [*end, (letter, _NONE)] if letter else end
            described = (name[: paper.columns - 12], "items.description")
            match style:
                case 0:
                    self._pair([described], end)
                case 1:
                    self._pair([quantity, described], end)
                case 2:
                    self._pair([quantity, (unit, _NONE), described], end)
                case 3:
                    self._pair([described], [])
                    self._pair([quantity, (unit, _NONE), *unit_price], end)
                case 4:
                    code = texts.fill("######" if paper.chance(0.5) else "#############")
                    self._pair([(code, _NONE), described] if paper.chance(0.5) else [described], end)
                case 5:
                    paper.row((0, [quantity]), (4, [described]), (-11, unit_price), (-1, end))
                case _:
                    self._pair([described], end)
                    if count > 1:
                        self._pair([quantity, (unit, _NONE), *unit_price], [])
            if paper.chance(0.08):
                paper.row((2, [(texts.phrase("items"), _NONE)]))
        return total

    def _sums(self, total: Decimal) -> None:
        """Subtotal, taxes, tip, total and payment; taxes are added to the total or included in it."""
        texts, draw, paper = self.texts, self.draw, self.paper
        rate = Decimal(str(draw.choice(list(texts.rates) or [0])))
        is_included = texts.has_tax_included or paper.chance(0.2)
        if paper.chance(0.1):
            saved = (total * draw.choice((5, 10, 20)) / 100).quantize(self.step)
            self._pair([self._phrase("saved")], [(f"-{texts.amount(saved, marked=False)}", _NONE)])
            total -= saved
        tax = (total * rate / (100 + rate if is_included else 100)).quantize(self.step, ROUND_HALF_UP)
        net = total - tax if is_included else total
        total = net + tax
        if paper.chance(0.4):
            paper.row((0, [(draw.choice("-=_*.") * draw.randint(8, paper.columns), _NONE)]))
        shows_tax = bool(tax) and paper.chance(0.75)
        if not is_included and shows_tax:
            self._sum("net_total", texts.label("sub"), net)
            self._sum("tax_total", self._tax_label(rate), tax)
        if paper.chance(0.1):
            tip = (total * draw.choice((10, 15, 20)) / 100).quantize(self.step)
            self._sum("tip", texts.label("tip"), tip)
            total += tip
        self._sum("gross_total", texts.label("total"), total, size=draw.choice((1.0, 1.0, 1.4, 1.8)))
        self._payment(total)
        if is_included and shows_tax:
            self._included_tax(rate, net, tax)

    def _sum(self, path: str, label: str, value: Decimal, *, size: float = 1.0) -> None:
        self.values[path] = [str(value)]
        parts = [(f"{label.rstrip(': ')}{self.colon}", LABEL + path)]
        if self.paper.chance(0.08):
            self.paper.row((0, parts), size=size)
            self.paper.row((-1, self._amount(value, path)), size=size)
        else:
            self._pair(parts, self._amount(value, path), size=size)

    def _payment(self, total: Decimal) -> None:
        """Rows of the payment: cash with the change, or the card."""
        texts, draw, paper = self.texts, self.draw, self.paper
        if paper.chance(0.25):
            return
        is_cash = paper.chance(0.4)
        means = (texts.label("cash" if is_cash else "card"), "payment.method")
        if is_cash and paper.chance(0.6):
            given = total + draw.randint(1, 40) * (100 if texts.is_whole else 1)
            self._pair([means], self._amount(given, _NONE))
            self._pair([(texts.label("change"), _NONE)], self._amount(given - total, _NONE))
        else:
            self._pair([means], self._amount(total, _UNKNOWN))
        if not is_cash and paper.chance(0.4):
            self._line((f"{'*' * 8}{draw.randint(1000, 9999)}", _NONE))
            self._line((texts.fill("ID ########  ######"), _NONE))

    def _included_tax(self, rate: Decimal, net: Decimal, tax: Decimal) -> None:
        """The tax that the total includes: on rows of its own, in a table, or on one row."""
        texts, draw, paper = self.texts, self.draw, self.paper
        label, style = self._tax_label(rate), draw.randrange(3)
        if style == 0:
            if paper.chance(0.6):
                self._sum("net_total", texts.label("sub"), net)
            self._sum("tax_total", label, tax)
            return
        self.values |= {"net_total": [str(net)], "tax_total": [str(tax)]}
        amounts = [[(texts.amount(value, marked=False), role)] for value, role in
                   ((net, "net_total"), (tax, "tax_total"), (net + tax, _UNKNOWN))]  # fmt: skip
        places = [paper.columns * share - paper.columns - 1 for share in (0.5, 0.75, 1.0)]
        if style == 1:
            heads = [
                [(texts.label("sub"), LABEL + "net_total")],
                [(label, LABEL + "tax_total")],
                [("=", _NONE)],
            ]
            paper.row(*zip(places, heads, strict=True))
        paper.row((0, [(f"{rate.normalize():f}%", _NONE)]), *zip(places, amounts, strict=True))


def till_receipts(count: int, *, seed: int) -> Iterator[Sample]:
    """Yield made-up receipts with the roles of all words."""
    for index in range(count):
        key = f"till {seed} {index}"
        till = _Till(random.Random(key))
        till.print()
        paper, texts = till.paper, till.texts
        width = (max(paper.columns, *(box[2] for box in paper.boxes)) + 1) * (1 + 2 * paper.margin)
        boxes = np.array(paper.boxes, np.float32)
        boxes[:, [0, 2]] += paper.margin * width / (1 + 2 * paper.margin)
        yield Sample(
            key=key,
            source="made-up",
            group=key,
            kind="receipt",
            facts=PageFacts("receipt", texts.country["code"].lower(), texts.code, texts.currency),
            texts=paper.texts,
            boxes=(boxes / width).clip(0, None),
            lines=np.array(paper.lines, np.int32),
            roles=paper.roles,
            goes_on=paper.goes_on,
            known=KNOWN,
            values=till.values,
        )
