"""Fit `understanding/belief/beliefs.json`, and measure beliefs on sources that were left out.

python -m bench fitted_belief [--golden FOLDER] [--orders FOLDER] [--pictures FOLDER] [--write FILE]
    [--only READING ...]

Sources of business papers: e-invoices by their text layer and as pictures, broadcasters' orders, generated
samples. Of users' schemas: the orders by one of their own, and the others by made-up schemas, whose fields
have other names. Without a folder of golden readings or of pictures these sources are left out: so are fields
of users' schemas fitted that no built-in rule reads. What is set aside (`bench.accuracy.trust`) is no part of
it. Every source weighs alike. A name in the XML of several lines may be printed as one of them; days that no
calendar has are no truth.

Values of receipts are fitted by `receipt_beliefs`.

For each source and kind of value: the calibration error, the share of values at a belief of .9 or more, and
how many of these are wrong, before, and by the model that was fitted to the other sources alone.
"""

import json
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.accuracy import trust
from bench.accuracy.einvoice_files import recognise_pages
from bench.accuracy.orders_own_schema import own_schema
from bench.arguments import argument_parser
from bench.data import invoices, orders
from bench.data.made_up_forms import MadeUpForm, made_up_forms
from bench.data.made_up_trades import made_up_trades
from bench.data.shared import load_scorer
from bench.fit.whole_papers import Row, rows_of, whole_papers
from bench.golden.readings import Readings
from docmill.demo import generate
from docmill.evaluation.judge import day_of
from docmill.evaluation.metrics import calibration_error
from docmill.model import codec
from docmill.model.document import Document, letters_and_digits
from docmill.model.paths import value_at
from docmill.model.result import Schema
from docmill.schemas.outline import outline
from docmill.schemas.user_schemas import schema_of
from docmill.understanding.belief.facts import FACTS, facts_of
from docmill.understanding.belief.model import BeliefModel
from docmill.understanding.built_in_fields import find_built_in
from docmill.understanding.constraints.extractor import find_by_rules
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.fields.findings import evidence_of
from docmill.understanding.fields.match_features import CHECKED
from docmill.understanding.types.classifier import classify
from docmill.understanding.user_schemas.extractor import (
    find_unjudged_values,
    is_doubtful,
    meanings_of,
    with_agreement,
)
from docmill.understanding.user_schemas.sums import proven_paths, without_ambiguity

