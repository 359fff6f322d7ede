"""Measure each check of the gate on documents with known values: how often it fails, how often rightly.

python -m bench gate_checks KEPT --make --readings FILE --photos FILE --samples FILE   # read and keep
python -m bench gate_checks KEPT                # judge what is kept; seconds
python -m bench gate_checks KEPT --show NAME    # the messages of one check

Sources whose name ends with `true` have the true values as extraction, so that every failure is a false
alarm. Of others the rules' own values are judged: a failure is right if one of the fields that it names, or
any labelled field of the document, is wrong. The quarter that is set aside is left out.
"""

import json
import pickle
import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.accuracy.orders_own_schema import own_schema
from bench.accuracy.trust import Collection, is_set_aside, load_orders, load_photos
from bench.arguments import argument_parser
from bench.data import receipts
from bench.data.shared import load_scorer
from docmill.model import codec
from docmill.model.document import Document, letters_and_digits
from docmill.model.paths import leaves
from docmill.model.result import Evidence, Extraction, Schema
from docmill.schemas.filling import filled
from docmill.schemas.registry import REGISTRY
from docmill.understanding.einvoice.reading import find_einvoice
from docmill.understanding.gate import RuleGate
from docmill.understanding.offline import understand
from docmill.understanding.receipts.extractor import extract_built_in
from docmill.understanding.user_schemas.extractor import extract_user_schema
from docmill.understanding.withholding import withhold

OWN = own_schema({})
TRUE = " true"
BUILT_IN_ORDERS = {"gross_amount": "gross_total", "flight_from": "period_start", "flight_to": "period_end"}
PRINTED = Evidence(page=None, box=None, text=None, match="computed", confidence=1)


@dataclass(frozen=True, slots=True)
class Case:
    """A document with its fields. labelled: paths with a truth; wrong: those that were read wrongly."""

    source: str
    name: str
    document: bytes
    schema: str
    extraction: Mapping[str, Any]
    labelled: frozenset[str]
    wrong: frozenset[str]

    def restored(self) -> tuple[Document, Extraction, Schema]:
        schema = OWN if self.schema == OWN.name else REGISTRY[self.schema]
        data = schema.fields.model_validate(self.extraction["data"])
        document = codec.loads(self.document)
        read = Extraction(document_type=self.schema, data=data, evidence=self.extraction["evidence"])
        return document, withhold(read, schema), schema


class Judgement(NamedTuple):
    """The failures of a case, as check, message and fields."""

    case: Case
    failures: Sequence[tuple[str, str, tuple[str, ...]]]


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("kept", type=Path)
    parser.add_argument("--make", action="store_true")
    parser.add_argument("--readings", type=Path, help="golden readings (see bench.golden)")
    parser.add_argument("--photos", type=Path, help="readings of the photographs")
    parser.add_argument("--samples", type=Path, help="truth.json of the generated samples")
    parser.add_argument("--show", help="list the failures of this check")
    arguments = parser.parse_args()
    if arguments.make:
        cases = list(make_cases(arguments.readings, arguments.photos, arguments.samples))
        arguments.kept.write_bytes(pickle.dumps(cases))
    cases: list[Case] = pickle.loads(arguments.kept.read_bytes())  # noqa: S301 - written above
    judgements = judge(cases)
    if arguments.show:
        show(judgements, arguments.show)
    else:
        report(judgements)


def judge(cases: Sequence[Case]) -> list[Judgement]:
    gate = RuleGate()
    judgements: list[Judgement] = []
    seconds: list[float] = []
    for case in cases:
        document, extraction, schema = case.restored()
        document.text  # noqa: B018 - it is there already when the gate is asked
        started = time.perf_counter()
        verdict = gate.judge(document, extraction, schema)
        seconds.append(time.perf_counter() - started)
        failures = [(failure.check, failure.message, failure.fields) for failure in verdict.failures]
        judgements.append(Judgement(case, failures))
    median, slow = np.quantile(seconds, [0.5, 0.95]) * 1000
    print(f"{len(cases)} documents, {median:.2f} ms each (95th percentile {slow:.2f})")
    return judgements


