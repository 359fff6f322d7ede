"""Measure what 1, 3 and 5 reviewed documents of a layout teach about the others, as workers apply it.

python -m bench learning_from_reviews samples  # made-up papers, each in several versions, born digital
python -m bench learning_from_reviews orders [--cache FOLDER] [--seeds 5]  # ../shared/data/adbuy, own schema

samples: every made-up letter and receipt with other numbers, dates and amounts; a person gives all header
fields of the first ones. A value that follows from others and is in no truth is not counted. orders: names
and one-line descriptions only; the layouts are those of `orders_own_schema`.
"""

import random
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pydantic import BaseModel

from bench.accuracy.orders_own_schema import FIELDS, SMALL, group_by_layout, make_case, own_schema
from bench.arguments import argument_parser
from bench.data.orders import CACHE, documents, is_right, labels
from bench.data.shared import load_scorer
from bench.data.text_layer import text_layer
from docmill.demo.catalogue import plans
from docmill.demo.plan import Letter, Plan
from docmill.demo.writing import draw
from docmill.model.corrections import Corrections, ReviewedValues
from docmill.model.document import Document, letters_and_digits
from docmill.model.paths import leaves
from docmill.model.result import Extraction, Schema
from docmill.schemas.filling import filled
from docmill.schemas.registry import REGISTRY
from docmill.understanding.corrections.apply import apply_corrections, make_correction
from docmill.understanding.corrections.fit import CorrectedDocument, fit_layout
from docmill.understanding.locate.evidence import located
from docmill.understanding.receipts.extractor import extract_built_in
from docmill.understanding.user_schemas.extractor import extract_user_schema

NOT_READ = ("lines", "transactions", "payment.terms", "payment.method")
OWN_NUMBERS = ("number", "order_number", "delivery_note_number")
VERSIONS = 6
TAUGHT = (0, 1, 3)
CORRECTED = (1, 3, 5)


def versions(plan: Plan, folder: Path) -> Iterator[tuple[Document, BaseModel]]:
    """Yield versions of a paper with other numbers, dates and amounts, each with its true fields."""
    paper = plan.paper
    assert isinstance(paper, Letter)
    draw_lots = random.Random(plan.name)
    for version in range(VERSIONS):
        days, factor = timedelta(days=draw_lots.randrange(1, 300)), Decimal(version + 1)
        fields = _changed(paper.fields, days, factor, draw_lots)
        taxes = tuple(replace(tax, base=tax.base * factor, amount=tax.amount * factor) for tax in paper.taxes)
        path = folder / f"{version}-{plan.name}.pdf"
        path.write_bytes(draw(plan.layout, replace(paper, fields=fields, taxes=taxes)))
        yield text_layer(path), fields


def _changed(fields: Any, days: timedelta, factor: Decimal, draw_lots: random.Random) -> Any:
    changed: dict[str, Any] = {}
    for name, value in dict(fields).items():
        if isinstance(value, date):
            changed[name] = value + days
        elif isinstance(value, Decimal):
            changed[name] = value * factor
        elif name in OWN_NUMBERS and value:
            changed[name] = re.sub(r"\d", lambda _: str(draw_lots.randrange(10)), value)
        elif name == "lines":
            changed[name] = tuple(_scaled(line, factor) for line in value)
    return fields.model_copy(update=changed)


def _scaled(line: Any, factor: Decimal) -> Any:
    amounts = {name: getattr(line, name) for name in ("unit_price", "net_amount")}
    return line.model_copy(
        update={name: member * factor for name, member in amounts.items() if member is not None}
    )


def header(data: BaseModel) -> dict[str, Any]:
    return {path: value for path, value in leaves(data) if not path.startswith(NOT_READ)}


def same(member: object, other: object) -> bool:
    if isinstance(member, str) and isinstance(other, str):
        return letters_and_digits(member) == letters_and_digits(other)
    return member == other