RIDGE = 1.0
MOST = 300
"""Rows of a source that count whole; more of them share this weight."""
FORMS, TRADES = 48, 60
"""The made-up forms of each kind, and the made-up papers of banks of each language."""
SIGNS: Mapping[str, int] = {
    **dict.fromkeys(("share", "named", "holds", "agreed", "repeated"), 1),
    **dict.fromkeys(("rival", "bracket", "misread", "quality", "contradicted", "disagreed"), -1),
    **dict.fromkeys(("no language", "no currency"), -1),
    **dict.fromkeys(
        ("number right", "number below", "label above", "far label", "other layout", "in a line"), -1
    ),
    **dict.fromkeys(("told", "product", "sums up"), 1),
    **dict.fromkeys(("no product", "gaps", "unlike", "nameless", "wordless", "uneven", "apart", "dated"), -1),
    "seen": 1,
    "seen elsewhere": -1,
    **dict.fromkeys(("legal form", "large", "web", "other near", "contact near"), 1),
    **dict.fromkeys(("mixed", "labelled", "priced", "sentence", "corrected"), -1),
}
"""The sign that the weight of a fact may have; the others may have either."""
FEWEST = 25
"""Rows of a kind that has a model."""
EXPECTED: Sequence[tuple[str, Mapping[str, float], float]] = (
    ("lines name", {"wordless": 1}, 0.3),
    ("lines name", {"dated": 1}, 0.5),
    ("lines name", {"apart": 1}, 0.6),
    ("lines quantity", {"no product": 1, "product": 0}, 0.5),
    ("lines amount", {"no product": 1, "product": 0}, 0.8),
    ("labelled amount", {"disagreed": 1}, 0.3),
    ("labelled amount", {"share": 0.45, "rival": -0.5}, 0.7),
    ("labelled amount", {"contradicted": 1, "holds": 0}, 0.5),
    ("labelled name", {"named": 0}, 0.5),
    ("labelled address", {"named": 0}, 0.5),
)
"""Models, facts, and the share of values that are right with these, as far as no counts say otherwise.

Errors of such kinds are too rare to be in every source, and what a source lacks it cannot teach. All other
facts are as on the average.
"""
EXPECTED_COUNT = 20
"""Rows that such an expectation weighs."""
MADE_UP_WEIGHT = 0.3
"""Weight of a made-up layout beside that of a source of real papers."""
LENT = ("amount", "date")
"""Kinds whose values by a built-in type's rules are believed by what a user's schema found.

Numbers keep the belief of their type: with one fitted here 13 of 95 orders left out were sure and wrong.
"""
OWN_NAMES: Mapping[str, Sequence[tuple[str, str]]] = {
    "number": (("invoice_no", "number of the document"), ("belegnummer", ""), ("document_number", "")),
    "issue_date": (
        ("invoice_date", ""),
        ("belegdatum", "Datum der Rechnung"),
        ("date_issued", "date of issue"),
    ),
    "due_date": (("due_date", ""), ("faellig_am", ""), ("payment_due", "date by which it must be paid")),
    "delivery_date": (("delivery_date", ""), ("lieferdatum", ""), ("date_of_delivery", "")),
    "seller.name": (("supplier", "name of the supplier"), ("lieferant", ""), ("vendor_name", "")),
    "seller.vat_id": (("supplier_vat_id", ""), ("ust_id_lieferant", ""), ("vendor_vat_id", "")),
    "buyer.name": (("customer", "name of the customer"), ("kunde", ""), ("client_name", "")),
    "order_number": (("order_no", ""), ("bestellnummer", ""), ("po_number", "purchase order number")),
    "customer_number": (("customer_no", ""), ("kundennummer", ""), ("customer_id", "")),
    "currency": (("currency", ""), ("waehrung", ""), ("currency_code", "")),
    "net_total": (("net_amount", ""), ("netto", "Nettobetrag"), ("subtotal", "total without tax")),
    "tax_total": (("vat_amount", ""), ("mwst_betrag", ""), ("tax", "amount of tax")),
    "gross_total": (("total_amount", "total including tax"), ("gesamtbetrag", ""), ("grand_total", "")),
    "payment.iban": (("iban", ""), ("iban_lieferant", ""), ("bank_account", "IBAN")),
}
MORE = (
    *(
        "seller.address",
        "buyer.address",
        "buyer.vat_id",
        "period_start",
        "period_end",
        "delivery_note_number",
    ),
    *("contract_number", "payment.bic"),
)
"""Fields of samples that made-up schemas do not have."""
DATES = ("issue_date", "due_date", "delivery_date", "period_start", "period_end")
AMOUNTS = ("net_total", "tax_total", "gross_total")

_BY_WORDS = ("share", "misread", "quality")

Floats = NDArray[np.float64]
Truth = Mapping[str, str | None]
"""The true texts by field; None where the paper has none."""


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--golden", type=Path, help="folder of golden readings")
    parser.add_argument("--orders", type=Path, default=orders.CACHE)
    parser.add_argument("--pictures", type=Path, help="folder of recognised e-invoices")
    parser.add_argument("--write", type=Path, help="where the weights go")
    parser.add_argument(
        "--only",
        nargs="+",
        default=[],
        help="the readings (business, own, lent, alone), or keys ('alone number'), to write anew",
    )
    arguments = parser.parse_args()
    rows = list(collect(arguments.golden, arguments.orders, arguments.pictures))
    report(rows)
    if arguments.write:
        write(arguments.write, rows, arguments.only)


def write(path: Path, rows: Sequence[Row], only: Sequence[str]) -> None:
    """Write the weights of all readings, or of some of them, and leave those of the others as they are."""
    weights = {
        key: fit(members)
        for key, members in by_key(rows).items()
        if len(members) >= FEWEST and (not only or key in only or key.partition(" ")[0] in only)
    }
    kept: dict[str, dict[str, float]] = json.loads(path.read_text())
    content = kept | BeliefModel(weights).content()
    path.write_text(json.dumps(dict(sorted(content.items())), indent=1) + "\n")