def report(judgements: Sequence[Judgement]) -> None:
    """Print a row for each source, and for each check and source."""
    sources: dict[str, list[Judgement]] = defaultdict(list)
    for judgement in judgements:
        sources[judgement.case.source].append(judgement)
    for source, found in sources.items():
        passed = [judgement.case for judgement in found if not judgement.failures]
        bad = sum(bool(case.wrong) for case in passed)
        print(
            f"{source:28} {len(found):4} documents, {len(passed):4} pass, {bad:3} of them with a wrong value"
        )
    print(f"{'check':20} {'source':28} flagged  a named field wrong  any wrong  caught by it alone")
    checks = sorted({failure[0] for judgement in judgements for failure in judgement.failures})
    for check in checks:
        for source, found in sources.items():
            flagged = [each for each in found if any(failure[0] == check for failure in each.failures)]
            if flagged:
                named = sum(is_named_wrong(each, check) for each in flagged)
                wrong = sum(bool(each.case.wrong) for each in flagged)
                alone = [each for each in flagged if {failure[0] for failure in each.failures} == {check}]
                caught = sum(bool(each.case.wrong) for each in alone)
                print(
                    f"{check:20} {source:28} {len(flagged):7}  {named:19}  {wrong:9}  "
                    f"{caught:3} of {len(alone)} flagged by it alone"
                )


def is_named_wrong(judgement: Judgement, check: str) -> bool:
    named = {path for failure in judgement.failures if failure[0] == check for path in failure[2]}
    return not named.isdisjoint(judgement.case.wrong)


def show(judgements: Sequence[Judgement], check: str) -> None:
    for case, failures in judgements:
        for name, message, fields in failures:
            if name == check:
                wrong = sorted(case.wrong.intersection(fields))
                mark = (
                    "RIGHTLY" if wrong else "any wrong" if case.wrong else "FALSE" if case.labelled else "?"
                )
                print(f"{mark:9} {case.source} {case.name}: {message} {','.join(fields)} wrong: {wrong}")


def make_cases(readings: Path, photos: Path, samples: Path) -> Iterator[Case]:
    score = load_scorer()
    yield from of_receipts(readings, score)
    yield from of_photos(photos, score)
    yield from of_orders(readings, score)
    yield from of_einvoices(readings)
    yield from of_samples(readings, samples)


def load(readings: Path, kind: str) -> Iterator[tuple[str, Document]]:
    rows = sqlite3.connect(f"file:{readings}?mode=ro&immutable=1", uri=True).execute(
        "select source, transcription from reading where kind = ? and length(transcription) > 0", (kind,)
    )
    for source, transcription in rows:
        yield source, codec.loads(transcription)


def case_of(
    source: str,
    name: str,
    document: Document,
    schema: Schema,
    extraction: Extraction,
    *,
    labelled: frozenset[str] = frozenset(),
    wrong: frozenset[str] = frozenset(),
) -> Case:
    kept = {"data": extraction.data.model_dump(), "evidence": dict(extraction.evidence)}
    return Case(source, name, codec.dumps(document), schema.name, kept, labelled, wrong)


def judged_by(
    collection: Collection, name: str, extraction: Extraction, names: Mapping[str, str], score: Any
) -> dict[str, frozenset[str]]:
    """Return the paths with a truth, and those whose value is wrong. names: the path of each label."""
    values = dict(leaves(extraction.data))
    truth = collection.truth[name]
    labelled: set[str] = set()
    wrong: set[str] = set()
    for field in collection.fields:
        value, texts = values.get(names.get(field, field)), truth.get(field, ())
        if texts:
            labelled.add(names.get(field, field))
        if value is not None and not (texts and collection.is_right(field, str(value), texts, score)):
            wrong.add(names.get(field, field))
    return {"labelled": frozenset(labelled), "wrong": frozenset(wrong)}


def of_collection(
    source: str,
    documents: Iterator[tuple[str, Document]],
    collection: Collection,
    read: Callable[[Document], tuple[Schema, Extraction]],
    score: Any,
    names: Mapping[str, str] | None = None,
) -> Iterator[Case]:
    for name, document in documents:
        if name in collection.truth and not is_set_aside(collection.groups.get(name, name)):
            schema, extraction = read(document)
            judged = judged_by(collection, name, extraction, names or {}, score)
            yield case_of(source, name, document, schema, extraction, **judged)


def read_built_in(document: Document) -> tuple[Schema, Extraction]:
    classification, extraction = understand(document)
    return REGISTRY[classification.document_type], extraction


