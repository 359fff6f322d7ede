"""Measure what is called ready and believed: the figures of `docmill eval --trust` for one collection.

python -m bench trust photos out.jsonl          # records of `docmill run`
python -m bench trust receipts out.jsonl
python -m bench trust orders out.jsonl          # read with --schema bench/golden/own_schema.json
python -m bench trust photos --readings FILE    # what understanding makes of readings that are kept
python -m bench trust photos --readings FILE --originals FOLDER    # the same, with second looks at the files
python -m bench trust invoices                  # e-invoices by their text layer, without their XML
python -m bench trust invoice_pictures --readings FOLDER    # as pictures; FOLDER keeps what was recognised
python -m bench trust receipts out.jsonl --set-aside --keep # the release figures: see release_figures

Header values that the truth names are judged; a value where the truth has none is wrong, too. A quarter of
each collection, by vendor, station or file, is set aside (`--set-aside`): it is scored once, at the end.
Values are compared by the rules of their collection, which accept several texts; all else is counted by
`docmill.evaluation.trust_figures`. `--keep` writes the figures to bench/results/trust.json.
"""

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.accuracy.einvoice_files import recognise_pages
from bench.accuracy.orders_own_schema import STATION
from bench.accuracy.release_figures import KEPT, keep
from bench.arguments import argument_parser
from bench.data import invoices, orders, photos, receipts
from bench.data.shared import DATA, load_scorer
from bench.data.text_layer import text_layer
from bench.golden.readings import Readings, understood
from docmill.evaluation.judge import TIERS, JudgedValue
from docmill.evaluation.metrics import JudgedDocument, compute_scores
from docmill.evaluation.trust_figures import SURE, score_trust
from docmill.model.result import Schema
from docmill.schemas.outline import Kind
from docmill.schemas.user_schemas import schema_of

_DPI = 150
_OWN_SCHEMA = Path("bench/golden/own_schema.json")
VITAL = (
    *("issue_date", "due_date", "delivery_date", "flight_from", "flight_to"),
    *("net_total", "tax_total", "gross_total", "amount_due", "gross_amount", "tip"),
)
"""Dates and amounts: an error in one of them is counted apart."""
_VITAL_KIND: Kind = "decimal"
TITLES = {
    "ready": "ready",
    "ready_wrong_vital": "ready with a wrong date or amount",
    "ready_wrong_header": "ready with any wrong header value",
    "sure_wrong": f"wrong at a belief of {SURE} or more",
}


IsRight = Callable[[str, str, Sequence[str], Any], bool]


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
    is_right: IsRight
    groups: Mapping[str, str]
    is_complete: bool = True


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("collection", choices=sorted(COLLECTIONS))
    parser.add_argument("records", type=Path, nargs="?", help="of a finished run, one a line")
    parser.add_argument("--readings", type=Path, help="kept readings, understood without reading again")
    parser.add_argument("--originals", type=Path, help="folder of the files of --readings, for second looks")
    parser.add_argument("--set-aside", action="store_true", help="score the quarter that is set aside")
    parser.add_argument(
        "--names-in-part",
        action="store_true",
        help="a name is right that is a part of the true one or holds it",
    )
    parser.add_argument("--keep", type=Path, nargs="?", const=KEPT, help="write the figures to this file")
    arguments = parser.parse_args()
    is_made = arguments.collection in ("invoices", "invoice_pictures")
    if not is_made and (arguments.records is None) == (arguments.readings is None):
        parser.error("give the records of a run, or --readings")
    score = load_scorer()
    collection = COLLECTIONS[arguments.collection]()
    if arguments.names_in_part:
        collection = replace(collection, is_right=accept_parts(collection.is_right))

    def is_wanted(name: str) -> bool:
        group = collection.groups.get(name, name)
        return name in collection.truth and is_set_aside(group) == arguments.set_aside

    records = load_records(
        arguments.collection, arguments.records, arguments.readings, is_wanted, arguments.originals
    )
    wanted = [record for record in records if is_wanted(Path(record["source"]).name)]
    wanted.sort(key=lambda record: record["source"])  # draws of intervals depend on the order
    documents = [judged_document(record, collection, score) for record in wanted]
    figures = score_trust(documents, dict.fromkeys(VITAL, _VITAL_KIND))["all"]
    if arguments.keep is not None:
        keep(arguments.keep, arguments.collection, figures, is_set_aside=arguments.set_aside)
    print_figures(documents, figures)


