"""Measure what a finished `docmill run` calls ready and believes: the trust figures of one collection.

python -m bench trust photos out.jsonl
python -m bench trust receipts out.jsonl
python -m bench trust orders out.jsonl    # read with --schema bench/golden/own_schema.json
python -m bench trust photos --readings FILE    # what understanding makes of readings that are kept
python -m bench trust invoices                  # e-invoices by their text layer, without their XML
python -m bench trust invoice_pictures --readings FOLDER    # as pictures; FOLDER keeps what was recognised

Header values that the truth names are judged; a value where the truth has none is wrong, too. A quarter of
each collection, by vendor, station or file, is set aside (`--set-aside`): it is scored once, at the end.
"""

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.accuracy.einvoice_files import recognise_pages
from bench.accuracy.orders_own_schema import STATION
from bench.arguments import argument_parser
from bench.data import invoices, orders, photos, receipts
from bench.data.shared import DATA, load_scorer
from bench.data.text_layer import text_layer
from bench.golden.readings import Readings, understood
from docmill.evaluation.metrics import calibration_error

_DPI = 150
SURE = 0.9
VITAL = (
    *("issue_date", "due_date", "delivery_date", "flight_from", "flight_to"),
    *("net_total", "tax_total", "gross_total", "amount_due", "gross_amount", "tip"),
)
"""Dates and amounts: an error in one of them is counted apart."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A header value. answer: the value that was read, None if none was."""

    field: str
    is_labelled: bool
    answer: str | None
    is_right: bool
    confidence: float


@dataclass(frozen=True, slots=True)
class Collection:
    """A set of documents.

    truth: accepted texts, by file name and field. groups: vendor, station or seller, by file name; a file
    without one is a group of its own. is_right: of field, answer, accepted texts and the shared scorer.
    is_complete: whether a value that the truth does not have is wrong; the XML of an e-invoice need not say
    all that its page says.
    """

    fields: Sequence[str]
    truth: Mapping[str, Mapping[str, Sequence[str]]]
    is_right: Callable[[str, str, Sequence[str], Any], bool]
    groups: Mapping[str, str]
    is_complete: bool = True


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("collection", choices=sorted(COLLECTIONS))
    parser.add_argument("records", type=Path, nargs="?", help="of a finished run, one a line")
    parser.add_argument("--readings", type=Path, help="kept readings, understood without reading again")
    parser.add_argument("--set-aside", action="store_true", help="score the quarter that is set aside")
    arguments = parser.parse_args()
    is_made = arguments.collection in ("invoices", "invoice_pictures")
    if not is_made and (arguments.records is None) == (arguments.readings is None):
        parser.error("give the records of a run, or --readings")
    score = load_scorer()
    collection = COLLECTIONS[arguments.collection]()
    documents: list[tuple[str, list[Judged]]] = []
    for record in load_records(arguments.collection, arguments.records, arguments.readings):
        name = Path(record["source"]).name
        accepted = collection.truth.get(name)
        if accepted is None or is_set_aside(collection.groups.get(name, name)) != arguments.set_aside:
            continue
        documents.append((record["status"], list(judge(record, accepted, collection, score))))
    print_figures(documents, score)


def load_records(kind: str, records: Path | None, readings: Path | None) -> list[dict[str, Any]]:
    """Load the records of a run, or make them of kept readings."""
    if kind == "invoices":
        return invoices.records()
    if kind == "invoice_pictures" and readings is not None:
        return invoices.records(lambda path: recognise_pages(path, _DPI, readings))
    if records is not None:
        return [json.loads(line) for line in records.read_text(encoding="utf-8").splitlines()]
    made: list[dict[str, Any]] = []
    if readings is not None:
        asyncio.run(understood(Readings(readings).of(kind), 2, None, made.append))
    for record in made:
        verdict: dict[str, Any] | None = record["verdict"]
        record["status"] = "completed" if verdict is None or verdict["passed"] else "needs_review"
    return made


def is_set_aside(name: str) -> bool:
    """Return whether the group of this name belongs to the quarter that is set aside."""
    return int(hashlib.sha256(f"trust{name}".encode()).hexdigest(), 16) % 4 == 0


def judge(
    record: Mapping[str, Any], accepted: Mapping[str, Sequence[str]], collection: Collection, score: Any
) -> Iterator[Judged]:
    """Judge the fields that the paper has by the truth, and those that were read where it has none."""
    evidence: Mapping[str, Any] = record.get("evidence") or {}
    for field in collection.fields:
        answer = answer_of(record, field)
        texts = accepted.get(field, ())
        if texts or (answer is not None and collection.is_complete):
            is_right = answer is not None and bool(texts) and collection.is_right(field, answer, texts, score)
            proof: Mapping[str, Any] = evidence.get(field, {})
            yield Judged(field, bool(texts), answer, is_right, float(proof.get("confidence", 0)))