def collect(golden: Path | None, cache: Path, pictures: Path | None) -> Iterator[Row]:
    truths = invoices.labels()
    seen: set[object] = set()
    for path, document in invoices.documents():
        truth = {field: texts[0] for field, texts in truths[invoices.name_of(path)].items()}
        if not trust.is_set_aside(truth.get("seller.name", invoices.name_of(path))):
            without_xml = replace(document, embedded=())
            yield from business_rows("layer", without_xml, truth)
            yield from rows_by_words("own layer", without_xml, truth, seen)
            if pictures is not None:
                yield from business_rows("pictures", recognise_pages(path, 150, pictures), truth)
    gold = {
        row["id"]: {field: text for field, text in row["gold"].items() if text} for row in orders.labels()
    }
    for name, document in orders.documents(cache):
        if not trust.is_set_aside(trust.station(f"{name}.pdf")):
            yield from order_rows(document, gold[name])
    for document, truth in samples(golden) if golden is not None else ():
        yield from business_rows("samples", document, truth)
        yield from rows_by_words("own samples", document, truth, seen)
    for paper in whole_papers(pictures) if pictures is not None else ():
        yield from rows_of(paper)
    for form in (*made_up_forms(FORMS), *made_up_trades(TRADES)):
        yield from form_rows(form)


def samples(golden: Path) -> Iterator[tuple[Document, Truth]]:
    """Yield the generated samples that are no receipts, as they were read."""
    truths = {path.name: truth for path, truth in _sample_truths()}
    for reading in Readings(golden / "readings.sqlite").of("samples"):
        truth = truths.get(Path(reading.source).name)
        if truth is not None and reading.transcription:
            yield codec.loads(reading.transcription), truth


def _sample_truths() -> Iterator[tuple[Path, Truth]]:
    with tempfile.TemporaryDirectory() as folder:
        for sample in generate(Path(folder)):
            if sample.document_type != "receipt":
                data = sample.truth.model_dump(mode="json")
                fields = [field for field in (*OWN_NAMES, *MORE) if field.partition(".")[0] in data]
                values = {field: value_at(data, field) for field in fields}
                yield (
                    sample.path,
                    {field: None if value is None else str(value) for field, value in values.items()},
                )


def business_rows(source: str, document: Document, truth: Truth) -> Iterator[Row]:
    """Yield the values of the built-in type, and those of made-up schemas with other names."""
    if not document.pages:
        return
    candidates = candidates_of(document)
    kind = classify(document).document_type
    findings = find_by_rules(candidates, kind)
    facts = facts_of(findings, candidates)
    for path in facts.keys() & truth.keys():
        right = same(path, findings[path].value, truth[path])
        if right is not None:
            before = evidence_of(findings[path], candidates.layout).confidence
            yield Row(source, f"business {facts[path].kind}", facts[path].facts, before, right)
    for variant in range(3):
        schema, field_of = made_up_schema(variant)
        yield from own_rows(
            f"own {source}",
            document,
            schema,
            {own: truth[f] for own, f in field_of.items() if f in truth},
            field_of,
        )


def form_rows(form: MadeUpForm) -> Iterator[Row]:
    """Yield the values of a made-up form by its own schema, which no built-in type has."""
    candidates = candidates_of(form.document)
    meanings = meanings_of(outline(form.schema))
    findings = find_unjudged_values(candidates, meanings)
    source = f"made up {form.kind}"
    proven = proven_paths(candidates, meanings, findings)
    findings = without_ambiguity(findings, proven)
    known = {path: {"holds": 1.0} for path in proven}
    for path, value in facts_of(findings, candidates, known).items():
        if is_doubtful(findings[path], meanings[path]):
            continue  # suggested, whatever its belief would be
        before = evidence_of(findings[path], candidates.layout).confidence
        right = form.is_right(path, findings[path].value)
        yield Row(source, f"alone {value.kind}", value.facts, before, right)


def made_up_schema(variant: int) -> tuple[Schema, dict[str, str]]:
    names = {field: variants[variant] for field, variants in OWN_NAMES.items()}
    properties: dict[str, dict[str, str]] = {}
    for field, (name, description) in names.items():
        kind = {"type": "number"} if field in AMOUNTS else {"type": "string"}
        form = {"format": "date"} if field in DATES else {}
        properties[name] = {**kind, **form, "description": description}
    schema = schema_of({"title": "made-up", "type": "object", "properties": properties})
    return schema, {name: field for field, (name, _) in names.items()}