def of_receipts(readings: Path, score: Any) -> Iterator[Case]:
    keys = receipts.keys()
    vendor = receipts.vendor_groups(keys)
    first = receipts.first_of_vendors(vendor)
    label_of = {path: label for label, path in receipts.PATHS.items()}
    truth = {
        f"{name}.jpg": {path: [text] for label, path in receipts.PATHS.items() if (text := key.get(label))}
        for name, key in keys.items()
    }

    def is_right(field: str, answer: str, accepted: Sequence[str], score: Any) -> bool:
        return any(score.hit(label_of[field], answer, text, "S2") for text in accepted)

    groups = {f"{name}.jpg": first[vendor[name]] for name in keys}
    collection = Collection(list(receipts.PATHS.values()), truth, is_right, groups)
    documents = (
        (f"{Path(source).stem}.jpg", document) for source, document in load(readings, "receipts-kept")
    )
    yield from of_collection("receipts", documents, collection, read_built_in, score)
    own = ((Path(source).name, document) for source, document in load(readings, "receipts"))
    yield from of_collection("receipts, own OCR", own, collection, read_built_in, score)


def of_photos(photos: Path, score: Any) -> Iterator[Case]:
    yield from of_collection("photos", load(photos, "photos"), load_photos(), read_built_in, score)


def of_orders(readings: Path, score: Any) -> Iterator[Case]:
    collection = load_orders()
    documents = [(Path(source).name, document) for source, document in load(readings, "orders")]
    names = BUILT_IN_ORDERS
    only = replace(collection, fields=tuple(names))
    yield from of_collection("orders, built-in", iter(documents), only, read_built_in, score, names)

    def read_own(document: Document) -> tuple[Schema, Extraction]:
        return OWN, extract_user_schema(document, OWN)

    yield from of_collection("orders, own schema", iter(documents), collection, read_own, score)


def of_einvoices(readings: Path) -> Iterator[Case]:
    pictures = {
        Path(source).stem.rpartition("--")[2]: document
        for source, document in load(readings, "einvoices-pictures")
    }
    for source, document in load(readings, "einvoices"):
        path = Path(source)
        invoice = find_einvoice(document).invoice if document.embedded else None
        if invoice is None or invoice.document_type not in REGISTRY or "fail" in path.parts:
            continue
        truth = dict(leaves(invoice.data))
        seller = str(truth.get("seller.name", path.name))
        if is_set_aside(seller) or not any(len(page.words) for page in document.pages):
            continue
        schema = REGISTRY[invoice.document_type]
        bare = replace(document, embedded=())
        proven = Extraction(
            document_type=schema.name, data=invoice.data, evidence=dict.fromkeys(truth, PRINTED)
        )
        if path.suffix == ".pdf":
            yield case_of("e-invoices" + TRUE, path.name, bare, schema, proven)
            read = extract_built_in(bare, schema)
            yield case_of("e-invoices, text", path.name, bare, schema, read, **compared(read, truth))
            picture = pictures.get(path.stem)
            if picture is not None:
                yield case_of("e-invoices, pictures" + TRUE, path.name, picture, schema, proven)
                read = extract_built_in(picture, schema)
                yield case_of(
                    "e-invoices, pictures", path.name, picture, schema, read, **compared(read, truth)
                )
        else:
            yield case_of("e-invoices, XML" + TRUE, path.name, bare, schema, proven)


def of_samples(readings: Path, samples: Path) -> Iterator[Case]:
    truths = {Path(row["path"]).name: row for row in json.loads(samples.read_text(encoding="utf-8"))}
    for source, document in load(readings, "samples"):
        row = truths.get(Path(source).name)
        if row is None or row["document_type"] not in REGISTRY or row["document_type"] == "other":
            continue
        schema = REGISTRY[row["document_type"]]
        data = filled(schema.fields, row["data"])
        truth = dict(leaves(data))
        proven = Extraction(document_type=schema.name, data=data, evidence=dict.fromkeys(truth, PRINTED))
        yield case_of("samples" + TRUE, Path(source).name, document, schema, proven)
        read = extract_built_in(document, schema)
        yield case_of("samples", Path(source).name, document, schema, read, **compared(read, truth))


def compared(extraction: Extraction, truth: Mapping[str, object]) -> dict[str, frozenset[str]]:
    """Compare values of the header with the truth; texts by letters and digits."""
    header = {path: value for path, value in truth.items() if "[" not in path and path != "payment.method"}
    values = dict(leaves(extraction.data))
    wrong = {path for path, value in header.items() if path in values and not is_equal(values[path], value)}
    return {"labelled": frozenset(header), "wrong": frozenset(wrong)}


def is_equal(value: object, wanted: object) -> bool:
    if isinstance(value, str) and isinstance(wanted, str):
        return letters_and_digits(value) == letters_and_digits(wanted)
    return value == wanted


if __name__ == "__main__":
    main()
