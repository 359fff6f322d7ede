"""Measure how many line items stand in one row of one table, and how many tables have none.

Usage: python -m bench table_rows [--errors] [--samples FOLDER]. The truth is the XML inside the PDFs of the
ZUGFeRD corpus and of Order-X, and, with --samples, the samples of `docmill demo`, written to FOLDER. An item
is found when a row holds its name, its quantity and its amount, each in a cell of its own. A table without
an item or another number of the document's lines in it counts as invented.
"""

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import NamedTuple

import pikepdf

from bench.arguments import argument_parser
from bench.data.shared import DATA
from bench.data.text_layer import text_layer
from docmill.demo import generate
from docmill.errors import DocmillError
from docmill.model.document import Page, letters_and_digits


class Item(NamedTuple):
    name: str
    quantity: str
    amount: str


def embedded_items(path: Path) -> list[Item]:
    with pikepdf.open(path) as document:
        for name in document.attachments:
            if name.endswith(".xml"):
                return list(_items(document.attachments[name].get_file().read_bytes()))
    return []


def _items(content: bytes) -> Iterator[Item]:
    for element in ET.fromstring(content).iter():  # noqa: S314 - a corpus kept here
        if element.tag.endswith("}IncludedSupplyChainTradeLineItem"):
            texts: dict[str, str] = {}
            for child in element.iter():
                texts.setdefault(child.tag.rpartition("}")[2], (child.text or "").strip())
            quantity = texts.get("BilledQuantity") or texts.get("RequestedQuantity") or ""
            item = Item(texts.get("Name", ""), quantity, texts.get("LineTotalAmount", ""))
            if all(item):
                yield item


def holds(row: list[str], item: Item) -> bool:
    name = letters_and_digits(item.name)[:12]
    named = {index for index, cell in enumerate(row) if name in letters_and_digits(cell)}
    counted = {index for index, cell in enumerate(row) if _values(cell) & _values(item.quantity)}
    summed = {index for index, cell in enumerate(row) if _values(cell) & _values(item.amount)}
    return any(len({first, second, third}) == 3 for first in named for second in counted for third in summed)


def _values(text: str) -> set[Decimal]:
    """Return the possible values of a number: 1.200 may be twelve hundred."""
    digits = "".join(sign for sign in text if sign.isdigit() or sign in ".,")
    head, sign, tail = digits.rpartition("," if digits.rfind(",") > digits.rfind(".") else ".")
    whole = head.replace(".", "").replace(",", "")
    readings = {f"{whole}.{tail}" if sign else tail}
    if len(tail) == 3:
        readings.add(whole + tail)
    try:
        return {Decimal(reading).normalize() for reading in readings}
    except InvalidOperation:
        return set()


def printed(found: Sequence[Page], item: Item) -> bool:
    """Tell whether the item is printed on the paper at all."""
    text = letters_and_digits(" ".join(page.text for page in found))
    return letters_and_digits(item.name)[:12] in text


def truths(samples: Path | None) -> Iterator[tuple[Path, list[Item]]]:
    for folder in ("einvoice/zugferd-corpus", "orders/order-x"):
        for path in sorted((DATA / folder).glob("**/*.pdf")):
            try:
                yield path, embedded_items(path)
            except (pikepdf.PdfError, ET.ParseError):
                continue
    for sample in generate(samples) if samples else []:
        lines = getattr(sample.truth, "lines", ())
        items = [
            Item(line.description or "", str(line.quantity or ""), str(line.net_amount or ""))
            for line in lines
        ]
        if sample.form == "born-digital":
            yield sample.path, [item for item in items if all(item)]


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--errors", action="store_true")
    parser.add_argument("--samples", type=Path)
    arguments = parser.parse_args()
    total = right = tables = empty = 0
    for path, truth in truths(arguments.samples):
        try:
            found = text_layer(path).pages
        except DocmillError:
            continue
        grids = [table.texts(page.words) for page in found for table in page.tables]
        items = [item for item in truth if printed(found, item)]
        hits = [item for item in items if any(holds(row, item) for grid in grids for row in grid)]
        useless = [
            grid for grid in grids if items and not any(holds(row, item) for row in grid for item in items)
        ]
        total, right = total + len(items), right + len(hits)
        tables, empty = tables + (len(grids) if items else 0), empty + len(useless)
        if arguments.errors and (len(hits) < len(items) or useless):
            print(path.stem[:60], f"{len(hits)} of {len(items)}", "useless:", [grid[:2] for grid in useless])
    print(f"items in one row: {right} of {total} = {right / max(1, total):.3f}")
    print(f"tables with items: {tables - empty} of {tables} = {(tables - empty) / max(1, tables):.3f}")


if __name__ == "__main__":
    main()