def corrections_from(schema: Schema, reviewed: Sequence[CorrectedDocument]) -> Corrections:
    """Build the corrections from reviewed documents, the latest first."""
    if not reviewed:
        return Corrections()
    return Corrections(tuple(member.correction for member in reviewed), fit_layout(schema, reviewed))


def samples() -> None:
    counts: dict[int, Counter[str]] = defaultdict(Counter)
    of_fields: dict[int, Counter[str]] = defaultdict(Counter)
    with tempfile.TemporaryDirectory() as folder:
        for plan in plans():
            if isinstance(plan.paper, Letter):
                _sample(plan, Path(folder), counts, of_fields)
    for count, found in counts.items():
        values = found["right"] + found["wrong"] + found["missing"]
        given = found["right"] + found["wrong"] + found["invented"]
        print(
            f"{count} reviewed: {found['papers']} papers, {values} values,"
            f" recall {100 * found['right'] / values:.1f}, precision {100 * found['right'] / given:.1f},"
            f" wrong {found['wrong']}, missing {found['missing']}, invented {found['invented']},"
            f" all right {100 * found['perfect'] / found['papers']:.1f} %, taken from people {found['told']}"
        )
        print("   not right:", ", ".join(f"{path} {n}" for path, n in of_fields[count].most_common(8)))


def _sample(
    plan: Plan, folder: Path, counts: dict[int, Counter[str]], of_fields: dict[int, Counter[str]]
) -> None:
    schema = REGISTRY[plan.document_type]
    papers = [
        (document, header(truth), extract_built_in(document, schema), truth)
        for document, truth in versions(plan, folder)
    ]
    reviewed = [_reviewed(document, schema, truth, read, fields) for document, truth, read, fields in papers]
    for count in TAUGHT:
        corrections = corrections_from(schema, reviewed[:count][::-1])
        for document, truth, read, _ in papers[max(TAUGHT) :]:
            found = apply_corrections(document, schema, read, corrections)
            given = {
                path: value
                for path, value in header(found.data).items()
                if path in truth or found.evidence[path].match != "computed"
            }
            outcomes = Counter(_outcome(truth.get(path), given.get(path)) for path in {*truth, *given})
            counts[count].update(outcomes)
            counts[count]["papers"] += 1
            counts[count]["perfect"] += set(outcomes) <= {"right"}
            counts[count]["told"] += sum(bool(proof.reason) for proof in found.evidence.values())
            of_fields[count].update(
                path for path in {*truth, *given} if not same(truth.get(path), given.get(path))
            )


def _outcome(wanted: object, found: object) -> str:
    if same(wanted, found):
        return "right"
    return "missing" if found is None else "wrong" if wanted is not None else "invented"


def _reviewed(
    document: Document, schema: Schema, truth: Mapping[str, Any], read: Extraction, fields: BaseModel
) -> CorrectedDocument:
    places = {
        path: (proof.page, proof.box)
        for path, proof in located(document, fields, schema).items()
        if proof.page is not None and proof.box is not None
    }
    values = {path: truth.get(path) for path in {*truth, *header(read.data)}}
    return CorrectedDocument(
        document, make_correction(document, ReviewedValues("earlier.pdf", values, places), read)
    )


class Paper(NamedTuple):
    """An order: its extraction without corrections, its truth, and its review by a person."""

    document: Document
    truth: Mapping[str, Any]
    read: Extraction
    reviewed: CorrectedDocument


def orders(cache: Path, seeds: int) -> None:
    score = load_scorer()
    loaded = dict(documents(cache))
    truth = {entry["id"]: entry["gold"] for entry in labels() if entry["id"] in loaded}
    schema = own_schema({})
    papers: list[Paper] = []
    for name, document in loaded.items():
        read = extract_user_schema(document, schema)
        papers.append(Paper(document, truth[name], read, _order(document, schema, truth[name], read, score)))
    cases = [make_case(member.document, schema, member.truth, score) for member in papers]
    layouts = [
        [papers[index] for index in layout] for layout in group_by_layout(cases) if len(layout) >= SMALL
    ]
    for count in CORRECTED:
        outcomes: list[tuple[str, str, bool, bool]] = []
        for seed in range(seeds):
            rng = np.random.default_rng(100 + seed)
            for layout in layouts:
                places: list[int] = rng.permutation(len(layout)).tolist()
                order = [layout[place] for place in places]
                corrections = corrections_from(schema, [member.reviewed for member in order[:count]][::-1])
                for member in order[count:]:
                    outcomes.extend(_read_again(member, schema, corrections, score))
        _print_gain(count, outcomes, seeds)


