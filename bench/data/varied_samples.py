"""The samples of `docmill demo` in other words: their papers with other values, languages and layouts.

Each is drawn as a PDF and read by its text layer. Some payslips have a column of the year so far, whose words
are of the language of the paper or of English. A half of all is given as recognition would give it: some
words with a wrong character, most of them less sure than the others.
"""

import datetime as dt
import random
import re
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from importlib import resources
from pathlib import Path
from typing import Any, cast

import numpy as np

from bench.data.text_layer import text_layer
from docmill.demo import wording
from docmill.demo.catalogue import make_plan
from docmill.demo.plan import Plan
from docmill.demo.wording import Wording
from docmill.demo.writing import draw
from docmill.model.document import Document, Page, Words
from docmill.reading.text.quality import page_quality
from docmill.schemas.document_types import DEFINITIONS

_FILES = ("invoices", "bills", "trade", "statements", "credit_notes", "payslips", "quotes")
_WORDINGS = sorted(name for name, value in vars(wording).items() if isinstance(value, Wording))
_LAYOUTS: Mapping[str, Sequence[str]] = {
    "bank_statement": ("running", "in-and-out", "releve"),
    "payslip": ("pay-grid", "pay-columns", "pay-lines"),
    "delivery_note": ("delivery-slip", "dot-matrix", "envelope", "band", "airy"),
    "purchase_order": ("order-grid", "envelope", "band", "airy", "dot-matrix", "ledger"),
}
_OF_BILLS = (
    *("envelope", "band", "airy", "sidebar", "facture"),
    *("utility", "ledger", "poster", "typewriter", "order-grid"),
)
_HOUSES = (
    *("ZWIRN", "WOLKE", "SCHRAUBE", "PHANTA", "PINSEL", "KREATIV"),
    *("QUIBBLE", "MARMALADE", "FJORDLY", "TUMBLE", "CROUTE"),
)
_ALIKE = {"0": "8", "1": "7", "3": "8", "5": "6", "6": "5", "8": "3", "e": "c", "n": "r", "l": "1", "S": "5"}
_SHARE_RECOGNISED = 1 / 2
_SHARE_WITH_YEAR = 0.4
_CURRENCIES = {"€": "EUR", "£": "GBP", "$": "USD", "zl": "PLN", "kr": "SEK", "kr.": "DKK"}
_AMOUNT = re.compile(r"(?=.*\d)[\d.,']*[.,]\d\d")
_WIDTH, _LEFT, _RIGHT = 0.76, 0.82, 0.95
"""Share of the page's width that a payslip takes beside the year so far, and the edges of that column."""
_HIGHEST_FACTOR = 9


def varied_samples(count: int, seed: int) -> Iterator[tuple[Document, Plan]]:
    """Yield at most `count` made-up papers as they are read, with what is printed on them.

    The same seed gives the same.
    """
    chance = random.Random(seed)
    tables = list(_tables())
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            name, table = tables[number % len(tables)]
            plan = make_plan(name, _varied(table, chance))
            path = Path(folder, "paper.pdf")
            try:
                path.write_bytes(draw(plan.layout, plan.paper))
            except (LookupError, TypeError):  # a layout that needs a value that this paper does not have
                plan = replace(plan, layout=table["layout"])
                path.write_bytes(draw(plan.layout, plan.paper))
            document = text_layer(path)
            if not document.pages:  # words of two languages on one page are to be recognised as well
                continue
            if plan.document_type == "payslip" and chance.random() < _SHARE_WITH_YEAR:
                document = _with_year(document, plan, chance)
            if chance.random() < _SHARE_RECOGNISED:
                pages = [_recognised(page, chance) for page in document.pages]
                document = replace(document, media_type="image/png", pages=pages)
            yield document, plan


def _tables() -> Iterator[tuple[str, Mapping[str, Any]]]:
    folder = resources.files("docmill.demo") / "documents"
    for file in _FILES:
        for name, table in tomllib.loads((folder / f"{file}.toml").read_text("utf-8")).items():
            if table["document_type"] != "receipt":
                yield name, table


def _varied(table: Mapping[str, Any], chance: random.Random) -> dict[str, Any]:
    """Change the values, words and layout of a sample."""
    days = dt.timedelta(days=chance.randrange(-900, 200))
    factor = Decimal(chance.randrange(12, 100 * _HIGHEST_FACTOR)) / 100
    varied: dict[str, Any] = {
        **table,
        "wording": chance.choice(_WORDINGS),
        "layout": chance.choice(_LAYOUTS.get(table["document_type"], _OF_BILLS)),
        "fields": {
            name: _other_value(name, value, days, chance) for name, value in table.get("fields", {}).items()
        },
    }
    for side in ("sender", "recipient"):
        if side in table and table["document_type"] != "bank_statement":
            varied[side] = chance.choice(_HOUSES)
    if "lines" in table:
        rows = [_other_line(row, factor, chance) for row in table["lines"].strip().splitlines()]
        varied["lines"] = "\n".join(rows)
    if "bookings" in table:
        varied["bookings"] = "\n".join(
            _other_booking(row, days, factor) for row in table["bookings"].strip().splitlines()
        )
    if "earnings" in table:
        for name in ("earnings", "deductions"):
            varied[name] = [str(_cents(Decimal(text) * factor)) for text in table[name]]
        varied["month"] = (table["month"] + days).replace(day=1)
        varied["paid_on"] = min(table["paid_on"], 28)
    symbol = getattr(wording, varied["wording"]).symbol
    if "currency" in varied["fields"]:
        varied["fields"]["currency"] = _CURRENCIES.get(symbol, symbol)
    return varied


