"""Measure the receipts' model: cross-validated by vendor, with confirmed vendors, and its confidence.

python -m bench receipts_model                    # RapidOCR's readings of ../shared/data/sroie
python -m bench receipts_model --readings FOLDER  # and our own of its pictures, kept there
python -m bench receipts_model --world FOLDER     # and kept readings of ../shared/data/world
python -m bench receipts_model --ship             # trains on everything and writes the model that is shipped

Training has made-up receipts of many countries beside them, and leaves out the vendors that are set aside.

No vendor, and none with a nearly identical name or address, is in training and test; two readings of one
receipt are in one fold. Scored by ../shared/eval. Intervals are 95 %, drawn by vendor.
"""

import random
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.accuracy.trust import is_set_aside
from bench.arguments import argument_parser
from bench.data import world
from bench.data.receipts import PATHS, examples, keys, vendor_groups
from bench.data.shared import ROOT, load_scorer
from docmill.model.corrections import CorrectedValue, Correction
from docmill.model.paths import leaves
from docmill.model.result import StepTaken
from docmill.schemas.registry import REGISTRY
from docmill.training.generated_receipts import generate_receipts
from docmill.training.receipts import FOLDS, HeldOut, Prepared, cross_validate, prepare, train_shipped, weigh
from docmill.training.scorers import fit_calibration
from docmill.understanding.corrections.apply import with_confirmed_values
from docmill.understanding.corrections.counterparties import identifiers
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.fields.findings import Finding, extraction
from docmill.understanding.page.layout import Layout
from docmill.understanding.receipts.extractor import learned_findings
from docmill.understanding.receipts.model import FILE, ReceiptModel

Given = dict[str, dict[str, str]]
FIELD_OF = {path: field for field, path in PATHS.items()}
DRAWS = 400
SURE = 0.99
MADE_UP = "made up"
SCANNED = "scanned"
GENERATOR_SEED = 11


def answers(item: HeldOut, corrections: Sequence[Correction] = ()) -> dict[str, str]:
    """Return the answers in the form of the labels."""
    document = item.document.example.document
    found = {path: Finding(answer.value, answer.spans, 1) for path, answer in item.answers.items()}
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


def report_confidence(found: Sequence[HeldOut], judged: Callable[[HeldOut], bool] = lambda _: True) -> None:
    """Print for each field calibration and coverage, with curve and threshold of the other folds.

    judged: the readings that are judged, and that thresholds come from; curves come from all, as those that
    are shipped.
    """
    for path in PATHS.values():
        labelled = [item for item in found if path in item.right]
        signs = np.array([item.answers[path].features for item in labelled])
        right = np.array([item.right[path] for item in labelled], np.bool_)
        fold = np.array([item.fold for item in labelled])
        belief = np.zeros(len(labelled))
        for own in range(FOLDS):
            rest = fold != own
            curve = fit_calibration(signs[rest], right[rest])
            belief[~rest] = [curve.confidence(row) for row in signs[~rest]]
        some = np.array([judged(item) for item in labelled])
        _show_confidence(path, belief[some], right[some], fold[some])


def _show_confidence(path: str, belief: np.ndarray, right: np.ndarray, fold: np.ndarray) -> None:
    taken = hits = 0
    for own in range(FOLDS):
        least = _threshold(belief[fold != own], right[fold != own])
        sure = (fold == own) & (belief >= least)
        taken, hits = taken + int(sure.sum()), hits + int(right[sure].sum())
    best = _threshold(belief, right)
    print(
        f"  {FIELD_OF[path]:8} n={len(right)} right {right.mean():.3f} ECE {_ece(belief, right):.3f} |"
        f" threshold carried over:"
        f" coverage {taken / len(right):.3f} at precision {hits / max(1, taken):.3f} |"
        f" in hindsight {(belief >= best).mean():.3f} from {best:.3f}",
        flush=True,
    )


def _threshold(belief: np.ndarray, right: np.ndarray) -> float:
    """Return the lowest confidence from which the share `SURE` is right."""
    order = np.argsort(-belief, kind="stable")
    precision = np.cumsum(right[order]) / np.arange(1, len(order) + 1)
    last = np.append(belief[order][:-1] != belief[order][1:], True)
    fine = np.flatnonzero((precision >= SURE) & last)
    return float(belief[order[fine[-1]]]) if len(fine) else 2.0