def _read_again(
    member: Paper, schema: Schema, corrections: Corrections, score: Any
) -> Iterator[tuple[str, str, bool, bool]]:
    """Yield for each field: document, field, right without corrections, right with them."""
    before = member.read.data.model_dump()
    after = apply_corrections(member.document, schema, member.read, corrections).data.model_dump()
    for field in FIELDS:
        wanted = member.truth.get(field)
        good = is_right(field, before[field], wanted, score)
        yield member.document.content_hash, field, good, is_right(field, after[field], wanted, score)


def _print_gain(count: int, outcomes: Sequence[tuple[str, str, bool, bool]], seeds: int) -> None:
    print(f"{count} of the layout reviewed, the others (n={len(outcomes) // seeds}, {seeds} draws):")
    means: list[tuple[float, float]] = []
    for field in FIELDS:
        found = [(before, after) for _, path, before, after in outcomes if path == field]
        means.append(
            (np.mean([member for member, _ in found]).item(), np.mean([member for _, member in found]).item())
        )
        mended = sum(after and not before for before, after in found)
        broken = sum(before and not after for before, after in found)
        print(f"   {field}: {means[-1][0]:.3f} to {means[-1][1]:.3f}, mended {mended}, broken {broken}")
    before, after = (float(np.mean(member)) for member in zip(*means, strict=True))
    low, high = _gain_interval(outcomes)
    print(
        f"   all: untaught {100 * before:.1f}, taught {100 * after:.1f},"
        f" gained {100 * (after - before):+.2f} (95 %: {100 * low:+.2f} to {100 * high:+.2f})",
        flush=True,
    )


def _gain_interval(outcomes: Sequence[tuple[str, str, bool, bool]]) -> tuple[float, float]:
    """Return the 95 % interval of the gain, by drawing documents with all their fields."""
    gains: dict[str, list[int]] = defaultdict(list)
    for name, _, before, after in outcomes:
        gains[name].append(after - before)
    sums = np.array([sum(found) for found in gains.values()])
    sizes = np.array([len(found) for found in gains.values()])
    drawn = np.random.default_rng(0).integers(0, len(sums), (2000, len(sums)))
    low, high = np.quantile(sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1), [0.025, 0.975])
    return float(low), float(high)


def _order(
    document: Document, schema: Schema, truth: Mapping[str, Any], read: Extraction, score: Any
) -> CorrectedDocument:
    """Build the review of an order in which a person gives every field."""
    before = read.data.model_dump()
    values: dict[str, object] = {}
    for field in FIELDS:
        if is_right(field, before[field], truth.get(field), score):
            values[field] = before[field]
        elif truth.get(field):
            values[field] = _typed(field, str(truth[field]), score)
    said = {path: proof for path, proof in read.evidence.items() if values.get(path) == before[path]}
    corrected = located(document, filled(schema.fields, values), schema)
    places = {
        path: (proof.page, proof.box)
        for path, proof in {**corrected, **said}.items()
        if proof.page is not None and proof.box is not None
    }
    return CorrectedDocument(
        document, make_correction(document, ReviewedValues("earlier.pdf", values, places), read)
    )


def _typed(field: str, printed: str, score: Any) -> str:
    if field == "gross_amount":
        return str(score.s2_total(printed))
    if field.startswith("flight"):
        return str(score.s2_date(printed, dayfirst=False))
    return printed


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("what", choices=("samples", "orders"))
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    if arguments.what == "samples":
        samples()
    else:
        orders(arguments.cache, arguments.seeds)


if __name__ == "__main__":
    main()