def accept_parts(is_right: IsRight) -> IsRight:
    """Accept names that are whole words of the true one, or hold it.

    The name in an XML has a salutation or numbers in front, lacks the legal form, or has two lines.
    """

    def accepted(field: str, answer: str, texts: Sequence[str], score: Any) -> bool:
        words = set(answer.casefold().split())
        parts = (set(text.casefold().split()) for text in texts)
        is_alike = field.endswith(".name") and any(words <= part or part <= words for part in parts)
        return is_alike or is_right(field, answer, texts, score)

    return accepted


def load_records(
    kind: str,
    records: Path | None,
    readings: Path | None,
    is_wanted: Callable[[str], bool] | None = None,
    originals: Path | None = None,
) -> list[dict[str, Any]]:
    """Load the records of a run, or make them of the kept readings that are wanted, by file name.

    originals: see `understood`.
    """
    if kind == "invoices":
        return invoices.records()
    if kind == "invoice_pictures" and readings is not None:
        return invoices.records(lambda path: recognise_pages(path, _DPI, readings))
    if records is not None:
        return [json.loads(line) for line in records.read_text(encoding="utf-8").splitlines()]
    made: list[dict[str, Any]] = []
    if readings is not None:
        kept = [one for one in Readings(readings).of(kind) if one.transcription]
        found = [one for one in kept if is_wanted is None or is_wanted(Path(one.source).name)]
        schema = own_schema() if kind == "orders" else None
        asyncio.run(understood(found, 2, schema, made.append, originals=originals))
    for record in made:
        verdict: dict[str, Any] | None = record["verdict"]
        record["status"] = "completed" if verdict is None or verdict["passed"] else "needs_review"
    return made


def own_schema() -> Schema:
    return schema_of(json.loads(_OWN_SCHEMA.read_text(encoding="utf-8")))


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


def judged_document(record: Mapping[str, Any], collection: Collection, score: Any) -> JudgedDocument:
    """The document of a record as the evaluation has it."""
    name = Path(record["source"]).name
    accepted = collection.truth[name]
    cells = [
        JudgedValue(
            value.field,
            true=" ".join(accepted[value.field]) if value.is_labelled else None,
            read=value.answer,
            path=value.field,
            tiers=TIERS if value.is_right else (),
        )
        for value in judge(record, accepted, collection, score)
    ]
    group = collection.groups.get(name, name)
    return JudgedDocument(name, group, record["status"], cells, record.get("evidence") or {})


def print_figures(documents: Sequence[JudgedDocument], figures: Mapping[str, Any]) -> None:
    print(f"{figures['documents']} documents")
    for name, title in TITLES.items():
        figure = figures[name]
        print(f"{title:44} {figure['count']:4} of {figure['of']:4}  {percent(figure)}")
    print(f"silent errors per 100 ready: {figures['silent_errors_per_100_ready']['share'] or 0:.1f}")
    print(f"calibration error (ECE): {figures['ece'] or 0:.3f}")
    for field, figure in compute_scores(documents)["fields"].items():
        cells = [cell for document in documents for cell in document.cells if cell.field == field]
        given = sum(cell.read is not None for cell in cells)
        right, values = figure["right"], figure["values"]
        recall, precision = right / max(1, values), right / max(1, given)
        print(f"{field:20} recall {recall:.3f} of {values:4}, precision {precision:.3f}")


def percent(figure: Mapping[str, Any]) -> str:
    if figure["share"] is None:
        return "-"
    low, high = figure["interval"]
    return f"{figure['share']:6.1%}  95 % {low:.1%}-{high:.1%}"


def load_photos() -> Collection:
    return Collection(photos.FIELDS, photos.labels(), photos.is_right, {})


def load_receipts() -> Collection:
    keys = receipts.keys()
    vendor = receipts.vendor_groups(keys)
    first = receipts.first_of_vendors(vendor)
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
