"""Measure the receipts' model: cross-validated by vendor, and with confirmed vendors.

python -m bench receipts_model --networks FOLDER  # RapidOCR's readings of ../shared/data/sroie
    --readings FOLDER  # and our own of its pictures, kept there
    --world FOLDER     # and kept readings of ../shared/data/world
    --photographed FOLDER  # and of both as photographs (tools/page_model/photographs.py)
    --keep FOLDER      # keep the models of the folds there, for `receipt_beliefs`
    --ship             # train on everything and write the model that is shipped

Training has made-up receipts of many countries beside them: without, names on photographs are 8 points worse.
The vendors that are set aside are left out. FOLDER of networks: 0.onnx to 4.onnx, the page models that
were trained without the vendors of each fold (CONTRIBUTING.md), so that what the trees learn from is what a
page model says of vendors that it has not seen.

No vendor, and none with a nearly identical name or address, is in training and test; two readings of one
receipt are in one fold. Scored by ../shared/eval. Intervals are 95 %, drawn by vendor.
"""

import random
import time
from argparse import ArgumentParser, Namespace
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.accuracy.trust import is_set_aside
from bench.arguments import argument_parser
from bench.data import world
from bench.data.receipts import PATHS, examples, first_of_vendors, keys, photographed, vendor_groups
from bench.data.shared import ROOT, load_scorer
from docmill.model.corrections import CorrectedValue, Correction
from docmill.model.paths import leaves
from docmill.model.result import StepTaken
from docmill.schemas.registry import REGISTRY
from docmill.training.generated_receipts import generate_receipts
from docmill.training.receipts import (
    FOLDS,
    HeldOut,
    Prepared,
    cross_validate,
    fold_of,
    prepare,
    train_fold,
    train_model,
    weigh,
)
from docmill.understanding.corrections.apply import with_confirmed_values
from docmill.understanding.corrections.counterparties import identifiers
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.fields.findings import extraction
from docmill.understanding.page.layout import Layout
from docmill.understanding.page_model.model import PageModel
from docmill.understanding.receipts.extractor import learned_findings
from docmill.understanding.receipts.model import FILE, LEARNED, ReceiptModel, loads

Given = dict[str, dict[str, str]]
FIELD_OF = {path: field for field, path in PATHS.items()}
DRAWS = 400
MADE_UP = "made up"
SCANNED = "scanned"
PHOTOGRAPHED = "photographed"
GENERATED, GENERATOR_SEED = 1000, 11


def answers(item: HeldOut, corrections: Sequence[Correction] = ()) -> dict[str, str]:
    """Return the answers in the form of the labels."""
    document = item.document.example.document
    found = {path: replace(item.findings[path], probability=1) for path in LEARNED if path in item.findings}
    read = extraction(REGISTRY["receipt"], found, Layout(document), step=StepTaken(kind="read", by=""))
    read = with_confirmed_values(document, REGISTRY["receipt"], read, corrections)
    there = dict(leaves(read.data))
    values = {FIELD_OF[path]: there[path] for path in FIELD_OF if path in there}
    return {
        field: value.strftime("%d/%m/%Y") if field == "date" else str(value)  # type: ignore[union-attr]
        for field, value in values.items()
    }


def intervals(score: Any, said: Given, truth: Given, groups: Mapping[str, str]) -> str:
    """Return the 95 % intervals of S2 F1 and doc4, by drawing vendors."""
    by_group: dict[str, list[str]] = defaultdict(list)
    for name in said:
        by_group[groups[name]].append(name)
    hits = {name: _hits(score, said[name], truth[name]) for name in said}
    every = list(by_group.values())
    draw = random.Random(0)
    f1: list[float] = []
    doc4: list[float] = []
    for _ in range(DRAWS):
        names = [name for group in draw.choices(every, k=len(every)) for name in group]
        right, count, documents = (
            sum(column) for column in zip(*(hits[name] for name in names), strict=True)
        )
        f1.append(2 * right / count)
        doc4.append(documents / len(names))
    cut = DRAWS // 40
    f1.sort()
    doc4.sort()
    return f"F1 {f1[cut]:.3f}-{f1[-cut]:.3f}, doc4 {doc4[cut]:.3f}-{doc4[-cut]:.3f}"