def order_rows(document: Document, truth: Truth) -> Iterator[Row]:
    schema = own_schema({})
    fields = {"flight_from": "issue_date", "flight_to": "issue_date", "gross_amount": "gross_total"}
    yield from own_rows("own orders", document, schema, truth, fields, complete=True)
    candidates = candidates_of(document)
    findings = find_by_rules(candidates, classify(document).document_type)
    facts = facts_of(findings, candidates)
    for path, label in (
        ("gross_total", "gross_amount"),
        ("period_start", "flight_from"),
        ("period_end", "flight_to"),
    ):
        right = same(fields[label], findings[path].value, truth.get(label)) if path in facts else None
        if right is not None:
            before = evidence_of(findings[path], candidates.layout).confidence
            yield Row("orders", f"business {facts[path].kind}", facts[path].facts, before, right)


def own_rows(
    source: str,
    document: Document,
    schema: Schema,
    truth: Mapping[str, str | None],
    field_of: Mapping[str, str],
    *,
    complete: bool = False,
) -> Iterator[Row]:
    candidates = candidates_of(document)
    meanings = meanings_of(outline(schema))
    kind = classify(document).document_type
    others = {} if kind == "other" else find_built_in(document, meanings, kind)
    # Fields of ours that no built-in rule is asked about stand for those that only a user's schema has.
    for readings in (others, {}) if not complete else (others,):
        findings = find_unjudged_values(candidates, meanings, others=readings)
        for path, value in facts_of(findings, candidates).items():
            is_alone = findings[path].agrees is None
            if (path not in truth and not complete) or (is_alone and readings and not complete):
                continue
            if is_alone and value.kind == "name" and _papers_named(source) == "pictures":
                continue  # invoices do not label the names of seller and buyer, as fields of one's own are
            if is_alone and (value.kind == "code" or is_doubtful(findings[path], meanings[path])):
                continue  # see `rows_by_words`; what is doubtful is only suggested
            right = same(field_of.get(path, path), findings[path].value, truth.get(path))
            if right is not None:
                before = evidence_of(findings[path], candidates.layout).confidence
                reading = "alone" if is_alone else "own"
                yield Row(source, f"{reading} {value.kind}", value.facts, before, right)
    lent = with_agreement(find_unjudged_values(candidates, meanings, others=others), others)
    for path, value in facts_of(lent, candidates).items():
        if value.kind not in LENT:
            continue
        right = same(field_of.get(path, path), lent[path].value, truth.get(path))
        if right is not None and (path in truth or complete):
            before = evidence_of(lent[path], candidates.layout).confidence
            yield Row(source, f"lent {value.kind}", value.facts, before, right)


def rows_by_words(source: str, document: Document, truth: Truth, seen: set[object]) -> Iterator[Row]:
    """Yield the values of fields that only the words of their names tell, as numbers of one's own are.

    Numbers alone are too few to be fitted, so all kinds stand for them, by their share and how they were
    recognised. What papers of one sender have in common counts once: seen holds it.
    """
    candidates = candidates_of(document)
    for variant in range(3):
        schema, field_of = made_up_schema(variant)
        meanings = {
            path: replace(meaning, labels={}, _is_hint={}, _strengths={})
            for path, meaning in meanings_of(outline(schema)).items()
        }
        findings = find_unjudged_values(candidates, meanings)
        for path, value in facts_of(findings, candidates).items():
            field = field_of[path]
            known = (path, str(findings[path].value), truth.get(field))
            if field not in truth or meanings[path].form in CHECKED or known in seen:
                continue
            seen.add(known)
            right = same(field, findings[path].value, truth[field])
            if right is not None:
                facts = np.where(np.isin(FACTS, _BY_WORDS), value.facts, 0.0)
                before = evidence_of(findings[path], candidates.layout).confidence
                yield Row(source, "alone code", facts, before, right)


def same(field: str, value: object, truth: str | None) -> bool | None:
    """Return whether the value is the true one; None where the truth is none."""
    if truth is None:
        return False
    if field in DATES:
        day = day_of(truth, month_first=isinstance(value, date) and "/" in truth)
        return None if day is None else day == value
    if field in AMOUNTS or field == "amount_due":
        digits = re.sub(r"[^\d.-]", "", truth)
        return bool(digits) and invoices.is_right("gross_total", str(value), digits, load_scorer())
    lines = [truth, *truth.splitlines()]
    return letters_and_digits(str(value)) in {letters_and_digits(line) for line in lines}


