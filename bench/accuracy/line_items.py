"""Measure line items read from papers, web pages and CSV files, by built-in types and by a user's own schema.

Usage: python -m bench line_items [--errors] [--form FORM] [--by SCHEMA]. The truth is the XML inside the PDFs
of the ZUGFeRD corpus and of Order-X. Form `paper` is the text layer of the PDF, where items that are not
printed do not count; `html` and `csv` are the same items written as a table, with sums as its last rows, in
English or German. An item's four values count one by one; items are paired in order, so that most agree.
"""

import csv
import html
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rapidfuzz import fuzz

from bench.arguments import argument_parser
from bench.data.shared import DATA
from docmill.errors import DocmillError
from docmill.model.document import Document, letters_and_digits
from docmill.model.paths import leaves
from docmill.reading.child import tasks
from docmill.reading.files.options import ReadingOptions
from docmill.schemas.registry import REGISTRY
from docmill.schemas.user_schemas import schema_of
from docmill.understanding.einvoice.reading import find_einvoice
from docmill.understanding.offline import read_pages

FORMS = ("paper", "html", "csv")
SCHEMAS = ("built-in", "own")
NAMES = ("description", "quantity", "unit_price", "net_amount")
OWN = schema_of(
    {
        "title": "delivery",
        "type": "object",
        "properties": {
            "items": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "description": {"type": "string"},
                        "quantity": {"type": "number"},
                        "unit_price": {"type": "number"},
                        "net_amount": {"type": "number", "description": "Total price of the item"},
                    },
                },
            }
        },
    },
    labels={
        "items[].description": ("Beschreibung", "Bezeichnung", "Artikel"),
        "items[].quantity": ("Menge", "Anzahl"),
        "items[].unit_price": ("Einzelpreis", "Preis"),
        "items[].net_amount": ("Betrag", "Gesamt", "Total", "Gesamtpreis"),
    },
)
HEADINGS = (
    ("Item", "Description", "Quantity", "Unit price", "Amount", "Net total", "VAT", "Total"),
    ("Pos", "Bezeichnung", "Menge", "Einzelpreis", "Gesamtpreis", "Netto", "MwSt", "Gesamtbetrag"),
)
ALIKE = 90
"""Percent of the letters of a description that agree."""

Item = Mapping[str, Any]


def truths() -> Iterator[tuple[Path, Document, str, list[Item]]]:
    """Each file with its pages, its type and the items of its XML."""
    for folder in ("einvoice/zugferd-corpus", "orders/order-x"):
        for path in sorted((DATA / folder).glob("**/*.pdf")):
            try:
                opened = tasks.open_original(path, ReadingOptions())
                document = Document(
                    "0" * 64,
                    opened.media_type,
                    [page for page in opened.pages if page is not None],
                    embedded=opened.embedded,
                )
                invoice = find_einvoice(document).invoice
            except DocmillError:
                continue
            if invoice is not None and document.pages:
                paper = Document("0" * 64, opened.media_type, document.pages)
                items = items_of(invoice.data, "lines")
                yield path, paper, invoice.document_type, [item for item in items if len(item) > 1]


def items_of(data: Any, name: str) -> list[Item]:
    """The four values of each item of a list that is called so."""
    items: dict[int, dict[str, Any]] = {}
    for path, value in leaves(data):
        owner, _, rest = path.partition("[")
        index, _, leaf = rest.partition("].")
        if owner == name and leaf in NAMES and value is not None:
            items.setdefault(int(index), {})[leaf] = value
    return [items[index] for index in sorted(items)]


def is_printed(document: Document, item: Item) -> bool:
    text = letters_and_digits(document.text)  # a name may go over lines beside other columns
    return all(letters_and_digits(word) in text for word in str(item.get("description", "")).split())