def _hits(score: Any, said: Mapping[str, str], truth: Mapping[str, str]) -> tuple[int, int, bool]:
    """Return the right answers, the answers and labels together, and whether all are right."""
    right = sum(
        bool(truth.get(field)) and bool(said.get(field)) and score.hit(field, said[field], truth[field], "S2")
        for field in PATHS
    )
    answered = sum(bool(said.get(field)) for field in PATHS)
    labelled = sum(bool(truth.get(field)) for field in PATHS)
    return right, answered + labelled, right == labelled == answered


def show(name: str, score: Any, said: Given, truth: Given, groups: Mapping[str, str]) -> None:
    found = score.score(said, truth, sorted(said))["S2"]
    fields = " ".join(f"{field} {found[field]:.3f}" for field in PATHS)
    print(
        f"{name:44} n={len(said)} S2 F1 {found['F1']:.3f} doc4 {found['doc']:.3f} | {fields}"
        f" | {intervals(score, said, truth, groups)}",
        flush=True,
    )


def confirmed(item: HeldOut) -> Correction:
    """Return the document's truth as if people had confirmed it."""
    document, truth = item.document.example.document, item.document.example.truth
    values = {path: CorrectedValue(value) for path, value in truth.items()}
    return Correction("", identifiers(document), frozenset(), values)


def confirmed_before(found: Sequence[HeldOut]) -> dict[int, list[Correction]]:
    """Return for each fold all documents of the others, the latest first, as if people had confirmed them."""
    corrections = [(item.fold, confirmed(item)) for item in reversed(found)]
    return {fold: [item for other, item in corrections if other != fold] for fold in range(FOLDS)}


def answers_of_known_vendors(found: Sequence[HeldOut]) -> dict[str, dict[str, str]]:
    """Return the answers for the second and later receipts of each vendor, the earlier ones confirmed."""
    corrections: list[Correction] = []
    seen: set[str] = set()
    said: Given = {}
    for item in sorted(found, key=lambda item: item.document.example.key):
        example = item.document.example
        if example.vendor in seen:
            said[example.key] = answers(item, corrections)
        seen.add(example.vendor)
        corrections.insert(0, confirmed(item))
    return said


def report_fields(name: str, found: Sequence[HeldOut]) -> None:
    """Print for each field the share of first values that are right, of the papers that have the field."""
    for path in LEARNED:
        labelled = [item for item in found if item.document.example.truth.get(path)]
        if labelled:
            right = sum(item.right.get(path, False) for item in labelled)
            print(f"  {name:10} {path:16} n={len(labelled)} right {right / len(labelled):.3f}", flush=True)


def speed(documents: Sequence[Prepared], model: ReceiptModel) -> None:
    """Print the CPU time of one document after reading, rules included."""
    some = [item.example.document for item in documents if not item.example.made_up][::5]
    learned_findings(candidates_of(some[0]), model)
    started = time.process_time()
    for document in some:
        learned_findings(candidates_of(document), model)
    print(f"{1000 * (time.process_time() - started) / len(some):.1f} ms of CPU each, {len(some)} receipts")


def add_receipts(parser: ArgumentParser) -> None:
    """Add the arguments that say which receipts there are and what was trained on them."""
    parser.add_argument("--readings", type=Path, help="where our own readings are kept")
    parser.add_argument("--world", type=Path, help="kept readings of ../shared/data/world")
    parser.add_argument("--photographed", type=Path, help="folder of the readings of photographed receipts")
    parser.add_argument("--networks", type=Path, required=True, help="the page models of the folds")
    parser.add_argument("--keep", type=Path, help="folder of the models of the folds")
    parser.add_argument(
        "--generated", type=int, default=GENERATED, help="how many made-up receipts are trained on"
    )