def answer_of(record: Mapping[str, Any], field: str) -> str | None:
    """Return the value of the field in a record, as text."""
    value: Any = record.get("data") or {}
    for name in field.split("."):
        members: Mapping[str, Any] = value or {}
        value = members.get(name)
    return None if value is None else str(value)


def print_figures(documents: Sequence[tuple[str, Sequence[Judged]]], score: Any) -> None:
    ready = [values for status, values in documents if status == "completed"]
    print(f"{len(documents)} documents")

    def show(name: str, part: int, whole: int) -> None:
        low, high = score.wilson(part, whole)
        print(f"{name:44} {part:4} of {whole:4}  {part / max(1, whole):6.1%}  95 % {low:.1%}-{high:.1%}")

    def is_wrong(value: Judged) -> bool:
        return value.answer is not None and not value.is_right

    show("ready", len(ready), len(documents))
    vital = sum(any(is_wrong(value) and value.field in VITAL for value in values) for values in ready)
    show("ready with a wrong date or amount", vital, len(ready))
    show("ready with any wrong header value", sum(any(map(is_wrong, values)) for values in ready), len(ready))
    values = [value for _, judged in documents for value in judged]
    given = [value for value in values if value.answer is not None]
    errors = sum(is_wrong(value) for judged in ready for value in judged)
    print(f"silent errors per 100 ready: {100 * errors / max(1, len(ready)):.1f}")
    for field in dict.fromkeys(value.field for value in values):
        of_field = [value for value in values if value.field == field]
        answers = [value for value in of_field if value.answer is not None]
        right = sum(value.is_right for value in of_field)
        show(f"{field}: recall", right, sum(value.is_labelled for value in of_field))
        show(f"{field}: precision of values given", right, len(answers))
    sure = [value for value in given if value.confidence >= SURE]
    show(f"wrong at a belief of {SURE} or more", sum(map(is_wrong, sure)), len(sure))
    print(f"calibration error (ECE): {belief_error(given):.3f}")
    for field in dict.fromkeys(value.field for value in given):
        print(f"  {field:20} {belief_error([value for value in given if value.field == field]):.3f}")


def belief_error(values: Sequence[Judged]) -> float:
    """The expected calibration error of the confidences; 0 without values."""
    if not values:
        return 0.0
    return calibration_error(
        np.array([value.confidence for value in values]), np.array([value.is_right for value in values])
    )


def load_photos() -> Collection:
    return Collection(photos.FIELDS, photos.labels(), photos.is_right, {})


def load_receipts() -> Collection:
    keys = receipts.keys()
    vendor = receipts.vendor_groups(keys)
    first: dict[str, str] = {}
    for name in sorted(keys):
        first.setdefault(vendor[name], name)
    label_of = {path: label for label, path in receipts.PATHS.items()}
    files = {path.stem: path.name for path in (receipts.SROIE / "img").iterdir()}
    truth = {
        file: {path: [text] for label, path in receipts.PATHS.items() if (text := keys[name].get(label))}
        for name, file in files.items()
    }

    def is_right(field: str, answer: str, accepted: Sequence[str], score: Any) -> bool:
        return any(score.hit(label_of[field], answer, text, "S2") for text in accepted)

    groups = {file: first[vendor[name]] for name, file in files.items()}
    return Collection(list(receipts.PATHS.values()), truth, is_right, groups)


def load_orders() -> Collection:
    truth = {
        f"{row['id']}.pdf": {field: [text] for field, text in row["gold"].items() if text}
        for row in orders.labels()
    }

    def is_right(field: str, answer: str, accepted: Sequence[str], score: Any) -> bool:
        return any(orders.is_right(field, answer, text, score) for text in accepted)

    return Collection(orders.FIELDS, truth, is_right, {name: station(name) for name in truth})


def station(name: str) -> str:
    """Return the station that the first page's text layer names first, or else the file's name."""
    words = (word for page in text_layer(DATA / "adbuy/pdf" / name).pages[:1] for word in page.words.texts)
    return next((match[1] for word in words if (match := STATION.match(word))), name)


def load_invoices() -> Collection:
    truth = invoices.labels()

    def is_right(field: str, answer: str, accepted: Sequence[str], score: Any) -> bool:
        return any(invoices.is_right(field, answer, text, score) for text in accepted)

    groups = {name: values.get("seller.name", [name])[0] for name, values in truth.items()}
    return Collection(invoices.FIELDS, truth, is_right, groups, is_complete=False)


COLLECTIONS = {
    "photos": load_photos,
    "receipts": load_receipts,
    "orders": load_orders,
    "invoices": load_invoices,
    "invoice_pictures": load_invoices,
}


if __name__ == "__main__":
    main()