def table_rows(items: Sequence[Item], *, german: bool) -> list[list[str]]:
    """The items as rows below their headings, and a row for each sum."""
    *names, net, tax, gross = HEADINGS[german]
    rows = [names]
    for position, item in enumerate(items, 1):
        values = [written(item.get(name), german=german) for name in NAMES]
        rows.append([str(position), *values])
    total = sum((item.get("net_amount", Decimal(0)) for item in items), Decimal(0))
    amounts = (total, total * Decimal("0.19"), total * Decimal("1.19"))
    for label, amount in zip((net, tax, gross), amounts, strict=True):
        rows.append(["", label, "", "", written(round(amount, 2), german=german)])
    return rows


def written(value: Any, *, german: bool) -> str:
    if not isinstance(value, Decimal):
        return str(value or "")
    digits = f"{value:f}" if value == value.to_integral_value() else f"{value:,f}"
    return digits.translate(str.maketrans(",.", ".,")) if german else digits


def as_file(form: str, rows: Sequence[Sequence[str]], path: Path) -> None:
    if form == "csv":
        text = io.StringIO()
        csv.writer(text, delimiter=";").writerows(rows)
        path.write_text(text.getvalue(), encoding="utf-8")
        return
    cells = ("".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in rows)
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    path.write_text(
        f"<!doctype html><meta charset=utf-8><h1>4711</h1><table>{body}</table>", encoding="utf-8"
    )


def in_form(form: str, items: Sequence[Item], *, german: bool) -> Document:
    """The items as a web page or a CSV file, as docmill reads it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"items.{form}"
        as_file(form, table_rows(items, german=german), path)
        opened = tasks.open_original(path, ReadingOptions())
        pages = tasks.read_flow(path, opened.media_type, ReadingOptions()).pages
    return Document("0" * 64, opened.media_type, pages)


def is_right(name: str, wanted: Any, found: Any) -> bool:
    if wanted is None or found is None:
        return False
    if name == "description":
        texts = [letters_and_digits(str(value)) for value in (wanted, found)]
        return fuzz.ratio(*texts) >= ALIKE
    return bool(wanted == found)


def right_values(wanted: Sequence[Item], found: Sequence[Item]) -> int:
    """The values that agree when items are paired in their order in the best way."""
    best = [0] * (len(found) + 1)
    for item in wanted:
        row = [0]
        for index, other in enumerate(found):
            agreeing = sum(is_right(name, item.get(name), other.get(name)) for name in NAMES)
            row.append(max(row[-1], best[index + 1], best[index] + agreeing))
        best = row
    return best[-1]


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--errors", action="store_true")
    parser.add_argument("--form", choices=FORMS, action="append")
    parser.add_argument("--by", choices=SCHEMAS, action="append")
    arguments = parser.parse_args()
    truth = list(truths())
    for form in arguments.form or FORMS:
        for by in arguments.by or SCHEMAS:
            counts: Counter[str] = Counter()
            for number, (path, paper, document_type, items) in enumerate(truth):
                wanted = [item for item in items if form != "paper" or is_printed(paper, item)]
                if not wanted:
                    continue
                document = paper if form == "paper" else in_form(form, wanted, german=number % 2 == 1)
                schema = OWN if by == "own" else REGISTRY[document_type]
                data = read_pages(document, schema).data
                found = items_of(data, "items" if by == "own" else "lines")
                right = right_values(wanted, found)
                counts["right"] += right
                counts["wanted"] += sum(map(len, wanted))
                counts["found"] += sum(map(len, found))
                counts["whole"] += right == sum(map(len, wanted)) == sum(map(len, found))
                counts["documents"] += 1
                if arguments.errors:
                    print(path.stem[:60], right, sum(map(len, wanted)), sum(map(len, found)))
            print(
                f"{form}, {by}: recall {counts['right'] / counts['wanted']:.3f},"
                f" precision {counts['right'] / max(1, counts['found']):.3f} of {counts['wanted']} values;"
                f" {counts['whole']} of {counts['documents']} documents wholly right"
            )


if __name__ == "__main__":
    main()