def _ece(belief: np.ndarray, right: np.ndarray) -> float:
    bins = np.minimum((belief * 15).astype(int), 14)
    gaps = [
        abs(belief[bins == item].mean() - right[bins == item].mean()) * (bins == item).mean()
        for item in set(bins)
    ]
    return float(sum(gaps))


def speed(documents: Sequence[Prepared], model: ReceiptModel) -> None:
    """Print the CPU time of one document after reading, rules included."""
    some = [item.example.document for item in documents if not item.example.made_up][::5]
    learned_findings(candidates_of(some[0]), model)
    started = time.process_time()
    for document in some:
        learned_findings(candidates_of(document), model)
    print(f"{1000 * (time.process_time() - started) / len(some):.1f} ms of CPU each, {len(some)} receipts")


def load(readings: Path | None, scanned: Path | None, generated: int) -> list[tuple[str, Prepared]]:
    labels = keys()
    vendor = vendor_groups(labels)
    first: dict[str, str] = {}
    for name in sorted(labels):
        first.setdefault(vendor[name], name)
    found = [item for item in examples(readings) if not is_set_aside(first[item[1].vendor])]
    found += [(SCANNED, example) for example in (world.receipts(scanned) if scanned else ())]
    found += [(MADE_UP, example) for example in generate_receipts(generated, seed=GENERATOR_SEED)]
    documents = weigh([prepare(example) for _, example in found])
    return [(reader, item) for (reader, _), item in zip(found, documents, strict=True)]


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--readings", type=Path, help="where our own readings are kept")
    parser.add_argument("--world", type=Path, help="kept readings of ../shared/data/world")
    parser.add_argument(
        "--generated", type=int, default=1000, help="how many made-up receipts are trained on"
    )
    parser.add_argument("--ship", action="store_true", help="write the model that is shipped")
    parser.add_argument("--known", action="store_true", help="also with vendors seen in training")
    arguments = parser.parse_args()
    score = load_scorer()
    loaded = load(arguments.readings, arguments.world, arguments.generated)
    reader_of = {id(item): reader for reader, item in loaded}
    documents = [item for _, item in loaded]
    truth: Given = keys()
    groups = {item.example.key: item.example.vendor for item in documents}
    readers = sorted({reader for reader, _ in loaded} - {MADE_UP, SCANNED})
    found = cross_validate(documents)

    def each(report: Callable[[str, list[HeldOut]], None], some: Sequence[HeldOut]) -> None:
        for reader in readers:
            report(reader, [item for item in some if reader_of[id(item.document)] == reader])

    def unseen(reader: str, some: list[HeldOut]) -> None:
        show(f"{reader}, unseen vendors", score, {_key(item): answers(item) for item in some}, truth, groups)
        show(f"{reader}, second and later of a vendor", score, answers_of_known_vendors(some), truth, groups)
        report_confidence(found, lambda item: reader_of[id(item.document)] == reader)

    each(unseen, found)
    for kind in (SCANNED, MADE_UP):
        if any(reader == kind for reader, _ in loaded):
            print(f"{kind} receipts")
            report_confidence(found, lambda item, kind=kind: reader_of[id(item.document)] == kind)
    print("all readings")
    report_confidence(found)
    if arguments.known:
        known = cross_validate(documents, group=lambda item: item.example.key)
        corrections = confirmed_before(known)

        def seen(reader: str, some: list[HeldOut]) -> None:
            said = {_key(item): answers(item, corrections[item.fold]) for item in some}
            show(f"{reader}, vendors seen and confirmed", score, said, truth, groups)

        each(seen, known)
    model = train_shipped(documents, found)
    speed(documents, model)
    content = model.dumps()
    print(f"{len(content)} bytes")
    if arguments.ship:
        (ROOT / "src/docmill/understanding/receipts" / FILE).write_bytes(content)


def _key(item: HeldOut) -> str:
    return item.document.example.key


if __name__ == "__main__":
    main()