def _other_value(name: str, value: Any, days: dt.timedelta, chance: random.Random) -> Any:
    """Change a value: a day by some time, a number in its digits."""
    if isinstance(value, dt.date):
        return value + days
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value)
        return {key: _other_value(key, each, days, chance) for key, each in members.items()}
    if isinstance(value, str) and name.endswith("number"):
        return "".join(str(chance.randrange(10)) if sign.isdecimal() else sign for sign in value)
    if isinstance(value, str) and name == "opening_balance":
        return str(_cents(Decimal(value) * chance.randrange(1, _HIGHEST_FACTOR)))
    return value


def _other_line(row: str, factor: Decimal, chance: random.Random) -> str:
    cells = [cell.strip() for cell in row.split("|")]
    if len(cells) > 1 and cells[1].isdecimal() and cells[1] != "1":
        cells[1] = str(chance.randrange(2, 2 * int(cells[1]) + 2))
    if len(cells) > 3 and cells[3]:
        cells[3] = str(max(_cents(Decimal(cells[3]) * factor), Decimal("0.01")))
    return " | ".join(cells)


def _other_booking(row: str, days: dt.timedelta, factor: Decimal) -> str:
    day, amount, *rest = row.split("|")
    other = dt.date.fromisoformat(day.strip()) + days
    return " | ".join(
        [other.isoformat(), str(_cents(Decimal(amount.strip()) * factor)), *map(str.strip, rest)]
    )


def _cents(value: Decimal) -> Decimal:
    return value.quantize(Decimal("0.01"))


def _with_year(document: Document, plan: Plan, chance: random.Random) -> Document:
    """Add a column with larger amounts, which add up as well, to the right of a payslip."""
    phrases = DEFINITIONS["payslip"].words.other_amounts
    heading = chance.choice(phrases.get(plan.paper.wording.language) or phrases["en"]).capitalize()
    factor = chance.randrange(2, 12)
    page = document.pages[0]
    words = page.words
    texts: list[str] = []
    boxes: list[list[float]] = []
    lines: list[int] = []
    is_headed = False
    for index, text in enumerate(words.texts):
        x0, y0, x1, y1 = words.boxes[index].tolist()
        line = int(words.lines[index]) + is_headed
        is_last = index + 1 == len(words) or words.lines[index + 1] != words.lines[index]
        is_amount = is_last and _AMOUNT.fullmatch(text) is not None
        if is_amount and not is_headed:
            at = next(place for place, other in enumerate([*lines, line]) if other == line)
            height = y1 - y0
            texts.insert(at, heading)
            boxes.insert(at, [_LEFT, y0 - 1.6 * height, _RIGHT, y0 - 0.6 * height])
            lines = [*lines[:at], line, *(other + 1 for other in lines[at:])]
            is_headed, line = True, line + 1
        texts.append(text)
        boxes.append([x0 * _WIDTH, y0, x1 * _WIDTH, y1])
        lines.append(line)
        if is_amount:
            cents = int(re.sub(r"\D", "", text)) * factor
            texts.append(plan.paper.wording.number(Decimal(cents) / 100))
            boxes.append([_LEFT, y0, _RIGHT, y1])
            lines.append(line)
    column = np.array(lines, np.int32)
    changed = Words(texts, np.array(boxes, np.float32), np.ones(len(texts), np.float32), column, column)
    return replace(document, pages=[replace(page, words=changed, tables=())])


def _recognised(page: Page, chance: random.Random) -> Page:
    """Give the page as recognition would: with some wrong characters, which it is mostly unsure of."""
    rate = chance.choice((0.0, 0.001, 0.01))
    texts: list[str] = []
    sure = np.empty(len(page.words), np.float32)
    for index, text in enumerate(page.words.texts):
        signs = [_ALIKE.get(sign, sign) if chance.random() < rate else sign for sign in text]
        texts.append("".join(signs))
        is_unsure = chance.random() < (0.8 if texts[-1] != text else 0.05)
        sure[index] = chance.uniform(0.6, 0.95) if is_unsure else chance.uniform(0.97, 1)
    words = replace(page.words, texts=texts, confidences=sure)
    return replace(page, words=words, source="ocr", quality=page_quality(words), tables=())