def load(arguments: Namespace) -> list[tuple[str, Prepared]]:
    """Every receipt with its reader, seen by the page model that does not know its vendor.

    arguments: those of `add_receipts`.
    """
    labels = keys()
    vendor = vendor_groups(labels)
    first = first_of_vendors(vendor)
    found = [item for item in examples(arguments.readings) if not is_set_aside(first[item[1].vendor])]
    if arguments.world is not None:
        found += [(SCANNED, example) for example in world.receipts(arguments.world)]
    if arguments.photographed is not None:
        found += [
            (PHOTOGRAPHED, example)
            for example in (
                *world.receipts(arguments.photographed / "world-photographed"),
                *photographed(arguments.photographed / "sroie-photographed"),
            )
        ]
    found += [(MADE_UP, example) for example in generate_receipts(arguments.generated, seed=GENERATOR_SEED)]
    models = [PageModel(arguments.networks / f"{fold}.onnx") for fold in range(FOLDS)]
    documents = weigh([prepare(example, models[fold_of(example.vendor)]) for _, example in found])
    return [(reader, item) for (reader, _), item in zip(found, documents, strict=True)]


def kept_models(documents: Sequence[Prepared], keep: Path | None) -> list[ReceiptModel]:
    """The models of the folds, from the folder where they were kept."""
    models: list[ReceiptModel] = []
    for fold in range(FOLDS):
        path = keep / f"fold{fold}.npz" if keep else None
        known = path is not None and path.exists()
        models.append(loads(path.read_bytes()) if path and known else train_fold(documents, fold))
        if path is not None and not known:
            path.write_bytes(models[-1].dumps())
    return models


def main() -> None:
    parser = argument_parser(__doc__)
    add_receipts(parser)
    parser.add_argument("--ship", action="store_true", help="write the model that is shipped")
    parser.add_argument("--known", action="store_true", help="also with vendors seen in training")
    arguments = parser.parse_args()
    score = load_scorer()
    loaded = load(arguments)
    reader_of = {id(item): reader for reader, item in loaded}
    documents = [item for _, item in loaded]
    truth: Given = keys()
    groups = {item.example.key: item.example.vendor for item in documents}
    readers = sorted({reader for reader, _ in loaded} - {MADE_UP, SCANNED, PHOTOGRAPHED})
    found = cross_validate(documents, models=kept_models(documents, arguments.keep))

    def each(report: Callable[[str, list[HeldOut]], None], some: Sequence[HeldOut]) -> None:
        for reader in readers:
            report(reader, [item for item in some if reader_of[id(item.document)] == reader])

    def unseen(reader: str, some: list[HeldOut]) -> None:
        show(f"{reader}, unseen vendors", score, {_key(item): answers(item) for item in some}, truth, groups)
        show(f"{reader}, second and later of a vendor", score, answers_of_known_vendors(some), truth, groups)

    each(unseen, found)
    for kind in (*readers, SCANNED, PHOTOGRAPHED, MADE_UP):
        report_fields(kind, [item for item in found if reader_of[id(item.document)] == kind])
    if arguments.known:
        known = cross_validate(documents, group=lambda item: item.example.key)
        corrections = confirmed_before(known)

        def seen(reader: str, some: list[HeldOut]) -> None:
            said = {_key(item): answers(item, corrections[item.fold]) for item in some}
            show(f"{reader}, vendors seen and confirmed", score, said, truth, groups)

        each(seen, known)
    model = train_model(documents)
    speed(documents, model)
    content = model.dumps()
    print(f"{len(content)} bytes")
    if arguments.ship:
        (ROOT / "src/docmill/understanding/receipts" / FILE).write_bytes(content)


def _key(item: HeldOut) -> str:
    return item.document.example.key


if __name__ == "__main__":
    main()