def by_key(rows: Sequence[Row]) -> dict[str, list[Row]]:
    grouped: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        grouped[row.key].append(row)
    return dict(grouped)


def fit(rows: Sequence[Row]) -> Floats:
    """Fit the logistic regression; a fact whose weight contradicts its meaning is left out.

    A stronger label never speaks against a value: where it seems to, the few papers of a source do.
    """
    used = np.ones(len(FACTS) + 1, np.bool_)
    signs = np.array([0, *(SIGNS.get(name, 0) for name in FACTS)])
    while True:
        weights = np.zeros(len(used))
        weights[used] = _newton(rows, used)
        wrong = weights * signs < 0
        if not wrong.any():
            return weights
        used &= ~wrong


def _newton(rows: Sequence[Row], used: NDArray[np.bool_]) -> Floats:
    """Fit the weights by Newton's method, with a ridge on all of them but the offset."""
    expected = [(facts, share) for key, facts, share in EXPECTED if key == rows[0].key]
    usual: list[float] = np.mean([row.facts for row in rows], axis=0).tolist()
    pseudo = [
        [1.0, *(facts.get(name, mean) for name, mean in zip(FACTS, usual, strict=True))]
        for facts, _ in expected
    ]
    x = np.array([*(np.r_[1.0, row.facts] for row in rows), *pseudo])[:, used]
    y = np.array([*(float(row.is_right) for row in rows), *(share for _, share in expected)])
    sizes = Counter(row.source for row in rows)
    weights = np.array([*(_weight(row, sizes) for row in rows), *(EXPECTED_COUNT for _ in expected)])
    ridge = np.full(x.shape[1], RIDGE)
    ridge[0] = 0.01
    found = np.zeros(x.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-np.clip(x @ found, -30, 30)))
        gradient = x.T @ (weights * (p - y)) + ridge * found
        curvature = (x * (weights * p * (1 - p))[:, None]).T @ x + np.diag(ridge)
        step = np.linalg.solve(curvature, gradient)
        found -= step
        if np.abs(step).max() < 1e-6:
            break
    return found


def _weight(row: Row, sizes: Mapping[str, int]) -> float:
    weight = row.weight * min(1.0, MOST / sizes[row.source])
    return weight * MADE_UP_WEIGHT if row.source.startswith("made up") else weight


def report(rows: Sequence[Row]) -> None:
    sources = sorted({row.source for row in rows})
    print(
        f"{'source':14} {'values':16} {'n':>5} {'right':>6} | ECE  sure  wrong | left out: ECE  sure  wrong"
    )
    for source in sources:
        left_out: list[tuple[Row, float]] = []
        for key, members in by_key([row for row in rows if row.source == source]).items():
            others = [row for row in rows if row.key == key and _papers_of(row) != _papers_of(members[0])]
            if len(others) >= FEWEST and any(not row.is_right for row in others):
                model = BeliefModel({key: fit(others)})
                left_out += [(row, model.belief(key, row.facts) or 0.0) for row in members]
        for key in sorted({row.key for row, _ in left_out}):
            show(source, key, [(row, belief) for row, belief in left_out if row.key == key])
        show(source, "all", left_out)


def _papers_of(row: Row) -> str:
    """The papers of a source: those by their text layer and their pictures are the same."""
    return row.papers or _papers_named(row.source)


def _papers_named(source: str) -> str:
    return source.removeprefix("own ").replace("layer", "pictures")


def show(source: str, key: str, rows: Sequence[tuple[Row, float]]) -> None:
    if not rows:
        return
    right = np.array([row.is_right for row, _ in rows], np.bool_)
    figures: list[str] = []
    for beliefs in (np.array([row.before for row, _ in rows]), np.array([belief for _, belief in rows])):
        sure = beliefs >= trust.SURE
        wrong = int((sure & ~right).sum())
        figures.append(
            f"{calibration_error(beliefs, right):.3f} {sure.mean():.2f} {wrong:3}/{int(sure.sum()):4}"
        )
    print(f"{source:14} {key:16} {len(rows):5} {right.mean():6.3f} | {' | '.join(figures)}")


if __name__ == "__main__":
    main()
